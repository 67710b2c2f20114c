//! What the methods share: the problem, an inner problem that is solved again and again with other
//! weights, the count of these solves, and the best decision function seen.

use super::account::{Account, Answer, Stop};
use super::balance::best_labels;
use super::inner::Inner;
use super::region::Explored;
use crate::archive::{Archive, ArchiveError};
use crate::kernel::Gram;
use crate::solver::Status;
use minorant_linalg::sum::Sum;
use sha2::{Digest, Sha256};
use std::collections::HashSet;

/// The semi-supervised problem: ½‖w‖² + C1 Σ hinge over the labelled + C2 · min over the labelings
/// that meet the balance of Σ hinge over the unlabelled.
#[derive(Debug, Clone)]
pub struct S3vmProblem<'g> {
    /// The kernel matrix of all rows.
    pub gram: &'g Gram<'g>,
    /// +1, −1, or 0 where the label is not known.
    pub signs: Vec<i8>,
    /// What a labelled row's loss counts.
    pub c1: f64,
    /// What an unlabelled row's loss counts.
    pub c2: f64,
    /// The least and the greatest number of positive labels among the unlabelled rows.
    pub balance: (usize, usize),
    /// The unlabelled rows.
    pub unlabelled: Vec<usize>,
    /// Whether these are positive in truth, where that is known: traces tell how many are right.
    pub truth: Option<Vec<bool>>,
}

impl<'g> S3vmProblem<'g> {
    /// The problem on these rows.
    pub fn new(
        gram: &'g Gram<'g>,
        signs: Vec<i8>,
        c1: f64,
        c2: f64,
        balance: (usize, usize),
    ) -> Self {
        let unlabelled = (0..signs.len()).filter(|&i| signs[i] == 0).collect();
        S3vmProblem { gram, signs, c1, c2, balance, unlabelled, truth: None }
    }

    /// λ⁺ and λ⁻ where unlabelled row j counts `plus(j)` and `minus(j)`, in shares of C2.
    pub fn weights(
        &self,
        plus: impl Fn(usize) -> f64,
        minus: impl Fn(usize) -> f64,
    ) -> (Vec<f64>, Vec<f64>) {
        let of = |sign: i8| {
            let known = |s: &i8| if *s == sign { self.c1 } else { 0.0 };
            self.signs.iter().map(known).collect::<Vec<f64>>()
        };
        let (mut up, mut down) = (of(1), of(-1));
        for (j, &i) in self.unlabelled.iter().enumerate() {
            (up[i], down[i]) = (self.c2 * plus(j), self.c2 * minus(j));
        }
        (up, down)
    }

    /// The objective's terms at decision values of all rows: the loss with the best labels that
    /// meet the balance, and these labels.
    pub fn loss(&self, decision: impl Fn(usize) -> f64) -> (f64, Vec<bool>) {
        loss(&self.signs, &self.unlabelled, (self.c1, self.c2), self.balance, decision)
    }
}

/// The loss of decisions with the best labels that meet the balance, and these labels.
pub(super) fn loss(
    signs: &[i8],
    unlabelled: &[usize],
    (c1, c2): (f64, f64),
    balance: (usize, usize),
    decision: impl Fn(usize) -> f64,
) -> (f64, Vec<bool>) {
    let scores: Vec<f64> = unlabelled.iter().map(|&i| decision(i)).collect();
    let labels = best_labels(&scores, balance);
    let hinge = |sign: f64, h: f64| (1.0 - sign * h).max(0.0);
    let known = |i: usize| hinge(f64::from(signs[i]), decision(i));
    let labelled: f64 = (0..signs.len()).filter(|&i| signs[i] != 0).map(known).sum();
    let of = |(h, y): (&f64, &bool)| hinge(if *y { 1.0 } else { -1.0 }, *h);
    let rest: f64 = scores.iter().zip(&labels).map(of).sum();
    (c1 * labelled + c2 * rest, labels)
}

/// A decision function with its objective.
#[derive(Debug, Clone)]
pub struct Solution {
    /// Coefficients of the rows.
    pub beta: Vec<f64>,
    /// The offset of the decision.
    pub bias: f64,
    /// ½‖w‖².
    pub regularizer: f64,
    /// The losses.
    pub risk: f64,
    /// The labels of the unlabelled rows that it costs this much with.
    pub labels: Vec<bool>,
    /// Objective less the bound for these labels: what another decision function could gain
    /// without changing them. No bound on the whole problem.
    pub local_gap: f64,
}

