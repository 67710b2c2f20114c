//! The audit: checks a model's certificate against the data by code of its own. It shares no
//! kernel, loss, bundle or bound with training: rows are read one by one, losses are written out
//! again in their plainest form, and the bound is summed up from the proof's points.
//!
//! A proof gives points w_j and, for each part (a contiguous block of rows), weights α_j on a
//! simplex; for rows that lie on a kink at w_j it also names the piece of the loss, which is a
//! minorant of the loss whichever it is. Each example's loss lies above its tangents at the w_j; with the weights the tangents
//! add up to one minorant of the whole risk, whose minimum together with the regularizer is known
//! in closed form. That minimum is the bound. A proof may also give the slopes of one minorant for
//! each example outright; how high it may lie follows from the loss.

mod chain;
mod image;
mod slopes;
mod tangent;

pub use chain::audit_chain;
pub use image::audit_images;

use crate::model::{FittedModel, Penalty, TaskName};
use crate::proof::{Proof, ProofPoint, Tie};
use minorant_data::{Dataset, LabelRows};
use minorant_linalg::parallel::split_evenly;
use minorant_linalg::sum::Sum;
use rayon::prelude::*;
use tangent::{Truth, piece, tangent};

/// What an audit found.
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    /// Whether everything that the model claims was confirmed.
    pub holds: bool,
    /// The objective at the model's weights, recomputed.
    pub objective: Option<f64>,
    /// The lower bound, recomputed from the proof.
    pub lower_bound: Option<f64>,
    /// In one sentence, why it holds or does not.
    pub why: String,
}

/// How far a recomputed number may lie from the claimed one, relative to the objective.
const AGREEMENT: f64 = 1e-9;
/// A recomputed bound counts only if its own rounding errors are below this share of the objective,
/// or of the bound where that lies far below; a proof with larger ones could hide a false bound in
/// them.
const RESOLUTION: f64 = 1e-7;
/// Roundings that may add up in an objective.
const ROUNDINGS: f64 = 32.0;
/// How far the weights of a part may add up to something else than 1.
const SIMPLEX: f64 = 1e-12;

/// Audits a model on the data that it claims to be trained on.
pub fn audit(model: &FittedModel, data: &Dataset<'_>, example_weights: Option<&[f64]>) -> Audit {
    let mut audit = Audit { holds: false, objective: None, lower_bound: None, why: String::new() };
    match check(model, data, example_weights, &mut audit) {
        Ok(()) => {
            audit.holds = true;
            let bound = audit.lower_bound.unwrap_or(f64::NEG_INFINITY);
            audit.why = format!(
                "the proof was recomputed from the data: no weights reach an objective below {bound}"
            );
        }
        Err(why) => audit.why = why,
    }
    audit
}

/// Whether the objective at a model's weights is the one that it states; `size` is that of the
/// margins and scores whose differences the losses are, so that rounding shows where they nearly
/// cancel.
fn agrees(claimed: f64, found: f64, size: f64) -> Result<(), String> {
    let rounding = ROUNDINGS * f64::EPSILON * size;
    if within((found - claimed).abs(), AGREEMENT * found.abs() + rounding) {
        return Ok(());
    }
    Err(format!("the objective at the model's weights is {found}, not {claimed} as the model says"))
}

fn proof_of<P>(proof: Option<&P>) -> Result<&P, String> {
    proof.ok_or_else(|| "not auditable: the model carries no proof of its bound".into())
}

/// Whether a bound that was found again, up to a rounding error, is the one that a model claims.
fn judge(claimed: Option<f64>, objective: f64, bound: f64, rounding: f64) -> Result<(), String> {
    let claimed = claimed.ok_or("the model claims no lower bound")?;
    if !within(rounding, RESOLUTION * objective.abs().max(bound.abs())) {
        return Err("the proof's numbers are too large to be checked in double precision".into());
    }
    // Rounding allowances make claims lower, the more so the larger the numbers are; but a claim
    // far below its proof belongs to another problem.
    let above = AGREEMENT * objective.abs() + rounding;
    let below = above + RESOLUTION * (objective.abs() + bound.abs());
    if !within(claimed - bound, above) || !within(bound - claimed, below) {
        return Err(format!(
            "the proof gives a lower bound of {bound}, not {claimed} as the model says"
        ));
    }
    if claimed > objective + rounding {
        return Err(format!("the bound {claimed} lies above the objective {objective}"));
    }
    Ok(())
}

