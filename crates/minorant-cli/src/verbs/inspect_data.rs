//! What `minorant inspect` shows of data: rows, sequences, recordings, images. They are read by the
//! readers that `train` has for them.

use super::kind;
use crate::args::DataArgs;
use crate::output::{self, aligned};
use minorant::data::{
    self, Cache, Images, Label, LabelKind, LabelRows, LabelledBy, Labels, ReadOptions, Recordings,
    SequenceOptions, Sequences,
};
use minorant::family::{
    DataKind, OwnedData, label_in_output, options_of_rows, options_of_sequences, read,
    setting_in_words,
};
use minorant::linalg::Matrix;
use serde_json::{Value, json};

/// Labels that are numbers and more of them than this are targets rather than classes; fewer, where some
/// are not whole.
const MANY: usize = 1000;
const MANY_BROKEN: usize = 20;

/// Whether labels look like targets.
fn are_targets(classes: &[Label]) -> bool {
    let is_broken = |label: &Label| matches!(label, Label::Number(x) if x.fract() != 0.0);
    classes.len() > MANY || classes.len() > MANY_BROKEN && classes.iter().any(is_broken)
}

/// Reads the files and says what is in them.
pub(super) fn shown(args: &DataArgs) -> anyhow::Result<String> {
    let (kind, settings) = kind::of_files(&args.files, &args.reading)?;
    let cache = match &args.files[..] {
        [file] => kind::cache_at(file)?,
        _ => None,
    };
    let facts = if let Some(mut cache) = cache {
        // A cache may be larger than the memory: only its labels are read.
        let mut facts = if cache.holds_sequences() {
            let options = options_of_sequences(&settings)?;
            let options = SequenceOptions { rows_in_memory: Some(0), ..options };
            let data = data::read_sequences(&args.files, &options)?;
            let (mut stored, entries) = (Stored::of_cache(&cache), data.tokens.entries() as u64);
            if entries < cache.entries() {
                (stored.nonzero, stored.cols) = (entries, data.tokens.cols() as u64);
            }
            of_sequences(stored, &data)
        } else {
            let labels = cache.labels(&options_of_rows(&settings))?;
            of_rows(Stored::of_cache(&cache), &labels)
        };
        facts.tell("blocks", cache.blocks(), &[("blocks", json!(cache.blocks()))]);
        facts
    } else if kind == DataKind::Rows {
        let options = ReadOptions { for_prediction: true, ..options_of_rows(&settings) };
        let data = data::read(&args.files, &options)
            .map_err(|why| kind::with_advice(why.into(), &settings, &args.files))?;
        of_rows(Stored::of(&data.features), &data.labels)
    } else {
        match (read(kind, &settings, &args.files, false)?, kind) {
            (OwnedData::Rows(data), _) => of_rows(Stored::of(&data.features), &data.labels),
            (OwnedData::Sequences(data), _) => of_sequences(Stored::of(&data.tokens), &data),
            (OwnedData::Recordings(data), DataKind::Recordings(by)) => of_recordings(&data, by),
            (OwnedData::Recordings(data), _) => of_recordings(&data, LabelledBy::Sequence),
            (OwnedData::Images(data), _) => of_images(&data),
        }
    };
    Ok(match args.json {
        true => facts.object.to_string(),
        false => aligned(facts.lines) + &facts.table,
    })
}

/// How a matrix is stored.
struct Stored {
    rows: u64,
    cols: u64,
    nonzero: u64,
    is_sparse: bool,
    precision: &'static str,
}

impl Stored {
    fn of(matrix: &Matrix<'_>) -> Self {
        Stored {
            rows: matrix.rows() as u64,
            cols: matrix.cols() as u64,
            nonzero: matrix.values().nonzeros() as u64,
            is_sparse: matrix.is_sparse(),
            precision: precision(matrix),
        }
    }

    fn of_cache(cache: &Cache<'_>) -> Self {
        Stored {
            rows: cache.rows(),
            cols: cache.columns(),
            nonzero: cache.nonzeros(),
            is_sparse: !cache.is_dense(),
            precision: if cache.is_single() { "f32" } else { "f64" },
        }
    }
}

/// What there is to tell, for programs and for people.
struct Facts {
    object: Value,
    lines: Vec<(&'static str, String)>,
    /// The classes, after a blank line.
    table: String,
}

/// Classes, and how often each occurs.
type Classes = Vec<(Value, usize)>;

impl Facts {
    fn new(kind: &str) -> Self {
        Facts { object: json!({ "kind": kind }), lines: Vec::new(), table: String::new() }
    }

