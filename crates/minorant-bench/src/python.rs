//! The peers' side: a Python environment of its own under the build folder, the data written for
//! it, and a process that trains on request.

use crate::data::{Set, Target};
use anyhow::{Context, Result, ensure};
use minorant_linalg::Values;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use zip::write::SimpleFileOptions;

const PACKAGES: [&str; 4] = ["liblinear-official", "scikit-learn", "numpy", "scipy"];
/// Rivals that not every machine can install.
const RIVALS: [&str; 5] = ["snapml", "celer", "skglm", "rehline", "statsmodels"];

/// A rival of a loss, and the problem that it is to solve.
#[derive(Debug)]
pub(crate) struct Rival<'r> {
    pub(crate) peer: &'r str,
    pub(crate) loss: &'r str,
    pub(crate) lambda: f64,
    pub(crate) l1: bool,
}

/// The folder under the build folder whose `env` is a Python environment with these packages; it
/// is made if it is not there yet.
pub(crate) fn environment(name: &str, packages: &[&str]) -> Result<PathBuf> {
    let folder = folder(name)?;
    let ready = folder.join("ready");
    if !ready.exists() {
        eprintln!("{name}: setting up a Python environment with {}", packages.join(", "));
        command(Command::new("python3").args(["-m", "venv"]).arg(folder.join("env")))?;
        let python = folder.join("env/bin/python");
        command(Command::new(&python).args(["-m", "pip", "install", "-q"]).args(packages))?;
        std::fs::write(&ready, "")?;
    }
    Ok(folder)
}

fn folder(name: &str) -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").join(name);
    std::fs::create_dir_all(&folder)?;
    Ok(folder.canonicalize()?)
}

/// A running process that trains with the peers.
#[derive(Debug)]
pub(crate) struct Peers {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    data: PathBuf,
}

impl Peers {
    /// Makes the environment if it is not there yet, and starts the process in it.
    pub(crate) fn start() -> Result<Peers> {
        let folder = environment("peers", &PACKAGES)?;
        Peers::start_in(&folder.join("env/bin/python"), include_str!("peers.py"))
    }

    /// Starts the process of the rivals; one that cannot be installed is not there.
    pub(crate) fn start_rivals() -> Result<Peers> {
        let folder = environment("peers", &PACKAGES)?;
        let python = folder.join("env/bin/python");
        let asked = folder.join("rivals");
        if !asked.exists() {
            for package in RIVALS {
                let installed =
                    command(Command::new(&python).args(["-m", "pip", "install", "-q", package]));
                if let Err(why) = installed {
                    eprintln!("rivals: no {package}: {why:#}");
                }
            }
            std::fs::write(&asked, "")?;
        }
        Peers::start_in(&python, include_str!("rivals.py"))
    }

    /// Starts the process of the package beside scikit-learn, in the environment that the
    /// package's tests have made.
    pub(crate) fn start_package() -> Result<Peers> {
        let python =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python/env/bin/python");
        ensure!(python.exists(), "`cargo xtask python` makes its environment");
        Peers::start_in(&python, include_str!("package.py"))
    }

