//! Segmentations: an image is cut into segments of given widths from left to right, one character
//! each, and a character's score is that of its template against the columns it covers (the
//! number-plate task, constraints (15) of Uříčář and Franc). No bias, no transitions.

use super::{ScoreSizes, Scores, StructuredModel};

/// How wrong a segmentation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SegmentLoss {
    /// A column is right where its segment, with character and start, is one of the truth's.
    #[default]
    Position,
    /// A column is right where its character is the true one.
    Label,
}

/// An image: its columns one after the other, and the characters of its segments.
#[derive(Debug, Clone, PartialEq)]
pub struct Plate {
    /// `height` numbers for each column.
    pub pixels: Vec<f64>,
    /// The characters from left to right.
    pub characters: Box<[u16]>,
}

/// Plates to segment.
#[derive(Debug)]
pub struct Segmentation {
    height: usize,
    /// Width of each character in columns.
    widths: Vec<usize>,
    /// Where each character's template begins among the weights.
    templates: Vec<usize>,
    plates: Vec<Plate>,
    loss: SegmentLoss,
    /// The true character and the start of its segment, column by column.
    truths: Vec<Vec<(u16, usize)>>,
}

impl Segmentation {
    /// Plates of `height` rows with characters of these widths; one sentence where they do not fit
    /// together.
    pub fn new(
        height: usize,
        widths: Vec<usize>,
        plates: Vec<Plate>,
        loss: SegmentLoss,
    ) -> Result<Self, String> {
        if widths.is_empty() || widths.len() > 1 << 16 || widths.contains(&0) || height == 0 {
            return Err("expected characters with widths of 1 or more, and 1 row or more".into());
        }
        let mut truths = Vec::with_capacity(plates.len());
        for (at, plate) in plates.iter().enumerate() {
            let columns = plate.pixels.len() / height;
            let mut truth = Vec::with_capacity(columns);
            for &a in &plate.characters {
                let width = widths.get(a as usize).ok_or_else(|| {
                    format!("image {at} has a character {a}, but there are {}", widths.len())
                })?;
                let start = truth.len();
                truth.extend(std::iter::repeat_n((a, start), *width));
            }
            if truth.len() != columns || plate.pixels.len() != columns * height {
                return Err(format!(
                    "the segments of image {at} cover {} columns, but it has {columns}",
                    truth.len()
                ));
            }
            truths.push(truth);
        }
        Ok(Segmentation { truths, ..Self::unlabelled(height, widths, plates, loss) })
    }

    /// Plates whose segments are not known, to be cut by [`StructuredModel::best`] only. Each must
    /// be one that the characters can cover.
    pub fn unlabelled(
        height: usize,
        widths: Vec<usize>,
        plates: Vec<Plate>,
        loss: SegmentLoss,
    ) -> Self {
        let mut templates = vec![0];
        for width in &widths {
            templates.push(templates[templates.len() - 1] + width * height);
        }
        Segmentation { height, widths, templates, plates, loss, truths: Vec::new() }
    }

    /// Columns of an image.
    pub fn columns(&self, example: usize) -> usize {
        self.plates[example].pixels.len() / self.height
    }

    /// The best way to cut an image, whose score may have the loss added.
    fn cut(&self, example: usize, w: &[f64], with_loss: bool) -> Box<[u16]> {
        let plate = &self.plates[example];
        let columns = self.columns(example);
        // The best score of the columns before each, and the character that ends there. Some
        // numbers of columns cannot be reached.
        let mut best = vec![f64::NEG_INFINITY; columns + 1];
        let mut last = vec![0u16; columns + 1];
        best[0] = 0.0;
        for end in 1..=columns {
            for (a, &width) in self.widths.iter().enumerate() {
                if width > end || best[end - width] == f64::NEG_INFINITY {
                    continue;
                }
                let start = end - width;
                let template = &w[self.templates[a]..self.templates[a + 1]];
                let pixels = &plate.pixels[start * self.height..end * self.height];
                let mut score: f64 = template.iter().zip(pixels).map(|(w, x)| w * x).sum();
                if with_loss {
                    score += self.segment_loss(example, a as u16, start);
                }
                let total = best[start] + score;
                if total > best[end] {
                    best[end] = total;
                    last[end] = a as u16;
                }
            }
        }
        let mut characters = Vec::with_capacity(columns);
        let mut end = columns;
        while end > 0 {
            characters.push(last[end]);
            end -= self.widths[last[end] as usize];
        }
        characters.reverse();
        characters.into()
    }

    /// The score of one segment.
    fn segment_score(&self, example: usize, w: &[f64], a: usize, start: usize) -> f64 {
        let template = &w[self.templates[a]..self.templates[a + 1]];
        let pixels = &self.plates[example].pixels[start * self.height..];
        template.iter().zip(pixels).map(|(w, x)| w * x).sum()
    }

