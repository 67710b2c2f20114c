//! The rows of a cache that are fetched while they are used: by positioned reads into buffers of our own,
//! so that a file that changes under a run is a sentence and not a crash. Some blocks stay in memory, as
//! many as are allowed; for the others threads of their own read ahead of those that compute.

use super::block::Block;
use super::frame::{self, Holds};
use super::layout::Layout;
use super::summary::BlockPlace;
use crate::error::Refusal;
use crate::formats::binary::Trouble;
use minorant_linalg::{BlocksShape, Matrix, RowBlocks, Traffic};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

/// Blocks that are read ahead for each thread that computes.
const AHEAD: usize = 2;
/// The most threads that read ahead.
const READERS: usize = 4;

/// A cache on disk, from which single blocks are read at any place and by any thread.
#[derive(Debug)]
pub(super) struct Blocks {
    name: String,
    file: File,
    places: Vec<BlockPlace>,
    pub(super) layout: Layout,
    bytes_read: AtomicU64,
}

/// A block with its checksum, by which the same block is known again.
pub(super) struct Found {
    pub(super) block: Block,
    pub(super) checksum: u32,
}

thread_local! {
    /// The bytes of the block that a thread read last.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Blocks {
    pub(super) fn new(name: String, file: File, places: Vec<BlockPlace>, layout: Layout) -> Self {
        Blocks { name, file, places, layout, bytes_read: AtomicU64::new(0) }
    }

    /// Reads a block.
    pub(super) fn read(&self, at: usize) -> Result<Found, Trouble> {
        let place = self.places[at];
        let mut input = From { file: &self.file, at: place.offset };
        BUFFER.with_borrow_mut(|body| {
            let head = frame::read(&mut input, Holds::Rows, place.length, body)?;
            let block = Block::decode(body, self.layout.storage)?;
            if head.length != place.length || block.cells.rows() as u64 != place.rows {
                return Err(Refusal::new("the block that the summary names", "another").into());
            }
            self.bytes_read.fetch_add(place.length, Ordering::Relaxed);
            Ok(Found { block, checksum: head.checksum })
        })
    }
}

/// A file from some place on.
struct From<'f> {
    file: &'f File,
    at: u64,
}

