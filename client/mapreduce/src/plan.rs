//! What the program has to offer: its role `plan`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use gerbil_task::{FromTask, Plan, VERSION, said};

use crate::error::MapReduceError;
use crate::process::{AbandonsGroup, HELLO, RoleGroup, RoleProcess, no_hello};

/// A plan, and what tells it from others.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The jobs.
    pub plan: Plan,
    /// As its tasks and its driver are to say it.
    pub digest: String,
}

/// Asks `program`, which `choice` chooses out of its file.
///
/// # Errors
/// It is no program of jobs, or speaks another version.
pub async fn plan(program: PathBuf, choice: Vec<OsString>) -> Result<Planned, MapReduceError> {
    let group = RoleGroup::default();
    let _nobody_waits = AbandonsGroup(group.clone());
    let asking = tokio::task::spawn_blocking(move || ask(&program, &choice, &group));
    match asking.await {
        Ok(planned) => planned,
        Err(broken) => Err(MapReduceError::System {
            doing: "ask the program for its plan",
            source: broken.into(),
        }),
    }
}

fn ask(program: &Path, choice: &[OsString], group: &RoleGroup) -> Result<Planned, MapReduceError> {
    // What some other program may print is of no interest; what it complains of is.
    let mut process = RoleProcess::start(program, "plan", choice, Stdio::null(), group)?;
    let refused = |why: String| MapReduceError::NoJob {
        program: program.to_owned(),
        why,
    };
    let deadline = process.connection.set_deadline(Some(HELLO));
    deadline.map_err(|error| refused(format!("has no socket: {error}")))?;
    let hello = process.connection.receive();
    let digest = match hello.map_err(|error| no_hello(program, &error))? {
        FromTask::Hello { version, plan } if version == VERSION => plan,
        FromTask::Hello { version, .. } => {
            return Err(refused(format!(
                "speaks version {version} of the task protocol, and this gerbil {VERSION}: build it with the \
                 gerbil-mapreduce of this gerbil"
            )));
        }
        other => {
            return Err(refused(format!(
                "said {} before hello",
                said::message(&other)
            )));
        }
    };
    let plan = process.connection.receive();
    match plan.map_err(|error| refused(format!("said no plan: {error}")))? {
        FromTask::Plan { plan } => {
            let names = plan.jobs.iter().map(|job| job.name.as_str());
            let mut names = std::iter::once(plan.name.as_str()).chain(names);
            match names.try_for_each(said::check_name) {
                Ok(()) => Ok(Planned { plan, digest }),
                Err(error) => Err(refused(format!("said a plan in which {error}"))),
            }
        }
        other => Err(refused(format!(
            "said {} instead of its plan",
            said::message(&other)
        ))),
    }
}
