//! The declarations at the top of an ARFF file: which attributes are features, which are labels,
//! and which one is the class.

use super::cells::{Cells, Separator};
use crate::collect::Collector;
use crate::dataset::{Label, LabelKind};
use crate::detect::starts_with_word;
use crate::error::{Refusal, quoted};
use crate::label_table::LabelTable;
use crate::number;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// What an attribute is for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Role {
    /// A feature in this column.
    Feature(u32),
    /// A feature in this column that is 0 or 1.
    Binary(u32),
    /// The label with this number.
    Label(u32),
    /// The class of single-label data.
    Class,
    /// The target of regression.
    Target,
}

/// The declared attributes.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    pub(crate) roles: Vec<Role>,
    pub(crate) features: usize,
    /// The class's declared values, and the first of them, which sparse rows leave out.
    pub(crate) classes: LabelTable,
    pub(crate) first_class: Option<String>,
    /// An attribute whose first value, which sparse rows leave out, is not 0.
    pub(crate) not_sparse: Option<String>,
    pub(crate) multilabel: bool,
    /// Whether the last attribute is a target, a number, instead of a class.
    pub(crate) has_target: bool,
    /// Numbers of the labels that no attribute has been declared for yet.
    labels: HashMap<String, u32>,
    /// The last attribute, which is the class unless there are labels or another follows.
    pending: Option<Attribute>,
}

/// One declaration.
#[derive(Debug)]
struct Attribute {
    name: String,
    line: u64,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Numeric,
    /// Each in text as long as the file has it; most are digits.
    Nominal {
        values: LabelTable,
        first: String,
        text: Option<String>,
        zero_first: bool,
        binary: bool,
    },
}

impl Attributes {
    /// With the names of the labels, where there is a label file.
    pub(crate) fn new(
        names: Option<Vec<String>>,
        collector: &mut Collector<'_>,
    ) -> Result<Attributes, Refusal> {
        let wants_targets = collector.options.label_kind == Some(LabelKind::Targets);
        let mut attributes = Attributes {
            multilabel: names.is_some(),
            has_target: wants_targets && names.is_none(),
            ..Attributes::default()
        };
        let Some(names) = names else { return Ok(attributes) };
        let ids = collector.declare(names.iter().map(|name| Label::parse(name)));
        let mut seen = HashSet::new();
        for (name, id) in names.into_iter().zip(ids) {
            // By number: `1` and `1.0` are one label.
            if !seen.insert(id) {
                let found = format!("{} twice", quoted(name.as_bytes()));
                return Err(Refusal::new("each label once in the label file", found));
            }
            attributes.labels.insert(name, id);
        }
        Ok(attributes)
    }

    /// Takes what stands after `@attribute` in this line.
    pub(crate) fn declare(&mut self, text: &[u8], line: u64) -> Result<(), Refusal> {
        let (name, rest) = attribute_name(text.trim_ascii())?;
        let values = attribute_values(rest.trim_ascii())?;
        if let Some(id) = self.labels.remove(&name) {
            if !matches!(values, Values::Nominal { binary: true, .. }) {
                let expected = format!("{{0,1}} for the label {}", quoted(name.as_bytes()));
                return Err(Refusal::new(expected, quoted(rest.trim_ascii())));
            }
            self.settle_pending()?;
            self.roles.push(Role::Label(id));
            return Ok(());
        }
        self.settle_pending()?;
        self.pending = Some(Attribute { name, line, values });
        Ok(())
    }

    /// The pending attribute turns out not to be the last one: a feature.
    fn settle_pending(&mut self) -> Result<(), Refusal> {
        let Some(Attribute { name, line, values }) = self.pending.take() else { return Ok(()) };
        let column = self.features as u32;
        match values {
            Values::Numeric => self.roles.push(Role::Feature(column)),
            Values::Nominal { text: Some(text), .. } => {
                let expected = format!("numbers as values of {}", quoted(name.as_bytes()));
                return Err(Refusal::new(expected, quoted(text.as_bytes())).at_line(line));
            }
            Values::Nominal { binary, zero_first, .. } => {
                if !zero_first {
                    self.not_sparse.get_or_insert(name);
                }
                let role = if binary { Role::Binary(column) } else { Role::Feature(column) };
                self.roles.push(role);
            }
        }
        self.features += 1;
        Ok(())
    }

