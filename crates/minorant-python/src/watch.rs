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
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// How long a signal may wait.
const POLL: Duration = Duration::from_millis(50);

/// A record and the best weights so far, where they are known.
type Shown = (TraceRecord, Option<Vec<f64>>);

/// Keeps the records of a run and shows each to the watching thread, if that has a callback.
struct Relay {
    records: Vec<TraceRecord>,
    best: Option<Vec<f64>>,
    shown: Sender<Shown>,
    seen: Option<Receiver<()>>,
}

impl Observer for Relay {
    fn best(&mut self, w: &[f64]) {
        self.best = self.seen.as_ref().map(|_| w.to_vec());
    }

    fn iteration(&mut self, record: &TraceRecord) {
        self.records.push(record.clone());
        if let Some(seen) = &self.seen {
            // Nobody answers only if the watching thread has panicked; its panic tells more.
            let _ = self.shown.send((record.clone(), self.best.take())).map(|()| seen.recv());
        }
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
    let finished = Mutex::new(None);
    let (shown, records) = channel();
    let (answer, seen) = channel();
    let mut relay = Relay { records: Vec::new(), best: None, shown, seen: callback.map(|_| seen) };
    let mut raised = None;
    let mut consult = |shown: Option<Shown>| {
        if raised.is_some() {
            return;
        }
        match Python::attach(|py| ask(py, callback, shown.as_ref())) {
            Ok(false) => {}
            Ok(true) => cancel.cancel(),
            Err(error) => {
                raised = Some(error);
                cancel.hurry();
            }
        }
    };
    let slot = &finished;
    py.detach(|| {
        let (pool, records) = (pool(threads)?, records);
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
                        consult(Some(shown));
                        // The run waits for this unless it has panicked.
                        let _ = answer.send(());
                    }
                    Err(RecvTimeoutError::Timeout) => consult(None),
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
        });
        PyResult::Ok(())
    })?;
    let finished = finished.into_inner().ok().flatten();
    let (result, records) =
        finished.ok_or_else(|| PyRuntimeError::new_err("the work ended without a result"))?;
    Ok(Watched { result, records, raised })
}

/// Asks Python whether to stop: its signals first, then the callback.
fn ask(py: Python<'_>, callback: Option<&Py<PyAny>>, shown: Option<&Shown>) -> PyResult<bool> {
    py.check_signals()?;
    let (Some(callback), Some((record, best))) = (callback, shown) else { return Ok(false) };
    let best = best.as_ref().map(|best| PyArray1::from_slice(py, best));
    callback.bind(py).call1((trace::record(py, record)?, best))?.is_truthy()
}

/// A pool of its own for each call: threads of a shared one would not survive a fork.
pub(crate) fn pool(threads: usize) -> PyResult<ThreadPool> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Keeps the records and asks Python after each iteration, on the thread that works.
struct Here<'a> {
    records: Vec<TraceRecord>,
    best: Option<Vec<f64>>,
    callback: Option<&'a Py<PyAny>>,
    cancel: &'a Cancel,
    raised: Option<PyErr>,
}

impl Observer for Here<'_> {
    fn best(&mut self, w: &[f64]) {
        self.best = self.callback.map(|_| w.to_vec());
    }

    fn iteration(&mut self, record: &TraceRecord) {
        self.records.push(record.clone());
        let shown = (record.clone(), self.best.take());
        match Python::attach(|py| ask(py, self.callback, Some(&shown))) {
            Ok(false) => {}
            Ok(true) => self.cancel.cancel(),
            Err(error) => {
                self.raised.get_or_insert(error);
                self.cancel.hurry();
            }
        }
    }
}

/// Runs `work` on the calling thread, whose iterations had better be short.
pub(crate) fn here<T: Send>(
    py: Python<'_>,
    cancel: &Cancel,
    callback: Option<&Py<PyAny>>,
    work: impl FnOnce(&mut dyn Observer) -> T + Send,
) -> Watched<T> {
    let mut here = Here { records: Vec::new(), best: None, callback, cancel, raised: None };
    let result = py.detach(|| {
        stay_alone();
        work(&mut here)
    });
    Watched { result, records: here.records, raised: here.raised }
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
