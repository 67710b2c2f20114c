//! Where planes came from, and how a dual point over them becomes a proof.

use crate::proof::{Proof, ProofPoint};
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
    Some(Proof::Points(points.into_values().collect()))
}
