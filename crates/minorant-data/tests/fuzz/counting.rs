//! An allocator that knows, for each thread, how much is allocated and how much ever was. The only
//! unsafe code of the crate's tests: an allocator cannot be written without.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

pub(crate) struct Counting;

fn add(size: isize) {
    // Threads that are going away count no more.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + size);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now.get())));
    });
}

// SAFETY: everything is handed to the system's allocator; only numbers are kept here.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as isize);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        add(-(layout.size() as isize));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // As if old and new existed together, which is the worst case.
        add(size as isize);
        add(-(layout.size() as isize));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(place, layout, size) }
    }
}

/// How much more `work` had allocated at its highest than at its beginning.
pub(crate) fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = NOW.get();
    PEAK.set(before);
    let result = work();
    (result, (PEAK.get() - before).max(0) as usize)
}
