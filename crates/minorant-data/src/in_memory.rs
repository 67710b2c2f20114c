//! Data sets of what is in memory already: rows of numbers, or one slice of them, with labels that
//! are numbers, truth values or words. Classes are ordered as readers order them. Nothing here knows
//! of files.

use crate::collect::order_classes;
use crate::dataset::{Dataset, Label, LabelRows, Labels};
use crate::label_table::LabelTable;
use minorant_linalg::{Matrix, MatrixError, Values};
use std::borrow::Cow;

impl From<f64> for Label {
    fn from(number: f64) -> Label {
        Label::Number(number + 0.0)
    }
}

impl From<i64> for Label {
    fn from(number: i64) -> Label {
        Label::Number(number as f64)
    }
}

impl From<i32> for Label {
    fn from(number: i32) -> Label {
        Label::Number(f64::from(number))
    }
}

/// True is 1, false is 0.
impl From<bool> for Label {
    fn from(is_true: bool) -> Label {
        Label::Number(f64::from(u8::from(is_true)))
    }
}

/// A number where the text reads as one, as in files.
impl From<&str> for Label {
    fn from(text: &str) -> Label {
        Label::parse(text)
    }
}

/// A number where the text reads as one, as in files.
impl From<String> for Label {
    fn from(text: String) -> Label {
        Label::parse(&text)
    }
}

impl Labels {
    /// One label a row.
    pub fn of<L: Clone + Into<Label>>(labels: &[L]) -> Labels {
        let mut table = LabelTable::default();
        let found: Vec<u32> = labels.iter().map(|l| table.insert(&l.clone().into())).collect();
        let (classes, numbers) = ordered(table);
        let rows = found.into_iter().map(|id| numbers[id as usize]).collect();
        Labels { classes, rows: LabelRows::Single(rows) }
    }

    /// A set of labels a row.
    pub fn of_sets<L: Clone + Into<Label>, S: AsRef<[L]>>(sets: &[S]) -> Labels {
        let mut table = LabelTable::default();
        let mut number = |l: &L| table.insert(&l.clone().into());
        let found: Vec<Vec<u32>> =
            sets.iter().map(|set| set.as_ref().iter().map(&mut number).collect()).collect();
        let (classes, numbers) = ordered(table);
        let (mut starts, mut items) = (vec![0], Vec::new());
        for set in found {
            let mut set: Vec<u32> = set.into_iter().map(|id| numbers[id as usize]).collect();
            set.sort_unstable();
            set.dedup();
            items.extend(set);
            starts.push(items.len() as u64);
        }
        Labels { classes, rows: LabelRows::Sets { starts, items } }
    }

    /// One target a row.
    pub fn of_targets(targets: &[f64]) -> Labels {
        // Both zeros are one target.
        let values = targets.iter().map(|target| target + 0.0).collect();
        Labels { classes: Vec::new(), rows: LabelRows::Numbers { width: 1, values } }
    }

    /// No labels: rows that are to be predicted.
    pub fn none() -> Labels {
        Labels { classes: Vec::new(), rows: LabelRows::None }
    }
}

/// The classes in order, and the number of each label in it.
fn ordered(table: LabelTable) -> (Vec<Label>, Vec<u32>) {
    let met = table.len();
    order_classes(table.into_labels(), met)
}

/// What can be the labels of rows; `()` stands for none.
pub trait IntoLabels {
    /// The labels.
    fn into_labels(self) -> Labels;
}

impl IntoLabels for Labels {
    fn into_labels(self) -> Labels {
        self
    }
}

impl IntoLabels for () {
    fn into_labels(self) -> Labels {
        Labels::none()
    }
}

/// Targets of regression, one a row.
///
/// ```
/// use minorant_data::{Dataset, Targets};
///
/// let data = Dataset::from_rows(&[[0.0], [1.0], [2.0]], Targets(&[0.5, 1.5, 1.25]))?;
/// assert_eq!(data.labels.len(), 3);
/// # Ok::<(), minorant_linalg::MatrixError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Targets<'y>(pub &'y [f64]);

impl IntoLabels for Targets<'_> {
    fn into_labels(self) -> Labels {
        Labels::of_targets(self.0)
    }
}

impl<L: Clone + Into<Label>> IntoLabels for &[L] {
    fn into_labels(self) -> Labels {
        Labels::of(self)
    }
}

impl<L: Clone + Into<Label>, const N: usize> IntoLabels for &[L; N] {
    fn into_labels(self) -> Labels {
        Labels::of(self)
    }
}

impl<L: Clone + Into<Label>> IntoLabels for &Vec<L> {
    fn into_labels(self) -> Labels {
        Labels::of(self)
    }
}

impl Dataset<'static> {
    /// Rows of numbers, each with as many as the first, and their labels: one a row, or `()` for
    /// rows that are to be predicted.
    ///
    /// ```
    /// use minorant_data::Dataset;
    ///
    /// let rows = [[0.0, 1.0], [1.0, 0.5], [0.2, 0.9]];
    /// let data = Dataset::from_rows(&rows, &["cat", "dog", "cat"])?;
    /// assert_eq!(data.labels.classes.len(), 2);
    /// let unlabelled = Dataset::from_rows(&rows, ())?;
    /// assert!(unlabelled.labels.is_empty());
    /// # Ok::<(), minorant_linalg::MatrixError>(())
    /// ```
    pub fn from_rows<R: AsRef<[f64]>>(
        rows: &[R],
        labels: impl IntoLabels,
    ) -> Result<Self, MatrixError> {
        let columns = rows.first().map_or(0, |row| row.as_ref().len());
        let mut values = Vec::with_capacity(rows.len() * columns);
        for row in rows.iter().map(AsRef::as_ref) {
            if row.len() != columns {
                let what = "values in every row";
                return Err(MatrixError::Length { what, expected: columns, found: row.len() });
            }
            values.extend_from_slice(row);
        }
        checked(Matrix::dense(rows.len(), columns, values.into())?, labels)
    }
}

