//! What the families share that label the tokens of sequences, whatever makes their scores: two
//! options, the labels and attributes that a model knows, predictions and how good they are.

use super::hold_out::rows_of;
use super::{
    Audited, Data, DataKind, Description, Evaluation, Form, Misfit, Numbers, Outputs, Predictions,
    Reading, Settings, TrainError, Wanted, form, refuse, tokens,
};
use crate::audit::Plain;
use crate::container::Container;
use crate::options::Kind::{Choice, Flag};
use crate::options::{Key, Named, named, options};
use minorant_data::{Attributes, Label, Sequences, Template};
use minorant_linalg::Matrix;
use serde_json::json;
use std::fmt::Debug;
use std::sync::Arc;

/// What the risk is the mean over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Per {
    /// Sequences, each with the sum over its tokens.
    Sequence,
    /// Tokens.
    Token,
}

named!(Per {
    Sequence = "sequence" "the mean over sequences, each with the sum over its tokens",
    Token = "token" "the mean over tokens",
});

impl Per {
    /// How many units each sequence has; sequence i is the tokens `starts[i]..starts[i + 1]`.
    pub(crate) fn units(self, starts: &[usize]) -> impl ExactSizeIterator<Item = usize> {
        starts.windows(2).map(move |span| match self {
            Per::Sequence => 1,
            Per::Token => span[1] - span[0],
        })
    }
}

options! {
    /// Mean over sequences or over tokens
    pub PER: Per = ("per", "UNIT", Choice(Per::CHOICES)).default("sequence").probe("token");
    /// Weights for labels at the beginning and at the end
    pub BOUNDARY: bool = ("boundary", "", Flag).default("false");
}

/// Refuses sequences without labels.
pub(crate) fn labelled<'d>(data: Data<'d>) -> Result<&'d Sequences, TrainError> {
    let data = data.sequences()?;
    if data.labels.is_empty() {
        return refuse("the data has no labels to train on");
    }
    Ok(data)
}

/// A copy of some of the sequences, with their weights.
pub(crate) struct Selection {
    pub(crate) tokens: Matrix<'static>,
    pub(crate) starts: Vec<usize>,
    pub(crate) labels: Vec<u16>,
    pub(crate) weights: Option<Vec<f64>>,
}

impl Selection {
    /// These sequences, in this order.
    pub(crate) fn new(data: &Sequences, of: &[usize], weights: Option<&[f64]>) -> Self {
        let (runs, starts) = rows_of(&data.starts, of);
        let rows: Vec<usize> = runs.into_iter().flatten().collect();
        let labels = rows.iter().map(|&row| data.labels[row]).collect();
        let weights = weights.map(|weights| of.iter().map(|&i| weights[i]).collect());
        Selection { tokens: data.tokens.select_rows(&rows), starts, labels, weights }
    }
}

/// The form of a model that scores the labels of tokens.
pub(crate) trait Tagger: Debug + Send + Sync + 'static {
    /// What it knows of tokens.
    fn vocabulary(&self) -> &Vocabulary;

    /// Its weights.
    fn weights(&self) -> &[f64];

    /// Writes what the model file has besides vocabulary and weights.
    fn write(&self, settings: &Settings, file: &mut Container);

    /// What `inspect` shows besides the vocabulary.
    fn describe(&self, _description: &mut Description) {}

    /// The problem behind the model's bound in its plainest form, where there is one.
    fn plain<'a>(&'a self, _audited: Audited<'a>) -> Result<Vec<Plain<'a>>, String> {
        Ok(Vec::new())
    }

    /// The best labels of each token, sequence by sequence.
    fn best(&self, data: &Sequences) -> Vec<u16>;

    /// The score of each label at each token, transitions left out.
    fn scores(&self, data: &Sequences) -> Vec<f64>;

    /// The probability of each label at each token.
    fn marginals(&self, data: &Sequences) -> Vec<f64>;
}

impl<T: Tagger> Form for T {
    fn write(&self, settings: &Settings, file: &mut Container) {
        self.vocabulary().write(file);
        let weights = Tagger::weights(self);
        file.put_list("weights", weights);
        Tagger::write(self, settings, file);
    }

    fn weights(&self) -> Vec<&[f64]> {
        vec![Tagger::weights(self)]
    }

    fn reading(&self) -> Reading<'_> {
        let Vocabulary { attributes, template, .. } = self.vocabulary();
        let (attributes, template) = (Some(attributes), template.as_ref());
        Reading { attributes, template, ..DataKind::Sequences.into() }
    }

    fn predict(&self, data: Data<'_>, wanted: Wanted) -> Result<Predictions, String> {
        let (vocabulary, data) = (self.vocabulary(), data.sequences()?);
        vocabulary.check(data)?;
        let labels = self.best(data).into_iter().map(u32::from).collect();
        let values = match wanted {
            Wanted::Labels => None,
            Wanted::Scores => Some(self.scores(data)),
            Wanted::Marginals => Some(self.marginals(data)),
        };
        let (width, unknown) = (vocabulary.classes.len(), data.unknown);
        let note = || format!("{unknown} attributes that the model does not know were ignored");
        Ok(Predictions {
            classes: vocabulary.classes.iter().cloned().map(Label::Text).collect(),
            outputs: Outputs::Tokens { starts: data.starts.clone(), labels },
            numbers: values.map(|values| Numbers { width, values }),
            note: (unknown > 0).then(note),
        })
    }

    fn evaluate(&self, data: Data<'_>) -> Result<Evaluation, String> {
        let data = data.sequences()?;
        if data.labels.is_empty() {
            return Err("the data has no labels to compare with".into());
        }
        let predictions = self.predict(data.into(), Wanted::Labels)?;
        let labels: Vec<u32> = data.labels.iter().map(|&z| z.into()).collect();
        let own = (&self.vocabulary().classes[..], predictions.labels());
        let mut evaluation = tokens::compare(own, (&data.classes, &labels), &data.starts);
        evaluation.notes.splice(..0, predictions.note);
        Ok(evaluation)
    }

    fn describe(&self) -> Description {
        let mut description = self.vocabulary().describe();
        Tagger::describe(self, &mut description);
        description
    }

    fn plain<'a>(&'a self, audited: Audited<'a>) -> Result<Vec<Plain<'a>>, String> {
        Tagger::plain(self, audited)
    }
}

