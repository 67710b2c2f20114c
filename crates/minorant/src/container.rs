//! The files that Minorant writes: safetensors with one JSON string as header, sealed by a SHA-256
//! of the whole file (with the digits themselves zeroed). Models, proofs and checkpoints are such
//! containers; what their headers mean is theirs to say. Nothing in a container is executable, and
//! nothing in it depends on time, place or threads.

use minorant_data::CRFSUITE_MODEL;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};

/// An array of a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Array {
    /// Numbers.
    Reals {
        /// How many there are along each dimension.
        shape: Vec<usize>,
        /// The numbers, those of the last dimension side by side.
        values: Vec<f64>,
    },
    /// Whole numbers.
    Integers {
        /// The whole numbers.
        values: Vec<u64>,
    },
}

/// What is wrong with a file that should be a container.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read or written.
    #[error("{}: {}", .0.display(), .1)]
    Io(PathBuf, std::io::Error),
    /// The file is not what it should be.
    #[error("{}: expected {expected}, found {found}", .path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        expected: String,
        /// What it holds.
        found: String,
    },
}

impl FileError {
    /// The file is not what it should be.
    pub(crate) fn content(path: &Path, expected: &str, found: &str) -> Self {
        FileError::Content { path: path.into(), expected: expected.into(), found: found.into() }
    }
}

/// A container in memory: its header and its arrays.
#[derive(Debug, Clone, PartialEq)]
pub struct Container {
    pub(crate) header: Value,
    pub(crate) arrays: BTreeMap<String, Array>,
}

/// What every header begins with.
#[derive(Serialize, serde::Deserialize)]
struct Envelope {
    kind: String,
    version: u32,
    content: Value,
    sha256: String,
}

const KEY: &str = "minorant";
const VERSION: u32 = 1;
const DIGITS: usize = 64;
/// In the file the header is a JSON string inside JSON: its quotes are escaped.
const SEAL: &[u8] = br#"\"sha256\":\""#;

impl Container {
    pub(crate) fn new(header: &impl Serialize) -> Self {
        // Headers are plain structures of ours; turning them into JSON cannot fail.
        let header = serde_json::to_value(header).unwrap_or_default();
        Container { header, arrays: BTreeMap::new() }
    }

    pub(crate) fn put_reals(&mut self, name: &str, shape: &[usize], values: Vec<f64>) {
        debug_assert_eq!(shape.iter().product::<usize>(), values.len());
        self.arrays.insert(name.into(), Array::Reals { shape: shape.to_vec(), values });
    }

    pub(crate) fn take_reals(&mut self, name: &str) -> Option<(Vec<usize>, Vec<f64>)> {
        match self.arrays.remove(name)? {
            Array::Reals { shape, values } => Some((shape, values)),
            Array::Integers { .. } => None,
        }
    }

    pub(crate) fn put_integers(&mut self, name: &str, values: impl IntoIterator<Item = u64>) {
        let values = values.into_iter().collect();
        self.arrays.insert(name.into(), Array::Integers { values });
    }

    pub(crate) fn take_integers(&mut self, name: &str) -> Option<Vec<u64>> {
        match self.arrays.remove(name)? {
            Array::Integers { values } => Some(values),
            Array::Reals { .. } => None,
        }
    }

    /// The bytes of the file.
    pub(crate) fn to_bytes(&self, kind: &str) -> Vec<u8> {
        let zeros = "0".repeat(DIGITS);
        let content = self.header.clone();
        let envelope = Envelope { kind: kind.into(), version: VERSION, content, sha256: zeros };
        let envelope = serde_json::to_string(&envelope).unwrap_or_default();
        let bytes: Vec<(&String, Dtype, Vec<usize>, Vec<u8>)> = self
            .arrays
            .iter()
            .map(|(name, array)| match array {
                Array::Reals { shape, values } => {
                    let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
                    (name, Dtype::F64, shape.clone(), bytes)
                }
                Array::Integers { values } => {
                    let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
                    (name, Dtype::U64, vec![values.len()], bytes)
                }
            })
            .collect();
        let views = bytes.iter().filter_map(|(name, dtype, shape, bytes)| {
            Some((name.as_str(), TensorView::new(*dtype, shape.clone(), bytes).ok()?))
        });
        // One entry only: the order of several would not be the same every time.
        let metadata = HashMap::from([(KEY.to_string(), envelope)]);
        let mut file = safetensors::serialize(views, Some(metadata)).unwrap_or_default();
        if let Some(at) = seal_position(&file) {
            let digest = hex(&Sha256::digest(&file));
            file[at..at + DIGITS].copy_from_slice(digest.as_bytes());
        }
        file
    }

