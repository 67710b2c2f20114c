//! The bundle of a risk that need not be convex: its planes lie below the risk only near the best
//! point, and are lowered until they do (Algorithms 5 and 6 of Do and Artières). Each carries a
//! locality: how far its origin lies from the best point, along the path that this has taken. The
//! model's gap therefore is a local one and proves nothing beyond.
//!
//! Everything here is in the coordinates u = θ ∘ (w − w_reg) of the regularizer. Inner products
//! with the best point are carried along, so an iteration reads the stored planes once to combine
//! them and once to take the products with new ones.

use super::normal::{self, Normal};
use super::state;
use crate::archive::{Archive, ArchiveError};
use crate::master::{Gram, Master};
use minorant_linalg::dense::{axpy, dot, norm2};
use minorant_linalg::elementary::hypot;
use minorant_linalg::parallel::map;

/// How a plane's locality grows with the best point's steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Locality {
    /// λ/2 times the squared length of the path; never below λ/2 times the squared distance.
    #[default]
    Path,
    /// λ/2 times the sum of squared steps, as in the paper.
    Squares,
    /// None at all, for risks that are convex: their planes hold everywhere.
    Off,
}

impl Locality {
    /// The reach after one more step, where the locality is λ/2 · reach².
    fn grown(self, reach: f64, step: f64) -> f64 {
        match self {
            Locality::Path => reach + step,
            Locality::Squares => hypot(reach, step),
            Locality::Off => 0.0,
        }
    }
}

/// What a plane is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A tangent of the risk.
    Raw,
    /// Made up where no tangent can do (line 6 of Algorithm 6); tells nothing about the risk.
    NullStep2,
    /// A combination of tangents.
    Aggregate,
    /// A combination of planes that were made up.
    NullStep2Aggregate,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Raw, Kind::NullStep2, Kind::Aggregate, Kind::NullStep2Aggregate];

    fn is_made_up(self) -> bool {
        matches!(self, Kind::NullStep2 | Kind::NullStep2Aggregate)
    }

    fn is_aggregate(self) -> bool {
        matches!(self, Kind::Aggregate | Kind::NullStep2Aggregate)
    }
}

#[derive(Debug, Clone)]
struct LocalPlane {
    normal: Normal,
    offset: f64,
    /// Inner product of the normal with the best point.
    at_best: f64,
    /// The locality is λ/2 · reach².
    reach: f64,
    /// Iterations in a row without weight.
    idle: u32,
    kind: Kind,
}

/// The best point so far.
#[derive(Debug, Clone, Default)]
struct Best {
    u: Vec<f64>,
    risk: f64,
    square: f64,
}

/// The minimum of the model, with or without a proximal term.
#[derive(Debug, Clone)]
pub struct LocalMinimum {
    /// The minimiser, in the regularizer's coordinates.
    pub u: Vec<f64>,
    /// Its distance from the best point.
    pub distance: f64,
    /// The best objective less the model's value (that with the proximal term if there is one).
    pub gap: f64,
}

/// A point that was evaluated on the ray from the best point through the model's minimiser.
#[derive(Debug, Clone)]
pub struct Trial {
    /// Where on the ray: 0 is the best point, 1 the minimiser.
    pub step: f64,
    /// The point, in the regularizer's coordinates.
    pub u: Vec<f64>,
    /// The risk there.
    pub risk: f64,
    /// A subgradient there.
    pub normal: Vec<f64>,
}

/// What became of the planes of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Update {
    /// The best point moved.
    Descent,
    /// It did not.
    Null,
    /// It did not, and a plane was made up.
    Null2,
}

/// Planes below the risk near its best point.
#[derive(Debug, Clone)]
pub struct LocalBundle {
    lambda: f64,
    most: usize,
    locality: Locality,
    planes: Vec<LocalPlane>,
    gram: Gram,
    master: Master,
    best: Best,
    /// Inner products of the normals with the model's last minimiser.
    at_minimum: Vec<f64>,
}