/// What a model knows of tokens, and how many it was trained on.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    /// The labels in order.
    pub classes: Vec<String>,
    /// The attributes of tokens.
    pub attributes: Attributes,
    /// The template that makes them of columns.
    pub template: Option<Template>,
    /// Tokens of the training data.
    pub tokens: usize,
}

impl Vocabulary {
    /// The vocabulary of these sequences.
    pub(crate) fn of(data: &Sequences) -> Self {
        Vocabulary {
            classes: data.classes.clone(),
            attributes: data.attributes.clone(),
            template: data.template.clone(),
            tokens: data.tokens.rows(),
        }
    }

    /// Refuses sequences whose columns mean something else than the model's.
    fn check(&self, data: &Sequences) -> Result<(), String> {
        let (known, found) = (self.attributes.len(), data.tokens.cols());
        if known != found {
            return Err(format!("the model knows {known} attributes, but the data has {found}"));
        }
        match (&self.attributes, &data.attributes) {
            (Attributes::Named(known), Attributes::Named(found)) if known != found => Err(
                "the data numbers its attributes in another way than the model: read the data for \
                 this model"
                    .into(),
            ),
            _ => Ok(()),
        }
    }

    /// Writes the vocabulary into a model file.
    fn write(&self, file: &mut Container) {
        file.put_key("labels", &self.classes);
        file.put_key("tokens", self.tokens);
        let (kind, names) = match &self.attributes {
            Attributes::Named(names) => ("named", names.join("\n")),
            Attributes::Hashed(_) => ("hashed", String::new()),
            Attributes::Columns(_) => ("columns", String::new()),
        };
        file.put_key("attributes", kind);
        file.put_key("columns", self.attributes.len());
        file.put_key("attribute_bytes", names.len());
        file.put_key("template", self.template.as_ref().map(Template::text));
        // Bytes as whole numbers, eight at a time.
        let word = |chunk: &[u8]| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        };
        file.put_integers("attributes", names.as_bytes().chunks(8).map(word));
    }

    /// The vocabulary of a model file.
    pub(crate) fn read(file: &mut Container) -> Result<Self, Misfit> {
        let classes: Vec<String> = file.key("labels")?;
        // Labels are numbered by 16 bits.
        if classes.is_empty() || classes.len() > 1 << 16 {
            return Err(Misfit::without("1 to 65536 labels"));
        }
        let template: Option<String> = file.key("template")?;
        let template = template.map(|text| Template::parse("the model's template", &text));
        let template =
            template.transpose().map_err(|_| Misfit::without("a template that can be read"))?;
        let (kind, columns): (String, usize) = (file.key("attributes")?, file.key("columns")?);
        let bytes: usize = file.key("attribute_bytes")?;
        let packed = file.integers("attributes");
        let attributes = packed.and_then(|packed| unpack(&kind, columns, bytes, packed));
        let attributes =
            attributes.ok_or_else(|| Misfit::without("attributes that fit together"))?;
        Ok(Vocabulary { classes, attributes, template, tokens: file.key("tokens")? })
    }

    /// What `inspect` shows of the vocabulary.
    fn describe(&self) -> Description {
        let mut description = Description {
            trained_on: format!("sequences of {} tokens", self.tokens),
            ..Description::default()
        };
        description.line("labels", form::listed(&self.classes));
        description.features("attributes", self.attributes.len());
        description.key("classes", json!(self.classes));
        description.key("tokens", self.tokens);
        description
    }
}

/// The attributes of a model file; nothing where they do not fit together.
fn unpack(kind: &str, columns: usize, bytes: usize, packed: Vec<u64>) -> Option<Attributes> {
    match kind {
        "columns" => Some(Attributes::Columns(columns)),
        "hashed" => {
            let bits = columns.checked_ilog2()?;
            (1usize << bits == columns).then_some(Attributes::Hashed(bits))
        }
        "named" => {
            let mut text: Vec<u8> = packed.into_iter().flat_map(u64::to_le_bytes).collect();
            if bytes > text.len() || text.len() - bytes > 7 {
                return None;
            }
            text.truncate(bytes);
            let text = String::from_utf8(text).ok()?;
            let names: Vec<String> = match columns {
                0 => Vec::new(),
                _ => text.split('\n').map(String::from).collect(),
            };
            (names.len() == columns).then(|| Attributes::Named(Arc::new(names)))
        }
        _ => None,
    }
}

/// The value of an option that the headers of all versions have; one that this version does not
/// know would make another model of the file.
pub(crate) fn kept<T: Named>(key: &Key<T>, file: &Container) -> Result<T, Misfit> {
    let name = key.spec.stored_name();
    let word: String = file.key(&name)?;
    T::named(&word).ok_or_else(|| Misfit::without(format!("a {name} that this version knows")))
}
