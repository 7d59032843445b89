//! A driver, its client and its tasks on one thread, for a debugger: what a breakpoint finds has everything above it, from
//! `main` on.

pub(super) mod tasks;

use std::cell::RefCell;
use std::fmt;
use std::fs::File;
use std::path::PathBuf;
use std::rc::Rc;

use gerbil_task::{FromDriver, Submission, ToDriver};

use super::answers::Answers;
use super::{LocalJob, LocalRun, Workers, files};
use crate::app::App;
use crate::arguments::Arguments;
use crate::drive::client::DriverSocket;
use crate::drive::run::Run;
use crate::error::{Error, Result};
use crate::job::Spec;
use crate::settings::{MAP_ATTEMPTS, REDUCE_ATTEMPTS};

/// A client that answers its driver at once, and runs a job while it is submitted.
pub(crate) struct InlineClient {
    specs: Vec<Rc<Spec>>,
    quiet: bool,
    report: Option<PathBuf>,
    answers: Answers,
}

impl fmt::Debug for InlineClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a client of {} jobs", self.specs.len())
    }
}

/// Drives the program to its end; an error comes with the exit code.
pub(crate) fn serve(app: &App, arguments: &Arguments) -> Result<(), (Error, u8)> {
    arguments.remark(app.name());
    let client = Rc::new(RefCell::new(InlineClient {
        specs: app.specs().to_vec(),
        quiet: arguments.quiet,
        report: arguments.report.clone(),
        answers: Answers::default(),
    }));
    let socket = DriverSocket::inline(Rc::clone(&client));
    let mut run = Run {
        app,
        arguments,
        client: &socket,
    };
    let driven = match app.driver() {
        Some(driver) => driver(&mut run),
        None => run.only_job(),
    };
    let done = driven.and_then(|()| socket.done());
    done.map_err(|error| {
        let code = client.borrow().answers.code(&error.to_string());
        (error, code.unwrap_or(1))
    })
}

/// A file of this machine, for its driver.
pub(crate) fn open(path: &str) -> Result<File> {
    files::open(path)
}

impl InlineClient {
    /// The answer to what the driver says.
    pub(crate) fn answer(&mut self, message: FromDriver) -> Result<ToDriver> {
        let answer = match message {
            FromDriver::Submit(submission) => self.submit(submission),
            FromDriver::Done => match self.answers.unheard() {
                // That of a job, and no refusal.
                Some(sentence) => return Err(Error::new(sentence)),
                None => Ok(ToDriver::Leave),
            },
            asked => self.answers.of(asked),
        };
        answer.map_err(|error| Error::new(self.answers.refuse(&error)))
    }

    /// Runs a job.
    fn submit(&mut self, submission: Submission) -> Result<ToDriver> {
        let number = submission.submission;
        self.answers.check(number)?;
        let named = |spec: &&Rc<Spec>| spec.planned.name == submission.job;
        let spec = self.specs.iter().find(named).map(Rc::clone);
        let spec = spec.ok_or_else(|| Error::new(format!("no job {:?}", submission.job)))?;
        let mut order = LocalJob {
            quiet: self.quiet,
            report: self.report.clone(),
            ..LocalJob::of(&spec, submission)?
        };
        // What has failed once is to be looked at, not done again.
        for name in [MAP_ATTEMPTS, REDUCE_ATTEMPTS] {
            order.settings.set(name, "1");
        }
        let done = LocalRun::begin(&order)?.finish(&order, &Workers::Here);
        self.answers.ended(number, order.output, done);
        Ok(ToDriver::Accepted {
            id: format!("local.{number}"),
        })
    }
}
