//! Two clocks: the wall's, and the processor seconds of the threads of a pool, which other
//! processes on the machine hardly disturb.

use std::time::Instant;

/// Seconds of some work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seconds {
    pub(crate) wall: f64,
    /// Of all threads together.
    pub(crate) cpu: f64,
}

/// Processor seconds of the calling thread so far, where the system tells them.
fn of_thread() -> Option<f64> {
    // Giving way for a moment brings the system's books up to date.
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(1e-9 * nanoseconds)
}

fn of_pool() -> Option<f64> {
    rayon::broadcast(|_| of_thread()).into_iter().sum()
}

/// The seconds that `work` takes in the rayon pool that the caller is in. Where the system tells no
/// processor seconds, the wall's stand for them.
pub(crate) fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(T, Seconds), E> {
    let before = of_pool();
    let start = Instant::now();
    let result = work()?;
    let wall = start.elapsed().as_secs_f64();
    let cpu = before.zip(of_pool()).map_or(wall, |(before, after)| after - before);
    Ok((result, Seconds { wall, cpu }))
}

/// Does work in a pool of one thread, whose processor seconds are all that [`timed`] then counts.
pub(crate) fn on_one_thread<T: Send>(
    work: impl FnOnce() -> anyhow::Result<T> + Send,
) -> anyhow::Result<T> {
    rayon::ThreadPoolBuilder::new().num_threads(1).build()?.install(work)
}
