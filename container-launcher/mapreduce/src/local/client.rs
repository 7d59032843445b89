//! The client of a driver: runs the jobs that it submits, one after the other, and tells what became of them.
//!
//! A job is run as soon as it is submitted and accepted; the driver may go on meanwhile, what it says next is
//! heard when the job has ended.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Instant;

use gerbil_task::inputs::{Folders, check_output};
use gerbil_task::{FrameError, FromDriver, Submission, ToDriver, VERSION, said};

use super::interrupt::{Interrupts, with_interrupts};
use super::process::{HELLO, LEAVE, LOOK, RoleProcess};
use super::{LocalJob, LocalRun, descent, files, paths};
use crate::app::App;
use crate::arguments::Arguments;
use crate::context::{Counters, brought_setting};
use crate::error::{Error, Result};
use crate::settings::Settings;

/// A driver, and what became of the jobs that it submitted.
struct LocalClient<'a> {
    app: &'a App,
    arguments: &'a Arguments,
    interrupts: &'a Interrupts,
    driver: RoleProcess,
    ended: BTreeMap<u32, Result<Counters, String>>,
    /// Jobs that were waited for.
    waited: BTreeSet<u32>,
    outputs: BTreeSet<PathBuf>,
    /// What the driver was refused last, and the exit code of a driver that does not get over it.
    refused: Option<(String, u8)>,
    /// That of this one, if it has not.
    code: &'a Cell<Option<u8>>,
}

/// In the environment of a driver whose client runs its jobs on this machine.
pub(crate) const LOCAL_VARIABLE: &str = "GERBIL_LOCAL";
/// What was asked for makes no sense (`EX_USAGE`).
const USAGE: u8 = 64;
/// A file cannot be read or written (`EX_IOERR`).
const FILE: u8 = 74;

/// Starts the driver and serves it to its end; an error comes with the exit code.
pub(crate) fn serve(app: &App, arguments: &Arguments) -> Result<(), (Error, u8)> {
    let refusal = Cell::new(None);
    let served = with_interrupts(|interrupts| {
        let words: Vec<OsString> = std::env::args_os().skip(1).collect();
        let orphans = descent::Orphans::adopt();
        let mut variables = app.variables().to_vec();
        variables.push((LOCAL_VARIABLE.to_owned(), "true".into()));
        let mut driver = RoleProcess::start("drive", &words, &variables, Stdio::inherit())?;
        driver.connection = driver.connection.of_driver();
        let mut client = LocalClient {
            app,
            arguments,
            interrupts,
            driver,
            ended: BTreeMap::new(),
            waited: BTreeSet::new(),
            outputs: BTreeSet::new(),
            refused: None,
            code: &refusal,
        };
        let served = client.greet().and_then(|()| client.serve());
        client.driver.kill();
        orphans.end();
        served
    });
    served.map_err(|(error, code)| (error, refusal.get().unwrap_or(code)))
}

impl<'a> LocalClient<'a> {
    fn greet(&mut self) -> Result<()> {
        let (version, plan) = match self.hear(Some(Instant::now() + HELLO))? {
            FromDriver::Hello { version, plan } => (version, plan),
            other => {
                return Err(Error::new(format!(
                    "the driver said {} before hello",
                    said::message(&other)
                )));
            }
        };
        let refusal = if version != VERSION {
            format!(
                "the driver speaks version {version} of the task protocol, this client {VERSION}"
            )
        } else if plan != self.app.digest() {
            "the driver registers other jobs than this process did: registration must not depend on files, time or \
             environment"
                .to_owned()
        } else {
            return self.say(&ToDriver::Welcome {
                version: VERSION,
                defaults: BTreeMap::new(),
                given: BTreeMap::new(),
                split_max: BTreeMap::new(),
            });
        };
        let sentence = refusal.clone();
        self.say(&ToDriver::Refused { sentence })?;
        Err(Error::new(refusal))
    }

    fn say(&mut self, message: &ToDriver) -> Result<()> {
        match self.driver.connection.send(message) {
            Err(error @ FrameError::TooLong { .. }) => {
                let sentence = format!("the answer is too long: {error}");
                Ok(self
                    .driver
                    .connection
                    .send(&ToDriver::Refused { sentence })?)
            }
            other => Ok(other?),
        }
    }

    /// The next message; a driver may think as long as it likes, but not beyond its own end.
    fn hear(&mut self, by: Option<Instant>) -> Result<FromDriver> {
        self.driver.connection.set_deadline(Some(LOOK))?;
        loop {
            match self.driver.connection.receive() {
                Ok(message) => return Ok(message),
                Err(FrameError::Silent) => {}
                Err(FrameError::Closed) => return Err(self.gone()),
                Err(error) => return Err(Error::from(error).context("the driver")),
            }
            if let Some(signal) = self.interrupts.signal() {
                return Err(Error::new(format!("ended by signal {signal}")));
            }
            if by.is_some_and(|by| Instant::now() > by) {
                return Err(Error::new(
                    "the driver said nothing for 30 s: is `main()` of the job the first statement of main?",
                ));
            }
            if self.driver.has_ended().is_some() {
                return Err(self.gone());
            }
        }
    }

