//! A fitted kernel model: an expansion over support rows for each of its machines, how it predicts,
//! and the file it is stored in. Training makes it; it knows no solver.

use super::Predictions;
use super::file::{JsonLabel, KIND};
use super::metrics::{Evaluation, compare};
use super::predict::Scores;
use crate::certificate::Certificate;
use crate::container::{Container, FileError};
use crate::kernel::{Kernel, Points};
use crate::train::KernelName;
use minorant_data::{Label, Labels};
use minorant_linalg::dense::dot;
use minorant_linalg::parallel::{map_chunks_mut, split_evenly};
use minorant_linalg::{Matrix, Storage};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A decision function h(x) = Σ β_i k(x_i, x) + b over the support rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// A coefficient for each support row.
    pub beta: Vec<f64>,
    /// The offset.
    pub bias: f64,
    /// ½‖w‖² plus losses.
    pub objective: f64,
}

/// A trained kernel model.
#[derive(Debug, Clone)]
pub struct KernelModel {
    /// The model's name.
    pub model: KernelName,
    /// The kernel.
    pub kernel: Kernel,
    /// The classes in order.
    pub classes: Vec<Label>,
    /// Columns of the data.
    pub features: usize,
    /// The support rows; of a precomputed kernel only their numbers are known.
    pub support: Matrix<'static>,
    /// The numbers of the support rows in the training data.
    pub support_rows: Vec<usize>,
    /// The decision functions: one for two classes, one a class for more, one a component of a
    /// latent machine.
    pub machines: Vec<Machine>,
    /// What losses count, by name.
    pub weights: Vec<(String, f64)>,
    /// The balance as typed, where there is one.
    pub balance: Option<String>,
    /// The method that found it.
    pub solver: String,
    /// How its run ended.
    pub status: String,
    /// The relative gap that was asked for.
    pub tol: f64,
    /// Objective and bound.
    pub certificate: Certificate,
    /// What other decision functions could gain without changing labels.
    pub local_gap: Option<f64>,
    /// Rows of the training data.
    pub examples: usize,
    /// SHA-256 of the training data.
    pub data_sha256: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    model: String,
    kernel: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    sigma: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    power: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<f64>,
    classes: Vec<JsonLabel>,
    features: usize,
    weights: Vec<(String, f64)>,
    balance: Option<String>,
    solver: String,
    status: String,
    tol: f64,
    objective: f64,
    lower_bound: Option<f64>,
    local_gap: Option<f64>,
    examples: usize,
    data_sha256: String,
    objectives: Vec<f64>,
}

impl KernelModel {
    /// Decision values of all rows: one for two classes, else one a class. Of a latent machine the
    /// greatest of its components.
    pub fn scores(&self, matrix: &Matrix<'_>) -> Scores {
        let (fitted, ignored);
        let matrix = if matrix.cols() == self.features {
            ignored = 0;
            matrix
        } else {
            (fitted, ignored) = matrix.with_cols(self.features);
            &fitted
        };
        let width = if self.model == KernelName::LatentSvm { 1 } else { self.machines.len() };
        let mut values = vec![0.0; matrix.rows() * width];
        let chunks = split_evenly(matrix.rows(), (matrix.rows() / 64).clamp(1, 256));
        let (rows, support) = (Points::new(matrix), Points::new(&self.support));
        map_chunks_mut(&chunks, &mut values, width, |_, range, out| {
            let mut buffer = rows.buffer();
            let mut products = vec![0.0; self.support_rows.len()];
            for (row, out) in range.zip(out.chunks_exact_mut(width)) {
                self.products(&rows, &support, row, &mut buffer, &mut products);
                let decision = |machine: &Machine| dot(&machine.beta, &products) + machine.bias;
                if self.model == KernelName::LatentSvm {
                    out[0] = self.machines.iter().map(decision).fold(f64::NEG_INFINITY, f64::max);
                } else {
                    out.iter_mut().zip(&self.machines).for_each(|(o, m)| *o = decision(m));
                }
            }
        });
        Scores { width, values, ignored }
    }

