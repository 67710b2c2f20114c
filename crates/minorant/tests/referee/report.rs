//! What the referee tells: every defect in a line, tables of all of them, and the smallest examples
//! of each kind of defect with the command line that shows it.

use super::judge::{Finding, Judged, Verdict, counted};
use super::problem;
use std::collections::BTreeMap;

/// The findings on all problems so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    problems: usize,
    findings: Vec<Finding>,
    ends: BTreeMap<(&'static str, String), usize>,
    /// The times that a run ended by the clock, by kind and solver.
    by_the_clock: BTreeMap<(String, &'static str), usize>,
    /// Of each kind: objectives, the lowest and the highest distance from the exact one.
    above: BTreeMap<String, (usize, f64, f64)>,
    /// Of each kind: problems whose optimum is known, and all.
    solved: BTreeMap<String, (usize, usize)>,
    tampered: usize,
    cautious: usize,
    without_proof: usize,
}

/// Examples that are shown in full for each verdict and kind.
const SHOWN: usize = 2;

impl Report {
    pub(crate) fn add(&mut self, judged: Judged) {
        self.problems += 1;
        for finding in judged.findings {
            eprintln!(
                "{:?} seed {} {} {}: {}",
                finding.verdict, finding.seed, finding.kind, finding.solver, finding.detail
            );
            self.findings.push(finding);
        }
        for (kind, solver, status) in judged.ends {
            if status == "max-seconds" {
                *self.by_the_clock.entry((kind, solver)).or_insert(0) += 1;
            }
            *self.ends.entry((solver, status)).or_insert(0) += 1;
        }
        for (kind, off) in judged.above {
            let entry = self.above.entry(kind).or_insert((0, 0.0, 0.0));
            *entry = (entry.0 + 1, entry.1.min(off), entry.2.max(off));
        }
        let (kind, solved, all) = judged.solved;
        let entry = self.solved.entry(kind).or_default();
        *entry = (entry.0 + solved, entry.1 + all);
        self.tampered += judged.tampered;
        self.cautious += judged.cautious;
        self.without_proof += judged.without_proof;
        if self.problems.is_multiple_of(500) {
            eprintln!("{} problems, {} findings", self.problems, self.findings.len());
        }
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    pub(crate) fn print(&self) {
        let runs: usize = self.ends.values().sum();
        eprintln!("\n{} problems, {runs} runs, {} findings", self.problems, self.findings.len());
        eprintln!("optimum known to 1e-40, of all:");
        for (kind, (solved, all)) in &self.solved {
            eprintln!("  {kind:28} {solved} of {all}");
        }
        let (tampered, cautious) = (self.tampered, self.cautious);
        eprintln!(
            "changed models: {tampered}; raised bounds that are true and confirmed: {cautious}"
        );
        eprintln!("bounds without a proof: {}", self.without_proof);
        eprintln!("\nhow runs ended, by solver:");
        for ((solver, status), count) in &self.ends {
            eprintln!("  {solver:14} {status:12} {count}");
        }
        eprintln!("\nruns that ended by the clock:");
        for ((kind, solver), count) in &self.by_the_clock {
            eprintln!("  {kind:28} {solver:14} {count}");
        }
        eprintln!("\nreported less exact objective, relative: lowest, highest");
        for (kind, (count, low, high)) in &self.above {
            eprintln!("  {kind:28} {low:10.1e} {high:10.1e}  ({count})");
        }
        self.print_findings();
    }

    fn print_findings(&self) {
        eprintln!("\nfindings by verdict, kind and solver:");
        for ((verdict, kind, solver), count) in counted(&self.findings) {
            let of = |f: &&Finding| f.verdict == verdict && f.kind == kind && f.solver == solver;
            let worst = self.findings.iter().filter(of).map(|f| f.amount).fold(0.0, f64::max);
            eprintln!("  {verdict:?} {kind} {solver}: {count} (worst {worst:.1e})");
        }
        let mut classes: BTreeMap<(Verdict, &str), Vec<&Finding>> = BTreeMap::new();
        for finding in &self.findings {
            classes.entry((finding.verdict, &finding.kind)).or_default().push(finding);
        }
        for ((verdict, kind), mut findings) in classes {
            findings.sort_by_key(|finding| (finding.size, finding.seed));
            findings.dedup_by_key(|finding| finding.seed);
            eprintln!("\n{verdict:?} of {kind}: smallest of {}", findings.len());
            for finding in findings.iter().take(SHOWN) {
                let typed = problem::draw(finding.seed).typed(finding.solver);
                eprintln!(
                    "- seed {} {}: {}\n{typed}",
                    finding.seed, finding.solver, finding.detail
                );
            }
        }
    }
}
