//! `minorant cache`: writes the rows of data files into a cache, a file that is read back quickly and block
//! by block. What a cache is made of is the library's.

use super::{cancel_on_interrupt, note};
use crate::args::{CacheArgs, on_threads};
use crate::output;
use crate::progress::View;
use anyhow::{bail, ensure};
use minorant::data::{Cache, Converted, write_cache};
use minorant::family::{self, DataKind, options_of_rows};
use minorant::file_behind;
use serde_json::json;

pub(crate) fn run(args: &CacheArgs) -> anyhow::Result<()> {
    let options = options_of_rows(&args.data.reading.settings(family::model_for(DataKind::Rows))?);
    let shown = args.out.display();
    if let Some(target) = file_behind(&args.out) {
        let is_same = |file: &std::path::PathBuf| file_behind(file).as_ref() == Some(&target);
        ensure!(
            !args.data.files.iter().any(is_same),
            "--out names {shown}, which is a data file: it would be overwritten"
        );
    }
    let cancel = cancel_on_interrupt();
    on_threads(args.data.threads, || {
        let mut progress = View::new("cache", None, args.quiet);
        let done = write_cache(&args.data.files, &options, &args.out, &mut |so_far| {
            progress.tell(|| format!("{} rows, {} MB", so_far.rows, so_far.bytes / 1_000_000));
            !cancel.is_cancelled()
        });
        progress.finish();
        match done? {
            Converted::Stopped => {
                bail!("{shown} is not whole yet; the same command goes on with it")
            }
            Converted::Whole { resumed_at } if resumed_at > 0 && !args.quiet => {
                note(&[format!("went on from row {}", resumed_at + 1)]);
            }
            Converted::Whole { .. } => {}
        }
        let cache = Cache::open(&args.out)?;
        let bytes = std::fs::metadata(&args.out)?.len();
        output::print(&match args.data.json {
            true => json!({
                "examples": cache.rows(),
                "features": cache.columns(),
                "entries": cache.entries(),
                "blocks": cache.blocks(),
                "bytes": bytes,
            })
            .to_string(),
            false => format!(
                "{shown}: {} rows, {} columns, {} values, {bytes} bytes",
                cache.rows(),
                cache.columns(),
                cache.entries()
            ),
        })
    })
}
