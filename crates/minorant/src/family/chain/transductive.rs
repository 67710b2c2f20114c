//! `chain-tsvm`: chains of sequences of which some have no labels. Those with labels cost what they cost
//! `chain-svm`; in the others every token asks that the best labelling win clearly over those with
//! another label there. The run starts at the `chain-svm` of the labelled sequences. Which sequences
//! these are is told by a tag; how such risks are minimised is not this file's business.

use super::{ChainForm, GAMMA, PAIRS, Weighed, shape_with};
use crate::family::mean::Mean;
use crate::family::sequence::{PER, Selection, Vocabulary};
use crate::family::{Answer, Settings, TrainError, Walk, refuse};
use crate::regularizer::L2;
use crate::risk::{ExampleWeights, Risk};
use crate::solver::{self, Method, MethodOptions, Outcome, Problem, Status, StopRules};
use crate::structured::MarginRisk;
use crate::structured::chain::{Chain, Pairs};
use crate::trace::{Behind, TraceRecord};
use minorant_data::Sequences;

/// The tags of tokens whose label is not known: the first, or the second where labels are numbers.
const UNKNOWN: [&str; 2] = ["?", "-1"];
/// The relative gap to which the first machine is solved.
const FIRST_TOL: f64 = 1e-2;
/// Evaluations that the run on the risk itself takes at least.
const LEAST: u64 = 2;

/// Sequences whose labels are all known, or not at all.
struct PartlyLabelled {
    /// The sequences; labels that are not known are the first one.
    data: Sequences,
    unlabelled: Vec<bool>,
}

impl PartlyLabelled {
    fn new(data: &Sequences) -> Result<Self, TrainError> {
        let tag = |tag: &&str| data.classes.iter().position(|class| class == tag);
        let none = "expected some sequences whose tokens all have the tag ? (or -1), which means unlabelled; \
                    where all are labelled, train chain-svm";
        let Some(unknown) = UNKNOWN.iter().find_map(tag) else { return refuse(none) };
        let name = &data.classes[unknown];
        let is_unknown = |&label: &u16| usize::from(label) == unknown;
        let mut unlabelled = Vec::with_capacity(data.len());
        for (at, span) in data.starts.windows(2).enumerate() {
            let labels = &data.labels[span[0]..span[1]];
            let count = labels.iter().filter(|label| is_unknown(label)).count();
            if count > 0 && count < labels.len() {
                return refuse(format!(
                    "sequence {} has labels for some of its tokens and {name} for the others; chain-tsvm \
                     takes sequences with labels for all tokens or for none",
                    at + 1
                ));
            }
            unlabelled.push(count > 0);
        }
        if !unlabelled.contains(&false) || data.classes.len() < 2 {
            return refuse(format!(
                "expected some sequences with labels, found the tag {name} only"
            ));
        }
        let known = |label: &u16| match usize::from(*label) {
            label if label == unknown => 0,
            label if label > unknown => (label - 1) as u16,
            label => label as u16,
        };
        let mut own = data.clone();
        own.labels = data.labels.iter().map(known).collect();
        own.classes.remove(unknown);
        Ok(PartlyLabelled { data: own, unlabelled })
    }

    /// The sequences with labels, or those without.
    fn some(&self, unlabelled: bool) -> Vec<usize> {
        (0..self.data.len()).filter(|&i| self.unlabelled[i] == unlabelled).collect()
    }
}

/// What sequences count: the labelled ones by their mean, and γ times the mean of the others.
fn shares(
    partly: &PartlyLabelled,
    settings: &Settings,
) -> Result<(ExampleWeights, f64), TrainError> {
    let given = settings.example_weights();
    let units: Vec<usize> = settings.get(&PER).units(&partly.data.starts).collect();
    let mut shares = vec![0.0; partly.data.len()];
    let mut total = 0.0;
    for (unlabelled, gamma) in [(false, 1.0), (true, settings.get(&GAMMA))] {
        let some = partly.some(unlabelled);
        let weights = given.as_ref().map(|all| some.iter().map(|&i| all[i]).collect::<Vec<f64>>());
        let mean = Mean::new(weights.as_deref(), some.iter().map(|&i| units[i]), "sequence")?;
        some.iter().enumerate().for_each(|(at, &i)| shares[i] = gamma * mean.shares.of(at));
        if !unlabelled {
            total = mean.total;
        }
    }
    Ok((ExampleWeights::Each(shares), total))
}