    /// The way to cut an image that maximises Δ (1 + score − the truth's score). The loss is a number of
    /// columns, so the best score for each such number is found column by column; of equal values the
    /// one with the smaller loss wins, then the first character.
    fn cut_rescaled(&self, example: usize, w: &[f64]) -> Box<[u16]> {
        let columns = self.columns(example);
        let counts = columns + 1;
        let mut best = vec![f64::NEG_INFINITY; counts * counts];
        let mut last = vec![0u16; counts * counts];
        best[0] = 0.0;
        for end in 1..=columns {
            for (a, &width) in self.widths.iter().enumerate().filter(|(_, width)| **width <= end) {
                let start = end - width;
                let score = self.segment_score(example, w, a, start);
                let loss = self.segment_loss(example, a as u16, start) as usize;
                for count in loss..=end {
                    let total = best[start * counts + count - loss] + score;
                    if total > best[end * counts + count] {
                        best[end * counts + count] = total;
                        last[end * counts + count] = a as u16;
                    }
                }
            }
        }
        let own: f64 = self
            .segments(&self.plates[example].characters)
            .map(|(a, start)| self.segment_score(example, w, a.into(), start))
            .sum();
        let value = |count: usize| match best[columns * counts + count] {
            f64::NEG_INFINITY => f64::NEG_INFINITY,
            score => count as f64 * (1.0 + (score - own)),
        };
        let better = |top: usize, count: usize| if value(count) > value(top) { count } else { top };
        let mut count = (1..counts).fold(0, better);
        let (mut characters, mut end) = (Vec::new(), columns);
        // Without errors the truth is the only output, whatever scores tie with it.
        if count == 0 {
            return self.plates[example].characters.clone();
        }
        while end > 0 {
            let a = last[end * counts + count];
            characters.push(a);
            end -= self.widths[a as usize];
            count -= self.segment_loss(example, a, end) as usize;
        }
        characters.reverse();
        characters.into()
    }

    /// What a segment adds to the loss.
    fn segment_loss(&self, example: usize, a: u16, start: usize) -> f64 {
        let width = self.widths[a as usize];
        let truth = &self.truths[example];
        match self.loss {
            SegmentLoss::Position if truth[start] == (a, start) => 0.0,
            SegmentLoss::Position => width as f64,
            SegmentLoss::Label => {
                truth[start..start + width].iter().filter(|(b, _)| *b != a).count() as f64
            }
        }
    }

    fn segments<'s>(&'s self, output: &'s [u16]) -> impl Iterator<Item = (u16, usize)> + 's {
        output.iter().scan(0, |at, &a| {
            let start = *at;
            *at += self.widths[a as usize];
            Some((a, start))
        })
    }
}

impl StructuredModel for Segmentation {
    type Output = Box<[u16]>;

    fn dim(&self) -> usize {
        self.templates[self.widths.len()]
    }

    fn len(&self) -> usize {
        self.plates.len()
    }

    fn truth(&self, example: usize) -> &Self::Output {
        &self.plates[example].characters
    }

    #[inline]
    fn for_each_feature(
        &self,
        example: usize,
        output: &Self::Output,
        mut each: impl FnMut(usize, f64),
    ) {
        for (a, start) in self.segments(output) {
            let template = self.templates[a as usize]..self.templates[a as usize + 1];
            let pixels = &self.plates[example].pixels[start * self.height..];
            template.zip(pixels).for_each(|(at, &x)| each(at, x));
        }
    }

    fn loss(&self, example: usize, output: &Self::Output) -> f64 {
        self.segments(output).map(|(a, start)| self.segment_loss(example, a, start)).sum()
    }

    fn worst(&self, example: usize, scores: Scores<'_>) -> Self::Output {
        self.cut(example, scores.shared, true)
    }

    fn rescales(&self) -> bool {
        true
    }

    fn worst_rescaled(&self, example: usize, scores: Scores<'_>) -> Self::Output {
        self.cut_rescaled(example, scores.shared)
    }

    fn best(&self, example: usize, scores: Scores<'_>) -> Self::Output {
        self.cut(example, scores.shared, false)
    }

    fn sizes(&self, share: &dyn Fn(usize) -> f64) -> Option<ScoreSizes> {
        let (mut pixels, mut columns, mut most) = (0.0, 0.0, 0);
        for (example, plate) in self.plates.iter().enumerate() {
            pixels += share(example) * plate.pixels.iter().map(|x| x.abs()).sum::<f64>();
            columns += share(example) * self.columns(example) as f64;
            most = most.max(plate.pixels.len());
        }
        // Which character a pixel belongs to, and where in it, is open.
        let features = vec![(0..self.dim(), pixels)];
        Some(ScoreSizes { features, losses: columns, roundings: most as f64 + 8.0 })
    }

    fn encode(&self, output: &Self::Output) -> Option<Vec<u32>> {
        Some(output.iter().map(|&a| u32::from(a)).collect())
    }

    fn decode(&self, example: usize, code: &[u32]) -> Option<Self::Output> {
        let known = |&a: &u32| (a as usize) < self.widths.len();
        let output: Box<[u16]> = code.iter().filter(|a| known(a)).map(|&a| a as u16).collect();
        let covered: usize = output.iter().map(|&a| self.widths[a as usize]).sum();
        let whole = covered == self.truths[example].len() && output.len() == code.len();
        whole.then_some(output)
    }
}
