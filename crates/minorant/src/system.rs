//! What the system tells of the machine and the process in its files of names and values, such as
//! `/proc/meminfo`; nothing where it tells nothing.

/// What a file of the system says after a name and a colon.
pub fn line_of(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(known, _)| known.trim() == name).map(|(_, value)| value.trim().to_owned())
}

/// A size that a file of the system gives in kB, in bytes.
pub fn bytes_of(file: &str, name: &str) -> Option<u64> {
    let kib: u64 = line_of(file, name)?.trim_end_matches("kB").trim().parse().ok()?;
    Some(kib * 1024)
}