    /// Reads a container of the given kind from the bytes of `path`.
    pub(crate) fn from_bytes(
        path: &Path,
        kind: &str,
        mut file: Vec<u8>,
    ) -> Result<Self, FileError> {
        let error = |expected: &str, found: &str| FileError::content(path, expected, found);
        let what = format!("a Minorant {kind} file");
        let found = match file.starts_with(CRFSUITE_MODEL) {
            true => "a model file of CRFsuite",
            false => "something else (no safetensors header)",
        };
        let no_container = |_| error(&what, found);
        let (_, metadata) = SafeTensors::read_metadata(&file).map_err(no_container)?;
        let header = metadata.metadata().as_ref().and_then(|entries| entries.get(KEY));
        let header = header.ok_or_else(|| error(&what, "a safetensors file of another program"))?;
        let envelope: Envelope = serde_json::from_str(header)
            .map_err(|why| error(&what, &format!("a header that cannot be read ({why})")))?;
        if envelope.kind != kind {
            return Err(error(&what, &format!("a Minorant {} file", envelope.kind)));
        }
        if envelope.version != VERSION {
            let found = format!("version {}; a newer Minorant wrote it", envelope.version);
            return Err(error(&format!("file version {VERSION}"), &found));
        }
        let (claimed, content) = (envelope.sha256, envelope.content);
        let sealed = || error("an unbroken file", "bytes that do not match its SHA-256");
        let at = seal_position(&file).ok_or_else(sealed)?;
        if file.get(at..at + DIGITS) != Some(claimed.as_bytes()) {
            return Err(sealed());
        }
        file[at..at + DIGITS].fill(b'0');
        if hex(&Sha256::digest(&file)) != claimed {
            return Err(sealed());
        }
        let tensors = SafeTensors::deserialize(&file).map_err(no_container)?;
        let mut arrays = BTreeMap::new();
        for (name, view) in tensors.iter() {
            let words = view.data().as_chunks::<8>().0.iter();
            let array = match view.dtype() {
                Dtype::F64 => Array::Reals {
                    shape: view.shape().to_vec(),
                    values: words.map(|w| f64::from_le_bytes(*w)).collect(),
                },
                Dtype::U64 => {
                    Array::Integers { values: words.map(|w| u64::from_le_bytes(*w)).collect() }
                }
                other => {
                    return Err(error("arrays of F64 or U64", &format!("{name} of {other:?}")));
                }
            };
            arrays.insert(name.to_string(), array);
        }
        Ok(Container { header: content, arrays })
    }

    /// Writes the file under a temporary name and renames it, so that nobody ever sees half of it.
    pub(crate) fn write(&self, path: &Path, kind: &str) -> Result<(), FileError> {
        write_atomically(path, &self.to_bytes(kind))
    }

    pub(crate) fn read(path: &Path, kind: &str) -> Result<Self, FileError> {
        let file = std::fs::read(path).map_err(|why| FileError::Io(path.into(), why))?;
        Self::from_bytes(path, kind, file)
    }

    /// The header as a structure.
    pub(crate) fn header<T: DeserializeOwned>(&self, path: &Path) -> Result<T, FileError> {
        serde_json::from_value(self.header.clone()).map_err(|why| FileError::Content {
            path: path.into(),
            expected: "a complete header".into(),
            found: why.to_string(),
        })
    }
}

impl FileError {
    /// Refuses a path at which no file can be written, before any work goes into what to write.
    pub fn check_writable(path: &Path) -> Result<(), FileError> {
        let io = |why| FileError::Io(path.into(), why);
        if let Destination::File(target) = Destination::of(path).map_err(io)? {
            // Only a file shows whether the folder takes one; it goes away at once.
            temporary_beside(&target).map_err(io)?;
            remove_left_overs(&target);
        }
        Ok(())
    }
}