    /// A driver that ended without a word.
    fn gone(&self) -> Error {
        let how = super::blame::how(self.driver.ended(LEAVE));
        Error::new(match self.ended.len() {
            0 => format!("the driver {how} before it submitted a job"),
            jobs => format!("the driver {how} in the middle, after {jobs} submitted jobs"),
        })
    }

    fn serve(&mut self) -> Result<()> {
        loop {
            let message = self.hear(None)?;
            let answer = match message {
                FromDriver::Submit(submission) => {
                    self.submit(submission)?;
                    continue;
                }
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
                FromDriver::List { path } => {
                    files::list(&path).map(|files| ToDriver::Listed { files })
                }
                FromDriver::Open { path, .. } => match files::open(&path) {
                    Ok(file) => {
                        let given = [file.as_fd()];
                        self.driver
                            .connection
                            .send_with(&ToDriver::Opened, &given)?;
                        continue;
                    }
                    Err(error) => Err(error),
                },
                FromDriver::Remove { path } => {
                    let output = files::path(&path);
                    let removed = output.and_then(|output| files::remove(&output, &self.outputs));
                    removed.map(|()| ToDriver::Removed)
                }
                FromDriver::Done => return self.leave(),
                FromDriver::Failed { sentence } => {
                    // One that does not get over a refusal has failed for that.
                    let refused = self.refused.as_ref();
                    let refused = refused.filter(|(refused, _)| *refused == sentence);
                    self.code.set(refused.map(|(_, code)| *code));
                    return Err(failed(&said::sentence(&sentence)));
                }
                other => {
                    return Err(Error::new(format!(
                        "the driver said {} in the middle",
                        said::message(&other)
                    )));
                }
            };
            match answer {
                Ok(answer) => self.say(&answer)?,
                Err(error) => self.refuse(&error)?,
            }
        }
    }

    fn refuse(&mut self, error: &Error) -> Result<()> {
        let sentence = error.to_string();
        let code = if error.is_io() { FILE } else { USAGE };
        self.refused = Some((sentence.clone(), code));
        self.say(&ToDriver::Refused { sentence })
    }

    /// Accepts a job and runs it.
    fn submit(&mut self, submission: Submission) -> Result<()> {
        let number = submission.submission;
        let order = self.order(submission);
        let begun = order.and_then(|order| Ok((LocalRun::begin(&order)?, order)));
        let (run, order) = match begun {
            Ok(begun) => begun,
            Err(error) => return self.refuse(&error),
        };
        let accepted = self.driver.connection.send(&ToDriver::Accepted {
            id: format!("local.{number}"),
        });
        if let Err(error) = accepted {
            run.give_up();
            return Err(error.into());
        }
        let interrupts = self.interrupts;
        let driver = &self.driver;
        let done = run.finish(&order, &|| {
            if let Some(signal) = interrupts.signal() {
                return Some(format!("ended by signal {signal}"));
            }
            let ended = driver.has_ended()?;
            let how = super::blame::how(Some(ended));
            Some(format!("the driver {how} while the job ran"))
        });
        // Nobody would hear of it.
        if self.interrupts.signal().is_some() || self.driver.has_ended().is_some() {
            done?;
            return Err(self.gone());
        }
        if done.is_ok() {
            self.outputs.insert(order.output.clone());
        }
        self.ended
            .insert(number, done.map_err(|error| error.to_string()));
        Ok(())
    }

    fn order(&self, submission: Submission) -> Result<LocalJob<'a>> {
        let (app, arguments) = (self.app, self.arguments);
        let number = submission.submission;
        if self.ended.contains_key(&number) {
            return Err(Error::new(format!(
                "submission {number} has been there already: each has a number of its own"
            )));
        }
        check_output(&submission.output)?;
        let mut settings = Settings::new(submission.settings);
        for file in &submission.brings {
            settings.set(&brought_setting(&file.name), &files::brought(file)?);
        }
        Ok(LocalJob {
            spec: app.spec(&submission.job)?,
            digest: app.digest(),
            choice: app.choice(),
            settings,
            params: submission.params,
            inputs: submission.inputs,
            splits: submission.splits,
            output: files::path(&submission.output)?,
            slots: arguments.slots,
            quiet: arguments.quiet,
            report: arguments.report.clone(),
        })
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

    /// The driver is done; a job that failed and that it did not wait for is the whole run's failure.
    fn leave(&mut self) -> Result<()> {
        self.say(&ToDriver::Leave)?;
        self.driver.ended(LEAVE);
        let unheard = self
            .ended
            .iter()
            .filter(|(number, _)| !self.waited.contains(number))
            .find_map(|(_, ended)| ended.as_ref().err());
        match unheard {
            Some(sentence) => Err(Error::new(sentence.clone())),
            None => Ok(()),
        }
    }
}

fn failed(sentence: &str) -> Error {
    if sentence.starts_with("panicked") {
        Error::new(format!("the driver {sentence}"))
    } else {
        Error::new(sentence)
    }
}