    /// A fact: in words after its heading, and by its keys.
    fn tell(&mut self, heading: &'static str, words: impl ToString, keys: &[(&str, Value)]) {
        self.lines.push((heading, words.to_string()));
        keys.iter().for_each(|(key, value)| self.object[*key] = value.clone());
    }

    fn count(&mut self, heading: &'static str, key: &str, count: usize) {
        self.tell(heading, count, &[(key, json!(count))]);
    }

    /// How many of the things that its heading names there are, and how many an example has.
    fn lengths(&mut self, heading: &'static str, an_example: &str, lengths: &[usize]) {
        let all: usize = lengths.iter().sum();
        let (shortest, longest) = (lengths.iter().min(), lengths.iter().max());
        let [shortest, longest] = [shortest, longest].map(|length| *length.unwrap_or(&0));
        let words = format!("{all}, {shortest} to {longest} {an_example}");
        let keys = [(heading, all), ("shortest", shortest), ("longest", longest)];
        self.tell(heading, words, &keys.map(|(key, count)| (key, json!(count))));
    }

    /// How full a matrix is, and how it is stored.
    fn matrix(&mut self, stored: Stored) {
        let Stored { rows, cols, nonzero, is_sparse, precision } = stored;
        let cells = rows as f64 * cols as f64;
        let density = if cells > 0.0 { nonzero as f64 / cells } else { 0.0 };
        let words = format!("{nonzero} ({} of all cells)", output::percent(density));
        self.tell("non-zeros", words, &[("nonzero", json!(nonzero)), ("density", json!(density))]);
        let storage = if is_sparse { "sparse" } else { "dense" };
        let keys = [("storage", json!(storage)), ("precision", json!(precision))];
        self.tell("stored", format!("{storage}, {precision}"), &keys);
    }

    /// How labels that are numbers are spread, for those who take them as targets.
    fn targets(&mut self, labels: &Labels) {
        let number = |label: &Label| match label {
            Label::Number(number) => Some(*number),
            Label::Text(_) => None,
        };
        let classes: Option<Vec<f64>> = labels.classes.iter().map(number).collect();
        let (LabelRows::Single(rows), Some(classes)) = (&labels.rows, classes) else { return };
        // Classes come in order, so that their counts tell which number stands where.
        let counts = labels.counts();
        let each = || classes.iter().copied().zip(counts.iter().copied());
        let at = |share: usize| {
            let mut before = (rows.len() - 1) * share / 4;
            let found = each().find(|(_, count)| match before.checked_sub(*count) {
                Some(left) => {
                    before = left;
                    false
                }
                None => true,
            });
            found.map_or(f64::NAN, |(y, _)| y)
        };
        let share = |count: usize| count as f64 / rows.len() as f64;
        let mean = each().map(|(y, count)| y * share(count)).sum::<f64>();
        let square = each().map(|(y, count)| (y - mean) * (y - mean) * share(count)).sum::<f64>();
        let names = [
            "least",
            "lower_quartile",
            "median",
            "upper_quartile",
            "greatest",
            "mean",
            "deviation",
        ];
        let numbers = [at(0), at(1), at(2), at(3), at(4), mean, square.sqrt()];
        let keys: Value = names.into_iter().zip(numbers.map(|number| json!(number))).collect();
        let [least, lower, _, upper, greatest, mean, deviation] = numbers.map(setting_in_words);
        let words = format!(
            "{least} to {greatest}, mean {mean}, deviation {deviation}, half between {lower} and {upper}"
        );
        self.tell("as numbers", words, &[("targets", keys)]);
    }

