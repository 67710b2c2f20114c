//! Chains: `chain-svm` and `chain-crf`, which label the tokens of sequences by weights of
//! attributes and of label pairs. What chains are is `structured/chain`'s business, how they are
//! minimised the solvers'; here are their options, the way from sequences to a problem, and back.

mod form;
mod transductive;

pub use form::ChainForm;

use super::builder::{models, taken};
use super::classes::check_costs;
use super::mean::Mean;
use super::memory::{ALWAYS, POINTS, in_words};
use super::penalty;
use super::sequence::{BOUNDARY, PER, Selection, Vocabulary, labelled};
use super::{
    Answer, Data, DataKind, Family, FittedModel, Model, Settings, TrainError, Walk, Wanted, refuse,
    solvers,
};
use crate::options::Kind::{Choice, Number};
use crate::options::Range::NotNegative;
use crate::options::common::{
    BIAS, EVERY_RUN, L1_RATIO, LABEL_LOSS, LOCALITY, PARTS, PENALTY, PROOF, PROX_DISTANCE,
    PROX_ITERATIONS, REGULARIZED, SEED, START,
};
use crate::options::{Named, Probe, named, options, reading};
use crate::risk::{ExampleWeights, Risk};
use crate::solver::{Method, Problem};
use crate::structured::chain::{Chain, ChainShape, Pairs};
use crate::structured::{LikelihoodRisk, MarginRisk};
use minorant_data::Sequences;

models! {
    regularized;
    /// labels of sequences, by a structured support vector machine
    ChainSvm { name: "chain-svm", is_convex: true, example: "letter.data.gz --folds 0-7 --lambda 1e-3" }
    /// labels of sequences of which some have none
    /// All tokens of such a sequence have the tag ? (or -1).
    ChainTsvm { name: "chain-tsvm", is_convex: false, example: "tagged.txt untagged.txt --format conll --gamma 0.1" }
    /// labels of sequences, by a conditional random field
    ChainCrf { name: "chain-crf", is_convex: true, example: "train.txt --format conll --pairs observed --out tagger.safetensors" }
}

/// Which pairs have weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weighed {
    /// All.
    All,
    /// Those that occur in the training data.
    Observed,
}

named!(Weighed { All = "all" "all pairs", Observed = "observed" "those that occur in the data" });

options! {
    /// Pairs of attribute and label, and of labels, that have weights
    pub PAIRS: Weighed = ("pairs", "WHICH", Choice(Weighed::CHOICES))
        .default("all").probe("observed");
}

options! {
    /// Weight γ of the mean over the unlabelled sequences
    pub GAMMA: f64 = ("gamma", "G", Number(NotNegative)).default("1").probe("3");
}

/// Where the order of examples matters, and the start is not the best already.
const SGD: &[&str] = &["--solver", "sgd", "--lambda", "1", "--gamma", "3", "--max-evals", "40"];
/// Where the weights that a run begins with matter.
const PROX: &[&str] = &["--solver", "prox-bmrm"];

taken! {
    OWN;
    (ChainSvm ChainTsvm ChainCrf) word per: PER;
    (ChainSvm ChainTsvm ChainCrf) word pairs: PAIRS;
    (ChainSvm ChainTsvm ChainCrf) flag boundary: BOUNDARY;
    (ChainSvm ChainTsvm ChainCrf) f64 bias: BIAS;
    (ChainTsvm) f64 gamma: GAMMA;
    (ChainTsvm) word locality: LOCALITY;
    (ChainCrf) word penalty: PENALTY;
    (ChainCrf) f64 l1_ratio: L1_RATIO;
    (ChainSvm) numbers label_loss: LABEL_LOSS;
    (ChainSvm ChainCrf) whole parts: PARTS;
    (ChainSvm ChainCrf) whole seed: SEED;
    (ChainTsvm) whole seed: SEED, Probe::with("7", SGD);
    (ChainSvm ChainCrf) f64 prox_distance: PROX_DISTANCE;
    (ChainSvm ChainCrf) f64 prox_iterations: PROX_ITERATIONS;
    (ChainSvm ChainCrf) file proof: PROOF;
    (ChainSvm ChainCrf) file start: START, Probe::with("{FILE}", PROX);
}

/// The family of chains.
pub(super) static FAMILY: Family = Family {
    models: &[ChainSvm::MODEL, ChainCrf::MODEL, ChainTsvm::MODEL],
    options: &[REGULARIZED, OWN, EVERY_RUN, reading::SEQUENCES],
    solvers: solvers_of,
    data: |_| DataKind::Sequences,
    offers: &[Wanted::Labels, Wanted::Scores, Wanted::Marginals],
    fit,
    start_from: Some(start_from),
    load: |facts, file| Ok(Box::new(ChainForm::read(facts, file)?)),
};

/// The weights of a chain over the same attributes and labels.
fn start_from(
    model: &FittedModel,
    data: Data<'_>,
    settings: &Settings,
) -> Result<Option<Vec<f64>>, TrainError> {
    let data = labelled(data)?;
    let Some(form) = model.form_as::<ChainForm>() else { return Ok(None) };
    let shape = shape(data, settings)?.0;
    let fits = form.shape == shape
        && form.vocabulary.classes == data.classes
        && form.vocabulary.attributes == data.attributes;
    if !fits {
        return refuse(
            "expected start weights for these attributes, labels and options, found some for others",
        );
    }
    Ok(Some(form.weights.clone()))
}

