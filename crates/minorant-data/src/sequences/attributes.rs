//! What the columns of tokens are: names in a dictionary, hashes of names, or just numbers.

use std::collections::HashMap;
use std::sync::Arc;

/// The columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attributes {
    /// Named attributes, in the order of their columns.
    Named(Arc<Vec<String>>),
    /// Names hashed to this many bits.
    Hashed(u32),
    /// Columns without names.
    Columns(usize),
}

impl Attributes {
    /// Number of columns.
    pub fn len(&self) -> usize {
        match self {
            Attributes::Named(names) => names.len(),
            Attributes::Hashed(bits) => 1 << bits,
            Attributes::Columns(columns) => *columns,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Columns of names as they come.
#[derive(Debug)]
pub(super) enum Numbering {
    Growing { ids: HashMap<Box<str>, u32>, counts: Vec<u64> },
    Known(HashMap<Box<str>, u32>),
    Hashed(u32),
}

impl Numbering {
    /// The column of a name that so many more tokens have; nothing where it is not among those known.
    pub(super) fn column(&mut self, name: &str, tokens: u64) -> Option<u32> {
        match self {
            Numbering::Growing { ids, counts } => {
                let id = match ids.get(name) {
                    Some(&id) => id,
                    None => {
                        let id = u32::try_from(ids.len()).ok().filter(|&id| id < 1 << 31)?;
                        ids.insert(name.into(), id);
                        counts.push(0);
                        id
                    }
                };
                counts[id as usize] = counts[id as usize].saturating_add(tokens);
                Some(id)
            }
            Numbering::Known(ids) => ids.get(name).copied(),
            Numbering::Hashed(bits) => Some((hash(name) & ((1 << *bits) - 1)) as u32),
        }
    }
}

/// FNV-1a, folded: the same on every machine and in every version.
fn hash(name: &str) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in name.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash ^ (hash >> 32)
}
