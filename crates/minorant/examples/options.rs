//! The option table as JSON: for every model its options, with their meaning, default and name in model
//! files. The Python reference of the book is made with it, and editors could complete from it.
//!
//! ```sh
//! cargo run --package minorant --example options
//! ```

#![allow(clippy::print_stdout)]

use minorant::family::{Entry, models};
use serde_json::Value;

fn main() {
    let options = |entry: &Entry| -> Value {
        entry
            .options()
            .map(|taken| (taken.spec.name.replace('-', "_"), taken.spec.to_json()))
            .collect()
    };
    let table: Value = models().iter().map(|entry| (entry.model.name, options(entry))).collect();
    println!("{table:#}");
}
