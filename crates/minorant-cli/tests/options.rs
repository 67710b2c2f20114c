//! Every option with every model, drawn from the option table: an option that a model takes changes
//! the objective, the weights, the counts, the predictions or the files that a run leaves, in the
//! situation that the table names; one that it does not take is refused in a sentence that names the
//! models which take it; and one that another option leaves no use for is refused as well.

mod common;

use common::Called;
use common::situations::Data;
use minorant::family::{self, Entry, Settings};
use minorant::options::{Effect, Kind, Need, OptionSpec, Probe};
use serde_json::Value;

/// What a run left: its JSON without times, its model file without the option's own key, the names
/// of further files, and what it told on the way.
#[derive(Debug, PartialEq)]
struct Left {
    json: Value,
    header: Value,
    tensors: Vec<u8>,
    files: Vec<String>,
    /// Lines of the trace, and the keys of the first one.
    trace: (usize, Vec<String>),
    stdout: String,
    stderr: String,
}

/// Runs `train` and looks at everything that it leaves.
fn run(data: &Data, args: &str, own: &OptionSpec) -> Result<Left, Called> {
    let kept = |name: &str| data.bench.path(name).exists();
    let known = ["weights", "label-loss", "start", "resume", "template", "label-xml"];
    let written = ["proof", "report", "checkpoint"];
    written.iter().for_each(|name| drop(std::fs::remove_file(data.bench.path(name))));
    let of = |name: &str| match own.name == name {
        true => String::new(),
        false => format!("--{name} left.{name}"),
    };
    let json = if own.name == "json" { "" } else { "--json" };
    let args = format!("train {args} {} {} {json}", of("out"), of("trace"));
    let called = data.bench.call(&args);
    if called.code != 0 {
        return Err(called);
    }
    let mut stdout = called.stdout.clone();
    let mut json: Value = serde_json::from_str(&stdout).unwrap_or(Value::Null);
    if let Some(object) = json.as_object_mut() {
        ["seconds", "load_seconds", "peak_rss_bytes"].iter().for_each(|key| {
            object.remove(*key);
        });
        stdout = String::new();
    }
    let out = if own.name == "out" { "out" } else { "left.out" };
    let (header, tensors) =
        if kept(out) { model(&data.bench.read(out), own) } else { Default::default() };
    let trace = if own.name == "trace" { "trace" } else { "left.trace" };
    let trace = if kept(trace) { data.bench.read(trace) } else { Vec::new() };
    let lines = || trace.split(|byte| *byte == b'\n');
    let first: Value = lines()
        .next()
        .map_or(Value::Null, |line| serde_json::from_slice(line).unwrap_or(Value::Null));
    let keys = first.as_object().map(|line| line.keys().cloned().collect()).unwrap_or_default();
    let trace = (lines().count(), keys);
    let files = ["out", "trace"].iter().chain(&written).filter(|name| kept(name));
    let files = files.filter(|name| !known.contains(name)).map(|name| name.to_string()).collect();
    ["out", "trace", "left.out", "left.trace"]
        .iter()
        .for_each(|name| drop(std::fs::remove_file(data.bench.path(name))));
    Ok(Left {
        json,
        header,
        tensors,
        files,
        trace,
        stdout: words(&stdout),
        stderr: words(&called.stderr),
    })
}

impl Left {
    /// Whether an option made a difference that counts: to the answer, its counts or its trace. What
    /// is said on the way, and what the header records, counts only for options about files and
    /// output.
    fn differs(&self, other: &Left, option: &OptionSpec) -> bool {
        let answer = (&self.json, &self.tensors, &self.trace);
        let is_told = self.stdout != other.stdout || self.stderr != other.stderr;
        answer != (&other.json, &other.tensors, &other.trace)
            || option.effect == Effect::Files && (is_told || self.files != other.files)
    }
}

