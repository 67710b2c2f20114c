//! The normal of a plane, stored dense or by its non-zeros, whichever is smaller, or not at all where
//! the plane is kept by slopes. Normals of sparse examples are not zero in nearly the same places, and share
//! the list of these.

use crate::archive::{Archive, ArchiveError};
use minorant_linalg::dense;
use std::sync::Arc;

/// A plane's normal.
#[derive(Debug, Clone)]
pub(super) enum Normal {
    /// All coordinates.
    Dense(Vec<f64>),
    /// The coordinates that are not zero.
    Sparse {
        /// Their positions, ascending, and those of a few others.
        indices: Arc<[u32]>,
        /// The values there.
        values: Vec<f64>,
    },
    /// Slopes tell what it is.
    Absent,
}

/// Bytes of a coordinate with its position.
const ENTRY: usize = 12;

/// The number of coordinates that are not zero, where they are so few that they are stored alone: a
/// gather costs several times a streamed load.
fn sparse(vector: &[f64]) -> Option<usize> {
    let filled = vector.iter().filter(|x| **x != 0.0).count();
    (filled * 4 <= vector.len() && vector.len() <= u32::MAX as usize).then_some(filled)
}

impl Normal {
    /// Stores a dense vector in the smaller form; `other` may have its positions already.
    pub(super) fn store(vector: Vec<f64>, other: Option<&Normal>) -> Self {
        let Some(filled) = sparse(&vector) else { return Normal::Dense(vector) };
        if let Some(Normal::Sparse { indices, .. }) = other {
            let at = || indices.iter().map(|&i| vector[i as usize]);
            // Zeros among the values take less than positions of its own would.
            let is_near = 8 * indices.len() <= ENTRY * filled;
            if is_near && at().filter(|x| *x != 0.0).count() == filled {
                return Normal::Sparse { indices: indices.clone(), values: at().collect() };
            }
        }
        let (mut indices, mut values) = (Vec::with_capacity(filled), Vec::with_capacity(filled));
        for (i, x) in vector.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            indices.push(i as u32);
            values.push(*x);
        }
        Normal::Sparse { indices: indices.into(), values }
    }

    /// Bytes that a dense vector will take when it is stored, with positions of its own.
    pub(super) fn bytes_of(vector: &[f64]) -> u64 {
        sparse(vector).map_or(8 * vector.len(), |filled| ENTRY * filled) as u64
    }

    /// Bytes that the normal takes.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Normal::Dense(vector) => 8 * vector.len() as u64,
            Normal::Sparse { values, .. } => (ENTRY * values.len()) as u64,
            Normal::Absent => 0,
        }
    }

    /// The inner product with a dense vector.
    pub(super) fn dot(&self, other: &[f64]) -> f64 {
        match self {
            Normal::Dense(vector) => dense::dot(vector, other),
            Normal::Sparse { indices, values } => {
                indices.iter().zip(values).map(|(&i, x)| x * other[i as usize]).sum()
            }
            Normal::Absent => unreachable!("planes that are kept by slopes have no normal"),
        }
    }

    /// The inner products with several dense vectors; the normal is read from memory once.
    pub(super) fn dots(&self, others: &[&[f64]]) -> Vec<f64> {
        const BLOCK: usize = 4096;
        let Normal::Dense(vector) = self else {
            return others.iter().map(|other| self.dot(other)).collect();
        };
        let mut sums = vec![0.0; others.len()];
        for (at, block) in vector.chunks(BLOCK).enumerate() {
            for (sum, other) in sums.iter_mut().zip(others) {
                *sum += dense::dot(block, &other[at * BLOCK..][..block.len()]);
            }
        }
        sums
    }

    /// `to += factor * self`; nothing where slopes tell what it is, which are added up for all planes.
    pub(super) fn add_to(&self, factor: f64, to: &mut [f64]) {
        match self {
            Normal::Dense(vector) => dense::axpy(factor, vector, to),
            Normal::Sparse { indices, values } => {
                for (&i, x) in indices.iter().zip(values) {
                    to[i as usize] += factor * x;
                }
            }
            Normal::Absent => {}
        }
    }
}

/// Says in an archive that a normal is dense.
const DENSE: u64 = u64::MAX;
/// Says that there is none.
const ABSENT: u64 = u64::MAX - 1;

/// Writes normals.
pub(super) fn save<'n>(normals: impl Iterator<Item = &'n Normal>, archive: &mut Archive) {
    let (mut counts, mut places, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for normal in normals {
        match normal {
            Normal::Dense(vector) => {
                counts.push(DENSE);
                all.extend_from_slice(vector);
            }
            Normal::Sparse { indices, values } => {
                counts.push(values.len() as u64);
                places.extend(indices.iter().map(|&i| u64::from(i)));
                all.extend_from_slice(values);
            }
            Normal::Absent => counts.push(ABSENT),
        }
    }
    archive.put_integers("planes.counts", counts);
    archive.put_integers("planes.places", places);
    archive.put_reals("planes.values", all);
}

/// The normals of `dim` coordinates that were written.
pub(super) fn load(dim: usize, archive: &mut Archive) -> Result<Vec<Normal>, ArchiveError> {
    let bad = || ArchiveError("planes".into());
    let mut normals: Vec<Normal> = Vec::new();
    let Ok(counts) = archive.take_integers("planes.counts") else {
        // Archives of 0.1 have all coordinates of all normals.
        for vector in archive.take_reals("planes.normals")?.chunks(dim.max(1)) {
            if vector.len() != dim {
                return Err(bad());
            }
            normals.push(Normal::store(vector.to_vec(), normals.last()));
        }
        return Ok(normals);
    };
    let (places, values) =
        (archive.take_integers("planes.places")?, archive.take_reals("planes.values")?);
    let (mut places, mut values) = (&places[..], &values[..]);
    for count in counts {
        if count == ABSENT {
            normals.push(Normal::Absent);
            continue;
        }
        let filled = if count == DENSE { dim } else { count as usize };
        let (own, rest) = values.split_at_checked(filled).ok_or_else(bad)?;
        values = rest;
        if count == DENSE {
            normals.push(Normal::Dense(own.to_vec()));
            continue;
        }
        let (at, rest) = places.split_at_checked(filled).ok_or_else(bad)?;
        places = rest;
        let place = |at: &u64| u32::try_from(*at).ok().filter(|&at| (at as usize) < dim);
        let at: Option<Vec<u32>> = at.iter().map(place).collect();
        let at = at.ok_or_else(bad)?;
        let shared = match normals.last() {
            Some(Normal::Sparse { indices, .. }) if **indices == *at => Some(indices.clone()),
            _ => None,
        };
        let indices = shared.unwrap_or_else(|| at.into());
        normals.push(Normal::Sparse { indices, values: own.to_vec() });
    }
    Ok(normals)
}
