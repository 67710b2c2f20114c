//! Risks that are not convex and are known by their value and one gradient: each is a [`Risk`] with
//! one plane at a point. The plane touches the risk at that point; elsewhere the risk may lie below it.

use super::{Cancel, Examples, Plane, Point, Risk, RiskError, chunk};
use minorant_linalg::sum::Sum;
use minorant_linalg::tree::{Summand, level_of_parts, sum_chunks};

/// A risk that is not convex, never negative, and a sum over examples.
pub(crate) trait LocalRisk: Examples + Sync {
    /// Number of weights.
    fn weight_count(&self) -> usize;

    /// Whether it is differentiable everywhere.
    fn is_differentiable(&self) -> bool;

    /// The value at `w`.
    fn value(&self, w: &[f64], cancel: &Cancel) -> Result<f64, RiskError>;

    /// The value at `w` and a gradient there.
    fn gradient(&self, w: &[f64], cancel: &Cancel) -> Result<(f64, Vec<f64>), RiskError>;
}

impl<R: LocalRisk> Risk for R {
    fn dim(&self) -> usize {
        self.weight_count()
    }

    fn is_convex(&self) -> bool {
        false
    }

    fn is_smooth(&self) -> bool {
        self.is_differentiable()
    }

    fn is_nonnegative(&self) -> bool {
        true
    }

    fn at(&self, w: Vec<f64>, cancel: &Cancel) -> Result<Point, RiskError> {
        let value = self.value(&w, cancel)?;
        Point::new(w, value)
    }

    fn planes(
        &self,
        point: &Point,
        parts: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Plane>, RiskError> {
        Ok(self.at_with_planes(point.w.clone(), parts, cancel)?.1)
    }

    fn at_with_planes(
        &self,
        w: Vec<f64>,
        _parts: usize,
        cancel: &Cancel,
    ) -> Result<(Point, Vec<Plane>), RiskError> {
        let (value, gradient) = self.gradient(&w, cancel)?;
        let point = Point::new(w, value)?;
        let plane = Plane::touching(&point, gradient);
        Ok((point, vec![plane]))
    }

    fn examples(&self) -> Option<&dyn Examples> {
        Some(self)
    }
}

/// The gradient of some chunks of examples, and the value of each chunk.
struct ChunkGradient {
    values: Vec<f64>,
    gradient: Vec<f64>,
}

impl Summand for ChunkGradient {
    fn add(&mut self, right: Self) {
        self.values.extend(right.values);
        self.gradient.add(right.gradient);
    }
}

/// Value and gradient from those of `chunks` chunks, a power of two.
pub(crate) fn sum_gradients(
    chunks: usize,
    of_chunk: impl Fn(usize) -> Result<(f64, Vec<f64>), RiskError> + Sync,
) -> Result<(f64, Vec<f64>), RiskError> {
    let of_chunk = |chunk: usize| {
        let (value, gradient) = of_chunk(chunk)?;
        Ok(ChunkGradient { values: vec![value], gradient })
    };
    let tree = sum_chunks(0..chunks, level_of_parts(chunks, 1), of_chunk)?;
    let mut sums = chunk::whole([tree], chunks)?;
    let ChunkGradient { values, gradient } = sums.swap_remove(0);
    Ok((values.into_iter().collect::<Sum>().value(), gradient))
}