impl Solution {
    /// ½‖w‖² plus losses.
    pub fn objective(&self) -> f64 {
        self.regularizer + self.risk
    }

    /// Takes a saved one up, for so many rows and labels.
    pub(crate) fn load(
        archive: &mut Archive,
        rows: usize,
        labels: usize,
    ) -> Result<Self, ArchiveError> {
        let beta = archive.take_finite("beta", rows)?;
        let labels = archive.take_up_to("labels", labels, 1)?;
        let numbers = archive.take_reals("numbers")?;
        let [bias, regularizer, risk, local_gap] = numbers[..] else {
            return Err(ArchiveError("numbers".into()));
        };
        if !(bias + regularizer + risk).is_finite() || local_gap.is_nan() {
            return Err(ArchiveError("numbers".into()));
        }
        let labels = labels.into_iter().map(|label| label == 1).collect();
        Ok(Solution { beta, bias, regularizer, risk, labels, local_gap })
    }
}

impl Answer for Solution {
    fn objective(&self) -> f64 {
        self.objective()
    }

    fn labels(&self) -> &[bool] {
        &self.labels
    }

    fn save(&self, archive: &mut Archive) {
        archive.put_reals("beta", self.beta.clone());
        archive.put_integers("labels", self.labels.iter().map(|label| u64::from(*label)));
        let numbers = vec![self.bias, self.regularizer, self.risk, self.local_gap];
        archive.put_reals("numbers", numbers);
    }
}

/// A hash of labels, and of the balance under which they were met. It is the same everywhere, for
/// checkpoints hold it.
pub(super) fn fingerprint(labels: &[bool], balance: (usize, usize)) -> u64 {
    let mut hash = Sha256::new();
    hash.update((balance.0 as u64).to_le_bytes());
    hash.update((balance.1 as u64).to_le_bytes());
    hash.update(labels.iter().map(|label| u8::from(*label)).collect::<Vec<u8>>());
    let digest = hash.finalize();
    digest.iter().take(8).fold(0, |print, byte| print << 8 | u64::from(*byte))
}

/// Somebody who solves inner problems, one after the other, within a number of them.
#[derive(Debug)]
pub(crate) struct Worker<'p> {
    pub(crate) problem: &'p S3vmProblem<'p>,
    pub(crate) inner: Inner<'p>,
    stop: &'p Stop,
    /// Inner problems solved.
    pub(crate) spent: u64,
    /// Inner problems that may be solved.
    pub(crate) limit: u64,
    /// By how much pairs of coordinates may violate optimality.
    pub(crate) tol: f64,
    /// The best decision function seen.
    pub(crate) best: Option<Solution>,
    /// Labels that alternation has met before: it would only end where it ended then.
    pub(super) known: Option<&'p HashSet<u64>>,
    /// Labels that it has met here.
    pub(super) met: Vec<u64>,
    /// Critical regions that it has explored: none unless a method asks for it.
    pub(super) explored: Explored,
    /// Solutions that were read off a known region, which are no inner optimisations.
    pub(crate) reused: u64,
}

impl<'p> Worker<'p> {
    pub(crate) fn new(problem: &'p S3vmProblem<'p>, stop: &'p Stop, limit: u64, tol: f64) -> Self {
        let inner = Inner::new(problem.gram).stopped_by(stop);
        let (known, met, explored) = (None, Vec::new(), Explored::default());
        let (spent, best, reused) = (0, None, 0);
        Worker { problem, inner, stop, spent, limit, tol, best, known, met, explored, reused }
    }

    /// Whether alternation has been at these labels before; they are noted.
    pub(super) fn has_met(&mut self, labels: &[bool]) -> bool {
        let print = fingerprint(labels, self.problem.balance);
        self.met.push(print);
        self.known.is_some_and(|known| known.contains(&print))
    }

    /// An error where work is to stop.
    pub(crate) fn check(&self) -> Result<(), Status> {
        self.stop.check()
    }

    /// Solves the inner problem for weights in shares of C2: one inner optimisation.
    pub(crate) fn solve(
        &mut self,
        plus: impl Fn(usize) -> f64,
        minus: impl Fn(usize) -> f64,
    ) -> Result<(), Status> {
        let (plus, minus) = self.problem.weights(plus, minus);
        self.solve_weights(&plus, &minus)
    }

