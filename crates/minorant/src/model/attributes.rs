//! The attributes of tokens in the files of models that label sequences: their names, or how they
//! are numbered, and the template that makes them of columns.

use crate::container::{Container, FileError};
use minorant_data::{Attributes, Template};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// The part of a file's header that is about attributes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct AttributeHeader {
    attributes: String,
    columns: usize,
    attribute_bytes: usize,
    template: Option<String>,
}

/// The header's part, and the names as the container takes them.
pub(super) fn describe(
    attributes: &Attributes,
    template: Option<&Template>,
) -> (AttributeHeader, Vec<u64>) {
    let (kind, names) = match attributes {
        Attributes::Named(names) => ("named", names.join("\n")),
        Attributes::Hashed(_) => ("hashed", String::new()),
        Attributes::Columns(_) => ("columns", String::new()),
    };
    let header = AttributeHeader {
        attributes: kind.into(),
        columns: attributes.len(),
        attribute_bytes: names.len(),
        template: template.map(|template| template.text().into()),
    };
    (header, pack(names.as_bytes()))
}

impl AttributeHeader {
    /// What was described; `path` stands for the file in refusals.
    pub(super) fn take(
        &self,
        container: &mut Container,
        path: &Path,
    ) -> Result<(Attributes, Option<Template>), FileError> {
        let refuse = |expected: &str| FileError::content(path, expected, "another");
        let template = self.template.as_ref();
        let template = template.map(|text| Template::parse("the model's template", text));
        let template = template.transpose().map_err(|_| refuse("a template that can be read"))?;
        let names = container.take_integers("attributes");
        let attributes = names.and_then(|names| self.attributes(names));
        Ok((attributes.ok_or_else(|| refuse("attributes that fit together"))?, template))
    }

    fn attributes(&self, packed: Vec<u64>) -> Option<Attributes> {
        let (columns, bytes) = (self.columns, self.attribute_bytes);
        match self.attributes.as_str() {
            "columns" => Some(Attributes::Columns(columns)),
            "hashed" => {
                let bits = columns.checked_ilog2()?;
                (1usize << bits == columns).then_some(Attributes::Hashed(bits))
            }
            "named" => {
                let mut text: Vec<u8> = packed.into_iter().flat_map(u64::to_le_bytes).collect();
                if bytes > text.len() || text.len() - bytes > 7 {
                    return None;
                }
                text.truncate(bytes);
                let text = String::from_utf8(text).ok()?;
                let names: Vec<String> = match columns {
                    0 => Vec::new(),
                    _ => text.split('\n').map(String::from).collect(),
                };
                (names.len() == columns).then(|| Attributes::Named(Arc::new(names)))
            }
            _ => None,
        }
    }
}

/// Bytes as whole numbers, eight at a time.
fn pack(bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}
