//! Trees of pieces: each piece of an object has a place on a grid, a score by what the image shows
//! there, and a deformation score by where it lies from its parent. The argmax is dynamic
//! programming from the leaves to the root; where the quadratic deformation weights are negative,
//! messages are distance transforms, linear in the grid. The loss is the mean distance of the
//! pieces from their true places.

use super::{Scores, StructuredModel};

/// An image: `channels` numbers for each place, and the places of its pieces (x · rows + y).
#[derive(Debug, Clone, PartialEq)]
pub struct PartsImage {
    /// Numbers at (x, y): `(x * height + y) * channels`.
    pub pixels: Vec<f64>,
    /// The place of each piece.
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
    /// The parent of each piece after the first; a piece's parent comes before it.
    pub parents: Vec<usize>,
    /// Displacements are divided by this, and their squares by its square.
    pub scale: f64,
}

/// Images with pieces.
#[derive(Debug)]
pub struct Tree {
    shape: TreeShape,
    images: Vec<PartsImage>,
}

/// Deformation weights of an edge: dx, dy, dx², dy².
const PER_EDGE: usize = 4;

impl Tree {
    /// Images of this shape; one sentence where they do not fit it.
    pub fn new(shape: TreeShape, images: Vec<PartsImage>) -> Result<Self, String> {
        let pieces = shape.parents.len() + 1;
        if let Some(at) = images.iter().position(|image| image.places.len() != pieces) {
            return Err(format!("image {at} does not have a place for each of {pieces} pieces"));
        }
        Self::unlabelled(shape, images)
    }

    /// Images whose pieces may have no places, to be found by [`StructuredModel::best`] only.
    pub fn unlabelled(shape: TreeShape, images: Vec<PartsImage>) -> Result<Self, String> {
        let places = shape.width * shape.height;
        if places == 0 || shape.channels == 0 || shape.scale <= 0.0 {
            return Err("expected a grid with places and channels".into());
        }
        if let Some(piece) = (0..shape.parents.len()).find(|&e| shape.parents[e] > e) {
            return Err(format!("the parent of piece {} must come before it", piece + 1));
        }
        for (at, image) in images.iter().enumerate() {
            let fits = image.pixels.len() == places * shape.channels
                && image.places.iter().all(|&place| (place as usize) < places);
            if !fits {
                return Err(format!("image {at} does not fit the grid and the pieces"));
            }
        }
        Ok(Tree { shape, images })
    }

    fn pieces(&self) -> usize {
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
        self.pieces() * self.shape.channels + edge * PER_EDGE
    }

    /// The best places; the score may have the loss added.
    fn place(&self, example: usize, w: &[f64], with_loss: bool) -> Box<[u32]> {
        let (shape, image) = (&self.shape, &self.images[example]);
        let (places, channels, pieces) =
            (shape.width * shape.height, shape.channels, self.pieces());
        let mut scores: Vec<Vec<f64>> = (0..pieces)
            .map(|piece| {
                let weights = &w[piece * channels..(piece + 1) * channels];
                let pixels = image.pixels.chunks_exact(channels);
                pixels
                    .enumerate()
                    .map(|(place, x)| {
                        let score: f64 = weights.iter().zip(x).map(|(w, x)| w * x).sum();
                        let truth = || image.places[piece] as usize;
                        let loss = || self.distance(place, truth()) / pieces as f64;
                        score + if with_loss { loss() } else { 0.0 }
                    })
                    .collect()
            })
            .collect();
        let mut choices: Vec<Vec<u32>> = vec![Vec::new(); pieces];
        for edge in (0..shape.parents.len()).rev() {
            let piece = edge + 1;
            let deformation = &w[self.edge_weights(edge)..][..PER_EDGE];
            let (message, choice) = message(shape, &scores[piece], deformation);
            let parent = &mut scores[shape.parents[edge]];
            parent.iter_mut().zip(&message).for_each(|(score, m)| *score += m);
            choices[piece] = choice;
        }
        let mut found = vec![0u32; pieces];
        let root = &scores[0];
        found[0] = (1..places).fold(0, |top, p| if root[p] > root[top] { p } else { top }) as u32;
        for piece in 1..pieces {
            found[piece] = choices[piece][found[shape.parents[piece - 1]] as usize];
        }
        found.into()
    }
}

