//! Kernel models for Python: `s3vm`, `latent-svm` and `robust-svm`, training, decision values and files.

use crate::facts::{Facts, Recipe, Trained, recipe, trained};
use crate::features::Features;
use crate::labels::{Class, Rows, labels};
use crate::model::file_error;
use crate::train::{choose, refuse};
use crate::watch;
use minorant::data::Dataset;
use minorant::kernel::Kernel;
use minorant::model::{AnyModel, KernelModel};
use minorant::risk::Cancel;
use minorant::s3vm::{self, Balance, Mode};
use minorant::trace::Observer;
use minorant::train::{
    LatentOptions, RobustOptions, S3vmOptions, train_latent, train_robust, train_s3vm,
};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// What an estimator with a kernel asks for, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    kernel: String,
    sigma: Option<f64>,
    power: u32,
    offset: f64,
    c1: f64,
    c2: Option<f64>,
    /// The least and the greatest number of positives, or nothing for a choice by itself.
    balance: Option<(usize, usize)>,
    is_balanced: bool,
    components: usize,
    c_pos: f64,
    c_neg: f64,
    c: f64,
    ramp: f64,
    mode: String,
    degree: f64,
    method: String,
    seed: u64,
    tol: f64,
    max_evals: Option<u64>,
    max_seconds: Option<f64>,
    threads: usize,
}

impl Options {
    fn kernel(&self) -> PyResult<Option<Kernel>> {
        Ok(match self.kernel.as_str() {
            "linear" => Some(Kernel::Linear),
            "rbf" => self.sigma.map(|sigma| Kernel::Rbf { sigma }),
            "poly" => Some(Kernel::Poly { power: self.power, offset: self.offset }),
            "precomputed" => Some(Kernel::Precomputed),
            name => return refuse(format!("there is no kernel '{name}'")),
        })
    }

    fn method(&self) -> PyResult<s3vm::Options> {
        let Some(solver) = s3vm::Solver::from_name(&self.method) else {
            let names = s3vm::Solver::ALL.map(s3vm::Solver::name).join(", ");
            return refuse(format!(
                "there is no solver '{}' for kernel models; there are auto, {names}",
                self.method
            ));
        };
        let modes = [("search", Mode::Search), ("strict", Mode::Strict)];
        let mut options = s3vm::Options {
            solver,
            mode: choose("mode", &self.mode, &modes)?,
            degree: self.degree,
            seed: self.seed,
            ..s3vm::Options::default()
        };
        options.rules.tol = self.tol;
        options.rules.max_evaluations = self.max_evals;
        options.rules.max_seconds = self.max_seconds;
        Ok(options)
    }
}

/// Trains.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn train_kernel<'py>(
    py: Python<'py>,
    model: &str,
    features: Features<'py>,
    classes: Vec<Class>,
    rows: Rows<'py>,
    options: Options,
    callback: Option<Py<PyAny>>,
) -> PyResult<Trained<'py, KernelMachine>> {
    let data = Dataset { features: features.matrix()?, labels: labels(classes, rows)? };
    let (kernel, method, threads) = (options.kernel()?, options.method()?, options.threads);
    let cancel = Cancel::new();
    let watched = match model {
        "s3vm" => {
            let balance = match (options.is_balanced, options.balance) {
                (false, _) => Balance::None,
                (true, None) => Balance::Auto,
                (true, Some((low, high))) => Balance::Between(low, high),
            };
            let (c1, c2) = (options.c1, options.c2);
            let settings =
                S3vmOptions { kernel, c1, c2, balance, method, ..S3vmOptions::default() };
            watch::run(py, threads, &cancel, callback.as_ref(), |observer: &mut dyn Observer| {
                let found = train_s3vm(&data, &settings, &cancel, observer, &mut ());
                found.map(|(model, report, _)| (model, report))
            })?
        }
        "latent-svm" => {
            let settings = LatentOptions {
                kernel,
                components: options.components,
                c_pos: options.c_pos,
                c_neg: options.c_neg,
                method,
                ..LatentOptions::default()
            };
            watch::run(py, threads, &cancel, callback.as_ref(), |observer: &mut dyn Observer| {
                train_latent(&data, &settings, &cancel, observer, &mut ())
            })?
        }
        "robust-svm" => {
            if !s3vm::RAMP_SOLVERS.contains(&method.solver) {
                let names = s3vm::RAMP_SOLVERS.map(s3vm::Solver::name).join(", ");
                return refuse(format!(
                    "robust-svm has no solver '{}'; its solvers are: auto, {names}",
                    options.method
                ));
            }
            let (c, ramp) = (options.c, options.ramp);
            let settings = RobustOptions { kernel, c, ramp, method, ..RobustOptions::default() };
            watch::run(py, threads, &cancel, callback.as_ref(), |observer: &mut dyn Observer| {
                train_robust(&data, &settings, &cancel, observer, &mut ())
            })?
        }
        _ => return refuse(format!("there is no kernel model '{model}'")),
    };
    trained(py, watched, KernelMachine)
}

