//! `pdm`, mode `search`: the outer loop of Algorithm 1 of the paper (a local solution, points around
//! it, the best of them, and on from there), with two changes that make it find anything. Every
//! candidate is polished by a local method instead of being dropped unless it beats the incumbent
//! before that (the paper's test Δ > 0, mode `strict`), and candidates have structure instead of
//! random directions. It starts from the best of the local methods and of the known labels diffused
//! over a graph of neighbours; half of the candidates are the most promising of many by a quadratic
//! in place of the inner problem (`proxy.rs`), and labels that were polished before are not polished
//! again. What it returns is the best of many local optima; it proves nothing about others.

use super::account::MOST_COUNTED;
use super::ao;
use super::candidates::{LEAKS, candidate, generator, spread};
use super::da::{self, Cooling};
use super::graph::Graph;
use super::proxy::Proxy;
use super::region::Explored;
use super::work::{S3vmProblem, Solution, Worker, fingerprint};
use super::{Account, BETTER, Options, Rounds, Solver, Stop, run_local};
use crate::archive::{Archive, ArchiveError};
use crate::solver::Status;
use minorant_linalg::parallel::{map_chunks, split_evenly};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use std::collections::HashSet;

/// Candidates of a round, at least.
const FEWEST: u64 = 6;
/// Inner problems of the search at the usual degree: so many, and so many more for each unlabelled
/// row, but no fewer than the last number.
const EFFORT: (f64, f64, f64) = (160.0, 1.9, 394.0);
/// Inner problems of rounds after which one without improvement ends the search, at the usual
/// degree.
const ENOUGH: f64 = 600.0;
/// The usual degree; more candidates mean as much more effort.
const USUAL_DEGREE: f64 = 0.1;
/// Numbers of positive labels that starts are tried with, where the balance leaves a choice.
const COUNTS: usize = 5;
/// The share of candidates that are polished by alternation; the others are annealed, which costs
/// more and finds what alternation misses.
const BY_ALTERNATION: f64 = 0.9;
/// Critical regions that a solver of inner problems looks for the next solution in: most that help are the
/// one that it is in, and each costs a product with the kernel matrix.
const REGIONS: usize = 1;
/// Candidates that are drawn for each one that is sifted out.
const TRIES: u64 = 16;
/// The local methods that it starts from.
const STARTS: [Solver; 6] =
    [Solver::Da, Solver::Ao, Solver::Cccp, Solver::Lcs, Solver::Ia, Solver::Gd];

/// Where the search stands: all that its next step depends on, besides the account.
#[derive(Debug, Default)]
pub(super) struct State {
    rounds: Rounds,
    /// Starts with a fixed number of positive labels that have been made.
    counted: usize,
    /// Inner problems solved before these, and before the first candidate.
    before_counted: u64,
    before_candidates: u64,
    /// Labels that alternation has met: from them it would only end where it ended then.
    known: HashSet<u64>,
}

impl State {
    /// The state that was saved, or the one to begin with.
    pub(super) fn resume(saved: Option<Archive>) -> Result<Self, ArchiveError> {
        saved.map_or(Ok(State::default()), |mut archive| State::load(&mut archive))
    }

    fn load(archive: &mut Archive) -> Result<Self, ArchiveError> {
        let rounds = Rounds::load(archive)?;
        let known = archive.take_integers("known")?.into_iter().collect();
        match archive.take_up_to("search", 3, MOST_COUNTED)?[..] {
            [counted, before_counted, before_candidates] => Ok(State {
                rounds,
                counted: counted as usize,
                before_counted,
                before_candidates,
                known,
            }),
            _ => Err(ArchiveError("search".into())),
        }
    }

    fn save(&self, archive: &mut Archive) {
        self.rounds.save(archive);
        let counts = [self.counted as u64, self.before_counted, self.before_candidates];
        archive.put_integers("search", counts);
        let mut known: Vec<u64> = self.known.iter().copied().collect();
        known.sort_unstable();
        archive.put_integers("known", known);
    }
}

