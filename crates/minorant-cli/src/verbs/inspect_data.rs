//! What `minorant inspect` shows of data: rows, sequences, recordings, images. They are read by the
//! readers that `train` has for them.

use crate::args::InspectArgs;
use crate::output::{self, number};
use minorant::data::{
    Arrays, Dataset, Images, LabelKind, LabelRows, LabelledBy, Labels, ReadOptions, Recordings,
    Sequences, recordings_in,
};
use minorant::family::{
    self, DataKind, OwnedData, Settings, label_in_output, options_of_rows, read,
};
use minorant::linalg::{Matrix, Values};
use serde_json::{Value, json};
use std::path::Path;

/// Reads the files and says what is in them.
pub(super) fn shown(args: &InspectArgs) -> anyhow::Result<String> {
    let as_json = args.json;
    let kind = match kind_of(&args.files[0]) {
        // An option that only sequences have says that the files hold sequences.
        DataKind::Rows if reading_for(args, DataKind::Rows).is_err() => DataKind::Sequences,
        kind => kind,
    };
    let settings = reading_for(args, kind)?;
    if kind == DataKind::Rows {
        let options = ReadOptions { for_prediction: true, ..options_of_rows(&settings) };
        return Ok(inspect_rows(&minorant::data::read(&args.files, &options)?, as_json));
    }
    Ok(match (read(kind, &settings, &args.files, false)?, kind) {
        (OwnedData::Rows(data), _) => inspect_rows(&data, as_json),
        (OwnedData::Sequences(data), _) => inspect_sequences(&data, as_json),
        (OwnedData::Recordings(data), DataKind::Recordings(by)) => {
            inspect_recordings(&data, by, as_json)
        }
        (OwnedData::Recordings(data), _) => {
            inspect_recordings(&data, LabelledBy::Sequence, as_json)
        }
        (OwnedData::Images(data), _) => inspect_images(&data, as_json),
    })
}

/// How data of a kind is read, as the first model that takes such data would read it.
fn reading_for(args: &InspectArgs, kind: DataKind) -> anyhow::Result<Settings> {
    args.reading(family::model_for(kind))
}

/// The kind of data that a file holds, by the names of its arrays; rows where the file is no archive
/// of another kind.
fn kind_of(path: &Path) -> DataKind {
    // A pipe gives its bytes only once, so nothing is read from it here.
    let Some(arrays) = path.is_file().then(|| Arrays::open(path).ok()).flatten() else {
        return DataKind::Rows;
    };
    match (arrays.has("pixels"), arrays.has("values") && arrays.has("offsets")) {
        (true, _) if arrays.has("widths") => DataKind::Plates,
        (true, _) if arrays.has("parents") => DataKind::Parts,
        (_, true) => recordings_in(path).map_or(DataKind::Sequences, DataKind::Recordings),
        _ => DataKind::Rows,
    }
}

/// How many of the matrix's stored numbers are not 0.
fn nonzeros(matrix: &Matrix<'_>) -> usize {
    match matrix.values() {
        Values::F32(values) => values.iter().filter(|x| **x != 0.0).count(),
        Values::F64(values) => values.iter().filter(|x| **x != 0.0).count(),
    }
}

/// The share of the matrix's cells that are not 0.
fn density(matrix: &Matrix<'_>, nonzero: usize) -> f64 {
    let cells = matrix.rows() as f64 * matrix.cols() as f64;
    if cells > 0.0 { nonzero as f64 / cells } else { 0.0 }
}

