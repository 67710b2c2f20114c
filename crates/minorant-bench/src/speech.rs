//! Recordings for hidden Markov models: spoken Arabic digits, Japanese vowels (both text, a frame a
//! line, a blank line between sequences) and character trajectories (NPZ).

use crate::data::Store;
use anyhow::{Context, Result, bail, ensure};
use minorant_data::{Label, LabelRows, Labels, RecordingOptions, Recordings, read_recordings};
use minorant_linalg::{Matrix, Storage};
use std::io::Read;

/// Recordings to train on and to test with.
#[derive(Debug)]
pub(crate) struct Speech {
    pub(crate) train: Recordings,
    pub(crate) test: Recordings,
}

impl Speech {
    pub(crate) fn arabic_digits(store: &Store) -> Result<Speech> {
        let subset = |file: &str, each: u32| {
            frames(store, &format!("spoken_arabic_digits/{file}_Arabic_Digit.txt.gz"), 10, |i| {
                i as u32 / each
            })
        };
        Ok(Speech { train: subset("Train", 660)?, test: subset("Test", 220)? })
    }

    pub(crate) fn japanese_vowels(store: &Store) -> Result<Speech> {
        const TEST: [usize; 9] = [31, 35, 88, 44, 29, 24, 40, 50, 29];
        let speakers: Vec<u32> =
            (0..9).flat_map(|z| std::iter::repeat_n(z, TEST[z as usize])).collect();
        Ok(Speech {
            train: frames(store, "japanese_vowels/ae.train.gz", 9, |i| i as u32 / 30)?,
            test: frames(store, "japanese_vowels/ae.test.gz", 9, |i| {
                speakers.get(i).copied().unwrap_or(0)
            })?,
        })
    }

    /// Every fifth trajectory of the labelled half is for the test: the other half has no labels.
    pub(crate) fn characters(store: &Store) -> Result<Speech> {
        let path = store.root.join("character_trajectories/trajectories_train.npz");
        let all = read_recordings(&[path], &RecordingOptions::default())?;
        Ok(Speech { train: subset(&all, |i| i % 5 != 4)?, test: subset(&all, |i| i % 5 == 4)? })
    }
}

/// The sequences that `is_in` names.
fn subset(all: &Recordings, is_in: impl Fn(usize) -> bool) -> Result<Recordings> {
    let LabelRows::Single(labels) = &all.labels.rows else { bail!("expected labels") };
    let (mut rows, mut starts, mut own) = (Vec::new(), vec![0], Vec::new());
    for i in (0..all.len()).filter(|&i| is_in(i)) {
        rows.extend(all.starts[i]..all.starts[i + 1]);
        starts.push(rows.len());
        own.push(labels[i]);
    }
    let labels = Labels { classes: all.labels.classes.clone(), rows: LabelRows::Single(own) };
    Ok(Recordings { frames: all.frames.select_rows(&rows), starts, labels })
}

fn frames(
    store: &Store,
    file: &str,
    classes: u32,
    class: impl Fn(usize) -> u32,
) -> Result<Recordings> {
    let input = std::fs::File::open(store.root.join(file)).with_context(|| file.to_owned())?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(input).read_to_string(&mut text)?;
    let (mut values, mut starts, mut cols) = (Vec::new(), vec![0], 0);
    let mut rows = 0;
    for line in text.lines().chain([""]) {
        let before = values.len();
        for cell in line.split_whitespace() {
            values.push(cell.parse::<f64>().with_context(|| format!("{file}: {cell}"))?);
        }
        let count = values.len() - before;
        if count == 0 {
            if starts.last() != Some(&rows) {
                starts.push(rows);
            }
            continue;
        }
        ensure!(cols == 0 || cols == count, "{file}: expected {cols} numbers, found {count}");
        cols = count;
        rows += 1;
    }
    let labels = (0..starts.len() - 1).map(class).collect();
    let names = (0..classes).map(|z| Label::Number(f64::from(z))).collect();
    Ok(Recordings {
        frames: Matrix::dense(rows, cols, Storage::Exact.store(values))?,
        starts,
        labels: Labels { classes: names, rows: LabelRows::Single(labels) },
    })
}
