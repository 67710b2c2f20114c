//! What a part of a tree looks at: a window of places around its own, and what is told of each of
//! them, which are the numbers of the image or the local binary patterns of these (Uříčář, Franc and
//! Hlaváč 2012). It knows no trees, and nothing of how weights are found.

use std::fmt;
use std::str::FromStr;

/// Local binary patterns of a place: one for each way in which its eight neighbours compare with it.
pub const PATTERNS: usize = 256;

/// What is told of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Descriptor {
    /// The numbers of its channels.
    #[default]
    Raw,
    /// In each channel which of the patterns it has: the neighbours from the upper left one on, row by
    /// row, that are no smaller than itself; beyond the edge of the image the nearest place stands for them.
    Patterns,
}

/// A window of columns and rows with what is told of its places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Template {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// What is told of each place.
    pub descriptor: Descriptor,
}

/// The place alone, with its numbers.
impl Default for Template {
    fn default() -> Self {
        Template { width: 1, height: 1, descriptor: Descriptor::Raw }
    }
}

/// An image as templates see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid<'g> {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) channels: usize,
    /// Numbers at (x · height + y) · channels.
    pub(super) pixels: &'g [f64],
    /// The patterns of all of them; empty where no template asks for them.
    pub(super) patterns: &'g [u8],
}

impl Grid<'_> {
    /// The patterns of all numbers.
    pub(super) fn all_patterns(&self) -> Vec<u8> {
        let (width, height) = (self.width as isize, self.height as isize);
        let value = |x: isize, y: isize, channel: usize| {
            let (x, y) = (x.clamp(0, width - 1) as usize, y.clamp(0, height - 1) as usize);
            self.pixels[(x * self.height + y) * self.channels + channel]
        };
        let mut patterns = Vec::with_capacity(self.pixels.len());
        for (x, y) in (0..width).flat_map(|x| (0..height).map(move |y| (x, y))) {
            for channel in 0..self.channels {
                let own = value(x, y, channel);
                let mut pattern = 0u8;
                for (dx, dy) in (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy))) {
                    if (dx, dy) != (0, 0) {
                        let is_no_smaller = value(x + dx, y + dy, channel) >= own;
                        pattern = pattern << 1 | u8::from(is_no_smaller);
                    }
                }
                patterns.push(pattern);
            }
        }
        patterns
    }
}

impl Template {
    /// Features of one place in the window.
    fn per_place(&self, channels: usize) -> usize {
        channels * if self.descriptor == Descriptor::Raw { 1 } else { PATTERNS }
    }

    /// Features in all; nothing where they are out of all bounds.
    pub fn checked_features(&self, channels: usize) -> Option<usize> {
        let patterns = if self.descriptor == Descriptor::Raw { 1 } else { PATTERNS };
        self.width.checked_mul(self.height)?.checked_mul(channels)?.checked_mul(patterns)
    }

    /// Features that are not 0 at a place, at most.
    pub(super) fn terms(&self, channels: usize) -> usize {
        self.width * self.height * channels
    }

    /// The places of the grid that the window has around a place, each with its number in the window. Odd
    /// windows have the place in their middle; what lies beyond the grid is left out.
    fn window(
        &self,
        grid: &Grid<'_>,
        place: usize,
    ) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (width, height) = (grid.width, grid.height);
        let (x, y) = (place / height, place % height);
        let Template { width: columns, height: rows, .. } = *self;
        let (left, above) = ((columns - 1) / 2, (rows - 1) / 2);
        let at = move |cell: usize| {
            let x = (x + cell / rows).checked_sub(left).filter(|x| *x < width)?;
            let y = (y + cell % rows).checked_sub(above).filter(|y| *y < height)?;
            Some((cell, x * height + y))
        };
        (0..columns * rows).filter_map(at)
    }

    /// The features at a place that are not 0, in order.
    pub(super) fn for_each_feature(
        &self,
        grid: &Grid<'_>,
        place: usize,
        mut each: impl FnMut(usize, f64),
    ) {
        let (channels, per_place) = (grid.channels, self.per_place(grid.channels));
        for (cell, seen) in self.window(grid, place) {
            for channel in 0..channels {
                let at = seen * channels + channel;
                match self.descriptor {
                    Descriptor::Raw => each(cell * per_place + channel, grid.pixels[at]),
                    Descriptor::Patterns => {
                        let pattern = usize::from(grid.patterns[at]);
                        each(cell * per_place + channel * PATTERNS + pattern, 1.0);
                    }
                }
            }
        }
    }

    /// The score of every place, which is added up in the order of the features.
    pub(super) fn scores(&self, grid: &Grid<'_>, weights: &[f64]) -> Vec<f64> {
        if *self == Template::default() {
            let score = |x: &[f64]| weights.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
            return grid.pixels.chunks_exact(grid.channels).map(score).collect();
        }
        let score = |place: usize| {
            let mut sum = 0.0;
            self.for_each_feature(grid, place, |at, x| sum += weights[at] * x);
            sum
        };
        (0..grid.width * grid.height).map(score).collect()
    }

    /// The runs of features of which one at most is not 0 at a place, each with its channel.
    pub(super) fn runs(
        &self,
        channels: usize,
    ) -> impl Iterator<Item = (std::ops::Range<usize>, usize)> + use<> {
        let each = if self.descriptor == Descriptor::Raw { 1 } else { PATTERNS };
        (0..self.terms(channels)).map(move |k| (k * each..(k + 1) * each, k % channels))
    }
}

