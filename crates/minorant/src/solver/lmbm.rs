//! `lmbm`: the limited memory bundle method of Haarala, Miettinen and Mäkelä (2004) for functions that
//! need not be convex, which Do and Artières compare with under the name of NBM. It keeps no bundle:
//! three subgradients are aggregated into one after each null step, and the direction is that of a
//! variable metric with few pairs. It knows nothing of the regularizer: the objective as a whole is its
//! function.
//!
//! Everything is in the coordinates u = θ ∘ (w − w_reg) of the regularizer. The method's own stop rule
//! is its progress measure: half of w_k = ξ̃·Dξ̃ + 2α̃, the decrease that its quadratic model foresees,
//! is within the target. It proves nothing. Where the risk is convex, the planes at all points give a
//! bound, and the run has converged once that is near enough: where the method's own rule holds earlier,
//! the run goes on with the minimisers of the planes' model.
//!
//! Departures: the SR1 corrections are made to the matrix as the last serious step left it, so that it
//! can only shrink between serious steps; a step is null only where the objective rises by no more than
//! half of w_k, and else is shortened first, for a subgradient from far away tells little of the kink
//! nearby; and a step is longer than the direction where the objective falls along it in a straight
//! line, or what falls for ever would do so at a walking pace.

use super::nrbm::evaluate_if_finite;
use super::quasi_newton::{Companion, VariableMetric, difference};
use super::{Halt, Problem, Run, Solver, Status, Step, load_point, save_point};
use crate::archive::{Archive, ArchiveError};
use crate::risk::{Plane, Point};
use minorant_linalg::dense::{axpy, dot, norm2};

/// ε_L and ε_R: a serious step has the first share of w_k; a null step's subgradient must change the
/// foreseen slope by the second.
const SERIOUS: f64 = 1e-4;
const NULL: f64 = 0.25;
/// γ of the locality measure where the risk is not convex.
const GAMMA: f64 = 0.5;
/// The rise of the objective, as a share of w_k, up to which a step is null without being shortened.
const RISE: f64 = 0.5;
/// The shortest serious step whose locality is no reason for a null step instead.
const SHORTEST: f64 = 1e-12;
/// A slope that changes by less than this share along a step is straight, and walked down in steps so
/// many times longer each.
const STRAIGHT: f64 = 1e-9;
const STRIDE: f64 = 10.0;
/// Without a regularizer the aggregate's square must have shrunk to this share of the first one.
const FLAT: f64 = 0.01;
/// The most points that one line search visits.
const TRIALS: usize = 10;

/// The limited memory bundle method.
#[derive(Debug)]
pub struct Lmbm {
    dim: usize,
    lambda: f64,
    gamma: f64,
    pairs: usize,
    companion: Companion,
    metric: Option<VariableMetric>,
    /// x_k, and ξ_m there.
    best: Option<Point>,
    gradient: Vec<f64>,
    /// ξ̃_k and α̃_k.
    aggregate: Vec<f64>,
    error: f64,
    /// The square of the first subgradient.
    first_square: f64,
}

/// Where a line search ended.
struct Found {
    is_serious: bool,
    step: f64,
    point: Point,
    objective: f64,
    gradient: Vec<f64>,
    /// β.
    locality: f64,
}

impl Lmbm {
    /// A run on a problem with room for `pairs` pairs.
    pub(super) fn new(problem: Problem<'_>, pairs: usize, companion: Companion) -> Self {
        Lmbm {
            dim: problem.risk.dim(),
            lambda: problem.regularizer.lambda(),
            gamma: if problem.risk.is_convex() { 0.0 } else { GAMMA },
            pairs,
            companion,
            metric: None,
            best: None,
            gradient: Vec::new(),
            aggregate: Vec::new(),
            error: 0.0,
            first_square: 0.0,
        }
    }

    /// A subgradient of the objective in the regularizer's coordinates.
    fn subgradient(&self, run: &Run<'_>, point: &Point, plane: Plane) -> Vec<f64> {
        let regularizer = run.problem.regularizer;
        let mut gradient = regularizer.plane_in_metric(plane).normal;
        if self.lambda > 0.0 {
            axpy(self.lambda, &regularizer.to_metric(&point.w), &mut gradient);
        }
        gradient
    }

