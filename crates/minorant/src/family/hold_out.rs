//! Early stopping by examples that are held out: the weights of a run's best points are judged on
//! them as it goes on, and those that did best become the answer. What is held out is decided by
//! the data alone, and a resumed run remembers its choice.

use super::{Misfit, TrainError, refuse};
use crate::archive::{Archive, ArchiveError};
use crate::container::Container;
use crate::solver::Carried;
use crate::trace::{Observer, TraceRecord};
use serde_json::{Value as Json, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

/// Which of `labels`' examples are held out: about `fraction` of each label. Neighbours in a file
/// are often alike (one speaker, one hand), so they are held out in blocks: about five blocks of
/// each label that has enough examples.
fn held_out(labels: &[u32], fraction: f64) -> Vec<bool> {
    const BLOCKS: f64 = 5.0;
    let blocks = (BLOCKS / fraction).round();
    let mut counts: BTreeMap<u32, f64> = BTreeMap::new();
    labels.iter().for_each(|&label| *counts.entry(label).or_default() += 1.0);
    let mut seen: BTreeMap<u32, f64> = BTreeMap::new();
    let is_held_out = |label: &u32| {
        let (at, of) = (seen.entry(*label).or_default(), counts[label]);
        let block = (*at * blocks.min(of) / of).floor();
        *at += 1.0;
        ((block + 1.0) * fraction).floor() > (block * fraction).floor()
    };
    labels.iter().map(is_held_out).collect()
}

/// The examples to train on and those that are held out, of examples that weigh something and have
/// these labels; nothing is held out where the fraction is 0.
pub(crate) fn split(
    examples: Vec<usize>,
    label: impl Fn(usize) -> u32,
    fraction: f64,
) -> Result<[Vec<usize>; 2], TrainError> {
    if fraction == 0.0 {
        return Ok([examples, Vec::new()]);
    }
    let labels: Vec<u32> = examples.iter().map(|&i| label(i)).collect();
    let held = held_out(&labels, fraction);
    if !held.contains(&true) || !held.contains(&false) {
        let found = examples.len();
        return refuse(format!(
            "expected enough examples to hold out a share of {fraction}, found {found}"
        ));
    }
    Ok([false, true]
        .map(|side| (0..held.len()).filter(|&i| held[i] == side).map(|i| examples[i]).collect()))
}

/// Tells the error of weights on what is held out.
pub(crate) type Judge<'a> = dyn Fn(&[f64]) -> f64 + 'a;

/// The share of units that are wrong, those of each example with its weight.
pub(crate) fn error_of(
    units: impl Iterator<Item = Range<usize>>,
    weights: Option<&[f64]>,
    is_wrong: impl Fn(usize) -> bool,
) -> f64 {
    let (mut wrong, mut all) = (0.0, 0.0);
    for (i, units) in units.enumerate() {
        let weight = weights.map_or(1.0, |weights| weights[i]);
        all += weight * units.len() as f64;
        wrong += weight * units.filter(|&unit| is_wrong(unit)).count() as f64;
    }
    wrong / all
}

/// The weights that did best on what is held out.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    pub(crate) w: Vec<f64>,
    /// Their error on what is held out.
    pub(crate) error: f64,
    /// The objective at the weights.
    pub(crate) objective: f64,
    /// The evaluation by which they were found.
    pub(crate) evaluations: u64,
}

/// What a model tells of the choice among its run's best points; nothing where nothing was held out.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeldOut {
    /// The error on what was held out.
    pub error: Option<f64>,
    /// The evaluation by which the weights were found that err least.
    pub chosen_at: Option<u64>,
}

impl HeldOut {
    pub(super) fn new(chosen: Option<Chosen>) -> Self {
        let (error, chosen_at) = chosen.map(|c| (c.error, c.evaluations)).unzip();
        HeldOut { error, chosen_at }
    }

    /// What a model file holds of it.
    pub(super) fn read(file: &Container) -> Result<Self, Misfit> {
        Ok(HeldOut { error: file.key(ERROR)?, chosen_at: file.key(CHOSEN_AT)? })
    }

    pub(super) fn write(self, file: &mut Container) {
        self.keys().into_iter().for_each(|(name, value)| file.put_key(name, value));
    }

    /// The same for programs.
    pub(super) fn keys(self) -> [(&'static str, Json); 2] {
        [(ERROR, json!(self.error)), (CHOSEN_AT, json!(self.chosen_at))]
    }
}

/// The keys of what a model tells.
const ERROR: &str = "validation_error";
const CHOSEN_AT: &str = "chosen_at";

/// The runs of rows that belong to some of the examples which begin at `starts`, and where these begin once
/// their rows stand one behind the other.
pub(crate) fn rows_of(starts: &[usize], examples: &[usize]) -> (Vec<Range<usize>>, Vec<usize>) {
    let runs: Vec<_> = examples.iter().map(|&i| starts[i]..starts[i + 1]).collect();
    let mut count = 0;
    let ends = runs.iter().map(|run| {
        count += run.len();
        count
    });
    let begins = std::iter::once(0).chain(ends).collect();
    (runs, begins)
}

/// Judges the best points of a run as they come.
pub(super) struct Validation<'a> {
    pub(super) judge: &'a Judge<'a>,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) choice: Choice,
    /// The last best point, and whether it is still to be judged.
    pub(super) last: (Vec<f64>, bool),
}

