//! A user's own structure, written in Python. Everything runs on the calling thread. What is asked
//! of Python is one output an example and pass; features and losses of outputs are kept here, and
//! an output is known by its number in its example's list, the truth by 0.

use crate::minimize::{Options, Solved, solve};
use minorant::risk::{Cancel, ExampleWeights};
use minorant::structured::{MarginRisk, Scores, StructuredModel};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Joint features that are not zero: where, and what.
type Sparse<'py> = (PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, f64>);
/// An output's number, and its loss and features where it is new.
type Named<'py> = (u32, Option<(f64, Sparse<'py>)>);

#[derive(Debug, Clone)]
struct Output {
    loss: f64,
    features: Arc<[(u32, f64)]>,
}

impl Output {
    fn new(loss: f64, features: &Sparse<'_>) -> PyResult<Output> {
        let (at, x) = (features.0.as_slice()?, features.1.as_slice()?);
        Ok(Output { loss, features: at.iter().copied().zip(x.iter().copied()).collect() })
    }

    fn value(&self, w: &[f64]) -> f64 {
        self.loss + self.features.iter().map(|&(at, x)| x * w[at as usize]).sum::<f64>()
    }
}

/// What Python has said.
struct Known {
    outputs: Vec<Vec<Output>>,
    /// The weights that were asked about last, and what the answers were.
    w: Vec<f64>,
    worst: Vec<Option<u32>>,
}

struct Structure {
    oracle: Py<PyAny>,
    has_batches: bool,
    dim: usize,
    known: Mutex<Known>,
    truth: u32,
    cancel: Cancel,
    failure: Mutex<Option<PyErr>>,
    /// Whether an output was named although a known one is better.
    is_inexact: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// By how much of its size a maximum may fall short of another output: rounding, and no more.
const SHORT: f64 = 1e-9;

impl Structure {
    /// Asks Python for the worst outputs of some examples, and remembers them.
    fn ask(&self, examples: &[usize], w: &[f64]) -> PyResult<()> {
        Python::attach(|py| {
            let array = PyArray1::from_slice(py, w);
            let answers = self.oracle.bind(py).call_method1("ask", (examples.to_vec(), array))?;
            let answers: Vec<Named<'_>> = answers.extract()?;
            let mut known = lock(&self.known);
            for (&example, (number, news)) in examples.iter().zip(&answers) {
                let outputs = &mut known.outputs[example];
                if let Some((loss, features)) = news {
                    outputs.push(Output::new(*loss, features)?);
                }
                let value = outputs[*number as usize].value(w);
                let best = outputs.iter().map(|output| output.value(w)).fold(value, f64::max);
                if best > value + SHORT * (1.0 + value.abs().max(best.abs())) {
                    self.is_inexact.store(true, Ordering::Relaxed);
                }
                known.worst[example] = Some(*number);
            }
            Ok(())
        })
    }

    fn output(&self, example: usize, number: u32) -> Output {
        lock(&self.known).outputs[example][number as usize].clone()
    }

    /// A run that cannot go on: the exception is kept, the work is cancelled.
    fn fail(&self, error: PyErr) {
        lock(&self.failure).get_or_insert(error);
        self.cancel.hurry();
    }
}

impl StructuredModel for Structure {
    type Output = u32;

    fn dim(&self) -> usize {
        self.dim
    }

    fn len(&self) -> usize {
        lock(&self.known).outputs.len()
    }

    fn truth(&self, _example: usize) -> &u32 {
        &self.truth
    }

    fn for_each_feature(&self, example: usize, output: &u32, mut each: impl FnMut(usize, f64)) {
        self.output(example, *output).features.iter().for_each(|&(at, x)| each(at as usize, x));
    }

    fn loss(&self, example: usize, output: &u32) -> f64 {
        self.output(example, *output).loss
    }

    fn look_ahead(&self, shared: &[f64], examples: Range<usize>) {
        let mut known = lock(&self.known);
        if known.w != shared {
            known.w = shared.to_vec();
            known.worst.fill(None);
        }
        let open: Vec<usize> = examples.filter(|&i| known.worst[i].is_none()).collect();
        drop(known);
        if self.has_batches && !open.is_empty() && lock(&self.failure).is_none() {
            self.ask(&open, shared).unwrap_or_else(|error| self.fail(error));
        }
    }

    fn worst(&self, example: usize, scores: Scores<'_>) -> u32 {
        let answer = lock(&self.known).worst[example];
        if answer.is_none() && lock(&self.failure).is_none() {
            self.ask(&[example], scores.shared).unwrap_or_else(|error| self.fail(error));
        }
        // After a failure nobody looks at the answer.
        answer.or(lock(&self.known).worst[example]).unwrap_or(self.truth)
    }

    fn best(&self, example: usize, scores: Scores<'_>) -> u32 {
        // Training does not predict, so the best of the outputs that are known will do.
        let known = lock(&self.known);
        let score = |output: &Output| output.value(scores.shared) - output.loss;
        let numbered = known.outputs[example].iter().map(score).zip(0u32..);
        numbered.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1))).map_or(0, |best| best.1)
    }
}

/// Trains. `oracle` names outputs; `truths` are the joint features of the true ones, and `weights` those
/// of the examples, where they are not all 1. Returns what [`solve`] does, and whether no output was
/// named although a known one is better.
#[pyfunction]
pub(crate) fn train_structured<'py>(
    py: Python<'py>,
    oracle: Py<PyAny>,
    dim: usize,
    truths: Vec<Sparse<'py>>,
    weights: Option<Vec<f64>>,
    has_batches: bool,
    options: Options<'py>,
    callback: Option<Py<PyAny>>,
) -> PyResult<(Solved<'py>, bool)> {
    let truth = |features: &Sparse<'_>| Ok(vec![Output::new(0.0, features)?]);
    let outputs = truths.iter().map(truth).collect::<PyResult<Vec<_>>>()?;
    let examples = outputs.len();
    let cancel = Cancel::new();
    let structure = Structure {
        oracle,
        has_batches,
        dim,
        known: Mutex::new(Known { outputs, w: Vec::new(), worst: vec![None; examples] }),
        truth: 0,
        cancel: cancel.clone(),
        failure: Mutex::new(None),
        is_inexact: AtomicBool::new(false),
    };
    let weights = match weights {
        Some(weights) => ExampleWeights::new(&weights, &vec![1.0; examples]),
        None => ExampleWeights::mean(examples),
    };
    let risk = MarginRisk::new(structure, weights);
    let (found, trouble, raised) = solve(py, &risk, None, &options, &cancel, callback.as_ref())?;
    let failure = lock(&risk.model().failure).take();
    let is_exact = !risk.model().is_inexact.load(Ordering::Relaxed);
    Ok(((found, trouble, failure.or(raised)), is_exact))
}
