//! The audit of segmentations and of trees of parts: features, losses and the argmax once more, in
//! their plainest form. Scores are added up in the order of the weights and outputs compared first
//! to last, as the models' definitions say: where outputs tie, that order decides.

use super::{Audit, SIMPLEX, agrees, judge, mean_shares, proof_of};
use crate::fingerprint::Fingerprint;
use crate::images::Images;
use crate::model::{ImageModel, ImageShape};
use crate::proof::{Proof, ProofPoint};
use crate::structured::segment::{Plate, SegmentLoss};
use crate::structured::tree::{PartsImage, TreeShape};
use minorant_linalg::parallel::split_evenly;
use minorant_linalg::sum::Sum;
use rayon::prelude::*;

/// Audits a model of images on those, with their weights, that it claims to be trained on.
pub fn audit_images(model: &ImageModel, data: &Images, example_weights: Option<&[f64]>) -> Audit {
    let mut audit = Audit { holds: false, objective: None, lower_bound: None, why: String::new() };
    match check(model, data, example_weights, &mut audit) {
        Ok(bound) => {
            audit.holds = true;
            audit.why = format!(
                "the proof was recomputed from the data: no weights reach an objective below {bound}"
            );
        }
        Err(why) => audit.why = why,
    }
    audit
}

fn check(
    model: &ImageModel,
    data: &Images,
    example_weights: Option<&[f64]>,
    audit: &mut Audit,
) -> Result<f64, String> {
    let strange = "this is not the data that the model was trained on (images, labels and example \
                   weights must be the same)";
    let same = data.are_labelled()
        && data.len() == model.examples
        && data.sha256_with(example_weights) == model.data_sha256;
    let plain: Box<dyn Plain + '_> = match (&model.shape, data) {
        _ if !same => return Err(strange.into()),
        (ImageShape::Plates { loss, .. }, Images::Plates { height, widths, plates, .. }) => {
            Box::new(Segments { height: *height, widths, plates, loss: *loss })
        }
        (ImageShape::Parts(_), Images::Parts { shape, images, .. }) => {
            Box::new(Places { shape, images })
        }
        _ => return Err(strange.into()),
    };
    let weights = mean_shares(example_weights, &vec![1; data.len()])?;
    let examples = Examples { plain: &*plain, model, weights: &weights };
    let found = examples.objective();
    audit.objective = Some(found);
    agrees(model.certificate.objective, found, 1.0)?;
    let (bound, rounding) = examples.bound(proof_of(model.proof.as_ref())?)?;
    audit.lower_bound = Some(bound);
    judge(model.certificate.lower_bound, found, bound, rounding)?;
    Ok(bound)
}

/// A structure in its plainest form; outputs are numbers.
trait Plain: Sync {
    fn truth(&self, image: usize) -> Vec<u32>;

    /// Whether the numbers are an output of the image.
    fn is_output(&self, image: usize, output: &[u32]) -> bool;

    fn features(&self, image: usize, output: &[u32]) -> Vec<(usize, f64)>;

    fn loss(&self, image: usize, output: &[u32]) -> f64;

    /// The output with the highest loss + score.
    fn worst(&self, image: usize, w: &[f64]) -> Vec<u32>;
}

struct Examples<'a> {
    plain: &'a dyn Plain,
    model: &'a ImageModel,
    /// What the loss of each image counts.
    weights: &'a [f64],
}

/// A minorant of the objective's data term, and what was summed up for it.
struct Minorant {
    normal: Vec<Sum>,
    offset: Sum,
    normal_size: f64,
    offset_size: f64,
    terms: usize,
}