impl Observer for Validation<'_> {
    fn best(&mut self, w: &[f64]) {
        // A resumed run does not remember its last best point. Where that was the one chosen, to
        // judge it again would choose it again, later; where it was not, others did better.
        let chosen = self.choice.0.borrow();
        let (last, is_new) = &mut self.last;
        *is_new = last != w && chosen.as_ref().is_none_or(|chosen| chosen.w != w);
        if *is_new {
            *last = w.to_vec();
        }
        self.observer.best(w);
    }

    fn iteration(&mut self, record: &TraceRecord) {
        let (last, is_new) = &mut self.last;
        if std::mem::take(is_new) {
            let error = (self.judge)(last);
            let mut chosen = self.choice.0.borrow_mut();
            // Of weights that err alike, those with the lower objective are chosen.
            if chosen.as_ref().is_none_or(|chosen| error <= chosen.error) {
                *chosen = Some(Chosen {
                    w: last.clone(),
                    error,
                    objective: record.best_objective,
                    evaluations: record.evaluations,
                });
            }
        }
        self.observer.iteration(record);
    }
}

/// The choice so far, if there is one. A judge makes it, and checkpoints carry it along.
#[derive(Debug, Clone, Default)]
pub(super) struct Choice(pub(super) Rc<RefCell<Option<Chosen>>>);

const NUMBERS: &str = "chosen.numbers";
const WEIGHTS: &str = "chosen.w";

impl Choice {
    /// The choice that a checkpoint carries.
    pub(super) fn load(archive: &mut Archive) -> Result<Self, ArchiveError> {
        let (numbers, w) = (archive.take_reals(NUMBERS), archive.take_reals(WEIGHTS));
        let (Ok(&[error, objective, evaluations]), Ok(w)) = (numbers.as_deref(), w) else {
            return Ok(Choice::default());
        };
        let chosen = Chosen { w, error, objective, evaluations: evaluations as u64 };
        Ok(Choice(Rc::new(RefCell::new(Some(chosen)))))
    }
}

impl Carried for Choice {
    fn save(&self, archive: &mut Archive) {
        if let Some(chosen) = &*self.0.borrow() {
            let numbers = vec![chosen.error, chosen.objective, chosen.evaluations as f64];
            archive.put_reals(NUMBERS, numbers);
            archive.put_reals(WEIGHTS, chosen.w.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Choice, Chosen, Validation, held_out};
    use crate::archive::Archive;
    use crate::solver::Carried;
    use crate::trace::{Observer, TraceRecord};

    #[test]
    fn a_share_of_each_class_is_held_out_and_never_all_of_it() {
        let labels: Vec<u32> = (0..1000).map(|i| u32::from(i >= 30)).collect();
        let held = held_out(&labels, 0.2);
        let count =
            |class: u32| labels.iter().zip(&held).filter(|(z, h)| **z == class && **h).count();
        assert!((5..=7).contains(&count(0)) && (180..=208).contains(&count(1)));
        for n in 1..6 {
            let held = held_out(&vec![0; n], 0.2);
            assert!(held.iter().any(|held| !held), "{n}");
        }
        assert_eq!(held_out(&[0, 0, 0, 0, 0], 0.4), [false, false, true, false, true]);
    }

    /// A run whose best points err alike now and then: the first best one stays for a while.
    fn judge(from: usize, to: usize, kept: &mut Archive) -> Option<Chosen> {
        const BEST: [f64; 10] = [1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 4.0, 4.0, 5.0, 5.0];
        let error = |w: &[f64]| [0.0, 0.3, 0.3, 0.4, 0.3, 0.5][w[0] as usize];
        let (choice, mut nobody) = (Choice::load(kept).unwrap(), ());
        let mut validation = Validation {
            judge: &error,
            observer: &mut nobody,
            choice: choice.clone(),
            last: Default::default(),
        };
        for (at, best) in BEST.iter().enumerate().take(to).skip(from) {
            validation.best(&[*best]);
            validation.iteration(&TraceRecord {
                evaluations: at as u64 + 1,
                best_objective: -best,
                ..TraceRecord::default()
            });
            choice.save(kept);
        }
        choice.0.take()
    }

    #[test]
    fn a_resumed_run_chooses_what_one_without_a_break_chooses() {
        for end in 1..=10 {
            let whole = judge(0, end, &mut Archive::default()).unwrap();
            for at in 1..end {
                let mut kept = Archive::default();
                judge(0, at, &mut kept);
                let resumed = judge(at, end, &mut kept).unwrap();
                assert_eq!((resumed.w, resumed.evaluations), (whole.w.clone(), whole.evaluations));
                assert_eq!((resumed.error, resumed.objective), (whole.error, whole.objective));
            }
        }
        assert_eq!(judge(0, 3, &mut Archive::default()).unwrap().evaluations, 1);
    }
}
