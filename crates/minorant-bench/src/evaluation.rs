//! How fast the risks are evaluated, as a share of the machine's read bandwidth: each sample of an
//! evaluation stands beside a sample of the probe over the same bytes on the same threads, and
//! medians of the ratios are reported, so that what else the machine does falls out.

use crate::clock::{Seconds, timed};
use crate::data::{Form, LossKind, Set, Store, repeated};
use crate::page::{Section, Table};
use crate::probe::Probe;
use crate::solve::{self, Budget};
use anyhow::{Context, Result};
use minorant::line;
use minorant::regularizer::L2;
use minorant::risk::{Cancel, Risk, RiskError};
use minorant::solver::Method;
use minorant_linalg::Storage;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::time::Instant;

struct Case {
    name: &'static str,
    loss: LossKind,
    lambda: f64,
    load: fn(&Store) -> Result<Set>,
}

fn dense(store: &Store) -> Result<Set> {
    store.mnist_even_odd(Form::Dense, Storage::F32)
}

fn sparse(store: &Store) -> Result<Set> {
    store.mnist_even_odd(Form::Sparse, Storage::F32)
}

fn digits(store: &Store) -> Result<Set> {
    store.mnist(Form::Dense, Storage::F32)
}

const CASES: [Case; 16] = [
    Case {
        name: "hinge, dense 400 000 x 100, f32",
        loss: LossKind::Hinge,
        lambda: 1e-4,
        load: |s| s.load("dense 400 000 x 100"),
    },
    Case {
        name: "logistic, dense 400 000 x 100, f32",
        loss: LossKind::Logistic,
        lambda: 1e-4,
        load: |s| s.load("dense 400 000 x 100"),
    },
    Case {
        name: "hinge, MNIST even/odd, dense f32",
        loss: LossKind::Hinge,
        lambda: 1e-3,
        load: dense,
    },
    Case {
        name: "hinge, MNIST even/odd, CSR f32",
        loss: LossKind::Hinge,
        lambda: 1e-3,
        load: sparse,
    },
    Case {
        name: "squared hinge, MNIST even/odd, dense f32",
        loss: LossKind::SquaredHinge,
        lambda: 1e-3,
        load: dense,
    },
    Case {
        name: "logistic, MNIST even/odd, dense f32",
        loss: LossKind::Logistic,
        lambda: 1e-3,
        load: dense,
    },
    Case {
        name: "hinge, news20 text, CSR f32",
        loss: LossKind::Hinge,
        lambda: 1e-4,
        load: |s| s.news20(Storage::F32),
    },
    // No tf-idf value is exactly an f32: this is how such files are stored.
    Case {
        name: "hinge, news20 text, CSR f64",
        loss: LossKind::Hinge,
        lambda: 1e-4,
        load: |s| s.news20(Storage::F64),
    },
    Case {
        name: "hinge, news20 text 16 times over, CSR f64",
        loss: LossKind::Hinge,
        lambda: 1e-4,
        load: |s| repeated(&s.news20(Storage::F64)?, 16),
    },
    Case {
        name: "hinge, news20 text 16 times over, CSR f32",
        loss: LossKind::Hinge,
        lambda: 1e-4,
        load: |s| repeated(&s.news20(Storage::F32)?, 16),
    },
    Case {
        name: "hinge, a9a, CSR f32",
        loss: LossKind::Hinge,
        lambda: 1e-4,
        load: |s| s.load("a9a"),
    },
    Case {
        name: "hinge, w8a, CSR f32",
        loss: LossKind::Hinge,
        lambda: 1e-4,
        load: |s| s.load("w8a"),
    },
    Case {
        name: "multiclass hinge, MNIST, dense f32",
        loss: LossKind::Hinge,
        lambda: 1e-2,
        load: digits,
    },
    Case {
        name: "multiclass hinge, MNIST, CSR f32",
        loss: LossKind::Hinge,
        lambda: 1e-2,
        load: |s| s.mnist(Form::Sparse, Storage::F32),
    },
    Case {
        name: "softmax, MNIST, dense f32",
        loss: LossKind::Logistic,
        lambda: 1e-2,
        load: digits,
    },
    Case {
        name: "multilabel hinge, scene, dense f64",
        loss: LossKind::Hinge,
        lambda: 1e-3,
        load: |s| s.load("scene"),
    },
];

/// Seconds of a pass of each kind.
struct Sample {
    probe: Seconds,
    fused: Seconds,
    forward: Seconds,
    backward: Seconds,
    line: Seconds,
}

/// Measures all cases.
pub(crate) fn section(store: &Store, only: &str, quick: bool) -> Result<Section> {
    let mut section = Section::new(
        "Evaluations against the memory",
        "One evaluation is one fused pass, forward and backward, at the weights after ten \
         iterations of ls-p-bmrm, in one part. The probe is a plain sum over the same number of \
         bytes of the same types on the same threads. Shares are medians of the ratios of \
         neighbouring samples. Line-searching methods go forward and backward separately (the \
         backward pass is taken elsewhere on the line): their shares are given too, and what the line \
         search from the origin to those weights takes beside both. A set of a \
         few megabytes stays in the last-level cache, which the probe then measures; text is \
         therefore also read 16 times over, from memory.",
    );
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let pools = [pool(1)?, pool(all)?];
    let mut shares = Table::new(
        "Share of the probe's bandwidth",
        "",
        &[
            "risk and data",
            "MB",
            "probe GB/s, 1 thread",
            "fused",
            "forward",
            "backward",
            "line / (forward + backward)",
            "probe GB/s, all",
            "fused, all",
            "gain of threads / probe's (CPU)",
            "ratio",
            "the same (wall)",
            "ratio",
        ],
    );
    for case in CASES.iter().filter(|case| case.name.contains(only)) {
        eprintln!("evaluation: {}", case.name);
        let set = (case.load)(store)?;
        shares.rows.push(measure(case, &set, &pools, quick)?);
        eprintln!("    {}", shares.rows[shares.rows.len() - 1].join(" | "));
    }
    section.tables.push(shares);
    Ok(section)
}