    /// What the model foresees: half of w_k, or where the metric's size means nothing yet what strong
    /// convexity allows.
    fn foreseen(&self, progress: f64) -> f64 {
        let fresh = self.metric.as_ref().is_none_or(VariableMetric::is_fresh);
        match norm2(&self.aggregate) {
            _ if !fresh => 0.5 * progress,
            0.0 => self.error,
            square => square / (2.0 * self.lambda) + self.error,
        }
    }

    /// Stops the run where it has converged. Where only the method's own rule says so and a bound can be
    /// had, the point to go on with.
    fn check(&mut self, run: &mut Run<'_>, foreseen: f64) -> Result<Option<Vec<f64>>, Halt> {
        // Without a regularizer any metric foresees little where the objective has fallen far.
        let is_steep = norm2(&self.aggregate) > FLAT * self.first_square;
        if self.lambda == 0.0 && is_steep {
            return Ok(None);
        }
        let converged = run.check_local_gap(foreseen);
        if !self.companion.is_bounding() {
            return converged.map(|()| None);
        }
        if converged.is_ok() && !self.companion.is_due(run) {
            return Ok(None);
        }
        let to = self.companion.solve(run)?;
        match converged {
            Ok(()) => Ok(None),
            Err(_) => to.map_or(Err(Halt::Stop(Status::Stalled)), |to| Ok(Some(to))),
        }
    }

    /// The point u with a subgradient, kept for the bound; nothing where the risk is not finite.
    fn visit(
        &mut self,
        run: &mut Run<'_>,
        w: Vec<f64>,
    ) -> Result<Option<(Point, f64, Vec<f64>)>, Halt> {
        let Some((point, plane)) = evaluate_if_finite(run, w)? else { return Ok(None) };
        if self.companion.is_bounding() {
            self.companion.add(run, &point.w, vec![plane.clone()]);
        }
        let gradient = self.subgradient(run, &point, plane);
        let objective = run.problem.objective(&point);
        Ok(Some((point, objective, gradient)))
    }

    /// The line search along d: steps until one is serious or null.
    fn search(
        &mut self,
        run: &mut Run<'_>,
        best: &Point,
        d: &[f64],
        progress: f64,
    ) -> Result<Option<Found>, Halt> {
        let regularizer = run.problem.regularizer;
        let (from, before) = (regularizer.to_metric(&best.w), run.problem.objective(best));
        let (square, first_slope) = (norm2(d), dot(&self.gradient, d));
        let (mut low, mut high, mut step) = (0.0, 1.0, 1.0);
        let mut last = None;
        for _ in 0..TRIALS {
            let u = from.iter().zip(d).map(|(u, d)| u + step * d).collect();
            let Some((point, objective, gradient)) = self.visit(run, regularizer.from_metric(u))?
            else {
                high = step;
                step = low + 0.1 * (high - low);
                continue;
            };
            let slope = dot(&gradient, d);
            let error = (before - objective + step * slope).abs();
            let locality = error.max(self.gamma * step * step * square);
            let is_low = objective <= before - SERIOUS * step * progress;
            let is_serious = is_low && (step >= SHORTEST || locality > NULL * progress);
            let is_null =
                slope - locality >= -NULL * progress && objective <= before + RISE * progress;
            let found = Found { is_serious: is_low, step, point, objective, gradient, locality };
            // A whole step down a straight slope tells nothing of where the slope ends.
            let is_straight = (slope - first_slope).abs() <= STRAIGHT * first_slope.abs();
            if is_low && step >= 1.0 && is_straight {
                low = step;
                step *= STRIDE;
                last = Some(found);
                continue;
            }
            if low >= 1.0 && !is_low {
                return Ok(last);
            }
            if is_serious || is_null {
                return Ok(Some(Found { is_serious, ..found }));
            }
            if is_low {
                low = step;
            } else {
                high = step;
            }
            // The minimiser of the parabola through both values with the foreseen slope.
            let bend = 2.0 * (objective - before + step * progress);
            let parabola = progress * step * step / bend;
            let margin = 0.1 * (high - low);
            step = if low == 0.0 && parabola.is_finite() {
                parabola.clamp(low + margin, high - margin)
            } else {
                0.5 * (low + high)
            };
            if is_low || !last.as_ref().is_some_and(|last: &Found| last.is_serious) {
                last = Some(found);
            }
        }
        Ok(last)
    }

