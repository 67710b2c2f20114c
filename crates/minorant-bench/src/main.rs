//! `minorant-bench`: how fast evaluations are beside the machine's memory, how many the methods
//! need, and how the whole compares with its peers, on real data. It writes one page as Markdown
//! and as HTML; without the data it says so there.

mod academic;
mod clock;
mod counts;
mod curves;
mod data;
mod evaluation;
mod figures;
mod hand_over;
mod hmm;
mod l1;
mod memory;
mod neuro_crf;
mod package;
mod page;
mod pca;
mod pdm;
mod pdm_classes;
mod pdm_latent;
mod peers;
mod probe;
mod prox;
mod python;
mod quasi_newton;
mod race;
mod rivals;
mod solve;
mod speech;
mod structured;
mod targets;
mod trajectories;
mod transduction;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use data::Store;
use page::Section;
use std::path::PathBuf;
use std::time::Instant;

/// Benchmarks of Minorant on real data.
///
/// The data is read from the folder named by MINORANT_DATA, or from `../shared/data` beside the
/// project.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// What to measure.
    #[arg(value_enum, default_value = "all")]
    what: What,
    /// Fewer repeats and tighter limits.
    #[arg(long)]
    quick: bool,
    /// Only problems whose name in the tables contains this text.
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Where to write report.md and report.html.
    #[arg(long, value_name = "DIR", default_value = "target/bench")]
    out: PathBuf,
}

impl std::fmt::Display for Arguments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = self.what.to_possible_value();
        write!(
            f,
            "minorant-bench {}",
            what.map_or("all".into(), |what| what.get_name().to_owned())
        )?;
        if self.quick {
            f.write_str(" --quick")?;
        }
        if self.only.is_empty() { Ok(()) } else { write!(f, " --only {}", self.only) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Evaluations as a share of the machine's read bandwidth.
    Evaluation,
    /// Evaluations that the methods need.
    Counts,
    /// The tables of Uříčář and Franc.
    Prox,
    /// The experiments of Yu et al. on subgradient BFGS.
    QuasiNewton,
    /// The curves of Yu et al., and the orthant-wise methods with random subgradients.
    Figures,
    /// The hybrid beside the two methods that it joins.
    Hybrid,
    /// LIBLINEAR and scikit-learn beside us.
    Peers,
    /// L1-regularised logistic regression, LIBLINEAR beside us.
    L1,
    /// To one gap: LIBLINEAR, `auto`, and each of our methods.
    Race,
    /// To one gap: every loss beside its rivals.
    Rivals,
    /// The Python package beside scikit-learn, both at their defaults.
    Package,
    /// Tables 2, 3 and 6 of the NRBM paper.
    Nrbm,
    /// Table 7 of the NRBM paper: large-margin hidden Markov models.
    Hmm,
    /// Chains, number plates and faces; Tables 4 and 5 of the NRBM paper; CRFsuite beside us.
    Structured,
    /// Table 8 of the NRBM paper: a network under a chain.
    NeuroCrf,
    /// Tables 2 and 3 and Figure 2 of the PDM paper: semi-supervised machines.
    Pdm,
    /// All of these.
    All,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let paths = run(&arguments, Store::find())?;
    for path in paths {
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}

type Benchmark = fn(&Store, &str, bool) -> Result<Section>;

fn run(arguments: &Arguments, store: Option<Store>) -> Result<Vec<PathBuf>> {
    let benchmarks: [(What, &str, Benchmark); 16] = [
        (What::Evaluation, "Evaluations against the memory", evaluation::section),
        (What::Counts, "Evaluations to a certified gap", counts::section),
        (What::Prox, "Tables of Uříčář and Franc", prox::section),
        (What::QuasiNewton, "Subgradient BFGS and its rivals", quasi_newton::section),
        (What::Figures, "Figures of Yu et al.", figures::section),
        (What::Hybrid, "The hybrid", hand_over::section),
        (What::Nrbm, "Table 6 of the NRBM paper", transduction::section),
        (What::Structured, structured::TITLE, structured::section),
        (What::Peers, "Beside the peers", peers::section),
        (What::L1, l1::TITLE, l1::section),
        (What::Hmm, hmm::TITLE, hmm::section),
        (What::NeuroCrf, "Table 8 of the NRBM paper", neuro_crf::section),
        (What::Pdm, "Tables 2 and 3 of the PDM paper", pdm::section),
        (What::Race, "The race to a gap of 1e-3", race::section),
        (What::Rivals, rivals::TITLE, rivals::section),
        (What::Package, package::TITLE, package::section),
    ];
    let how = arguments.to_string();
    let mut sections = Vec::new();
    // Academic problems need no data.
    if matches!(arguments.what, What::All | What::Nrbm) {
        sections.push(academic::section(&arguments.only, arguments.quick)?);
    }
    if matches!(arguments.what, What::All | What::Figures) {
        sections.push(trajectories::section(&arguments.only)?);
    }
    for (what, title, benchmark) in benchmarks {
        if arguments.what != What::All && arguments.what != what {
            continue;
        }
        let begin = Instant::now();
        let mut section = match &store {
            Some(store) => benchmark(store, &arguments.only, arguments.quick)?,
            None => {
                eprintln!("{title}: skipped, for there is no data (see --help)");
                Section::skipped(title, "the folder with the data sets is not there.")
            }
        };
        let minutes = begin.elapsed().as_secs_f64() / 60.0;
        section.paragraphs.push(format!("This section took {minutes:.1} minutes."));
        sections.push(section);
        // What there is can be read while the next benchmark runs.
        page::write(&arguments.out, &how, &sections)?;
    }
    page::write(&arguments.out, &how, &sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The book's table of the papers names benchmarks that there are.
    #[test]
    fn benchmarks_that_the_book_names_exist() {
        let page =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/papers.md");
        let page = std::fs::read_to_string(page).unwrap();
        let commands: Vec<&str> =
            page.split('`').filter(|code| code.starts_with("minorant-bench ")).collect();
        assert!(commands.len() > 5);
        for command in commands {
            Arguments::try_parse_from(command.split(' ')).unwrap_or_else(|why| panic!("{why}"));
        }
    }

    #[test]
    fn without_data_the_page_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("page");
        let only = "no problem".to_owned();
        let arguments = Arguments { what: What::All, quick: true, only, out };
        let paths = run(&arguments, None).unwrap();
        assert_eq!(arguments.to_string(), "minorant-bench all --quick --only no problem");
        assert_eq!(paths.len(), 2);
        for path in paths {
            let text = std::fs::read_to_string(path).unwrap();
            assert_eq!(text.matches("Skipped: ").count(), 16);
        }
    }
}
