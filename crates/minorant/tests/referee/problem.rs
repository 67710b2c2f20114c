//! Random training problems of every convex model: data and settings as the library takes them, the
//! same problem stated by its own formulas, and the command line that a user would type.

use super::common::{dense, sparse};
use super::draw::Random;
use super::stated::Stated;
use super::{images, rows, sequences, targets};
use minorant::data::{Dataset, Images, Sequences};
use minorant::family::{Data, Settings};
use minorant::linalg::{Matrix, Storage};
use minorant::options::Value;
use minorant::options::common::{ABS_TOL, LAMBDA, MAX_EVALS, MAX_SECONDS, TOL, WEIGHTS};

/// Data of one of the kinds that are trained on.
#[derive(Debug, Clone)]
pub(crate) enum Owned {
    Rows(Dataset<'static>),
    Sequences(Sequences),
    Images(Images),
}

impl Owned {
    pub(crate) fn view(&self) -> Data<'_> {
        match self {
            Owned::Rows(data) => data.into(),
            Owned::Sequences(data) => data.into(),
            Owned::Images(data) => data.into(),
        }
    }
}

/// A training problem.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    /// What kind of problem it is, for tables.
    pub(crate) kind: String,
    pub(crate) data: Owned,
    /// All settings but the solver and what only some solvers take.
    pub(crate) settings: Settings,
    /// Planes to keep and parts, for solvers that take them.
    pub(crate) memory: Option<usize>,
    pub(crate) parts: Option<usize>,
    /// The problem, or the problems of the classes one after the other.
    pub(crate) stated: Vec<Stated>,
    /// Files that a user would have, and their contents.
    pub(crate) files: Vec<(String, String)>,
}

/// The problem of a seed.
pub(crate) fn draw(seed: u64) -> Problem {
    let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5eed);
    let mut problem = match random.between(0, 19) {
        0..=8 => rows::draw(&mut random),
        9..=13 => targets::draw(&mut random),
        14..=17 => sequences::draw(&mut random),
        _ => images::draw(&mut random),
    };
    if random.chance(0.15) {
        problem.memory = Some(random.between(3, 8));
    }
    if random.chance(0.3) {
        problem.parts = Some(random.between(1, 6));
    }
    problem
}

/// The settings that every problem has: λ, when to stop, example weights.
pub(crate) fn common_settings(
    settings: &mut Settings,
    random: &mut Random,
    examples: usize,
    files: &mut Vec<(String, String)>,
) {
    let lambda = match random.chance(0.3) {
        true => random.pick(&[1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 1e3]),
        false => random.scale(1e-6, 1e3),
    };
    settings.put(&LAMBDA, Some(lambda));
    settings.put(&TOL, random.pick(&[1e-2, 1e-3, 1e-6, 1e-9, 1e-12]));
    settings.put(&MAX_EVALS, Some(random.pick(&[8, 30, 100, 300, 1000])));
    settings.put(&MAX_SECONDS, Some(2.0));
    if random.chance(0.3) {
        settings.put(&ABS_TOL, 0.0);
    }
    if random.chance(0.35) {
        let weights = random.weights(examples);
        files.push(("weights.txt".into(), lines(&weights, 1)));
        settings.put(&WEIGHTS, Some(weights));
    }
}

/// Numbers as text, so many a line.
pub(crate) fn lines(numbers: &[f64], each: usize) -> String {
    let line = |line: &[f64]| line.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(" ");
    numbers.chunks(each).map(line).collect::<Vec<_>>().join("\n")
}

/// Rows as a matrix that is dense or sparse, in f32 or f64.
pub(crate) fn matrix(random: &mut Random, rows: &[Vec<f64>], d: usize) -> Matrix<'static> {
    let storage = random.pick(&[Storage::F64, Storage::F64, Storage::Exact, Storage::F32]);
    stored(rows, d, storage, random.chance(0.5))
}

/// Rows as a matrix.
pub(crate) fn stored(
    rows: &[Vec<f64>],
    d: usize,
    storage: Storage,
    is_dense: bool,
) -> Matrix<'static> {
    if is_dense { dense(rows, d, storage) } else { sparse(rows, d, storage) }
}

/// How the values of a matrix are stored, in words for a report.
pub(crate) fn storage_in_words(matrix: &Matrix<'_>) -> String {
    let layout = if matrix.is_sparse() { "sparse" } else { "dense" };
    let is_narrow = format!("{matrix:?}").contains("F32");
    format!("{layout} {}", if is_narrow { "f32" } else { "f64" })
}

impl Problem {
    /// The same problem over other data of the same shape.
    pub(crate) fn with_data(&self, data: Owned) -> Problem {
        let stated = match &data {
            Owned::Rows(data) if self.has_targets() => vec![targets::state(data, &self.settings)],
            Owned::Rows(data) => rows::state(data, &self.settings),
            Owned::Sequences(data) => vec![sequences::state(data, &self.settings)],
            Owned::Images(data) => vec![images::state(data, &self.settings)],
        };
        Problem { data, stated, ..self.clone() }
    }

    /// The settings of a run by one of the model's solvers.
    pub(crate) fn settings_of(&self, solver: &str) -> Settings {
        use minorant::options::common::{MEMORY, PARTS, SOLVER};
        use minorant::solver::Method;
        let mut settings = self.settings.clone();
        settings.put(&SOLVER, solver.into());
        if let Ok(method) = Method::from_name(solver) {
            settings.put(&MEMORY, self.memory.filter(|_| method.uses_memory()));
            settings.put(&PARTS, self.parts.filter(|_| method.uses_parts()));
        }
        settings
    }

    /// Whether numbers are predicted, not classes.
    pub(crate) fn has_targets(&self) -> bool {
        self.settings.model() == "regression"
    }

    pub(crate) fn tol(&self) -> f64 {
        self.settings.tol()
    }

    pub(crate) fn example_weights(&self) -> Option<Vec<f64>> {
        self.settings.example_weights()
    }

    /// What a user would type for a run, with the files that it reads.
    pub(crate) fn typed(&self, solver: &str) -> String {
        let settings = self.settings_of(solver);
        let data = self.files.first().map_or("", |(name, _)| name);
        let mut command = format!("minorant train {} {data}", settings.model());
        for (name, value) in settings.given() {
            match value {
                Value::Flag(true) => command += &format!(" --{name}"),
                Value::Flag(false) => {}
                Value::Number(x) => command += &format!(" --{name} {x:?}"),
                Value::Word(word) => command += &format!(" --{name} {word}"),
                Value::Numbers(_) => command += &format!(" --{name} {name}.txt"),
                Value::Pairs(all) => {
                    all.iter().for_each(|(l, x)| command += &format!(" --{name} {l}={x:?}"));
                }
                other => command += &format!(" --{name} {other}"),
            }
        }
        for (name, text) in &self.files {
            command += &format!("\n  {name}:");
            text.lines().for_each(|line| command += &format!("\n    {line}"));
        }
        command
    }
}