    /// ξ̃_{k+1} and α̃_{k+1}: the combination of ξ_m, ξ and ξ̃_k that minimises its square in the
    /// metric plus twice its locality.
    fn aggregate(&mut self, found: &Found, d: &[f64]) {
        let Some(metric) = &self.metric else { return };
        // D ξ̃_k = −d.
        let images = [
            metric.times(&self.gradient),
            metric.times(&found.gradient),
            d.iter().map(|d| -d).collect(),
        ];
        let all = [&self.gradient, &found.gradient, &self.aggregate];
        let localities = [0.0, found.locality, self.error];
        let gram: [[f64; 3]; 3] =
            std::array::from_fn(|i| std::array::from_fn(|j| dot(all[i.max(j)], &images[i.min(j)])));
        let weights = least_of_three(&gram, &localities);
        let mut sum = vec![0.0; self.dim];
        for (weight, vector) in weights.iter().zip(all) {
            axpy(*weight, vector, &mut sum);
        }
        self.error =
            weights.iter().zip(localities).map(|(weight, locality)| weight * locality).sum();
        self.aggregate = sum;
    }

    /// Goes on from a lower point.
    fn arrive(&mut self, run: &mut Run<'_>, s: Vec<f64>, found: Found) {
        let u = difference(&found.gradient, &self.gradient);
        if let Some(metric) = &mut self.metric {
            metric.serious(s, u);
        }
        run.offer_objective(found.objective);
        self.best = Some(found.point);
        self.aggregate = found.gradient.clone();
        self.gradient = found.gradient;
        self.error = 0.0;
    }

    /// The whole step to the minimiser of the planes' model.
    fn go_to(&mut self, run: &mut Run<'_>, best: &Point, to: Vec<f64>) -> Result<Step, Halt> {
        let regularizer = run.problem.regularizer;
        let s = difference(&regularizer.to_metric(&to), &regularizer.to_metric(&best.w));
        let before = run.problem.objective(best);
        let Some((point, objective, gradient)) = self.visit(run, to)? else {
            return Err(Halt::Stop(Status::Stalled));
        };
        let length = norm2(&s).sqrt();
        let is_serious = objective < before;
        if is_serious {
            let found = Found { is_serious, step: 1.0, point, objective, gradient, locality: 0.0 };
            self.arrive(run, s, found);
        }
        let kind = if is_serious { "model" } else { "model-null" };
        Ok(Step { kind, objective, length: Some(length) })
    }
}

