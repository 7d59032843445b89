//! The client of a driver: runs the jobs that it submits, one after the other, and tells what became of them.
//!
//! A job is run as soon as it is submitted and accepted; the driver may go on meanwhile, what it says next is
//! heard when the job has ended.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::AsFd as _;
use std::process::Stdio;
use std::time::Instant;

use gerbil_task::{FrameError, FromDriver, Submission, ToDriver, VERSION, said};

use super::answers::Answers;
use super::interrupt::{Interrupts, with_interrupts};
use super::process::{HELLO, LEAVE, LOOK, RoleProcess};
use super::{LocalJob, LocalRun, Workers, descent, files};
use crate::app::App;
use crate::arguments::Arguments;
use crate::error::{Error, Result};

/// A driver, and what became of the jobs that it submitted.
struct LocalClient<'a> {
    app: &'a App,
    arguments: &'a Arguments,
    interrupts: &'a Interrupts,
    driver: RoleProcess,
    answers: Answers,
    /// The exit code of a driver that does not get over a refusal.
    code: &'a Cell<Option<u8>>,
}

/// In the environment of a driver whose client runs its jobs on this machine.
pub(crate) const LOCAL_VARIABLE: &str = "GERBIL_LOCAL";

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
            answers: Answers::default(),
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
        Error::new(match self.answers.jobs() {
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
                asked @ (FromDriver::Wait { .. }
                | FromDriver::Files { .. }
                | FromDriver::List { .. }
                | FromDriver::Remove { .. }) => self.answers.of(asked),
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
                FromDriver::Done => return self.leave(),
                FromDriver::Failed { sentence } => {
                    // One that does not get over a refusal has failed for that.
                    self.code.set(self.answers.code(&sentence));
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
        let sentence = self.answers.refuse(error);
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
        let stop = || {
            if let Some(signal) = interrupts.signal() {
                return Some(format!("ended by signal {signal}"));
            }
            let ended = driver.has_ended()?;
            let how = super::blame::how(Some(ended));
            Some(format!("the driver {how} while the job ran"))
        };
        let done = run.finish(&order, &Workers::Processes(&stop));
        // Nobody would hear of it.
        if self.interrupts.signal().is_some() || self.driver.has_ended().is_some() {
            done?;
            return Err(self.gone());
        }
        self.answers.ended(number, order.output, done);
        Ok(())
    }

    fn order(&self, submission: Submission) -> Result<LocalJob<'a>> {
        let (app, arguments) = (self.app, self.arguments);
        self.answers.check(submission.submission)?;
        Ok(LocalJob {
            digest: app.digest(),
            choice: app.choice(),
            slots: arguments.slots,
            quiet: arguments.quiet,
            report: arguments.report.clone(),
            ..LocalJob::of(app.spec(&submission.job)?, submission)?
        })
    }

    /// The driver is done; a job that failed and that it did not wait for is the whole run's failure.
    fn leave(&mut self) -> Result<()> {
        self.say(&ToDriver::Leave)?;
        self.driver.ended(LEAVE);
        match self.answers.unheard() {
            Some(sentence) => Err(Error::new(sentence)),
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
