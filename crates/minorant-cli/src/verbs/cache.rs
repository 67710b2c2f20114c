//! `minorant cache`: writes the rows of data files into a cache, a file that is read back quickly and block
//! by block. What a cache is made of is the library's.

use super::{cancel_on_interrupt, kind, note};
use crate::args::{CacheArgs, on_threads};
use crate::output;
use crate::progress::View;
use anyhow::{anyhow, bail, ensure};
use minorant::data::{Cache, Converted, Progress, write_cache, write_sequence_cache};
use minorant::family::{DataKind, options_of_rows, options_of_sequences};
use minorant::file_behind;
use serde_json::json;

pub(crate) fn run(args: &CacheArgs) -> anyhow::Result<()> {
    let files = &args.data.files;
    let (kind, settings) = kind::of_files(files, &args.data.reading)?;
    let shown = args.out.display();
    if let Some(target) = file_behind(&args.out) {
        let is_same = |file: &std::path::PathBuf| file_behind(file).as_ref() == Some(&target);
        ensure!(
            !files.iter().any(is_same),
            "--out names {shown}, which is a data file: it would be overwritten"
        );
    }
    let cancel = cancel_on_interrupt();
    on_threads(args.data.threads, || {
        let mut progress = View::new("cache", None, args.quiet);
        let unit = if kind == DataKind::Sequences { "tokens" } else { "rows" };
        let mut goes_on = |so_far: Progress| {
            progress.tell(|| format!("{} {unit}, {} MB", so_far.rows, so_far.bytes / 1_000_000));
            !cancel.is_cancelled()
        };
        let done = match kind {
            DataKind::Rows => {
                write_cache(files, &options_of_rows(&settings), &args.out, &mut goes_on)
                    .map_err(|why| kind::with_advice(why.into(), &settings, files))
            }
            DataKind::Sequences => {
                let options = options_of_sequences(&settings)?;
                write_sequence_cache(files, &options, &args.out, &mut goes_on)
                    .map_err(anyhow::Error::from)
            }
            DataKind::Recordings(_) | DataKind::Plates | DataKind::Parts => Err(anyhow!(
                "{}: expected rows of features or sequences of tokens, found recordings or images, which no \
                 cache holds",
                files[0].display()
            )),
        };
        progress.finish();
        match done? {
            Converted::Stopped => {
                bail!("{shown} is not whole yet; the same command goes on with it")
            }
            Converted::Whole { resumed_at } if resumed_at > 0 && !args.quiet => {
                note(&[format!("went on behind {resumed_at} {unit}")]);
            }
            Converted::Whole { .. } => {}
        }
        let cache = Cache::open(&args.out)?;
        let bytes = std::fs::metadata(&args.out)?.len();
        output::print(&match args.data.json {
            true => json!({
                "examples": cache.examples(),
                "features": cache.columns(),
                "entries": cache.entries(),
                "blocks": cache.blocks(),
                "bytes": bytes,
            })
            .to_string(),
            false => format!(
                "{shown}: {}, {} columns, {} values, {bytes} bytes",
                match kind {
                    DataKind::Sequences => {
                        format!("{} sequences of {} tokens", cache.examples(), cache.rows())
                    }
                    _ => format!("{} rows", cache.rows()),
                },
                cache.columns(),
                cache.entries()
            ),
        })
    })
}