fn pool(threads: usize) -> Result<ThreadPool> {
    Ok(ThreadPoolBuilder::new().num_threads(threads).build()?)
}

fn measure(case: &Case, set: &Set, pools: &[ThreadPool; 2], quick: bool) -> Result<Vec<String>> {
    let risk = set.risk(case.loss)?;
    let budget = Budget { evaluations: Some(11), seconds: None };
    let outcome = solve::run(&*risk, case.lambda, Method::LsPBmrm, 1e-9, budget, &mut ())?;
    let w = outcome.point.w;
    let probe = Probe::like(&set.matrix);
    let rounds = if quick { 5 } else { 15 };
    let mut samples: [Vec<Sample>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..=rounds {
        for (pool, samples) in pools.iter().zip(&mut samples) {
            samples.push(pool.install(|| sample(&*risk, case.lambda, &w, &probe))?);
        }
    }
    // The first round only warms up.
    for samples in &mut samples {
        samples.remove(0);
    }
    let of = |t: usize, number: &dyn Fn(&Sample) -> f64| median(samples[t].iter().map(number));
    let percent = |x: f64| format!("{:.0} %", 100.0 * x);
    let threads = |t: usize| pools[t].current_num_threads() as f64;
    let speed =
        |t| format!("{:.1}", threads(t) * probe.bytes() as f64 / of(t, &|s| s.probe.cpu) / 1e9);
    // What threads gain: seconds on one against seconds on all, by the wall and with a core for
    // each thread.
    let gain = |number: &dyn Fn(&Sample) -> f64| {
        median(samples[0].iter().zip(&samples[1]).map(|(one, all)| number(one) / number(all)))
    };
    let (wall, probes_wall) = (gain(&|s| s.fused.wall), gain(&|s| s.probe.wall));
    let (cpu, probes_cpu) = (gain(&|s| s.fused.cpu), gain(&|s| s.probe.cpu));
    Ok(vec![
        case.name.into(),
        format!("{:.1}", probe.bytes() as f64 / 1e6),
        speed(0),
        percent(of(0, &|s| s.probe.cpu / s.fused.cpu)),
        percent(of(0, &|s| s.probe.cpu / s.forward.cpu)),
        percent(of(0, &|s| s.probe.cpu / s.backward.cpu)),
        percent(of(0, &|s| s.line.cpu / (s.forward.cpu + s.backward.cpu))),
        speed(1),
        percent(of(1, &|s| s.probe.cpu / s.fused.cpu)),
        format!("{:.2} / {:.2}", cpu * threads(1), probes_cpu * threads(1)),
        format!("{:.2}", cpu / probes_cpu),
        format!("{wall:.2} / {probes_wall:.2}"),
        format!("{:.2}", wall / probes_wall),
    ])
}

/// A sample of each kind, one after the other.
fn sample(risk: &dyn Risk, lambda: f64, w: &[f64], probe: &Probe) -> Result<Sample> {
    let cancel = Cancel::new();
    let point = risk.at(w.to_vec(), &cancel)?;
    let origin = risk.at(vec![0.0; w.len()], &cancel)?;
    let quadratic = L2::new(lambda)?.along(&origin.w, &point.w);
    let lines = risk.lines().context("a risk of rows has lines")?;
    // Small sets take a fraction of a millisecond: enough passes to be above the clocks' noise.
    let passes = (200_000_000 / probe.bytes().max(1)).clamp(3, 100);
    Ok(Sample {
        probe: each(passes, || {
            probe.pass();
            Ok(())
        })?,
        fused: each(passes, || risk.at_with_planes(w.to_vec(), 1, &cancel))?,
        forward: each(passes, || risk.at(w.to_vec(), &cancel))?,
        backward: each(passes, || risk.planes(&point, 1, &cancel))?,
        line: each(passes, || Ok(line::minimise(&mut lines.line(&origin, &point), quadratic)))?,
    })
}

/// Seconds of one pass: the mean of a few by the processor's clock, the best by the wall's.
fn each<T>(passes: usize, mut pass: impl FnMut() -> Result<T, RiskError>) -> Result<Seconds> {
    let mut best = f64::INFINITY;
    let (_, seconds) = timed(|| {
        for _ in 0..passes {
            let start = Instant::now();
            let result = pass()?;
            best = best.min(start.elapsed().as_secs_f64());
            drop(result);
        }
        Ok::<(), RiskError>(())
    })?;
    Ok(Seconds { wall: best, cpu: seconds.cpu / passes as f64 })
}

/// The middle of some numbers; NaN if there are none.
pub(crate) fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    match numbers.len() {
        0 => f64::NAN,
        n => 0.5 * (numbers[(n - 1) / 2] + numbers[n / 2]),
    }
}
