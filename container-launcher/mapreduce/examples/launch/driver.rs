//! The client of a driver: runs what it submits, and opens the files that it asks for.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use gerbil_task::{
    Connection, FrameError, FromDriver, LAUNCHER_VARIABLE, ROLE_VARIABLE, Submission, ToDriver,
    VERSION,
};

use crate::job::Counters;
use crate::way::Way;
use crate::{Result, job, plan, tell};

/// A driver and what it has submitted.
struct Driver<'a> {
    program: &'a Path,
    way: Way,
    digest: String,
    child: Child,
    connection: Connection,
    ended: BTreeMap<u32, std::result::Result<Counters, String>>,
}

impl Drop for Driver<'_> {
    fn drop(&mut self) {
        // It has left by itself, or something went wrong.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Starts the program's driver and serves it until all is done.
pub fn serve(program: &Path, arguments: &[String], way: Way) -> Result<()> {
    let (plan, digest) = plan(program)?;
    if !plan.drives {
        return Err(format!("{} has no driver", plan.name).into());
    }
    let (ours, theirs) = UnixStream::pair()?;
    let child = Command::new(program)
        .args(arguments)
        .env(ROLE_VARIABLE, "drive")
        .env(LAUNCHER_VARIABLE, std::process::id().to_string())
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()?;
    let mut driver = Driver {
        program,
        way,
        digest,
        child,
        // Without a deadline: a driver may think as long as it likes, and its end closes the socket.
        connection: Connection::new(ours).of_driver(),
        ended: BTreeMap::new(),
    };
    let mut said_hello = false;
    loop {
        let message = match driver.connection.receive() {
            Ok(message) => message,
            Err(FrameError::Closed) => {
                let status = driver.child.wait()?;
                let jobs = driver.ended.len();
                return Err(if said_hello {
                    format!("the driver ended with {status} in the middle; jobs that it submitted: {jobs}").into()
                } else {
                    format!("the driver ended with {status} and said no hello").into()
                });
            }
            Err(error) => return Err(error.into()),
        };
        said_hello = true;
        match message {
            FromDriver::Done => {
                driver.connection.send(&ToDriver::Leave)?;
                driver.child.wait()?;
                return Ok(());
            }
            FromDriver::Failed { sentence } => return Err(sentence.into()),
            message => {
                let answered = driver.answer(message);
                let (answer, file) = answered.unwrap_or_else(|error| {
                    let sentence = error.to_string();
                    (ToDriver::Refused { sentence }, None)
                });
                let files: Vec<_> = file.iter().map(OwnedFd::as_fd).collect();
                driver.connection.send_with(&answer, &files)?;
            }
        }
    }
}

impl Driver<'_> {
    fn answer(&mut self, message: FromDriver) -> Result<(ToDriver, Option<OwnedFd>)> {
        let answer = match message {
            FromDriver::Hello { version, .. } if version != VERSION => {
                let words = "the driver speaks version";
                return Err(
                    format!("{words} {version} of the protocol, this client {VERSION}").into(),
                );
            }
            FromDriver::Hello { plan, .. } if plan != self.digest => {
                return Err("the driver registers other jobs than the plan has".into());
            }
            FromDriver::Hello { .. } => ToDriver::Welcome {
                version: VERSION,
                defaults: BTreeMap::new(),
                given: BTreeMap::new(),
                split_max: BTreeMap::new(),
            },
            FromDriver::Submit(submission) => self.submit(&submission)?,
            FromDriver::Wait { submission } => {
                let ended = self.ended.get(&submission).ok_or("no such submission")?;
                ToDriver::Ended {
                    counters: ended.clone().unwrap_or_default(),
                    failure: ended.as_ref().err().cloned(),
                    has_output: ended.is_ok(),
                }
            }
            FromDriver::List { path } => ToDriver::Listed {
                files: job::files(&[path], false)?,
            },
            FromDriver::Files {
                inputs, recursive, ..
            } => ToDriver::Listed {
                files: job::files(&inputs, recursive)?,
            },
            FromDriver::Open { path, from } => {
                let opened = self.way.input(File::open(path)?, from)?;
                return Ok((ToDriver::Opened, Some(opened)));
            }
            FromDriver::Remove { path } => {
                std::fs::remove_dir_all(path)?;
                ToDriver::Removed
            }
            other => return Err(format!("{other:?} makes no sense here").into()),
        };
        Ok((answer, None))
    }

    fn submit(&mut self, submission: &Submission) -> Result<ToDriver> {
        let number = submission.submission;
        if self.ended.contains_key(&number) {
            return Err(format!("submission {number} has been there already").into());
        }
        let done = job::run(self.program, &self.digest, submission, self.way);
        if let Ok(counters) = &done {
            tell(&submission.job, counters.clone())?;
        }
        self.ended
            .insert(number, done.map_err(|error| error.to_string()));
        Ok(ToDriver::Accepted {
            id: format!("launch.{number}"),
        })
    }
}
