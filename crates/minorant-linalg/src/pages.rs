//! Large pages for arrays that are read many times. A pass over rows of unforeseeable length waits
//! at the start of every page that the processor has no address for; with large pages there are
//! five hundred times fewer of them. A request only: where the system refuses, nothing changes.

/// Arrays below this size are not worth the request.
#[cfg(target_os = "linux")]
const WORTH: usize = 8 << 20;

/// Asks the system to move an array to large pages.
#[cfg(target_os = "linux")]
pub(crate) fn prefer_large<T>(array: &[T]) {
    const LARGE: usize = 2 << 20;
    if size_of_val(array) < WORTH {
        return;
    }
    let start = (array.as_ptr() as usize).next_multiple_of(LARGE);
    let end = (array.as_ptr() as usize + size_of_val(array)) / LARGE * LARGE;
    if start < end {
        let first = start as *mut libc::c_void;
        // SAFETY: the range lies inside the array, and both requests leave its contents alone.
        unsafe {
            libc::madvise(first, end - start, libc::MADV_HUGEPAGE);
            libc::madvise(first, end - start, libc::MADV_COLLAPSE);
        }
    }
}

/// Elsewhere there is no such request.
#[cfg(not(target_os = "linux"))]
pub(crate) fn prefer_large<T>(_array: &[T]) {}