/// Text without numbers, which differ from run to run where they are times.
fn words(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// The header of a model file without an option's own key and the data's fingerprint, and all bytes
/// of its arrays.
fn model(bytes: &[u8], own: &OptionSpec) -> (Value, Vec<u8>) {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let text = header["__metadata__"]["minorant"].as_str().unwrap();
    let mut content: Value = serde_json::from_str(text).unwrap();
    let content = content["content"].as_object_mut().unwrap();
    for key in [own.stored_name().as_str(), "data_sha256", "tol"] {
        content.remove(key);
    }
    (Value::Object(content.clone()), bytes[8 + length..].to_vec())
}

fn situation(entry: &Entry, name: &str) -> Probe {
    entry.probe(name).unwrap_or(Probe::NONE)
}

/// The option as it is typed.
fn typed(spec: &OptionSpec, value: &str) -> String {
    if spec.kind.is_flag() {
        format!("--{}", spec.name)
    } else {
        format!("--{} {value}", spec.name)
    }
}

#[test]
fn an_option_that_a_model_takes_matters() {
    let data = Data::new();
    let mut wrong = Vec::new();
    for entry in family::models() {
        let name = entry.model.name;
        for taken in entry.options() {
            let spec = taken.spec;
            let probe = situation(entry, spec.name);
            let (_, always) = Data::usual(name);
            let files = &Data::of_situation(name, probe)[..];
            let with = probe.with.join(" ");
            let always =
                if with.contains("--hidden") || spec.name == "hidden" { "" } else { always };
            let base = format!("{name} {files} {always} {with}");
            let file = data.file_for(spec.name, name, files, &format!("{always} {with}"));
            let told = format!("{base} {}", typed(spec, &probe.value.replace("{FILE}", &file)));
            let (plain, given) = (run(&data, &base, spec), run(&data, &told, spec));
            let plain = plain.map_err(|called| called.stderr);
            match (plain, given) {
                (Ok(plain), Ok(given))
                    if !plain.differs(&given, spec) && spec.effect != Effect::Resources =>
                {
                    wrong.push(format!("{told}: changes nothing"));
                }
                (Ok(plain), Ok(given)) if spec.effect == Effect::Resources => {
                    // More or fewer resources give the same answer, or less of a proof.
                    let same = plain.tensors.len() >= given.tensors.len();
                    let least = data.bench.call(&format!("train {base} {}", typed(spec, "0")));
                    if !same || (plain == given && least.code == 0) {
                        wrong.push(format!("{told}: no effect on resources"));
                    }
                }
                (Ok(_), Err(called)) if spec.effect == Effect::Resources => {
                    called.refused();
                }
                // What was refused before goes through with the option.
                (Err(_), Ok(_)) => {}
                (Err(why), Err(_)) => wrong.push(format!("{base}: {why}")),
                (_, Err(called)) => wrong.push(format!("{told}: {}", called.stderr)),
                (Ok(_), Ok(_)) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{} options:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn an_option_that_a_model_does_not_take_is_refused() {
    let data = Data::new();
    data.bench.write("file", "1\n");
    for entry in family::models() {
        let name = entry.model.name;
        for spec in family::options().iter().filter(|spec| entry.option(spec.name).is_none()) {
            let takers = family::models_with(spec.name);
            let other = family::model(takers[0]).unwrap();
            let value = situation(&other, spec.name).value.replace("{FILE}", "file");
            let (usual, _) = Data::usual(name);
            let called = data.bench.call(&format!("train {name} {usual} {}", typed(spec, &value)));
            let sentence = called.refused();
            assert!(sentence.starts_with(&format!("--{} goes with ", spec.name)), "{sentence}");
            assert!(sentence.ends_with(&format!("not with {name}")), "{sentence}");
            assert!(takers.iter().all(|taker| sentence.contains(taker)), "{sentence}");
        }
    }
}

#[test]
fn an_option_that_others_leave_no_use_for_is_refused() {
    let data = Data::new();
    let mut tried = 0;
    for entry in family::models() {
        let name = entry.model.name;
        for taken in entry.options() {
            for need in taken.spec.needs {
                let probe = situation(entry, taken.spec.name);
                let (usual, _) = Data::usual(name);
                let file = data.file_for(taken.spec.name, name, usual, "");
                let told = typed(taken.spec, &probe.value.replace("{FILE}", &file));
                let against = match need {
                    Need::Is(other, values) => {
                        let others: Vec<String> = match entry.option(other).unwrap().kind {
                            Kind::Choice(choices) => choices.iter().map(|c| c.0.into()).collect(),
                            Kind::Solver => entry.solvers().iter().map(|s| s.to_string()).collect(),
                            _ => Vec::new(),
                        };
                        let other_value =
                            others.into_iter().find(|v| !values.contains(&v.as_str()));
                        format!("--{other} {}", other_value.expect("another value"))
                    }
                    Need::Given(_) => String::new(),
                    Need::NotGiven(other) if entry.option(other).is_none() => continue,
                    Need::NotGiven(other) => {
                        typed(entry.option(other).unwrap(), situation(entry, other).value)
                    }
                };
                let called = data.bench.call(&format!("train {name} {usual} {told} {against}"));
                let sentence = match need {
                    Need::NotGiven(_) => called.unparsed(),
                    _ => called.refused(),
                };
                assert!(sentence.starts_with(&format!("--{} ", taken.spec.name)), "{sentence}");
                tried += 1;
            }
        }
    }
    assert!(tried > 30, "{tried}");
}

#[test]
fn defaults_can_be_typed_and_declarations_do_not_overlap() {
    for entry in family::models() {
        let mut names: Vec<&str> = entry.options().map(|taken| taken.spec.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "{} takes an option twice", entry.model.name);
        for taken in entry.options() {
            let spec = taken.spec;
            let Some(default) = spec.default else { continue };
            let value =
                spec.kind.parse(default).unwrap_or_else(|why| panic!("{}: {why}", spec.name));
            let mut settings = Settings::of(*entry);
            settings.set(spec.name, value).unwrap_or_else(|why| panic!("{why}"));
        }
    }
}