/// Writes a file so that nobody ever sees half of it: under a temporary name in the same folder,
/// which is then renamed. A link stays a link to what is replaced, and pipes and devices stay what
/// they are: these are written to.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let io = |why| FileError::Io(path.into(), why);
    match Destination::of(path).map_err(io)? {
        Destination::File(target) => {
            let mut file = temporary_beside(&target).map_err(io)?;
            file.write_all(bytes).map_err(io)?;
            file.as_file().sync_all().map_err(io)?;
            file.persist(&target).map_err(|error| io(error.error))?;
        }
        Destination::Stream => {
            let mut file = std::fs::OpenOptions::new().append(true).open(path).map_err(io)?;
            file.write_all(bytes).map_err(io)?;
        }
        Destination::StandardOutput => {
            // Opened anew, a file behind it would be written from its beginning.
            let mut out = std::io::stdout().lock();
            out.write_all(bytes).and_then(|()| out.flush()).map_err(io)?;
        }
    }
    Ok(())
}

/// The regular file that a path leads to, whether it exists or not, by the one name that all paths to
/// it share; nothing for pipes, devices and folders.
pub fn file_behind(path: &Path) -> Option<PathBuf> {
    let Destination::File(target) = Destination::of(path).ok()? else { return None };
    let folder = std::fs::canonicalize(folder_of(&target)).ok()?;
    Some(std::fs::canonicalize(&target).unwrap_or(folder.join(target.file_name()?)))
}

/// Where bytes for a path go.
enum Destination {
    /// To a regular file here, which may not exist yet.
    File(PathBuf),
    /// Into a pipe or device, or an open file of the process.
    Stream,
    StandardOutput,
}

impl Destination {
    fn of(path: &Path) -> std::io::Result<Destination> {
        let mut target = path.to_path_buf();
        // As many links as Linux follows.
        for _ in 0..40 {
            let Ok(next) = std::fs::read_link(&target) else { break };
            if target == Path::new("/proc/self/fd/1") || target == Path::new("/dev/fd/1") {
                return Ok(Destination::StandardOutput);
            }
            if target.starts_with("/proc") || target.starts_with("/dev/fd") {
                return Ok(Destination::Stream);
            }
            target = folder_of(&target).join(next);
        }
        match std::fs::metadata(path) {
            Ok(there) if there.is_dir() => Err(std::io::ErrorKind::IsADirectory.into()),
            Ok(there) if !there.is_file() => Ok(Destination::Stream),
            _ => Ok(Destination::File(target)),
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// What the names of temporary files for `target` begin with, before the number of the process.
fn temporary_prefix(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    // Names have at most 255 bytes.
    let name: String = name.chars().take(50).collect();
    format!(".{name}.tmp-")
}

/// Removes the temporary files for `target` of processes that were killed while they wrote one.
fn remove_left_overs(target: &Path) {
    let prefix = temporary_prefix(target);
    let is_left_over = |name: &str| {
        let process = name.strip_prefix(&prefix).and_then(|rest| rest.split_once('-'))?.0;
        let process: u32 = process.parse().ok()?;
        let is_gone = || Path::new("/proc/self").exists() && !process_folder(process).exists();
        Some(process == std::process::id() || is_gone())
    };
    // Whoever cannot see or remove them loses nothing but room.
    let entries = std::fs::read_dir(folder_of(target)).into_iter().flatten().flatten();
    for entry in entries {
        if is_left_over(&entry.file_name().to_string_lossy()) == Some(true) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn process_folder(process: u32) -> PathBuf {
    Path::new("/proc").join(process.to_string())
}

/// A new file in the folder of `target`, as readable as any new file of the user's.
fn temporary_beside(target: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let folder = folder_of(target);
    let prefix = format!("{}{}-", temporary_prefix(target), std::process::id());
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder).map_err(|error| {
        let folder = folder.display();
        // The error itself would name the temporary file, which means nothing to anybody.
        let why = match error.kind() {
            std::io::ErrorKind::NotFound => format!("the folder {folder} does not exist"),
            std::io::ErrorKind::NotADirectory => format!("{folder} is not a folder"),
            kind => format!("no file can be written in the folder {folder}: {kind}"),
        };
        std::io::Error::new(error.kind(), why)
    })
}

/// Where the digits of the seal stand: after its key, at the end of the header.
fn seal_position(file: &[u8]) -> Option<usize> {
    let length = u64::from_le_bytes(*file.first_chunk::<8>()?);
    let header = file.get(8..8usize.checked_add(usize::try_from(length).ok()?)?)?;
    let at = header.windows(SEAL.len()).rposition(|window| window == SEAL)?;
    Some(8 + at + SEAL.len()).filter(|at| at + DIGITS <= 8 + header.len())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