    /// The kernel of a row with the support rows.
    fn products(
        &self,
        rows: &Points<'_>,
        support: &Points<'_>,
        row: usize,
        buffer: &mut [f64],
        out: &mut [f64],
    ) {
        if self.kernel == Kernel::Precomputed {
            rows.spread(row, buffer);
            out.iter_mut().zip(&self.support_rows).for_each(|(o, &i)| *o = buffer[i]);
        } else {
            support.kernel_row(self.kernel, rows, row, 0..out.len(), buffer, out);
        }
    }

    /// Labels for decision values; ties go to the first class, but a latent machine's decision of
    /// 0 is positive.
    pub fn classify(&self, scores: &Scores) -> Predictions {
        Predictions::Single((0..scores.rows()).map(|i| self.class(scores.row(i))).collect())
    }

    fn class(&self, f: &[f64]) -> u32 {
        match self.model {
            KernelName::LatentSvm => u32::from(f[0] >= 0.0),
            _ if f.len() == 1 => u32::from(f[0] > 0.0),
            _ => (1..f.len()).fold(0, |best, z| if f[z] > f[best] { z } else { best }) as u32,
        }
    }

    /// Compares predictions with the labels of the same rows.
    pub fn evaluate(&self, labels: &Labels, scores: &Scores) -> Evaluation {
        let known = labels.remap(&self.classes);
        // In semi-supervised data the label 0 says that there is none.
        let is_none = |z: &u32| {
            self.model == KernelName::S3vm && labels.classes[*z as usize] == Label::Number(0.0)
        };
        let has_label = |row: &usize| !labels.row(*row).iter().any(is_none);
        let rows: Vec<usize> = (0..scores.rows()).filter(has_label).collect();
        let truth = |row: usize| labels.row(row).first().and_then(|&z| known[z as usize]);
        let pairs = rows.iter().map(|&i| (self.class(scores.row(i)), truth(i)));
        let unlabelled = scores.rows() - rows.len();
        Evaluation { unlabelled, ..compare(pairs, self.classes.len()) }
    }

