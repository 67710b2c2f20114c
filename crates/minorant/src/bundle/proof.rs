//! Where planes came from, and the proof that a dual point makes of it: points with a weight for
//! each part, which anybody who has the data can check without trusting the bundle.

use crate::archive::{Archive, ArchiveError};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A point at which the risk was linearised, numbered in the order of the visits.
#[derive(Debug, Clone)]
pub(super) struct Visit {
    pub(super) id: u64,
    pub(super) w: Arc<[f64]>,
}

/// Where a plane came from.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    /// It touches the risk at this point.
    Visit(Visit),
    /// It is a convex combination of planes of the same part at these points.
    Aggregate(Vec<(Visit, f64)>),
    /// It is an aggregate whose list outgrew the limit for proofs.
    Lost,
}

impl Origin {
    /// The points and shares behind the plane, if they are known.
    pub(super) fn shares(&self) -> Option<Vec<(&Visit, f64)>> {
        match self {
            Origin::Visit(visit) => Some(vec![(visit, 1.0)]),
            Origin::Aggregate(list) => {
                Some(list.iter().map(|(visit, share)| (visit, *share)).collect())
            }
            Origin::Lost => None,
        }
    }

    /// The origin of a convex combination of planes; lost if any of them is, or if the list
    /// would hold more than `most` points.
    pub(super) fn combine<'a>(
        planes: impl Iterator<Item = (&'a Origin, f64)>,
        most: usize,
    ) -> Origin {
        let mut list: BTreeMap<u64, (Visit, f64)> = BTreeMap::new();
        for (origin, weight) in planes.filter(|(_, weight)| *weight > 0.0) {
            let Some(shares) = origin.shares() else { return Origin::Lost };
            for (visit, share) in shares {
                list.entry(visit.id).or_insert_with(|| (visit.clone(), 0.0)).1 += weight * share;
            }
        }
        if list.len() > most {
            Origin::Lost
        } else {
            Origin::Aggregate(list.into_values().collect())
        }
    }
}

/// One share of a proof: a point at which the risk is linearised, and the weight of each part's
/// plane there.
#[derive(Debug, Clone)]
pub struct ProofPoint {
    /// The weights w_j.
    pub w: Arc<[f64]>,
    /// α_j for each part.
    pub part_weights: Vec<f64>,
}

/// The dual point behind a bound; for each part the weights sum to 1.
#[derive(Debug, Clone, Default)]
pub struct Proof {
    /// Its points, in the order in which they were visited.
    pub points: Vec<ProofPoint>,
}

impl Proof {
    /// Collects the weighted planes of a dual point; nothing if an origin is lost.
    pub(super) fn collect<'a>(
        planes: impl Iterator<Item = (&'a Origin, usize, f64)>,
        parts: usize,
    ) -> Option<Proof> {
        let mut points: BTreeMap<u64, ProofPoint> = BTreeMap::new();
        for (origin, part, weight) in planes.filter(|(_, _, weight)| *weight > 0.0) {
            for (visit, share) in origin.shares()? {
                let new = || ProofPoint { w: visit.w.clone(), part_weights: vec![0.0; parts] };
                points.entry(visit.id).or_insert_with(new).part_weights[part] += weight * share;
            }
        }
        Some(Proof { points: points.into_values().collect() })
    }

    /// Writes the proof under a name.
    pub(crate) fn save(&self, name: &str, archive: &mut Archive) {
        archive.put_integers(&format!("{name}.proof.points"), [self.points.len() as u64]);
        let w = self.points.iter().flat_map(|point| point.w.iter().copied());
        archive.put_reals(&format!("{name}.proof.w"), w.collect());
        let weights = self.points.iter().flat_map(|point| point.part_weights.iter().copied());
        archive.put_reals(&format!("{name}.proof.weights"), weights.collect());
    }

    /// The proof that was written under a name, if there was one.
    pub(crate) fn load(name: &str, archive: &mut Archive) -> Result<Option<Proof>, ArchiveError> {
        let Ok(count) = archive.take_integer(&format!("{name}.proof.points")) else {
            return Ok(None);
        };
        let w = archive.take_reals(&format!("{name}.proof.w"))?;
        let weights = archive.take_reals(&format!("{name}.proof.weights"))?;
        Proof::from_arrays(count as usize, &w, &weights)
            .map(Some)
            .ok_or_else(|| ArchiveError(format!("{name}.proof")))
    }

    /// A proof of `count` points from their weights w and part weights, one point after another.
    pub(crate) fn from_arrays(count: usize, w: &[f64], part_weights: &[f64]) -> Option<Proof> {
        if count == 0 || !w.len().is_multiple_of(count) || !part_weights.len().is_multiple_of(count)
        {
            return None;
        }
        let (dim, parts) = (w.len() / count, part_weights.len() / count);
        if dim == 0 || parts == 0 {
            return None;
        }
        let points = w.chunks(dim).zip(part_weights.chunks(parts));
        let points =
            points.map(|(w, weights)| ProofPoint { w: w.into(), part_weights: weights.into() });
        Some(Proof { points: points.collect() })
    }
}
