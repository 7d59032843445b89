//! What commands do at a terminal: writes that fail or that nobody takes, words of others, signals at any moment.

#[cfg(test)]
mod foreign;
#[cfg(test)]
mod heard;
#[cfg(test)]
mod printed;

#[cfg(test)]
use std::path::PathBuf;

#[cfg(test)]
use job::history::{AttemptEnd, JobHistory, Print, TaskAttempt, TaskStage};
#[cfg(test)]
use proto_hadoop::yarn::{ApplicationSubmission, ContainerLaunch, Resource};
#[cfg(test)]
use tokio::process::Command;

#[cfg(test)]
use crate::session::night::{Night, ended};

/// Where the jobs' histories of a test are kept, as `--staging` names it.
#[cfg(test)]
fn staging(night: &Night) -> String {
    format!(
        "--staging=file:{}",
        night.folder.path().join("staging").display()
    )
}

/// A job that is over, called `name` in everything: `s42.7`.
#[cfg(test)]
fn past(night: &Night, name: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let history = night.folder.path().join("staging/history");
    std::fs::create_dir_all(&history).unwrap();
    let own = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(&history, own).unwrap();
    let attempt = TaskAttempt {
        stage: TaskStage::Map,
        task: 0,
        attempt: 0,
        host: name.into(),
        container: name.into(),
        slot: 0,
        earlier_slots: Vec::new(),
        began_ms: 0,
        ended_ms: 1000,
        end: AttemptEnd::Failed,
        output_bytes: 0,
        sentence: name.into(),
        stdout: Print {
            head: name.into(),
            ..Print::default()
        },
        stderr: Print {
            head: name.into(),
            left_out: 1,
            tail: name.into(),
        },
    };
    let mut job = JobHistory {
        version: JobHistory::VERSION,
        job: "application_1700000000000_0042_7".into(),
        name: name.into(),
        user: name.into(),
        queue: name.into(),
        inputs: vec![name.into()],
        output: name.into(),
        sentence: name.into(),
        attempts: vec![attempt],
        ..JobHistory::default()
    };
    let counter = [(name.to_owned(), 3)].into_iter().collect();
    job.report.counters.insert(name.into(), counter);
    job.settings.insert(name.into(), name.into());
    let file = history.join("application_1700000000000_0042_7.json");
    std::fs::write(&file, serde_json::to_vec(&job).unwrap()).unwrap();
    file
}

/// An application of gerbil's that YARN calls `name`.
#[cfg(test)]
async fn listed(night: &Night, name: &str, tag: &str) {
    let id = night.rm.new_application().await.unwrap().id;
    let submission = ApplicationSubmission {
        name: name.into(),
        queue: "default".into(),
        tags: vec![tag.into()],
        application_type: job::APPLICATION_TYPE.into(),
        unmanaged: true,
        ..ApplicationSubmission::new(id, ContainerLaunch::default(), Resource::new(1, 1))
    };
    night.rm.submit(&submission).await.unwrap();
}

/// Exit code, standard output and error of a command, as far as they come here.
#[cfg(test)]
async fn run(mut command: Command) -> (Option<i32>, String, String) {
    ended(command.spawn().unwrap()).await
}

/// `line` as a command: its first word is the name of the file.
#[cfg(test)]
fn command(night: &Night, line: &str) -> Command {
    let mut words = line.split_whitespace();
    let mut command = night.command(words.next().unwrap());
    command.args(words);
    command
}
