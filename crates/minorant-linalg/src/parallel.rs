//! Work on fixed chunks: results come back in the order of the chunks whatever the number of
//! threads, so that whoever reduces them in that order gets the same bits on one thread and on
//! fifty. The threads are those of the rayon pool that the caller is in.

use crate::tree::{Order, each_in_order};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Buffers that were used and will be again: memory that is given back to the system has to be
/// fetched from it page by page the next time, which takes longer than filling it.
#[derive(Debug, Default)]
pub struct Spare(Mutex<Vec<Vec<f64>>>);

impl Spare {
    fn buffers(&self) -> std::sync::MutexGuard<'_, Vec<Vec<f64>>> {
        // A thread that panicked while it held the list left it whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a buffer that is no longer needed.
    pub fn keep(&self, buffer: Vec<f64>) {
        self.buffers().push(buffer);
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

/// Hands out the numbers below `count`, each once. Not generic, so that the scheduling behind it,
/// which is more code than most of the work that it schedules, is compiled once and not once for
/// every closure. With `Grain::One` threads take the numbers one by one in an order; with
/// `Grain::Any` they take runs of numbers and split them while others are idle.
fn hand_out(count: usize, grain: Grain, work: &(dyn Fn(usize) + Sync)) {
    match grain {
        _ if count == 1 => work(0),
        Grain::One(order) => each_in_order(order, 0..count, work),
        Grain::Any => (0..count).into_par_iter().for_each(work),
    }
}

#[derive(Clone, Copy)]
enum Grain {
    One(Order),
    Any,
}

/// Where the results of tasks go.
struct Slots<T>(*mut T);

// SAFETY: the pointer is only used to move results in, each from the thread that made it.
unsafe impl<T: Send> Sync for Slots<T> {}

impl<T> Slots<T> {
    /// # Safety
    /// The slot must exist, and nobody else may write to it.
    unsafe fn put(&self, slot: usize, value: T) {
        // SAFETY: the caller's promise.
        unsafe { self.0.add(slot).write(value) }
    }
}

fn collect<T: Send>(count: usize, grain: Grain, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut results = Vec::with_capacity(count);
    let slots = Slots(results.as_mut_ptr());
    // SAFETY: there is room for `count` results, and every number is handed out once.
    hand_out(count, grain, &|i| unsafe { slots.put(i, work(i)) });
    // SAFETY: every task has ended and has put its result; had one panicked, `hand_out` would have
    // panicked as well.
    unsafe { results.set_len(count) };
    results
}

/// Calls `work` for every number below `count`, in parallel, and returns the results in order.
pub fn map<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    collect(count, Grain::Any, work)
}

fn collect_stretches<V: Send, T: Send>(
    stretches: Vec<&mut [V]>,
    grain: Grain,
    work: impl Fn(usize, &mut [V]) -> T + Sync,
) -> Vec<T> {
    // Every stretch has one task, so that no lock is ever waited for.
    let stretches: Vec<Mutex<&mut [V]>> = stretches.into_iter().map(Mutex::new).collect();
    collect(stretches.len(), grain, |i| {
        work(i, &mut stretches[i].lock().unwrap_or_else(PoisonError::into_inner))
    })
}

/// Calls `work` with every stretch and its place, in parallel, and returns the results in order.
pub fn map_stretches<V: Send, T: Send>(
    stretches: Vec<&mut [V]>,
    work: impl Fn(usize, &mut [V]) -> T + Sync,
) -> Vec<T> {
    collect_stretches(stretches, Grain::Any, work)
}

/// Calls `work` with every `length` values and the place of that stretch among the others.
pub fn for_each_stretch<V: Send>(
    values: &mut [V],
    length: usize,
    work: impl Fn(usize, &mut [V]) + Sync,
) {
    map_stretches(values.chunks_mut(length).collect(), work);
}

/// Calls `work` once per chunk, in parallel, and returns the results in chunk order.
pub fn map_chunks<T: Send>(
    chunks: &[Range<usize>],
    work: impl Fn(usize, Range<usize>) -> T + Sync,
) -> Vec<T> {
    collect(chunks.len(), Grain::One(Order::Up), |i| work(i, chunks[i].clone()))
}

/// Like [`map_chunks`], each chunk with its own stretch of `buffer` (`width` entries an item).
pub fn map_chunks_mut<T: Send>(
    chunks: &[Range<usize>],
    buffer: &mut [f64],
    width: usize,
    work: impl Fn(usize, Range<usize>, &mut [f64]) -> T + Sync,
) -> Vec<T> {
    map_chunks_mut_in(Order::Up, chunks, buffer, width, work)
}

/// The same, begun at the end that is said.
pub fn map_chunks_mut_in<T: Send>(
    order: Order,
    chunks: &[Range<usize>],
    buffer: &mut [f64],
    width: usize,
    work: impl Fn(usize, Range<usize>, &mut [f64]) -> T + Sync,
) -> Vec<T> {
    let stretches = stretches(chunks, buffer, width);
    collect_stretches(stretches, Grain::One(order), |i, stretch| {
        work(i, chunks[i].clone(), stretch)
    })
}

/// The stretches of `buffer` that belong to contiguous chunks, `width` entries an item.
pub fn stretches<'b>(
    chunks: &[Range<usize>],
    mut buffer: &'b mut [f64],
    width: usize,
) -> Vec<&'b mut [f64]> {
    let stretch = |chunk: &Range<usize>| {
        let (stretch, rest) = std::mem::take(&mut buffer).split_at_mut(chunk.len() * width);
        buffer = rest;
        stretch
    };
    chunks.iter().map(stretch).collect()
}

/// Splits `0..n` into `count` contiguous ranges of nearly equal length.
pub fn split_evenly(n: usize, count: usize) -> Vec<Range<usize>> {
    (0..count).map(|i| split_at(n, count, i)..split_at(n, count, i + 1)).collect()
}

/// Where the range number `i` begins when `0..n` is split evenly into `count`.
pub fn split_at(n: usize, count: usize, i: usize) -> usize {
    (i as u128 * n as u128 / count as u128) as usize
}