    /// After the last declaration.
    pub(crate) fn finish(&mut self) -> Result<(), Refusal> {
        if self.multilabel {
            self.settle_pending()?;
            if let Some(name) = self.labels.keys().min() {
                let expected = format!("an attribute for the label {}", quoted(name.as_bytes()));
                return Err(Refusal::new(expected, "none"));
            }
        } else if self.has_target {
            let expected = "a numeric target as the last attribute";
            match self.pending.take() {
                // A list of numbers is as good; rows that are sparse leave out its first one.
                Some(Attribute { values: Values::Numeric, .. }) => {}
                Some(Attribute {
                    values: Values::Nominal { text: None, zero_first, .. },
                    name,
                    ..
                }) => {
                    if !zero_first {
                        self.not_sparse.get_or_insert(name);
                    }
                }
                Some(Attribute { name, line, .. }) => {
                    let found = format!("{} as names", quoted(name.as_bytes()));
                    return Err(Refusal::new(expected, found).at_line(line));
                }
                None => return Err(Refusal::new(expected, "no attributes")),
            }
            self.roles.push(Role::Target);
        } else {
            let expected = "a nominal class as the last attribute, or a label file";
            match self.pending.take() {
                Some(Attribute { values: Values::Nominal { values, first, .. }, .. }) => {
                    self.classes = values;
                    self.first_class = Some(first);
                    self.roles.push(Role::Class);
                }
                Some(Attribute { name, line, .. }) => {
                    let found = format!("{} as numbers", quoted(name.as_bytes()));
                    return Err(Refusal::new(expected, found).at_line(line));
                }
                None => return Err(Refusal::new(expected, "no attributes")),
            }
        }
        if self.features == 0 {
            return Err(Refusal::new("at least one feature", "none"));
        }
        Ok(())
    }
}

/// The name at the beginning of a declaration, and the rest.
fn attribute_name(text: &[u8]) -> Result<(String, &[u8]), Refusal> {
    let mut cells = Cells::weka(text, Separator::Blanks);
    let name = cells.next().transpose()?.unwrap_or(Cow::Borrowed(b""));
    let Ok(name) = String::from_utf8(name.into_owned()) else {
        return Err(Refusal::new("an attribute name in UTF-8", quoted(text)));
    };
    match cells.rest {
        Some(rest) => Ok((name, rest)),
        None => Err(Refusal::new("the attribute's name and type", quoted(text))),
    }
}

fn attribute_values(text: &[u8]) -> Result<Values, Refusal> {
    if [&b"numeric"[..], b"real", b"integer"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Ok(Values::Numeric);
    }
    let Some(list) = text.strip_prefix(b"{").and_then(|text| text.strip_suffix(b"}")) else {
        return Err(Refusal::new("numeric or a list of values in braces", quoted(text)));
    };
    let mut cells = Cells::weka(list, Separator::Byte(b','));
    let mut values = LabelTable::default();
    let (mut first, mut text) = (None, None);
    let mut binary = true;
    while let Some(cell) = cells.next() {
        let cell = cell?;
        values.insert_spelled(&cell)?;
        // What is not UTF-8 was refused as a label.
        let as_text = || String::from_utf8_lossy(&cell).into_owned();
        first.get_or_insert_with(as_text);
        match number::parse(&cell) {
            Ok(value) => binary &= value == 0.0 || value == 1.0,
            Err(_) => {
                binary = false;
                text.get_or_insert_with(as_text);
            }
        }
    }
    let Some(first) = first else {
        return Err(Refusal::new("at least one value in braces", "none"));
    };
    let zero_first = number::parse(first.as_bytes()) == Ok(0.0);
    Ok(Values::Nominal { values, first, text, zero_first, binary })
}

/// What stands after `word` in a declaration, if the line is one.
pub(crate) fn declaration<'l>(line: &'l [u8], word: &[u8]) -> Option<&'l [u8]> {
    if !starts_with_word(line, word) {
        return None;
    }
    let rest = &line[word.len()..];
    rest.first().is_none_or(u8::is_ascii_whitespace).then_some(rest)
}
