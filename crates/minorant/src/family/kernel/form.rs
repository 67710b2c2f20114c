//! The fitted form of kernel models: an expansion over support rows for each decision function, how
//! it predicts, and what its file holds. Training makes it; it knows no solver.

use super::Member;
use super::choice::{self, Rows};
use super::latent::COMPONENTS;
use super::s3vm::by_labelled_rows;
use crate::container::Container;
use crate::family::classes::compare;
use crate::family::predictions::{argmax, on_columns};
use crate::family::{
    Data, DataKind, Description, Evaluation, Facts, FittedModel, Form, Misfit, Numbers, Outputs,
    Predictions, Reading, Settings, TrainError, Wanted, setting_in_words,
};
use crate::kernel::{Kernel, Points};
use crate::options::Value;
use crate::s3vm::Balance;
use minorant_data::{Dataset, Label, LabelRows};
use minorant_linalg::dense::dot;
use minorant_linalg::parallel::{map_chunks_mut, split_evenly};
use minorant_linalg::{Matrix, Storage};

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

/// The fitted form of a kernel model.
#[derive(Debug, Clone)]
pub struct KernelForm {
    pub(super) member: &'static Member,
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
    /// The balance, where there is one.
    pub balance: Option<Balance>,
}

impl KernelForm {
    /// A form that has no decision functions yet.
    pub(super) fn new(
        member: &'static Member,
        rows: &Rows<'_>,
        classes: &[Label],
        weights: [(&str, f64); 2],
    ) -> Self {
        KernelForm {
            member,
            kernel: rows.kernel,
            classes: classes.to_vec(),
            features: rows.features,
            support: empty_rows(0),
            support_rows: Vec::new(),
            machines: Vec::new(),
            weights: weights.map(|(name, c)| (name.to_string(), c)).into(),
            balance: None,
        }
    }

    /// Decision values of all rows: one for two classes, else one a class. Of a latent machine the
    /// greatest of its components. A sentence tells of entries that the model does not know.
    pub fn scores(&self, matrix: &Matrix<'_>) -> (Numbers, Option<String>) {
        on_columns(matrix, self.features, |matrix| self.scores_of(matrix))
    }

    fn scores_of(&self, matrix: &Matrix<'_>) -> Numbers {
        let has_components = self.member.has_components;
        let width = if has_components { 1 } else { self.machines.len() };
        let mut values = vec![0.0; matrix.rows() * width];
        let chunks = split_evenly(matrix.rows(), (matrix.rows() / 64).clamp(1, 256));
        let (rows, support) = (Points::new(matrix), Points::new(&self.support));
        map_chunks_mut(&chunks, &mut values, width, |_, range, out| {
            let mut buffer = rows.buffer();
            let mut products = vec![0.0; self.support_rows.len()];
            for (row, out) in range.zip(out.chunks_exact_mut(width)) {
                if self.kernel == Kernel::Precomputed {
                    rows.spread(row, &mut buffer);
                    let own = products.iter_mut().zip(&self.support_rows);
                    own.for_each(|(product, &i)| *product = buffer[i]);
                } else {
                    let all = 0..products.len();
                    support.kernel_row(self.kernel, &rows, row, all, &mut buffer, &mut products);
                }
                let decision = |machine: &Machine| dot(&machine.beta, &products) + machine.bias;
                if has_components {
                    out[0] = self.machines.iter().map(decision).fold(f64::NEG_INFINITY, f64::max);
                } else {
                    out.iter_mut().zip(&self.machines).for_each(|(o, m)| *o = decision(m));
                }
            }
        });
        Numbers { width, values }
    }

    /// The class for decision values; ties go to the first class, but a latent machine's decision
    /// of 0 is positive.
    fn class(&self, f: &[f64]) -> u32 {
        match f {
            [f] if self.member.has_components => u32::from(*f >= 0.0),
            [f] => u32::from(*f > 0.0),
            f => argmax(f),
        }
    }