fn check(
    model: &FittedModel,
    data: &Dataset<'_>,
    example_weights: Option<&[f64]>,
    audit: &mut Audit,
) -> Result<(), String> {
    let same_shape = data.features.rows() == model.examples
        && data.features.cols() == model.features
        && (data.labels.classes == model.classes || !model.loss.is_convex())
        && fits_task(model, data);
    if !same_shape || crate::fingerprint::of(data, example_weights) != model.data_sha256 {
        return Err("this is not the data that the model was trained on (files, labels, example \
                    weights and the options for reading them must be the same)"
            .into());
    }
    if !model.loss.is_convex() {
        return Err("a non-convex model has no global bound to check".into());
    }
    if !is_whole(model) {
        return Err("the model's numbers do not fit together".into());
    }
    let weights = shares(model, data, example_weights)?;
    let (mut objective, mut bound) = (Sum::new(), Sum::new());
    // What the classes' certificates, each of which is checked, claim together.
    let mut claims = [Sum::new(), Sum::new()];
    for (k, problem) in model.problems.iter().enumerate() {
        let examples = Examples { model, data, weights: &weights, class: k };
        let (found, size) = examples.objective(&problem.weights);
        objective.add(found);
        audit.objective = Some(objective.value());
        let certificate = problem.certificate;
        agrees(certificate.objective, found, size)?;
        let proof = proof_of(problem.proof.as_ref())?;
        let (found_bound, rounding) = examples.bound(proof)?;
        bound.add(found_bound);
        audit.lower_bound = Some(bound.value());
        judge(certificate.lower_bound, found, found_bound, rounding)?;
        claims[0].add(certificate.objective);
        claims[1].add(certificate.lower_bound.unwrap_or(f64::NAN));
    }
    let [objective, bound] = claims.map(|claim| claim.value());
    let near = |claimed: f64, sum: f64| {
        within((claimed - sum).abs(), RESOLUTION * (objective.abs() + sum.abs()))
    };
    let total = model.certificate;
    if !near(total.objective, objective) || !total.lower_bound.is_some_and(|b| near(b, bound)) {
        return Err("the model's objective and bound are not the sums over its classes".into());
    }
    Ok(())
}

/// Whether a distance keeps within a limit; one that is not a number does not.
fn within(distance: f64, limit: f64) -> bool {
    distance <= limit
}

/// Whether the model's own numbers fit together, so that recomputing makes sense.
fn is_whole(model: &FittedModel) -> bool {
    let classes = model.classes.len();
    let dim = model.outputs_per_problem() * model.rows_of_weights();
    let positive = |x: f64| x > 0.0 && x.is_finite();
    let proofs = model.problems.iter().filter_map(|problem| problem.proof.as_ref());
    let points = proofs.flat_map(Proof::points).map(|point| point.w.len());
    positive(model.lambda)
        && model.bias_weight.is_none_or(positive)
        && model.label_loss.as_ref().is_none_or(|delta| delta.len() == classes * classes)
        && model.class_weights.iter().all(|(_, weight)| *weight >= 0.0 && weight.is_finite())
        && model.problems.iter().map(|p| p.weights.len()).chain(points).all(|length| length == dim)
}

/// Whether the labels are of the kind that the model's task has.
fn fits_task(model: &FittedModel, data: &Dataset<'_>) -> bool {
    match &data.labels.rows {
        LabelRows::Single(_) => model.task != TaskName::Multilabel,
        LabelRows::Sets { .. } => model.task == TaskName::Multilabel,
        LabelRows::None => false,
    }
}

/// sᵢ c(yᵢ) / Σ sᵢ for every row.
fn shares(
    model: &FittedModel,
    data: &Dataset<'_>,
    example_weights: Option<&[f64]>,
) -> Result<Vec<f64>, String> {
    let rows = data.features.rows();
    if example_weights.is_some_and(|weights| weights.len() != rows) {
        return Err(format!("expected {rows} example weights, one a row"));
    }
    let weight = |i: usize| example_weights.map_or(1.0, |weights| weights[i]);
    let total: Sum = (0..rows).map(weight).collect();
    let total = total.value();
    let class_weight = |i: usize| -> f64 {
        let labels = data.labels.row(i).iter().map(|&z| &data.labels.classes[z as usize]);
        let find = |label| model.class_weights.iter().find(|(l, _)| l == label).map(|(_, c)| *c);
        labels.filter_map(find).product::<f64>()
    };
    Ok((0..rows).map(|i| weight(i) * class_weight(i) / total).collect())
}

