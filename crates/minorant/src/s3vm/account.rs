//! What a run of a kernel machine has done so far, and the best of it: the count of inner problems,
//! the best answer, what observers are told, and the states that a stopped run goes on from. The
//! states of the methods themselves are their own business.

use crate::archive::{Archive, ArchiveError};
use crate::risk::Cancel;
use crate::solver::{Checkpoints, RunError, Status};
use crate::trace::{Observer, TraceRecord};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The largest count that a saved state may hold; a larger one was never counted, and sums of such
/// would overflow.
pub(crate) const MOST_COUNTED: u64 = 1 << 48;

/// Seconds that a run which was stopped has for making its answer finer.
const GRACE: f64 = 0.2;

/// A machine that a run may answer with.
pub(crate) trait Answer {
    /// What is to be minimised.
    fn objective(&self) -> f64;

    fn save(&self, archive: &mut Archive);

    /// The labels that it gives to rows without one, if it does.
    fn labels(&self) -> &[bool] {
        &[]
    }
}

/// The time since a run began, with what it had spent before it was resumed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
    earlier: f64,
}

impl Clock {
    pub(crate) fn seconds(&self) -> f64 {
        self.earlier + self.start.elapsed().as_secs_f64()
    }
}

/// What stops work from outside.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    pub(crate) cancel: Cancel,
    pub(crate) clock: Clock,
    pub(crate) max_seconds: Option<f64>,
    /// Whether a method was told to stop.
    is_told: Arc<AtomicBool>,
}

impl Stop {
    pub(crate) fn new(cancel: &Cancel, clock: Clock, max_seconds: Option<f64>) -> Self {
        Stop { cancel: cancel.clone(), clock, max_seconds, is_told: Arc::default() }
    }

    pub(crate) fn check(&self) -> Result<(), Status> {
        let state = self.state();
        if state.is_err() {
            self.is_told.store(true, Ordering::Relaxed);
        }
        state
    }

    /// An error where somebody was told to stop: whatever that was, it was cut short.
    pub(crate) fn was_heeded(&self) -> Result<(), Status> {
        if self.is_told.load(Ordering::Relaxed) { self.state() } else { Ok(()) }
    }

    fn state(&self) -> Result<(), Status> {
        if self.cancel.is_cancelled() {
            return Err(Status::Interrupted);
        }
        let late = |most: f64| self.clock.seconds() >= most;
        if self.max_seconds.is_some_and(late) { Err(Status::MaxSeconds) } else { Ok(()) }
    }

    /// Whether work is to end.
    pub(crate) fn is_over(&self) -> bool {
        self.check().is_err()
    }

    /// What stops the last piece of a run's work: a run that was stopped has a moment left for it.
    pub(crate) fn for_the_last(&self) -> Stop {
        if self.state().is_ok() {
            return self.clone();
        }
        Stop::new(&Cancel::new(), self.clock, Some(self.clock.seconds() + GRACE))
    }
}

/// What a search has done so far, and the best answer that it has found.
pub(crate) struct Account<'o, A> {
    observer: &'o mut dyn Observer,
    checkpoints: &'o mut dyn Checkpoints,
    /// The last state to go on from, where it is not stored yet.
    waiting: Option<Archive>,
    /// Whether the limit has cut something short that goes on where there is none.
    pub(super) is_cut_short: bool,
    pub(crate) clock: Clock,
    /// Inner problems that may be solved.
    pub(crate) limit: u64,
    /// Whether that belongs to the method, and the same whatever the user allows.
    pub(crate) limit_is_own: bool,
    pub(crate) evaluations: u64,
    /// Solutions that were read off known regions, besides these.
    pub(crate) reused: u64,
    pub(crate) iterations: u64,
    /// The soft labels of the machine that is told of next, where the method has them.
    pub(crate) soft: Option<Vec<f64>>,
    /// The true labels of the rows without one, where they are told.
    pub(crate) truth: Option<Vec<bool>>,
    pub(crate) best: Option<A>,
    pub(crate) lower_bound: Option<f64>,
    pub(crate) delta: Option<f64>,
}

impl<'o, A: Answer> Account<'o, A> {
    pub(crate) fn new(
        observer: &'o mut dyn Observer,
        checkpoints: &'o mut dyn Checkpoints,
        limit: u64,
    ) -> Self {
        Account {
            observer,
            checkpoints,
            waiting: None,
            is_cut_short: false,
            clock: Clock { start: Instant::now(), earlier: 0.0 },
            limit,
            limit_is_own: false,
            evaluations: 0,
            reused: 0,
            iterations: 0,
            soft: None,
            truth: None,
            best: None,
            lower_bound: None,
            delta: None,
        }
    }

    /// Inner problems that may still be solved.
    pub(crate) fn left(&self) -> u64 {
        self.limit.saturating_sub(self.evaluations)
    }

    pub(crate) fn best_objective(&self) -> f64 {
        self.best.as_ref().map_or(f64::INFINITY, Answer::objective)
    }

    /// Counts solves and takes the machine that they found, if it is better by a share of the
    /// objective.
    pub(crate) fn count(&mut self, spent: u64, found: Option<A>, share: f64) {
        self.evaluations += spent;
        let Some(answer) = found else { return };
        let (objective, before) = (answer.objective(), self.best_objective());
        let least = if before.is_finite() { before - share * before.abs() } else { before };
        let is_better = objective < least;
        if is_better {
            self.best = Some(answer);
        }
        self.tell(objective, is_better);
    }

