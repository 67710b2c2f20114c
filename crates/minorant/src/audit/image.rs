//! The audit of segmentations and of trees of parts: features, losses and the argmax once more, in
//! their plainest form. Scores are added up in the order of the weights, and outputs are compared
//! first to last, as the models' definitions say: where outputs tie, that order decides.

use super::{Below, Minorant, PlainLoss};
use crate::structured::tree::{Descriptor, Template};
use minorant_data::{PartsImage, Plate, TreeShape};
use minorant_linalg::sum::Sum;
use std::fmt::Debug;

/// A structure in its plainest form; outputs are numbers.
pub trait PlainStructure: Sync + Debug {
    /// The true output of an image.
    fn truth(&self, image: usize) -> Vec<u32>;

    /// Whether the numbers are an output of the image.
    fn is_output(&self, image: usize, output: &[u32]) -> bool;

    /// The joint features of an image and an output.
    fn features(&self, image: usize, output: &[u32]) -> Vec<(usize, f64)>;

    /// How far a feature is rounded, relative to its size.
    fn rounding(&self, _feature: usize) -> f64 {
        0.0
    }

    /// How wrong an output is.
    fn loss(&self, image: usize, output: &[u32]) -> f64;

    /// The output with the highest loss + score.
    fn worst(&self, image: usize, w: &[f64]) -> Vec<u32>;
}

/// The losses of a structure.
impl<S: PlainStructure> PlainLoss for S {
    fn value(&self, image: usize, w: &[f64]) -> f64 {
        let worst = self.worst(image, w);
        let mut sum = Sum::new();
        sum.add(self.loss(image, &worst));
        for (output, sign) in [(&worst, 1.0), (&self.truth(image), -1.0)] {
            let features = self.features(image, output);
            features.into_iter().for_each(|(at, x)| sum.add_product(sign * x, w[at]));
        }
        sum.value()
    }

    fn add(
        &self,
        image: usize,
        below: &[(Below<'_>, f64)],
        minorant: &mut Minorant,
    ) -> Result<(), String> {
        let truth = self.truth(image);
        for &(below, share) in below {
            let output = match below {
                Below::Tangent(w) => self.worst(image, w),
                Below::Output(code) => code.to_vec(),
                Below::Piece(_) | Below::Slopes(_) => return Err(below.refusal()),
            };
            if !self.is_output(image, &output) {
                return Err("the proof names an output that its image cannot have".into());
            }
            if output == truth {
                continue;
            }
            for (output, sign) in [(&output, 1.0), (&truth, -1.0)] {
                let slope: Sum = [sign * share].into_iter().collect();
                for (at, x) in self.features(image, output) {
                    minorant.add_slope(at, x, slope, share * PlainStructure::rounding(self, at));
                }
            }
            let loss = self.loss(image, &output);
            // A loss may be a mean of roots.
            minorant.add_offset(share, loss, 8.0 * f64::EPSILON * loss);
        }
        Ok(())
    }
}

/// Characters from left to right.
#[derive(Debug)]
pub struct PlainPlates<'a> {
    /// Rows of an image.
    pub height: usize,
    /// Width of each character.
    pub widths: &'a [usize],
    /// The images with their characters.
    pub plates: &'a [Plate],
    /// Whether a column is right wherever its character is, in a segment that starts elsewhere too.
    pub by_label: bool,
    /// Whether the loss rescales the slack: features are then differences to the truth's, times the loss.
    pub is_rescaled: bool,
}

impl PlainPlates<'_> {
    fn width(&self, a: u32) -> usize {
        self.widths[a as usize]
    }

    fn columns(&self, image: usize) -> usize {
        self.plates[image].pixels.len() / self.height
    }

    /// Where the weights of a character begin.
    fn template(&self, a: u32) -> usize {
        self.widths[..a as usize].iter().sum::<usize>() * self.height
    }

    /// The characters of an output with their first columns.
    fn segments(&self, output: &[u32]) -> Vec<(u32, usize)> {
        let place = |end: &mut usize, &a: &u32| {
            *end += self.width(a);
            Some((a, *end - self.width(a)))
        };
        output.iter().scan(0, place).collect()
    }

    /// The pixels of a segment with the places of their weights.
    fn segment_features(
        &self,
        image: usize,
        a: u32,
        start: usize,
    ) -> impl Iterator<Item = (usize, f64)> {
        let pixels = &self.plates[image].pixels[start * self.height..];
        (self.template(a)..).zip(pixels.iter().copied()).take(self.width(a) * self.height)
    }