/// One of a model's problems on the data.
struct Examples<'a> {
    model: &'a FittedModel,
    data: &'a Dataset<'a>,
    weights: &'a [f64],
    class: usize,
}

impl Examples<'_> {
    fn outputs(&self) -> usize {
        self.model.outputs_per_problem()
    }

    fn truth(&self, row: usize) -> Truth<'_> {
        match (&self.data.labels.rows, self.model.task) {
            (LabelRows::Single(labels), TaskName::Binary) => Truth::Sign(labels[row] == 1),
            (LabelRows::Single(labels), TaskName::OneVsRest) => {
                Truth::Sign(labels[row] as usize == self.class)
            }
            (LabelRows::Single(labels), _) => Truth::Class(labels[row] as usize),
            _ => Truth::Set(self.data.labels.row(row)),
        }
    }

    /// The entries of a row with the constant feature.
    fn entries(&self, row: usize) -> Vec<(usize, f64)> {
        let bias = self.model.bias.map(|bias| (self.model.features, bias));
        self.data.features.row(row).filter(|(_, x)| *x != 0.0).chain(bias).collect()
    }

    fn outputs_at(&self, entries: &[(usize, f64)], w: &[f64]) -> Vec<f64> {
        let k = self.outputs();
        let mut f = vec![0.0; k];
        for &(j, x) in entries {
            for (f, w) in f.iter_mut().zip(&w[j * k..]) {
                *f += x * w;
            }
        }
        f
    }

    /// θ² of a coordinate.
    fn theta2(&self, coordinate: usize) -> f64 {
        let bias = coordinate / self.outputs() == self.model.features;
        self.model.bias_weight.filter(|_| bias).map_or(1.0, |theta| theta * theta)
    }

    /// Ω(w).
    fn penalty(&self, w: &[f64]) -> f64 {
        let lambda = self.model.lambda;
        match self.model.penalty {
            Penalty::L2 => {
                let square: Sum =
                    w.iter().enumerate().map(|(at, w)| self.theta2(at) * w * w).collect();
                0.5 * lambda * square.value()
            }
            Penalty::L1 => lambda * w.iter().map(|w| w.abs()).collect::<Sum>().value(),
        }
    }

    /// The objective, and the size of the margins and scores whose differences its losses are.
    fn objective(&self, w: &[f64]) -> (f64, f64) {
        let margin = self.model.label_loss.iter().flatten().fold(1.0, |most: f64, d| most.max(*d));
        let rows: Vec<(f64, f64)> = (0..self.data.features.rows())
            .into_par_iter()
            .map(|i| {
                let f = self.outputs_at(&self.entries(i), w);
                let score = f.iter().fold(0.0, |most: f64, f| most.max(f.abs()));
                let loss = tangent(self.model, self.truth(i), &f).value;
                (self.weights[i] * loss, self.weights[i] * (margin + score))
            })
            .collect();
        let mut sum: Sum = rows.iter().map(|row| row.0).collect();
        sum.add(self.penalty(w));
        (sum.value(), rows.iter().map(|row| row.1).sum())
    }

    /// The bound that a proof gives, and how far rounding may have moved it.
    fn bound(&self, proof: &Proof) -> Result<(f64, f64), String> {
        let blocks = match proof {
            Proof::Points(points) => self.minorants_at(points)?,
            Proof::Slopes(slopes) => self.minorants_with(slopes)?,
            Proof::Outputs(_) => return Err("a linear model has no proof by outputs".into()),
        };
        let mut offset = Sum::new();
        let mut normal = vec![Sum::new(); self.outputs() * self.model.rows_of_weights()];
        let (mut offset_size, mut normal_size, mut longest) = (0.0, 0.0, 0);
        for block in &blocks {
            offset.add(block.offset.value());
            normal.iter_mut().zip(&block.normal).for_each(|(sum, x)| sum.add(*x));
            offset_size += block.offset_size;
            normal_size += block.normal_size;
            longest = longest.max(block.rows);
        }
        let (offset, lambda) = (offset.value(), self.model.lambda);
        let roundings = f64::EPSILON * (longest as f64 + 8.0);
        if self.model.penalty == Penalty::L1 {
            // λ‖w‖₁ + a·w ≥ 0 where no |a_j| exceeds λ. The risk is nowhere negative, so its
            // minorant may be scaled down until that holds.
            let steepest = normal.iter().map(|sum| sum.value().abs()).fold(0.0, f64::max);
            let scale = if steepest > lambda { lambda / steepest } else { 1.0 };
            let of_scale = roundings * normal_size / lambda * offset.abs();
            return Ok((scale * offset, f64::EPSILON * 8.0 * offset_size + of_scale));
        }
        let squares = normal.iter().enumerate().map(|(at, sum)| (sum.value(), self.theta2(at)));
        let square: Sum = squares.map(|(a, theta2)| a * a / theta2).collect();
        let square = square.value();
        let theta = self.model.bias_weight.map_or(1.0, |theta| theta.min(1.0));
        let normal_error = roundings * normal_size / theta;
        let rounding = f64::EPSILON * (8.0 * offset_size + 4.0 * square / lambda)
            + normal_error * (square.sqrt() + normal_error) / lambda;
        Ok((offset - square / (2.0 * lambda), rounding))
    }

    /// The minorants of the parts' blocks of rows.
    fn minorants_at(&self, points: &[ProofPoint]) -> Result<Vec<Minorant>, String> {
        let parts = points.first().map_or(0, |point| point.part_weights.len());
        let rows = self.data.features.rows();
        if parts == 0 || parts > rows {
            return Err(format!("the proof has {parts} parts for {rows} rows"));
        }
        for part in 0..parts {
            let mut sum = Sum::new();
            for point in points {
                let alpha = point.part_weights[part];
                if !(0.0..=1.0).contains(&alpha) {
                    return Err(format!("a weight of part {part} is {alpha}, outside 0 to 1"));
                }
                sum.add(alpha);
            }
            if (sum.value() - 1.0).abs() > SIMPLEX {
                return Err(format!(
                    "the weights of part {part} add up to {}, not to 1",
                    sum.value()
                ));
            }
        }
        // Every row's minorant is the α-combination of its tangents: coefficients on its outputs,
        // and an offset. Together they give Σ α a and Σ α b.
        let blocks = split_evenly(rows, parts);
        let of_block = |(part, block)| self.block_minorant(points, part, block);
        blocks.into_par_iter().enumerate().map(of_block).collect()
    }

    fn block_minorant(
        &self,
        points: &[ProofPoint],
        part: usize,
        block: std::ops::Range<usize>,
    ) -> Result<Minorant, String> {
        let k = self.outputs();
        let mut sum = self.empty_minorant(block.len());
        // Ties come in the order of the examples; each point has its own place in its list.
        let first = |ties: &[Tie]| ties.partition_point(|tie| (tie.example as usize) < block.start);
        let mut next: Vec<usize> = points.iter().map(|point| first(&point.ties)).collect();
        for i in block.clone() {
            let entries = self.entries(i);
            let mut coefficients = vec![0.0; k];
            for (point, next) in points.iter().zip(&mut next) {
                let tie = point.ties.get(*next).filter(|tie| tie.example as usize == i);
                *next += usize::from(tie.is_some());
                let alpha = point.part_weights[part];
                if alpha == 0.0 {
                    continue;
                }
                let tangent = match tie {
                    Some(tie) => piece(self.model, self.truth(i), tie.piece, k)?,
                    None => {
                        let f = self.outputs_at(&entries, &point.w);
                        tangent(self.model, self.truth(i), &f)
                    }
                };
                let weight = alpha * self.weights[i];
                coefficients.iter_mut().zip(&tangent.slope).for_each(|(c, s)| *c += weight * s);
                sum.offset.add(weight * tangent.offset);
                sum.offset_size += weight * (tangent.offset.abs() + tangent.size);
            }
            sum.add_row(&entries, &coefficients);
        }
        Ok(sum)
    }

    fn empty_minorant(&self, rows: usize) -> Minorant {
        let normal = vec![0.0; self.outputs() * self.model.rows_of_weights()];
        Minorant { normal, rows, ..Minorant::default() }
    }
}

/// The minorant of a block of rows, with the sizes of what was added up.
#[derive(Debug, Default)]
struct Minorant {
    normal: Vec<f64>,
    offset: Sum,
    offset_size: f64,
    normal_size: f64,
    rows: usize,
}

impl Minorant {
    /// Adds a row with coefficients on its outputs to the normal.
    fn add_row(&mut self, entries: &[(usize, f64)], coefficients: &[f64]) {
        let k = coefficients.len();
        let length = entries.iter().map(|(_, x)| x * x).sum::<f64>().sqrt();
        self.normal_size += length * coefficients.iter().map(|c| c.abs()).sum::<f64>();
        for &(j, x) in entries {
            for (a, c) in self.normal[j * k..].iter_mut().zip(coefficients) {
                *a += x * c;
            }
        }
    }
}