pub(super) fn fit(data: &Sequences, walk: &mut Walk<'_>) -> Result<Answer, TrainError> {
    let partly = PartlyLabelled::new(data)?;
    let data = &partly.data;
    let known = partly.some(false);
    let some = Selection::new(data, &known, None);
    let pairs = match walk.get(&PAIRS) {
        Weighed::All => Pairs::All,
        // A label that is not known is no observation.
        Weighed::Observed => {
            Pairs::observed(&some.tokens, &some.starts, &some.labels, data.classes.len())
        }
    };
    let shape = shape_with(data, walk.settings, pairs);
    let (shares, total) = shares(&partly, walk.settings)?;
    let lambda = walk.settings.lambda(total)?;
    let regularizer = L2::new(lambda)?;
    data.tokens.prepare_for_passes();
    let (outcome, method) = {
        let of_known = ExampleWeights::Each(known.iter().map(|&i| shares.of(i)).collect());
        let chain = Chain::new(&shape, &some.tokens, &some.starts, &some.labels, None);
        let share = known.len() as f64 / data.len() as f64;
        let first = MarginRisk::new(chain, of_known);
        let first = labelled_only(Problem::new(&first, &regularizer), walk, share)?;
        let chain = Chain::new(&shape, &data.tokens, &data.starts, &data.labels, None);
        let risk = MarginRisk::new(chain.without_labels(partly.unlabelled.clone()), shares);
        // A pass over the labelled sequences alone counts by their share of all.
        let spent = (first.evaluations as f64 * share).ceil() as u64;
        let all = walk.settings.rules();
        let rules = StopRules {
            max_evaluations: all.max_evaluations.map(|most| most.saturating_sub(spent).max(1)),
            max_seconds: all.max_seconds.map(|most| (most - first.seconds).max(0.0)),
            ..all
        };
        let before = TraceRecord {
            evaluations: spent,
            seconds: first.seconds,
            best_objective: f64::INFINITY,
            ..TraceRecord::default()
        };
        let mut watching = Behind { observer: &mut *walk.observer, before };
        let problem = Problem::new(&risk as &dyn Risk, &regularizer);
        let problem = problem.starting_at(Some(&first.point.w));
        let (mut outcome, method) = Walk {
            asked: walk.asked,
            observer: &mut watching,
            checkpoints: &mut *walk.checkpoints,
        }
        .minimise(problem, rules)?;
        outcome.evaluations += spent;
        outcome.seconds += first.seconds;
        (outcome, method)
    };
    let sizes = (data.len(), data.attributes.len());
    let vocabulary = Vocabulary::of(data);
    let form = |weights| ChainForm { shape, vocabulary, weights };
    Ok(Answer::of_run(outcome, method, sizes, lambda, form))
}

/// The machine of the labelled sequences, whose passes count by their share of all.
fn labelled_only(problem: Problem<'_>, walk: &Walk<'_>, share: f64) -> Result<Outcome, TrainError> {
    let all = walk.settings.rules();
    // Half of the evaluations at most.
    let passes = |most: u64| (most.saturating_sub(LEAST).min(most / 2) as f64 / share) as u64;
    if all.max_evaluations.is_some_and(|most| passes(most) < LEAST) {
        // The run on the risk itself takes the evaluations that are left.
        let nowhere = problem.regularizer.center(problem.risk.dim());
        return Ok(Outcome::not_begun(nowhere, f64::NAN, Status::MaxEvals));
    }
    let rules = StopRules {
        tol: FIRST_TOL,
        max_evaluations: all.max_evaluations.map(passes),
        max_seconds: all.max_seconds,
        ..StopRules::default()
    };
    let settings =
        MethodOptions { max_bytes: walk.settings.max_bytes(), ..MethodOptions::default() };
    let mut solver = Method::pick_bundle(problem).build(problem, &settings)?;
    Ok(solver::run(&mut *solver, problem, rules, walk.asked.cancel, &mut (), &mut ())?)
}