pub(super) fn run(
    problem: &S3vmProblem<'_>,
    options: &Options,
    stop: &Stop,
    account: &mut Account<'_, Solution>,
    mut state: State,
) -> Result<(), Status> {
    for &solver in STARTS.iter().skip(state.rounds.starts) {
        account.keep(|archive| state.save(archive));
        let mut worker = Worker::new(problem, stop, account.left(), options.search_tol());
        worker.explored = Explored::keeping(REGIONS);
        let ended = run_local(solver, &mut worker, options);
        state.known.extend(std::mem::take(&mut worker.met));
        account.absorb(&mut worker);
        ended?;
        state.rounds.starts += 1;
        state.before_counted = account.evaluations;
    }
    let graph = Graph::new(problem.gram, stop)?;
    let proxy = Proxy::new(problem, &|| stop.is_over());
    // Without it the search would go another way.
    stop.check()?;
    let mut search = Search { problem, options, stop, graph, proxy, state };
    let counts = counts(problem.balance);
    for (count, leak) in counted_starts(&counts).skip(search.state.counted) {
        account.keep(|archive| search.state.save(archive));
        let found = match leak {
            None => {
                search.settle(count, account.left(), |w| da::anneal(w, da::centre(w), da::SLOW))
            }
            Some(leak) => {
                let labels = spread(&search.counted(count), &search.graph, leak);
                search.settle(count, account.left(), |w| ao::alternate(w, labels))
            }
        };
        search.take(found, account, 0.0)?;
        search.state.counted += 1;
        search.state.before_candidates = account.evaluations;
    }
    // Where the balance leaves a choice, the starts with other counts come on top of the effort, and
    // as many candidates again: there is more to search.
    let State { before_counted, before_candidates, .. } = search.state;
    let free = counts.len() > 1;
    let on_counts = if free { before_candidates.saturating_sub(before_counted) } else { 0 };
    let round = FEWEST.max((options.degree * problem.unlabelled.len() as f64).round() as u64);
    let rows = problem.unlabelled.len() as f64;
    let scale = (options.degree / USUAL_DEGREE).max(1.0) * if free { 2.0 } else { 1.0 };
    let effort = (EFFORT.0 + EFFORT.1 * rows).max(EFFORT.2);
    let most = (scale * effort) as u64 + on_counts;
    let enough = before_candidates + (scale * ENOUGH) as u64;
    loop {
        search.state.rounds.begin(round, account.best_objective());
        while let Some(batch) = search.state.rounds.batch() {
            account.keep(|archive| search.state.save(archive));
            // No more is promised than there is: the shares of a batch add up to what is left.
            let left = most.saturating_sub(account.evaluations);
            let share = left.min(account.left()) / batch;
            if share == 0 {
                return if left < batch { Ok(()) } else { Err(Status::MaxEvals) };
            }
            let is_limited = account.left() < left;
            let Some(incumbent) = account.best.clone() else { return Err(Status::Stalled) };
            let number = search.state.rounds.number;
            let labelings = search.labelings(&incumbent, number, batch);
            let polished = map_chunks(&split_evenly(batch as usize, batch as usize), |k, _| {
                let (count, labels) = &labelings[k];
                search.polish(*count, labels, number + k as u64, share)
            });
            search.state.rounds.number += batch;
            let mut ended = Ok(());
            for found in polished {
                match search.take(found, account, BETTER) {
                    Ok(()) => {}
                    // One that used up its share is no reason to end before all is used up.
                    Err(Status::MaxEvals) if is_limited => account.cut_short(),
                    Err(Status::MaxEvals) => {}
                    stopped => ended = stopped,
                }
            }
            ended?;
        }
        let improved = search.state.rounds.finish(account.best_objective());
        // Candidates that lead to known labels cost nothing, but there is an end to them too.
        let spent = account.evaluations.max(search.state.rounds.number);
        if !improved && spent >= enough.min(most) {
            return Ok(());
        }
    }
}

/// The numbers of positive labels that starts are tried with: evenly over the balance.
fn counts((low, high): (usize, usize)) -> Vec<usize> {
    let steps = COUNTS.min(high - low + 1).max(2) - 1;
    let mut counts: Vec<usize> = (0..=steps).map(|k| low + (high - low) * k / steps).collect();
    counts.dedup();
    counts
}

/// Starts with fixed numbers of positive labels, each with how much of a label is lost in diffusion,
/// or with none where it is annealed: where there is but one number the local methods have done that
/// already.
fn counted_starts(counts: &[usize]) -> impl Iterator<Item = (usize, Option<f64>)> {
    counts.iter().enumerate().flat_map(|(at, &count)| {
        let annealed = (counts.len() > 1 && at % 2 == 0).then_some((count, None));
        annealed.into_iter().chain(LEAKS.map(|leak| (count, Some(leak))))
    })
}

/// Labels with the number of positive ones.
type Labeling = (usize, Vec<bool>);

/// What came of a candidate.
struct Polished {
    best: Option<Solution>,
    spent: u64,
    /// Solutions that were read off known regions.
    reused: u64,
    /// Labels on the way.
    met: Vec<u64>,
    ended: Result<(), Status>,
}

/// What candidates are made from and polished with.
struct Search<'p> {
    problem: &'p S3vmProblem<'p>,
    options: &'p Options,
    stop: &'p Stop,
    graph: Graph,
    proxy: Option<Proxy>,
    state: State,
}