impl<'a> Dataset<'a> {
    /// Numbers row after row, so many a row, and the labels of the rows; `()` stands for none. The
    /// numbers stay where they are.
    pub fn from_slice(
        values: &'a [f64],
        columns: usize,
        labels: impl IntoLabels,
    ) -> Result<Self, MatrixError> {
        let rows = values.len() / columns.max(1);
        checked(Matrix::dense(rows, columns, Values::F64(Cow::Borrowed(values)))?, labels)
    }

    /// The rows of an array, and their labels; `()` stands for none. Numbers that lie row after row
    /// stay where they are; others are copied.
    #[cfg(feature = "ndarray")]
    pub fn from_array(
        rows: ndarray::ArrayView2<'a, f64>,
        labels: impl IntoLabels,
    ) -> Result<Self, MatrixError> {
        let (count, columns) = rows.dim();
        let values = match rows.to_slice() {
            Some(values) => Cow::Borrowed(values),
            None => Cow::Owned(rows.iter().copied().collect()),
        };
        checked(Matrix::dense(count, columns, Values::F64(values))?, labels)
    }
}

/// The data set, if there is a finite label for every row, or none for any.
fn checked<'a>(features: Matrix<'a>, labels: impl IntoLabels) -> Result<Dataset<'a>, MatrixError> {
    let labels = labels.into_labels();
    let has_none = labels.rows == LabelRows::None;
    if !has_none && labels.len() != features.rows() {
        let (expected, found) = (features.rows(), labels.len());
        return Err(MatrixError::Length { what: "labels, one a row", expected, found });
    }
    let is_finite = |label: &Label| !matches!(label, Label::Number(x) if !x.is_finite());
    let targets = match &labels.rows {
        LabelRows::Numbers { values, .. } => &values[..],
        _ => &[],
    };
    if !labels.classes.iter().all(is_finite) || !targets.iter().all(|y| y.is_finite()) {
        return Err(MatrixError::NotFinite);
    }
    Ok(Dataset { features, labels })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [[f64; 2]; 3] = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];

    fn rows_of(data: &Dataset<'_>) -> Vec<Vec<(usize, f64)>> {
        (0..data.features.rows()).map(|i| data.features.row(i).collect()).collect()
    }

    #[test]
    fn rows_of_any_shape_are_the_same_data() {
        let labels = [1, -1, 1];
        let of_arrays = Dataset::from_rows(&ROWS, &labels).expect("rows");
        let vectors: Vec<Vec<f64>> = ROWS.iter().map(|row| row.to_vec()).collect();
        let of_vectors = Dataset::from_rows(&vectors, &labels.to_vec()).expect("rows");
        let values = ROWS.concat();
        let of_slice = Dataset::from_slice(&values, 2, &[1.0, -1.0, 1.0][..]).expect("rows");
        for other in [&of_vectors, &of_slice] {
            assert_eq!(rows_of(other), rows_of(&of_arrays));
            assert_eq!(other.labels, of_arrays.labels);
        }
    }

    #[test]
    fn labels_are_numbers_truth_values_or_words() {
        let classes = |labels: Labels| -> Vec<String> {
            labels.classes.iter().map(Label::to_string).collect()
        };
        assert_eq!(classes(Labels::of(&[10i64, 9, 10])), ["9", "10"]);
        assert_eq!(classes(Labels::of(&[true, false])), ["0", "1"]);
        assert_eq!(classes(Labels::of(&["b", "a", "b"])), ["a", "b"]);
        assert_eq!(classes(Labels::of(&["+1", "-1"])), ["-1", "1"]);
        let sets = Labels::of_sets(&[vec![3, 1], vec![], vec![1, 1]]);
        assert_eq!((sets.row(0), sets.row(1), sets.row(2)), (&[0, 1][..], &[][..], &[0][..]));
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let told = |found: Result<Dataset<'_>, MatrixError>| found.expect_err("").to_string();
        let ragged = vec![vec![1.0, 2.0], vec![3.0]];
        assert_eq!(
            told(Dataset::from_rows(&ragged, ())),
            "expected 2 values in every row, found 1"
        );
        assert_eq!(
            told(Dataset::from_rows(&ROWS, &[1.0])),
            "expected 3 labels, one a row, found 1"
        );
        assert!(told(Dataset::from_rows(&ROWS, &[1.0, f64::NAN, 2.0])).contains("finite"));
        assert!(told(Dataset::from_rows(&[[f64::INFINITY]], ())).contains("finite"));
        assert!(told(Dataset::from_slice(&[1.0, 2.0, 3.0], 2, ())).contains("values"));
    }

    #[cfg(feature = "ndarray")]
    #[test]
    fn arrays_in_either_order_are_the_same_data() {
        let array = ndarray::arr2(&ROWS);
        let turned = array.t().as_standard_layout().into_owned();
        let lent = Dataset::from_array(array.view(), &[1, 2, 1]).expect("rows");
        let copied = Dataset::from_array(turned.t(), &[1, 2, 1]).expect("rows");
        assert_eq!(rows_of(&lent), rows_of(&copied));
    }
}
