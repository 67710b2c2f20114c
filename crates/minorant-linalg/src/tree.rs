//! Sums over numbered chunks in the order of a fixed binary tree. A node of the tree covers 2^level
//! chunks, from a multiple of 2^level on, and its sum is always that of its left half plus that of its
//! right half. So the bits of a sum depend on the chunks alone: not on the threads, processes or
//! machines that hold them, nor on the order in which their sums come together. A chunk that comes
//! twice is refused when it comes, and one that is missing when the sum is asked for.

use crate::dense::axpy;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What adds up.
pub trait Summand: Send {
    /// Adds what stands to the right of this summand.
    fn add(&mut self, right: Self);
}

impl Summand for Vec<f64> {
    fn add(&mut self, right: Self) {
        axpy(1.0, &right, self);
    }
}

/// Sums of some of the chunks: as few nodes of the tree as cover them.
#[derive(Debug)]
pub struct TreeSum<T> {
    /// Nodes of this level are not added up any further.
    top: u32,
    /// Level and sum of each node, by its first chunk.
    nodes: BTreeMap<usize, (u32, T)>,
}

/// What is wrong with the chunks of a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// A chunk was added twice.
    #[error("chunk {0} of the data came twice")]
    Twice(usize),
    /// A chunk was not added.
    #[error("chunk {0} of the data is missing")]
    Missing(usize),
}

/// The level at which a tree over `chunks` chunks, a power of two, has `parts` nodes.
pub fn level_of_parts(chunks: usize, parts: usize) -> u32 {
    debug_assert!(chunks.is_power_of_two() && parts.is_power_of_two() && parts <= chunks);
    (chunks / parts).trailing_zeros()
}

impl<T: Summand> TreeSum<T> {
    /// No chunks yet; nodes of the level `top` are not added up any further.
    pub fn new(top: u32) -> Self {
        TreeSum { top, nodes: BTreeMap::new() }
    }

    /// Adds the sum of a chunk.
    pub fn put(&mut self, chunk: usize, sum: T) -> Result<(), TreeError> {
        self.put_node(chunk, 0, sum)
    }

    /// Adds what another sum holds of the same tree.
    pub fn merge(&mut self, other: Self) -> Result<(), TreeError> {
        let mut nodes = other.nodes.into_iter();
        nodes.try_for_each(|(first, (level, sum))| self.put_node(first, level, sum))
    }

    /// The sums of the nodes of the top level over the chunks below `chunks`, in order.
    pub fn whole(self, chunks: usize) -> Result<Vec<T>, TreeError> {
        let each = 1usize << self.top;
        let mut sums = Vec::with_capacity(chunks / each);
        let mut next = 0;
        for (first, (level, sum)) in self.nodes {
            if first != next {
                break;
            }
            next += 1 << level;
            if level == self.top {
                sums.push(sum);
            }
        }
        if sums.len() * each == chunks { Ok(sums) } else { Err(TreeError::Missing(next)) }
    }

    fn put_node(&mut self, mut first: usize, mut level: u32, mut sum: T) -> Result<(), TreeError> {
        self.check_free(first, level)?;
        while let Some(sibling) = self.take_sibling(first, level) {
            (first, sum) = joined(first, level, sum, sibling);
            level += 1;
        }
        self.nodes.insert(first, (level, sum));
        Ok(())
    }

    /// Whether none of a node's chunks is here.
    fn check_free(&self, first: usize, level: u32) -> Result<(), TreeError> {
        let end = first + (1 << level);
        match self.nodes.range(..end).next_back() {
            Some((&at, (level, _))) if at + (1 << level) > first => {
                Err(TreeError::Twice(first.max(at)))
            }
            _ => Ok(()),
        }
    }

