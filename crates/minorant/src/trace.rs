//! What a run tells while it goes on: one record per iteration, and whoever listens to them.

/// One iteration, as it stands in a trace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TraceRecord {
    /// Iteration number; 0 is the start point.
    pub iteration: u64,
    /// Evaluations so far.
    pub evaluations: u64,
    /// Seconds of optimisation so far.
    pub seconds: f64,
    /// The objective at this iteration's point.
    pub objective: f64,
    /// The lowest objective so far.
    pub best_objective: f64,
    /// The best lower bound so far.
    pub lower_bound: Option<f64>,
    /// The gap of the local model, where the risk is not convex.
    pub local_gap: Option<f64>,
    /// The kind of step.
    pub step: &'static str,
    /// The step's length, where the method has one.
    pub step_length: Option<f64>,
    /// The locality of the model's aggregate plane, where the method keeps localities: how far,
    /// in units of the objective, the model stands from what was measured at the best point.
    pub locality: Option<f64>,
    /// The share of the rows without a label that the best machine labels right, where the truth is told.
    pub accuracy: Option<f64>,
    /// Planes in the bundle.
    pub planes: usize,
    /// Seconds in the master and the bundle's vectors so far.
    pub master_seconds: f64,
}

impl TraceRecord {
    /// Best objective less lower bound, or the gap of a local model.
    pub fn gap(&self) -> Option<f64> {
        let gap = |bound: f64| (self.best_objective - bound).max(0.0);
        self.lower_bound.map(gap).or(self.local_gap)
    }

    /// The same record of a run that comes behind others, whose counts and seconds it goes on from.
    pub(crate) fn behind(&self, earlier: &TraceRecord) -> TraceRecord {
        TraceRecord {
            iteration: earlier.iteration + self.iteration,
            evaluations: earlier.evaluations + self.evaluations,
            seconds: earlier.seconds + self.seconds,
            master_seconds: earlier.master_seconds + self.master_seconds,
            ..self.clone()
        }
    }

    /// The record as a row of a table: the names of the columns, and what stands there.
    pub fn cells(&self) -> [(&'static str, Cell); 13] {
        use Cell::{Number, Whole, Word};
        [
            ("iteration", Whole(self.iteration)),
            ("evaluations", Whole(self.evaluations)),
            ("seconds", Number(Some(self.seconds))),
            ("objective", Number(Some(self.objective))),
            ("best_objective", Number(Some(self.best_objective))),
            ("lower_bound", Number(self.lower_bound)),
            ("gap", Number(self.gap())),
            ("step", Word(self.step)),
            ("step_length", Number(self.step_length)),
            ("locality", Number(self.locality)),
            ("accuracy", Number(self.accuracy)),
            ("planes", Whole(self.planes as u64)),
            ("master_seconds", Number(Some(self.master_seconds))),
        ]
    }
}

/// What stands in a column of a table of records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell {
    /// A count.
    Whole(u64),
    /// A number, where there is one.
    Number(Option<f64>),
    /// A name.
    Word(&'static str),
}

/// Somebody who watches a run.
pub trait Observer {
    /// An iteration has ended.
    fn iteration(&mut self, record: &TraceRecord);

    /// The best weights so far; called right before [`Observer::iteration`]. Where classes are
    /// trained one against the rest there is no such point until the last has had its turn.
    fn best(&mut self, _w: &[f64]) {}

    /// Whether the best weights are of any use to whoever watches.
    fn wants_best(&self) -> bool {
        true
    }

    /// The labels of the rows without one, between 0 and 1, of the best machine so far; called right
    /// before [`Observer::iteration`] of those who want them.
    fn labels(&mut self, _p: &[f64]) {}

    /// Whether such labels are of any use to whoever watches.
    fn wants_labels(&self) -> bool {
        false
    }

    /// Something that takes its time is done before the first iteration; `what` says it in words.
    fn preparing(&mut self, _what: &str) {}
}

/// A trace kept in memory.
impl Observer for Vec<TraceRecord> {
    fn iteration(&mut self, record: &TraceRecord) {
        self.push(record.clone());
    }

    fn wants_best(&self) -> bool {
        false
    }
}

/// Nobody watches.
impl Observer for () {
    fn iteration(&mut self, _record: &TraceRecord) {}

    fn wants_best(&self) -> bool {
        false
    }
}

/// Makes the records of one run those of all runs so far, whose counts, seconds and least objective stand
/// in `before`.
pub(crate) struct Behind<'o> {
    pub(crate) observer: &'o mut dyn Observer,
    pub(crate) before: TraceRecord,
}

impl Observer for Behind<'_> {
    fn iteration(&mut self, record: &TraceRecord) {
        let best_objective = record.best_objective.min(self.before.best_objective);
        self.observer.iteration(&TraceRecord { best_objective, ..record.behind(&self.before) });
    }
}
