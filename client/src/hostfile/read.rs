//! Reads a list of hosts, from a file or from a word of the command line.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use super::PROCESSES_MAX;
use super::error::{FILE_MAX, Trouble};
use super::line::{is_name, mention};
use super::range;
use super::{Host, HostList, HostListError};

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
        builder.add(text, &|| format!("{source}:{line_number}"), true)?;
    }
    builder.finish(&source)
}

/// Reads `a:2,b:2`.
///
/// # Errors
/// What is wrong, with the entry's number and the value.
pub(crate) fn inline(text: &str) -> Result<HostList, HostListError> {
    let mut builder = Builder::default();
    for (index, piece) in range::pieces(text).enumerate() {
        let at = || format!("host {}", index + 1);
        if !builder.add(piece, &at, false)? {
            return Err(HostListError::Entry {
                at: at(),
                trouble: Trouble::Nothing,
            });
        }
    }
    builder.finish(text)
}

/// Reads `a,n[1-3]`: names without numbers of processes.
///
/// # Errors
/// What is wrong, with the value.
pub(crate) fn names(text: &str) -> Result<HostNames, HostListError> {
    let mut names = Vec::new();
    for (index, piece) in range::pieces(text).enumerate() {
        let entry = |trouble| HostListError::Entry {
            at: format!("host {}", index + 1),
            trouble,
        };
        let mention = mention(piece).map_err(entry)?;
        let mention = mention.ok_or_else(|| entry(Trouble::Nothing))?;
        if mention.places.is_some() {
            return Err(entry(Trouble::Counted {
                word: piece.to_owned(),
            }));
        }
        names.extend(expanded(mention.name).map_err(entry)?);
    }
    Ok(HostNames(names))
}

/// The names that one mention stands for.
fn expanded(name: &str) -> Result<Vec<String>, Trouble> {
    let names = range::expand(name)?;
    // An address in brackets is no range, and was looked at.
    let odd = names
        .iter()
        .find(|one| one.as_str() != name && !is_name(one));
    match odd {
        Some(odd) => Err(Trouble::NoHost { name: odd.clone() }),
        None => Ok(names),
    }
}

/// Names of hosts, as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostNames(pub Vec<String>);

#[derive(Default)]
struct Builder {
    hosts: Vec<Host>,
    /// Position of each name.
    known: BTreeMap<String, usize>,
    sum: u64,
    notes: Vec<String>,
}

impl Builder {
    /// False where `text` mentions no host. `is_file`: it stands in one.
    fn add(
        &mut self,
        text: &str,
        at: &dyn Fn() -> String,
        is_file: bool,
    ) -> Result<bool, HostListError> {
        let entry = |trouble| HostListError::Entry { at: at(), trouble };
        let Some(mention) = mention(text).map_err(entry)? else {
            return Ok(false);
        };
        let places = mention.places.unwrap_or(1);
        let names = expanded(mention.name).map_err(entry)?;
        let more = u64::from(places).saturating_mul(names.len() as u64);
        self.sum = self.sum.saturating_add(more);
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
        for name in names {
            match self.known.get(&name) {
                // Below the bound of the sum.
                Some(position) => self.hosts[*position].places += places,
                None => {
                    self.known.insert(name.clone(), self.hosts.len());
                    self.hosts.push(Host {
                        name,
                        places,
                        at: is_file.then(at),
                    });
                }
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