impl LocalBundle {
    /// A bundle of at most `most` planes, aggregates included, that begins with the plane at the
    /// start point.
    pub fn new(lambda: f64, most: usize, locality: Locality, start: Trial) -> Self {
        let mut bundle = LocalBundle {
            lambda,
            most: most.max(3),
            locality,
            planes: Vec::new(),
            gram: Gram::new(),
            master: Master::new(1),
            best: Best { square: norm2(&start.u), u: start.u, risk: start.risk },
            at_minimum: Vec::new(),
        };
        let at_best = dot(&start.normal, &bundle.best.u);
        let offset = start.risk - at_best;
        bundle.append(vec![(start.normal, offset, at_best, 0.0, Kind::Raw)]);
        bundle
    }

    /// Number of planes.
    pub fn len(&self) -> usize {
        self.planes.len()
    }

    /// Whether there are no planes (never, once it was started).
    pub fn is_empty(&self) -> bool {
        self.planes.is_empty()
    }

    /// The best point, in the regularizer's coordinates.
    pub fn best(&self) -> &[f64] {
        &self.best.u
    }

    /// The objective at the best point.
    pub fn objective(&self) -> f64 {
        self.best.risk + 0.5 * self.lambda * self.best.square
    }

    /// For every plane the linearisation error at the best point and the locality; Eq. 15 says
    /// that the first is at least the second.
    pub fn errors_and_localities(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.planes.iter().map(|plane| {
            (self.best.risk - plane.at_best - plane.offset, self.locality_of(plane.reach))
        })
    }

    fn locality_of(&self, reach: f64) -> f64 {
        0.5 * self.lambda * reach * reach
    }

    /// Minimises λ/2 ‖u‖² + μ/2 ‖u − u*‖² + max_j plane_j(u), to an absolute gap of `accuracy`:
    /// u = (μ u* − Σ α a) / (λ + μ).
    pub fn minimise(&mut self, mu: f64, accuracy: f64) -> LocalMinimum {
        let curvature = 1.0 / (self.lambda + mu);
        let offsets = self.offsets(mu);
        self.master.solve(&self.gram, &offsets, curvature, accuracy);
        let weights = self.master.weights();
        let mut sum = vec![0.0; self.best.u.len()];
        let mut products = vec![0.0; self.planes.len()];
        let mut height = 0.0;
        for (j, (plane, &weight)) in self.planes.iter_mut().zip(weights).enumerate() {
            if weight > 0.0 {
                plane.idle = 0;
                plane.normal.add_to(weight, &mut sum);
                axpy(weight, self.gram.row(j), &mut products);
                height += weight * offsets[j];
            } else {
                plane.idle += 1;
            }
        }
        let value = height - 0.5 * curvature * norm2(&sum)
            + 0.5 * mu * curvature * self.lambda * self.best.square;
        let mut distance = 0.0;
        for (u, best) in sum.iter_mut().zip(&self.best.u) {
            *u = (mu * best - *u) * curvature;
            distance += (*u - best) * (*u - best);
        }
        let planes = self.planes.iter().zip(&products);
        self.at_minimum =
            planes.map(|(plane, product)| (mu * plane.at_best - product) * curvature).collect();
        LocalMinimum { u: sum, distance: distance.sqrt(), gap: self.objective() - value }
    }

    fn offsets(&self, mu: f64) -> Vec<f64> {
        let share = mu / (self.lambda + mu);
        self.planes.iter().map(|plane| plane.offset + share * plane.at_best).collect()
    }

    /// The gap of the model without proximal term and without the planes that were made up: such a
    /// plane has its minimum at the best point, so its weight would fake convergence.
    pub fn honest_gap(&self, accuracy: f64) -> f64 {
        let keep: Vec<bool> = self.planes.iter().map(|plane| !plane.kind.is_made_up()).collect();
        if keep.iter().all(|keep| !keep) {
            return f64::INFINITY;
        }
        let (mut gram, mut master) = (self.gram.clone(), self.master.clone());
        gram.retain(&keep);
        master.retain(&keep);
        let offsets: Vec<f64> = self
            .offsets(0.0)
            .into_iter()
            .zip(&keep)
            .filter(|(_, keep)| **keep)
            .map(|(b, _)| b)
            .collect();
        self.objective() - master.solve(&gram, &offsets, 1.0 / self.lambda, accuracy).value
    }

