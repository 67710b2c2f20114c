//! The documentation's pages that have Rust in them, so that it is compiled and run with the other
//! examples. `cargo xtask docs` checks that no such page is missing here.

macro_rules! pages {
    ($($name:ident: $path:literal),* $(,)?) => {
        $(#[doc = include_str!(concat!("../../../docs/src/", $path))]
        pub mod $name {})*
    };
}

pages! {
    start_rust: "start/rust.md",
    extend_risk: "extend/risk.md",
    extend_structure: "extend/structure.md",
}
