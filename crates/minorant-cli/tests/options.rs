//! Every option with every model, drawn from the option table: an option that a model takes changes
//! the objective, the weights, the counts, the predictions or the files that a run leaves, in the
//! situation that the table names; one that it does not take is refused in a sentence that names the
//! models which take it; and one that another option leaves no use for is refused as well.

mod common;

use common::{Bench, Called};
use minorant::data::{NamedArray, npz_bytes};
use minorant::family::{self, Entry, Settings};
use minorant::options::{Effect, Kind, Need, OptionSpec, Probe};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What a run left: its JSON without times, its model file without the option's own key, the names
/// of further files, and what it told on the way.
#[derive(Debug, PartialEq)]
struct Left {
    json: Value,
    header: Value,
    tensors: Vec<u8>,
    files: Vec<String>,
    trace: usize,
    stdout: String,
    stderr: String,
}

/// Data sets by name; each has so many examples and classes.
struct Data {
    bench: Bench,
    sizes: BTreeMap<&'static str, (usize, usize)>,
}

impl Data {
    fn new() -> Self {
        let mut data = Data { bench: Bench::new(), sizes: BTreeMap::new() };
        data.rows();
        data.sequences();
        data.recordings();
        for (name, what) in [
            ("plates.npz", "plates --seed 1 --images 8 --out plates.npz"),
            ("parts.npz", "parts --seed 1 --images 8 --out parts.npz"),
        ] {
            data.bench.call(&format!("generate {what}")).text();
            data.sizes.insert(name, (8, 0));
        }
        data
    }

    fn add(&mut self, name: &'static str, text: &str, examples: usize, classes: usize) {
        self.bench.write(name, text);
        self.sizes.insert(name, (examples, classes));
    }

    /// Rows that no straight line separates, with values that single precision does not hold.
    fn rows(&mut self) {
        let value = |i: usize, j: usize| ((i * (2 * j + 3) + j) % 17) as f64 / 10.0 - 0.8;
        let text = |label: &dyn Fn(usize) -> String, from: usize, rows: usize| {
            let mut text = String::new();
            for i in 0..rows {
                let features = (1..=5).map(|j| format!("{}:{}", j - 1 + from, value(i, j)));
                let features = features.collect::<Vec<_>>().join(" ");
                writeln!(text, "{} {features}", label(i)).unwrap();
            }
            text
        };
        let sign = |i: usize| if value(i, 1) + value(i, 2) * value(i, 3) > 0.0 { 1 } else { -1 };
        self.add("rows.svm", &text(&|i| sign(i).to_string(), 1, 60), 60, 2);
        self.add("zero-based.svm", &text(&|i| sign(i).to_string(), 1, 60), 60, 2);
        self.add("classes.svm", &text(&|i| (1 + i % 3).to_string(), 1, 60), 60, 3);
        let few = |i: usize| if i.is_multiple_of(4) { sign(i).to_string() } else { "0".into() };
        self.add("few.svm", &text(&few, 1, 60), 60, 2);
        self.add("few-zero-based.svm", &text(&few, 1, 60), 60, 2);
        self.add("unlabeled.svm", &text(&|_| "0".into(), 1, 25), 25, 0);
        let mut arff = String::from(
            "@relation sets\n@attribute a numeric\n@attribute x {0,1}\n@attribute y {0,1}\n@data\n",
        );
        let mut tables = [String::new(), String::new()];
        for i in 0..40 {
            let (a, b) = (value(i, 1), value(i, 2));
            writeln!(arff, "{a},{},{}", i % 2, (i / 2) % 2).unwrap();
            writeln!(tables[0], "{},{a},{b},{}", 2 * (i * 7 % 3 / 2) as i64 - 1, sign(i)).unwrap();
            writeln!(tables[1], "{},{a},{b},{}", (i % 3) as i64 - 1, few(i)).unwrap();
        }
        // By its name the second of each pair would be another format.
        for (names, table) in [["table.csv", "table.svm"], ["few-table.csv", "few-table.svm"]]
            .into_iter()
            .zip(&tables)
        {
            names.into_iter().for_each(|name| self.add(name, table, 40, 2));
        }
        self.add("sets.arff", &arff, 40, 2);
        self.bench.write(
            "label-xml",
            "<labels xmlns=\"http://mulan.sourceforge.net/labels\"><label name=\"x\"/><label name=\"y\"/></labels>",
        );
        let cloud = |i: usize, labelled: usize| {
            let (x, y) = (value(i, 1) + if i.is_multiple_of(2) { 1.0 } else { -1.0 }, value(i, 3));
            let label = match (i.is_multiple_of(labelled) || i < 4, i % 2) {
                (false, _) => 0,
                (true, 0) => 1,
                (true, _) => -1,
            };
            format!("{label} 1:{x} 2:{y}\n")
        };
        self.add("clouds.svm", &(0..60).map(|i| cloud(i, 9)).collect::<String>(), 60, 2);
        let sides = |i: usize| {
            let x = value(i, 1) * 2.0 + [-4.0, 0.0, 4.0][i % 3];
            let label = if i % 3 == 1 { -1 } else { 1 };
            format!("{label} 1:{x} 2:{}\n", value(i, 4))
        };
        self.add("sides.svm", &(0..75).map(sides).collect::<String>(), 75, 2);
    }

