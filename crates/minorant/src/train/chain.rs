//! From labelled sequences to a fitted chain: `chain-svm` and `chain-crf`. No mathematics is done
//! here.

use super::example_weights::Mean;
use super::{Lambda, Penalty, TrainError, TrainReport};
use crate::fingerprint::Fingerprint;
use crate::model::ChainModel;
use crate::regularizer::L2;
use crate::risk::{Cancel, ExampleWeights, Risk};
use crate::solver::{self, Checkpoints, Method, MethodOptions, Problem, StopRules};
use crate::structured::chain::{Chain, ChainShape, Pairs};
use crate::structured::{LikelihoodRisk, MarginRisk};
use crate::trace::Observer;
use minorant_data::Sequences;

/// How many arrays of a sequence's size the sums over it need.
const COPIES: u128 = 4;

/// The chain models by the names that users type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainName {
    /// Margin rescaling with Hamming loss (M3N).
    ChainSvm,
    /// Conditional random field.
    ChainCrf,
}

impl ChainName {
    /// All of them.
    pub const ALL: [ChainName; 2] = [ChainName::ChainSvm, ChainName::ChainCrf];

    /// The name that users type.
    pub fn as_str(self) -> &'static str {
        match self {
            ChainName::ChainSvm => "chain-svm",
            ChainName::ChainCrf => "chain-crf",
        }
    }

    /// The model with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        ChainName::ALL.into_iter().find(|model| model.as_str() == name)
    }
}

/// What the risk is the mean over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// Sequences, each with the sum over its tokens.
    #[default]
    Sequence,
    /// Tokens.
    Token,
}

impl Per {
    /// The units of sequences that start there.
    pub(super) fn units(self, starts: &[usize]) -> impl ExactSizeIterator<Item = usize> {
        starts.windows(2).map(move |span| match self {
            Per::Sequence => 1,
            Per::Token => span[1] - span[0],
        })
    }
}

/// Everything that training a chain depends on besides the data.
#[derive(Debug, Clone)]
pub struct ChainOptions {
    /// The model.
    pub model: ChainName,
    /// Only pairs that occur in the data have weights.
    pub observed_pairs: bool,
    /// Labels at the beginning and at the end have weights.
    pub boundary: bool,
    /// The constant attribute.
    pub bias: Option<f64>,
    /// What the risk is the mean over.
    pub per: Per,
    /// How weights are penalised.
    pub penalty: Penalty,
    /// What label z costs where y is true, row by row the true one, in class order.
    pub label_loss: Option<Vec<f64>>,
    /// One weight for each sequence.
    pub example_weights: Option<Vec<f64>>,
    /// λ or C; 1/Σ sᵢ if not given, and with tokens as units 1/Σ sᵢ Tᵢ over the sequences' lengths.
    pub lambda: Option<Lambda>,
    /// The method.
    pub method: Method,
    /// Its settings.
    pub method_options: MethodOptions,
    /// When to stop.
    pub rules: StopRules,
}

impl ChainOptions {
    /// The defaults for a model.
    pub fn new(model: ChainName) -> Self {
        ChainOptions {
            model,
            observed_pairs: false,
            boundary: false,
            bias: None,
            per: Per::default(),
            penalty: Penalty::default(),
            label_loss: None,
            example_weights: None,
            lambda: None,
            method: Method::Auto,
            method_options: MethodOptions {
                proof_bytes: crate::model::PROOF_BYTES,
                ..MethodOptions::default()
            },
            rules: StopRules::default(),
        }
    }

    /// All settings that the iterates depend on besides the example weights, for checkpoints.
    pub fn settings(&self) -> String {
        format!(
            "{:?}",
            (
                (self.model, self.observed_pairs, self.boundary, self.bias, self.per),
                (self.penalty, &self.label_loss, self.lambda, self.method),
                (self.method_options.memory, self.method_options.parts),
            )
        )
    }

    /// The mean that the risk is.
    fn mean(&self, data: &Sequences) -> Result<Mean, TrainError> {
        let units = self.per.units(&data.starts);
        Mean::new(self.example_weights.as_deref(), units, "sequence")
    }

