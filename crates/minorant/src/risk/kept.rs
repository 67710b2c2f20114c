//! The outputs of points that the holders of rows keep, as long as somebody needs them. It knows no rows and
//! no losses.

use super::HeldOutputs;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The outputs of the points that are alive, at each holder by the points' numbers.
#[derive(Debug)]
pub(super) struct Kept {
    points: Vec<Mutex<HashMap<u64, Arc<[f64]>>>>,
    next: AtomicU64,
}

impl Kept {
    /// Room for the outputs of points at so many holders.
    pub(super) fn new(holders: usize) -> Arc<Self> {
        let points = (0..holders).map(|_| Mutex::default()).collect();
        Arc::new(Kept { points, next: AtomicU64::new(0) })
    }

    /// Lets each holder keep its share of a point's outputs.
    pub(super) fn keep(kept: &Arc<Self>, outputs: Vec<Vec<f64>>) -> Arc<Handle> {
        let number = kept.next.fetch_add(1, Ordering::Relaxed);
        for (holder, outputs) in kept.points.iter().zip(outputs) {
            lock(holder).insert(number, outputs.into());
        }
        Arc::new(Handle { number, kept: kept.clone() })
    }

    /// The outputs of a point at each holder.
    pub(super) fn of(&self, number: u64) -> Vec<Arc<[f64]>> {
        let of_holder = |holder: &Mutex<HashMap<u64, Arc<[f64]>>>| {
            let found = lock(holder).get(&number).cloned();
            found.unwrap_or_else(|| unreachable!("holders keep points while handles are alive"))
        };
        self.points.iter().map(of_holder).collect()
    }
}

/// Stands for the outputs of a point; when it goes, the holders forget them.
#[derive(Debug)]
pub(super) struct Handle {
    number: u64,
    kept: Arc<Kept>,
}

impl HeldOutputs for Handle {
    fn number(&self) -> u64 {
        self.number
    }

    fn gather(&self) -> Vec<f64> {
        self.kept.of(self.number).iter().flat_map(|outputs| outputs.iter().copied()).collect()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        for holder in &self.kept.points {
            lock(holder).remove(&self.number);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A table of outputs is whole between any two operations on it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
