//! The option table as JSON: for every model its options, with their meaning, default and name in model
//! files, and as `minimize` those of methods, which runs without a model take. The Python reference of the book is made with it, and editors could complete from it.
//!
//! ```sh
//! cargo run --package minorant --example options
//! ```

#![allow(clippy::print_stdout)]

use minorant::family::{Entry, models};
use minorant::options::{OF_METHODS, OptionSpec};
use serde_json::Value;

fn main() {
    let of = |spec: &OptionSpec| (spec.name.replace('-', "_"), spec.to_json());
    let options = |entry: &Entry| -> (&str, Value) {
        (entry.model.name, entry.options().map(|taken| of(taken.spec)).collect())
    };
    let of_methods: Value = OF_METHODS.iter().map(|spec| of(spec)).collect();
    let table: Value = models().iter().map(options).chain([("minimize", of_methods)]).collect();
    println!("{table:#}");
}
