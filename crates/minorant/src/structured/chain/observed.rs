//! Pairs of attributes and labels that were observed: sums over the lists of weights of a token's
//! attributes, and back. Passes over all sequences have the weights of frequent attributes once
//! more, as full rows with a number for every label: those are added in a few vector operations,
//! where the labels of a list come one by one. Sums have the same bits either way.

use super::shape::{ChainShape, Pairs, add_row};
use super::sums::padded;
use minorant_linalg::Matrix;
use minorant_linalg::dense::dispatch;
use std::ops::Range;

/// Lists shorter than this, or than this share of the labels, are as fast as rows.
const FEWEST: usize = 4;
const SHARE: usize = 3;

/// Marks the place of a row.
const ROW: u32 = u32::MAX;

/// Which attributes have a row.
#[derive(Debug)]
pub(super) struct Frequent {
    /// For each attribute the beginning and the end of its list, or the number of its row and
    /// [`ROW`]; empty where no attribute has a row.
    places: Vec<[u32; 2]>,
    attributes: Vec<u32>,
    width: usize,
}

/// Where the weights of an attribute of a token lie: in a full row where there is no end.
#[derive(Clone, Copy)]
struct Met {
    start: usize,
    end: Option<usize>,
    value: f64,
}

/// The attributes of some tokens: their weights' places first, the weights later. A processor that
/// waits for one place can look for the next meanwhile, but does not know how long a list will be
/// before it has its place.
struct Gathered {
    met: Vec<Met>,
    /// How many attributes each token has.
    counts: Vec<usize>,
}

impl Frequent {
    pub(super) fn new(shape: &ChainShape) -> Self {
        let width = padded(shape.labels);
        let none = Frequent { places: Vec::new(), attributes: Vec::new(), width };
        let Pairs::Observed { starts, labels, .. } = &shape.pairs else { return none };
        if labels.len() >= ROW as usize {
            return none;
        }
        let fewest = FEWEST.max(shape.labels / SHARE);
        let mut attributes = Vec::new();
        let mut place = |(attribute, list): (usize, &[usize])| {
            if list[1] - list[0] < fewest {
                return [list[0] as u32, list[1] as u32];
            }
            attributes.push(attribute as u32);
            [attributes.len() as u32 - 1, ROW]
        };
        let places = starts.windows(2).enumerate().map(&mut place).collect();
        Frequent { places, attributes, width }
    }

    /// Number of entries of all rows.
    pub(super) fn len(&self) -> usize {
        self.attributes.len() * self.width
    }

    #[inline(always)]
    fn met(&self, attribute: usize, value: f64) -> Met {
        let [start, end] = self.places[attribute];
        let row = end == ROW;
        let start = if row { start as usize * self.width } else { start as usize };
        Met { start, end: (!row).then_some(end as usize), value }
    }

    /// Calls `each` with the place of an entry in the rows and that of its weight.
    fn for_each(&self, pairs: &Pairs, mut each: impl FnMut(usize, usize)) {
        let Pairs::Observed { starts, labels, .. } = pairs else { return };
        for (row, &attribute) in self.attributes.iter().enumerate() {
            for at in starts[attribute as usize]..starts[attribute as usize + 1] {
                each(row * self.width + labels[at] as usize, at);
            }
        }
    }

    /// Writes the rows; places without a weight stay as they are.
    pub(super) fn unfold(&self, pairs: &Pairs, w: &[f64], rows: &mut [f64]) {
        self.for_each(pairs, |entry, weight| rows[entry] = w[weight]);
    }

    /// The transposed: adds the rows to the weights; places without a weight count for nothing.
    pub(super) fn fold_back(&self, pairs: &Pairs, rows: &[f64], to: &mut [f64]) {
        self.for_each(pairs, |entry, weight| to[weight] += rows[entry]);
    }
}

impl Gathered {
    /// Rows are looked for where there are some.
    #[inline(always)]
    fn new(
        tokens: &Matrix<'_>,
        rows: Range<usize>,
        starts: &[usize],
        frequent: Option<&Frequent>,
    ) -> Self {
        let (mut met, mut counts) = (Vec::new(), Vec::with_capacity(rows.len()));
        for row in rows {
            let before = met.len();
            tokens.for_each_in_row(
                row,
                #[inline(always)]
                |j, value| {
                    met.push(match frequent {
                        Some(frequent) => frequent.met(j, value),
                        None => Met { start: starts[j], end: Some(starts[j + 1]), value },
                    });
                },
            );
            counts.push(met.len() - before);
        }
        Gathered { met, counts }
    }
}

/// The lists of weights, and the rows where a pass has them.
pub(super) struct Lists<'p> {
    pub(super) starts: &'p [usize],
    pub(super) labels: &'p [u16],
    pub(super) frequent: Option<&'p Frequent>,
}

impl Lists<'_> {
    /// Writes the sums over the attributes of some tokens, `k` labels each, in the attributes' order.
    pub(super) fn write_sums(
        &self,
        tokens: &Matrix<'_>,
        rows: Range<usize>,
        k: usize,
        weights: (&[f64], &[f64]),
        out: &mut [f64],
    ) {
        let (w, unfolded) = weights;
        dispatch(
            #[inline(always)]
            || {
                let width = padded(k);
                let mut sums = vec![0.0; width];
                let gathered = Gathered::new(tokens, rows, self.starts, self.frequent);
                let mut rest = &gathered.met[..];
                for (&count, out) in gathered.counts.iter().zip(out.chunks_exact_mut(k)) {
                    let (met, later) = rest.split_at(count);
                    rest = later;
                    sums.fill(0.0);
                    for &Met { start, end, value } in met {
                        let Some(end) = end else {
                            add_row(value, &unfolded[start..start + width], &mut sums);
                            continue;
                        };
                        for (&z, w) in self.labels[start..end].iter().zip(&w[start..end]) {
                            sums[z as usize] += value * w;
                        }
                    }
                    out.copy_from_slice(&sums[..k]);
                }
            },
        );
    }

    /// The transposed, times `weight`; calls `each` with the sum of the squares of each token's
    /// values.
    pub(super) fn add_back(
        &self,
        tokens: &Matrix<'_>,
        rows: Range<usize>,
        k: usize,
        (weight, own): (f64, &[f64]),
        (to, unfolded): (&mut [f64], &mut [f64]),
        mut each: impl FnMut(f64),
    ) {
        dispatch(
            #[inline(always)]
            || {
                let width = padded(k);
                let mut of_node = vec![0.0; width];
                let gathered = Gathered::new(tokens, rows, self.starts, self.frequent);
                let mut rest = &gathered.met[..];
                for (&count, own) in gathered.counts.iter().zip(own.chunks_exact(k)) {
                    let (met, later) = rest.split_at(count);
                    rest = later;
                    of_node[..k].copy_from_slice(own);
                    let mut square = 0.0;
                    for &Met { start, end, value } in met {
                        let factor = weight * value;
                        square += value * value;
                        let Some(end) = end else {
                            add_row(factor, &of_node, &mut unfolded[start..start + width]);
                            continue;
                        };
                        for (&z, to) in self.labels[start..end].iter().zip(&mut to[start..end]) {
                            *to += factor * of_node[z as usize];
                        }
                    }
                    each(square);
                }
            },
        );
    }
}
