//! Reads a list of hosts, from a file or from a word of the command line.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use super::error::Trouble;
use super::line::mention;
use super::{Host, HostList, HostListError};
use crate::arguments::PROCESSES_MAX;

/// Bytes of a file: some 500,000 hosts.
pub(super) const FILE_MAX: u64 = 16 * 1024 * 1024;

/// Reads the file at `path`. A pipe will do, as a shell's `<(…)` makes one.
///
/// # Errors
/// What is wrong, with the file's name, the line and the value.
pub(crate) fn read(path: &Path) -> Result<HostList, HostListError> {
    if path.as_os_str() == "-" {
        return Err(HostListError::StandardInput);
    }
    let unreadable = |source| HostListError::Unreadable {
        path: path.to_owned(),
        source,
    };
    if path.is_dir() {
        return Err(unreadable(io::ErrorKind::IsADirectory.into()));
    }
    let file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    let mut bounded = file.take(FILE_MAX + 1);
    bounded.read_to_end(&mut bytes).map_err(unreadable)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > FILE_MAX {
        return Err(HostListError::TooLarge {
            path: path.to_owned(),
        });
    }
    file_text(path.display().to_string(), &bytes)
}

/// Reads the content of a file that is called `source`.
pub(super) fn file_text(source: String, bytes: &[u8]) -> Result<HostList, HostListError> {
    let mut builder = Builder::default();
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line_number = index + 1;
        let text = str::from_utf8(line).map_err(|_no_text| HostListError::NoText {
            source_name: source.clone(),
            line: line_number,
        })?;
        builder.add(text, &|| format!("{source}:{line_number}"))?;
    }
    builder.finish(&source)
}

/// Reads `a:2,b:2`.
///
/// # Errors
/// What is wrong, with the entry's number and the value.
pub(crate) fn inline(text: &str) -> Result<HostList, HostListError> {
    let mut builder = Builder::default();
    for (index, piece) in text.split(',').enumerate() {
        let at = || format!("host {}", index + 1);
        if !builder.add(piece, &at)? {
            return Err(HostListError::Entry {
                at: at(),
                trouble: Trouble::Nothing,
            });
        }
    }
    builder.finish(text)
}

#[derive(Default)]
struct Builder {
    hosts: Vec<Host>,
    /// Position of each name.
    known: BTreeMap<String, usize>,
    sum: u64,
    notes: Vec<String>,
}

impl Builder {
    /// False where `text` mentions no host.
    fn add(&mut self, text: &str, at: &dyn Fn() -> String) -> Result<bool, HostListError> {
        let entry = |trouble| HostListError::Entry { at: at(), trouble };
        let Some(mention) = mention(text).map_err(entry)? else {
            return Ok(false);
        };
        let places = mention.places.unwrap_or(1);
        self.sum = self.sum.saturating_add(u64::from(places));
        if self.sum > u64::from(PROCESSES_MAX) {
            return Err(entry(Trouble::TooMany {
                name: mention.name.to_owned(),
                sum: self.sum,
            }));
        }
        // One sentence will do for a file with a bound on every line.
        if let (Some(most), true) = (mention.most, self.notes.is_empty()) {
            self.notes.push(format!(
                "{}: {most} has no effect here; -o false keeps processes from sharing too little room",
                at()
            ));
        }
        match self.known.get(mention.name) {
            // Below the bound of the sum.
            Some(position) => self.hosts[*position].places += places,
            None => {
                self.known.insert(mention.name.to_owned(), self.hosts.len());
                self.hosts.push(Host {
                    name: mention.name.to_owned(),
                    places,
                });
            }
        }
        Ok(true)
    }

    fn finish(self, source: &str) -> Result<HostList, HostListError> {
        let words = format!("the list {source}");
        if self.hosts.is_empty() {
            return Err(HostListError::Empty { words });
        }
        Ok(HostList {
            words,
            hosts: self.hosts,
            notes: self.notes,
        })
    }
}
