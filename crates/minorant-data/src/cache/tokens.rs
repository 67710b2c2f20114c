//! Caches whose rows are tokens of sequences: their blocks one after the other, or left where they are. What
//! columns and labels become is for whoever reads sequences.

use super::block::BlockLabels;
use super::layout::{Kept, Layout};
use super::read::{Cache, from_row};
use super::survey;
use crate::dataset::Label;
use crate::error::{ReadError, Refusal};
use crate::piece::Cells;
use crate::source::Source;
use minorant_linalg::{Matrix, Storage};

/// The tokens of a block.
pub(crate) struct TokenBlock<'w> {
    /// Lengths of rows, columns and values; nothing where the rows are left on disk.
    pub(crate) cells: Option<Cells>,
    /// How many tokens each sequence has.
    pub(crate) sequences: Vec<u32>,
    /// The labels of all tokens, as numbers of words; nothing where they have none.
    pub(crate) labels: Option<Vec<u32>>,
    /// The words so far.
    pub(crate) words: &'w [Label],
}

impl TokenBlock<'_> {
    /// The label with this number.
    pub(crate) fn word(&self, number: u32) -> Result<&str, Refusal> {
        match self.words.get(number as usize) {
            Some(Label::Text(text)) => Ok(text),
            _ => Err(Refusal::new("a word that a block has named", format!("number {number}"))),
        }
    }
}

fn labels_of(labels: BlockLabels) -> Result<Option<Vec<u32>>, Refusal> {
    match labels {
        BlockLabels::None => Ok(None),
        BlockLabels::Words(ids) => Ok(Some(ids)),
        _ => Err(Refusal::new("one word as label of each token", "others")),
    }
}

fn without_sequences() -> Refusal {
    Refusal::new("whole sequences in every block", "a block without")
}

/// Gives all blocks to `take`.
pub(crate) fn read_tokens(
    cache: &mut Cache<'_>,
    storage: Storage,
    mut take: impl FnMut(TokenBlock<'_>) -> Result<(), Refusal>,
) -> Result<(), ReadError> {
    let name = cache.name.clone();
    let (mut words, mut first) = (Vec::new(), 1);
    for at in 0..cache.blocks() {
        let block = cache.block(at, storage).map_err(|why| why.in_file(&name))?;
        words.extend(block.new_words);
        let rows = block.cells.rows();
        let taken = labels_of(block.labels).and_then(|labels| {
            let sequences = block.sequences.ok_or_else(without_sequences)?;
            take(TokenBlock { cells: Some(block.cells), sequences, labels, words: &words })
        });
        taken.map_err(|why| from_row(why, first).in_file(&name))?;
        first += rows;
    }
    Ok(())
}

impl Cache<'_> {
    /// Bytes that all tokens would take in memory.
    pub(crate) fn bytes_of_tokens(&self, storage: Storage) -> u64 {
        let summary = &self.summary;
        let layout = Layout::of_tokens(summary, storage, summary.columns as usize, Kept::All);
        layout.bytes(summary.rows, summary.entries)
    }
}

/// Leaves the tokens where they are, with `cols` columns. `take` is given what else
/// a block has. The number of entries that are left out comes along.
pub(crate) fn leave_tokens_on_disk(
    source: &Source<'_>,
    cache: Cache<'_>,
    storage: Storage,
    (cols, columns): (usize, Kept),
    most: u64,
    mut take: impl FnMut(TokenBlock<'_>) -> Result<(), Refusal>,
) -> Result<Option<(Matrix<'static>, usize)>, ReadError> {
    let layout = Layout::of_tokens(&cache.summary, storage, cols, columns);
    let mut words = Vec::new();
    survey::leave(source, cache, layout, most, &mut |first, found| {
        words.append(&mut found.new_words);
        let labels = labels_of(std::mem::replace(&mut found.labels, BlockLabels::None))?;
        let sequences = found.sequences.take().ok_or_else(without_sequences)?;
        take(TokenBlock { cells: None, sequences, labels, words: &words })
            .map_err(|why| from_row(why, first))
    })
}
