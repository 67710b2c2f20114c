//! Real faults: a process killed in the middle of a checkpointed run, an interrupt signal, a full
//! or missing output folder. Nothing may be lost or half written.
#![cfg(unix)]

mod common;

use common::{Bench, Called};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const RUN: &str = "train svm big.svm --lambda 1e-5 --tol 1e-7 --quiet --json";
/// A run that would go on for a long time.
const LONG: &str =
    "train svm big.svm --lambda 1e-8 --tol 0 --abs-tol 0 --solver bmrm --quiet --json";

fn bench() -> Bench {
    let bench = Bench::new();
    let data = minorant::generate::noisy_plane(6000, 60, 11, 0);
    bench.write("big.svm", &minorant::generate::to_libsvm(&data));
    bench
}

fn spawn(bench: &Bench, args: &str) -> Child {
    bench.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn wait_for_file(bench: &Bench, name: &str, child: &mut Child) {
    let start = Instant::now();
    while !bench.path(name).exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "no {name}");
        assert!(child.try_wait().unwrap().is_none(), "the run ended before {name} appeared");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn signal(child: &Child, name: &str) {
    let status = std::process::Command::new("kill").arg(name).arg(child.id().to_string()).status();
    assert!(status.unwrap().success());
}

#[test]
fn a_killed_run_resumes_to_the_same_file_byte_for_byte() {
    let bench = bench();
    for solver in ["bmrm", "lm-bmrm --memory 20 --max-evals 120", "ls-bmrm", "ls-p-bmrm"] {
        let run = format!("{RUN} --solver {solver}");
        bench.call(&format!("{run} --out whole")).json();
        for pause in [0, 60, 200] {
            let _ = std::fs::remove_file(bench.path("c"));
            let mut child = spawn(&bench, &format!("{run} --checkpoint c --out never"));
            wait_for_file(&bench, "c", &mut child);
            std::thread::sleep(Duration::from_millis(pause));
            signal(&child, "-KILL");
            child.wait().unwrap();
            bench.call(&format!("{run} --resume c --out resumed")).json();
            assert!(bench.read("whole") == bench.read("resumed"), "{solver} after {pause} ms");
        }
    }
}

#[test]
fn a_killed_one_vs_rest_run_resumes_too() {
    let bench = Bench::new();
    let run = "train svm multiclass.svm --multiclass ovr --lambda 1e-4 --tol 1e-8 --solver bmrm --quiet --json";
    bench.call(&format!("{run} --out whole")).json();
    for most in [5, 60, 200, 500] {
        bench.call(&format!("{run} --checkpoint c --max-evals {most}")).json();
        bench.call(&format!("{run} --resume c --out resumed")).json();
        assert!(bench.read("whole") == bench.read("resumed"), "{most}");
    }
}

#[test]
fn an_interrupt_gives_the_best_answer_so_far() {
    let bench = bench();
    let mut child = spawn(&bench, &format!("{LONG} --checkpoint c --out m"));
    wait_for_file(&bench, "c", &mut child);
    signal(&child, "-INT");
    let ended = Called::from(child.wait_with_output().unwrap());
    let json = ended.json();
    assert_eq!((&json["status"], &json["certified"]), (&"interrupted".into(), &false.into()));
    assert_eq!(bench.call("audit m big.svm --json").json()["holds"], true);
}

#[test]
fn a_time_limit_is_kept() {
    let bench = bench();
    let json = bench.call(&format!("{LONG} --max-seconds 0.2")).json();
    assert_eq!(json["status"], "max-seconds");
}

#[test]
fn a_file_that_stands_in_the_way_is_kept_when_the_run_fails() {
    let bench = bench();
    bench.write("m", "precious");
    bench.call("train svm big.svm --lambda -1 --out m").refused();
    assert_eq!(bench.read("m"), b"precious");
    let names: Vec<_> =
        std::fs::read_dir(bench.path(".")).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with(".tmp")), "{names:?}");
}