    /// Sentences of a tiny language, as columns, as arrays and as letters.
    fn sequences(&mut self) {
        let words = ["the", "a", "dog", "cat", "bird", "runs", "sleeps", "often"];
        let (mut conll, mut letters) = (String::new(), String::new());
        let (mut values, mut offsets, mut labels) = (Vec::new(), vec![0u64], Vec::new());
        for s in 0..14usize {
            for t in 0..3 + s % 3 {
                let word = (s * 3 + t * 5 + s * t) % words.len();
                let label = (word + t) % 3;
                writeln!(conll, "{} {} {}", words[word], words[word].len(), ["D", "N", "V"][label])
                    .unwrap();
                values.extend([0.1 * word as f64, 0.3 * (t as f64 - 1.0), 1.0 / 3.0]);
                labels.push(label as u64);
                let next = if t + 1 == 3 + s % 3 { -1 } else { (10 * s + t + 1) as i64 };
                let pixels: Vec<String> =
                    (0..128).map(|p| (((word + 1) * (p + 3)) % 5 / 4).to_string()).collect();
                let letter = ["a", "b", "c"][label];
                let (id, fold) = (10 * s + t, s % 3);
                writeln!(
                    letters,
                    "{id}\t{letter}\t{next}\t{s}\t{}\t{fold}\t{}",
                    t + 1,
                    pixels.join("\t")
                )
                .unwrap();
            }
            conll.push('\n');
            offsets.push(labels.len() as u64);
        }
        self.add("chunks.conll", &conll, 14, 3);
        // One column a line: labels alone as CoNLL, labels and nothing else as CRFsuite.
        let tabs = conll.replace(' ', "\t");
        self.add("tabs.txt", &tabs, 14, 3);
        self.add("letters.data", &letters, 14, 3);
        self.bench.write("template", "U00:%x[0,0]\nU01:%x[-1,0]/%x[0,0]\n");
        let tokens = labels.len();
        let arrays = [
            NamedArray::reals("values", &[tokens, 3], values),
            NamedArray::whole("offsets", &[offsets.len()], offsets),
            NamedArray::whole("labels", &[tokens], labels),
        ];
        std::fs::write(self.bench.path("values.npz"), npz_bytes(&arrays).unwrap()).unwrap();
        self.sizes.insert("values.npz", (14, 3));
    }

