//! Checkpoint files: a solver's archive with what identifies the run, so that it is resumed only
//! on the same data with the same settings. A checkpoint is written now and then, at a
//! small share of the time, and never changes what the run computes.

use crate::archive::Archive;
use crate::container::{Array, Container, FileError, write_atomically};
use crate::family::{Data, Settings};
use crate::solver::Checkpoints;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::fingerprint::{Fingerprint, Version};

const KIND: &str = "checkpoint";
/// Between two checkpoints a run works at least this many times as long as writing one took.
const SHARE: u32 = 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    data_sha256: String,
    settings: String,
    /// Which fingerprint the first is; files of 0.1 do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fingerprint: Option<u64>,
}

/// Checkpoints in a file.
#[derive(Debug)]
pub struct FileCheckpoints {
    path: Option<PathBuf>,
    /// The file that the run goes on from.
    from: Option<PathBuf>,
    header: Header,
    resumed: Option<Archive>,
    last: Option<Instant>,
    cost: Duration,
    failure: Option<FileError>,
}

impl FileCheckpoints {
    /// Writes checkpoints to `write`, and starts from the one in `resume`, each if given. Only a
    /// checkpoint of a run on the same data, under settings that lead to the same iterates, is taken.
    pub fn new<'d>(
        write: Option<&Path>,
        resume: Option<&Path>,
        data: impl Into<Data<'d>>,
        settings: &Settings,
    ) -> Result<Self, FileError> {
        let (data, weights) = (data.into(), settings.example_weights());
        let version = Version::default();
        // The fingerprint reads all data, which runs without checkpoints are spared.
        let is_used = write.or(resume).is_some();
        let data_sha256 = is_used.then(|| data.sha256_of(version, weights.as_deref()));
        let header = Header {
            data_sha256: data_sha256.unwrap_or_default(),
            settings: settings.of_iterates(),
            fingerprint: version.number(),
        };
        // A file of another version is compared with what that version would have written.
        let of_version = |number| {
            let version = Version::of_number(number)?;
            let data_sha256 = data.sha256_of(version, weights.as_deref());
            Some(Header { data_sha256, fingerprint: number, ..header.clone() })
        };
        let resumed = resume.map(|path| load(path, &header, of_version)).transpose()?;
        // A run that ended before its first state is begun anew.
        let resumed = resumed.filter(|archive| !archive.is_empty());
        Ok(FileCheckpoints {
            path: write.map(Path::to_path_buf),
            from: resume.map(Path::to_path_buf),
            header,
            resumed,
            last: None,
            cost: Duration::ZERO,
            failure: None,
        })
    }

    /// Leaves a checkpoint also where the run ended before it had a state to keep: the one that it
    /// went on from, or one from which it begins anew.
    pub fn finish(&mut self) {
        let Some(path) = self.path.as_ref().filter(|_| self.last.is_none()) else { return };
        match self.from.as_ref() {
            Some(from) if from == path => {}
            Some(from) => {
                let io = |why| FileError::Io(from.clone(), why);
                let copied = std::fs::read(from).map_err(io);
                let copied = copied.and_then(|bytes| write_atomically(path, &bytes));
                self.failure = self.failure.take().or(copied.err());
            }
            None => self.store(Archive::default()),
        }
    }

    /// What went wrong while writing, if anything did.
    pub fn failure(&mut self) -> Option<FileError> {
        self.failure.take()
    }
}

fn load(
    path: &Path,
    header: &Header,
    of_version: impl Fn(Option<u64>) -> Option<Header>,
) -> Result<Archive, FileError> {
    let container = Container::read(path, KIND)?;
    let found: Header = container.header(path)?;
    let other = (found.fingerprint != header.fingerprint).then(|| of_version(found.fingerprint));
    let Some(header) = other.as_ref().map_or(Some(header), Option::as_ref) else {
        let found = "one that a later Minorant wrote";
        return Err(FileError::content(
            path,
            "a fingerprint of data that this version knows",
            found,
        ));
    };
    let differs = |what: &str| FileError::Content {
        path: path.into(),
        expected: format!("a checkpoint of a run with the same {what}"),
        found: format!("one with other {what}"),
    };
    if found.data_sha256 != header.data_sha256 {
        return Err(differs("data"));
    }
    if found.settings != header.settings {
        return Err(FileError::Content {
            path: path.into(),
            expected: format!("a checkpoint of a run with the settings: {}", header.settings),
            found: format!("one with the settings: {}", found.settings),
        });
    }
    let mut archive = Archive::default();
    for (name, array) in container.arrays {
        match array {
            Array::Reals { values, .. } => archive.reals.insert(name, values).map(|_| ()),
            Array::Integers { values } => archive.integers.insert(name, values).map(|_| ()),
        };
    }
    Ok(archive)
}

impl Checkpoints for FileCheckpoints {
    fn resume(&mut self) -> Option<Archive> {
        self.resumed.take()
    }

    fn are_wanted(&self) -> bool {
        self.path.is_some()
    }

    fn is_due(&mut self) -> bool {
        let rested = |last: Instant| last.elapsed() >= SHARE * self.cost;
        self.path.is_some() && self.last.is_none_or(rested)
    }

    fn store(&mut self, archive: Archive) {
        let Some(path) = &self.path else { return };
        let start = Instant::now();
        let mut container = Container::new(&self.header);
        for (name, values) in archive.reals {
            container.put_reals(&name, &[values.len()], values);
        }
        for (name, values) in archive.integers {
            container.put_integers(&name, values);
        }
        if let Err(error) = container.write(path, KIND) {
            self.failure.get_or_insert(error);
        }
        self.cost = start.elapsed();
        self.last = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use minorant_data::{Dataset, Label, LabelRows, Labels};
    use minorant_linalg::Matrix;

    /// What becomes of a checkpoint with this fingerprint of the data.
    fn resumed(data: &Dataset<'_>, data_sha256: String, fingerprint: Option<u64>) -> String {
        let settings = Settings::new("svm").expect("a model");
        let header = Header { data_sha256, settings: settings.of_iterates(), fingerprint };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("checkpoint");
        let mut container = Container::new(&header);
        container.put_integers("state", vec![1]);
        container.write(&path, KIND).expect("a checkpoint");
        match FileCheckpoints::new(None, Some(&path), data, &settings) {
            Ok(mut checkpoints) => format!("{:?}", checkpoints.resume().map(|it| it.integers)),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn checkpoints_are_compared_by_the_fingerprint_that_they_have() {
        let features = Matrix::dense(2, 1, vec![1.0, -1.0].into()).expect("a matrix");
        let classes = vec![Label::Number(-1.0), Label::Number(1.0)];
        let labels = Labels { classes, rows: LabelRows::Single(vec![1, 0]) };
        let data = Dataset { features, labels };
        for version in [Version::InOneStream, Version::OfRuns] {
            let print = data.sha256_of(version, None);
            let told = resumed(&data, print.clone(), version.number());
            assert!(told.contains("\"state\": [1]"), "{told}");
            let print = print.replace(|digit: char| digit.is_ascii_digit(), "a");
            assert!(resumed(&data, print, version.number()).contains("one with other data"));
        }
        let print = data.sha256_of(Version::InOneStream, None);
        assert!(resumed(&data, print.clone(), Version::OfRuns.number()).contains("other data"));
        assert!(resumed(&data, print, Some(3)).contains("a later Minorant"));
    }
}
