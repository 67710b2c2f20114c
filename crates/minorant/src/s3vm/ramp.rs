//! The kernel support vector machine with the ramp loss, which outliers cannot pull at: ½‖w‖² +
//! C Σ min(1 − S, hinge). The paper's reformulation serves it too: with p_i ∈ [0, 1] a row costs
//! p_i hinge + (1 − p_i)(1 − S), so the inner problem is the same, its value is convex in p, and
//! the search goes the same way: local solutions from many candidates, the best one kept. Here the
//! labels are known, and which rows count is not.

use super::ao::PROGRESS;
use super::candidates::generator;
use super::graph::nearest;
use super::work::{bound_of, keep_better};
use super::{
    Account, BETTER, Inner, Options, Rounds, S3vmError, S3vmFit, Solution, Solver, Stop,
    soft_labels,
};
use crate::kernel::Gram;
use crate::risk::Cancel;
use crate::solver::{Checkpoints, Status};
use crate::trace::Observer;
use minorant_linalg::elementary;
use minorant_linalg::parallel::{map_chunks, split_evenly};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// Candidates of a round, at least.
const FEWEST: u64 = 12;
/// Rounds without improvement that end the search.
const PATIENCE: u64 = 2;

/// The methods for the ramp loss.
pub const RAMP_SOLVERS: [Solver; 3] = [Solver::Pdm, Solver::Ao, Solver::Da];

/// The problem with the ramp loss.
#[derive(Debug, Clone)]
pub struct RampProblem<'g> {
    /// The kernel matrix of all rows.
    pub gram: &'g Gram<'g>,
    /// +1 or −1 for each row.
    pub signs: Vec<i8>,
    /// What a row's loss counts.
    pub c: f64,
    /// Where the loss bends: no row costs more than 1 − S.
    pub ramp: f64,
}

impl RampProblem<'_> {
    /// The losses of decisions, and which rows lie below the bend.
    pub fn loss(&self, decision: impl Fn(usize) -> f64) -> (f64, Vec<bool>) {
        let most = 1.0 - self.ramp;
        let hinge = |(i, s): (usize, &i8)| (1.0 - f64::from(*s) * decision(i)).max(0.0);
        let losses: Vec<f64> = self.signs.iter().enumerate().map(hinge).collect();
        let sum: f64 = losses.iter().map(|loss| loss.min(most)).sum();
        (self.c * sum, losses.iter().map(|loss| *loss < most).collect())
    }

    /// What the rows of one side count with these shares.
    fn side(&self, sign: i8, shares: &[f64]) -> Vec<f64> {
        let of = |(share, s): (&f64, &i8)| if *s == sign { self.c * share } else { 0.0 };
        shares.iter().zip(&self.signs).map(of).collect()
    }

    fn check(&self) -> Result<(), S3vmError> {
        let (rows, labels) = (self.gram.order(), self.signs.len());
        if rows != labels {
            return Err(S3vmError::Lengths { rows, labels });
        }
        if !(self.c > 0.0 && self.c.is_finite()) {
            return Err(S3vmError::Weight { name: "C", value: self.c });
        }
        if !(self.ramp < 1.0 && self.ramp.is_finite()) {
            return Err(S3vmError::Bend(self.ramp));
        }
        let has = |sign: i8| self.signs.contains(&sign);
        if has(1) && has(-1) && !has(0) { Ok(()) } else { Err(S3vmError::OneClass) }
    }
}