/// The names of a model's solvers.
fn solvers_of(model: &Model) -> Vec<&'static str> {
    if !model.is_convex {
        return solvers::names(&[Method::Auto], &[]);
    }
    let is_svm = model.name == ChainSvm::MODEL.name;
    let of_crf = &[Method::Lbfgs, Method::Owlqn, Method::OwlqnStar];
    let own: &[Method] = if is_svm { &[Method::Bcfw] } else { of_crf };
    solvers::names(solvers::CONVEX, own)
}

fn fit(data: Data<'_>, walk: &mut Walk<'_>) -> Result<Answer, TrainError> {
    let data = labelled(data)?;
    check_memory(data, walk.get(&PAIRS), walk.settings.max_bytes())?;
    if !walk.settings.entry().model.is_convex {
        return transductive::fit(data, walk);
    }
    let label_loss = walk.get(&LABEL_LOSS);
    if let Some(costs) = &label_loss {
        check_costs(costs, data.classes.len())?;
    }
    let (shape, mean) = shape(data, walk.settings)?;
    let lambda = walk.settings.lambda(mean.total)?;
    let regularizer = penalty::mixed(walk.settings, lambda)?;
    data.tokens.prepare_for_passes();
    let (outcome, method) = {
        let chain = Chain::new(&shape, &data.tokens, &data.starts, &data.labels, label_loss);
        let risk: Box<dyn Risk + '_> = match walk.settings.model() {
            "chain-svm" => Box::new(MarginRisk::new(chain, mean.shares)),
            _ => Box::new(LikelihoodRisk::new(chain, mean.shares)),
        };
        let problem = Problem::new(&*risk, &regularizer).starting_at(walk.start);
        walk.minimise(problem, walk.settings.rules())?
    };
    let sizes = (data.len(), data.attributes.len());
    let vocabulary = Vocabulary::of(data);
    let form = |weights| ChainForm { shape, vocabulary, weights };
    Ok(Answer::of_run(outcome, method, sizes, lambda, form))
}

/// What the weights mean, and what the sequences count.
fn shape(data: &Sequences, settings: &Settings) -> Result<(ChainShape, Mean), TrainError> {
    let example_weights = settings.example_weights();
    let units = settings.get(&PER).units(&data.starts);
    let mean = Mean::new(example_weights.as_deref(), units, "sequence")?;
    let pairs = match settings.get(&PAIRS) {
        Weighed::All => Pairs::All,
        Weighed::Observed => observed(data, &mean.shares),
    };
    Ok((shape_with(data, settings, pairs), mean))
}

/// What the weights mean where these pairs have some.
fn shape_with(data: &Sequences, settings: &Settings, pairs: Pairs) -> ChainShape {
    ChainShape {
        attributes: data.attributes.len(),
        labels: data.classes.len(),
        pairs,
        bias: settings.get(&BIAS),
        boundary: settings.get(&BOUNDARY),
    }
}

/// Refuses sequences that are too long, and too many labels: all scores of a sequence are held in memory at
/// once, and so are the sums over its labellings, the scores of all pairs of labels, and the weights.
fn check_memory(
    data: &Sequences,
    pairs: Weighed,
    max_bytes: Option<u64>,
) -> Result<(), TrainError> {
    /// Copies of the scores of pairs.
    const COPIES_OF_PAIRS: u128 = 2;
    /// How many arrays of a sequence's size the sums over it need.
    const COPIES: u128 = 4;
    let classes = data.classes.len();
    let longest = data.starts.windows(2).map(|span| span[1] - span[0]).max().unwrap_or(0);
    let scores = (longest as u128) * classes as u128 * 8 * COPIES;
    // Memory for planes is a quarter of the machine's unless it is given.
    let most = max_bytes.map_or(1 << 40, |bytes| 4 * u128::from(bytes));
    let (labels, attributes) = (classes as u128, data.attributes.len() as u128);
    let (weights, advice) = match pairs {
        Weighed::All => {
            ((attributes + labels) * labels, "fewer labels or --pairs observed need less")
        }
        // What is seen is not counted yet.
        Weighed::Observed => (0, "fewer labels need less"),
    };
    let needed = 8 * (POINTS * weights + COPIES_OF_PAIRS * labels * labels);
    let most_of_weights = most.max(ALWAYS);
    if needed > most_of_weights {
        return refuse(format!(
            "weights of {attributes} attributes and pairs of {labels} labels need {} of memory, of {} that \
             may be used; {advice}",
            in_words(needed),
            in_words(most_of_weights),
        ));
    }
    if scores <= most {
        return Ok(());
    }
    refuse(format!(
        "the scores of a sequence of {longest} tokens with {classes} labels take {scores} bytes, \
         more than the {most} bytes that are allowed"
    ))
}

/// The pairs that occur in sequences which weigh something: one of weight 0 is as good as left out.
fn observed(data: &Sequences, weights: &ExampleWeights) -> Pairs {
    let classes = data.classes.len();
    let counted: Vec<usize> = (0..data.len()).filter(|&i| weights.of(i) > 0.0).collect();
    if counted.len() == data.len() {
        return Pairs::observed(&data.tokens, &data.starts, &data.labels, classes);
    }
    let some = Selection::new(data, &counted, None);
    Pairs::observed(&some.tokens, &some.starts, &some.labels, classes)
}
