//! Random problems over sequences: `chain-svm` and `chain-crf`, stated by all labellings.

use super::draw::{self, Random};
use super::number::{Number, sum};
use super::problem::{Owned, Problem, common_settings, lines, matrix, storage_in_words};
use super::stated::{Affine, Example, Shape, Stated, Weight};
use minorant::data::{Attributes, Sequences};
use minorant::family::Settings;
use minorant::family::chain::{PAIRS, Weighed};
use minorant::family::sequence::{BOUNDARY, PER, Per};
use minorant::options::common::{BIAS, L1_RATIO, LABEL_LOSS, Norm, PENALTY, WEIGHTS};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) fn draw(random: &mut Random) -> Problem {
    let is_likelihood = random.chance(0.4);
    let name = if is_likelihood { "chain-crf" } else { "chain-svm" };
    let mut settings = Settings::new(name).expect("a model");
    let mut kind = name.to_string();
    let mut files = Vec::new();
    let labels = random.between(2, 3);
    let longest = if labels == 3 { 3 } else { 4 };
    let n = random.between(1, 5);
    let mut starts = vec![0];
    for _ in 0..n {
        starts.push(starts[starts.len() - 1] + random.between(1, longest));
    }
    let tokens = starts[n];
    let d = random.between(1, 3);
    let rows = draw::rows(random, tokens, d);
    let features = matrix(random, &rows, d);
    let data = Sequences {
        tokens: features,
        starts,
        labels: (0..tokens).map(|_| random.between(0, labels - 1) as u16).collect(),
        classes: ["a", "b", "c"][..labels].iter().map(ToString::to_string).collect(),
        attributes: Attributes::Named(Arc::new((0..d).map(|j| format!("x{j}")).collect())),
        template: None,
        lines: Vec::new(),
        unknown: 0,
    };
    if is_likelihood && random.chance(0.4) {
        settings.put(&PENALTY, Norm::L1);
        kind += " l1";
    } else if is_likelihood && random.chance(0.3) {
        settings.put(&L1_RATIO, Some(random.pick(&[0.1, 0.5, 0.9])));
        kind += " elastic";
    }
    if !is_likelihood && random.chance(0.3) {
        let costs = random.costs(labels);
        files.push(("label-loss.txt".into(), lines(&costs, labels)));
        settings.put(&LABEL_LOSS, Some(costs));
        kind += " label-loss";
    }
    if random.chance(0.3) {
        settings.put(&PER, Per::Token);
    }
    if random.chance(0.4) {
        settings.put(&BOUNDARY, true);
    }
    if random.chance(0.4) {
        settings.put(&BIAS, Some(random.pick(&[1.0, 0.5, -2.0, 1e4, 1e-4])));
    }
    if random.chance(0.4) {
        settings.put(&PAIRS, Weighed::Observed);
    }
    common_settings(&mut settings, random, n, &mut files);
    let note = storage_in_words(&data.tokens);
    files.insert(0, ("data.crfsuite".into(), format!("# {note}\n{}", text(&data))));
    let stated = vec![state(&data, &settings)];
    let data = Owned::Sequences(data);
    Problem { kind, data, settings, memory: None, parts: None, stated, files }
}

/// The sequences in CRFsuite's format.
fn text(data: &Sequences) -> String {
    let mut text = String::new();
    for span in data.starts.windows(2) {
        for row in span[0]..span[1] {
            text += &data.classes[data.labels[row] as usize];
            for (j, x) in data.tokens.row(row) {
                text += &format!("\tx{j}:{x:?}");
            }
            text += "\n";
        }
        text += "\n";
    }
    text
}

/// What a weight of a chain is for, in the order in which weights lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Attribute(usize, u16),
    Bias(u16),
    Transition(u16, u16),
    Begin(u16),
    End(u16),
}