/// Minimises the objective with the ramp loss: by `ao` from the support vector machine of all rows,
/// by `da`, or, with any other solver, by the search. The labels of the answer say which rows lie
/// below the bend.
///
/// ```
/// use minorant::kernel::{Gram, Kernel, Points};
/// use minorant::linalg::Matrix;
/// use minorant::risk::Cancel;
/// use minorant::s3vm::{Options, RampProblem, fit_ramp};
///
/// // The last row is on the wrong side, and far off.
/// let rows = Matrix::dense(5, 1, vec![-2.0, -1.0, 1.0, 2.0, -3.0].into())?;
/// let points = Points::new(&rows);
/// let gram = Gram::new(Kernel::Linear, &points, 1 << 20)?;
/// let problem = RampProblem { gram: &gram, signs: vec![-1, -1, 1, 1, 1], c: 10.0, ramp: -1.0 };
/// let fit = fit_ramp(&problem, &Options::default(), &Cancel::new(), &mut (), &mut ())?;
/// assert_eq!(fit.solution.labels, [true, true, true, true, false]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fit_ramp(
    problem: &RampProblem<'_>,
    options: &Options,
    cancel: &Cancel,
    observer: &mut dyn Observer,
    checkpoints: &mut dyn Checkpoints,
) -> Result<S3vmFit, S3vmError> {
    options.check()?;
    problem.check()?;
    let most = options.rules.max_evaluations.unwrap_or(u64::MAX).max(1);
    let mut account = Account::new(observer, checkpoints, most);
    let rows = problem.signs.len();
    let saved = account.resume(most, |archive| Solution::load(archive, rows, rows))?;
    let rounds = saved.map_or(Ok(Rounds::default()), |mut archive| Rounds::load(&mut archive))?;
    let clock = account.clock;
    let stop = Stop::new(cancel, clock, options.rules.max_seconds);
    let ended = run(problem, options, &stop, &mut account, rounds);
    let ended = ended.and(stop.was_heeded());
    account.close(ended);
    // The first inner problem is solved whatever the limits, so there is an answer.
    let mut solution = account.best.take().ok_or(S3vmError::NoAnswer)?;
    let mut status = ended.err().unwrap_or(Status::Converged);
    if account.left() > 0 {
        let last = stop.for_the_last();
        let mut walker = Walker::new(problem, &last, account.left(), options.final_tol());
        let kept = shares(&solution.labels);
        // Where there is but a moment left it goes on from what there is.
        let start = ended.is_err().then(|| solution.beta.clone());
        let bound = if walker.solve_from(&kept, start.as_deref()).is_ok() {
            if walker.inner.is_cut() && status == Status::Converged {
                status = last.check().err().unwrap_or(status);
            }
            walker.inner.refresh();
            walker.objective();
            Some(-walker.inner.dual())
        } else {
            let (plus, minus) = (problem.side(1, &kept), problem.side(-1, &kept));
            bound_of(&solution.beta, solution.regularizer, &plus, &minus)
        };
        account.evaluations += walker.spent;
        let cut = problem.signs.len() - solution.labels.iter().filter(|kept| **kept).count();
        let constant = problem.c * (1.0 - problem.ramp) * cut as f64;
        let found = walker.best.take().filter(|found| found.objective() < solution.objective());
        solution = found.unwrap_or(solution);
        if let Some(bound) = bound {
            solution.local_gap = (solution.objective() - (constant + bound)).max(0.0);
        }
    }
    Ok(S3vmFit {
        solution,
        lower_bound: None,
        delta: None,
        status,
        evaluations: account.evaluations,
        regions_reused: None,
        iterations: account.iterations,
        seconds: clock.seconds(),
    })
}

fn shares(kept: &[bool]) -> Vec<f64> {
    kept.iter().map(|kept| f64::from(u8::from(*kept))).collect()
}

fn run(
    problem: &RampProblem<'_>,
    options: &Options,
    stop: &Stop,
    account: &mut Account<'_, Solution>,
    mut rounds: Rounds,
) -> Result<(), Status> {
    let n = problem.signs.len();
    let all = vec![true; n];
    let by = options.solver;
    for anneals in [false, true].into_iter().skip(rounds.starts) {
        account.keep(|archive| rounds.save(archive));
        rounds.starts += 1;
        if (by == Solver::Ao && anneals) || (by == Solver::Da && !anneals) {
            continue;
        }
        let mut walker = Walker::new(problem, stop, account.left(), options.search_tol());
        let ended =
            if anneals { walker.anneal(all.clone()) } else { walker.alternate(all.clone()) };
        account.count(walker.spent, walker.best.take(), 0.0);
        ended?;
    }
    if matches!(by, Solver::Ao | Solver::Da) {
        return Ok(());
    }
    let round = FEWEST.max((options.degree * n as f64).round() as u64);
    while rounds.idle < PATIENCE {
        rounds.begin(round, account.best_objective());
        while let Some(batch) = rounds.batch() {
            account.keep(|archive| rounds.save(archive));
            let share = account.left() / batch;
            let Some(incumbent) = account.best.clone() else { return Err(Status::Stalled) };
            if share == 0 {
                return Err(Status::MaxEvals);
            }
            let number = rounds.number;
            let polished = map_chunks(&split_evenly(batch as usize, batch as usize), |k, _| {
                let mut rng = generator(options.seed, number + k as u64);
                let kept = candidate(problem, &incumbent.labels, number + k as u64, &mut rng);
                let mut walker = Walker::new(problem, stop, share, options.search_tol());
                let ended = walker.alternate(kept);
                (walker.spent, walker.best.take(), ended)
            });
            rounds.number += batch;
            account.count_batch(polished, BETTER)?;
        }
        rounds.finish(account.best_objective());
    }
    Ok(())
}

