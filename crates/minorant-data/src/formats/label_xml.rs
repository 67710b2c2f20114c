//! Mulan's label files: XML that names the labels of an ARFF file, `<label name="…">`. Only these
//! tags are looked at.

use crate::error::{ReadError, quoted};
use crate::source::Source;
use std::path::{Path, PathBuf};

/// No list of label names is longer; a larger file is no such list.
const LONGEST: u64 = 64 << 20;

/// The names in the order of the file.
pub(crate) fn read_names(source: &Source<'_>) -> Result<Vec<String>, ReadError> {
    let name = source.name();
    let bytes = source.beginning(LONGEST + 1)?;
    if bytes.len() as u64 > LONGEST {
        let expected = format!("a label file of at most {LONGEST} bytes");
        return Err(ReadError::whole(&name, expected, "a longer one"));
    }
    let Ok(text) = std::str::from_utf8(&bytes) else {
        return Err(ReadError::whole(&name, "a label file in UTF-8", "other bytes"));
    };
    let cut = |expected: &str| {
        let line = text.lines().count();
        ReadError::whole(&name, expected, format!("the end of the file in line {line}"))
    };
    let (mut names, mut is_open) = (Vec::new(), false);
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            let end = comment.find("-->").ok_or_else(|| cut("the end of a comment (-->)"))?;
            rest = &comment[end + 3..];
            continue;
        }
        let end = rest.find('>').ok_or_else(|| cut("the end of a tag (>)"))?;
        let (tag, after) = rest.split_at(end);
        match tag.split_ascii_whitespace().next() {
            Some("labels") => is_open = !tag.ends_with('/'),
            Some("/labels") => is_open = false,
            _ => {}
        }
        if let Some(attributes) = tag.strip_prefix("label")
            && attributes.starts_with(|c: char| c.is_ascii_whitespace() || c == '/')
        {
            let Some(label) = name_attribute(attributes) else {
                let found = quoted(tag.as_bytes());
                return Err(ReadError::whole(&name, "a label with a name", found));
            };
            names.push(label);
        }
        rest = after;
    }
    if is_open {
        return Err(cut("the end of the list (</labels>)"));
    }
    if names.is_empty() {
        return Err(ReadError::whole(&name, "labels (<label name=\"…\">)", "none"));
    }
    Ok(names)
}

fn name_attribute(attributes: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        let equals = rest.find('=')?;
        let key = rest[..equals].trim();
        let value = rest[equals + 1..].trim_start();
        let quote = value.chars().next().filter(|&c| c == '"' || c == '\'')?;
        let end = value[1..].find(quote)? + 1;
        if key == "name" {
            return Some(unescaped(&value[1..end]));
        }
        rest = &value[end + 1..];
    }
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        plain.push_str(&rest[..start]);
        rest = &rest[start..];
        let entity = rest.find(';').map(|end| &rest[1..end]);
        let character = entity.and_then(|entity| match entity {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => {
                let code = entity.strip_prefix('#')?;
                let code = match code.strip_prefix('x') {
                    Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
                    None => code.parse().ok()?,
                };
                char::from_u32(code)
            }
        });
        match (character, entity) {
            (Some(character), Some(entity)) => {
                plain.push(character);
                rest = &rest[entity.len() + 2..];
            }
            _ => {
                plain.push('&');
                rest = &rest[1..];
            }
        }
    }
    plain.push_str(rest);
    plain
}

/// The label file beside an ARFF file: `NAME.xml` for `NAME.arff`, `NAME-train.arff` and the like.
pub(crate) fn beside(arff: &Path) -> Option<PathBuf> {
    let name = arff.file_name()?.to_str()?;
    let name =
        [".gz", ".bz2", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let name = name.strip_suffix(".arff").unwrap_or(name);
    let shorter = ["-train", "-test", "_train", "_test"].iter().find_map(|e| name.strip_suffix(e));
    [Some(name), shorter]
        .into_iter()
        .flatten()
        .map(|stem| arff.with_file_name(format!("{stem}.xml")))
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Result<Vec<String>, ReadError> {
        read_names(&Source::Bytes { name: "l.xml", bytes: text.as_bytes() })
    }

    #[test]
    fn names_in_tags() {
        let text = r#"<?xml version="1.0"?><labels xmlns="x"> <!-- <label name="no"> -->
            <label name="a"></label><label id='3' name='b &amp; &#99;'><label name="d"/></label></labels>"#;
        assert_eq!(names(text).unwrap(), ["a", "b & c", "d"]);
        // What ends before its list, a tag or a comment does has been cut off.
        for end in ["</labels>", ">", "</label></labels>"] {
            assert!(names(text.strip_suffix(end).unwrap()).is_err(), "{end}");
        }
        assert!(names("<label name='a'/><!-- ").is_err());
        assert!(names("<labels></labels>").is_err());
        assert!(names("<label nom='a'>").is_err());
    }
}