    /// The locality of the aggregate plane that the last minimisation found: Σ α s.
    pub fn aggregate_locality(&self) -> f64 {
        let planes = self.planes.iter().zip(self.master.weights());
        planes.map(|(plane, weight)| weight * self.locality_of(plane.reach)).sum()
    }

    /// Whether planes that were made up carry weight.
    pub fn leans_on_made_up_planes(&self) -> bool {
        let weights = self.master.weights();
        self.planes.iter().zip(weights).any(|(plane, &w)| w > 0.0 && plane.kind.is_made_up())
    }

    /// Lets the planes that were made up go.
    pub fn forget_made_up_planes(&mut self) {
        let keep: Vec<bool> = self.planes.iter().map(|plane| !plane.kind.is_made_up()).collect();
        if keep.iter().any(|keep| *keep) {
            self.retain(&keep);
        }
    }

    /// Takes the planes of an iteration's trials in (Algorithm 5). The best point moves to the
    /// lowest of them if that lies strictly below it. A trial at step 1 is the minimiser itself:
    /// there, and only there, a plane is made up where lowering cannot do.
    pub fn update(&mut self, trials: Vec<Trial>, distance: f64) -> Update {
        let objective = |t: &Trial| t.risk + 0.5 * self.lambda * norm2(&t.u);
        let lowest = (0..trials.len())
            .min_by(|&i, &j| objective(&trials[i]).total_cmp(&objective(&trials[j])));
        let lowest = lowest.filter(|&i| objective(&trials[i]) < self.objective());
        let at = lowest.map_or(0.0, |i| trials[i].step);
        if let Some(i) = lowest {
            let length = (at * distance).abs();
            if self.locality == Locality::Squares && self.would_lower_weight(&trials[i], length) {
                // Lowered one by one, the planes with weight would fall further than their
                // combination has to, and the gap could grow (Lemma 4.2 lowers the combination).
                self.aggregate(false);
            }
            self.move_best(&trials[i], length);
        }
        let mut made_up = false;
        let mut new = Vec::new();
        for (i, trial) in trials.into_iter().enumerate() {
            if lowest == Some(i) {
                // It touches the risk at the best point.
                let at_best = dot(&trial.normal, &self.best.u);
                new.push((trial.normal, self.best.risk - at_best, at_best, 0.0, Kind::Raw));
                continue;
            }
            let reach = self.locality.grown(0.0, ((trial.step - at) * distance).abs());
            let (at_best, at_trial) =
                (dot(&trial.normal, &self.best.u), dot(&trial.normal, &trial.u));
            let offset = trial.risk - at_trial;
            // Eq. 17: U from condition 15, L from condition 16.
            let upper = self.best.risk - at_best - self.locality_of(reach);
            let half = 0.5 * self.lambda * norm2(&trial.u);
            if offset <= upper || lowest.is_some() || self.objective() - half - at_trial <= upper {
                new.push((trial.normal, offset.min(upper), at_best, reach, Kind::Raw));
            } else if trial.step == 1.0 {
                // Line 6 of Algorithm 6: a = −λ u*, and b such that condition 16 is an equation.
                let normal: Vec<f64> = self.best.u.iter().map(|u| -self.lambda * u).collect();
                let at_best = -self.lambda * self.best.square;
                let offset = self.best.risk - at_best - self.locality_of(reach);
                new.push((normal, offset, at_best, reach, Kind::NullStep2));
                made_up = true;
            }
        }
        self.make_room(new.len());
        self.append(new);
        match lowest {
            Some(_) => Update::Descent,
            None if made_up => Update::Null2,
            None => Update::Null,
        }
    }

    /// Whether a descent step lowers planes that carry weight.
    fn would_lower_weight(&self, trial: &Trial, length: f64) -> bool {
        let planes = self.planes.iter().zip(&self.at_minimum).zip(self.master.weights());
        planes.filter(|(_, weight)| **weight > 0.0).any(|((plane, at_minimum), _)| {
            let at_best = plane.at_best + trial.step * (at_minimum - plane.at_best);
            let locality = self.locality_of(self.locality.grown(plane.reach, length));
            plane.offset > trial.risk - at_best - locality
        })
    }

