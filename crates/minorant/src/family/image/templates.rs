//! What the parts of a tree look at, as a setting: a template for each part, or one for all.

use crate::options::spelled;
use crate::structured::tree::Template;
use std::fmt;
use std::str::FromStr;

/// Templates as they are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Templates(pub Vec<Template>);

impl fmt::Display for Templates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(Template::to_string).collect();
        f.write_str(&all.join(","))
    }
}

impl FromStr for Templates {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',').map(str::parse).collect::<Result<_, _>>().map(Templates)
    }
}

spelled!(Templates);