impl Examples<'_> {
    fn count(&self) -> usize {
        self.weights.len()
    }

    fn score(&self, image: usize, output: &[u32], w: &[f64]) -> f64 {
        self.plain.features(image, output).iter().map(|(at, x)| x * w[*at]).sum()
    }

    fn objective(&self) -> f64 {
        let w = &self.model.weights;
        let value = |image: usize| {
            let worst = self.plain.worst(image, w);
            let rise =
                self.score(image, &worst, w) - self.score(image, &self.plain.truth(image), w);
            self.weights[image] * (self.plain.loss(image, &worst) + rise)
        };
        let values: Vec<f64> = (0..self.count()).into_par_iter().map(value).collect();
        let mut sum: Sum = values.into_iter().collect();
        let square = w.iter().map(|w| w * w).collect::<Sum>().value();
        sum.add(0.5 * self.model.lambda * square);
        sum.value()
    }

    /// The bound that a proof gives, and how far rounding may have moved it.
    fn bound(&self, proof: &Proof) -> Result<(f64, f64), String> {
        let mut minorant = Minorant {
            normal: vec![Sum::new(); self.model.weights.len()],
            offset: Sum::new(),
            normal_size: 0.0,
            offset_size: 0.0,
            terms: 0,
        };
        match proof {
            Proof::Outputs(proof) => {
                if proof.examples.len() != self.count() {
                    return Err("the proof's outputs are not those of these images".into());
                }
                for (image, outputs) in proof.examples.iter().enumerate() {
                    let total = outputs.iter().map(|output| output.weight).collect::<Sum>();
                    if total.value() > 1.0 + SIMPLEX {
                        return Err(format!("weights of the proof add up to {}", total.value()));
                    }
                    for output in outputs {
                        if !(0.0..=1.0).contains(&output.weight) {
                            return Err(format!("a weight of the proof is {}", output.weight));
                        }
                        if !self.plain.is_output(image, &output.code) {
                            return Err("an output of the proof is none of its image".into());
                        }
                        self.add(image, &output.code, output.weight, &mut minorant);
                    }
                }
            }
            Proof::Points(points) => self.add_points(points, &mut minorant)?,
            Proof::Slopes(_) => return Err("a model of images has no proof by slopes".into()),
        }
        let lambda = self.model.lambda;
        let squares = minorant.normal.iter().map(|sum| sum.value() * sum.value());
        let square = squares.collect::<Sum>().value();
        let error = f64::EPSILON * (minorant.terms as f64 + 8.0) * minorant.normal_size;
        let rounding = f64::EPSILON * (8.0 * minorant.offset_size + 4.0 * square / lambda)
            + error * (square.sqrt() + error) / lambda;
        Ok((minorant.offset.value() - square / (2.0 * lambda), rounding))
    }

    fn add_points(&self, points: &[ProofPoint], minorant: &mut Minorant) -> Result<(), String> {
        let parts = points.first().map_or(0, |point| point.part_weights.len());
        if parts == 0 || parts > self.count() {
            return Err(format!("the proof has {parts} parts for {} images", self.count()));
        }
        for (part, images) in split_evenly(self.count(), parts).into_iter().enumerate() {
            let weights = points.iter().map(|point| point.part_weights[part]);
            if weights.clone().any(|alpha| !(0.0..=1.0).contains(&alpha)) {
                return Err(format!("a weight of part {part} is outside 0 to 1"));
            }
            let sum = weights.collect::<Sum>().value();
            if (sum - 1.0).abs() > SIMPLEX {
                return Err(format!("the weights of part {part} add up to {sum}, not to 1"));
            }
            for point in points.iter().filter(|point| point.part_weights[part] > 0.0) {
                let worst: Vec<(usize, Vec<u32>)> = images
                    .clone()
                    .into_par_iter()
                    .map(|image| (image, self.plain.worst(image, &point.w)))
                    .collect();
                for (image, output) in worst {
                    self.add(image, &output, point.part_weights[part], minorant);
                }
            }
        }
        Ok(())
    }

    /// Adds `share` times what an output says about its image's loss.
    fn add(&self, image: usize, output: &[u32], share: f64, minorant: &mut Minorant) {
        let weight = share * self.weights[image];
        let truth = self.plain.truth(image);
        let signs = [(output, 1.0), (&truth[..], -1.0)];
        for (output, sign) in signs {
            for (at, x) in self.plain.features(image, output) {
                minorant.normal[at].add(sign * weight * x);
                minorant.normal_size += weight * x.abs();
            }
        }
        let loss = self.plain.loss(image, output);
        minorant.offset.add(weight * loss);
        minorant.offset_size += weight * loss;
        minorant.terms = minorant.terms.max(4);
    }
}

/// Characters from left to right.
struct Segments<'a> {
    height: usize,
    widths: &'a [usize],
    plates: &'a [Plate],
    loss: SegmentLoss,
}

impl Segments<'_> {
    fn width(&self, a: u32) -> usize {
        self.widths[a as usize]
    }

    /// Where the weights of a character begin.
    fn template(&self, a: u32) -> usize {
        self.widths[..a as usize].iter().sum::<usize>() * self.height
    }

    /// The characters of an output with their first columns.
    fn segments(&self, output: &[u32]) -> Vec<(u32, usize)> {
        let mut start = 0;
        let mut place = |a: u32| {
            let at = start;
            start += self.width(a);
            (a, at)
        };
        output.iter().map(|&a| place(a)).collect()
    }

    fn segment_loss(&self, true_segments: &[(u32, usize)], a: u32, start: usize) -> f64 {
        let columns = start..start + self.width(a);
        let wrong = |column: &usize| {
            let covers =
                |&&(b, from): &&(u32, usize)| (from..from + self.width(b)).contains(column);
            match (self.loss, true_segments.iter().find(covers)) {
                (_, None) => true,
                (SegmentLoss::Position, Some(&segment)) => segment != (a, start),
                (SegmentLoss::Label, Some(&(b, _))) => b != a,
            }
        };
        columns.filter(wrong).count() as f64
    }
}

