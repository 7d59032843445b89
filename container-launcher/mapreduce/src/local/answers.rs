//! What a client answers by itself: files of this machine, and what became of jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use gerbil_task::inputs::Folders;
use gerbil_task::{FromDriver, ToDriver, said};

use super::{files, paths};
use crate::context::Counters;
use crate::error::{Error, Result};

/// What was asked for makes no sense (`EX_USAGE`).
const USAGE: u8 = 64;
/// A file cannot be read or written (`EX_IOERR`).
const FILE: u8 = 74;

/// The jobs of one driver that have ended.
#[derive(Debug, Default)]
pub(super) struct Answers {
    ended: BTreeMap<u32, Result<Counters, String>>,
    /// Jobs that were waited for.
    waited: BTreeSet<u32>,
    outputs: BTreeSet<PathBuf>,
    /// What the driver was refused last, and the exit code of a driver that does not get over it.
    refused: Option<(String, u8)>,
}

impl Answers {
    /// How many jobs have ended.
    pub(super) fn jobs(&self) -> usize {
        self.ended.len()
    }

    /// Refuses a submission whose number another one had.
    pub(super) fn check(&self, submission: u32) -> Result<()> {
        match self.ended.contains_key(&submission) {
            true => Err(Error::new(format!(
                "submission {submission} has been there already: each has a number of its own"
            ))),
            false => Ok(()),
        }
    }

    /// A job has ended.
    pub(super) fn ended(&mut self, submission: u32, output: PathBuf, done: Result<Counters>) {
        if done.is_ok() {
            self.outputs.insert(output);
        }
        let done = done.map_err(|error| error.to_string());
        self.ended.insert(submission, done);
    }

    /// Why a job failed that nobody waited for.
    pub(super) fn unheard(&self) -> Option<&str> {
        let mut unheard = self.ended.iter();
        unheard
            .find_map(|(number, ended)| {
                ended
                    .as_ref()
                    .err()
                    .filter(|_| !self.waited.contains(number))
            })
            .map(String::as_str)
    }

    /// A sentence that refuses what was asked for.
    pub(super) fn refuse(&mut self, error: &Error) -> String {
        let sentence = error.to_string();
        let code = if error.is_io() { FILE } else { USAGE };
        self.refused = Some((sentence.clone(), code));
        sentence
    }

    /// The exit code of a driver that has failed with this sentence, which is what it was refused last.
    pub(super) fn code(&self, sentence: &str) -> Option<u8> {
        let refused = self.refused.as_ref();
        let refused = refused.filter(|(refused, _)| refused == sentence);
        refused.map(|(_, code)| *code)
    }

    /// The answer to a question that concerns files or jobs that have ended.
    pub(super) fn of(&mut self, message: FromDriver) -> Result<ToDriver> {
        match message {
            FromDriver::Wait { submission } => self.wait(submission),
            FromDriver::Files {
                inputs,
                recursive,
                map_files,
            } => {
                let folders = Folders {
                    recursive,
                    map_files,
                };
                paths::files(&inputs, folders).map(|files| ToDriver::Listed { files })
            }
            FromDriver::List { path } => files::list(&path).map(|files| ToDriver::Listed { files }),
            FromDriver::Remove { path } => {
                let output = files::path(&path)?;
                files::remove(&output, &self.outputs).map(|()| ToDriver::Removed)
            }
            other => Err(Error::new(format!(
                "the driver said {} in the middle",
                said::message(&other)
            ))),
        }
    }

    fn wait(&mut self, submission: u32) -> Result<ToDriver> {
        let ended = self
            .ended
            .get(&submission)
            .ok_or_else(|| Error::new(format!("there is no submission {submission}")))?;
        self.waited.insert(submission);
        Ok(match ended {
            Ok(counters) => ToDriver::Ended {
                counters: counters.clone(),
                failure: None,
                has_output: true,
            },
            Err(sentence) => ToDriver::Ended {
                counters: Counters::new(),
                failure: Some(sentence.clone()),
                has_output: false,
            },
        })
    }
}
