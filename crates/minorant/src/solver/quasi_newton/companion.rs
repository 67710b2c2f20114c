//! The bundle that goes with a walk: it takes in the planes at the walk's points, tells the lower
//! bound that they give, and the minimiser of their model, where an evaluation pays when the bound
//! lags behind or the walk finds no way down. Yu et al. call a bound for their methods an open
//! question; this is ours.

use crate::archive::{Archive, ArchiveError};
use crate::bundle::{Bundle, Limits};
use crate::risk::Plane;
use crate::solver::{Halt, Run};

/// The master is solved again when evaluations have grown by one in this many.
const SHARE: u64 = 16;
/// A gap so many times larger than what was gained over the second half of the run is the bound's
/// fault rather than the walk's.
const LAG: f64 = 2.0;

/// A bundle, and when to ask it.
#[derive(Debug)]
pub(in crate::solver) struct Companion {
    dim: usize,
    parts: usize,
    limits: Limits,
    /// Nothing where no bound can be had: without a quadratic term, or on a non-convex risk.
    bundle: Option<Bundle>,
    /// Evaluations at which the master is due.
    due: u64,
    /// Evaluations and best objective after each step.
    past: Vec<(u64, f64)>,
}

impl Companion {
    /// An empty bundle of `parts` plane models, or none where `bounded` says that there can be no
    /// bound.
    pub(in crate::solver) fn new(dim: usize, parts: usize, limits: Limits, bounded: bool) -> Self {
        let bundle = bounded.then(|| Bundle::new(dim, parts, limits));
        Companion { dim, parts, limits, bundle, due: 1, past: Vec::new() }
    }

    /// Plane models.
    pub(in crate::solver) fn parts(&self) -> usize {
        self.parts
    }

    /// Number of planes.
    pub(in crate::solver) fn len(&self) -> usize {
        self.bundle.as_ref().map_or(0, Bundle::len)
    }

    /// Whether there can be a bound at all.
    pub(in crate::solver) fn is_bounding(&self) -> bool {
        self.bundle.is_some()
    }

    /// Gives the bundle away.
    pub(in crate::solver) fn take(&mut self) -> Option<Bundle> {
        self.bundle.take()
    }

    /// Takes in the planes at `w`.
    pub(in crate::solver) fn add(&mut self, run: &mut Run<'_>, w: &[f64], planes: Vec<Plane>) {
        let problem = run.problem;
        if let Some(bundle) = &mut self.bundle {
            run.master(|| bundle.add(w, planes, problem));
        }
    }

    /// Notes where the run stands after a step.
    pub(in crate::solver) fn note(&mut self, run: &Run<'_>) {
        self.past.push((run.evaluations(), run.best_objective()));
    }

    /// Notes where a walk stands that has left a lower place behind: what it gains is its own way down.
    pub(super) fn note_above(&mut self, run: &Run<'_>, objective: f64) {
        let is_first = self.past.last().is_some_and(|(_, before)| *before < objective);
        if is_first {
            self.past.clear();
        }
        self.past.push((run.evaluations(), objective));
    }

    /// Whether the master should be solved now.
    pub(in crate::solver) fn is_due(&self, run: &Run<'_>) -> bool {
        self.bundle.is_some() && run.evaluations() >= self.due
    }

    /// Solves the master, tells the bound, stops the run if the gap is small enough, and returns
    /// the model's minimiser.
    pub(in crate::solver) fn solve(&mut self, run: &mut Run<'_>) -> Result<Option<Vec<f64>>, Halt> {
        let Some(bundle) = &mut self.bundle else { return Ok(None) };
        let (accuracy, problem) = (run.master_gap(), run.problem);
        let minimum = run.master(|| bundle.minimise(problem, accuracy));
        run.offer_bound(minimum.bound, || bundle.proof());
        self.due = run.evaluations() + 1 + run.evaluations() / SHARE;
        run.check_gap()?;
        Ok(Some(minimum.w))
    }

    /// What the objective has lost over the last half of the evaluations.
    pub(super) fn gain(&self) -> f64 {
        let Some(&(now, best)) = self.past.last() else { return f64::INFINITY };
        let half = self.past.partition_point(|(evaluations, _)| 2 * evaluations <= now);
        half.checked_sub(1).map_or(f64::INFINITY, |at| self.past[at].1 - best)
    }

    /// What the last `steps` steps have gained; nothing if there were not so many yet.
    pub(in crate::solver) fn gain_of(&self, steps: usize) -> Option<f64> {
        let from = self.past.len().checked_sub(steps + 1)?;
        Some(self.past[from].1 - self.past.last()?.1)
    }

    /// Whether the bound lags far behind the progress of the walk; the master is then due again
    /// right after the next two steps.
    pub(in crate::solver) fn lags(&mut self, run: &Run<'_>) -> bool {
        let lags = run.gap() > LAG * self.gain();
        if lags {
            self.due = run.evaluations() + 2;
        }
        lags
    }

    /// Writes everything that later steps depend on.
    pub(in crate::solver) fn save(&self, archive: &mut Archive) {
        if let Some(bundle) = &self.bundle {
            bundle.save(archive);
        }
        let evaluations = self.past.iter().map(|(evaluations, _)| *evaluations);
        archive.put_integers("companion", [self.due].into_iter().chain(evaluations));
        archive.put_reals("companion.objectives", self.past.iter().map(|(_, j)| *j).collect());
    }

    /// Goes back to a saved state.
    pub(in crate::solver) fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        if self.bundle.is_some() {
            self.bundle = Some(Bundle::load(self.dim, self.parts, self.limits, archive)?);
        }
        let numbers = archive.take_integers("companion")?;
        let objectives = archive.take_reals("companion.objectives")?;
        let [due, evaluations @ ..] = &numbers[..] else {
            return Err(ArchiveError("companion".into()));
        };
        if evaluations.len() != objectives.len() {
            return Err(ArchiveError("companion.objectives".into()));
        }
        self.due = *due;
        self.past = evaluations.iter().copied().zip(objectives).collect();
        Ok(())
    }
}
