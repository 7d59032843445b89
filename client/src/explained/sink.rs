//! Where `--explain` writes.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use job::exit::Exit;
use job::explain::Explained;

use crate::failure::{Failure, say};

/// Standard error or a file, in words or as JSON lines.
#[derive(Debug)]
pub(crate) struct Sink {
    json: bool,
    /// Absent: standard error.
    file: Option<(PathBuf, File)>,
}

impl Sink {
    /// Creates `file`, or empties it.
    pub(crate) fn open(json: bool, file: Option<&Path>) -> Result<Self, Failure> {
        let file = match file {
            None => None,
            Some(path) => {
                let file = File::create(path).map_err(|error| {
                    Failure::new(
                        Exit::Usage,
                        format!("--explain={}: cannot write there: {error}", path.display()),
                    )
                })?;
                Some((path.to_owned(), file))
            }
        };
        Ok(Self { json, file })
    }

    /// Writes one event, as the ApplicationMaster sent it.
    pub(crate) fn write(&mut self, event: &str) {
        let lines = match self.json {
            true => vec![event.to_owned()],
            false => match serde_json::from_str::<Explained>(event) {
                Ok(event) => super::words(&event),
                // Better unreadable than unseen.
                Err(_unknown) => vec![event.to_owned()],
            },
        };
        let Some((path, file)) = &mut self.file else {
            match self.json {
                true => raw(&lines),
                false => lines.iter().for_each(say),
            }
            return;
        };
        let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
        if let Err(error) = file.write_all(text.as_bytes()) {
            say(format!(
                "--explain={}: {error}; what follows is explained here",
                path.display()
            ));
            *self = Self {
                json: self.json,
                file: None,
            };
        }
    }
}

/// Lines without our mark, for a program that reads them.
fn raw(lines: &[String]) {
    let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    // Nobody may be left to read it, which is no reason to stop.
    let _heard = std::io::stderr().write_all(text.as_bytes()).is_ok();
}