    /// Solves the inner problem for weights λ⁺, λ⁻: one inner optimisation, unless they lie in a critical
    /// region that is known (Theorem 1).
    pub(crate) fn solve_weights(&mut self, plus: &[f64], minus: &[f64]) -> Result<(), Status> {
        // A run must have an answer: its first inner problem is begun whatever the clock says, and
        // however far that one gets, its solution is an answer.
        let may_end = self.spent > 0 || self.best.is_some();
        if may_end {
            self.stop.check()?;
        }
        if self.spent >= self.limit {
            return Err(Status::MaxEvals);
        }
        if let Some(known) = self.explored.find(self.problem.gram, plus, minus, self.tol) {
            self.reused += 1;
            self.inner.settle(plus, minus, known);
            return Ok(());
        }
        self.spent += 1;
        self.inner.set_weights(plus, minus);
        if self.inner.solve(self.tol) {
            self.explored.add(&self.inner);
        }
        if self.inner.is_cut() && may_end { self.stop.check() } else { Ok(()) }
    }

    /// Solves for labels.
    pub(crate) fn solve_labels(&mut self, labels: &[bool]) -> Result<(), Status> {
        let share = |is: bool| if is { 1.0 } else { 0.0 };
        self.solve(|j| share(labels[j]), |j| share(!labels[j]))
    }

    /// Solves for soft labels.
    pub(crate) fn solve_soft(&mut self, p: &[f64]) -> Result<(), Status> {
        self.solve(|j| p[j], |j| 1.0 - p[j])
    }

    /// Decisions on the unlabelled rows.
    pub(crate) fn scores(&self) -> Vec<f64> {
        self.problem.unlabelled.iter().map(|&i| self.inner.decision(i)).collect()
    }

    /// What each unlabelled row gains by a positive label, ∂F/∂p: C2 (V(−1, h) − V(+1, h)).
    pub(crate) fn gains(&self) -> Vec<f64> {
        self.gains_moved(0.0)
    }

    /// The same where the offset is moved by so much.
    pub(super) fn gains_moved(&self, by: f64) -> Vec<f64> {
        let gain = |h: f64| self.problem.c2 * ((1.0 + h).max(0.0) - (1.0 - h).max(0.0));
        self.scores().into_iter().map(|h| gain(h + by)).collect()
    }

    /// The semi-supervised objective of the current decision function and its best labels; the
    /// best function is kept.
    pub(crate) fn objective(&mut self) -> (f64, Vec<bool>) {
        let (risk, labels) = self.problem.loss(|i| self.inner.decision(i));
        (keep_better(&mut self.best, &self.inner, risk, &labels), labels)
    }
}

/// The objective of an inner problem's decision function with this loss, which becomes the best one
/// if it is better.
pub(super) fn keep_better(
    best: &mut Option<Solution>,
    inner: &Inner<'_>,
    risk: f64,
    labels: &[bool],
) -> f64 {
    let regularizer = 0.5 * inner.square();
    let objective = regularizer + risk;
    if best.as_ref().is_none_or(|best| objective < best.objective()) {
        *best = Some(Solution {
            beta: inner.beta().to_vec(),
            bias: inner.bias(),
            regularizer,
            risk,
            labels: labels.to_vec(),
            local_gap: f64::INFINITY,
        });
    }
    objective
}

/// −J(β), the bound for weights λ⁺, λ⁻, where ½βᵀKβ is known: nothing where β is not feasible.
pub(crate) fn bound_of(beta: &[f64], half_square: f64, plus: &[f64], minus: &[f64]) -> Option<f64> {
    let mut dual = Sum::default();
    dual.add(half_square);
    for ((b, plus), minus) in beta.iter().zip(plus).zip(minus) {
        if *b > *plus || *b < -minus {
            return None;
        }
        dual.add((-b - 2.0 * minus).max(b - 2.0 * plus));
    }
    Some(-dual.value())
}

impl Account<'_, Solution> {
    /// Counts a worker's solves and takes its best function.
    pub(super) fn absorb(&mut self, worker: &mut Worker<'_>) {
        self.reused += std::mem::take(&mut worker.reused);
        self.count(std::mem::take(&mut worker.spent), worker.best.take(), 0.0);
    }
}
