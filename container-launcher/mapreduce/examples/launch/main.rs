//! A small launcher and client: runs the tasks and the driver of any program that speaks the protocol.
//!
//! ```text
//! cargo run --example launch -- [--pipes] PROGRAM REDUCES IN... OUT
//! cargo run --example launch -- [--pipes] --drive PROGRAM ITS ARGUMENTS
//! ```
//!
//! It knows nothing of the engine, only what `protocol/README.md` tells. A job's tasks run one at a time, each
//! output appears in the folder OUT when its task has ended well. With `--pipes` input and output go through
//! pipes, as where files are not on the machine. Without `--drive` the first job of the program's plan is run.

mod driver;
mod job;
mod task;
mod way;

use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use gerbil_task::settings::REDUCES;
use gerbil_task::{FromTask, Plan, Submission};

use job::Counters;
use task::Task;
use way::Way;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What the program registers, and the digest of it.
fn plan(program: &Path) -> Result<(Plan, String)> {
    let (mut task, digest) = Task::start(program, "plan", PathBuf::new(), Way::Files)?;
    match task.connection.receive()? {
        FromTask::Plan { plan } => Ok((plan, digest)),
        other => Err(format!("no plan but {other:?}").into()),
    }
}

/// Says what a job has counted.
fn tell(job: &str, counters: Counters) -> Result<()> {
    let counted: std::collections::BTreeMap<_, _> = counters.into_values().flatten().collect();
    Ok(writeln!(std::io::stderr(), "{job}: {counted:?}")?)
}

/// Runs the first job of the program.
fn launch(program: &Path, reduces: u32, inputs: &[String], out: &str, way: Way) -> Result<()> {
    let (plan, digest) = plan(program)?;
    let job = plan.jobs.first().ok_or("the program registers no job")?;
    let mut settings = job.settings.clone();
    settings.insert(REDUCES.to_owned(), reduces.to_string());
    let submission = Submission {
        job: job.name.clone(),
        inputs: inputs.to_vec(),
        output: out.to_owned(),
        settings,
        ..Submission::default()
    };
    tell(&job.name, job::run(program, &digest, &submission, way)?)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (way, words) = match words.split_first() {
        Some((first, rest)) if first == "--pipes" => (Way::Pipes, rest),
        _ => (Way::Files, words.as_slice()),
    };
    let done = match words {
        [drive, program, arguments @ ..] if drive == "--drive" => {
            driver::serve(Path::new(program), arguments, way)
        }
        [program, reduces, inputs @ .., out] if !inputs.is_empty() => match reduces.parse() {
            Ok(reduces) => launch(Path::new(program), reduces, inputs, out, way),
            Err(error) => Err(format!("{reduces}: {error}").into()),
        },
        _ => Err(
            "launch [--pipes] PROGRAM REDUCES IN... OUT, or --drive PROGRAM ITS ARGUMENTS".into(),
        ),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(writeln!(std::io::stderr(), "launch: {error}"));
            ExitCode::FAILURE
        }
    }
}
