//! The fingerprint of a data set: a SHA-256 of what is in it, however it is stored. Two files that hold
//! the same data have the same fingerprint, and so have its rows stored dense and sparse. It is a hash
//! of hashes: one for each run of examples, which know their numbers in the whole data, then one over
//! these and over what holds for all examples. Runs are hashed side by side, and whoever holds some of
//! the examples can hash the runs of these alone.

mod of_0_1;
mod record;

use crate::container::hex;
use minorant_data::{Dataset, Images, LabelRows, Labels, Recordings, Sequences};
use minorant_linalg::parallel;
use of_0_1::InOneStream;
use record::{Record, Recorder};
use sha2::{Digest, Sha256};
use std::ops::Range;

/// The SHA-256 of a run of examples.
pub type RunHash = [u8; 32];

/// Which fingerprint a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Version {
    /// One stream of bytes over all examples: files of 0.1, which do not say so.
    InOneStream,
    /// A hash of the hashes of runs.
    #[default]
    OfRuns,
}

impl Version {
    /// The key that tells the version in the headers of files.
    pub(crate) const KEY: &str = "fingerprint";

    /// The number in files; files of 0.1 have none.
    pub(crate) fn number(self) -> Option<u64> {
        match self {
            Version::InOneStream => None,
            Version::OfRuns => Some(2),
        }
    }

    /// The version with this number; nothing where only a later Minorant knows it.
    pub(crate) fn of_number(number: Option<u64>) -> Option<Self> {
        [Version::InOneStream, Version::OfRuns].into_iter().find(|known| known.number() == number)
    }
}

/// Data that a run can be trained on.
pub trait Fingerprint {
    /// The fingerprint of all that is in the data, and of the weights of its examples where there are
    /// any, as files of this version have it.
    fn sha256_of(&self, version: Version, example_weights: Option<&[f64]>) -> String;

    /// The fingerprint of the data and of its example weights.
    fn sha256_with(&self, example_weights: Option<&[f64]>) -> String {
        self.sha256_of(Version::default(), example_weights)
    }

    /// The fingerprint of the data.
    fn sha256(&self) -> String {
        self.sha256_with(None)
    }
}

/// Data that is hashed by runs of its examples.
pub trait Runs: Sync {
    /// Examples of a run. It does not depend on the shape of the data, so that whoever reads examples one
    /// by one can hash them on the way.
    const RUN: usize;

    /// Number of examples.
    fn examples(&self) -> usize;

    /// Records what holds for all examples; how many there are is recorded besides.
    fn record_facts(&self, to: &mut Record);

    /// Records an example.
    fn record_example(&self, example: usize, to: &mut Record);

    /// The hash of the examples in `range`. The first of them has the number `first` in the whole data,
    /// a multiple of [`Runs::RUN`].
    fn hash_run(
        &self,
        range: Range<usize>,
        first: usize,
        example_weights: Option<&[f64]>,
    ) -> RunHash {
        let mut recorder = Recorder::default();
        let start = range.start;
        for example in range {
            recorder.record.count(first + example - start);
            self.record_example(example, &mut recorder.record);
            let weight = example_weights.and_then(|weights| weights.get(example));
            weight.into_iter().for_each(|weight| recorder.record.real(*weight));
            recorder.flush();
        }
        recorder.finish()
    }

    /// The hashes of the runs of all examples that are here, the first of which has the number `first`
    /// in the whole data, a multiple of [`Runs::RUN`].
    fn hash_runs(&self, first: usize, example_weights: Option<&[f64]>) -> Vec<RunHash> {
        let examples = self.examples();
        parallel::map(examples.div_ceil(Self::RUN), |run| {
            let start = run * Self::RUN;
            self.hash_run(start..examples.min(start + Self::RUN), first + start, example_weights)
        })
    }

    /// The fingerprint of `examples` examples, `weights` of which have weights, whose runs have these
    /// hashes.
    fn hash_hashes(&self, examples: usize, weights: usize, runs: &[RunHash]) -> String {
        let mut facts = Recorder::default();
        self.record_facts(&mut facts.record);
        facts.record.count(examples);
        facts.record.count(weights);
        let mut hash = Sha256::new();
        hash.update(facts.finish());
        runs.iter().for_each(|run| hash.update(run));
        hex(&hash.finalize())
    }
}

impl<T: Runs + InOneStream> Fingerprint for T {
    fn sha256_of(&self, version: Version, example_weights: Option<&[f64]>) -> String {
        match version {
            Version::InOneStream => self.sha256_of_0_1(example_weights),
            Version::OfRuns => {
                let runs = self.hash_runs(0, example_weights);
                let weights = example_weights.map_or(0, <[f64]>::len);
                self.hash_hashes(self.examples(), weights, &runs)
            }
        }
    }
}

