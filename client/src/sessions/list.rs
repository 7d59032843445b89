//! `gerbil session list`.

use std::time::Duration;

use ::job::exit::Exit;
use session::record::Owned;
use session::status::{JobStatus, Status};
use session::{JobName, Name, Reached, SessionError, SessionsFolder, reach};
use terminal::table::{Column, table};
use terminal::{Text, print, say};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::failure::Failure;

/// For each session to answer; all are asked at once.
const PATIENCE: Duration = Duration::from_secs(20);

/// Prints the user's sessions; the exit code. Those that are over are forgotten.
pub(super) async fn list(folder: &SessionsFolder, json: bool) -> Result<u8, Failure> {
    let mut looking = JoinSet::new();
    for name in folder.names()? {
        let folder = folder.clone();
        looking.spawn(async move {
            let looked = timeout(PATIENCE, looked(&folder, &name)).await;
            let late = |_late| {
                let seconds = PATIENCE.as_secs();
                Some(Err(format!(
                    "session {name} has not answered within {seconds} s"
                )))
            };
            let looked = looked.unwrap_or_else(late);
            (name, looked)
        });
    }
    let mut rows = Vec::new();
    while let Some(looked) = looking.join_next().await {
        if let Ok((name, Some(looked))) = looked {
            rows.push((name, looked));
        }
    }
    sort::by(&mut rows, |(one, _), (other, _)| one.cmp(other));
    if json {
        let all = rows.iter().map(|(name, looked)| match looked {
            Ok(status) => serde_json::to_value(status).unwrap_or_default(),
            Err(sentence) => serde_json::json!({ "name": name.as_str(), "error": sentence }),
        });
        print(Text::Json(serde_json::Value::from_iter(all).to_string())).await?;
        return Ok(Exit::Success.code());
    }
    if rows.is_empty() {
        say("there is no session; gerbil session start starts one");
        return Ok(Exit::Success.code());
    }
    let columns = [
        Column::Left("session"),
        Column::Left("application"),
        Column::Right("used"),
        Column::Right("slots"),
        Column::Right("run"),
        Column::Right("wait"),
        Column::Left("policy"),
    ];
    let mut silent = Vec::new();
    let mut lines = Vec::new();
    for (name, looked) in rows {
        match looked {
            Ok(status) => lines.push(row(&name, status)),
            Err(sentence) => silent.push(sentence),
        }
    }
    if !lines.is_empty() {
        print(Text::Lines(table(0, &columns, lines))).await?;
    }
    for sentence in silent {
        say(sentence);
    }
    Ok(Exit::Success.code())
}

/// The jobs of those that are kept in `folder` and that are `wanted`, as far as these answer.
pub(super) async fn jobs(
    folder: &SessionsFolder,
    wanted: impl Fn(&Owned) -> bool,
) -> Vec<JobStatus> {
    let mut looking = JoinSet::new();
    for name in folder.names().unwrap_or_default() {
        if !matches!(folder.owned(&name), Ok(Some(owned)) if wanted(&owned)) {
            continue;
        }
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

/// A job of a session, if that answers and has it; where the job's name has no number, the last one.
pub(super) async fn job(folder: &SessionsFolder, name: &Name, job: JobName) -> Option<JobStatus> {
    let looked = timeout(PATIENCE, status(folder, name)).await;
    let status = looked.ok()?.ok()??;
    let mut jobs = status.jobs.into_iter().rev();
    jobs.find(|of| job.number.is_none_or(|number| number == of.job))
}

/// What is known of a session, or why nothing is; `None`: it is over.
async fn looked(folder: &SessionsFolder, name: &Name) -> Option<Result<Status, String>> {
    let owned = folder.owned(name);
    match (status(folder, name).await, owned) {
        (Ok(status), _) => status.map(Ok),
        (Err(SessionError::Over { .. }), _) => None,
        (Err(error), Ok(Some(owned))) => {
            Some(Err(error.of_session(name, &owned, folder).to_string()))
        }
        (Err(error), Ok(None) | Err(_)) => Some(Err(error.to_string())),
    }
}

fn row(name: &Name, status: Status) -> Vec<String> {
    let (lent, slots) = status.slots();
    let waiting = status.count("waiting");
    vec![
        name.to_string(),
        status.application,
        lent.to_string(),
        slots.to_string(),
        status.jobs.len().saturating_sub(waiting).to_string(),
        waiting.to_string(),
        status.policy,
    ]
}

async fn status(folder: &SessionsFolder, name: &Name) -> Result<Option<Status>, SessionError> {
    let Some(kept) = folder.read(name)? else {
        return Ok(None);
    };
    let rm = reach::resource_managers(&kept.owned);
    let mut reached = Reached::now(&rm, folder, &kept).await?;
    let status = match reached.status(&kept).await {
        // Ended between connection and answer: connecting once more tells.
        Err(SessionError::Refused { .. }) => {
            let mut reached = Reached::now(&rm, folder, &kept).await?;
            reached.status(&kept).await?
        }
        status => status?,
    };
    Ok(Some(status))
}
