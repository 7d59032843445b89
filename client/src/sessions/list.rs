//! `gerbil session list`.

use std::time::Duration;

use ::job::exit::Exit;
use follow::say;
use follow::signals::Signals;
use follow::table::{Column, table};
use session::status::{Job, Status};
use session::{Folder, Name, Reached, SessionError, reach};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::print;
use crate::failure::Failure;

/// For each session to answer; all are asked at once.
const PATIENCE: Duration = Duration::from_secs(20);

/// Prints the user's sessions; the exit code. Those that are over are forgotten.
pub(super) async fn list(folder: &Folder, signals: &mut Signals) -> Result<u8, Failure> {
    let mut looking = JoinSet::new();
    for name in folder.names()? {
        let folder = folder.clone();
        looking.spawn(async move {
            let looked = timeout(PATIENCE, row(&folder, &name)).await;
            let row = looked.unwrap_or_else(|_late| Some(told(&name, "it does not answer")));
            (name, row)
        });
    }
    let mut rows = Vec::new();
    loop {
        let looked = tokio::select! {
            looked = looking.join_next() => looked,
            signal = signals.ending() => return Ok(128u8.saturating_add(signal)),
        };
        match looked {
            Some(Ok((name, Some(row)))) => rows.push((name, row)),
            Some(Ok((_, None)) | Err(_)) => {}
            None => break,
        }
    }
    if rows.is_empty() {
        say("there is no session; gerbil session start starts one");
        return Ok(Exit::Success.code());
    }
    rows.sort();
    let columns = [
        Column::Left("session"),
        Column::Left("application"),
        Column::Right("lent"),
        Column::Right("slots"),
        Column::Right("run"),
        Column::Right("wait"),
        Column::Left("policy"),
    ];
    let rows = rows.into_iter().map(|(_, row)| row);
    print(&table(0, &columns, rows).join("\n"));
    Ok(Exit::Success.code())
}

/// The jobs of all the user's sessions, as far as these answer.
pub(super) async fn jobs(folder: &Folder) -> Vec<Job> {
    let mut looking = JoinSet::new();
    for name in folder.names().unwrap_or_default() {
        let folder = folder.clone();
        looking.spawn(timeout(
            PATIENCE,
            async move { status(&folder, &name).await },
        ));
    }
    let mut jobs = Vec::new();
    while let Some(looked) = looking.join_next().await {
        if let Ok(Ok(Ok(Some(status)))) = looked {
            jobs.extend(status.jobs);
        }
    }
    jobs
}

/// What is told of a session; `None`: it is over.
async fn row(folder: &Folder, name: &Name) -> Option<Vec<String>> {
    match looked(folder, name).await {
        Ok(row) => row,
        Err(SessionError::Over { .. }) => None,
        Err(error) => Some(told(name, &error.to_string())),
    }
}

async fn looked(folder: &Folder, name: &Name) -> Result<Option<Vec<String>>, SessionError> {
    let Some(status) = status(folder, name).await? else {
        return Ok(None);
    };
    let (lent, slots) = status.slots();
    let waiting = status.count("waiting");
    Ok(Some(vec![
        name.to_string(),
        status.application,
        lent.to_string(),
        slots.to_string(),
        status.jobs.len().saturating_sub(waiting).to_string(),
        waiting.to_string(),
        status.policy,
    ]))
}

async fn status(folder: &Folder, name: &Name) -> Result<Option<Status>, SessionError> {
    let Some(kept) = folder.read(name)? else {
        return Ok(None);
    };
    let rm = reach::resource_managers(&kept.owned);
    let mut reached = Reached::new(&rm, folder, &kept).await?;
    reached.status(&kept).await.map(Some)
}

/// A session of which there is only a sentence.
fn told(name: &Name, sentence: &str) -> Vec<String> {
    let mut row = vec![name.to_string()];
    row.extend(std::iter::repeat_n(String::new(), 5));
    row.push(sentence.to_owned());
    row
}
