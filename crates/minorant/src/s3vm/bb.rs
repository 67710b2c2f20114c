//! `bb`: branch and bound (after Chapelle, Sindhwani & Keerthi 2006), with a proof. A node fixes the
//! labels of some unlabelled rows and leaves the others out, which costs no labeling anything: −J of
//! any feasible β is a bound for all labelings below it. The row with the most certain decision is
//! fixed next, because the other label is then soon ruled out. Depth first, starting from what
//! `pdm` found; the least bound of all that was left aside is the bound on everything.

use super::work::{S3vmProblem, Solution, Worker};
use super::{Account, Inner, Options, Stop, pdm};
use crate::archive::{Archive, ArchiveError};
use crate::solver::Status;

/// Nodes between two looks at the observer.
const REPORT: u64 = 2000;
/// By how much pairs of coordinates may violate optimality where all labels are fixed.
const LEAF_TOL: f64 = 1e-9;
/// Rounding errors of a bound, relative to what was summed up for it.
const ROUNDING: f64 = 1e-13;

/// Labels fixed so far, and the coefficients and bound of the node above.
struct Node {
    labels: Vec<Option<bool>>,
    beta: Vec<f64>,
    bound: f64,
}

/// Where it stands: still searching for a start, or at a tree of nodes.
pub(super) enum State {
    Search(pdm::State),
    Tree(Tree),
}

impl State {
    /// The state that was saved, or the one to begin with.
    pub(super) fn resume(
        saved: Option<Archive>,
        problem: &S3vmProblem<'_>,
    ) -> Result<Self, ArchiveError> {
        match saved {
            Some(mut archive) if archive.reals.contains_key("bounds") => {
                Tree::load(&mut archive, problem).map(State::Tree)
            }
            saved => pdm::State::resume(saved).map(State::Search),
        }
    }
}

pub(super) fn run(
    problem: &S3vmProblem<'_>,
    options: &Options,
    stop: &Stop,
    account: &mut Account<'_, Solution>,
    state: State,
) -> Result<(), Status> {
    let (mut tree, mut ended) = match state {
        State::Search(search) => {
            let started = pdm::run(problem, options, stop, account, search);
            (Tree::new(problem), started)
        }
        State::Tree(tree) => (tree, Ok(())),
    };
    // The labelled rows alone bound everything, so even a run cut short proves something.
    let mut worker = Worker::new(problem, stop, account.left(), options.search_tol());
    worker.best = account.best.clone();
    while ended.is_ok() && !tree.stack.is_empty() {
        if worker.spent == 0 {
            account.keep(|archive| tree.save(archive));
        }
        ended = tree.step(&mut worker, options);
        if worker.spent >= REPORT {
            account.lower_bound = tree.bound();
            report(&mut worker, account);
            // A new inner problem has no rounding errors of earlier ones, nor would it in a run that
            // goes on from here.
            worker.inner = Inner::new(problem.gram).stopped_by(stop);
            worker.limit = account.left();
        }
    }
    account.lower_bound = tree.bound();
    report(&mut worker, account);
    ended
}

/// Counts the worker's nodes and tells of them, leaving it the best function.
fn report(worker: &mut Worker<'_>, account: &mut Account<'_, Solution>) {
    let kept = worker.best.clone();
    account.best = None;
    account.absorb(worker);
    worker.best = kept;
}

pub(super) struct Tree {
    stack: Vec<Node>,
    /// The least bound of what was left aside.
    aside: f64,
}

impl Tree {
    /// The node above all others, in which no label is fixed.
    fn new(problem: &S3vmProblem<'_>) -> Self {
        let root = Node {
            labels: vec![None; problem.unlabelled.len()],
            beta: vec![0.0; problem.signs.len()],
            bound: f64::NEG_INFINITY,
        };
        Tree { stack: vec![root], aside: f64::INFINITY }
    }

    fn save(&self, archive: &mut Archive) {
        let label = |label: &Option<bool>| label.map_or(2, u64::from);
        let labels = self.stack.iter().flat_map(|node| node.labels.iter().map(label));
        archive.put_integers("labels", labels);
        let betas = self.stack.iter().flat_map(|node| node.beta.iter().copied());
        archive.put_reals("betas", betas.collect());
        archive.put_reals("bounds", self.stack.iter().map(|node| node.bound).collect());
        archive.put_reals("aside", vec![self.aside]);
    }

