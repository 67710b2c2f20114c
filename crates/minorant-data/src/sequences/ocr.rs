//! The OCR letters' table: id, letter, next id (−1 at a word's end), word, position from 1, fold,
//! then the pixels, separated by tabs.

use super::builder::Builder;
use super::lines::for_each_line;
use crate::error::{ReadError, Refusal, quoted};
use crate::number;
use crate::source::Source;

const HEAD: usize = 6;

pub(super) fn read(source: &Source<'_>, builder: &mut Builder<'_>) -> Result<(), ReadError> {
    let mut width = None;
    // Word and position that must come next, where a word goes on.
    let mut going_on: Option<(f64, f64)> = None;
    for_each_line(source, |line| {
        if line.trim().is_empty() {
            return Ok(());
        }
        let cells: Vec<&str> = line.trim_end_matches('\t').split('\t').collect();
        if cells.len() <= HEAD {
            let expected =
                "id, letter, next id, word, position, fold and pixels, with tabs between";
            return Err(Refusal::new(expected, format!("{} cells", cells.len())));
        }
        let pixels = *width.get_or_insert(cells.len() - HEAD);
        if cells.len() - HEAD != pixels {
            let expected = format!("{pixels} pixels as in the lines before");
            return Err(Refusal::new(expected, (cells.len() - HEAD).to_string()));
        }
        let numeric = |at: usize| {
            number::parse(cells[at].as_bytes())
                .map_err(|_| Refusal::new("a number", quoted(cells[at].as_bytes())).at_cell(at))
        };
        let (next, word, position, fold) = (numeric(2)?, numeric(3)?, numeric(4)?, numeric(5)?);
        let expected = going_on.unwrap_or((word, 1.0));
        if (word, position) != expected {
            return Err(Refusal::new(
                format!("letter {} of word {}", expected.1, expected.0),
                format!("letter {position} of word {word}"),
            ));
        }
        let ends = next < 0.0;
        going_on = (!ends).then_some((word, position + 1.0));
        let wanted = |folds: &Vec<u32>| folds.iter().any(|&f| f64::from(f) == fold);
        if !builder.options.folds.as_ref().is_none_or(wanted) {
            // Letters before it may have been of another fold.
            if ends {
                builder.end_sequence();
            }
            return Ok(());
        }
        if cells[1].is_empty() && builder.options.known.is_none() {
            return Err(Refusal::new("a letter", "none").at_cell(1));
        }
        builder.set_width(pixels)?;
        for (at, cell) in cells[HEAD..].iter().enumerate() {
            // Nearly all pixels are written like this.
            let value = match *cell {
                "0" => continue,
                "1" => 1.0,
                _ => numeric(HEAD + at)?,
            };
            builder.cell(at, value)?;
        }
        builder.end_token(Some(cells[1]).filter(|letter| !letter.is_empty()), line)?;
        if ends {
            builder.end_sequence();
        }
        Ok(())
    })?;
    if let Some((word, position)) = going_on {
        let expected = format!("letter {position} of word {word}");
        return Err(ReadError::whole(&source.name(), expected, "the end of the file"));
    }
    Ok(())
}
