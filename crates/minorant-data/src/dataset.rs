//! What readers give: a feature matrix and the labels of its rows. Nothing here knows of files.

use crate::label_table::LabelTable;
use minorant_linalg::{Matrix, MatrixError};
use std::cmp::Ordering;
use std::fmt;

/// Examples as rows of features, with their labels. Readers give data sets that own everything;
/// whoever has the features in memory already may lend them.
#[derive(Debug, Clone)]
pub struct Dataset<'a> {
    /// One row per example.
    pub features: Matrix<'a>,
    /// The examples' labels, in the same order.
    pub labels: Labels,
}

impl Dataset<'_> {
    /// The rows with these numbers, in this order; classes stay as they are.
    pub fn select_rows(&self, rows: &[usize]) -> Dataset<'static> {
        let labels = match &self.labels.rows {
            LabelRows::Single(labels) => {
                LabelRows::Single(rows.iter().map(|&row| labels[row]).collect())
            }
            LabelRows::Sets { .. } => {
                let (mut starts, mut items) = (vec![0], Vec::new());
                for &row in rows {
                    items.extend_from_slice(self.labels.row(row));
                    starts.push(items.len() as u64);
                }
                LabelRows::Sets { starts, items }
            }
            LabelRows::Numbers { width, values } => {
                let of_row = |&row: &usize| &values[row * width..(row + 1) * width];
                let values = rows.iter().flat_map(of_row).copied().collect();
                LabelRows::Numbers { width: *width, values }
            }
            LabelRows::None => LabelRows::None,
        };
        Dataset {
            features: self.features.select_rows(rows),
            labels: Labels { classes: self.labels.classes.clone(), rows: labels },
        }
    }

    /// These rows with those of another set under them, which are labelled 0 whatever labels they
    /// have: rows to learn from without their labels.
    pub fn with_unlabelled(&self, more: &Dataset<'_>) -> Result<Dataset<'static>, MatrixError> {
        let features = self.features.stack(&more.features)?;
        let mut classes = self.labels.classes.clone();
        let zero = Label::Number(0.0);
        let at = classes.iter().position(|class| *class == zero).unwrap_or_else(|| {
            let at = classes.iter().position(|class| zero.in_order(class) == Ordering::Less);
            let at = at.unwrap_or(classes.len());
            classes.insert(at, zero);
            at
        });
        let is_new = classes.len() > self.labels.classes.len();
        let number = |z: u32| z + u32::from(is_new && z as usize >= at);
        let LabelRows::Single(rows) = &self.labels.rows else {
            return Ok(Dataset { features, labels: self.labels.clone() });
        };
        let known = rows.iter().map(|&z| number(z));
        let rows = known.chain((0..more.features.rows()).map(|_| at as u32)).collect();
        Ok(Dataset { features, labels: Labels { classes, rows: LabelRows::Single(rows) } })
    }
}

/// The labels of all rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Labels {
    /// The distinct labels: ordered numerically, or alphabetically when any is not a number.
    pub classes: Vec<Label>,
    /// For each row, which of the classes it has.
    pub rows: LabelRows,
}

/// Class numbers (positions in [`Labels::classes`]) by row, or the targets of regression.
#[derive(Debug, Clone, PartialEq)]
pub enum LabelRows {
    /// One class per row.
    Single(Vec<u32>),
    /// Any number of classes per row: row `i` has `items[starts[i]..starts[i + 1]]`.
    Sets {
        /// Where each row's classes begin, with the end of the last row as the last element.
        starts: Vec<u64>,
        /// Class numbers, ascending within a row.
        items: Vec<u32>,
    },
    /// Targets, numbers that are to be met: row `i` has `values[i * width..(i + 1) * width]`. There are
    /// no classes then.
    Numbers {
        /// Targets of a row.
        width: usize,
        /// Row by row, each finite.
        values: Vec<f64>,
    },
    /// The file has no labels.
    None,
}

/// How labels are to be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelKind {
    /// Two classes.
    Binary,
    /// One of several classes.
    Multiclass,
    /// A set of classes.
    Multilabel,
    /// Numbers to be met, for regression.
    Targets,
}

impl Labels {
    /// Number of labelled rows (0 when the file has no labels).
    pub fn len(&self) -> usize {
        match &self.rows {
            LabelRows::Single(rows) => rows.len(),
            LabelRows::Sets { starts, .. } => starts.len().saturating_sub(1),
            LabelRows::Numbers { width, values } => values.len() / (*width).max(1),
            LabelRows::None => 0,
        }
    }

