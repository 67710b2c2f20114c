//! Where planes came from, and how a dual point over them becomes a proof.

use crate::proof::{Proof, ProofPoint};
use crate::risk::Tie;
use minorant_linalg::dense::axpy;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A point at which the risk was linearised, numbered in the order of the visits.
#[derive(Debug, Clone)]
pub(super) struct Visit {
    pub(super) id: u64,
    pub(super) w: Arc<[f64]>,
    pub(super) ties: Arc<[Tie]>,
}

impl Visit {
    pub(super) fn bytes(&self) -> u64 {
        (8 * self.w.len() + size_of_val(&*self.ties)) as u64
    }
}

/// Where a plane came from.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    /// It touches the risk at this point.
    Visit(Visit),
    /// It is a convex combination of planes of the same part at these points.
    Aggregate(Vec<(Visit, f64)>),
    /// The slopes of the minorants of its part's examples, which it is the sum of; so is a combination of
    /// such planes.
    Slopes(Arc<[f64]>),
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
            Origin::Slopes(_) | Origin::Lost => None,
        }
    }

    fn slopes(&self) -> Option<&[f64]> {
        if let Origin::Slopes(slopes) = self { Some(slopes) } else { None }
    }

    /// The origin of a convex combination of planes; lost if any of them is, or if the list
    /// would hold more than `most` points.
    pub(super) fn combine<'a>(
        planes: impl Iterator<Item = (&'a Origin, f64)> + Clone,
        most: usize,
    ) -> Origin {
        if let Some(slopes) = combined_slopes(planes.clone()) {
            return Origin::Slopes(slopes.into());
        }
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

/// Bytes that origins take; points that several planes came from are there once.
pub(super) fn bytes<'a>(origins: impl Iterator<Item = &'a Origin>) -> u64 {
    let mut visits = BTreeMap::new();
    let mut slopes = 0;
    for origin in origins {
        slopes += origin.slopes().map_or(0, |slopes| 8 * slopes.len() as u64);
        let shares = origin.shares().unwrap_or_default();
        visits.extend(shares.into_iter().map(|(visit, _)| (visit.id, visit.bytes())));
    }
    slopes + visits.values().sum::<u64>()
}

/// The slopes of a convex combination of planes of one part; nothing where there is none, or where
/// planes came from points.
fn combined_slopes<'a>(planes: impl Iterator<Item = (&'a Origin, f64)>) -> Option<Vec<f64>> {
    let mut sum: Option<Vec<f64>> = None;
    for (origin, weight) in planes.filter(|(_, weight)| *weight > 0.0) {
        let slopes = origin.slopes()?;
        axpy(weight, slopes, sum.get_or_insert_with(|| vec![0.0; slopes.len()]));
    }
    sum
}

/// Collects the weighted planes of a dual point; nothing if an origin is lost.
pub(super) fn collect<'a>(
    planes: impl Iterator<Item = (&'a Origin, usize, f64)> + Clone,
    parts: usize,
) -> Option<Proof> {
    // The slopes of all examples are those of one part's after the other's.
    let of_part = |part: usize| {
        let planes = planes.clone().filter(move |(_, of, _)| *of == part);
        combined_slopes(planes.map(|(origin, _, weight)| (origin, weight)))
    };
    if let Some(slopes) = (0..parts).map(of_part).collect::<Option<Vec<_>>>() {
        return Some(Proof::Slopes(slopes.concat()));
    }
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
    Some(Proof::Points(points.into_values().collect()))
}
