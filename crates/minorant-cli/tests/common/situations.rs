//! Data and files for tests that try every model: small sets of every kind that leave something to
//! learn, and what stands for the files that options name.

use super::Bench;
use minorant::data::{NamedArray, npz_bytes};
use minorant::options::Probe;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Data sets by name; each has so many examples and classes.
pub(crate) struct Data {
    pub(crate) bench: Bench,
    sizes: BTreeMap<&'static str, (usize, usize)>,
}

impl Data {
    pub(crate) fn new() -> Self {
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
        let target = |i: usize| (value(i, 1) - 2.0 * value(i, 2) + value(7 * i, 3)).to_string();
        self.add("targets.svm", &text(&target, 1, 60), 60, 0);
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
        // The same with labels for every third sequence only.
        let sentences = conll.trim_end().split("\n\n").enumerate();
        let few = sentences.map(|(s, sentence)| match s % 3 {
            0 => format!("{sentence}\n\n"),
            _ => {
                sentence
                    .lines()
                    .map(|line| format!("{}?\n", &line[..line.len() - 1]))
                    .collect::<String>()
                    + "\n"
            }
        });
        let few: String = few.collect();
        let few_letters: String = letters
            .lines()
            .map(|line| {
                let mut cells: Vec<&str> = line.split('\t').collect();
                if cells[3].parse::<usize>().unwrap() % 3 != 0 {
                    cells[1] = "?";
                }
                cells.join("\t") + "\n"
            })
            .collect();
        self.add("chunks.conll", &conll, 14, 3);
        self.add("few-chunks.conll", &few, 14, 3);
        // One column a line: labels alone as CoNLL, labels and nothing else as CRFsuite.
        let tabs = conll.replace(' ', "\t");
        self.add("tabs.txt", &tabs, 14, 3);
        let few_tabs = few.lines().map(|line| match line.ends_with('?') {
            // CRFsuite's label comes first.
            true => format!("?\t{}\n", line.replace(' ', "\t")),
            false if line.is_empty() => "\n".into(),
            false => format!("{}\t{}\n", &line[line.len() - 1..], line.replace(' ', "\t")),
        });
        let few_tabs: String = few_tabs.collect();
        self.add("few-tabs.txt", &few_tabs, 14, 3);
        self.add("letters.data", &letters, 14, 3);
        self.add("few-letters.data", &few_letters, 14, 3);
        self.bench.write("template", "U00:%x[0,0]\nU01:%x[-1,0]/%x[0,0]\n");
        let tokens = labels.len();
        let sequence = |token: usize| offsets.partition_point(|end| *end <= token as u64) - 1;
        let few = |(token, label): (usize, &u64)| {
            if sequence(token).is_multiple_of(3) { *label as f64 } else { -1.0 }
        };
        let few: Vec<f64> = labels.iter().enumerate().map(few).collect();
        let all = labels.iter().map(|label| *label as f64).collect();
        for (name, labels) in [("values.npz", all), ("few-values.npz", few)] {
            let arrays = [
                NamedArray::reals("values", &[tokens, 3], values.clone()),
                NamedArray::whole("offsets", &[offsets.len()], offsets.clone()),
                NamedArray::reals("labels", &[tokens], labels),
            ];
            std::fs::write(self.bench.path(name), npz_bytes(&arrays).unwrap()).unwrap();
            self.sizes.insert(name, (14, 3));
        }
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
    pub(crate) fn usual(model: &str) -> (&'static str, &'static str) {
        match model {
            "tsvm" => ("few.svm", ""),
            "regression" => ("targets.svm", ""),
            "s3vm" => ("clouds.svm", ""),
            "latent-svm" | "robust-svm" => ("sides.svm", ""),
            "chain-svm" | "chain-crf" => ("chunks.conll", ""),
            "chain-tsvm" => ("few-chunks.conll", ""),
            "neuro-crf" => ("values.npz", "--hidden 4 --pretrain none"),
            "hmm" => ("recordings.npz", ""),
            "segment-svm" => ("plates.npz", ""),
            "tree-svm" => ("parts.npz", ""),
            _ => ("rows.svm", ""),
        }
    }

    /// The data of a situation: models that learn from rows without labels have some such rows.
    pub(crate) fn of_situation(model: &str, probe: Probe) -> String {
        let has_few_labels = ["tsvm", "s3vm", "chain-tsvm"].contains(&model);
        match probe.data {
            "" => Data::usual(model).0.into(),
            name if has_few_labels && !name.starts_with("few") => format!("few-{name}"),
            name => name.into(),
        }
    }

    /// The file that stands for `{FILE}` behind an option: made for it where it is read, and a new
    /// name where it is written.
    pub(crate) fn file_for(&self, option: &str, model: &str, data: &str, with: &str) -> String {
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
            "bounds" => {
                self.bench.write("bounds", "column,least,greatest\n1,0.01,\n2,-0.02,0.01\n");
            }
            "truth" => self.bench.write("truth", &"1\n".repeat(examples)),
            "unlabeled" => return "unlabeled.svm".into(),
            "start" => {
                let args = format!("train {model} {data} {with} --max-evals 4 --out start");
                self.bench.call(&args).text();
            }
            "resume" => {
                // A limit on evaluations may be given once. Some solvers are done before a first state
                // is worth keeping.
                let mut words = with.split_whitespace();
                let mut with = String::new();
                while let Some(word) = words.next() {
                    match word {
                        "--max-evals" => drop(words.next()),
                        word => write!(with, "{word} ").unwrap(),
                    }
                }
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
}