    /// The other half of the node that a node is one half of.
    fn take_sibling(&mut self, first: usize, level: u32) -> Option<T> {
        let sibling = first ^ (1 << level);
        let is_there = self.nodes.get(&sibling).is_some_and(|(of, _)| *of == level);
        let sibling = (level < self.top && is_there).then(|| self.nodes.remove(&sibling))??;
        Some(sibling.1)
    }
}

/// A node and its sibling as one: its first chunk, and left plus right.
fn joined<T: Summand>(first: usize, level: u32, sum: T, sibling: T) -> (usize, T) {
    let left = first & !(1 << level);
    let (mut total, right) = if left == first { (sum, sibling) } else { (sibling, sum) };
    total.add(right);
    (left, total)
}

/// Which chunk is begun first. Sums do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The first one.
    Up,
    /// The last one.
    Down,
}

/// Makes and adds up the sums of the chunks `held`, on all threads. Chunks are begun in their order, and
/// two halves are added as soon as both are there, so that few sums are alive at a time: about one for
/// each thread and each level of the tree. The first error ends the work.
pub fn sum_chunks<T: Summand, E: Send>(
    held: std::ops::Range<usize>,
    top: u32,
    of_chunk: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<TreeSum<T>, E> {
    sum_chunks_in(Order::Up, held, top, of_chunk)
}

/// The same, begun at the end that is said.
pub fn sum_chunks_in<T: Summand, E: Send>(
    order: Order,
    held: std::ops::Range<usize>,
    top: u32,
    of_chunk: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<TreeSum<T>, E> {
    let tree = Mutex::new(TreeSum::new(top));
    let failed: Mutex<Option<E>> = Mutex::new(None);
    let is_over = AtomicBool::new(false);
    each_in_order(order, held, &|chunk| {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        match of_chunk(chunk) {
            Ok(sum) => put_shared(&tree, chunk, sum),
            Err(error) => {
                is_over.store(true, Ordering::Relaxed);
                lock(&failed).get_or_insert(error);
            }
        }
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(tree.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}

/// The sum of all of `chunks` chunks, a power of two, none of which can fail.
pub fn sum_of_chunks<T: Summand>(chunks: usize, of_chunk: impl Fn(usize) -> T + Sync) -> T {
    let of_chunk = |chunk| Ok::<T, TreeError>(of_chunk(chunk));
    let tree = sum_chunks(0..chunks, level_of_parts(chunks, 1), of_chunk);
    let sum = tree.and_then(|tree| tree.whole(chunks)).map(|mut sums| sums.pop());
    sum.ok().flatten().expect("every chunk of a power of two was added once")
}

/// Adds the sum of a chunk to a tree that other threads add to; the additions themselves are done
/// while nobody waits.
fn put_shared<T: Summand>(tree: &Mutex<TreeSum<T>>, chunk: usize, sum: T) {
    let (mut first, mut level, mut sum) = (chunk, 0, sum);
    loop {
        let mut shared = lock(tree);
        let Some(sibling) = shared.take_sibling(first, level) else {
            shared.nodes.insert(first, (level, sum));
            return;
        };
        drop(shared);
        (first, sum) = joined(first, level, sum, sibling);
        level += 1;
    }
}

/// Calls `work` for each number, begun in their order from one end, on all threads of the pool.
pub(crate) fn each_in_order(
    order: Order,
    numbers: std::ops::Range<usize>,
    work: &(dyn Fn(usize) + Sync),
) {
    let (first, last) = (numbers.start, numbers.end.saturating_sub(1));
    let work = |number: usize| match order {
        Order::Up => work(number),
        Order::Down => work(last - (number - first)),
    };
    let threads = rayon::current_num_threads().min(numbers.len());
    if threads <= 1 {
        return numbers.for_each(work);
    }
    let next = AtomicUsize::new(numbers.start);
    let take = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= numbers.end {
                return;
            }
            work(number);
        }
    };
    rayon::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| take());
        }
        take();
    });
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked while it held the lock takes the whole sum down with it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sum that writes down how it was added up.
    #[derive(Debug, Clone, PartialEq)]
    struct Told(String);

    impl Summand for Told {
        fn add(&mut self, right: Self) {
            self.0 = format!("({}+{})", self.0, right.0);
        }
    }

    fn told(chunk: usize) -> Told {
        Told(chunk.to_string())
    }

    fn tree_of(chunks: impl IntoIterator<Item = usize>, top: u32) -> TreeSum<Told> {
        let mut tree = TreeSum::new(top);
        chunks.into_iter().for_each(|chunk| tree.put(chunk, told(chunk)).unwrap());
        tree
    }

    #[test]
    fn the_order_of_arrival_and_the_holders_do_not_matter() {
        let whole = tree_of(0..16, 4).whole(16).unwrap();
        assert_eq!(whole[0].0.len(), "0123456789101112131415".len() + 15 * 3);
        for step in [3, 5, 7, 11, 13] {
            let scattered = tree_of((0..16).map(|i| (i * step + 2) % 16), 4);
            assert_eq!(scattered.whole(16).unwrap(), whole);
        }
        for cut in 1..16 {
            let (mut right, left) = (tree_of(cut..16, 4), tree_of(0..cut, 4));
            right.merge(left).unwrap();
            assert_eq!(right.whole(16).unwrap(), whole);
        }
        for threads in [1, 2, 3, 8] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let work = || sum_chunks(0..16, 4, |chunk| Ok::<_, ()>(told(chunk)));
            assert_eq!(pool.install(work).unwrap().whole(16).unwrap(), whole);
        }
    }

    #[test]
    fn parts_are_nodes_of_a_lower_level() {
        let parts = tree_of((0..8).rev(), level_of_parts(8, 4)).whole(8).unwrap();
        assert_eq!(parts, ["(0+1)", "(2+3)", "(4+5)", "(6+7)"].map(|sum| Told(sum.into())));
        assert_eq!(tree_of(0..1, 0).whole(1).unwrap(), [told(0)]);
    }

    #[test]
    fn chunks_that_come_twice_or_are_missing_are_refused() {
        let mut tree = tree_of(0..4, 3);
        assert_eq!(tree.put(2, told(2)), Err(TreeError::Twice(2)));
        assert_eq!(tree.merge(tree_of(3..6, 3)), Err(TreeError::Twice(3)));
        assert_eq!(tree_of(0..4, 3).whole(8), Err(TreeError::Missing(4)));
        assert_eq!(tree_of([0, 1, 2, 4, 5, 6, 7], 3).whole(8), Err(TreeError::Missing(3)));
        assert_eq!(tree_of([1], 3).whole(8), Err(TreeError::Missing(0)));
        assert_eq!(tree_of([], 0).whole(1), Err(TreeError::Missing(0)));
    }

    #[test]
    fn few_sums_are_alive_at_a_time() {
        static ALIVE: AtomicUsize = AtomicUsize::new(0);
        static MOST: AtomicUsize = AtomicUsize::new(0);
        struct Counted;
        impl Drop for Counted {
            fn drop(&mut self) {
                ALIVE.fetch_sub(1, Ordering::SeqCst);
            }
        }
        impl Summand for Counted {
            fn add(&mut self, _: Self) {}
        }
        for threads in [1, 2, 4] {
            MOST.store(0, Ordering::SeqCst);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let sum = pool.install(|| {
                sum_chunks(0..256, 8, |_| {
                    let alive = ALIVE.fetch_add(1, Ordering::SeqCst) + 1;
                    MOST.fetch_max(alive, Ordering::SeqCst);
                    std::thread::sleep(std::time::Duration::from_micros(50));
                    Ok::<_, ()>(Counted)
                })
            });
            assert_eq!(sum.unwrap().whole(256).unwrap().len(), 1);
            let most = MOST.load(Ordering::SeqCst);
            assert!(most <= 2 * threads + 8 + 1, "{most} sums with {threads} threads");
        }
    }
}
