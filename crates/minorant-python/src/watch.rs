//! Work that can be interrupted, without the interpreter's lock: on other threads while the calling
//! one watches and asks for signals several times a second, or on the calling thread itself, which
//! asks between iterations. Callbacks always run on the thread that called, and the work waits for
//! each, so that runs stay reproducible.

use crate::trace;
use minorant::risk::Cancel;
use minorant::trace::{Observer, TraceRecord};
use numpy::PyArray1;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::cell::OnceCell;
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How long a signal may wait.
const POLL: Duration = Duration::from_millis(50);

/// A record and the best weights so far, where they are known.
type Shown = (TraceRecord, Option<Vec<f64>>);

/// Keeps the records of a run and shows each, with the best weights where they are wanted.
struct Relay<F> {
    records: Vec<TraceRecord>,
    best: Option<Vec<f64>>,
    wants_best: bool,
    show: F,
}

impl<F: FnMut(Shown)> Observer for Relay<F> {
    fn best(&mut self, w: &[f64]) {
        self.best = self.wants_best.then(|| w.to_vec());
    }

    fn wants_best(&self) -> bool {
        self.wants_best
    }

    fn iteration(&mut self, record: &TraceRecord) {
        self.records.push(record.clone());
        (self.show)((record.clone(), self.best.take()));
    }
}

/// Asks Python whether to go on, until it raises something.
struct Asker<'a> {
    callback: Option<&'a Py<PyAny>>,
    cancel: &'a Cancel,
    raised: Option<PyErr>,
}

impl Asker<'_> {
    fn consult(&mut self, shown: Option<Shown>) {
        if self.raised.is_some() {
            return;
        }
        match Python::attach(|py| self.ask(py, shown)) {
            Ok(false) => {}
            Ok(true) => self.cancel.cancel(),
            Err(error) => {
                self.raised = Some(error);
                self.cancel.hurry();
            }
        }
    }

    /// Whether to stop: signals are asked first, then the callback.
    fn ask(&self, py: Python<'_>, shown: Option<Shown>) -> PyResult<bool> {
        py.check_signals()?;
        let (Some(callback), Some((record, best))) = (self.callback, shown) else {
            return Ok(false);
        };
        let best = best.map(|best| PyArray1::from_vec(py, best));
        callback.bind(py).call1((trace::record(py, &record)?, best))?.is_truthy()
    }
}

/// What came of watched work.
pub(crate) struct Watched<T> {
    /// What the work gave.
    pub(crate) result: T,
    /// The records of the run.
    pub(crate) records: Vec<TraceRecord>,
    /// What Python raised meanwhile: in the callback, or a signal's exception.
    pub(crate) raised: Option<PyErr>,
}

/// Runs `work` on `threads` threads. A signal's exception, an exception of the callback and a
/// callback that returns true cancel it.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    threads: usize,
    cancel: &Cancel,
    callback: Option<&Py<PyAny>>,
    work: impl FnOnce(&mut dyn Observer) -> T + Send,
) -> PyResult<Watched<T>> {
    let (shown, records) = channel();
    let (answer, seen) = channel();
    let wants_best = callback.is_some();
    let show = move |record: Shown| {
        if wants_best {
            // Nobody answers only if the watching thread has panicked; its panic tells more.
            let _ = shown.send(record).map(|()| seen.recv());
        }
    };
    let mut relay = Relay { records: Vec::new(), best: None, wants_best, show };
    let mut asker = Asker { callback, cancel, raised: None };
    let finished = Mutex::new(None);
    py.detach(|| {
        let (pool, records, slot) = (pool(threads)?, records, &finished);
        pool.in_place_scope(|scope| {
            scope.spawn(move |_| {
                let result = work(&mut relay);
                if let Ok(mut slot) = slot.lock() {
                    *slot = Some((result, relay.records));
                }
                // The relay goes out of scope here, which ends the loop below.
            });
            loop {
                match records.recv_timeout(POLL) {
                    Ok(shown) => {
                        asker.consult(Some(shown));
                        // The run waits for this unless it has panicked.
                        let _ = answer.send(());
                    }
                    Err(RecvTimeoutError::Timeout) => asker.consult(None),
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
        });
        PyResult::Ok(())
    })?;
    let finished = finished.into_inner().ok().flatten();
    let (result, records) =
        finished.ok_or_else(|| PyRuntimeError::new_err("the work ended without a result"))?;
    Ok(Watched { result, records, raised: asker.raised })
}

/// A pool of its own for each call: threads of a shared one would not survive a fork.
pub(crate) fn pool(threads: usize) -> PyResult<ThreadPool> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Runs `work` on the calling thread, whose iterations had better be short.
pub(crate) fn here<T: Send>(
    py: Python<'_>,
    cancel: &Cancel,
    callback: Option<&Py<PyAny>>,
    work: impl FnOnce(&mut dyn Observer) -> T + Send,
) -> Watched<T> {
    let mut asker = Asker { callback, cancel, raised: None };
    let (result, records) = py.detach(|| {
        stay_alone();
        let (wants_best, show) = (callback.is_some(), |shown| asker.consult(Some(shown)));
        let mut relay = Relay { records: Vec::new(), best: None, wants_best, show };
        (work(&mut relay), relay.records)
    });
    Watched { result, records, raised: asker.raised }
}

thread_local! {
    static ALONE: OnceCell<Option<ThreadPool>> = const { OnceCell::new() };
}

/// Makes the calling thread a pool of one, so that what runs on it starts no others.
fn stay_alone() {
    let one = || ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().ok();
    // A thread that belongs to a pool already stays in it.
    ALONE.with(|pool| {
        pool.get_or_init(one);
    });
}
