//! Structured models: Tables 4 and 5 of Do and Artières (`ocr.rs`), benchmarks 2 and 3 of Uříčář
//! and Franc on made-up images (`images.rs`), and chunking beside CRFsuite (`chunking.rs`).

mod chunking;
mod images;
mod ocr;

use crate::data::Store;
use crate::page::Section;
use anyhow::Result;

/// The heading.
pub(crate) const TITLE: &str = "Structured models";

/// All tables.
pub(crate) fn section(store: &Store, only: &str, quick: bool) -> Result<Section> {
    let mut section = Section::new(
        TITLE,
        "One evaluation is one call of the oracle (dynamic programming) for every example; passes \
         over outputs already seen cost none.",
    );
    for (name, table) in [
        ("images", images::tables as fn(&Store, bool) -> Result<_>),
        ("chain-svm", ocr::margin),
        ("chain-crf", ocr::likelihood),
        ("chunking", chunking::tables),
    ] {
        if name.contains(only) {
            section.tables.extend(table(store, quick)?);
        }
    }
    Ok(section)
}
