//! The audit: checks a model's certificate against the data by code of its own. It shares no
//! kernel, loss, bundle or bound with training: rows are read one by one, losses are written out
//! again in their plainest form, and the bound is summed up from the proof's points.
//!
//! A proof gives points w_j and, for each part (a contiguous block of rows), weights α_j on a
//! simplex. Each example's loss lies above its tangents at the w_j; with the weights the tangents
//! add up to one minorant of the whole risk, whose minimum together with the regularizer is known
//! in closed form. That minimum is the bound.

mod tangent;

use crate::bundle::Proof;
use crate::model::{FittedModel, TaskName};
use minorant_data::{Dataset, LabelRows};
use minorant_linalg::parallel::split_evenly;
use minorant_linalg::sum::Sum;
use rayon::prelude::*;
use tangent::{Truth, tangent};

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

/// How far a recomputed number may lie from the claimed one, relative to 1 + |objective|.
const AGREEMENT: f64 = 1e-10;
/// How far the weights of a part may add up to something else than 1.
const SIMPLEX: f64 = 1e-12;

/// Audits a model on the data that it claims to be trained on.
pub fn audit(model: &FittedModel, data: &Dataset, example_weights: Option<&[f64]>) -> Audit {
    let fails = |why: String| Audit { holds: false, objective: None, lower_bound: None, why };
    if crate::fingerprint::of(data, example_weights) != model.data_sha256 {
        return fails(
            "the data (or its example weights) is not what the model was trained on".into(),
        );
    }
    if !(model.lambda > 0.0 && model.lambda.is_finite()) {
        return fails(format!("lambda is {}, not a positive number", model.lambda));
    }
    let weights = match shares(model, data, example_weights) {
        Ok(weights) => weights,
        Err(why) => return fails(why),
    };
    let mut objective = Sum::new();
    let mut bound = Sum::new();
    for (k, problem) in model.problems.iter().enumerate() {
        let examples = Examples { model, data, weights: &weights, class: k };
        let found = examples.objective(&problem.weights);
        if !agrees(found, problem.certificate.objective, found) {
            return Audit {
                objective: Some(found),
                ..fails(format!(
                    "the objective at the model's weights is {found}, not {} as the model says",
                    problem.certificate.objective
                ))
            };
        }
        objective.add(found);
        let Some(claimed) = problem.certificate.lower_bound else {
            return fails("the model claims no lower bound".into());
        };
        let Some(proof) = &problem.proof else {
            return fails("not auditable: the model carries no proof of its bound".into());
        };
        let found_bound = match examples.bound(proof) {
            Ok(bound) => bound,
            Err(why) => return Audit { objective: Some(found), ..fails(why) },
        };
        bound.add(found_bound);
        if !agrees(found_bound, claimed, found) || claimed > found {
            return Audit {
                objective: Some(found),
                lower_bound: Some(found_bound),
                ..fails(format!(
                    "the proof gives a lower bound of {found_bound}, not {claimed} as the model says"
                ))
            };
        }
    }
    let (objective, bound) = (objective.value(), bound.value());
    let total = model.certificate;
    let sums_agree = agrees(objective, total.objective, objective)
        && total.lower_bound.is_some_and(|claimed| agrees(bound, claimed, objective));
    let why = if sums_agree {
        format!(
            "the proof was recomputed from the data: no weights reach an objective below {bound}"
        )
    } else {
        "the model's objective and bound are not the sums over its classes".into()
    };
    Audit { holds: sums_agree, objective: Some(objective), lower_bound: Some(bound), why }
}

fn agrees(found: f64, claimed: f64, objective: f64) -> bool {
    (found - claimed).abs() <= AGREEMENT * (1.0 + objective.abs())
}

/// sᵢ c(yᵢ) / Σ sᵢ for every row.
fn shares(
    model: &FittedModel,
    data: &Dataset,
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
        labels.filter_map(find).product()
    };
    Ok((0..rows).map(|i| weight(i) * class_weight(i) / total).collect())
}

/// One of a model's problems on the data.
struct Examples<'a> {
    model: &'a FittedModel,
    data: &'a Dataset,
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

    fn objective(&self, w: &[f64]) -> f64 {
        let rows: Vec<f64> = (0..self.data.features.rows())
            .into_par_iter()
            .map(|i| {
                let f = self.outputs_at(&self.entries(i), w);
                self.weights[i] * tangent(self.model, self.truth(i), &f).value
            })
            .collect();
        let mut sum: Sum = rows.into_iter().collect();
        let norm: Sum = w.iter().enumerate().map(|(at, w)| self.theta2(at) * w * w).collect();
        sum.add(0.5 * self.model.lambda * norm.value());
        sum.value()
    }

    /// The bound that a proof gives.
    fn bound(&self, proof: &Proof) -> Result<f64, String> {
        let parts = proof.points.first().map_or(0, |point| point.part_weights.len());
        let rows = self.data.features.rows();
        if parts == 0 || parts > rows {
            return Err(format!("the proof has {parts} parts for {rows} rows"));
        }
        for part in 0..parts {
            let mut sum = Sum::new();
            for point in &proof.points {
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
        let sums: Vec<(Vec<f64>, Sum)> = blocks
            .into_par_iter()
            .enumerate()
            .map(|(part, block)| self.block_minorant(proof, part, block))
            .collect();
        let mut offset = Sum::new();
        let mut normal = vec![Sum::new(); self.outputs() * self.model.rows_of_weights()];
        for (part_normal, part_offset) in &sums {
            offset.add(part_offset.value());
            normal.iter_mut().zip(part_normal).for_each(|(sum, x)| sum.add(*x));
        }
        let square: Sum = normal
            .iter()
            .enumerate()
            .map(|(at, sum)| sum.value() * sum.value() / self.theta2(at))
            .collect();
        Ok(offset.value() - square.value() / (2.0 * self.model.lambda))
    }

    fn block_minorant(
        &self,
        proof: &Proof,
        part: usize,
        block: std::ops::Range<usize>,
    ) -> (Vec<f64>, Sum) {
        let k = self.outputs();
        let mut normal = vec![0.0; k * self.model.rows_of_weights()];
        let mut offset = Sum::new();
        for i in block {
            let entries = self.entries(i);
            let mut coefficients = vec![0.0; k];
            for point in proof.points.iter().filter(|point| point.part_weights[part] > 0.0) {
                let f = self.outputs_at(&entries, &point.w);
                let tangent = tangent(self.model, self.truth(i), &f);
                let weight = point.part_weights[part] * self.weights[i];
                coefficients.iter_mut().zip(&tangent.slope).for_each(|(c, s)| *c += weight * s);
                offset.add(weight * tangent.offset);
            }
            for &(j, x) in &entries {
                for (a, c) in normal[j * k..].iter_mut().zip(&coefficients) {
                    *a += x * c;
                }
            }
        }
        (normal, offset)
    }
}