impl Plain for Segments<'_> {
    fn truth(&self, image: usize) -> Vec<u32> {
        self.plates[image].characters.iter().map(|&a| u32::from(a)).collect()
    }

    fn is_output(&self, image: usize, output: &[u32]) -> bool {
        let known = output.iter().all(|&a| (a as usize) < self.widths.len());
        let columns = self.plates[image].pixels.len() / self.height;
        known && output.iter().map(|&a| self.width(a)).sum::<usize>() == columns
    }

    fn features(&self, image: usize, output: &[u32]) -> Vec<(usize, f64)> {
        let mut features = Vec::new();
        for (a, start) in self.segments(output) {
            for at in 0..self.width(a) * self.height {
                let pixel = self.plates[image].pixels[start * self.height + at];
                features.push((self.template(a) + at, pixel));
            }
        }
        features
    }

    fn loss(&self, image: usize, output: &[u32]) -> f64 {
        let truth = self.segments(&self.truth(image));
        let segments = self.segments(output).into_iter();
        segments.map(|(a, start)| self.segment_loss(&truth, a, start)).sum()
    }

    fn worst(&self, image: usize, w: &[f64]) -> Vec<u32> {
        let pixels = &self.plates[image].pixels;
        let truth = self.segments(&self.truth(image));
        let columns = pixels.len() / self.height;
        // The best way to cover the columns before each one, as its total and its last character.
        let mut best: Vec<Option<(f64, u32)>> = vec![None; columns + 1];
        best[0] = Some((0.0, 0));
        for end in 1..=columns {
            for a in 0..self.widths.len() as u32 {
                let Some(start) = end.checked_sub(self.width(a)) else { continue };
                let Some((before, _)) = best[start] else { continue };
                let template = self.template(a);
                let mut score = 0.0;
                for at in 0..self.width(a) * self.height {
                    score += w[template + at] * pixels[start * self.height + at];
                }
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
struct Places<'a> {
    shape: &'a TreeShape,
    images: &'a [PartsImage],
}

impl Places<'_> {
    fn places(&self) -> usize {
        self.shape.width * self.shape.height
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

impl Plain for Places<'_> {
    fn truth(&self, image: usize) -> Vec<u32> {
        self.images[image].places.to_vec()
    }

    fn is_output(&self, _image: usize, output: &[u32]) -> bool {
        let on_grid = output.iter().all(|&place| (place as usize) < self.places());
        on_grid && output.len() == self.shape.parents.len() + 1
    }

    fn features(&self, image: usize, output: &[u32]) -> Vec<(usize, f64)> {
        let channels = self.shape.channels;
        let mut features = Vec::new();
        for (part, &place) in output.iter().enumerate() {
            for c in 0..channels {
                let pixel = self.images[image].pixels[place as usize * channels + c];
                features.push((part * channels + c, pixel));
            }
        }
        for (edge, &parent) in self.shape.parents.iter().enumerate() {
            let ((px, py), (x, y)) = (self.at(output[parent]), self.at(output[edge + 1]));
            let (dx, dy) = ((x - px) / self.shape.scale, (y - py) / self.shape.scale);
            let at = output.len() * channels + 4 * edge;
            features.extend([(at, dx), (at + 1, dy), (at + 2, dx * dx), (at + 3, dy * dy)]);
        }
        features
    }

    fn loss(&self, image: usize, output: &[u32]) -> f64 {
        let truth = self.truth(image);
        let distances = truth.iter().zip(output).map(|(&a, &b)| self.distance(a, b));
        distances.sum::<f64>() / truth.len() as f64
    }

    fn worst(&self, image: usize, w: &[f64]) -> Vec<u32> {
        let (parts, channels) = (self.shape.parents.len() + 1, self.shape.channels);
        let truth = self.truth(image);
        let mut totals = vec![vec![0.0; self.places()]; parts];
        for (part, totals) in totals.iter_mut().enumerate() {
            for (place, total) in totals.iter_mut().enumerate() {
                let mut score = 0.0;
                for c in 0..channels {
                    score +=
                        w[part * channels + c] * self.images[image].pixels[place * channels + c];
                }
                *total = score + self.distance(place as u32, truth[part]) / parts as f64;
            }
        }
        // From the last part to the first: for every place of a parent, the best of the part.
        let mut choices = vec![vec![0u32; self.places()]; parts];
        for part in (1..parts).rev() {
            let parent = self.shape.parents[part - 1];
            let at = parts * channels + 4 * (part - 1);
            let scale = self.shape.scale;
            let (ax, ay) = (w[at] / scale, w[at + 1] / scale);
            let (bx, by) = (w[at + 2] / (scale * scale), w[at + 3] / (scale * scale));
            for from in 0..self.places() as u32 {
                let (px, py) = self.at(from);
                let total = |place: u32| {
                    let (x, y) = self.at(place);
                    let (dx, dy) = (x - px, y - py);
                    let along_y = totals[part][place as usize] + ay * dy + by * dy * dy;
                    along_y + ax * dx + bx * dx * dx
                };
                let better = |top: u32, place| if total(place) > total(top) { place } else { top };
                let best = (1..self.places() as u32).fold(0, better);
                choices[part][from as usize] = best;
                let gained = total(best);
                totals[parent][from as usize] += gained;
            }
        }
        let root = &totals[0];
        let better = |top: usize, at: usize| if root[at] > root[top] { at } else { top };
        let mut output = vec![(1..root.len()).fold(0, better) as u32];
        for part in 1..parts {
            output.push(choices[part][output[self.shape.parents[part - 1]] as usize]);
        }
        output
    }
}