    fn load(archive: &mut Archive, problem: &S3vmProblem<'_>) -> Result<Self, ArchiveError> {
        let (rows, unknown) = (problem.signs.len(), problem.unlabelled.len());
        let bounds = archive.take_reals("bounds")?;
        let labels = archive.take_up_to("labels", bounds.len().saturating_mul(unknown), 2)?;
        let betas = archive.take_finite("betas", bounds.len().saturating_mul(rows))?;
        let aside = archive.take_real("aside")?;
        if aside.is_nan() || bounds.iter().any(|bound| bound.is_nan()) {
            return Err(ArchiveError("bounds".into()));
        }
        let nodes = bounds.into_iter().zip(labels.chunks(unknown)).zip(betas.chunks(rows));
        let node = |((bound, labels), beta): ((f64, &[u64]), &[f64])| Node {
            labels: labels.iter().map(|&label| (label < 2).then_some(label == 1)).collect(),
            beta: beta.to_vec(),
            bound,
        };
        Ok(Tree { stack: nodes.map(node).collect(), aside })
    }

    /// The bound on all labelings.
    fn bound(&self) -> Option<f64> {
        let open = self.stack.iter().map(|node| node.bound);
        Some(open.fold(self.aside, f64::min)).filter(|bound| bound.is_finite())
    }

    /// Takes the last node: leaves it aside or branches on it.
    fn step(&mut self, worker: &mut Worker<'_>, options: &Options) -> Result<(), Status> {
        let Some(mut node) = self.stack.pop() else { return Ok(()) };
        let problem = worker.problem;
        let least = |worker: &Worker<'_>| {
            let objective = worker.best.as_ref().map_or(f64::INFINITY, |best| best.objective());
            objective - (options.rules.tol * objective.abs()).max(options.rules.abs_tol)
        };
        if node.bound >= least(worker) {
            self.aside = self.aside.min(node.bound);
            return Ok(());
        }
        force(&mut node.labels, problem.balance);
        let is_leaf = node.labels.iter().all(Option::is_some);
        let weight = |j: usize, side: bool| if node.labels[j] == Some(side) { 1.0 } else { 0.0 };
        let (plus, minus) = problem.weights(|j| weight(j, true), |j| weight(j, false));
        worker.inner.set_weights(&plus, &minus);
        worker.inner.start_at(&node.beta);
        let tol = worker.tol;
        worker.tol = if is_leaf { LEAF_TOL } else { tol };
        let solved = worker.solve_weights(&plus, &minus);
        worker.tol = tol;
        if let Err(status) = solved {
            self.stack.push(node);
            return Err(status);
        }
        let total: f64 = plus.iter().chain(&minus).sum();
        let slack = ROUNDING * (worker.inner.square() + total);
        let bound = node.bound.max(-worker.inner.dual() - slack);
        worker.objective();
        if is_leaf || bound >= least(worker) {
            self.aside = self.aside.min(bound);
            return Ok(());
        }
        let scores = worker.scores();
        let open = (0..scores.len()).filter(|&j| node.labels[j].is_none());
        let Some(branch) =
            open.max_by(|&a, &b| scores[a].abs().total_cmp(&scores[b].abs()).then(b.cmp(&a)))
        else {
            return Ok(());
        };
        let beta = worker.inner.beta().to_vec();
        // The likelier label is looked at first, so it goes on top.
        let likely = scores[branch] > 0.0;
        for label in [!likely, likely] {
            let mut labels = node.labels.clone();
            labels[branch] = Some(label);
            self.stack.push(Node { labels, beta: beta.clone(), bound });
        }
        Ok(())
    }
}

/// Fixes the labels that the balance leaves no choice about.
fn force(labels: &mut [Option<bool>], (low, high): (usize, usize)) {
    let count = |side: bool| labels.iter().filter(|y| **y == Some(side)).count();
    let (positive, negative) = (count(true), count(false));
    let rest = if positive >= high {
        false
    } else if negative >= labels.len() - low {
        true
    } else {
        return;
    };
    labels.iter_mut().filter(|y| y.is_none()).for_each(|y| *y = Some(rest));
}
