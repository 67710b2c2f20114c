//! A referee for the whole library: small random problems of every convex model, trained by every
//! solver, judged from outside by formulas and arithmetic that the library has no part in. Numbers
//! are exact (`number.rs`), problems are lists of affine functions (`stated.rs`), the best objective
//! comes from methods of the referee's own (`piecewise.rs`, `smooth.rs`), so that a refuted
//! certificate is refuted for good.
//!
//! `MINORANT_REFEREE=N` judges the problems 0 to N − 1 instead of a sample, `MINORANT_REFEREE=M..N`
//! those from M on; a single problem M is `M..M+1`.
#![allow(clippy::print_stderr)]

#[path = "../common/mod.rs"]
mod common;
mod draw;
mod images;
mod judge;
mod number;
mod penalties;
mod piecewise;
mod problem;
mod report;
mod rows;
mod runs;
mod sequences;
mod smooth;
mod solve;
mod stated;
mod tamper;
mod targets;

use judge::Judged;
use report::Report;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Problems that are judged unless `MINORANT_REFEREE` says otherwise.
const SAMPLE: u64 = 500;

/// The numbers of the problems to judge.
fn problems() -> Range<u64> {
    let Ok(asked) = std::env::var("MINORANT_REFEREE") else { return 0..SAMPLE };
    let (first, end) = asked.split_once("..").unwrap_or(("0", &asked));
    match (first.parse(), end.parse()) {
        (Ok(first), Ok(end)) => first..end,
        _ => panic!("MINORANT_REFEREE is a number N or a range M..N, not '{asked}'"),
    }
}

/// Judges problems on all cores, each in a pool of one thread: a thread that waits for others of its
/// pool would take up another problem in the meantime, whose time would count as the first's.
fn judge_all(problems: Range<u64>) -> Report {
    let (next, report) = (AtomicU64::new(problems.start), Mutex::new(Report::default()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
                let pool = pool.expect("a pool of one thread");
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= problems.end {
                        break;
                    }
                    let judged: Judged = pool.install(|| judge::judge(seed));
                    report.lock().expect("a report").add(judged);
                }
            });
        }
    });
    report.into_inner().expect("a report")
}

/// Problems of campaigns whose defects were mended.
const MENDED: [u64; 12] =
    [5519, 10643, 24842, 28634, 35609, 38908, 44871, 46239, 47747, 48076, 56876, 67259];

fn assert_clean(judged: impl FnOnce() -> Report) {
    // Panics are among the findings; what the library says of them is told there.
    std::panic::set_hook(Box::new(|_| {}));
    let report = judged();
    let _ = std::panic::take_hook();
    report.print();
    assert!(report.is_clean(), "the referee found defects; they are listed above");
}

#[test]
fn every_claim_stands() {
    assert_clean(|| judge_all(problems()));
}

#[test]
fn what_was_mended_stays_so() {
    assert_clean(|| {
        let mut report = Report::default();
        MENDED.into_iter().for_each(|seed| report.add(judge::judge(seed)));
        report
    });
}