    /// The features of the characters alone.
    fn plain_features(&self, output: &[u32], image: usize) -> impl Iterator<Item = (usize, f64)> {
        let segments = self.segments(output).into_iter();
        segments.flat_map(move |(a, start)| self.segment_features(image, a, start))
    }

    fn segment_loss(&self, true_segments: &[(u32, usize)], a: u32, start: usize) -> f64 {
        let columns = start..start + self.width(a);
        let wrong = |column: &usize| {
            let covers =
                |&&(b, from): &&(u32, usize)| (from..from + self.width(b)).contains(column);
            match true_segments.iter().find(covers) {
                None => true,
                Some(&(b, _)) if self.by_label => b != a,
                Some(&segment) => segment != (a, start),
            }
        };
        columns.filter(wrong).count() as f64
    }

    /// Of all numbers of wrong columns, the least one with the highest value; of the ways to have so
    /// many, the one with the highest score, first characters first.
    fn worst_rescaled(&self, image: usize, w: &[f64]) -> Vec<u32> {
        let (columns, truth) = (self.columns(image), self.truth(image));
        let true_segments = self.segments(&truth);
        let score = |a: u32, start: usize| -> f64 {
            self.segment_features(image, a, start).map(|(at, x)| w[at] * x).sum()
        };
        // For the columns before each one and each number of wrong ones the best score, with its last
        // character.
        let mut best: Vec<Vec<Option<(f64, u32)>>> = vec![vec![None; columns + 1]; columns + 1];
        best[0][0] = Some((0.0, 0));
        let wrong = |a: u32, start: usize| self.segment_loss(&true_segments, a, start) as usize;
        for end in 1..=columns {
            for a in 0..self.widths.len() as u32 {
                let Some(start) = end.checked_sub(self.width(a)) else { continue };
                let (gain, more) = (score(a, start), wrong(a, start));
                for count in more..=end {
                    let Some((before, _)) = best[start][count - more] else { continue };
                    let total = before + gain;
                    if best[end][count].is_none_or(|(top, _)| total > top) {
                        best[end][count] = Some((total, a));
                    }
                }
            }
        }
        let own: f64 = true_segments.iter().map(|&(a, start)| score(a, start)).sum();
        let mut top = (0.0, 0);
        for (count, found) in best[columns].iter().enumerate().skip(1) {
            let Some((total, _)) = found else { continue };
            let value = count as f64 * (1.0 + (total - own));
            if value > top.0 {
                top = (value, count);
            }
        }
        let (mut count, mut end) = (top.1, columns);
        if count == 0 {
            return truth;
        }
        let mut output = Vec::new();
        while let (Some((_, a)), true) = (best[end][count], end > 0) {
            output.push(a);
            end -= self.width(a);
            count -= wrong(a, end);
        }
        output.reverse();
        output
    }
}

impl PlainStructure for PlainPlates<'_> {
    fn truth(&self, image: usize) -> Vec<u32> {
        self.plates[image].characters.iter().map(|&a| u32::from(a)).collect()
    }

    fn is_output(&self, image: usize, output: &[u32]) -> bool {
        let known = output.iter().all(|&a| (a as usize) < self.widths.len());
        known && output.iter().map(|&a| self.width(a)).sum::<usize>() == self.columns(image)
    }

    fn features(&self, image: usize, output: &[u32]) -> Vec<(usize, f64)> {
        if !self.is_rescaled {
            return self.plain_features(output, image).collect();
        }
        let (loss, truth) = (self.loss(image, output), self.truth(image));
        if loss == 0.0 {
            return Vec::new();
        }
        let of = |output: &[u32], sign: f64| {
            let features = self.plain_features(output, image);
            features.map(|(at, x)| (at, sign * loss * x)).collect::<Vec<_>>()
        };
        [of(output, 1.0), of(&truth, -1.0)].concat()
    }

    fn rounding(&self, _feature: usize) -> f64 {
        if self.is_rescaled { f64::EPSILON } else { 0.0 }
    }

    fn loss(&self, image: usize, output: &[u32]) -> f64 {
        let truth = self.segments(&self.truth(image));
        let segments = self.segments(output).into_iter();
        segments.map(|(a, start)| self.segment_loss(&truth, a, start)).sum()
    }

    fn worst(&self, image: usize, w: &[f64]) -> Vec<u32> {
        if self.is_rescaled {
            return self.worst_rescaled(image, w);
        }
        let truth = self.segments(&self.truth(image));
        let columns = self.columns(image);
        // The best way to cover the columns before each one, as its total and its last character.
        let mut best: Vec<Option<(f64, u32)>> = vec![None; columns + 1];
        best[0] = Some((0.0, 0));
        for end in 1..=columns {
            for a in 0..self.widths.len() as u32 {
                let Some(start) = end.checked_sub(self.width(a)) else { continue };
                let Some((before, _)) = best[start] else { continue };
                let features = self.segment_features(image, a, start);
                let score: f64 = features.map(|(at, x)| w[at] * x).sum();
                let total = before + (score + self.segment_loss(&truth, a, start));
                if best[end].is_none_or(|(top, _)| total > top) {
                    best[end] = Some((total, a));
                }
            }
        }
        let mut output = Vec::new();
        let mut end = columns;
        while let (Some((_, a)), true) = (best[end], end > 0) {
            output.push(a);
            end -= self.width(a);
        }
        output.reverse();
        output
    }
}