    /// Sequences of frames with a class each, and with a label for each frame.
    fn recordings(&mut self) {
        let (mut values, mut offsets) = (Vec::new(), vec![0u64]);
        let (mut labels, mut frame_labels) = (Vec::new(), Vec::new());
        // Classes overlap, so that there is something left to learn after the first guess.
        let mut state = 1u64;
        let mut noise = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as f64 / (1u64 << 24) as f64
        };
        for s in 0..40u64 {
            labels.push(s % 2);
            for _ in 0..6 + s % 4 {
                let phase = u64::from(noise() < 0.5);
                values.extend([0.4 * phase as f64 + noise(), 0.1 * (s % 2) as f64 + noise()]);
                frame_labels.push(phase);
            }
            offsets.push(frame_labels.len() as u64);
        }
        let frames = frame_labels.len();
        let arrays = [
            NamedArray::reals("values", &[frames, 2], values),
            NamedArray::whole("offsets", &[offsets.len()], offsets),
            NamedArray::whole("labels", &[labels.len()], labels),
            NamedArray::whole("frame_labels", &[frames], frame_labels),
        ];
        std::fs::write(self.bench.path("recordings.npz"), npz_bytes(&arrays).unwrap()).unwrap();
        self.sizes.insert("recordings.npz", (40, 2));
    }

    /// The data that a model is usually tried on, and what else its runs are called with.
    fn usual(model: &str) -> (&'static str, &'static str) {
        match model {
            "tsvm" => ("few.svm", ""),
            "s3vm" => ("clouds.svm", ""),
            "latent-svm" | "robust-svm" => ("sides.svm", ""),
            "chain-svm" | "chain-crf" => ("chunks.conll", ""),
            "neuro-crf" => ("values.npz", "--hidden 4 --pretrain none"),
            "hmm" => ("recordings.npz", ""),
            "segment-svm" => ("plates.npz", ""),
            "tree-svm" => ("parts.npz", ""),
            _ => ("rows.svm", ""),
        }
    }

    /// The data of a situation: models that learn from rows without labels have some such rows.
    fn of_situation(model: &str, probe: Probe) -> String {
        let has_few_labels = ["tsvm", "s3vm"].contains(&model);
        match probe.data {
            "" => Data::usual(model).0.into(),
            name if has_few_labels && !name.starts_with("few") => format!("few-{name}"),
            name => name.into(),
        }
    }

    /// The file that stands for `{FILE}` behind an option: made for it where it is read, and a new
    /// name where it is written.
    fn file_for(&self, option: &str, model: &str, data: &str, with: &str) -> String {
        let (examples, classes) = self.sizes.get(data).copied().unwrap_or((1, 2));
        match option {
            "weights" => {
                let text: String = (0..examples).map(|i| format!("{}\n", 1 + i % 3)).collect();
                self.bench.write("weights", &text);
            }
            "label-loss" => {
                let cost = |at: usize| if at / classes == at % classes { 0 } else { 1 + at % 3 };
                let text: String =
                    (0..classes * classes).map(|at| format!("{}\n", cost(at))).collect();
                self.bench.write("label-loss", &text);
            }
            "unlabeled" => return "unlabeled.svm".into(),
            "start" => {
                let args = format!("train {model} {data} {with} --max-evals 4 --out start");
                self.bench.call(&args).text();
            }
            "resume" => {
                // Some solvers are done before a first state is worth keeping.
                let _ = std::fs::remove_file(self.bench.path("resume"));
                for limit in ["--max-evals 3", ""] {
                    if !self.bench.path("resume").exists() {
                        let args =
                            format!("train {model} {data} {with} {limit} --checkpoint resume");
                        self.bench.call(&args).text();
                    }
                }
            }
            _ => {}
        }
        option.into()
    }

    /// Runs `train` and looks at everything that it leaves.
    fn run(&self, args: &str, own: &OptionSpec) -> Result<Left, Called> {
        let kept = |name: &str| self.bench.path(name).exists();
        let known = ["weights", "label-loss", "start", "resume", "template", "label-xml"];
        let written = ["proof", "report", "checkpoint"];
        written.iter().for_each(|name| drop(std::fs::remove_file(self.bench.path(name))));
        let of = |name: &str| match own.name == name {
            true => String::new(),
            false => format!("--{name} left.{name}"),
        };
        let json = if own.name == "json" { "" } else { "--json" };
        let args = format!("train {args} {} {} {json}", of("out"), of("trace"));
        let called = self.bench.call(&args);
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
            if kept(out) { model(&self.bench.read(out), own) } else { Default::default() };
        let trace = if own.name == "trace" { "trace" } else { "left.trace" };
        let trace =
            if kept(trace) { self.bench.read(trace).split(|b| *b == b'\n').count() } else { 0 };
        let files = ["out", "trace"].iter().chain(&written).filter(|name| kept(name));
        let files =
            files.filter(|name| !known.contains(name)).map(|name| name.to_string()).collect();
        ["out", "trace", "left.out", "left.trace"]
            .iter()
            .for_each(|name| drop(std::fs::remove_file(self.bench.path(name))));
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
            let (plain, given) = (data.run(&base, spec), data.run(&told, spec));
            let plain = plain.map_err(|called| called.stderr);
            match (plain, given) {
                (Ok(plain), Ok(given)) if plain == given && spec.effect != Effect::Resources => {
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
        for spec in family::options().into_iter().filter(|spec| entry.option(spec.name).is_none()) {
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