/// The weights of a simplex with three corners at which the convex form Σ λᵢλⱼ gᵢⱼ + 2 Σ λᵢ oᵢ is least.
fn least_of_three(gram: &[[f64; 3]; 3], offsets: &[f64; 3]) -> [f64; 3] {
    let value = |weights: &[f64; 3]| {
        let square: f64 = (0..3)
            .flat_map(|i| (0..3).map(move |j| (i, j)))
            .map(|(i, j)| weights[i] * weights[j] * gram[i][j])
            .sum();
        square + 2.0 * weights.iter().zip(offsets).map(|(w, o)| w * o).sum::<f64>()
    };
    let mut candidates = vec![[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for (i, j) in [(0, 1), (0, 2), (1, 2)] {
        let curvature = gram[i][i] - 2.0 * gram[i][j] + gram[j][j];
        let along = (gram[i][i] - gram[i][j] + offsets[i] - offsets[j]) / curvature;
        if curvature > 0.0 && along > 0.0 && along < 1.0 {
            let mut weights = [0.0; 3];
            (weights[i], weights[j]) = (1.0 - along, along);
            candidates.push(weights);
        }
    }
    // Inside: both derivatives along the edges from the first corner are 0.
    let of = |i: usize, j: usize| gram[i][j] - gram[0][i] - gram[0][j] + gram[0][0];
    let fall = |i: usize| gram[0][0] - gram[0][i] + offsets[0] - offsets[i];
    let (a, b, c) = (of(1, 1), of(1, 2), of(2, 2));
    let determinant = a * c - b * b;
    if determinant > 0.0 {
        let second = (fall(1) * c - fall(2) * b) / determinant;
        let third = (a * fall(2) - b * fall(1)) / determinant;
        if second >= 0.0 && third >= 0.0 && second + third <= 1.0 {
            candidates.push([1.0 - second - third, second, third]);
        }
    }
    let least = candidates.into_iter().min_by(|a, b| value(a).total_cmp(&value(b)));
    least.unwrap_or([0.0, 0.0, 1.0])
}

impl Solver for Lmbm {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let (point, mut planes) = run.evaluate_with_planes(run.problem.start_point(), 1)?;
        let objective = run.objective(&point)?;
        run.offer_objective(objective);
        self.companion.add(run, &point.w, planes.clone());
        self.gradient = self.subgradient(run, &point, planes.remove(0));
        self.aggregate = self.gradient.clone();
        self.first_square = norm2(&self.gradient);
        let length = self.first_square.sqrt();
        self.metric = Some(VariableMetric::new(self.dim, length.max(1.0).recip(), self.pairs));
        self.best = Some(point);
        Ok(Step { kind: "start", objective, length: None })
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let (Some(best), Some(metric)) = (self.best.clone(), &self.metric) else {
            return Err(Halt::Stop(Status::Stalled));
        };
        let d: Vec<f64> = metric.times(&self.aggregate).iter().map(|d| -d).collect();
        let progress = 2.0 * self.error - dot(&self.aggregate, &d);
        if let Some(to) = self.check(run, self.foreseen(progress))? {
            return self.go_to(run, &best, to);
        }
        if progress <= 0.0 {
            return Err(Halt::Stop(Status::Stalled));
        }
        let Some(found) = self.search(run, &best, &d, progress)? else {
            return Err(Halt::Stop(Status::Stalled));
        };
        let s: Vec<f64> = d.iter().map(|d| found.step * d).collect();
        let (objective, length) = (found.objective, Some(norm2(&s).sqrt()));
        if found.is_serious {
            self.arrive(run, s, found);
            return Ok(Step { kind: "descent", objective, length });
        }
        let u = difference(&found.gradient, &self.gradient);
        let before = self.aggregate.clone();
        self.aggregate(&found, &d);
        if let Some(metric) = &mut self.metric {
            metric.null(s, u, &d, &before);
        }
        Ok(Step { kind: "null", objective, length })
    }

    fn conclude(&mut self, run: &mut Run<'_>) -> Result<(), Halt> {
        self.companion.solve(run).map(|_| ())
    }

    fn best(&self) -> Option<&Point> {
        self.best.as_ref()
    }

    fn planes(&self) -> usize {
        3
    }

    fn save(&self, archive: &mut Archive) {
        if let Some(best) = &self.best {
            save_point("best", best, archive);
        }
        archive.put_reals("gradient", self.gradient.clone());
        archive.put_reals("aggregate", self.aggregate.clone());
        archive.put_reals("error", vec![self.error, self.first_square]);
        if let Some(metric) = &self.metric {
            metric.save(archive);
        }
        archive.put_all("companion", |archive| self.companion.save(archive));
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        self.best = Some(load_point("best", self.dim, archive)?);
        self.gradient = archive.take_reals("gradient")?;
        self.aggregate = archive.take_reals("aggregate")?;
        if [&self.gradient, &self.aggregate].iter().any(|vector| vector.len() != self.dim) {
            return Err(ArchiveError("gradient".into()));
        }
        let numbers = archive.take_finite("error", 2)?;
        (self.error, self.first_square) = (numbers[0], numbers[1]);
        let mut metric = VariableMetric::new(self.dim, 1.0, self.pairs);
        metric.load(archive)?;
        self.metric = Some(metric);
        self.companion.load(&mut archive.take_all("companion"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No point of a fine grid on the simplex does better.
    #[test]
    fn three_subgradients_are_weighed_best() {
        let number = |at: usize| ((at * 2_654_435_761) % 1_000_003) as f64 / 500_001.5 - 1.0;
        for case in 0..300 {
            let vectors: [[f64; 3]; 3] =
                std::array::from_fn(|i| std::array::from_fn(|j| number(17 * case + 3 * i + j)));
            let gram: [[f64; 3]; 3] =
                std::array::from_fn(|i| std::array::from_fn(|j| dot(&vectors[i], &vectors[j])));
            let offsets = [0.0, number(case + 7).abs(), number(case + 9).abs() * 0.1];
            let value = |w: [f64; 3]| {
                let sum: Vec<f64> =
                    (0..3).map(|j| (0..3).map(|i| w[i] * vectors[i][j]).sum()).collect();
                norm2(&sum) + 2.0 * (0..3).map(|i| w[i] * offsets[i]).sum::<f64>()
            };
            let best = value(least_of_three(&gram, &offsets));
            for i in 0..=40 {
                for j in 0..=40 - i {
                    let (a, b) = (f64::from(i) / 40.0, f64::from(j) / 40.0);
                    assert!(best <= value([1.0 - a - b, a, b]) + 1e-9, "{case}");
                }
            }
        }
    }
}