impl Search<'_> {
    /// The problem with a fixed number of positive labels.
    fn counted(&self, count: usize) -> S3vmProblem<'_> {
        S3vmProblem { balance: (count, count), ..self.problem.clone() }
    }

    /// Takes what a candidate came to into account.
    fn take(
        &mut self,
        found: Polished,
        account: &mut Account<'_, Solution>,
        share: f64,
    ) -> Result<(), Status> {
        account.reused += found.reused;
        account.count(found.spent, found.best, share);
        self.state.known.extend(found.met);
        found.ended
    }

    /// The labelings of a batch, each with its number of positive labels: half of them sifted out of
    /// many, the others as they are drawn.
    fn labelings(&self, incumbent: &Solution, number: u64, batch: u64) -> Vec<Labeling> {
        let mut labelings = match &self.proxy {
            Some(proxy) => self.sifted(proxy, incumbent, number, batch / 2),
            None => Vec::new(),
        };
        for k in labelings.len() as u64..batch {
            let mut rng = generator(self.options.seed, number + k);
            labelings.push(self.draw(incumbent, number + k, &mut rng));
        }
        labelings
    }

    /// A candidate. Where the balance leaves a choice the number of positive labels is drawn first
    /// and given free at the end: left free all the time it drifts to an end, past labelings that are
    /// better.
    fn draw(&self, incumbent: &Solution, number: u64, rng: &mut Pcg64Mcg) -> Labeling {
        let (low, high) = self.problem.balance;
        let count = rng.random_range(low..=high);
        let counted = self.counted(count);
        (count, candidate(&counted, &self.graph, &incumbent.labels, number, rng))
    }

    /// The most promising of many candidates, without those that were polished before.
    fn sifted(
        &self,
        proxy: &Proxy,
        incumbent: &Solution,
        number: u64,
        wanted: u64,
    ) -> Vec<Labeling> {
        let tries = (wanted * TRIES) as usize;
        let drawn = map_chunks(&split_evenly(tries, tries.min(8)), |_, range| {
            let improved = |k: usize| {
                let mut rng = generator(!self.options.seed, number * TRIES + k as u64);
                let (count, mut labels) = self.draw(incumbent, number + k as u64, &mut rng);
                (proxy.descend(&mut labels), (count, labels))
            };
            // What is drawn where work is to end leads nowhere.
            range.take_while(|_| !self.stop.is_over()).map(improved).collect::<Vec<_>>()
        });
        let is_new = |(_, (count, labels)): &(f64, Labeling)| {
            !self.state.known.contains(&fingerprint(labels, (*count, *count)))
        };
        let mut drawn: Vec<(f64, Labeling)> = drawn.into_iter().flatten().filter(is_new).collect();
        drawn.sort_by(|a, b| a.0.total_cmp(&b.0));
        drawn.dedup_by(|a, b| a.1 == b.1);
        drawn.into_iter().take(wanted as usize).map(|(_, labeling)| labeling).collect()
    }

    /// Polishes a candidate, by alternation or by annealing around it.
    fn polish(&self, count: usize, labels: &[bool], number: u64, share: u64) -> Polished {
        let mut rng = generator(self.options.seed.rotate_left(32), number);
        let by_alternation = rng.random::<f64>() < BY_ALTERNATION;
        let from = [4.0, 1.0, 0.3][rng.random_range(0..3)];
        self.settle(count, share, |worker| {
            if by_alternation {
                return ao::alternate(worker, labels.to_vec());
            }
            let cooling = Cooling { from, to: 0.02, divisor: 2.0, steps: 2 };
            let p = labels.iter().map(|y| if *y { 1.0 } else { 0.0 }).collect();
            da::anneal(worker, p, cooling)
        })
    }

    /// Runs a local method with a fixed number of positive labels, then alternates without it.
    fn settle(
        &self,
        count: usize,
        share: u64,
        method: impl FnOnce(&mut Worker<'_>) -> Result<f64, Status>,
    ) -> Polished {
        let counted = self.counted(count);
        let fixed = self.work(&counted, share, method);
        if counted.balance == self.problem.balance || fixed.ended.is_err() {
            return fixed;
        }
        let Some(best) = &fixed.best else { return fixed };
        let labels = best.labels.clone();
        let free = self.work(self.problem, share - fixed.spent, |w| ao::alternate(w, labels));
        let is_lower = |found: &Solution| found.objective() < best.objective();
        Polished {
            best: free.best.filter(is_lower).or(fixed.best),
            spent: fixed.spent + free.spent,
            reused: fixed.reused + free.reused,
            met: [fixed.met, free.met].concat(),
            ended: free.ended,
        }
    }

    /// Runs a local method within a number of inner problems.
    fn work(
        &self,
        problem: &S3vmProblem<'_>,
        limit: u64,
        method: impl FnOnce(&mut Worker<'_>) -> Result<f64, Status>,
    ) -> Polished {
        let mut worker = Worker::new(problem, self.stop, limit, self.options.search_tol());
        worker.known = Some(&self.state.known);
        worker.explored = Explored::keeping(REGIONS);
        let ended = method(&mut worker).map(|_| ());
        // Where labels lead to is known only if it was allowed to go on to the end.
        let met = if ended.is_ok() { worker.met } else { Vec::new() };
        let Worker { best, spent, reused, .. } = worker;
        Polished { best, spent, reused, met, ended }
    }
}
