//! How much memory something takes, as the system tells it. Nothing is measured where it does not.

use minorant::system::bytes_of;

/// What comes of the work, and the most memory that the whole process had meanwhile.
pub(crate) fn peak_of<T>(work: impl FnOnce() -> T) -> (T, Option<u64>) {
    // Linux forgets the peak so far; where it does not, the number would be of another time.
    let is_reset = std::fs::write("/proc/self/clear_refs", "5").is_ok();
    let done = work();
    (done, bytes_of("/proc/self/status", "VmHWM").filter(|_| is_reset))
}
