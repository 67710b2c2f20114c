//! Trees of parts: each part of an object has a place on a grid, a score by what the image shows
//! there (a window with a descriptor, `template.rs`), and a deformation score by where it lies from its parent. The argmax is dynamic
//! programming from the leaves to the root; where the quadratic deformation weights are negative,
//! messages are distance transforms, linear in the grid. The loss is the mean distance of the
//! parts from their true places, over the distance κ between the true places of two of them where that is
//! asked for: a face is wrong in units of its own size.

use super::template::Grid;
use super::{ScoreSizes, Scores, StructuredModel};

pub use super::template::{Descriptor, PATTERNS, Template};

/// An image: `channels` numbers for each place, and the places of its parts (x · rows + y).
#[derive(Debug, Clone, PartialEq)]
pub struct PartsImage {
    /// Numbers at (x, y): `(x * height + y) * channels`.
    pub pixels: Vec<f64>,
    /// The place of each part.
    pub places: Box<[u32]>,
}

/// The shape of the tree and of the grid.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeShape {
    /// Columns and rows of the grid.
    pub width: usize,
    /// Rows of the grid.
    pub height: usize,
    /// Numbers at each place.
    pub channels: usize,
    /// The parent of each part after the first; a part's parent comes before it.
    pub parents: Vec<usize>,
    /// Displacements are divided by this, and their squares by its square.
    pub scale: f64,
}

/// Images with parts.
#[derive(Debug)]
pub struct Tree {
    shape: TreeShape,
    images: Vec<PartsImage>,
    /// κ of each image; 1 where nothing else is asked for.
    sizes: Vec<f64>,
    /// What each part looks at.
    templates: Vec<Template>,
    /// Whether each looks at its own place alone, as it does unless more is asked for: this goes quicker.
    sees_places_alone: bool,
    /// Where the weights of each part begin, and where those of the last one end.
    starts: Vec<usize>,
    /// Local binary patterns of each image; empty where no part asks for them.
    patterns: Vec<Vec<u8>>,
}

/// Deformation weights of an edge: dx, dy, dx², dy².
const PER_EDGE: usize = 4;

impl Tree {
    /// Images of this shape; one sentence where they do not fit it.
    pub fn new(shape: TreeShape, images: Vec<PartsImage>) -> Result<Self, String> {
        let parts = shape.parents.len() + 1;
        if let Some(at) = images.iter().position(|image| image.places.len() != parts) {
            return Err(format!("image {at} does not have a place for each of {parts} parts"));
        }
        Self::unlabelled(shape, images)
    }

    /// Images whose parts may have no places, to be found by [`StructuredModel::best`] only.
    pub fn unlabelled(shape: TreeShape, images: Vec<PartsImage>) -> Result<Self, String> {
        let places = shape.width * shape.height;
        if places == 0 || shape.channels == 0 || shape.scale <= 0.0 {
            return Err("expected a grid with places and channels".into());
        }
        if let Some(part) = (0..shape.parents.len()).find(|&e| shape.parents[e] > e) {
            return Err(format!("the parent of part {} must come before it", part + 1));
        }
        for (at, image) in images.iter().enumerate() {
            let fits = image.pixels.len() == places * shape.channels
                && image.places.iter().all(|&place| (place as usize) < places);
            if !fits {
                return Err(format!("image {at} does not fit the grid and the parts"));
            }
        }
        let sizes = vec![1.0; images.len()];
        let (templates, starts, patterns) = (Vec::new(), Vec::new(), Vec::new());
        Tree { shape, images, sizes, templates, sees_places_alone: true, starts, patterns }
            .looking_at(&[Template::default()])
    }

    /// The same images whose parts look at these windows: one for each part, or one for all of them. One
    /// sentence where there are others.
    pub fn looking_at(mut self, templates: &[Template]) -> Result<Self, String> {
        let (parts, channels) = (self.parts(), self.shape.channels);
        self.templates = match templates {
            [all] => vec![*all; parts],
            _ if templates.len() == parts => templates.to_vec(),
            _ => {
                let found = templates.len();
                return Err(format!(
                    "expected a template for each of {parts} parts, or one for all, found {found}"
                ));
            }
        };
        self.sees_places_alone = self.templates.iter().all(|one| *one == Template::default());
        self.starts = vec![0];
        for template in &self.templates {
            let features = template.checked_features(channels).filter(|_| template.width > 0);
            let end =
                features.and_then(|more| more.checked_add(self.starts[self.starts.len() - 1]));
            let end = end.filter(|end| *end <= u32::MAX as usize);
            self.starts.push(end.ok_or("expected templates that fit into memory")?);
        }
        let are_wanted = self.templates.iter().any(|t| t.descriptor == Descriptor::Patterns);
        let all = 0..if are_wanted { self.images.len() } else { 0 };
        self.patterns = all.map(|image| self.grid(image).all_patterns()).collect();
        Ok(self)
    }

