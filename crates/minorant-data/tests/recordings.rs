//! Recordings from NPZ files: what they read as, and the one sentence with which bad ones are
//! refused.

mod common;

use common::{f64s, npy, zip};
use minorant_data::{Label, LabelRows, LabelledBy, RecordingOptions, Recordings, read_recordings};

fn i64s(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// An archive with two features and these arrays; labels only where they are given.
fn archive(
    values: &[f64],
    offsets: &[i64],
    labels: Option<&[i64]>,
    frame_labels: Option<&[i64]>,
) -> Vec<u8> {
    let vector = |values: &[i64]| npy("<i8", false, &[values.len()], &i64s(values));
    let frames = npy("<f8", false, &[values.len() / 2, 2], &f64s(values));
    let offsets = vector(offsets);
    let (labels, frame_labels) = (labels.map(vector), frame_labels.map(vector));
    let mut members = vec![("values.npy", &frames[..]), ("offsets.npy", &offsets[..])];
    members.extend(labels.as_deref().map(|bytes| ("labels.npy", bytes)));
    members.extend(frame_labels.as_deref().map(|bytes| ("frame_labels.npy", bytes)));
    zip(&members)
}

fn read(files: &[Vec<u8>], options: &RecordingOptions) -> Result<Recordings, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = |i: usize| folder.path().join(format!("{i}.npz"));
    files.iter().enumerate().for_each(|(i, bytes)| std::fs::write(path(i), bytes).unwrap());
    let paths: Vec<_> = (0..files.len()).map(path).collect();
    let name = format!("{}/", folder.path().display());
    read_recordings(&paths, options).map_err(|error| error.to_string().replace(&name, ""))
}

const FRAMES: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 0.1];

#[test]
fn sequences_and_frames_have_labels() {
    let file = archive(&FRAMES, &[0, 3, 4], Some(&[7, -2]), Some(&[1, 1, 2, 3]));
    let options = RecordingOptions::default();
    let data = read(&[file.clone(), file.clone()], &options).unwrap();
    assert_eq!(data.starts, [0, 3, 4, 7, 8]);
    assert_eq!((data.frames.rows(), data.frames.cols()), (8, 2));
    assert_eq!(data.frames.row(7).collect::<Vec<_>>(), [(0, 7.0), (1, 0.1)]);
    assert_eq!(data.labels.classes, [Label::Number(-2.0), Label::Number(7.0)]);
    assert_eq!(data.labels.rows, LabelRows::Single(vec![1, 0, 1, 0]));
    let by_frame = RecordingOptions { labelled_by: LabelledBy::Frame, ..options };
    let data = read(&[file], &by_frame).unwrap();
    assert_eq!(data.labels.rows, LabelRows::Single(vec![0, 0, 1, 2]));
    // For a model labels may be missing, and one class is enough.
    let for_model = RecordingOptions { model_features: Some(2), ..options };
    let data = read(&[archive(&FRAMES, &[0, 0, 4], None, None)], &for_model).unwrap();
    assert!(!data.has_labels() && data.len() == 2);
    assert!(read(&[archive(&FRAMES, &[0, 4], Some(&[1]), None)], &for_model).is_ok());
}

#[test]
fn bad_files_are_refused_in_a_sentence() {
    let two = Some(&[1i64, 2][..]);
    let nan = [1.0, f64::NAN, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    let cases = [
        (
            archive(&FRAMES, &[0, 5, 4], two, None),
            "offsets from 0 to 4 that never descend, found 5",
        ),
        (
            archive(&FRAMES, &[0, 3, 2, 4], two, None),
            "offsets from 0 to 4 that never descend, found 2",
        ),
        (
            archive(&FRAMES, &[1, 3, 4], two, None),
            "offsets from 0 to 4 that never descend, found 1",
        ),
        (archive(&FRAMES, &[0, 1, 3], two, None), "expected offsets that end at 4, found 3"),
        (archive(&FRAMES, &[], two, None), "expected offsets that end at 4, found none"),
        (archive(&FRAMES, &[0, 3, 4], None, two), "expected an array named labels, found none"),
        (archive(&FRAMES, &[0, 3, 4], Some(&[1, 2, 3]), None), "for each of 2 rows"),
        (archive(&FRAMES, &[0, 3, 4], Some(&[1, 1]), None), "at least two distinct labels"),
        (archive(&nan, &[0, 3, 4], two, None), "expected finite values, found NaN"),
        (b"1 1:2\n".to_vec(), "expected an NPZ archive with the arrays values, offsets and labels"),
        (zip(&[("x.npy", &b""[..])]), "expected an array named values, found none"),
    ];
    for (bytes, expected) in cases {
        let error = read(&[bytes], &RecordingOptions::default()).unwrap_err();
        assert!(error.contains(expected) && error.lines().count() == 1, "{error}");
        assert!(error.starts_with("0.npz"), "{error}");
    }
    let file = archive(&FRAMES, &[0, 3, 4], two, None);
    let by_frame =
        RecordingOptions { labelled_by: LabelledBy::Frame, ..RecordingOptions::default() };
    let error = read(std::slice::from_ref(&file), &by_frame).unwrap_err();
    assert!(error.contains("expected an array named frame_labels, found none"), "{error}");
    let model = RecordingOptions { model_features: Some(3), ..RecordingOptions::default() };
    let error = read(&[file], &model).unwrap_err();
    assert!(error.contains("expected the model's 3 features, found 2"), "{error}");
}