    /// A descent step (lines 3 to 10 of Algorithm 5): localities grow, and planes that are too high
    /// for them at the new best point are lowered (Eq. 15).
    fn move_best(&mut self, trial: &Trial, length: f64) {
        self.best = Best { square: norm2(&trial.u), u: trial.u.clone(), risk: trial.risk };
        let step = trial.step;
        for (plane, at_minimum) in self.planes.iter_mut().zip(&self.at_minimum) {
            plane.at_best += step * (at_minimum - plane.at_best);
            plane.reach = self.locality.grown(plane.reach, length);
            let locality = 0.5 * self.lambda * plane.reach * plane.reach;
            plane.offset = plane.offset.min(self.best.risk - plane.at_best - locality);
        }
    }

    /// Appends planes; old ones are read once for the products with all new ones.
    fn append(&mut self, new: Vec<(Vec<f64>, f64, f64, f64, Kind)>) {
        let normals: Vec<&[f64]> = new.iter().map(|(normal, ..)| &normal[..]).collect();
        let old = map(self.planes.len(), |at| self.planes[at].normal.dots(&normals));
        for (i, (normal, ..)) in new.iter().enumerate() {
            let among = new[..=i].iter().map(|(other, ..)| dot(other, normal));
            let row: Vec<f64> = old.iter().map(|products| products[i]).chain(among).collect();
            self.gram.push(&row);
            self.master.push(0);
        }
        for (normal, offset, at_best, reach, kind) in new {
            let normal = Normal::store(normal, self.planes.last().map(|last| &last.normal));
            self.planes.push(LocalPlane { normal, offset, at_best, reach, idle: 0, kind });
        }
        self.at_minimum.resize(self.planes.len(), 0.0);
    }

    /// Makes room for `count` more planes: those without weight for longest go, but never the one
    /// that touches at the best point; where weight would go with them it is first moved to the
    /// aggregates.
    fn make_room(&mut self, count: usize) {
        if self.len() + count <= self.most {
            return;
        }
        let room = self.most.saturating_sub(count).max(2);
        if self.planes.iter().filter(|plane| plane.idle == 0).count() > room {
            self.aggregate(true);
        }
        let mut order: Vec<usize> = (0..self.len()).collect();
        let touches = |plane: &LocalPlane| plane.kind == Kind::Raw && plane.reach == 0.0;
        let rank = |j: usize| {
            let plane = &self.planes[j];
            let weightless = self.master.weights()[j] == 0.0;
            (!weightless, touches(plane), std::cmp::Reverse(plane.idle), j)
        };
        order.sort_by_key(|&j| rank(j));
        let mut keep = vec![true; self.len()];
        let excess = self.len().saturating_sub(room);
        order.iter().take(excess).for_each(|&j| keep[j] = false);
        self.retain(&keep);
    }