/// Rows to begin with: a random subset; all but a neighbourhood; or the incumbent's, with a
/// neighbourhood turned over.
fn candidate(
    problem: &RampProblem<'_>,
    incumbent: &[bool],
    number: u64,
    rng: &mut Pcg64Mcg,
) -> Vec<bool> {
    let n = problem.signs.len();
    if number.is_multiple_of(3) {
        let share = rng.random_range(0.2..0.9);
        return (0..n).map(|_| rng.random::<f64>() < share).collect();
    }
    let most = (n as f64 / 3.0).max(1.0);
    let size = elementary::power(most, rng.random::<f64>()).round() as usize;
    let centre = rng.random_range(0..n);
    let turned = !incumbent[centre];
    let mut kept = if number % 3 == 1 { vec![true; n] } else { incumbent.to_vec() };
    let around = nearest(problem.gram, centre, size.saturating_sub(1));
    for i in around.into_iter().map(|i| i as usize).chain([centre]) {
        kept[i] = if number % 3 == 1 { false } else { turned };
    }
    kept
}

/// Somebody who solves inner problems one after the other, within a number of them.
struct Walker<'p> {
    problem: &'p RampProblem<'p>,
    inner: Inner<'p>,
    stop: &'p Stop,
    spent: u64,
    limit: u64,
    tol: f64,
    best: Option<Solution>,
}

impl<'p> Walker<'p> {
    fn new(problem: &'p RampProblem<'p>, stop: &'p Stop, limit: u64, tol: f64) -> Self {
        let inner = Inner::new(problem.gram).stopped_by(stop);
        Walker { problem, inner, stop, spent: 0, limit, tol, best: None }
    }

    /// Solves where rows count these shares: one inner optimisation. The first is an answer as far as
    /// it gets.
    fn solve(&mut self, shares: &[f64]) -> Result<(), Status> {
        self.solve_from(shares, None)
    }

    /// Solves from these coefficients, if there are any.
    fn solve_from(&mut self, shares: &[f64], start: Option<&[f64]>) -> Result<(), Status> {
        if self.best.is_some() {
            self.stop.check()?;
        }
        if self.spent >= self.limit {
            return Err(Status::MaxEvals);
        }
        self.spent += 1;
        let (plus, minus) = (self.problem.side(1, shares), self.problem.side(-1, shares));
        self.inner.set_weights(&plus, &minus);
        if let Some(beta) = start {
            self.inner.start_at(beta);
            if self.inner.is_cut() {
                return self.stop.check();
            }
        }
        self.inner.solve(self.tol);
        if self.inner.is_cut() && self.best.is_some() { self.stop.check() } else { Ok(()) }
    }

    /// The objective of the current decision function; the best function is kept.
    fn objective(&mut self) -> (f64, Vec<bool>) {
        let (risk, labels) = self.problem.loss(|i| self.inner.decision(i));
        (keep_better(&mut self.best, &self.inner, risk, &labels), labels)
    }

    /// The function for the rows that count, then the rows that lie below its bend, until they stay.
    fn alternate(&mut self, mut kept: Vec<bool>) -> Result<(), Status> {
        let mut least = f64::INFINITY;
        loop {
            self.solve(&shares(&kept))?;
            let (objective, next) = self.objective();
            let stays = next == kept || objective >= least - PROGRESS * objective.abs();
            least = least.min(objective);
            if stays {
                return Ok(());
            }
            kept = next;
        }
    }

    /// Rows count softly, by how far below the bend they lie, and harden as it cools.
    fn anneal(&mut self, kept: Vec<bool>) -> Result<(), Status> {
        let (c, most) = (self.problem.c, 1.0 - self.problem.ramp);
        let mut shares = shares(&kept);
        let mut temperature = 4.0 * c;
        while temperature > 0.02 * c {
            self.solve(&shares)?;
            self.objective();
            let gains: Vec<f64> = (0..kept.len())
                .map(|i| {
                    let h = f64::from(self.problem.signs[i]) * self.inner.decision(i);
                    c * (most - (1.0 - h).max(0.0))
                })
                .collect();
            shares = soft_labels(&gains, temperature, (0, gains.len()));
            temperature /= 1.5;
        }
        self.alternate(shares.iter().map(|share| *share > 0.5).collect())
    }
}
