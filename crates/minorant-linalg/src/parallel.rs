//! Work on fixed chunks: results come back in the order of the chunks whatever the number of
//! threads, so that whoever reduces them in that order gets the same bits on one thread and on
//! fifty. The threads are those of the rayon pool that the caller is in.

use rayon::prelude::*;
use std::ops::Range;
use std::sync::Mutex;

/// Buffers that were used and will be again: memory that is given back to the system has to be
/// fetched from it page by page the next time, which takes longer than filling it.
#[derive(Debug, Default)]
pub struct Spare(Mutex<Vec<Vec<f64>>>);

impl Spare {
    fn buffers(&self) -> std::sync::MutexGuard<'_, Vec<Vec<f64>>> {
        // A thread that panicked while it held the list left it whole.
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// A buffer full of zeros.
    pub fn zeros(&self, length: usize) -> Vec<f64> {
        let used = self.buffers().pop();
        let Some(mut buffer) = used else { return vec![0.0; length] };
        buffer.clear();
        buffer.resize(length, 0.0);
        buffer
    }
}

/// Calls `work` once per chunk, in parallel, and returns the results in chunk order.
pub fn map_chunks<T: Send>(
    chunks: &[Range<usize>],
    work: impl Fn(usize, Range<usize>) -> T + Sync,
) -> Vec<T> {
    if chunks.len() == 1 {
        return vec![work(0, chunks[0].clone())];
    }
    chunks.par_iter().enumerate().with_max_len(1).map(|(i, range)| work(i, range.clone())).collect()
}

/// Like [`map_chunks`], each chunk with its own stretch of `buffer` (`width` entries an item).
pub fn map_chunks_mut<T: Send>(
    chunks: &[Range<usize>],
    buffer: &mut [f64],
    width: usize,
    work: impl Fn(usize, Range<usize>, &mut [f64]) -> T + Sync,
) -> Vec<T> {
    let mut stretches = Vec::with_capacity(chunks.len());
    let mut rest = buffer;
    for chunk in chunks {
        let (stretch, tail) = rest.split_at_mut(chunk.len() * width);
        stretches.push((chunk.clone(), stretch));
        rest = tail;
    }
    if stretches.len() == 1 {
        return stretches.into_iter().map(|(range, stretch)| work(0, range, stretch)).collect();
    }
    let stretches = stretches.into_par_iter().enumerate().with_max_len(1);
    stretches.map(|(i, (range, stretch))| work(i, range, stretch)).collect()
}

/// Splits `0..n` into `count` contiguous ranges of nearly equal length: `i n / count` onwards.
pub fn split_evenly(n: usize, count: usize) -> Vec<Range<usize>> {
    let at = |i: usize| (i as u128 * n as u128 / count as u128) as usize;
    (0..count).map(|i| at(i)..at(i + 1)).collect()
}

/// Adds `parts[1..]` to `parts[0]` entry by entry, in order, on all threads; keeps the others'
/// memory.
pub fn add_in_order(mut parts: Vec<Vec<f64>>, spare: &Spare) -> Vec<f64> {
    let Some(mut first) = (!parts.is_empty()).then(|| parts.remove(0)) else { return Vec::new() };
    const BLOCK: usize = 4096;
    first.par_chunks_mut(BLOCK).enumerate().for_each(|(block, total)| {
        let start = block * BLOCK;
        for part in &parts {
            for (t, x) in total.iter_mut().zip(&part[start..]) {
                *t += x;
            }
        }
    });
    spare.buffers().append(&mut parts);
    first
}