/// A trained kernel model.
#[pyclass(module = "minorant._core", frozen)]
pub(crate) struct KernelMachine(KernelModel);

impl KernelMachine {
    fn of(model: AnyModel, name: &Path) -> PyResult<KernelMachine> {
        match model {
            AnyModel::Kernel(model) => Ok(KernelMachine(model)),
            _ => refuse(format!("{} holds another model than one with a kernel", name.display())),
        }
    }
}

#[pymethods]
impl KernelMachine {
    /// Decision values of rows, one column for each decision function.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        features: Features<'py>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let matrix = features.matrix()?;
        let scores =
            py.detach(|| PyResult::Ok(watch::pool(threads)?.install(|| self.0.scores(&matrix))))?;
        let shape = [matrix.rows(), scores.width];
        scores.values.into_pyarray(py).reshape(shape)
    }

    /// The coefficients of the support rows, one row for each decision function.
    fn coefficients<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let shape = [self.0.machines.len(), self.0.support_rows.len()];
        let all: Vec<f64> = self.0.machines.iter().flat_map(|m| m.beta.clone()).collect();
        all.into_pyarray(py).reshape(shape)
    }

    /// The offset of each decision function.
    fn biases<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let biases = self.0.machines.iter().map(|machine| machine.bias).collect::<Vec<_>>();
        biases.into_pyarray(py)
    }

    /// The numbers of the support rows in the training data.
    #[getter]
    fn support(&self) -> Vec<usize> {
        self.0.support_rows.clone()
    }

    /// The kernel's name, width, power and offset.
    #[getter]
    fn kernel(&self) -> (&'static str, Option<f64>, Option<u32>, Option<f64>) {
        let name = self.0.kernel.name();
        match self.0.kernel {
            Kernel::Rbf { sigma } => (name, Some(sigma), None, None),
            Kernel::Poly { power, offset } => (name, None, Some(power), Some(offset)),
            _ => (name, None, None, None),
        }
    }

    /// What losses count, by name.
    #[getter]
    fn losses(&self) -> Vec<(String, f64)> {
        self.0.weights.clone()
    }

    /// The balance as the command knows it.
    #[getter]
    fn balance(&self) -> Option<String> {
        self.0.balance.clone()
    }

    /// Saves the model to the file; the command reads it.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.0.save(&path)).map_err(|error| file_error(&error))
    }

    /// Loads a kernel model from a file that this package or the command wrote.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<KernelMachine> {
        let model = py.detach(|| AnyModel::load(&path)).map_err(|error| file_error(&error))?;
        KernelMachine::of(model, &path)
    }

    /// The model from the bytes of a file.
    #[staticmethod]
    fn from_bytes(bytes: Vec<u8>) -> PyResult<KernelMachine> {
        let name = Path::new("a pickled model");
        KernelMachine::of(AnyModel::from_bytes(name, bytes).or_else(refuse)?, name)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Recipe<'py>> {
        recipe(slf, &slf.get().0.to_bytes())
    }

    #[getter]
    fn name(&self) -> &'static str {
        self.0.model.as_str()
    }

    /// What is known of the run that made it.
    #[getter]
    fn facts(&self) -> Facts {
        Facts::certified(&self.0.solver, &self.0.status, self.0.tol, self.0.certificate)
            .near(self.0.local_gap)
    }

    #[getter]
    fn classes(&self) -> Vec<Class> {
        self.0.classes.iter().map(Class::from).collect()
    }

    #[getter]
    fn features(&self) -> usize {
        self.0.features
    }
}