/// The problem of sequences under some settings, by its formulas.
pub(crate) fn state(data: &Sequences, settings: &Settings) -> Stated {
    let labels = data.classes.len() as u16;
    let n = data.len();
    let examples = settings.get(&WEIGHTS).unwrap_or_else(|| vec![1.0; n]);
    let examples: Vec<Number> = examples.into_iter().map(Number::new).collect();
    let length = |i: usize| data.starts[i + 1] - data.starts[i];
    let units = (0..n).map(|i| match settings.get(&PER) {
        Per::Sequence => examples[i].clone(),
        Per::Token => &examples[i] * &Number::whole(length(i) as i64),
    });
    let total = sum(units.collect::<Vec<_>>().iter());
    let bias = settings.get(&BIAS);
    let costs = settings.get(&LABEL_LOSS);
    let is_likelihood = settings.model() == "chain-crf";

    // Which weights there are.
    let mut places = Vec::new();
    let is_observed = settings.get(&PAIRS) == Weighed::Observed;
    if is_observed {
        for i in (0..n).filter(|&i| !examples[i].is_zero()) {
            let tokens = data.starts[i]..data.starts[i + 1];
            for row in tokens.clone() {
                let label = data.labels[row];
                places.extend(data.tokens.row(row).map(|(j, _)| Place::Attribute(j, label)));
            }
            places.extend(data.labels[tokens].windows(2).map(|p| Place::Transition(p[0], p[1])));
        }
    } else {
        for z in 0..labels {
            places.extend((0..data.tokens.cols()).map(|j| Place::Attribute(j, z)));
            places.extend((0..labels).map(|y| Place::Transition(y, z)));
        }
    }
    for z in 0..labels {
        places.extend(bias.map(|_| Place::Bias(z)));
        if settings.get(&BOUNDARY) {
            places.extend([Place::Begin(z), Place::End(z)]);
        }
    }
    places.sort_unstable();
    places.dedup();
    let places: BTreeMap<Place, usize> =
        places.into_iter().enumerate().map(|(at, place)| (place, at)).collect();

    let add_score = |line: &mut Affine, i: usize, output: &[u16], sign: i64| {
        let mut add = |place: Place, x: f64| {
            if let Some(&at) = places.get(&place) {
                line.add(at, &(&Number::new(x) * &Number::whole(sign)));
            }
        };
        for (row, &z) in (data.starts[i]..).zip(output) {
            data.tokens.row(row).for_each(|(j, x)| add(Place::Attribute(j, z), x));
            if let Some(bias) = bias {
                add(Place::Bias(z), bias);
            }
        }
        output.windows(2).for_each(|p| add(Place::Transition(p[0], p[1]), 1.0));
        add(Place::Begin(output[0]), 1.0);
        add(Place::End(output[output.len() - 1]), 1.0);
    };
    let cost = |truth: u16, other: u16| match &costs {
        Some(costs) => Number::new(costs[usize::from(truth * labels + other)]),
        None => Number::whole(i64::from(truth != other)),
    };
    let lines = |i: usize| -> Vec<Affine> {
        let truth = &data.labels[data.starts[i]..data.starts[i + 1]];
        let count = usize::from(labels).pow(truth.len() as u32);
        let line = |number: usize| {
            let mut rest = number;
            let mut next = || {
                let label = (rest % usize::from(labels)) as u16;
                rest /= usize::from(labels);
                label
            };
            let output: Vec<u16> = truth.iter().map(|_| next()).collect();
            let mut line = Affine::constant(Number::zero());
            if !is_likelihood {
                let each = truth.iter().zip(&output).map(|(&y, &z)| cost(y, z));
                line.constant = sum(each.collect::<Vec<_>>().iter());
            }
            add_score(&mut line, i, &output, 1);
            add_score(&mut line, i, truth, -1);
            line.terms.retain(|(_, factor)| !factor.is_zero());
            line
        };
        (0..count).map(line).collect()
    };
    let weight = Weight::of(settings, &total);
    Stated {
        shape: if is_likelihood { Shape::LogSum } else { Shape::Maximum },
        total,
        weights: vec![weight; places.len()],
        examples: (0..n)
            .map(|i| Example { weight: examples[i].clone(), lines: lines(i) })
            .collect(),
    }
}
