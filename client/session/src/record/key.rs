//! What another host needs to use a session: what is kept of it here, with its name.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{FILE_MAX, SessionRecord, SessionsFolder, Written, check, file, understood};
use crate::error::SessionError;
use crate::name::Name;

/// What stands for standard input.
const STDIN: &str = "-";

/// The key, as it is written.
#[derive(Serialize)]
struct SessionKey<'a> {
    name: &'a str,
    #[serde(flatten)]
    written: Written,
}

/// What of it is read first.
#[derive(Deserialize)]
struct KeyHead {
    name: String,
}

impl SessionRecord {
    /// All that is needed to use the session from elsewhere, one JSON object. Whoever has it can run programs
    /// as the session's user.
    #[must_use]
    pub fn key(&self) -> String {
        let key = SessionKey {
            name: self.name.as_str(),
            written: Written::from(self),
        };
        serde_json::to_string_pretty(&key).unwrap_or_default()
    }

    /// Writes that into a new file that nobody else can read.
    ///
    /// # Errors
    ///
    /// There is a file of that name already, or it cannot be written.
    pub fn write_key(&self, path: &Path) -> Result<(), SessionError> {
        let writing = |source| file("write", path, source);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut key = options.open(path).map_err(writing)?;
        writeln!(key, "{}", self.key()).map_err(writing)?;
        key.sync_all().map_err(writing)
    }
}

impl SessionsFolder {
    /// Keeps a session whose key another host has written to `from`, or gives on standard input (`-`), under
    /// the name that it has there or under `name`.
    ///
    /// # Errors
    ///
    /// It makes no sense, others can read it, it is of another build, or another session has the name.
    pub fn import(&self, from: &Path, name: Option<Name>) -> Result<SessionRecord, SessionError> {
        let text = read(from)?;
        let broken = |why: String| SessionError::NoKey {
            path: from.to_path_buf(),
            why,
        };
        let named: KeyHead =
            serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
        let name = match name {
            Some(name) => name,
            None => named.name.parse().map_err(broken)?,
        };
        let kept = understood(&text, &name, from)?;
        if !self.keep(&kept)? {
            match self.owned(&name)? {
                Some(owned) if owned == kept.owned => {}
                other => {
                    let application = other.map_or(kept.owned.application, |it| it.application);
                    return Err(SessionError::Taken { name, application });
                }
            }
        }
        Ok(kept)
    }
}

fn read(from: &Path) -> Result<String, SessionError> {
    let reading = |source| file("read", from, source);
    let mut text = String::new();
    if from == Path::new(STDIN) {
        let stdin = std::io::stdin().lock();
        let read = stdin.take(FILE_MAX).read_to_string(&mut text);
        read.map_err(reading)?;
        return Ok(text);
    }
    let opened = File::open(from).map_err(reading)?;
    let about = opened.metadata().map_err(reading)?;
    let read = opened.take(FILE_MAX).read_to_string(&mut text);
    read.map_err(reading)?;
    if about.is_file() {
        check(from, about.uid(), about.uid(), about.mode(), &text)?;
    }
    Ok(text)
}