    /// Whether no row has a label.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the labels are by themselves, or nothing where there are none.
    pub fn kind(&self) -> Option<LabelKind> {
        match &self.rows {
            LabelRows::Sets { .. } => Some(LabelKind::Multilabel),
            LabelRows::Single(_) if self.classes.len() <= 2 => Some(LabelKind::Binary),
            LabelRows::Single(_) => Some(LabelKind::Multiclass),
            LabelRows::Numbers { .. } => Some(LabelKind::Targets),
            LabelRows::None => None,
        }
    }

    /// The class numbers of one row; none where the row has targets.
    ///
    /// # Panics
    /// When `row` is not below [`Labels::len`].
    pub fn row(&self, row: usize) -> &[u32] {
        match &self.rows {
            LabelRows::Single(rows) => &rows[row..=row],
            LabelRows::Sets { starts, items } => {
                &items[starts[row] as usize..starts[row + 1] as usize]
            }
            LabelRows::Numbers { .. } | LabelRows::None => &[],
        }
    }

    /// For each class, in how many rows it occurs.
    pub fn counts(&self) -> Vec<usize> {
        let items: &[u32] = match &self.rows {
            LabelRows::Single(rows) => rows,
            LabelRows::Sets { items, .. } => items,
            LabelRows::Numbers { .. } | LabelRows::None => &[],
        };
        let mut counts = vec![0; self.classes.len()];
        for &class in items {
            counts[class as usize] += 1;
        }
        counts
    }

    /// For each of these classes its position in `others`, or nothing where it does not occur
    /// there: translates the labels of a test file to the class order of a model.
    pub fn remap(&self, others: &[Label]) -> Vec<Option<u32>> {
        let mut table = LabelTable::default();
        let mut first_at = Vec::with_capacity(others.len());
        for (at, label) in others.iter().enumerate() {
            if table.insert(label) as usize == first_at.len() {
                first_at.push(at as u32);
            }
        }
        self.classes.iter().map(|c| table.get(c).map(|id| first_at[id as usize])).collect()
    }
}

/// A label as the file gives it: a number where it reads as one, else text.
#[derive(Debug, Clone)]
pub enum Label {
    /// A finite number; `+1`, `1` and `1.0` are the same label.
    Number(f64),
    /// Any other text.
    Text(String),
}

impl Label {
    /// The label that `text` spells.
    pub fn parse(text: &str) -> Label {
        match crate::number::parse(text.as_bytes()) {
            Ok(number) => Label::Number(number + 0.0),
            Err(_) => Label::Text(text.to_owned()),
        }
    }

    /// Numerical order among numbers, alphabetical order otherwise.
    pub(crate) fn in_order(&self, other: &Label) -> Ordering {
        match (self, other) {
            (Label::Number(a), Label::Number(b)) => a.total_cmp(b),
            (Label::Text(a), Label::Text(b)) => a.cmp(b),
            _ => self.to_string().cmp(&other.to_string()),
        }
    }
}

impl PartialEq for Label {
    fn eq(&self, other: &Label) -> bool {
        match (self, other) {
            (Label::Number(a), Label::Number(b)) => a == b,
            (Label::Text(a), Label::Text(b)) => a == b,
            _ => false,
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Very large and very small numbers print as powers of ten, not as rows of zeros.
            Label::Number(n) if *n != 0.0 && !(1e-5..1e17).contains(&n.abs()) => {
                write!(f, "{n:e}")
            }
            Label::Number(n) => write!(f, "{n}"),
            Label::Text(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_print_as_they_are_written() {
        let shown = |text: &str| Label::parse(text).to_string();
        assert_eq!(shown("+1"), "1");
        assert_eq!(shown("-1.0"), "-1");
        assert_eq!(shown("2.5"), "2.5");
        assert_eq!(shown("-0"), "0");
        assert_eq!(shown("1e300"), "1e300");
        assert_eq!(shown("cat"), "cat");
        assert_eq!(Label::parse("+1"), Label::Number(1.0));
    }

    #[test]
    fn counts_and_remap() {
        let labels = Labels {
            classes: vec![Label::Number(1.0), Label::Number(2.0), Label::Number(7.0)],
            rows: LabelRows::Sets { starts: vec![0, 2, 2, 3], items: vec![0, 2, 2] },
        };
        assert_eq!(labels.len(), 3);
        assert_eq!(labels.counts(), [1, 0, 2]);
        assert_eq!(labels.row(1), [0u32; 0]);
        let others = [Label::Number(7.0), Label::Text("x".into()), Label::Number(1.0)];
        assert_eq!(labels.remap(&others), [Some(2), None, Some(0)]);
        assert_eq!(labels.kind(), Some(LabelKind::Multilabel));
    }
}
