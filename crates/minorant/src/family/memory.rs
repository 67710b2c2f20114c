//! What is too large: more examples than are counted, and what a run on rows takes of the memory at the
//! least, estimated before anything is allocated. A sentence is better than an abort.

use super::linear::{MULTICLASS, Multiclass};
use super::streaming::Streaming;
use super::{Data, Settings, TrainError, quarter_of_memory, refuse};
use crate::options::common::MAX_MEMORY;
use minorant_data::{Dataset, LabelRows};

/// Runs that need less than this are not refused, whatever is allowed for planes and kernels.
pub(super) const ALWAYS: u128 = 64 << 20;
/// Vectors of weights that every method holds: the point, its slope, a plane, and a trial.
pub(super) const POINTS: u128 = 4;
/// Outputs of all rows that it holds: those of the point, of a trial, and of two points on the line
/// between them.
const OUTPUTS: u128 = 4;

/// Most examples: orders of examples, kinks of losses and columns of the data count them in 32 bits.
const EXAMPLES: usize = u32::MAX as usize;

/// Refuses more examples than can be counted.
fn check_count(examples: usize) -> Result<(), TrainError> {
    if examples <= EXAMPLES {
        return Ok(());
    }
    refuse(format!(
        "{examples} examples are more than the {EXAMPLES} that a model can be trained on"
    ))
}

/// Refuses a run that is too large: more examples than can be counted, or weights and outputs that
/// cannot be had.
pub(crate) fn check_size(data: Data<'_>, settings: &Settings) -> Result<(), TrainError> {
    check_count(data.examples())?;
    let Data::Rows(data) = data else { return Ok(()) };
    let given = settings.get(&MAX_MEMORY);
    let most = given.or_else(|| quarter_of_memory().map(|bytes| 4 * bytes));
    let Some(most) = most.map(|bytes| u128::from(bytes).max(ALWAYS)) else { return Ok(()) };
    let needs = Needed::of(data, settings);
    let (rows, features) = (data.features.rows(), data.features.cols());
    let needed = needs.bytes();
    if needed <= most {
        return Ok(());
    }
    let Needed { classes, is_joint, apart, .. } = needs;
    let advice = match is_joint && apart <= most {
        true => format!("--multiclass ovr needs {}", in_words(apart)),
        false => "fewer features or classes need less".into(),
    };
    let of_classes = if classes > 1 { format!(" and {classes} classes") } else { String::new() };
    refuse(format!(
        "{rows} rows with {features} features{of_classes} need {} of memory for weights and outputs, \
         of {} that may be used; {advice}, and --max-memory allows more",
        in_words(needed),
        in_words(most),
    ))
}

/// The bytes that are left for planes: those that are allowed, less what rows, weights and outputs
/// take; a quarter of the machine's memory where nothing is said.
pub(crate) fn left_for_planes(data: Data<'_>, settings: &Settings) -> Option<u64> {
    let Some(given) = settings.get(&MAX_MEMORY) else { return quarter_of_memory() };
    let taken = match (Streaming::plan(data, settings), data) {
        (Ok(Some(plan)), _) => plan.taken(),
        (_, Data::Rows(rows)) => Needed::of(rows, settings).bytes() + rows.features.bytes() as u128,
        _ => 0,
    };
    Some(given.saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX)))
}

/// What the weights and outputs of a run on rows take.
pub(super) struct Needed {
    /// Classes with outputs of their own.
    classes: usize,
    /// Whether one problem has the outputs of all of them.
    is_joint: bool,
    /// Bytes of such a problem.
    together: u128,
    /// Bytes of one problem for each class, one after the other.
    apart: u128,
}

impl Needed {
    pub(super) fn of(data: &Dataset<'_>, settings: &Settings) -> Self {
        let is_kernel = settings.entry().option("kernel").is_some();
        let by_class = !is_kernel && settings.entry().option(MULTICLASS.spec.name).is_some();
        let classes = if by_class { classes(data) } else { 1 };
        let (n, d) = (data.features.rows() as u128, data.features.cols() as u128);
        let need = |k: u128| match is_kernel {
            // Rows of the kernel matrix are products with one row at full length.
            true => 8 * (2 * d + OUTPUTS * n),
            false => 8 * (POINTS * d * k + OUTPUTS * n * k),
        };
        let stored = 8 * d * classes as u128;
        Needed {
            classes,
            is_joint: classes > 1 && settings.get(&MULTICLASS) != Multiclass::OneVsRest,
            together: need(classes as u128),
            apart: need(1).max(stored),
        }
    }

    /// Outputs of a row in one problem.
    pub(super) fn outputs(&self) -> u128 {
        if self.is_joint { self.classes as u128 } else { 1 }
    }

    pub(super) fn bytes(&self) -> u128 {
        if self.is_joint { self.together } else { self.apart }
    }
}

/// Classes that have outputs of their own in one problem.
fn classes(data: &Dataset<'_>) -> usize {
    let classes = data.labels.classes.len();
    match &data.labels.rows {
        LabelRows::Single(_) if classes > 2 => classes,
        LabelRows::Sets { .. } => classes.max(1),
        _ => 1,
    }
}

/// A size as people say it.
pub(super) fn in_words(bytes: u128) -> String {
    match bytes {
        0..1_000_000_000 => format!("{} MB", bytes.div_ceil(1_000_000)),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_counted_in_32_bits() {
        for count in [1, EXAMPLES - 1, EXAMPLES] {
            assert!(check_count(count).is_ok());
        }
        for count in [EXAMPLES + 1, usize::MAX] {
            let told = check_count(count).expect_err("too many").to_string();
            assert!(told.contains("more than the 4294967295 that a model can"), "{told}");
        }
    }
}