    fn check(&self, data: &Sequences) -> Result<(), TrainError> {
        let refuse = |sentence: String| Err(TrainError::Setting(sentence));
        if data.labels.is_empty() {
            return refuse("the data has no labels to train on".into());
        }
        if let Some(bias) = self.bias.filter(|bias| !bias.is_finite()) {
            return refuse(format!("the bias must be a finite number, not {bias}"));
        }
        if self.penalty == Penalty::L1 && self.model != ChainName::ChainCrf {
            return refuse(
                "the penalty l1 goes with chain-crf; chain-svm has the penalty l2".into(),
            );
        }
        let classes = data.classes.len();
        if let Some(costs) = &self.label_loss {
            if self.model != ChainName::ChainSvm {
                return refuse("a label loss goes with chain-svm".into());
            }
            let diagonal = |at: usize| at / classes == at % classes;
            let fits =
                |(at, c): (usize, &f64)| *c >= 0.0 && c.is_finite() && (*c == 0.0 || !diagonal(at));
            if costs.len() != classes * classes || !costs.iter().enumerate().all(fits) {
                return refuse(format!(
                    "expected a label loss of {classes} x {classes} numbers, 0 on the diagonal and nowhere negative"
                ));
            }
        }
        // The scores of a sequence are held at once, and what the sums over it come to.
        let longest = data.starts.windows(2).map(|span| span[1] - span[0]).max().unwrap_or(0);
        let scores = (longest as u128) * classes as u128 * 8 * COPIES;
        let most = self.method_options.max_bytes.map_or(1 << 40, |bytes| 4 * u128::from(bytes));
        if scores > most {
            return refuse(format!(
                "the scores of a sequence of {longest} tokens with {classes} labels take {scores} bytes, more than the machine's memory"
            ));
        }
        Ok(())
    }
}

/// The pairs that occur in sequences which weigh something: one of weight 0 is as good as left out.
fn observed(data: &Sequences, weights: &ExampleWeights) -> Pairs {
    let classes = data.classes.len();
    if (0..data.len()).all(|i| weights.of(i) > 0.0) {
        return Pairs::observed(&data.tokens, &data.starts, &data.labels, classes);
    }
    let (mut rows, mut starts) = (Vec::new(), vec![0]);
    for (_, span) in data.starts.windows(2).enumerate().filter(|(i, _)| weights.of(*i) > 0.0) {
        rows.extend(span[0]..span[1]);
        starts.push(rows.len());
    }
    let labels: Vec<u16> = rows.iter().map(|&row| data.labels[row]).collect();
    Pairs::observed(&data.tokens.select_rows(&rows), &starts, &labels, classes)
}

/// Trains a chain.
pub fn train_chain(
    data: &Sequences,
    options: &ChainOptions,
    cancel: &Cancel,
    observer: &mut dyn Observer,
    checkpoints: &mut dyn Checkpoints,
) -> Result<(ChainModel, TrainReport), TrainError> {
    options.check(data)?;
    let mean = options.mean(data)?;
    let classes = data.classes.len();
    let pairs = if options.observed_pairs { observed(data, &mean.shares) } else { Pairs::All };
    let shape = ChainShape {
        attributes: data.attributes.len(),
        labels: classes,
        pairs,
        bias: options.bias,
        boundary: options.boundary,
    };
    let lambda = Lambda::value(options.lambda, mean.total)?;
    let plain = L2::new(lambda)?;
    let l1 = if options.penalty == Penalty::L1 { lambda } else { 0.0 };
    let regularizer = if l1 > 0.0 { L2::none() } else { plain };
    let weights = mean.shares;
    data.tokens.prepare_for_passes();
    let chain =
        Chain::new(&shape, &data.tokens, &data.starts, &data.labels, options.label_loss.clone());
    let risk: Box<dyn Risk + '_> = match options.model {
        ChainName::ChainSvm => Box::new(MarginRisk::new(chain, weights)),
        ChainName::ChainCrf => Box::new(LikelihoodRisk::new(chain, weights)),
    };
    let problem = Problem::new(&*risk, &regularizer).with_l1(l1);
    let method = options.method.resolve(problem);
    let mut solver = options.method.build(problem, &options.method_options)?;
    let outcome = solver::run(&mut *solver, problem, options.rules, cancel, observer, checkpoints)?;
    let sizes = (data.len(), data.attributes.len());
    let report = TrainReport::of_run(method.name(), sizes, lambda, &outcome);
    drop(solver);
    drop(risk);
    let model = ChainModel {
        model: options.model,
        shape,
        attributes: data.attributes.clone(),
        template: data.template.clone(),
        classes: data.classes.clone(),
        label_loss: options.label_loss.clone(),
        per: options.per,
        penalty: options.penalty,
        lambda,
        solver: method.name().into(),
        status: report.status.as_str().into(),
        tol: options.rules.tol,
        certificate: report.certificate,
        examples: data.len(),
        tokens: data.tokens.rows(),
        data_sha256: data.sha256_with(options.example_weights.as_deref()),
        weights: outcome.point.w,
        proof: outcome.proof,
    };
    Ok((model, report))
}