    fn grid(&self, example: usize) -> Grid<'_> {
        let TreeShape { width, height, channels, .. } = self.shape;
        let patterns = self.patterns.get(example).map_or(&[][..], |all| all);
        Grid { width, height, channels, pixels: &self.images[example].pixels, patterns }
    }

    /// The same images with their losses divided by the distance between the true places of two parts; one
    /// sentence where an image has both at one place.
    pub fn normalised_by(mut self, [a, b]: [usize; 2]) -> Result<Self, String> {
        if a == b || a.max(b) >= self.parts() {
            let parts = self.parts();
            return Err(format!("expected two of the parts 1 to {parts} to divide losses by"));
        }
        for at in 0..self.images.len() {
            let places = &self.images[at].places;
            let distance = self.distance(places[a] as usize, places[b] as usize);
            if distance == 0.0 {
                return Err(format!(
                    "image {at} has the parts {} and {}, by whose distance its loss is divided, at one place",
                    a + 1,
                    b + 1
                ));
            }
            self.sizes[at] = distance;
        }
        Ok(self)
    }

    /// The shape of the tree and of the grid.
    pub fn shape(&self) -> &TreeShape {
        &self.shape
    }

    fn parts(&self) -> usize {
        self.shape.parents.len() + 1
    }

    fn at(&self, place: usize) -> (f64, f64) {
        ((place / self.shape.height) as f64, (place % self.shape.height) as f64)
    }

    fn distance(&self, a: usize, b: usize) -> f64 {
        let ((ax, ay), (bx, by)) = (self.at(a), self.at(b));
        ((ax - bx) * (ax - bx) + (ay - by) * (ay - by)).sqrt()
    }

    fn edge_weights(&self, edge: usize) -> usize {
        self.starts[self.parts()] + edge * PER_EDGE
    }

    /// The best places; the score may have the loss added.
    fn place(&self, example: usize, w: &[f64], with_loss: bool) -> Box<[u32]> {
        let (shape, image) = (&self.shape, &self.images[example]);
        let (places, parts, grid) = (shape.width * shape.height, self.parts(), self.grid(example));
        let mut scores: Vec<Vec<f64>> = (0..parts)
            .map(|part| {
                self.templates[part].scores(&grid, &w[self.starts[part]..self.starts[part + 1]])
            })
            .collect();
        if with_loss {
            let share = parts as f64 * self.sizes[example];
            for (scores, &truth) in scores.iter_mut().zip(&image.places) {
                let (tx, ty) = self.at(truth as usize);
                for (x, column) in scores.chunks_exact_mut(shape.height).enumerate() {
                    let dx2 = (x as f64 - tx) * (x as f64 - tx);
                    for (y, score) in column.iter_mut().enumerate() {
                        let dy = y as f64 - ty;
                        *score += (dx2 + dy * dy).sqrt() / share;
                    }
                }
            }
        }
        let mut choices: Vec<Vec<u32>> = vec![Vec::new(); parts];
        for edge in (0..shape.parents.len()).rev() {
            let part = edge + 1;
            let deformation = &w[self.edge_weights(edge)..][..PER_EDGE];
            let (message, choice) = message(shape, &scores[part], deformation);
            let parent = &mut scores[shape.parents[edge]];
            parent.iter_mut().zip(&message).for_each(|(score, m)| *score += m);
            choices[part] = choice;
        }
        let mut found = vec![0u32; parts];
        let root = &scores[0];
        found[0] = (1..places).fold(0, |top, p| if root[p] > root[top] { p } else { top }) as u32;
        for part in 1..parts {
            found[part] = choices[part][found[shape.parents[part - 1]] as usize];
        }
        found.into()
    }
}

/// For each place of the parent, the best score of the part with its deformation, and where. The
/// deformation is a sum of one function of dx and one of dy: first all rows, then all columns.
pub fn message(shape: &TreeShape, scores: &[f64], deformation: &[f64]) -> (Vec<f64>, Vec<u32>) {
    let (width, height, scale) = (shape.width, shape.height, shape.scale);
    let [dx, dy, dx2, dy2] = [0, 1, 2, 3].map(|at| deformation[at]);
    let (by_x, by_y) = ((dx / scale, dx2 / (scale * scale)), (dy / scale, dy2 / (scale * scale)));
    let mut lines = Lines::default();
    let (mut along_y, mut from_y) = (vec![0.0; scores.len()], vec![0; scores.len()]);
    for x in 0..width {
        let line = x * height..(x + 1) * height;
        let (best, from) = (&mut along_y[line.clone()], &mut from_y[line.clone()]);
        lines.maximise(&scores[line], by_y, best, from);
    }
    let (mut message, mut choice) = (vec![0.0; scores.len()], vec![0; scores.len()]);
    let (mut line, mut best, mut from) = (vec![0.0; width], vec![0.0; width], vec![0; width]);
    for y in 0..height {
        (0..width).for_each(|x| line[x] = along_y[x * height + y]);
        lines.maximise(&line, by_x, &mut best, &mut from);
        for x in 0..width {
            message[x * height + y] = best[x];
            let at = from[x] as usize * height;
            choice[x * height + y] = at as u32 + from_y[at + y];
        }
    }
    (message, choice)
}

