//! Moons and spirals.

use crate::args::CloudsArgs;
use crate::output;
use anyhow::ensure;
use minorant::FileError;
use minorant::generate::{Clouds, CloudsOptions, clouds, to_libsvm};

pub(super) fn run(kind: Clouds, args: &CloudsArgs) -> anyhow::Result<()> {
    ensure!(args.examples > 0, "--examples must be at least 1");
    let noise = args.noise.unwrap_or(kind.usual_noise());
    super::check_noise(noise)?;
    if let Some(labeled) = args.labeled {
        ensure!(
            labeled <= args.examples,
            "--labeled must be at most the {} examples, not {labeled}",
            args.examples
        );
    }
    super::check_size(args.examples.saturating_add(args.skip).checked_mul(2))?;
    let data = clouds(&CloudsOptions {
        clouds: kind,
        examples: args.examples,
        noise,
        labeled: args.labeled,
        seed: args.seed,
        skip: args.skip,
    });
    FileError::check_writable(&args.out)?;
    minorant::write_atomically(&args.out, to_libsvm(&data).as_bytes())?;
    let labels = args.labeled.map_or(String::new(), |labeled| format!(", {labeled} with a label"));
    output::print(&format!("{} points{labels} in {}", args.examples, args.out.display()))
}
