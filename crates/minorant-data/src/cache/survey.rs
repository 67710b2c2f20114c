//! Rows that stay in a cache: all blocks are looked at once, their checksums, the sizes of their rows, and
//! that they are what the summary says. What the labels mean is for whoever asks.

use super::MARK;
use super::block::BlockLabels;
use super::layout::Layout;
use super::read::{Cache, from_row, is_cache, labels_alone, piece_labels};
use super::streamed::{Blocks, Found, StreamedRows};
use crate::collect::Collector;
use crate::dataset::Label;
use crate::detect::Format;
use crate::error::{ReadError, Refusal};
use crate::formats::binary::Trouble;
use crate::source::Source;
use minorant_linalg::{BlocksShape, Matrix};
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Instant;

/// Leaves the rows of a cache where they are, if they would take more than `most` bytes in memory, and
/// gives their labels to the collector.
pub(crate) fn leave_on_disk(
    source: &Source<'_>,
    most: u64,
    collector: &mut Collector<'_>,
) -> Result<bool, ReadError> {
    let options = collector.options;
    if options.format.is_some_and(|format| format != Format::Mnt)
        || !is_cache(&source.beginning(MARK.len() as u64)?)
    {
        return Ok(false);
    }
    let cache = Cache::of(source)?;
    cache.refuse_sequences()?;
    let layout = Layout::of(&cache.summary, options).map_err(|why| why.in_file(&cache.name))?;
    let summary = &cache.summary;
    let entries = if summary.is_dense { summary.nonzeros } else { summary.entries };
    let entries = if layout.is_dense { summary.entries } else { entries };
    if layout.bytes(summary.rows, entries) <= most {
        return Ok(false);
    }
    cache.check_columns(collector)?;
    let mut words = Vec::new();
    let mut take = |first: usize, found: &mut Surveyed| {
        words.append(&mut found.new_words);
        let labels = std::mem::replace(&mut found.labels, BlockLabels::None);
        let labels = piece_labels(labels, &words, options.label_kind);
        collector.push(labels_alone(labels.map_err(|why| from_row(why, first))?, options))
    };
    let Some((rows, ignored)) = leave(source, cache, layout, most, &mut take)? else {
        return Ok(false);
    };
    collector.leave_elsewhere(rows, ignored);
    Ok(true)
}

/// The rows of a cache as they will be fetched, and how many of their entries are left out; nothing where
/// the cache is no file. Each block, with the number of its first row from 1, is given to `take`.
pub(super) fn leave(
    source: &Source<'_>,
    cache: Cache<'_>,
    layout: Layout,
    most: u64,
    take: &mut dyn FnMut(usize, &mut Surveyed) -> Result<(), Refusal>,
) -> Result<Option<(Matrix<'static>, usize)>, ReadError> {
    let Source::Path(path) = source else { return Ok(None) };
    let Cache { name, summary, .. } = cache;
    let file = File::open(path).map_err(|why| ReadError::io(&name, why))?;
    let count = summary.blocks.len();
    let mut shape = BlocksShape {
        starts: vec![0],
        cols: layout.cols,
        entries: 0,
        is_sparse: !layout.is_dense,
        width: layout.width,
        squares: Vec::new(),
        seconds: 0.0,
    };
    let blocks = Blocks::new(name.clone(), file, summary.blocks, layout);
    let begin = Instant::now();
    let (mut checksums, mut ignored) = (Vec::with_capacity(count), 0);
    let mut note = |mut found: Surveyed| {
        take(shape.squares.len() + 1, &mut found)?;
        shape.entries += found.entries;
        shape.squares.extend(found.squares);
        shape.starts.push(shape.squares.len());
        checksums.push(found.checksum);
        ignored += found.ignored;
        Ok(())
    };
    survey_all(&blocks, count, &mut note).map_err(|why: Trouble| why.in_file(&name))?;
    shape.seconds = begin.elapsed().as_secs_f64();
    let rows = StreamedRows::new(blocks, shape, checksums, most);
    Ok(Some((Matrix::of_blocks(Arc::new(rows)), ignored)))
}

/// What is noted of a block whose rows are fetched later.
pub(super) struct Surveyed {
    entries: usize,
    squares: Vec<f64>,
    checksum: u32,
    ignored: usize,
    pub(super) labels: BlockLabels,
    pub(super) new_words: Vec<Label>,
    pub(super) sequences: Option<Vec<u32>>,
}

/// Surveys all blocks, and gives them to `take` in their order. There are more threads than compute, for
/// some wait for the disk.
fn survey_all(
    blocks: &Blocks,
    count: usize,
    take: &mut dyn FnMut(Surveyed) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let threads = 2 * rayon::current_num_threads();
    let next = AtomicUsize::new(0);
    let (sender, found) = mpsc::sync_channel(threads);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    // Nobody takes any more where a block was refused.
                    if at >= count || sender.send((at, survey(blocks, at))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut waiting = BTreeMap::new();
        let mut wanted = 0;
        for (at, surveyed) in found {
            waiting.insert(at, surveyed);
            while let Some(surveyed) = waiting.remove(&wanted) {
                take(surveyed?)?;
                wanted += 1;
            }
        }
        Ok(())
    })
}

fn survey(blocks: &Blocks, at: usize) -> Result<Surveyed, Trouble> {
    let Found { mut block, checksum } = blocks.read(at)?;
    let labels = std::mem::replace(&mut block.labels, BlockLabels::None);
    let new_words = std::mem::take(&mut block.new_words);
    let sequences = block.sequences.take();
    let (rows, ignored) = blocks.layout.arranged(block)?;
    let squares = (0..rows.rows()).map(|row| rows.row_square(row)).collect();
    let entries = rows.entries();
    Ok(Surveyed { entries, squares, checksum, ignored, labels, new_words, sequences })
}
