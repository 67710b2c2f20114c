//! `minorant generate` as typed: one table of the kinds of data and of their options.

use super::table::{GENERATE, TableArgs};
use clap::{Arg, ArgMatches, Command, value_parser};
use std::path::PathBuf;

/// The kinds of data: name, what they are, options and examples. An option is a line: its name, its
/// value (X is a number, W,W,… a list, FILE a file, other letters stand for whole numbers), its
/// default or a hyphen, and its help.
const KINDS: [[&str; 4]; 5] = [
    [
        "plates",
        "Number plates for segment-svm: rows of character templates with noise",
        "seed N 0 Seed of templates and noise
images N 100 Number of images
skip N 0 Leave out so many images first: others of the same seed, for testing
height H 3 Rows of an image
widths W,W,… 2,3,4,3 Widths of the characters
noise X 1 Size of the noise beside templates of size 1
max-length L 4 Most characters of an image; the fewest are 2
out FILE.npz - The NPZ file to write",
        "minorant generate plates --seed 4 --images 8 --widths 2,3,4 --out plates.npz",
    ],
    [
        "parts",
        "Faces-like images for tree-svm: four parts that stand out of noise",
        "seed N 0 Seed of places and noise
images N 100 Number of images
skip N 0 Leave out so many images first: others of the same seed, for testing
out FILE.npz - The NPZ file to write",
        "minorant generate parts --seed 6 --images 10 --out parts.npz",
    ],
    [
        "phones",
        "Phone-like recordings for hmm --task label: frames of labels that are spoken in a row",
        "seed N 0 Seed of sounds and noise
draw N 0 Other sequences of the same sounds, for testing
sequences N 100 Number of sequences
labels L 8 Number of labels
features D 6 Numbers in a frame
noise X 1.5 Size of the noise beside sounds of size 1
out FILE.npz - The NPZ file to write",
        "minorant generate phones --seed 1 --sequences 200 --out train.npz
  minorant generate phones --seed 1 --draw 1 --sequences 200 --out test.npz",
    ],
    [
        "moons",
        "Two half circles that reach into each other, for s3vm",
        CLOUDS,
        "minorant generate moons --examples 120 --labeled 2 --out moons.svm
  minorant generate moons --examples 80 --skip 120 --out test.svm     (others)",
    ],
    [
        "spirals",
        "Two spirals of one and a half turns, for s3vm",
        CLOUDS,
        "minorant generate spirals --examples 200 --labeled 20 --out spirals.svm
  minorant generate spirals --examples 80 --skip 200 --out test.svm     (others)",
    ],
];

const CLOUDS: &str = "seed N 0 Seed of the points
examples N 200 Number of points, half of them of each class
skip N 0 Leave out so many points first: others of the same seed, for testing
labeled L - Points that keep their label; the others get 0, which means unlabelled (default: all)
noise X - Standard deviation of the noise (default: 0.1 for moons, 0.02 for spirals)
out FILE - The LIBSVM file to write";

/// What to make.
pub(crate) type GenerateArgs = TableArgs<GENERATE>;

impl GenerateArgs {
    /// The kind of data, and what was typed for it.
    pub(crate) fn kind(&self) -> (&str, &ArgMatches) {
        self.0.subcommand().unwrap_or(("", &self.0))
    }

    /// The values of an option.
    pub(crate) fn all<T: Clone + Send + Sync + 'static>(&self, name: &str) -> Vec<T> {
        self.kind().1.get_many(name).into_iter().flatten().cloned().collect()
    }

    /// A whole number that has a default.
    pub(crate) fn whole(&self, name: &str) -> usize {
        self.all(name).pop().unwrap_or_default()
    }
}

fn argument(line: &'static str) -> Arg {
    let words: Vec<&'static str> = line.splitn(4, ' ').collect();
    let [name, value, default, help] = words[..] else {
        unreachable!("an option has four columns")
    };
    let arg = Arg::new(name).long(name).value_name(value).help(help);
    let arg = if default == "-" { arg } else { arg.default_value(default) };
    let arg = match name {
        "images" | "sequences" | "examples" => arg.alias("n"),
        "draw" => arg.alias("part"),
        _ => arg,
    };
    match value {
        "X" => arg.allow_negative_numbers(true).value_parser(value_parser!(f64)),
        "W,W,…" => arg.value_delimiter(',').value_parser(value_parser!(usize)),
        "FILE" | "FILE.npz" => arg.required(true).value_parser(value_parser!(PathBuf)),
        _ => arg.value_parser(value_parser!(usize)),
    }
}

/// The command with a subcommand for each kind.
pub(super) fn declare(command: Command) -> Command {
    let kind = |[name, about, options, examples]: [&'static str; 4]| {
        let several = if examples.contains('\n') { "s" } else { "" };
        let examples = format!("Example{several}:\n  {examples}");
        let arguments = options.lines().map(argument);
        Command::new(name).about(about).after_help(examples).args(arguments)
    };
    let examples = KINDS.map(|[.., examples]| examples.lines().next().unwrap_or_default());
    let examples = format!("Examples:\n  {}", examples.join("\n  "));
    let command = command.after_help(examples).subcommands(KINDS.map(kind));
    command.subcommand_required(true).arg_required_else_help(true)
}
