//! The bundle: planes of the risk by parts, their inner products, and where each came from. It
//! feeds the master, tells the model's minimiser and bound, drops idle planes, and folds planes
//! into an aggregate when a memory limit asks for it. It knows no data and no line search.

mod by_slopes;
mod local;
mod normal;
mod origin;
mod prox;
mod shaped;
mod state;

pub use by_slopes::Ground;
pub use local::{LocalBundle, LocalMinimum, Locality, Trial, Update};
pub use prox::{Center, Near, NearMinimum};
pub(crate) use state::{load_master, save_master};

use crate::certificate::{DualBound, DualPoint, Term};
use crate::master::{Gram, Master};
use crate::proof::Proof;
use crate::risk::{BySlopes, Plane};
use minorant_linalg::parallel::map;
use normal::Normal;
use origin::{Origin, Visit};
use shaped::Free;
use std::cmp::Reverse;

/// Fewest planes of a part that limits leave room for: an aggregate and two others.
const LEAST: usize = 3;

/// What a bundle may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Planes of each part, its aggregate included; at least 3.
    pub planes: usize,
    /// Bytes of all planes and of what they came from, but that three planes of each part have room.
    pub bytes: u64,
    /// Iterations that a plane may stay without weight before it is dropped.
    pub idle: u32,
    /// Points that an aggregate may remember for the proof.
    pub remembered: usize,
}

/// The minimum of the bundle's model of the objective.
#[derive(Debug, Clone)]
pub struct ModelMinimum {
    /// Its minimiser.
    pub w: Vec<f64>,
    /// A lower bound on the objective, valid however well the master was solved.
    pub bound: f64,
    /// The same bound, with that of the dual point for every λ.
    pub bounds: DualBound,
}

/// A plane in the regularizer's metric.
#[derive(Debug, Clone)]
struct Held {
    normal: Normal,
    length: f64,
    normal_error: f64,
    offset: f64,
    offset_error: f64,
    part: usize,
    idle: u32,
    /// Whether it is a combination of planes.
    is_aggregate: bool,
    origin: Origin,
}

impl Held {
    /// The plane as a term of a dual point, among so many.
    fn term(&self, weight: f64, terms: usize) -> Term {
        Term {
            weight,
            offset: self.offset,
            length: self.length,
            normal_error: self.roundings(terms) * self.normal_error,
            offset_error: self.offset_error,
        }
    }
}

/// Planes, their Gram matrix and the master over them.
#[derive(Debug, Clone)]
pub struct Bundle {
    dim: usize,
    parts: usize,
    limits: Limits,
    planes: Vec<Held>,
    gram: Gram,
    master: Master,
    visits: u64,
    /// Where the prox term stands, for methods that have one.
    center: Option<Center>,
    /// The coordinates that inner products are over, where these are not all.
    free: Option<Free>,
}

impl Bundle {
    /// An empty bundle for a risk of `parts` parts.
    pub fn new(dim: usize, parts: usize, limits: Limits) -> Self {
        Bundle {
            dim,
            parts,
            limits: Limits { planes: limits.planes.max(LEAST), ..limits },
            planes: Vec::new(),
            gram: Gram::new(),
            master: Master::new(parts),
            visits: 0,
            center: None,
            free: None,
        }
    }

    /// Number of planes.
    pub fn len(&self) -> usize {
        self.planes.len()
    }

    /// Whether there are no planes yet.
    pub fn is_empty(&self) -> bool {
        self.planes.is_empty()
    }