/// Parts on a grid.
#[derive(Debug)]
pub struct PlainParts<'a> {
    /// Grid and tree.
    pub shape: &'a TreeShape,
    /// What each part looks at.
    pub templates: &'a [Template],
    /// The images with their places.
    pub images: &'a [PartsImage],
    /// Two parts whose distance divides the loss, where there are such.
    pub unit: Option<[usize; 2]>,
}

impl PlainParts<'_> {
    fn places(&self) -> usize {
        self.shape.width * self.shape.height
    }

    /// What distances of an image are divided by.
    fn size(&self, image: usize) -> f64 {
        let places = &self.images[image].places;
        let size = self.unit.map_or(1.0, |[a, b]| self.distance(places[a], places[b]));
        places.len() as f64 * size
    }

    /// Features of a part.
    fn features_of(&self, part: usize) -> usize {
        let Template { width, height, descriptor } = self.templates[part];
        let each = if descriptor == Descriptor::Raw { 1 } else { 256 };
        width * height * self.shape.channels * each
    }

    /// Where the weights of a part begin; those of the tree come behind the last part's.
    fn start(&self, part: usize) -> usize {
        (0..part).map(|before| self.features_of(before)).sum()
    }

    fn pixel(&self, image: usize, x: usize, y: usize, channel: usize) -> f64 {
        let TreeShape { height, channels, .. } = *self.shape;
        self.images[image].pixels[(x * height + y) * channels + channel]
    }

    /// Which of the neighbours of a place are no smaller than it, as the binary digits of a number.
    fn pattern(&self, image: usize, x: usize, y: usize, channel: usize) -> usize {
        let inside =
            |at: usize, step: usize, size: usize| (at + step).saturating_sub(1).min(size - 1);
        let mut pattern = 0;
        for (row, column) in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (2, 2)] {
            let there = (inside(x, column, self.shape.width), inside(y, row, self.shape.height));
            let other = self.pixel(image, there.0, there.1, channel);
            pattern = 2 * pattern + usize::from(other >= self.pixel(image, x, y, channel));
        }
        pattern
    }

    /// What a part looks at from a place, with the places of the weights.
    fn part_features(&self, image: usize, part: usize, place: u32) -> Vec<(usize, f64)> {
        let Template { width, height, descriptor } = self.templates[part];
        let TreeShape { width: columns, height: rows, channels, .. } = *self.shape;
        let (x, y) = (place as usize / rows, place as usize % rows);
        let mut features = Vec::new();
        let mut at = self.start(part);
        for (dx, dy) in (0..width).flat_map(|dx| (0..height).map(move |dy| (dx, dy))) {
            // The middle of the window is on the place.
            let there =
                ((x + dx).checked_sub((width - 1) / 2), (y + dy).checked_sub((height - 1) / 2));
            for channel in 0..channels {
                if let (Some(x), Some(y)) = there
                    && x < columns
                    && y < rows
                {
                    features.push(match descriptor {
                        Descriptor::Raw => (at, self.pixel(image, x, y, channel)),
                        Descriptor::Patterns => (at + self.pattern(image, x, y, channel), 1.0),
                    });
                }
                at += if descriptor == Descriptor::Raw { 1 } else { 256 };
            }
        }
        features
    }

    fn at(&self, place: u32) -> (f64, f64) {
        let height = self.shape.height;
        ((place as usize / height) as f64, (place as usize % height) as f64)
    }

    fn distance(&self, a: u32, b: u32) -> f64 {
        let ((ax, ay), (bx, by)) = (self.at(a), self.at(b));
        ((ax - bx) * (ax - bx) + (ay - by) * (ay - by)).sqrt()
    }
}

