//! The highest minorants of a linear risk whose slopes are those of tangents, scaled down: the dual
//! points of problems that bound the normal (λ‖w‖₁ allows none above λ). The tangents' normal
//! scales with them, so no pass over the data is needed. What rounding may have moved the normal and the
//! offset by is told with them.

use super::chunk::{BlockSums, ChunkPlane};
use super::{LinearRisk, Point, ScaledTangents};
use minorant_linalg::parallel::map_chunks_mut;
use minorant_linalg::tree::Summand;

impl LinearRisk<'_> {
    pub(super) fn highest_with_tangents_slopes(
        &self,
        point: &Point,
        factor: f64,
    ) -> Option<ScaledTangents> {
        let k = self.rows.loss.outputs();
        let mut slopes = vec![0.0; self.rows.design.rows() * k];
        map_chunks_mut(&self.rows.chunks, &mut slopes, k, |_, rows, slopes| {
            for (i, slopes) in rows.zip(slopes.chunks_exact_mut(k)) {
                self.rows.loss.tangent(i, &point.outputs.here()[i * k..(i + 1) * k], slopes);
                slopes.iter_mut().for_each(|slope| *slope *= factor);
            }
        });
        self.highest_with_slopes(slopes)
    }

    /// The highest minorant with these slopes, and how far those lie from what the losses allow.
    pub(crate) fn highest_with_slopes(&self, mut slopes: Vec<f64>) -> Option<ScaledTangents> {
        let k = self.rows.loss.outputs();
        let conjugate = self.rows.loss.conjugate()?;
        let chunks = map_chunks_mut(&self.rows.chunks, &mut slopes, k, |_, rows, slopes| {
            let mut plane = ChunkPlane::new(&self.rows.spare);
            let (mut moved, mut weights) = (0.0, 0.0);
            let mut scaled = vec![0.0; k];
            for block in self.rows.blocks(rows.clone()) {
                let mut sums = BlockSums::default();
                for i in block.clone() {
                    let slopes = &mut slopes[(i - rows.start) * k..(i - rows.start + 1) * k];
                    scaled.copy_from_slice(slopes);
                    let offset = conjugate.highest_offset(i, slopes)?;
                    let apart = |(a, b): (&f64, &f64)| (a - b).abs() + f64::EPSILON * a.abs();
                    let distance: f64 = slopes.iter().zip(&scaled).map(apart).sum();
                    let weight = self.rows.weights.of(i);
                    moved += weight * distance * self.rows.lengths[i];
                    weights += weight;
                    sums.offset += weight * offset;
                    sums.offset_size += weight * offset.abs();
                }
                plane.add_block(block.len(), sums);
            }
            Some((plane, moved, weights))
        });
        let chunks = chunks.into_iter().collect::<Option<Vec<_>>>()?;
        let (mut moved, mut weights) = (0.0, 0.0);
        let mut all: Option<ChunkPlane<'_>> = None;
        for (plane, chunk_moved, chunk_weights) in chunks {
            moved += chunk_moved;
            weights += chunk_weights;
            match &mut all {
                Some(all) => all.add(plane),
                None => all = Some(plane),
            }
        }
        let (offset, offset_error) = all?.total_offset();
        // A conjugate is computed from numbers as large as 1, whatever it is itself.
        let of_conjugates = 4.0 * f64::EPSILON * k as f64 * weights;
        // The sums above round as well, once a row.
        let moved = moved * (1.0 + f64::EPSILON * self.rows.design.rows() as f64);
        Some(ScaledTangents { slopes, offset, offset_error: offset_error + of_conjugates, moved })
    }
}