/// For each place of the parent, the best score of the piece with its deformation, and where. The
/// deformation is a sum of one function of dx and one of dy: first all rows, then all columns.
pub fn message(shape: &TreeShape, scores: &[f64], deformation: &[f64]) -> (Vec<f64>, Vec<u32>) {
    let (width, height, scale) = (shape.width, shape.height, shape.scale);
    let [dx, dy, dx2, dy2] = [0, 1, 2, 3].map(|at| deformation[at]);
    let (by_x, by_y) = ((dx / scale, dx2 / (scale * scale)), (dy / scale, dy2 / (scale * scale)));
    let mut along_y = vec![0.0; scores.len()];
    let mut from_y = vec![0usize; scores.len()];
    for x in 0..width {
        let line = x * height..(x + 1) * height;
        let (best, from) = along(&scores[line.clone()], by_y);
        along_y[line.clone()].copy_from_slice(&best);
        from_y[line].copy_from_slice(&from);
    }
    let (mut message, mut choice) = (vec![0.0; scores.len()], vec![0; scores.len()]);
    for y in 0..height {
        let line: Vec<f64> = (0..width).map(|x| along_y[x * height + y]).collect();
        let (best, from) = along(&line, by_x);
        for x in 0..width {
            message[x * height + y] = best[x];
            choice[x * height + y] = (from[x] * height + from_y[from[x] * height + y]) as u32;
        }
    }
    (message, choice)
}

/// max over q of f(q) + a (q − p) + b (q − p)² for each p, and the first best q.
fn along(f: &[f64], (a, b): (f64, f64)) -> (Vec<f64>, Vec<usize>) {
    if b < 0.0 { upper_envelope(f, a, b) } else { plain_maximum(f, a, b) }
}

fn value(f: &[f64], a: f64, b: f64, q: usize, p: usize) -> f64 {
    let d = q as f64 - p as f64;
    f[q] + a * d + b * d * d
}

fn plain_maximum(f: &[f64], a: f64, b: f64) -> (Vec<f64>, Vec<usize>) {
    let best = |p: usize| {
        let better = |top: usize, q: usize| {
            if value(f, a, b, q, p) > value(f, a, b, top, p) { q } else { top }
        };
        (1..f.len()).fold(0, better)
    };
    let from: Vec<usize> = (0..f.len()).map(best).collect();
    (from.iter().enumerate().map(|(p, &q)| value(f, a, b, q, p)).collect(), from)
}

/// The distance transform: parabolas of equal curvature cross once, so the upper envelope is built
/// from left to right and read off in the same order.
fn upper_envelope(f: &[f64], a: f64, b: f64) -> (Vec<f64>, Vec<usize>) {
    // From this p on, parabola q lies above parabola r < q.
    let crossing = |r: usize, q: usize| {
        let (rf, qf) = (r as f64, q as f64);
        let rise = f[r] - f[q] + a * (rf - qf) + b * (rf * rf - qf * qf);
        rise / (2.0 * b * (rf - qf))
    };
    let mut hull: Vec<(usize, f64)> = vec![(0, f64::NEG_INFINITY)];
    for q in 1..f.len() {
        let mut from = crossing(hull[hull.len() - 1].0, q);
        while hull.len() > 1 && from <= hull[hull.len() - 1].1 {
            hull.pop();
            from = crossing(hull[hull.len() - 1].0, q);
        }
        hull.push((q, from));
    }
    let mut at = 0;
    let from: Vec<usize> = (0..f.len())
        .map(|p| {
            while at + 1 < hull.len() && hull[at + 1].1 < p as f64 {
                at += 1;
            }
            hull[at].0
        })
        .collect();
    (from.iter().enumerate().map(|(p, &q)| value(f, a, b, q, p)).collect(), from)
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

    #[inline]
    fn for_each_feature(
        &self,
        example: usize,
        output: &Self::Output,
        mut each: impl FnMut(usize, f64),
    ) {
        let channels = self.shape.channels;
        for (piece, &place) in output.iter().enumerate() {
            let pixels = &self.images[example].pixels[place as usize * channels..][..channels];
            pixels.iter().enumerate().for_each(|(c, &x)| each(piece * channels + c, x));
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
            / self.pieces() as f64
    }

    fn worst(&self, example: usize, scores: Scores<'_>) -> Self::Output {
        self.place(example, scores.shared, true)
    }

    fn best(&self, example: usize, scores: Scores<'_>) -> Self::Output {
        self.place(example, scores.shared, false)
    }

    fn encode(&self, output: &Self::Output) -> Option<Vec<u32>> {
        Some(output.to_vec())
    }

    fn decode(&self, _example: usize, code: &[u32]) -> Option<Self::Output> {
        let places = self.shape.width * self.shape.height;
        let fits = code.len() == self.pieces() && code.iter().all(|&p| (p as usize) < places);
        fits.then(|| code.into())
    }
}