fn storage(matrix: &Matrix<'_>) -> &'static str {
    if matrix.is_sparse() { "sparse" } else { "dense" }
}

fn precision(matrix: &Matrix<'_>) -> &'static str {
    if matrix.values().width() == 4 { "f32" } else { "f64" }
}

/// The shortest and the longest of some lengths.
fn extremes(lengths: impl Iterator<Item = usize> + Clone) -> (usize, usize) {
    (lengths.clone().min().unwrap_or(0), lengths.max().unwrap_or(0))
}

fn inspect_rows(data: &Dataset<'_>, as_json: bool) -> String {
    let matrix = &data.features;
    let nonzero = nonzeros(matrix);
    let density = density(matrix, nonzero);
    let (storage, precision) = (storage(matrix), precision(matrix));
    let kind = match (&data.labels.rows, data.labels.kind()) {
        (LabelRows::None, _) | (_, None) => "none",
        (LabelRows::Single(_), _) if data.labels.classes.len() == 1 => "one class",
        (_, Some(LabelKind::Binary)) => "binary",
        (_, Some(LabelKind::Multiclass)) => "multiclass",
        (_, Some(LabelKind::Multilabel)) => "multilabel",
    };
    if as_json {
        return json!({
            "kind": "data",
            "examples": matrix.rows(),
            "features": matrix.cols(),
            "nonzero": nonzero,
            "density": number(density),
            "storage": storage,
            "precision": precision,
            "labels": kind,
            "classes": counted(&of_rows(&data.labels), "examples"),
        })
        .to_string();
    }
    let mut lines = vec![
        format!("examples      {}", matrix.rows()),
        format!("features      {}", matrix.cols()),
        format!("non-zeros     {nonzero} ({} of all cells)", output::percent(density)),
        format!("stored        {storage}, {precision}"),
        match data.labels.classes.len() {
            0 | 1 => format!("labels        {kind}"),
            classes => format!("labels        {kind}, {classes} classes"),
        },
    ];
    if kind != "none" {
        lines.push(table(&of_rows(&data.labels), "examples"));
    }
    lines.join("\n")
}

fn inspect_recordings(data: &Recordings, labelled_by: LabelledBy, as_json: bool) -> String {
    let (shortest, longest) = extremes(data.starts.windows(2).map(|span| span[1] - span[0]));
    let precision = precision(&data.frames);
    let counts = match labelled_by {
        LabelledBy::Sequence => "sequences",
        LabelledBy::Frame => "frames",
    };
    if as_json {
        return json!({
            "kind": "recordings",
            "examples": data.len(),
            "frames": data.frames.rows(),
            "features": data.frames.cols(),
            "shortest": shortest,
            "longest": longest,
            "precision": precision,
            "labels": counts,
            "classes": counted(&of_rows(&data.labels), counts),
        })
        .to_string();
    }
    [
        format!("sequences     {}", data.len()),
        format!("frames        {}, {shortest} to {longest} a sequence", data.frames.rows()),
        format!("features      {}", data.frames.cols()),
        format!("stored        dense, {precision}"),
        format!("labels        of {counts}, {} classes", data.labels.classes.len()),
        table(&of_rows(&data.labels), counts),
    ]
    .join("\n")
}

fn inspect_sequences(data: &Sequences, as_json: bool) -> String {
    let (shortest, longest) = extremes(data.starts.windows(2).map(|span| span[1] - span[0]));
    let matrix = &data.tokens;
    let nonzero = nonzeros(matrix);
    let mut counts = vec![0; data.classes.len()];
    data.labels.iter().for_each(|&label| counts[usize::from(label)] += 1);
    let classes: Classes = data.classes.iter().map(|name| json!(name)).zip(counts).collect();
    if as_json {
        return json!({
            "kind": "sequences",
            "examples": data.len(),
            "tokens": matrix.rows(),
            "features": data.attributes.len(),
            "shortest": shortest,
            "longest": longest,
            "nonzero": nonzero,
            "density": number(density(matrix, nonzero)),
            "storage": storage(matrix),
            "precision": precision(matrix),
            "labels": "tokens",
            "classes": counted(&classes, "tokens"),
        })
        .to_string();
    }
    [
        format!("sequences     {}", data.len()),
        format!("tokens        {}, {shortest} to {longest} a sequence", matrix.rows()),
        format!("attributes    {}", data.attributes.len()),
        format!(
            "non-zeros     {nonzero} ({} of all cells)",
            output::percent(density(matrix, nonzero))
        ),
        format!("stored        {}, {}", storage(matrix), precision(matrix)),
        format!("labels        of tokens, {} classes", classes.len()),
        table(&classes, "tokens"),
    ]
    .join("\n")
}

fn inspect_images(data: &Images, as_json: bool) -> String {
    let (mut object, mut lines, classes, what) = match data {
        Images::Plates { height, widths, plates, .. } => {
            let columns = plates.iter().map(|plate| plate.pixels.len() / height.max(&1));
            let (shortest, longest) = extremes(columns.clone());
            let columns: usize = columns.sum();
            let mut counts = vec![0; widths.len()];
            plates.iter().flat_map(|p| &p.characters).for_each(|&c| counts[c as usize] += 1);
            let object = json!({
                "kind": "plates",
                "features": height,
                "widths": widths,
                "columns": columns,
                "shortest": shortest,
                "longest": longest,
            });
            let lines = vec![
                format!("images        {} plates of {height} rows", plates.len()),
                format!("columns       {columns}, {shortest} to {longest} an image"),
            ];
            let classes =
                counts.into_iter().enumerate().map(|(label, count)| (json!(label), count));
            (object, lines, classes.collect::<Classes>(), "characters")
        }
        Images::Parts { shape, images, .. } => {
            let (parts, places) = (shape.parents.len() + 1, [shape.width, shape.height]);
            let object = json!({
                "kind": "parts",
                "features": shape.channels,
                "grid": places,
                "parents": shape.parents,
            });
            let lines = vec![
                format!("images        {} with {parts} parts", images.len()),
                format!("places        {} x {}", shape.width, shape.height),
                format!("channels      {}", shape.channels),
            ];
            let labelled = if data.are_labelled() { images.len() } else { 0 };
            let classes = (0..parts).map(|part| (json!(part), labelled)).collect::<Classes>();
            (object, lines, classes, "places")
        }
    };
    let labels = if data.are_labelled() { what } else { "none" };
    if as_json {
        object["examples"] = json!(data.len());
        object["pixels"] = json!(data.pixels());
        object["labels"] = json!(labels);
        object["classes"] = json!(counted(&classes, what));
        return object.to_string();
    }
    lines.push(format!("pixels        {}", data.pixels()));
    if data.are_labelled() {
        lines.push(format!("labels        {what}, {} classes", classes.len()));
        lines.push(table(&classes, what));
    } else {
        lines.push("labels        none".into());
    }
    lines.join("\n")
}

/// Classes, and how often each occurs.
type Classes = Vec<(Value, usize)>;

fn of_rows(labels: &Labels) -> Classes {
    labels.classes.iter().map(label_in_output).zip(labels.counts()).collect()
}

fn counted(classes: &Classes, what: &str) -> Vec<Value> {
    classes.iter().map(|(label, count)| json!({"label": label, what: count})).collect()
}

/// The classes as a table for people, after a blank line.
fn table(classes: &Classes, what: &str) -> String {
    let mut rows = vec![vec!["class".to_string(), what.to_string()]];
    rows.extend(classes.iter().map(|(label, count)| {
        let name = label.as_str().map_or_else(|| label.to_string(), str::to_string);
        vec![name, count.to_string()]
    }));
    format!("\n{}", output::table(&rows))
}