    fn start_in(python: &Path, script: &str) -> Result<Peers> {
        let data = folder("peers")?.join("data.npz");
        let mut child = Command::new(python)
            .args(["-c", script])
            .env("OMP_NUM_THREADS", "1")
            .env("OPENBLAS_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let requests = child.stdin.take().context("no pipe to Python")?;
        let answers = BufReader::new(child.stdout.take().context("no pipe from Python")?);
        Ok(Peers { child, requests, answers, data })
    }

    /// Sends a request and waits for the answer.
    pub(crate) fn ask(&mut self, request: &Value) -> Result<Value> {
        writeln!(self.requests, "{request}")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        ensure!(!line.is_empty(), "the peers' process ended before it answered");
        Ok(serde_json::from_str(&line)?)
    }

    /// Hands over a set; later trainings are on it.
    pub(crate) fn load(&mut self, set: &Set) -> Result<()> {
        write_npz(&self.data, set)?;
        self.ask(&json!({ "load": self.data })).map(|_| ())
    }

    /// Trains; the processor seconds and the objective reached.
    pub(crate) fn train(
        &mut self,
        peer: &str,
        lambda: f64,
        tol: f64,
        binary: bool,
    ) -> Result<(f64, f64)> {
        self.answer(&json!({
            "peer": peer, "penalty": "l2", "lambda": lambda, "tol": tol, "binary": binary,
            "iterations": 100_000,
        }))
    }

    /// Trains the L1-regularised logistic regression; processor seconds and objective.
    pub(crate) fn train_l1(&mut self, peer: &str, lambda: f64, tol: f64) -> Result<(f64, f64)> {
        self.answer(&json!({
            "peer": peer, "penalty": "l1", "lambda": lambda, "tol": tol, "iterations": 10_000,
        }))
    }

    /// Trains with a rival; nothing where it cannot.
    pub(crate) fn train_rival(
        &mut self,
        rival: &Rival<'_>,
        tol: f64,
    ) -> Result<Option<(f64, f64)>> {
        let Rival { peer, loss, lambda, l1 } = rival;
        let request = json!({ "peer": peer, "loss": loss, "lambda": lambda, "l1": l1, "tol": tol });
        let answer = self.ask(&request)?;
        Ok(answer["seconds"].as_f64().zip(answer["objective"].as_f64()))
    }

    fn answer(&mut self, request: &Value) -> Result<(f64, f64)> {
        let answer = self.ask(request)?;
        let number = |key: &str| answer[key].as_f64().with_context(|| format!("no {key}"));
        Ok((number("seconds")?, number("objective")?))
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        // The process waits for requests for ever, and has nothing to save.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where the peers' environment and data are.
fn command(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("{name} cannot be run"))?;
    let why = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}", why.lines().last().unwrap_or("it failed").trim());
    Ok(())
}

/// The labels, and the matrix: dense as it is stored, or the arrays of a SciPy CSR matrix.
fn write_npz(path: &Path, set: &Set) -> Result<()> {
    let matrix = &set.matrix;
    let labels: Vec<i32> = match &set.target {
        Target::Signs(signs) => signs.iter().map(|&sign| sign as i32).collect(),
        Target::Classes { labels, .. } => labels.iter().map(|&z| z as i32).collect(),
        Target::Sets { .. } => anyhow::bail!("the peers have no multilabel hinge"),
        Target::Numbers(_) => Vec::new(),
    };
    let shape = [i32::try_from(matrix.rows())?, i32::try_from(matrix.cols())?];
    let bytes = |numbers: &[i32]| numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let mut archive = zip::ZipWriter::new(File::create(path)?);
    let mut put = |name: &str, kind: &str, count: usize, body: &[u8]| -> Result<()> {
        let plain = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        archive.start_file(format!("{name}.npy"), plain.large_file(body.len() > 1 << 31))?;
        let head = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({count},), }}");
        // Ten bytes before the head; all together a multiple of 64, the last one a line end.
        let padded = (10 + head.len() + 1).next_multiple_of(64) - 11;
        archive.write_all(b"\x93NUMPY\x01\x00")?;
        archive.write_all(&u16::try_from(padded + 1)?.to_le_bytes())?;
        archive.write_all(format!("{head:padded$}\n").as_bytes())?;
        Ok(archive.write_all(body)?)
    };
    put("shape", "<i4", 2, &bytes(&shape))?;
    if let Target::Numbers(targets) = &set.target {
        let body: Vec<u8> = targets.iter().flat_map(|x| x.to_le_bytes()).collect();
        put("labels", "<f8", targets.len(), &body)?;
    } else {
        put("labels", "<i4", labels.len(), &bytes(&labels))?;
    }
    if !matrix.is_sparse() {
        let count = matrix.values().len();
        match matrix.values() {
            Values::F32(v) => {
                put(
                    "dense",
                    "<f4",
                    count,
                    &v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>(),
                )?;
            }
            Values::F64(v) => {
                put(
                    "dense",
                    "<f8",
                    count,
                    &v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>(),
                )?;
            }
        }
        archive.finish()?;
        return Ok(());
    }
    let (mut starts, mut columns, mut values) = (vec![0i32], Vec::new(), Vec::new());
    for i in 0..matrix.rows() {
        for (j, x) in matrix.row(i).filter(|entry| entry.1 != 0.0) {
            columns.push(j as i32);
            values.push(x);
        }
        starts.push(i32::try_from(columns.len())?);
    }
    put("indptr", "<i4", starts.len(), &bytes(&starts))?;
    put("indices", "<i4", columns.len(), &bytes(&columns))?;
    let body: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    put("data", "<f8", values.len(), &body)?;
    archive.finish()?;
    Ok(())
}
