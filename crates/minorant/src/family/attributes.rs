//! The attributes of tokens in the files of models that label sequences: their names, or how they
//! are numbered, and the template that makes them of columns.

use super::{Misfit, Reader, Writer};
use minorant_data::{Attributes, Template};
use std::sync::Arc;

/// Writes attributes and template into a model file.
pub(crate) fn write(attributes: &Attributes, template: Option<&Template>, file: &mut Writer) {
    let (kind, names) = match attributes {
        Attributes::Named(names) => ("named", names.join("\n")),
        Attributes::Hashed(_) => ("hashed", String::new()),
        Attributes::Columns(_) => ("columns", String::new()),
    };
    file.key("attributes", kind);
    file.key("columns", attributes.len());
    file.key("attribute_bytes", names.len());
    file.key("template", template.map(Template::text));
    file.integers("attributes", pack(names.as_bytes()));
}

/// The attributes and the template of a model file.
pub(crate) fn read(file: &mut Reader<'_>) -> Result<(Attributes, Option<Template>), Misfit> {
    let template: Option<String> = file.key("template")?;
    let template = template.map(|text| Template::parse("the model's template", &text));
    let template =
        template.transpose().map_err(|_| Misfit::without("a template that can be read"))?;
    let (kind, columns): (String, usize) = (file.key("attributes")?, file.key("columns")?);
    let bytes: usize = file.key("attribute_bytes")?;
    let packed = file.integers("attributes");
    let attributes = packed.and_then(|packed| unpack(&kind, columns, bytes, packed));
    Ok((attributes.ok_or_else(|| Misfit::without("attributes that fit together"))?, template))
}

fn unpack(kind: &str, columns: usize, bytes: usize, packed: Vec<u64>) -> Option<Attributes> {
    match kind {
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

/// Bytes as whole numbers, eight at a time.
fn pack(bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}