impl Read for From<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(self.file, to, self.at)?;
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(self.file, to, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// What is read ahead.
#[derive(Debug, Default)]
struct Queue {
    /// Blocks that somebody should read.
    wanted: VecDeque<usize>,
    /// Blocks that are being read, and those that have been, the oldest first.
    slots: VecDeque<(usize, Option<Arc<Matrix<'static>>>)>,
    is_closed: bool,
}

#[derive(Debug)]
struct Shared {
    blocks: Blocks,
    shape: BlocksShape,
    /// The checksums of the blocks when they were first read.
    checksums: Vec<u32>,
    /// The blocks that are kept.
    kept: Vec<OnceLock<Arc<Matrix<'static>>>>,
    /// How many of them may be kept; they are spread evenly.
    most_kept: AtomicUsize,
    /// Bytes of rows that may be kept, whatever is asked for.
    most_bytes: u64,
    resident_bytes: AtomicU64,
    queue: Mutex<Queue>,
    work: Condvar,
    done: Condvar,
    most_ahead: usize,
    failure: Mutex<Option<String>>,
}

/// The rows of a cache.
#[derive(Debug)]
pub(super) struct StreamedRows {
    shared: Arc<Shared>,
    readers: Mutex<Vec<JoinHandle<()>>>,
}

impl StreamedRows {
    pub(super) fn new(
        blocks: Blocks,
        shape: BlocksShape,
        checksums: Vec<u32>,
        most_bytes: u64,
    ) -> Self {
        let threads = rayon::current_num_threads();
        let kept = checksums.iter().map(|_| OnceLock::new()).collect();
        let shared = Arc::new(Shared {
            blocks,
            shape,
            checksums,
            kept,
            most_kept: AtomicUsize::new(0),
            most_bytes,
            resident_bytes: AtomicU64::new(0),
            queue: Mutex::default(),
            work: Condvar::new(),
            done: Condvar::new(),
            most_ahead: AHEAD * threads,
            failure: Mutex::default(),
        });
        let readers = (0..threads.min(READERS)).filter_map(|_| {
            let shared = shared.clone();
            // Where no thread is to be had, blocks are read by who needs them.
            std::thread::Builder::new().spawn(move || shared.read_ahead()).ok()
        });
        let readers = Mutex::new(readers.collect());
        StreamedRows { shared, readers }
    }
}

impl Drop for StreamedRows {
    fn drop(&mut self) {
        lock(&self.shared.queue).is_closed = true;
        self.shared.work.notify_all();
        for reader in lock(&self.readers).drain(..) {
            // A reader that panicked has told so on its own.
            let _ = reader.join();
        }
    }
}

impl Shared {
    /// What a reader does until the rows are let go.
    fn read_ahead(&self) {
        loop {
            let mut queue = lock(&self.queue);
            let block = loop {
                if queue.is_closed {
                    return;
                }
                match queue.wanted.pop_front() {
                    Some(block) => break block,
                    None => {
                        queue = self.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
                    }
                }
            };
            drop(queue);
            let rows = self.load(block);
            let mut queue = lock(&self.queue);
            if let Some(slot) = queue.slots.iter_mut().find(|(of, _)| *of == block) {
                slot.1 = Some(rows);
            }
            drop(queue);
            self.done.notify_all();
        }
    }

    /// A block that was read ahead, or is being read; nothing where nobody thought of it.
    fn take_ahead(&self, block: usize) -> Option<Arc<Matrix<'static>>> {
        let mut queue = lock(&self.queue);
        loop {
            let at = queue.slots.iter().position(|(of, _)| *of == block)?;
            if queue.slots[at].1.is_some() {
                return queue.slots.remove(at)?.1;
            }
            // It may still wait for a reader: whoever needs it reads it then.
            if let Some(waiting) = queue.wanted.iter().position(|of| *of == block) {
                queue.wanted.remove(waiting);
                queue.slots.remove(at);
                return None;
            }
            queue = self.done.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Asks for a block that will be needed soon.
    fn ask_for(&self, block: usize) {
        if block >= self.checksums.len() || self.may_keep(block) {
            return;
        }
        let mut queue = lock(&self.queue);
        if queue.slots.iter().any(|(of, _)| *of == block) {
            return;
        }
        // What nobody came for makes room.
        while queue.slots.len() >= self.most_ahead {
            let Some(at) = queue.slots.iter().position(|(_, rows)| rows.is_some()) else { return };
            queue.slots.remove(at);
        }
        queue.slots.push_back((block, None));
        queue.wanted.push_back(block);
        drop(queue);
        self.work.notify_one();
    }

    /// Whether a block is one of those that are kept.
    fn may_keep(&self, block: usize) -> bool {
        let (all, most) = (self.checksums.len(), self.most_kept.load(Ordering::Relaxed));
        (block + 1) * most / all > block * most / all
    }

    /// Reads a block, or notes why it cannot be had.
    fn load(&self, block: usize) -> Arc<Matrix<'static>> {
        let found = self.blocks.read(block).and_then(|found| {
            if found.checksum != self.checksums[block] {
                return Err(Trouble::new(
                    "the cache as it was",
                    "one that was rewritten meanwhile",
                ));
            }
            Ok(self.blocks.layout.arranged(found.block)?.0)
        });
        Arc::new(found.unwrap_or_else(|why| {
            let why = why.in_file(&self.blocks.name).to_string();
            lock(&self.failure).get_or_insert(why);
            let starts = &self.shape.starts;
            self.blocks.layout.zeros(starts[block + 1] - starts[block])
        }))
    }
}

impl RowBlocks for StreamedRows {
    fn shape(&self) -> &BlocksShape {
        &self.shared.shape
    }

    fn fetch(&self, block: usize) -> Arc<Matrix<'static>> {
        let shared = &self.shared;
        if let Some(rows) = shared.kept[block].get() {
            return rows.clone();
        }
        let ahead = shared.take_ahead(block);
        shared.ask_for(block + 1);
        let rows = ahead.unwrap_or_else(|| shared.load(block));
        if shared.may_keep(block) && shared.kept[block].set(rows.clone()).is_ok() {
            shared.resident_bytes.fetch_add(rows.bytes() as u64, Ordering::Relaxed);
        }
        rows
    }

    fn failure(&self) -> Option<String> {
        lock(&self.shared.failure).clone()
    }

    fn traffic(&self) -> Traffic {
        Traffic {
            bytes_read: self.shared.blocks.bytes_read.load(Ordering::Relaxed),
            resident_bytes: self.shared.resident_bytes.load(Ordering::Relaxed),
        }
    }

    fn keep(&self, bytes: u64) {
        let shared = &self.shared;
        let (all, shape) = (shared.checksums.len() as u128, &shared.shape);
        let rows = shape.squares.len() as u64;
        let total = u128::from(shared.blocks.layout.bytes(rows, shape.entries as u64)).max(1);
        let most = (u128::from(bytes.min(shared.most_bytes)) * all / total).min(all) as usize;
        // What is kept once stays: more may be allowed later, not less.
        shared.most_kept.fetch_max(most, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