fn value(f: &[f64], a: f64, b: f64, q: usize, p: usize) -> f64 {
    let d = q as f64 - p as f64;
    f[q] + a * d + b * d * d
}

fn plain_maximum(f: &[f64], a: f64, b: f64, from: &mut [u32]) {
    for (p, from) in from.iter_mut().enumerate() {
        let better = |top: usize, q: usize| {
            if value(f, a, b, q, p) > value(f, a, b, top, p) { q } else { top }
        };
        *from = (1..f.len()).fold(0, better) as u32;
    }
}

/// Maxima along lines of the grid, one line after the other.
#[derive(Default)]
struct Lines {
    /// Parabolas of the upper envelope, and from which p on each is the highest.
    hull: Vec<(u32, f64)>,
}

impl Lines {
    /// max over q of f(q) + a (q − p) + b (q − p)² for each p, and the first q whose computed value is
    /// the highest. That order is part of the definition: an audit repeats it.
    fn maximise(&mut self, f: &[f64], (a, b): (f64, f64), best: &mut [f64], from: &mut [u32]) {
        if !self.upper_envelope(f, a, b, from) {
            plain_maximum(f, a, b, from);
        }
        for (p, (best, &q)) in best.iter_mut().zip(&*from).enumerate() {
            *best = value(f, a, b, q as usize, p);
        }
    }

    /// The distance transform: downward parabolas of equal curvature cross once, so their upper
    /// envelope is built from left to right and read off in the same order. Says no where parabolas
    /// do not open downwards, or where two of them come so close at some p that rounding decides
    /// which is higher: at the minimisers of a bundle outputs tie, and not by accident.
    fn upper_envelope(&mut self, f: &[f64], a: f64, b: f64, best: &mut [u32]) -> bool {
        // Crossings this close, in units of the curvature, may be in either order.
        let n = f.len() as f64;
        let size = f.iter().fold(0.0, |size: f64, f| size.max(f.abs())) + n * (a.abs() - n * b);
        let close = 16.0 * n * f64::EPSILON * size;
        let is_apart = |x: f64, y: f64| (x - y).abs() * -b > close;
        // From this p on, parabola q lies above parabola r < q.
        let crossing = |r: usize, q: usize| {
            let (rf, qf) = (r as f64, q as f64);
            let rise = f[r] - f[q] + a * (rf - qf) + b * (rf * rf - qf * qf);
            rise / (2.0 * b * (rf - qf))
        };
        let hull = &mut self.hull;
        hull.clear();
        let (mut top, mut since) = (0, f64::NEG_INFINITY);
        for q in 1..f.len() {
            loop {
                let from = crossing(top, q);
                if !is_apart(from, since) {
                    return false;
                }
                if from > since {
                    hull.push((top as u32, since));
                    (top, since) = (q, from);
                    break;
                }
                let Some((before, border)) = hull.pop() else { return false };
                (top, since) = (before as usize, border);
            }
        }
        hull.push((top as u32, since));
        // Behind the last parabola there is none.
        hull.push((0, f64::INFINITY));
        let mut at = 0;
        for (p, best) in best.iter_mut().enumerate() {
            let p = p as f64;
            while hull[at + 1].1 < p {
                at += 1;
            }
            if !(is_apart(hull[at].1, p) && is_apart(hull[at + 1].1, p)) {
                return false;
            }
            *best = hull[at].0;
        }
        true
    }
}

impl StructuredModel for Tree {
    type Output = Box<[u32]>;

    fn dim(&self) -> usize {
        self.edge_weights(self.shape.parents.len())
    }

    fn len(&self) -> usize {
        self.images.len()
    }

    fn truth(&self, example: usize) -> &Self::Output {
        &self.images[example].places
    }