    /// Adds the planes that touch the risk at `w`, one for each part in order. Room is made first:
    /// idle planes go, then weight is folded into aggregates where the limit asks for it.
    pub fn add<'g>(&mut self, w: &[f64], planes: Vec<Plane>, ground: impl Into<Ground<'g>>) {
        assert_eq!(planes.len(), self.parts);
        let ground = ground.into();
        let keeping = ground.keeping(&planes);
        let visit = (!planes.iter().any(|plane| plane.tells_slopes())).then(|| {
            let ties = planes.iter().flat_map(|plane| plane.ties.iter().copied()).collect();
            Visit { id: self.visits, w: w.into(), ties }
        });
        self.visits += 1;
        let new: Vec<Plane> =
            planes.into_iter().map(|p| ground.regularizer.plane_in_metric(p)).collect();
        let bytes = |plane: &Plane| {
            let of_normal = if keeping.is_some() { 0 } else { Normal::bytes_of(&plane.normal) };
            of_normal + 8 * plane.slopes.len() as u64
        };
        let of_visit = visit.as_ref().map_or(0, Visit::bytes);
        self.make_room(new.iter().map(bytes).sum::<u64>() + of_visit);
        let masked: Option<Vec<Vec<f64>>> =
            self.free.as_ref().map(|free| new.iter().map(|p| free.mask(&p.normal)).collect());
        let normal = |part: usize| masked.as_ref().map_or(&new[part].normal, |all| &all[part]);
        let lacks = self.planes.iter().any(|plane| plane.slopes_alone().is_some());
        let examples = lacks.then(|| by_slopes::known(ground.examples));
        let outputs = examples.map(|examples| examples.products(&new[0].normal));
        // Old planes are read once each: all products with one before the next.
        let products_with = |old: &Held| match (old.slopes_alone(), &outputs) {
            (Some(slopes), Some(outputs)) => vec![minorant_linalg::dense::dot(slopes, outputs)],
            _ => (0..new.len()).map(|part| old.normal.dot(normal(part))).collect(),
        };
        let old: Vec<Vec<f64>> = map(self.planes.len(), |at| products_with(&self.planes[at]));
        for part in 0..new.len() {
            let among =
                (0..=part).map(|other| minorant_linalg::dense::dot(normal(other), normal(part)));
            let row: Vec<f64> = old.iter().map(|products| products[part]).chain(among).collect();
            self.gram.push(&row);
            self.master.push(part);
        }
        if let Some(center) = &mut self.center {
            new.iter().for_each(|plane| center.meet(&plane.normal));
        }
        for (part, plane) in new.into_iter().enumerate() {
            let length = minorant_linalg::dense::norm2(&plane.normal).sqrt();
            let origin = match &visit {
                Some(visit) => Origin::Visit(visit.clone()),
                None => Origin::Slopes(plane.slopes.into()),
            };
            self.planes.push(Held {
                normal: match keeping {
                    Some(_) => Normal::Absent,
                    None => Normal::store(plane.normal, self.planes.last().map(|p| &p.normal)),
                },
                length,
                normal_error: plane.normal_error,
                offset: plane.offset,
                offset_error: plane.offset_error,
                part,
                idle: 0,
                is_aggregate: false,
                origin,
            });
        }
    }

    /// Solves the master to an absolute gap of at most `gap` and returns the model's minimum:
    /// w = w_reg − (Σ α a) ⊘ (λ θ²).
    pub fn minimise<'g>(&mut self, ground: impl Into<Ground<'g>>, gap: f64) -> ModelMinimum {
        let Ground { regularizer, examples } = ground.into();
        let lambda = regularizer.lambda();
        if !regularizer.is_quadratic() {
            self.solve_shaped(regularizer, 0.0, gap);
            self.age();
            let dual = self.dual_point(None);
            let u = self.resting_point(regularizer, 0.0, dual.normal());
            let bounds = dual.bound_under(regularizer, false);
            return ModelMinimum { w: regularizer.from_metric(u), bound: bounds.value, bounds };
        }
        let offsets: Vec<f64> = self.planes.iter().map(|plane| plane.offset).collect();
        self.master.solve(&self.gram, &offsets, 1.0 / lambda, gap);
        self.age();
        let dual = self.dual_point(examples);
        let u = dual.normal().iter().map(|v| -v / lambda).collect();
        let bounds = dual.bound_under(regularizer, false);
        ModelMinimum { w: regularizer.from_metric(u), bound: bounds.value, bounds }
    }

    /// One more iteration begins: planes that get no weight in it have been idle for longer.
    pub fn age(&mut self) {
        self.planes.iter_mut().for_each(|plane| plane.idle += 1);
    }

    /// The dual point at the master's weights; the planes in it are not idle.
    fn dual_point(&mut self, examples: Option<&dyn BySlopes>) -> DualPoint {
        let mut dual = DualPoint::new(self.dim);
        let weights = self.master.weights();
        let terms = weights.iter().filter(|weight| **weight > 0.0).count();
        let weighed = self.planes.iter_mut().zip(weights).filter(|(_, weight)| **weight > 0.0);
        for (plane, &weight) in weighed {
            plane.idle = 0;
            dual.add(plane.term(weight, terms), |sum| plane.normal.add_to(weight, sum));
        }
        let weighed = self.planes.iter().zip(weights.iter().copied());
        by_slopes::add_normals(weighed.filter(|(_, weight)| *weight > 0.0), examples, &mut dual);
        dual
    }

    /// The proof of the bound that the last [`Bundle::minimise`] returned.
    pub fn proof(&self) -> Option<Proof> {
        let weights = self.master.weights();
        let planes = self.planes.iter().zip(weights);
        origin::collect(
            planes.map(|(plane, &weight)| (&plane.origin, plane.part, weight)),
            self.parts,
        )
    }

    /// The planes that have weight, with their normals in the metric.
    pub(crate) fn weighed(&self) -> Vec<(f64, Vec<f64>)> {
        let each = self.planes.iter().zip(self.master.weights());
        each.filter(|(_, weight)| **weight > 0.0)
            .map(|(plane, &weight)| {
                let mut normal = vec![0.0; self.dim];
                plane.normal.add_to(1.0, &mut normal);
                (weight, normal)
            })
            .collect()
    }

    /// Gives the planes that have weight other weights, in their order.
    pub(crate) fn reweigh(&mut self, given: &[f64]) {
        let mut given = given.iter();
        let weights = self.master.weights().iter();
        let new = weights.map(|&weight| if weight > 0.0 { given.next().copied() } else { None });
        let new: Vec<f64> = new.map(|weight| weight.unwrap_or(0.0)).collect();
        self.master.set_weights(&new);
    }

    /// Makes room for a plane more of each part, which together take so many bytes.
    fn make_room(&mut self, bytes: u64) {
        let idle = self.limits.idle;
        self.retain(&self.planes.iter().map(|plane| plane.idle <= idle).collect::<Vec<_>>());
        for part in 0..self.parts {
            if self.count(part) >= self.limits.planes {
                self.shrink(part, self.limits.planes - 1);
            }
        }
        while self.bytes().saturating_add(bytes) > self.limits.bytes {
            // The first of the parts that have most planes gives one up.
            let most = (0..self.parts).max_by_key(|&part| (self.count(part), Reverse(part)));
            let Some((part, count)) = most.map(|part| (part, self.count(part))) else { break };
            if count < LEAST {
                break;
            }
            self.shrink(part, count - 1);
        }
    }

    fn count(&self, part: usize) -> usize {
        self.planes.iter().filter(|plane| plane.part == part).count()
    }

    /// Bytes that the planes take with what they came from.
    fn bytes(&self) -> u64 {
        let normals: u64 = self.planes.iter().map(|plane| plane.normal.bytes()).sum();
        normals + origin::bytes(self.planes.iter().map(|plane| &plane.origin))
    }

    /// Leaves `room` planes of `part`: the planes that have been idle longest go; if weight would be
    /// lost, the part's weight is first folded into its aggregate (Proposition 1 of Do and Artières: the
    /// model keeps its minimum).
    fn shrink(&mut self, part: usize, room: usize) {
        let mut order: Vec<usize> =
            (0..self.len()).filter(|&j| self.planes[j].part == part).collect();
        let excess = order.len() - room;
        // Longest idle first, the older first among equals; carriers of weight last.
        order.sort_by_key(|&j| (Reverse(self.planes[j].idle), j));
        let mut keep = vec![true; self.len()];
        if self.planes[order[excess - 1]].idle > 0 {
            order[..excess].iter().for_each(|&j| keep[j] = false);
        } else {
            // The new aggregate replaces an older one.
            let is_aggregate = |j: &usize| self.planes[*j].is_aggregate;
            order.sort_by_key(|j| !is_aggregate(j));
            order[..=excess].iter().for_each(|&j| keep[j] = false);
            self.aggregate(part);
            keep.push(true);
        }
        self.retain(&keep);
    }

    /// Appends the plane Σ α_j plane_j of a part and moves the part's weight to it. Its inner
    /// products follow from those known.
    fn aggregate(&mut self, part: usize) {
        let mut weights = self.master.weights().to_vec();
        let members: Vec<usize> =
            (0..self.len()).filter(|&j| self.planes[j].part == part && weights[j] > 0.0).collect();
        if let Some(center) = &mut self.center {
            center.meet_combination(members.iter().map(|&j| (j, weights[j])));
        }
        let mut products = vec![0.0; self.len()];
        let mut sum = DualPoint::new(self.dim);
        for &j in &members {
            minorant_linalg::dense::axpy(weights[j], self.gram.row(j), &mut products);
            let plane = &self.planes[j];
            let term = plane.term(weights[j], members.len());
            sum.add(term, |normal| plane.normal.add_to(weights[j], normal));
        }
        let is_absent = members.iter().any(|&j| self.planes[j].slopes_alone().is_some());
        // Without normals the inner products know it.
        let known: f64 = members.iter().map(|&j| weights[j] * products[j]).sum();
        let square = |normal: &[f64]| match is_absent {
            true => known.max(0.0),
            false => minorant_linalg::dense::norm2(normal),
        };
        products.push(match &self.free {
            None => square(sum.normal()),
            Some(free) => square(&free.mask(sum.normal())),
        });
        let origins = members.iter().map(|&j| (&self.planes[j].origin, weights[j]));
        let origin = Origin::combine(origins, self.limits.remembered);
        members.iter().for_each(|&j| weights[j] = 0.0);
        weights.push(1.0);
        self.gram.push(&products);
        self.master.push(part);
        self.master.set_weights(&weights);
        self.planes.push(Held {
            normal: match is_absent {
                true => Normal::Absent,
                false => Normal::store(
                    sum.normal().to_vec(),
                    self.planes.last().map(|last| &last.normal),
                ),
            },
            length: square(sum.normal()).sqrt(),
            normal_error: sum.normal_error(),
            offset: sum.offset(),
            offset_error: sum.offset_error(),
            part,
            idle: 0,
            is_aggregate: true,
            origin,
        });
    }

    fn retain(&mut self, keep: &[bool]) {
        if keep.iter().all(|keep| *keep) {
            return;
        }
        let mut kept = keep.iter();
        self.planes.retain(|_| kept.next().copied().unwrap_or(true));
        if let Some(center) = &mut self.center {
            center.retain(keep);
        }
        self.gram.retain(keep);
        self.master.retain(keep);
    }
}
