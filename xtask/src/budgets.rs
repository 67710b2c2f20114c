//! Guards the speed: how many instructions the hot paths take, counted by callgrind and held against
//! the budgets in `budgets.txt`. Instructions repeat to a few in a million whatever else the machine
//! is doing, so a loss of speed shows that no clock would. Caches and threads are not looked at; the
//! benchmarks do that.

use super::{Step, answers, cargo, root, say};
use anyhow::{Context, Result, bail, ensure};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is counted: a name, and the command's arguments. Files are those of [`write_data`].
const PATHS: [(&str, &str); 13] = [
    ("reading LIBSVM text", "inspect rows.svm"),
    ("sparse evaluations", "train svm rows.svm --labels binary --solver bmrm --max-evals 150"),
    ("dense evaluations", "train logistic rows.csv --solver lbfgs --max-evals 150"),
    (
        "smooth lines on sparse rows",
        "train logistic rows.svm --labels binary --solver ls-bmrm --max-evals 60",
    ),
    (
        "the master problem",
        "train svm rows.svm --labels binary --solver ls-p-bmrm --tol 1e-9 --parts 16",
    ),
    ("dual coordinates", "train svm rows.svm --labels binary --solver dual-cd --tol 1e-5"),
    ("joint dual coordinates", "train svm classes.svm --solver dual-cd --tol 1e-3"),
    (
        "Viterbi",
        "train chain-svm tags.txt --format conll --template plan.txt --solver bmrm --max-evals 40",
    ),
    (
        "working sets",
        "train chain-svm tags.txt --format conll --template plan.txt --solver bcfw --max-evals 5",
    ),
    (
        "forward and backward",
        "train chain-crf tags.txt --format conll --template plan.txt --solver lbfgs --max-evals 80",
    ),
    ("segmentation", "train segment-svm plates.npz --solver bcfw --max-evals 40"),
    ("distance transforms", "train tree-svm parts.npz --solver bcfw --max-evals 20"),
    // Beside 300 problems that are solved, about 100 more are read off regions that are known.
    ("inner optimisations", "train s3vm moons.svm --sigma 0.35 --max-evals 300"),
];
/// How far over its budget a path may be: what another compiler may do.
const ROOM: f64 = 1.05;
const BUDGETS: &str = "xtask/budgets.txt";

/// The step; with MINORANT_BUDGETS=write the budgets are written instead.
pub(crate) fn step() -> Step {
    Step::new("speed: instructions of the hot paths", check).unless(|| {
        (!answers("valgrind")).then(|| "valgrind is not installed on this machine".into())
    })
}

fn check() -> Result<()> {
    cargo(&["build", "--release", "--workspace"], &[])?;
    let folder = root().join("target/budgets");
    std::fs::create_dir_all(&folder)?;
    write_data(&folder)?;
    let mut counts = Vec::new();
    for (name, arguments) in PATHS {
        let count = instructions(&folder, arguments).with_context(|| name.to_owned())?;
        counts.push((name, count));
    }
    if std::env::var("MINORANT_BUDGETS").is_ok_and(|what| what == "write") {
        let lines = counts.iter().fold(String::new(), |mut lines, (name, count)| {
            let _ = writeln!(lines, "{name}: {count}");
            lines
        });
        return std::fs::write(root().join(BUDGETS), lines).context("writing the budgets");
    }
    compare(&counts)
}

fn compare(counts: &[(&str, u64)]) -> Result<()> {
    let budgets = std::fs::read_to_string(root().join(BUDGETS)).context(BUDGETS)?;
    let mut over = Vec::new();
    for (name, count) in counts {
        let line = budgets.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        let budget: u64 = line.with_context(|| format!("{BUDGETS} has no {name}"))?.parse()?;
        let ratio = *count as f64 / budget as f64;
        say(&format!("{name:24} {:>10.1} million, {ratio:.3} of its budget", *count as f64 / 1e6));
        if ratio > ROOM {
            over.push(*name);
        }
    }
    ensure!(over.is_empty(), "over budget: {}", over.join(", "));
    Ok(())
}

/// Instructions of one call of the command.
fn instructions(folder: &Path, arguments: &str) -> Result<u64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(command());
    valgrind.args(arguments.split_whitespace());
    if !arguments.starts_with("inspect") {
        valgrind.args(["--threads", "1", "--quiet"]);
    }
    let output = valgrind.current_dir(folder).output().context("valgrind could not be started")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "minorant {arguments}: {said}");
    let line = said.lines().find_map(|line| line.split("Collected : ").nth(1));
    Ok(line.context("callgrind told no count")?.trim().parse()?)
}

fn command() -> PathBuf {
    root().join("target/release/minorant")
}

/// Numbers that look random and are the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Rows for the linear models, tagged sentences, plates, parts and moons.
fn write_data(folder: &Path) -> Result<()> {
    let mut numbers = Numbers(1);
    let (mut sparse, mut dense, mut classes) = (String::new(), String::new(), String::new());
    for _ in 0..2000 {
        let class = numbers.below(5);
        let sign = if class < 2 { 1 } else { -1 };
        let (mut row, mut values) = (String::new(), Vec::new());
        for column in 1..=60 {
            let is_near = column % 5 == class;
            let value = numbers.below(100) as f64 / 100.0 + if is_near { 0.4 } else { 0.0 };
            values.push(value.to_string());
            if numbers.below(3) == 0 {
                let _ = write!(row, " {column}:{value}");
            }
        }
        let _ = writeln!(sparse, "{sign}{row}");
        let _ = writeln!(classes, "{class}{row}");
        let _ = writeln!(dense, "{},{sign}", values.join(","));
    }
    let mut tags = String::new();
    for _ in 0..300 {
        for _ in 0..5 + numbers.below(10) {
            let word = numbers.below(400);
            let tag = if numbers.below(5) == 0 { numbers.below(12) } else { word % 12 };
            let _ = writeln!(tags, "w{word} s{} T{tag}", word % 40);
        }
        tags.push('\n');
    }
    let plan = "a:%x[0,0]\nb:%x[0,1]\nc:%x[-1,0]\nd:%x[1,0]\n";
    for (name, text) in [
        ("rows.svm", &sparse),
        ("classes.svm", &classes),
        ("rows.csv", &dense),
        ("tags.txt", &tags),
        ("plan.txt", &plan.to_owned()),
    ] {
        std::fs::write(folder.join(name), text).with_context(|| name.to_owned())?;
    }
    for arguments in [
        "generate plates --out plates.npz --seed 1",
        "generate parts --out parts.npz --seed 1",
        "generate moons --examples 120 --labeled 2 --out moons.svm --seed 1",
    ] {
        let mut generate = Command::new(command());
        let output = generate.args(arguments.split_whitespace()).current_dir(folder).output()?;
        if !output.status.success() {
            bail!("minorant {arguments}: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
    }
    Ok(())
}