    /// Folds all weight into one aggregate of tangents and one of planes that were made up, so that
    /// the share of the latter stays known; or all into one, which then counts as made up if
    /// anything in it is. Localities combine like offsets (§3.2.4).
    fn aggregate(&mut self, apart: bool) {
        let mut weights = self.master.weights().to_vec();
        let mut keep = vec![true; self.len()];
        let mut appended = Vec::new();
        let groups: &[Option<bool>] = if apart { &[Some(false), Some(true)] } else { &[None] };
        for group in groups {
            let is_member = |j: &usize| {
                let is_made_up = self.planes[*j].kind.is_made_up();
                weights[*j] > 0.0 && group.is_none_or(|made_up| is_made_up == made_up)
            };
            let members: Vec<usize> = (0..self.len()).filter(is_member).collect();
            let made_up = members.iter().any(|&j| self.planes[j].kind.is_made_up());
            let total: f64 = members.iter().map(|&j| weights[j]).sum();
            if members.is_empty() {
                continue;
            }
            let mut products = vec![0.0; self.gram.len()];
            let mut normal = vec![0.0; self.best.u.len()];
            let (mut offset, mut at_best, mut square) = (0.0, 0.0, 0.0);
            let mut at_minimum = 0.0;
            for &j in &members {
                let (plane, share) = (&self.planes[j], weights[j] / total);
                axpy(share, self.gram.row(j), &mut products);
                plane.normal.add_to(share, &mut normal);
                offset += share * plane.offset;
                at_best += share * plane.at_best;
                at_minimum += share * self.at_minimum[j];
                square += share * plane.reach * plane.reach;
            }
            products.push(norm2(&normal));
            self.gram.push(&products);
            self.master.push(0);
            appended.push(total);
            let kind = if made_up { Kind::NullStep2Aggregate } else { Kind::Aggregate };
            let normal = Normal::store(normal, self.planes.last().map(|last| &last.normal));
            self.planes.push(LocalPlane {
                normal,
                offset,
                at_best,
                reach: square.sqrt(),
                idle: 0,
                kind,
            });
            self.at_minimum.push(at_minimum);
            for j in members {
                weights[j] = 0.0;
                // Tangents that went into something made up stay for the honest gap.
                let kind = self.planes[j].kind;
                keep[j] = !kind.is_aggregate() || kind.is_made_up() != made_up;
                self.planes[j].idle = self.planes[j].idle.max(1);
            }
            keep.push(true);
            weights.push(total);
        }
        self.master.set_weights(&weights);
        self.retain(&keep);
    }

    fn retain(&mut self, keep: &[bool]) {
        let mut kept = keep.iter();
        self.planes.retain(|_| kept.next().copied().unwrap_or(true));
        let mut kept = keep.iter();
        self.at_minimum.retain(|_| kept.next().copied().unwrap_or(true));
        self.gram.retain(keep);
        self.master.retain(keep);
    }

    /// Writes everything that later iterations depend on.
    pub fn save(&self, archive: &mut Archive) {
        let planes = &self.planes;
        normal::save(planes.iter().map(|plane| &plane.normal), archive);
        let numbers = planes.iter().flat_map(|p| [p.offset, p.at_best, p.reach]);
        archive.put_reals("planes.numbers", numbers.collect());
        archive.put_integers("planes.idle", planes.iter().map(|p| u64::from(p.idle)));
        let kinds = planes.iter().map(|p| Kind::ALL.iter().position(|k| *k == p.kind).unwrap_or(0));
        archive.put_integers("planes.kinds", kinds.map(|kind| kind as u64));
        archive.put_reals("best.u", self.best.u.clone());
        archive.put_reals("best.risk", vec![self.best.risk]);
        state::save_master(&self.gram, &self.master, archive);
    }

    /// The bundle that was saved.
    pub fn load(
        lambda: f64,
        most: usize,
        locality: Locality,
        archive: &mut Archive,
    ) -> Result<Self, ArchiveError> {
        let bad = || ArchiveError("planes".into());
        let u = archive.take_reals("best.u")?;
        let normals = normal::load(u.len(), archive)?;
        let numbers = archive.take_reals("planes.numbers")?;
        let idle = archive.take_integers("planes.idle")?;
        let kinds = archive.take_integers("planes.kinds")?;
        let count = idle.len();
        if normals.len() != count || numbers.len() != 3 * count || kinds.len() != count {
            return Err(bad());
        }
        let mut planes = Vec::new();
        for (j, (numbers, normal)) in numbers.as_chunks::<3>().0.iter().zip(normals).enumerate() {
            planes.push(LocalPlane {
                normal,
                offset: numbers[0],
                at_best: numbers[1],
                reach: numbers[2],
                idle: idle[j] as u32,
                kind: *Kind::ALL.get(kinds[j] as usize).ok_or_else(bad)?,
            });
        }
        let (gram, master) = state::load_master(count, 1, archive)?;
        let risk = archive.take_real("best.risk")?;
        Ok(LocalBundle {
            lambda,
            most: most.max(3),
            locality,
            planes,
            gram,
            master,
            best: Best { square: norm2(&u), u, risk },
            at_minimum: vec![0.0; count],
        })
    }
}