/// As users type it: `5x3` or `5x3:lbp`.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let descriptor = if self.descriptor == Descriptor::Raw { "" } else { ":lbp" };
        write!(f, "{}x{}{descriptor}", self.width, self.height)
    }
}

impl FromStr for Template {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "expected columns x rows, as in 5x3, with :lbp or :raw behind them, found '{text}'"
            )
        };
        let (size, descriptor) = text.split_once(':').unwrap_or((text, "raw"));
        let descriptor = match descriptor {
            "raw" => Descriptor::Raw,
            "lbp" => Descriptor::Patterns,
            _ => return Err(wrong()),
        };
        let (width, height) = size.split_once('x').ok_or_else(wrong)?;
        let number = |text: &str| text.parse::<usize>().ok().filter(|n| (1..=4096).contains(n));
        let width = number(width).ok_or_else(wrong)?;
        let height = number(height).ok_or_else(wrong)?;
        Ok(Template { width, height, descriptor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Lcg;

    #[test]
    fn templates_are_read_as_they_are_written() {
        for text in ["1x1", "5x3", "2x7:lbp"] {
            assert_eq!(text.parse::<Template>().unwrap().to_string(), text);
        }
        assert_eq!("3x3:raw".parse::<Template>().unwrap().to_string(), "3x3");
        for text in ["", "3", "0x3", "3x-1", "3x3:sift", "3x3:", "9999x1"] {
            assert!(text.parse::<Template>().is_err(), "{text}");
        }
    }

    #[test]
    fn patterns_tell_which_neighbours_are_no_smaller() {
        // Columns of 3 rows: the middle of the second column is 5.
        let pixels = [9.0, 1.0, 5.0, 2.0, 5.0, 7.0, 3.0, 8.0, 4.0];
        let grid = Grid { width: 3, height: 3, channels: 1, pixels: &pixels, patterns: &[] };
        // Row by row around it: 9 2 3 / 1 . 8 / 5 7 4.
        assert_eq!(grid.all_patterns()[4], 0b1000_1110);
        // At the corner the nearest places stand for those beyond: 9 is no smaller than itself.
        assert_eq!(grid.all_patterns()[0], 0b1101_0000);
    }

    #[test]
    fn scores_are_sums_over_the_features_in_the_window() {
        let mut rng = Lcg::new(4);
        let (width, height, channels) = (4, 3, 2);
        let pixels: Vec<f64> = (0..width * height * channels).map(|_| rng.signed()).collect();
        let bare = Grid { width, height, channels, pixels: &pixels, patterns: &[] };
        let patterns = bare.all_patterns();
        let grid = Grid { patterns: &patterns, ..bare };
        for text in ["1x1", "1x1:lbp", "3x3", "2x1", "2x5:lbp", "4x4"] {
            let template: Template = text.parse().unwrap();
            let features = template.checked_features(channels).unwrap();
            let weights: Vec<f64> = (0..features).map(|_| rng.signed()).collect();
            let scores = template.scores(&grid, &weights);
            for (place, score) in scores.iter().enumerate() {
                // Every place of the grid, by what it is to this one.
                let mut expected = 0.0;
                let mut seen = 0;
                for other in 0..width * height {
                    let far = |a: usize, b: usize, size: usize| {
                        let at = a as isize - b as isize + (size as isize - 1) / 2;
                        usize::try_from(at).ok().filter(|at| *at < size)
                    };
                    let column = far(other / height, place / height, template.width);
                    let row = far(other % height, place % height, template.height);
                    let (Some(column), Some(row)) = (column, row) else { continue };
                    let cell = column * template.height + row;
                    for channel in 0..channels {
                        let at = other * channels + channel;
                        expected += match template.descriptor {
                            Descriptor::Raw => weights[cell * channels + channel] * pixels[at],
                            Descriptor::Patterns => {
                                weights[(cell * channels + channel) * PATTERNS
                                    + usize::from(patterns[at])]
                            }
                        };
                        seen += 1;
                    }
                }
                assert!((score - expected).abs() < 1e-12, "{text} {place}");
                let mut told = 0;
                template.for_each_feature(&grid, place, |at, _| {
                    assert!(at < features);
                    told += 1;
                });
                assert_eq!(told, seen, "{text}");
                assert!(told <= template.terms(channels));
            }
        }
    }
}