    fn for_each_feature(
        &self,
        example: usize,
        output: &Self::Output,
        mut each: impl FnMut(usize, f64),
    ) {
        let grid = self.grid(example);
        if self.sees_places_alone {
            for (part, &place) in output.iter().enumerate() {
                let seen = &grid.pixels[place as usize * grid.channels..][..grid.channels];
                let start = part * grid.channels;
                seen.iter().enumerate().for_each(|(channel, &x)| each(start + channel, x));
            }
        } else {
            let parts = output.iter().zip(&self.templates).zip(&self.starts);
            for ((&place, template), &start) in parts {
                template.for_each_feature(&grid, place as usize, |at, x| each(start + at, x));
            }
        }
        for (edge, &parent) in self.shape.parents.iter().enumerate() {
            let (from, to) = (self.at(output[parent] as usize), self.at(output[edge + 1] as usize));
            let (dx, dy) = ((to.0 - from.0) / self.shape.scale, (to.1 - from.1) / self.shape.scale);
            let at = self.edge_weights(edge);
            [dx, dy, dx * dx, dy * dy].into_iter().enumerate().for_each(|(j, x)| each(at + j, x));
        }
    }

    fn loss(&self, example: usize, output: &Self::Output) -> f64 {
        let truth = self.truth(example).iter().zip(output);
        truth.map(|(&a, &b)| self.distance(a as usize, b as usize)).sum::<f64>()
            / (self.parts() as f64 * self.sizes[example])
    }

    fn worst(&self, example: usize, scores: Scores<'_>) -> Self::Output {
        self.place(example, scores.shared, true)
    }

    fn best(&self, example: usize, scores: Scores<'_>) -> Self::Output {
        self.place(example, scores.shared, false)
    }

    fn sizes(&self, share: &dyn Fn(usize) -> f64) -> Option<ScoreSizes> {
        let (channels, parts) = (self.shape.channels, self.parts());
        let mut largest = vec![0.0; channels];
        let (mut all, mut all_losses) = (0.0, 0.0);
        for (example, image) in self.images.iter().enumerate() {
            all += share(example);
            all_losses += share(example) / self.sizes[example];
            for (channel, largest) in largest.iter_mut().enumerate() {
                let values = image.pixels[channel..].iter().step_by(channels);
                *largest += share(example) * values.fold(0.0, |most: f64, x| most.max(x.abs()));
            }
        }
        let mut features = Vec::new();
        for (template, start) in self.templates.iter().zip(&self.starts) {
            let size = |channel: usize| match template.descriptor {
                Descriptor::Raw => largest[channel],
                Descriptor::Patterns => all,
            };
            let run = |(at, channel): (std::ops::Range<usize>, usize)| {
                (start + at.start..start + at.end, size(channel))
            };
            features.extend(template.runs(channels).map(run));
        }
        let terms = self.templates.iter().map(|template| template.terms(channels)).max();
        let [dx, dy] = [self.shape.width, self.shape.height].map(|most| most as f64);
        for edge in 0..self.shape.parents.len() {
            let far = [dx, dy].map(|most| most / self.shape.scale);
            let sizes = [far[0], far[1], far[0] * far[0], far[1] * far[1]];
            let at = self.edge_weights(edge);
            features.extend((at..).zip(sizes).map(|(at, size)| (at..at + 1, all * size)));
        }
        let losses = all_losses * (dx * dx + dy * dy).sqrt();
        let roundings = (terms.unwrap_or(0) + 8 * parts + 8) as f64;
        Some(ScoreSizes { features, losses, roundings })
    }

    fn encode(&self, output: &Self::Output) -> Option<Vec<u32>> {
        Some(output.to_vec())
    }

    fn decode(&self, _example: usize, code: &[u32]) -> Option<Self::Output> {
        let places = self.shape.width * self.shape.height;
        let fits = code.len() == self.parts() && code.iter().all(|&p| (p as usize) < places);
        fits.then(|| code.into())
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, plain_maximum, value};
    use crate::generate::Lcg;

    /// Of parabolas of which some meet in one point but for rounding, the envelope names the very
    /// ones that comparing all values names.
    #[test]
    fn ties_are_broken_as_by_comparing_all() {
        let mut rng = Lcg::new(3);
        let mut read_off = 0;
        for round in 0..2000 {
            let n = 1 + rng.below(12);
            let (a, b) = (rng.signed(), if round % 9 == 0 { rng.signed() } else { -rng.unit() });
            let (p, top) = (rng.below(n), rng.signed());
            let mut f: Vec<f64> = (0..n).map(|_| rng.signed()).collect();
            for q in (0..n).filter(|_| round % 2 == 0) {
                if rng.below(2) == 0 {
                    f[q] = top - (value(&vec![0.0; n], a, b, q, p));
                }
            }
            let (mut plain, mut found, mut best) = (vec![0; n], vec![0; n], vec![0.0; n]);
            plain_maximum(&f, a, b, &mut plain);
            let mut lines = Lines::default();
            lines.maximise(&f, (a, b), &mut best, &mut found);
            assert_eq!(found, plain, "{f:?} {a} {b}");
            read_off += usize::from(lines.upper_envelope(&f, a, b, &mut found));
        }
        assert!(read_off > 900, "only {read_off} of 2000 by the envelope");
    }
}
