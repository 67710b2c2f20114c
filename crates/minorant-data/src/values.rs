//! Values while they are being read: f32 as long as every one is exactly an f32, f64 from the
//! first that is not (or as the storage option says), so that memory is never asked for twice.

use minorant_linalg::{Storage, Values};

/// A growing list of values in the narrowest storage that is allowed.
#[derive(Debug)]
pub(crate) enum GrowingValues {
    /// All so far are exactly f32, or rounding was asked for.
    Narrow { values: Vec<f32>, rounds: bool },
    /// At least one is not, or f64 was asked for.
    Wide(Vec<f64>),
}

impl GrowingValues {
    pub(crate) fn new(storage: Storage) -> GrowingValues {
        GrowingValues::with_capacity(storage, 0)
    }

    pub(crate) fn with_capacity(storage: Storage, capacity: usize) -> GrowingValues {
        match storage {
            Storage::F64 => GrowingValues::Wide(Vec::with_capacity(capacity)),
            Storage::F32 | Storage::Exact => GrowingValues::Narrow {
                values: Vec::with_capacity(capacity),
                rounds: storage == Storage::F32,
            },
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            GrowingValues::Narrow { values, .. } => values.len(),
            GrowingValues::Wide(values) => values.len(),
        }
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> f64 {
        match self {
            GrowingValues::Narrow { values, .. } => f64::from(values[at]),
            GrowingValues::Wide(values) => values[at],
        }
    }

    /// Appends a finite value; false when rounding to f32 was asked for and the value is beyond
    /// the largest f32.
    #[must_use]
    #[inline]
    pub(crate) fn push(&mut self, value: f64) -> bool {
        match self {
            GrowingValues::Wide(values) => values.push(value),
            GrowingValues::Narrow { values, rounds } => {
                let narrow = value as f32;
                if *rounds {
                    values.push(narrow);
                    return narrow.is_finite();
                }
                if f64::from(narrow) == value {
                    values.push(narrow);
                } else {
                    self.widen(value);
                }
            }
        }
        true
    }

    /// Appends finite values where nothing is rounded, so that all of them fit.
    pub(crate) fn extend_exactly(&mut self, values: &[f64]) {
        for &value in values {
            let fits = self.push(value);
            debug_assert!(fits, "only rounding leaves the range of f32");
        }
    }

    #[cold]
    fn widen(&mut self, value: f64) {
        if let GrowingValues::Narrow { values, .. } = self {
            let mut wide = Vec::with_capacity(values.capacity());
            wide.extend(values.iter().map(|&v| f64::from(v)));
            wide.push(value);
            *self = GrowingValues::Wide(wide);
        }
    }

    /// Puts the value at `from` in the place of the one at `to`.
    pub(crate) fn copy_down(&mut self, from: usize, to: usize) {
        match self {
            GrowingValues::Narrow { values, .. } => values[to] = values[from],
            GrowingValues::Wide(values) => values[to] = values[from],
        }
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        match self {
            GrowingValues::Narrow { values, .. } => values.truncate(length),
            GrowingValues::Wide(values) => values.truncate(length),
        }
    }

    /// Appends all of `other`, widening what has to be widened.
    pub(crate) fn append(&mut self, other: GrowingValues) {
        if let (GrowingValues::Narrow { values, .. }, GrowingValues::Wide(_)) = (&*self, &other) {
            *self = GrowingValues::Wide(values.iter().map(|&value| f64::from(value)).collect());
        }
        match (self, other) {
            (
                GrowingValues::Narrow { values, .. },
                GrowingValues::Narrow { values: others, .. },
            ) => values.extend_from_slice(&others),
            (GrowingValues::Wide(values), GrowingValues::Wide(others)) => {
                values.extend_from_slice(&others);
            }
            (GrowingValues::Wide(values), GrowingValues::Narrow { values: others, .. }) => {
                values.extend(others.into_iter().map(f64::from));
            }
            // Widened above.
            (GrowingValues::Narrow { .. }, GrowingValues::Wide(_)) => {}
        }
    }

    /// Gives back memory that was reserved in vain.
    pub(crate) fn shrink(&mut self) {
        match self {
            GrowingValues::Narrow { values, .. } => values.shrink_to_fit(),
            GrowingValues::Wide(values) => values.shrink_to_fit(),
        }
    }

    /// The values as a matrix stores them.
    pub(crate) fn into_values(mut self) -> Values<'static> {
        self.shrink();
        match self {
            GrowingValues::Narrow { values, .. } => values.into(),
            GrowingValues::Wide(values) => values.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grown(storage: Storage, values: &[f64]) -> GrowingValues {
        let mut grown = GrowingValues::new(storage);
        for &value in values {
            assert!(grown.push(value));
        }
        grown
    }

    #[test]
    fn narrow_until_the_first_inexact_value() {
        assert_eq!(grown(Storage::Exact, &[0.5, 1.0]).len(), 2);
        assert!(matches!(grown(Storage::Exact, &[0.5]), GrowingValues::Narrow { .. }));
        let wide = grown(Storage::Exact, &[0.5, 0.1]);
        assert_eq!((wide.get(0), wide.get(1)), (0.5, 0.1));
        assert!(matches!(wide, GrowingValues::Wide(_)));
        assert_eq!(grown(Storage::F32, &[0.1]).get(0), f64::from(0.1f32));
        assert!(!GrowingValues::new(Storage::F32).push(1e300));
    }

    #[test]
    fn one_wide_part_makes_all_wide() {
        for parts in [[&[0.5][..], &[0.1]], [&[0.1], &[0.5]]] {
            let mut all = grown(Storage::Exact, parts[0]);
            all.append(grown(Storage::Exact, parts[1]));
            let all = all.into_values();
            assert_eq!((all.len(), all.width()), (2, 8));
            assert_eq!((all.get(0), all.get(1)), (parts[0][0], parts[1][0]));
        }
    }
}
