//! Where bytes come from: a file, a pipe, or bytes in memory under a name. Opening decompresses.

use crate::compress::decompressed;
use crate::error::ReadError;
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What model files of CRFsuite begin with.
pub const CRFSUITE_MODEL: &[u8] = b"lCRF";

const FILE_BUFFER: usize = 256 * 1024;

/// What archives are read from.
pub(crate) trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

/// One input.
#[derive(Debug, Clone)]
pub(crate) enum Source<'a> {
    Path(PathBuf),
    /// What came out of a pipe, which can be read only once.
    Piped {
        path: PathBuf,
        bytes: Arc<[u8]>,
    },
    Bytes {
        name: &'a str,
        bytes: &'a [u8],
    },
}

/// Whether a file gives its bytes only once. Devices stay as they are: some of them never end.
pub(crate) fn is_pipe(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

impl<'a> Source<'a> {
    /// A file; pipes are read to their end.
    pub(crate) fn at(path: &Path) -> Result<Self, ReadError> {
        let path = path.to_path_buf();
        if !is_pipe(&path) {
            return Ok(Source::Path(path));
        }
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Source::Piped { path, bytes: bytes.into() }),
            Err(why) => Err(ReadError::io(&path.display().to_string(), why)),
        }
    }

    /// Several files.
    pub(crate) fn all(paths: &[PathBuf]) -> Result<Vec<Self>, ReadError> {
        paths.iter().map(|path| Source::at(path)).collect()
    }

    /// The name under which refusals speak of it.
    pub(crate) fn name(&self) -> String {
        match self {
            Source::Path(path) | Source::Piped { path, .. } => path.display().to_string(),
            Source::Bytes { name, .. } => (*name).to_owned(),
        }
    }

    /// The path, for its extension; bytes in memory have one by their name.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Source::Path(path) | Source::Piped { path, .. } => path,
            Source::Bytes { name, .. } => Path::new(name),
        }
    }

    /// The decompressed bytes from the beginning on.
    pub(crate) fn open(&self) -> Result<Box<dyn Read + Send + 'a>, ReadError> {
        let opened = match self {
            Source::Bytes { bytes, .. } => decompressed(*bytes),
            Source::Piped { bytes, .. } => decompressed(Cursor::new(bytes.clone())),
            Source::Path(path) => File::open(path)
                .and_then(|file| {
                    // Reading a folder fails late and obscurely on some systems.
                    if file.metadata()?.is_dir() {
                        return Err(std::io::ErrorKind::IsADirectory.into());
                    }
                    Ok(file)
                })
                .and_then(|file| decompressed(BufReader::with_capacity(FILE_BUFFER, file))),
        };
        opened.map_err(|why| ReadError::io(&self.name(), why))
    }

    /// The bytes as they are, for formats that jump about in the file.
    pub(crate) fn open_seekable(&self) -> Result<Box<dyn ReadSeek + 'a>, ReadError> {
        match self {
            Source::Bytes { bytes, .. } => Ok(Box::new(Cursor::new(*bytes))),
            Source::Piped { bytes, .. } => Ok(Box::new(Cursor::new(bytes.clone()))),
            Source::Path(path) => match File::open(path) {
                Ok(file) => Ok(Box::new(BufReader::new(file))),
                Err(why) => Err(ReadError::io(&self.name(), why)),
            },
        }
    }

    /// Refuses what is known not to be data by how it begins.
    pub(crate) fn refuse_foreign(&self, start: &[u8]) -> Result<(), ReadError> {
        if start.starts_with(CRFSUITE_MODEL) {
            return Err(ReadError::whole(&self.name(), "data", "a model file of CRFsuite"));
        }
        Ok(())
    }

    /// The first `limit` decompressed bytes, or fewer where there are no more.
    pub(crate) fn beginning(&self, limit: u64) -> Result<Vec<u8>, ReadError> {
        let mut start = Vec::new();
        let mut input = self.open()?.take(limit);
        input.read_to_end(&mut start).map_err(|why| ReadError::io(&self.name(), why))?;
        Ok(start)
    }
}