    /// Counts candidates that were polished side by side: their solves, what they found, and how they
    /// ended. One that used up its share is no reason to end.
    pub(crate) fn count_batch(
        &mut self,
        polished: Vec<(u64, Option<A>, Result<(), Status>)>,
        share: f64,
    ) -> Result<(), Status> {
        let mut stopped = Ok(());
        for (spent, best, ended) in polished {
            self.count(spent, best, share);
            match ended {
                Ok(()) => {}
                Err(Status::MaxEvals) => self.cut_short(),
                ended => stopped = ended,
            }
        }
        stopped
    }

    /// Tells the observer of a machine.
    pub(crate) fn tell(&mut self, objective: f64, is_better: bool) {
        let labels = self.best.as_ref().map_or(&[][..], Answer::labels);
        let soft = self.soft.take();
        if self.observer.wants_labels() {
            let hard = || labels.iter().map(|y| f64::from(u8::from(*y))).collect();
            self.observer.labels(&soft.unwrap_or_else(hard));
        }
        let accuracy = self.truth.as_ref().filter(|_| !labels.is_empty()).map(|truth| {
            let right = truth.iter().zip(labels).filter(|(truth, label)| truth == label).count();
            right as f64 / labels.len() as f64
        });
        let record = TraceRecord {
            iteration: self.iterations,
            evaluations: self.evaluations,
            seconds: self.clock.seconds(),
            objective,
            best_objective: self.best_objective().min(objective),
            lower_bound: self.lower_bound,
            local_gap: None,
            step: match (self.iterations, is_better) {
                (0, _) => "start",
                (_, true) => "descent",
                (_, false) => "null",
            },
            step_length: None,
            accuracy,
            ..TraceRecord::default()
        };
        self.iterations += 1;
        self.observer.iteration(&record);
    }

    /// Tells that the limit has cut short what goes on in a run without one: from here on there are
    /// no states to go on from, for they would not lead where that run ends.
    pub(crate) fn cut_short(&mut self) {
        self.is_cut_short |= !self.limit_is_own;
    }

    /// Whether states of the search are to be kept.
    pub(super) fn keeps_states(&self) -> bool {
        !self.is_cut_short && self.checkpoints.are_wanted()
    }

    /// Keeps the state between two steps of a method: this account, and what `save` adds to it.
    pub(crate) fn keep(&mut self, save: impl FnOnce(&mut Archive)) {
        if !self.keeps_states() {
            return;
        }
        let mut archive = Archive::default();
        archive.put_integers("counts", [self.evaluations, self.iterations, self.reused]);
        archive.put_reals("seconds", vec![self.clock.seconds()]);
        archive.put_reals("bound", self.lower_bound.into_iter().collect());
        archive.put_reals("delta", self.delta.into_iter().collect());
        if let Some(best) = &self.best {
            archive.put_all("best", |own| best.save(own));
        }
        save(&mut archive);
        if self.checkpoints.is_due() {
            self.checkpoints.store(archive);
            self.waiting = None;
        } else {
            self.waiting = Some(archive);
        }
    }

    /// Where a limit or the user has ended the run, a later one goes on from its last state.
    pub(crate) fn close(&mut self, ended: Result<(), Status>) {
        let goes_on = [Status::MaxEvals, Status::MaxSeconds, Status::Interrupted];
        let is_left = ended.is_err_and(|status| goes_on.contains(&status));
        if let Some(archive) = self.waiting.take().filter(|_| is_left) {
            self.checkpoints.store(archive);
        }
    }

    /// Takes up the account of a run that goes on here, if one does, and returns what its method has
    /// kept, if anything. `most` inner problems are allowed in all, the last ones included.
    pub(crate) fn resume(
        &mut self,
        most: u64,
        load: impl FnOnce(&mut Archive) -> Result<A, ArchiveError>,
    ) -> Result<Option<Archive>, RunError> {
        let Some(mut archive) = self.checkpoints.resume() else { return Ok(None) };
        let wrong = |name: &str| ArchiveError(name.into());
        let counts = archive.take_integers("counts")?;
        let [evaluations, iterations, reused] = counts[..] else {
            return Err(wrong("counts").into());
        };
        let seconds = archive.take_real("seconds")?;
        if evaluations.max(iterations).max(reused) > MOST_COUNTED
            || !(seconds >= 0.0 && seconds.is_finite())
        {
            return Err(wrong("counts").into());
        }
        (self.evaluations, self.iterations, self.reused) = (evaluations, iterations, reused);
        self.clock.earlier = seconds;
        self.lower_bound = at_most_one("bound", &mut archive)?;
        self.delta = at_most_one("delta", &mut archive)?;
        let mut best = archive.take_all("best");
        self.best = if best.is_empty() { None } else { Some(load(&mut best)?) };
        if evaluations > self.limit {
            let needed = evaluations.saturating_add(most - self.limit);
            return Err(RunError::Spent { needed, most });
        }
        Ok(Some(archive).filter(|archive| !archive.is_empty()))
    }
}

fn at_most_one(name: &str, archive: &mut Archive) -> Result<Option<f64>, ArchiveError> {
    match archive.take_reals(name)?[..] {
        [] => Ok(None),
        [value] if !value.is_nan() => Ok(Some(value)),
        _ => Err(ArchiveError(name.into())),
    }
}