    /// Saves the model.
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        self.container().write(path, KIND)
    }

    /// The bytes that [`KernelModel::save`] writes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.container().to_bytes(KIND)
    }

    /// The model that [`KernelModel::to_bytes`] gave; `path` is what errors call it.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self, FileError> {
        Self::from_container(path, Container::from_bytes(path, KIND, bytes)?)
    }

    fn container(&self) -> Container {
        let (sigma, power, offset) = match self.kernel {
            Kernel::Rbf { sigma } => (Some(sigma), None, None),
            Kernel::Poly { power, offset } => (None, Some(power), Some(offset)),
            Kernel::Linear | Kernel::Precomputed => (None, None, None),
        };
        let header = Header {
            model: self.model.as_str().into(),
            kernel: self.kernel.name().into(),
            sigma,
            power,
            offset,
            classes: self.classes.iter().map(JsonLabel::from).collect(),
            features: self.features,
            weights: self.weights.clone(),
            balance: self.balance.clone(),
            solver: self.solver.clone(),
            status: self.status.clone(),
            tol: self.tol,
            objective: self.certificate.objective,
            lower_bound: self.certificate.lower_bound,
            local_gap: self.local_gap,
            examples: self.examples,
            data_sha256: self.data_sha256.clone(),
            objectives: self.machines.iter().map(|machine| machine.objective).collect(),
        };
        let mut container = Container::new(&header);
        let count = self.support_rows.len();
        container
            .put_integers("support.numbers", self.support_rows.iter().map(|&i| i as u64).collect());
        if self.kernel != Kernel::Precomputed {
            let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
            for i in 0..count {
                for (j, x) in self.support.row(i).filter(|(_, x)| *x != 0.0) {
                    columns.push(j as u64);
                    values.push(x);
                }
                starts.push(columns.len() as u64);
            }
            container.put_integers("support.starts", starts);
            container.put_integers("support.columns", columns);
            container.put_reals("support.values", &[values.len()], values);
        }
        let beta = self.machines.iter().flat_map(|machine| machine.beta.clone()).collect();
        container.put_reals("beta", &[self.machines.len(), count], beta);
        let bias: Vec<f64> = self.machines.iter().map(|machine| machine.bias).collect();
        container.put_reals("bias", &[bias.len()], bias);
        container
    }

    pub(super) fn from_container(path: &Path, mut container: Container) -> Result<Self, FileError> {
        let header: Header = container.header(path)?;
        let error = |expected: &str| FileError::content(path, expected, "another");
        let model = KernelName::from_name(&header.model)
            .ok_or_else(|| error("a model that this version knows"))?;
        let kernel = match (header.kernel.as_str(), header.sigma, header.power, header.offset) {
            ("linear", ..) => Kernel::Linear,
            ("rbf", Some(sigma), ..) => Kernel::Rbf { sigma },
            ("poly", _, Some(power), Some(offset)) => Kernel::Poly { power, offset },
            ("precomputed", ..) => Kernel::Precomputed,
            _ => return Err(error("a kernel that this version knows")),
        };
        kernel.check().map_err(|_| error("a kernel with settings that fit"))?;
        let rows = container.take_integers("support.numbers");
        let support_rows: Vec<usize> = rows
            .and_then(|rows| rows.into_iter().map(|i| usize::try_from(i).ok()).collect())
            .ok_or_else(|| error("the numbers of the support rows"))?;
        let count = support_rows.len();
        let support = if kernel == Kernel::Precomputed {
            let fits = header.features == header.examples
                && support_rows.iter().all(|&i| i < header.examples);
            fits.then(|| empty_rows(count)).flatten()
        } else {
            take_rows(&mut container, count, header.features)
        };
        let support = support.ok_or_else(|| error("support rows that fit"))?;
        let machines = take_machines(&mut container, &header.objectives, count)
            .ok_or_else(|| error("coefficients that fit"))?;
        let classes: Vec<Label> = header.classes.into_iter().map(Label::from).collect();
        let fits = match model {
            KernelName::LatentSvm => classes.len() == 2,
            KernelName::RobustSvm => classes.len() == 2 && machines.len() == 1,
            KernelName::S3vm => {
                machines.len() == if classes.len() == 2 { 1 } else { classes.len() }
            }
        };
        if classes.len() < 2 || machines.is_empty() || !fits {
            return Err(error("two or more classes and their decision functions"));
        }
        Ok(KernelModel {
            model,
            kernel,
            classes,
            features: header.features,
            support,
            support_rows,
            machines,
            weights: header.weights,
            balance: header.balance,
            solver: header.solver,
            status: header.status,
            tol: header.tol,
            certificate: Certificate {
                objective: header.objective,
                lower_bound: header.lower_bound,
            },
            local_gap: header.local_gap,
            examples: header.examples,
            data_sha256: header.data_sha256,
        })
    }
}

/// Rows without columns, which stand for the rows of a precomputed kernel.
pub(crate) fn empty_rows(count: usize) -> Option<Matrix<'static>> {
    Matrix::csr(0, vec![0; count + 1], Vec::new(), Vec::<f64>::new().into()).ok()
}

fn take_rows(container: &mut Container, count: usize, features: usize) -> Option<Matrix<'static>> {
    let starts = container.take_integers("support.starts")?;
    let columns = container.take_integers("support.columns")?;
    let columns: Option<Vec<u32>> = columns.into_iter().map(|j| u32::try_from(j).ok()).collect();
    let (_, values) = container.take_reals("support.values")?;
    if starts.len() != count + 1 {
        return None;
    }
    Matrix::csr(features, starts, columns?, Storage::F64.store(values)).ok()
}

fn take_machines(
    container: &mut Container,
    objectives: &[f64],
    count: usize,
) -> Option<Vec<Machine>> {
    let (shape, beta) = container.take_reals("beta")?;
    let (_, bias) = container.take_reals("bias")?;
    let is_whole = shape == [objectives.len(), count]
        && bias.len() == objectives.len()
        && beta.iter().chain(&bias).all(|x| x.is_finite());
    let machine = |k: usize| Machine {
        beta: beta[k * count..(k + 1) * count].to_vec(),
        bias: bias[k],
        objective: objectives[k],
    };
    is_whole.then(|| (0..objectives.len()).map(machine).collect())
}