impl Runs for Dataset<'_> {
    const RUN: usize = 1 << 12;

    fn examples(&self) -> usize {
        self.features.rows()
    }

    fn record_facts(&self, to: &mut Record) {
        to.text("rows");
        to.count(self.features.cols());
        record_classes(&self.labels, to);
    }

    fn record_example(&self, row: usize, to: &mut Record) {
        to.entries(&self.features, row);
        record_labels(&self.labels, row, to);
    }
}

impl Runs for Sequences {
    const RUN: usize = 1 << 8;

    fn examples(&self) -> usize {
        self.len()
    }

    fn record_facts(&self, to: &mut Record) {
        to.text("sequences");
        to.count(self.tokens.cols());
        to.count(usize::from(!self.labels.is_empty()));
        to.count(self.classes.len());
        self.classes.iter().for_each(|class| to.text(class));
    }

    fn record_example(&self, sequence: usize, to: &mut Record) {
        let tokens = self.starts[sequence]..self.starts[sequence + 1];
        to.count(tokens.len());
        for token in tokens {
            to.entries(&self.tokens, token);
            if let Some(label) = self.labels.get(token) {
                to.count(usize::from(*label));
            }
        }
    }
}

/// Whether each frame has a label, not each sequence.
fn frames_have_labels(data: &Recordings) -> bool {
    data.labels.len() != data.len()
}

impl Runs for Recordings {
    const RUN: usize = 1 << 8;

    fn examples(&self) -> usize {
        self.len()
    }

    fn record_facts(&self, to: &mut Record) {
        to.text("recordings");
        to.count(self.frames.cols());
        to.count(usize::from(frames_have_labels(self)));
        record_classes(&self.labels, to);
    }

    fn record_example(&self, sequence: usize, to: &mut Record) {
        let frames = self.starts[sequence]..self.starts[sequence + 1];
        to.count(frames.len());
        frames.clone().for_each(|frame| to.entries(&self.frames, frame));
        match frames_have_labels(self) {
            true => frames.for_each(|frame| record_labels(&self.labels, frame, to)),
            false => record_labels(&self.labels, sequence, to),
        }
    }
}

impl Runs for Images {
    const RUN: usize = 1 << 8;

    fn examples(&self) -> usize {
        self.len()
    }

    fn record_facts(&self, to: &mut Record) {
        match self {
            Images::Plates { height, widths, labelled, .. } => {
                to.text("plates");
                to.count(*height);
                to.count(widths.len());
                widths.iter().for_each(|width| to.count(*width));
                to.count(usize::from(*labelled));
            }
            Images::Parts { shape, labelled, .. } => {
                to.text("parts");
                [shape.width, shape.height, shape.channels, shape.parents.len()]
                    .into_iter()
                    .chain(shape.parents.iter().copied())
                    .for_each(|number| to.count(number));
                to.real(shape.scale);
                to.count(usize::from(*labelled));
            }
        }
    }

    fn record_example(&self, image: usize, to: &mut Record) {
        let (pixels, outputs): (_, Vec<usize>) = match self {
            Images::Plates { plates, .. } => {
                let characters = plates[image].characters.iter();
                (&plates[image].pixels, characters.map(|&character| character.into()).collect())
            }
            Images::Parts { images, .. } => {
                let places = images[image].places.iter();
                (&images[image].pixels, places.map(|&place| place as usize).collect())
            }
        };
        to.count(pixels.len());
        pixels.iter().for_each(|pixel| to.real(*pixel));
        to.count(outputs.len());
        outputs.into_iter().for_each(|output| to.count(output));
    }
}

/// What kind of labels there are, and their classes.
fn record_classes(labels: &Labels, to: &mut Record) {
    to.count(match labels.rows {
        LabelRows::None => 0,
        LabelRows::Single(_) => 1,
        LabelRows::Sets { .. } => 2,
        LabelRows::Numbers { .. } => 3,
    });
    to.count(labels.classes.len());
    labels.classes.iter().for_each(|class| to.text(&class.to_string()));
}

/// The classes of one row.
fn record_labels(labels: &Labels, row: usize, to: &mut Record) {
    if labels.is_empty() {
        return;
    }
    if let LabelRows::Numbers { width, values } = &labels.rows {
        values[row * width..(row + 1) * width].iter().for_each(|target| to.real(*target));
        return;
    }
    let classes = labels.row(row);
    to.count(classes.len());
    classes.iter().for_each(|&class| to.count(class as usize));
}