    /// The labels by their key and in words, and the classes with how many `units` each has.
    fn labels(&mut self, labels: &str, words: String, units: &str, classes: &Classes) {
        let object = |(label, count): &(Value, usize)| json!({"label": label, units: count});
        let counted: Value = classes.iter().map(object).collect();
        self.tell("labels", words, &[("labels", json!(labels)), ("classes", counted)]);
        let row = |(label, count): &(Value, usize)| {
            let name = label.as_str().map_or_else(|| label.to_string(), str::to_string);
            vec![name, count.to_string()]
        };
        if !classes.is_empty() && labels != "none" {
            let table = output::table(["class", units], classes.iter().map(row));
            self.table = format!("\n\n{table}");
        }
    }
}

fn precision(matrix: &Matrix<'_>) -> &'static str {
    if matrix.width() == 4 { "f32" } else { "f64" }
}

fn lengths(starts: &[usize]) -> Vec<usize> {
    starts.windows(2).map(|span| span[1] - span[0]).collect()
}

fn classes_of(labels: &Labels) -> Classes {
    labels.classes.iter().map(label_in_output).zip(labels.counts()).collect()
}

fn of_rows(stored: Stored, labels: &Labels) -> Facts {
    let mut facts = Facts::new("data");
    facts.tell("examples", stored.rows, &[("examples", json!(stored.rows))]);
    facts.tell("features", stored.cols, &[("features", json!(stored.cols))]);
    facts.matrix(stored);
    facts.targets(labels);
    let kind = match (&labels.rows, labels.kind()) {
        (LabelRows::None, _) | (_, None) => "none",
        (_, Some(LabelKind::Targets)) => "numbers",
        _ if are_targets(&labels.classes) => "numbers",
        (LabelRows::Single(_), _) if labels.classes.len() == 1 => "one class",
        (_, Some(LabelKind::Binary)) => "binary",
        (_, Some(LabelKind::Multiclass)) => "multiclass",
        (_, Some(LabelKind::Multilabel)) => "multilabel",
    };
    let (words, classes) = match labels.classes.len() {
        0 | 1 => (kind.to_string(), classes_of(labels)),
        distinct if kind == "numbers" => (format!("{kind}, {distinct} distinct"), Vec::new()),
        classes => (format!("{kind}, {classes} classes"), classes_of(labels)),
    };
    facts.labels(kind, words, "examples", &classes);
    facts
}

fn of_recordings(data: &Recordings, labelled_by: LabelledBy) -> Facts {
    let mut facts = Facts::new("recordings");
    facts.count("sequences", "examples", data.len());
    facts.lengths("frames", "a sequence", &lengths(&data.starts));
    facts.count("features", "features", data.frames.cols());
    let precision = precision(&data.frames);
    facts.tell("stored", format!("dense, {precision}"), &[("precision", json!(precision))]);
    let units = match labelled_by {
        LabelledBy::Sequence => "sequences",
        LabelledBy::Frame => "frames",
    };
    let words = format!("of {units}, {} classes", data.labels.classes.len());
    facts.labels(units, words, units, &classes_of(&data.labels));
    facts
}

fn of_sequences(stored: Stored, data: &Sequences) -> Facts {
    let mut facts = Facts::new("sequences");
    facts.count("sequences", "examples", data.len());
    facts.lengths("tokens", "a sequence", &lengths(&data.starts));
    facts.count("attributes", "features", data.attributes.len());
    facts.matrix(stored);
    let mut counts = vec![0; data.classes.len()];
    data.labels.iter().for_each(|&label| counts[usize::from(label)] += 1);
    let classes: Classes = data.classes.iter().map(|name| json!(name)).zip(counts).collect();
    facts.labels("tokens", format!("of tokens, {} classes", classes.len()), "tokens", &classes);
    facts
}

fn of_images(data: &Images) -> Facts {
    let count = data.len();
    let examples = ("examples", json!(count));
    let (mut facts, counts, units) = match data {
        Images::Plates { height, widths, plates, .. } => {
            let mut facts = Facts::new("plates");
            let keys = [examples, ("features", json!(height)), ("widths", json!(widths))];
            facts.tell("images", format!("{count} plates of {height} rows"), &keys);
            let columns = plates.iter().map(|plate| plate.pixels.len() / height.max(&1));
            facts.lengths("columns", "an image", &columns.collect::<Vec<_>>());
            let mut counts = vec![0; widths.len()];
            plates.iter().flat_map(|p| &p.characters).for_each(|&c| counts[c as usize] += 1);
            (facts, counts, "characters")
        }
        Images::Parts { shape, images, .. } => {
            let mut facts = Facts::new("parts");
            let parts = shape.parents.len() + 1;
            let keys = [examples, ("parents", json!(shape.parents))];
            facts.tell("images", format!("{count} with {parts} parts"), &keys);
            let places = format!("{} x {}", shape.width, shape.height);
            facts.tell("places", places, &[("grid", json!([shape.width, shape.height]))]);
            facts.count("channels", "features", shape.channels);
            let labelled = if data.are_labelled() { images.len() } else { 0 };
            (facts, vec![labelled; parts], "places")
        }
    };
    facts.count("pixels", "pixels", data.pixels());
    let classes: Classes = counts.into_iter().enumerate().map(|(z, n)| (json!(z), n)).collect();
    let (labels, words) = match data.are_labelled() {
        true => (units, format!("{units}, {} classes", classes.len())),
        false => ("none", "none".into()),
    };
    facts.labels(labels, words, units, &classes);
    facts
}
