//! Where planes came from, and the proof that a dual point makes of it: points with a weight for
//! each part, which anybody who has the data can check without trusting the bundle.

use crate::archive::{Archive, ArchiveError};
use crate::risk::Tie;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A point at which the risk was linearised, numbered in the order of the visits.
#[derive(Debug, Clone)]
pub(super) struct Visit {
    pub(super) id: u64,
    pub(super) w: Arc<[f64]>,
    pub(super) ties: Arc<[Tie]>,
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
    /// The pieces chosen for examples at kinks, in the order of the examples.
    pub ties: Arc<[Tie]>,
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
                let new = || ProofPoint {
                    w: visit.w.clone(),
                    part_weights: vec![0.0; parts],
                    ties: visit.ties.clone(),
                };
                points.entry(visit.id).or_insert_with(new).part_weights[part] += weight * share;
            }
        }
        Some(Proof { points: points.into_values().collect() })
    }

    /// The proof as arrays: points, part weights, and ties as (point, example, piece).
    pub(crate) fn arrays(&self) -> (Vec<f64>, Vec<f64>, Vec<u64>) {
        let w = self.points.iter().flat_map(|point| point.w.iter().copied()).collect();
        let weights = self.points.iter().flat_map(|point| point.part_weights.iter().copied());
        let ties = self.points.iter().enumerate().flat_map(|(at, point)| {
            point.ties.iter().flat_map(move |tie| {
                let [example, piece] = tie.pack();
                [at as u64, example, piece]
            })
        });
        (w, weights.collect(), ties.collect())
    }

    /// A proof of `count` points from its arrays; nothing if they do not fit together.
    pub(crate) fn from_arrays(
        count: usize,
        w: &[f64],
        part_weights: &[f64],
        ties: &[u64],
    ) -> Option<Proof> {
        let divides = |length: usize| count > 0 && length > 0 && length.is_multiple_of(count);
        if !divides(w.len()) || !divides(part_weights.len()) || !ties.len().is_multiple_of(3) {
            return None;
        }
        let mut of_point = vec![Vec::new(); count];
        for tie in ties.as_chunks::<3>().0 {
            let list = of_point.get_mut(usize::try_from(tie[0]).ok()?)?;
            list.push(Tie::unpack([tie[1], tie[2]])?);
        }
        let points = w.chunks(w.len() / count).zip(part_weights.chunks(part_weights.len() / count));
        let points = points.zip(of_point).map(|((w, weights), ties)| ProofPoint {
            w: w.into(),
            part_weights: weights.into(),
            ties: ties.into(),
        });
        Some(Proof { points: points.collect() })
    }

    /// Writes the proof under a name.
    pub(crate) fn save(&self, name: &str, archive: &mut Archive) {
        let (w, weights, ties) = self.arrays();
        archive.put_integers(&format!("{name}.proof.points"), [self.points.len() as u64]);
        archive.put_reals(&format!("{name}.proof.w"), w);
        archive.put_reals(&format!("{name}.proof.weights"), weights);
        archive.put_integers(&format!("{name}.proof.ties"), ties);
    }

    /// The proof that was written under a name, if there was one.
    pub(crate) fn load(name: &str, archive: &mut Archive) -> Result<Option<Proof>, ArchiveError> {
        let Ok(count) = archive.take_integer(&format!("{name}.proof.points")) else {
            return Ok(None);
        };
        let w = archive.take_reals(&format!("{name}.proof.w"))?;
        let weights = archive.take_reals(&format!("{name}.proof.weights"))?;
        let ties = archive.take_integers(&format!("{name}.proof.ties"))?;
        Proof::from_arrays(count as usize, &w, &weights, &ties)
            .map(Some)
            .ok_or_else(|| ArchiveError(format!("{name}.proof")))
    }
}