    /// What losses count, and the balance.
    fn settings_in_words(&self) -> String {
        let weights =
            self.weights.iter().map(|(name, c)| format!("{name} {}", setting_in_words(*c)));
        let balance = self.balance.iter().map(|balance| format!("balance {balance}"));
        weights.chain(balance).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn load(
        member: &'static Member,
        facts: &mut Facts,
        file: &mut Container,
    ) -> Result<Self, Misfit> {
        let misfit = |expected: &str| Misfit::without(expected);
        let name: String = file.key("kernel")?;
        let kernel =
            Kernel::named(&name, file.key("sigma")?, file.key("power")?, file.key("offset")?);
        let kernel = kernel.ok_or_else(|| misfit("a kernel that this version knows"))?;
        kernel.check().map_err(|_| misfit("a kernel with settings that fit"))?;
        let features: usize = file.key("features")?;
        let support_rows: Vec<usize> = file
            .integers("support.numbers")
            .ok_or_else(|| misfit("the numbers of the support rows"))?;
        let count = support_rows.len();
        let support = if kernel == Kernel::Precomputed {
            let fits =
                features == facts.examples && support_rows.iter().all(|&i| i < facts.examples);
            fits.then(|| empty_rows(count))
        } else {
            take_rows(file, count, features)
        };
        let support = support.ok_or_else(|| misfit("support rows that fit"))?;
        let objectives: Vec<f64> = file.key("objectives")?;
        let machines = take_machines(file, &objectives, count)
            .ok_or_else(|| misfit("coefficients that fit"))?;
        let classes = file.classes()?;
        if !(member.fits)(classes.len(), machines.len()) {
            return Err(misfit("two or more classes and their decision functions"));
        }
        // What losses count is kept under names of options.
        let weights: Vec<(String, f64)> = file.key("weights")?;
        for (name, c) in &weights {
            let set = facts.settings.set(&name.replace('_', "-"), Value::Number(*c));
            set.map_err(|_| misfit("losses that count something under known names"))?;
        }
        if member.has_components {
            facts.settings.put(&COMPONENTS, machines.len());
        }
        let balance = file.key::<Option<String>>("balance")?.map(|text| text.parse()).transpose();
        let balance = balance.map_err(|_| misfit("a balance that can be understood"))?;
        Ok(KernelForm {
            member,
            kernel,
            classes,
            features,
            support,
            support_rows,
            machines,
            weights,
            balance,
        })
    }
}

impl Form for KernelForm {
    fn write(&self, _settings: &Settings, file: &mut Container) {
        // What the data decided takes the place of what was asked for.
        if let Kernel::Rbf { sigma } = self.kernel {
            file.put_key("sigma", sigma);
        }
        self.weights.iter().for_each(|(name, c)| file.put_key(name, c));
        file.put_key("weights", &self.weights);
        file.put_key("balance", self.balance.map(|balance| balance.to_string()));
        file.put_classes(&self.classes);
        file.put_key("features", self.features);
        file.put_key("objectives", self.machines.iter().map(|m| m.objective).collect::<Vec<_>>());
        let count = self.support_rows.len();
        file.put_integers("support.numbers", self.support_rows.iter().map(|&i| i as u64));
        if self.kernel != Kernel::Precomputed {
            let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
            for i in 0..count {
                for (j, x) in self.support.row(i).filter(|(_, x)| *x != 0.0) {
                    columns.push(j as u64);
                    values.push(x);
                }
                starts.push(columns.len() as u64);
            }
            file.put_integers("support.starts", starts);
            file.put_integers("support.columns", columns);
            file.put_list("support.values", &values);
        }
        file.put_reals("beta", &[self.machines.len(), count], self.weights().concat());
        let bias: Vec<f64> = self.machines.iter().map(|machine| machine.bias).collect();
        file.put_list("bias", &bias);
    }

    fn weights(&self) -> Vec<&[f64]> {
        self.machines.iter().map(|machine| &machine.beta[..]).collect()
    }

    fn reading(&self) -> Reading<'_> {
        Reading { features: Some(self.features), ..DataKind::Rows.into() }
    }

    fn predict(&self, data: Data<'_>, wanted: Wanted) -> Result<Predictions, String> {
        let (scores, note) = self.scores(&data.rows()?.features);
        let labels = (0..scores.rows()).map(|i| self.class(scores.row(i))).collect();
        let numbers = (wanted == Wanted::Scores).then_some(scores);
        let predictions = Predictions::new(self.classes.clone(), Outputs::Labels(labels));
        Ok(Predictions { numbers, note, ..predictions })
    }

    fn evaluate(&self, data: Data<'_>) -> Result<Evaluation, String> {
        let Dataset { features, labels } = data.rows()?;
        if labels.rows == LabelRows::None {
            return Err("the data has no labels to compare with".into());
        }
        let (scores, note) = self.scores(features);
        let predicted: Vec<u32> = (0..scores.rows()).map(|i| self.class(scores.row(i))).collect();
        let unlabelled = self.member.knows_unlabelled;
        let mut evaluation = compare(&self.classes, &predicted, labels, unlabelled);
        evaluation.notes.extend(note);
        Ok(evaluation)
    }

    fn before(
        &self,
        model: &FittedModel,
        data: Data<'_>,
    ) -> Result<Option<FittedModel>, TrainError> {
        by_labelled_rows(model, data.rows()?)
    }

    fn describe(&self) -> Description {
        let (machines, support) = (self.machines.len(), self.support_rows.len());
        let kernel = choice::in_words(self.kernel);
        let mut description = Description {
            settings: self.settings_in_words(),
            kernel: Some(kernel.clone()),
            unproven: Some(self.member.unproven),
            ..Description::default()
        };
        description.classes(&self.classes);
        description.features("features", self.features);
        description.line("kernel", kernel);
        description.line("functions", format!("{machines} over {support} support rows"));
        description.key("kernel", self.kernel.name());
        description.key("machines", machines);
        description.key("support", support);
        description.key("balance", self.balance.map(|balance| balance.to_string()));
        if let Kernel::Rbf { sigma } = self.kernel {
            description.key("sigma", sigma);
        }
        self.weights.iter().for_each(|(name, c)| description.key(name, *c));
        description
    }
}

/// Rows without columns, which stand for the rows of a precomputed kernel.
pub(super) fn empty_rows(count: usize) -> Matrix<'static> {
    let rows = Matrix::csr(0, vec![0; count + 1], Vec::new(), Vec::<f64>::new().into());
    rows.unwrap_or_else(|_| unreachable!("rows without entries fit together"))
}

fn take_rows(file: &mut Container, count: usize, features: usize) -> Option<Matrix<'static>> {
    let starts = file.integers("support.starts")?;
    let columns = file.integers("support.columns")?;
    let (_, values) = file.take_reals("support.values")?;
    if starts.len() != count + 1 {
        return None;
    }
    Matrix::csr(features, starts, columns, Storage::F64.store(values)).ok()
}

fn take_machines(file: &mut Container, objectives: &[f64], count: usize) -> Option<Vec<Machine>> {
    let (shape, beta) = file.take_reals("beta")?;
    let (_, bias) = file.take_reals("bias")?;
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