impl PlainStructure for PlainParts<'_> {
    fn truth(&self, image: usize) -> Vec<u32> {
        self.images[image].places.to_vec()
    }

    fn is_output(&self, _image: usize, output: &[u32]) -> bool {
        let on_grid = output.iter().all(|&place| (place as usize) < self.places());
        on_grid && output.len() == self.shape.parents.len() + 1
    }

    fn features(&self, image: usize, output: &[u32]) -> Vec<(usize, f64)> {
        let parts = output.iter().enumerate();
        let mut features: Vec<(usize, f64)> =
            parts.flat_map(|(part, &place)| self.part_features(image, part, place)).collect();
        for (edge, &parent) in self.shape.parents.iter().enumerate() {
            let ((px, py), (x, y)) = (self.at(output[parent]), self.at(output[edge + 1]));
            let (dx, dy) = ((x - px) / self.shape.scale, (y - py) / self.shape.scale);
            let at = self.start(output.len()) + 4 * edge;
            features.extend([(at, dx), (at + 1, dy), (at + 2, dx * dx), (at + 3, dy * dy)]);
        }
        features
    }

    fn rounding(&self, feature: usize) -> f64 {
        // Displacements are divided by the scale and squared.
        let parts = self.shape.parents.len() + 1;
        if feature < self.start(parts) { 0.0 } else { 8.0 * f64::EPSILON }
    }

    fn loss(&self, image: usize, output: &[u32]) -> f64 {
        let truth = self.truth(image);
        let distances = truth.iter().zip(output).map(|(&a, &b)| self.distance(a, b));
        distances.sum::<f64>() / self.size(image)
    }

    fn worst(&self, image: usize, w: &[f64]) -> Vec<u32> {
        let parts = self.shape.parents.len() + 1;
        let truth = self.truth(image);
        let size = self.size(image);
        let mut totals = vec![vec![0.0; self.places()]; parts];
        for (part, totals) in totals.iter_mut().enumerate() {
            for (place, total) in totals.iter_mut().enumerate() {
                let features = self.part_features(image, part, place as u32);
                let score: f64 = features.into_iter().map(|(at, x)| w[at] * x).sum();
                *total = score + self.distance(place as u32, truth[part]) / size;
            }
        }
        // From the last part to the first: for every place of a parent, the best of the part.
        let mut choices = vec![vec![0u32; self.places()]; parts];
        let mut gains = vec![0.0; self.places()];
        for part in (1..parts).rev() {
            let parent = self.shape.parents[part - 1];
            let at = self.start(parts) + 4 * (part - 1);
            let scale = self.shape.scale;
            let (ax, ay) = (w[at] / scale, w[at + 1] / scale);
            let (bx, by) = (w[at + 2] / (scale * scale), w[at + 3] / (scale * scale));
            let height = self.shape.height as u32;
            // Of each column its first best row, and of the columns the first best one: the
            // deformation is a sum of one function of dx and one of dy.
            for from in 0..self.places() as u32 {
                let (px, py) = self.at(from);
                let in_column = |column: u32| {
                    let rows = column * height..(column + 1) * height;
                    first_best(rows.map(|place| {
                        let dy = self.at(place).1 - py;
                        (totals[part][place as usize] + ay * dy + by * dy * dy, place)
                    }))
                };
                let (gained, place) = first_best((0..self.shape.width as u32).map(|column| {
                    let (along_y, place) = in_column(column);
                    let dx = f64::from(column) - px;
                    (along_y + ax * dx + bx * dx * dx, place)
                }));
                choices[part][from as usize] = place;
                gains[from as usize] = gained;
            }
            totals[parent].iter_mut().zip(&gains).for_each(|(total, gained)| *total += gained);
        }
        let root = totals[0].iter().copied().zip(0..);
        let mut output = vec![first_best(root).1];
        for part in 1..parts {
            output.push(choices[part][output[self.shape.parents[part - 1]] as usize]);
        }
        output
    }
}

/// The first of the highest totals, with what it is the total of.
fn first_best(mut all: impl Iterator<Item = (f64, u32)>) -> (f64, u32) {
    let first = all.next().unwrap_or((f64::NEG_INFINITY, 0));
    all.fold(first, |best, next| if next.0 > best.0 { next } else { best })
}
