//! `gerbil mr list`, `status`, `counters`, `history`: jobs that are over, and those that are not.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use ::job::exit::Exit;
use ::job::history::JobHistory;
use follow::timing::now_us;
use mapreduce_client::history::{History, Past, page, text};
use proto_hadoop::yarn::ApplicationReport;
use scan::{ProgramStage, ScanRequest, detect};
use session::JobName;
use session::status::{attempts, short};
use terminal::table::{Column, span, table};
use terminal::{Foreign, Text, print, say};

use crate::failure::Failure;
use crate::subcommands::{PastArguments, PastTask};
use crate::system::system;
use crate::usage::UsageError;
use crate::{frame, ps, sessions};

use super::histories::{Histories, HistoryPlace};
use super::mr_application::TAG;

/// Jobs whose files are read for a list.
const LISTED: usize = 50;

/// The whole command.
pub(crate) fn main(given: PastArguments) -> ExitCode {
    frame::interrupted_anywhere(run(given))
}

async fn run(given: PastArguments) -> Result<u8, Failure> {
    if let PastTask::Scan {
        file,
        shipped,
        json,
    } = given.task
    {
        let text = scanned(file, shipped, json).await?;
        print(text).await?;
        return Ok(Exit::Success.code());
    }
    let histories = Histories::open(given.staging)?;
    Box::pin(show(&histories, given.task)).await
}

async fn show(histories: &Histories, task: PastTask) -> Result<u8, Failure> {
    let text = match task {
        PastTask::List { json } => return list(histories, json).await,
        PastTask::Status { job } => match under_way(job).await? {
            Some(words) => Text::of(&words),
            None => Text::of(&text::status(&over(histories, job).await?)),
        },
        PastTask::Counters { job } => Text::of(&text::counters(
            &over(histories, job).await?.report.counters,
        )),
        PastTask::History { job, json, html } => {
            let found = over(histories, job).await?;
            match (json, html) {
                (true, _) => Text::Json(serde_json::to_string_pretty(&found).unwrap_or_default()),
                (false, true) => {
                    let hadoop = histories.places().iter().find(|place| place.is_hadoop);
                    let pages = hadoop.and_then(|place| place.cluster.pages());
                    Text::of(&page::page(&found, pages.as_deref()))
                }
                (false, false) => Text::of(&text::history(&found)),
            }
        }
        PastTask::Kill { job } => return sessions::kill(job).await,
        // It needs no cluster.
        PastTask::Scan { .. } => return Ok(Exit::Success.code()),
    };
    print(text).await?;
    Ok(Exit::Success.code())
}

/// What a program needs, in lines or as JSON.
async fn scanned(file: PathBuf, shipped: Vec<PathBuf>, json: bool) -> Result<Text, Failure> {
    std::fs::metadata(&file).map_err(|source| UsageError::Program {
        path: file.clone(),
        source,
    })?;
    let request = ScanRequest {
        shipped,
        ..ScanRequest::here(file)
    };
    let detected = tokio::task::spawn_blocking(move || detect(&request)).await;
    let detected = detected
        .map_err(std::io::Error::from)
        .map_err(system("look at the program", Exit::Lost))?;
    let mut found = Vec::new();
    for stage in [
        ProgramStage::Map,
        ProgramStage::Combine,
        ProgramStage::Reduce,
    ] {
        let declared = detected.declared(stage);
        match declared.is_empty() {
            false => found.extend(declared),
            // What is found names no stage: a combiner is part of a map.
            true if stage == ProgramStage::Combine => {}
            true => found.push(detected.finding(stage)),
        }
    }
    Ok(match json {
        true => Text::Json(serde_json::to_string_pretty(&found).unwrap_or_default()),
        false => Text::Lines(found.iter().map(ToString::to_string).collect()),
    })
}

/// What became of a job that is over.
async fn over(histories: &Histories, job: JobName) -> Result<JobHistory, Failure> {
    if let Some(found) = histories.find(job).await? {
        return Ok(found);
    }
    Err(match under_way(job).await? {
        Some(_words) => UsageError::NotOver { job },
        None => UsageError::NoPastJob {
            job,
            places: histories.words(),
        },
    }
    .into())
}

/// How a job is that one of the user's sessions has.
async fn under_way(job: JobName) -> Result<Option<String>, Failure> {
    let found = sessions::find_job(job).await?;
    Ok(found.map(|found| {
        let state = found.state.to_uppercase();
        let mut words = format!("{} {}\nstate {state}", found.id, found.words());
        if let Some(tasks) = &found.tasks {
            words.push_str(&format!("\n{}", tasks.words()));
        }
        for line in attempts(&found.attempts) {
            words.push_str(&format!("\n{line}"));
        }
        words
    }))
}

async fn list(histories: &Histories, json: bool) -> Result<u8, Failure> {
    let hadoop = histories.places().iter().find(|place| place.is_hadoop);
    let own = async {
        match hadoop {
            Some(HistoryPlace { cluster, .. }) => {
                let live = ps::live(&cluster.rm(), &cluster.user, Some(TAG)).await?;
                Ok(live.iter().cloned().collect())
            }
            None => Ok::<Vec<ApplicationReport>, Failure>(Vec::new()),
        }
    };
    let cluster = hadoop.map(|place| &place.cluster);
    let (own, live, past) = tokio::join!(own, sessions::jobs(cluster), histories.list());
    let past = past?;
    let mut rows = Vec::new();
    let mut all = Vec::new();
    match own {
        Ok(own) => own.iter().for_each(|report| {
            if ps::within(report, &live).next().is_some() {
                return;
            }
            // Its job is known to its own command alone, or not there yet.
            let (id, state) = (report.id.to_string(), ps::state(report));
            all.push(serde_json::json!({ "id": id, "name": report.name, "state": state }));
            let age = span(ps::age(report, now_us() / 1000));
            let name = Foreign::name(&report.name).to_string();
            rows.push([id, state, age, String::new(), name]);
        }),
        Err(failure) => say(failure),
    }
    for job in live {
        let took = span(Duration::from_millis(job.age_ms));
        let (id, state) = (job.id.clone(), job.state.to_uppercase());
        rows.push([id, state, took, String::new(), job.words()]);
        all.push(serde_json::json!({
            "id": job.id, "name": job.name, "state": job.state.to_uppercase(), "tasks": job.tasks,
        }));
    }
    let left = past.len().saturating_sub(LISTED);
    for (place, job) in past.iter().take(LISTED) {
        let (row, value) = one(&place.history, job).await;
        rows.push(row);
        all.push(value);
    }
    if json {
        print(Text::Json(
            serde_json::to_string_pretty(&all).unwrap_or_default(),
        ))
        .await?;
        return Ok(Exit::Success.code());
    }
    if rows.is_empty() {
        say("there is no MapReduce job, none of the last week either");
        return Ok(Exit::Success.code());
    }
    let columns = [
        Column::Left("job"),
        Column::Left("state"),
        Column::Right("took"),
        Column::Right("attempts failed"),
        Column::Left("name"),
    ];
    let lines = table(0, &columns, rows.into_iter().map(Vec::from));
    print(Text::Lines(lines)).await?;
    if left > 0 {
        say(format!("{left} older ones are in {}", histories.words()));
    }
    Ok(Exit::Success.code())
}

/// A row of the list, and the same as JSON. A file that cannot be read costs no other row.
async fn one(history: &History, past: &Past) -> ([String; 5], serde_json::Value) {
    let id = short(past.application, past.number);
    match history.read(past).await {
        Ok(job) => {
            let (state, failed) = (text::state(job.state), job.report.failed_attempts);
            let value = serde_json::json!({
                "id": id, "job": job.job, "name": job.name, "state": state, "output": job.output,
                "took_ms": job.took_ms, "failed_attempts": failed, "ended_ms": past.ended_ms,
            });
            let took = text::seconds(job.took_ms);
            (
                [
                    id,
                    state.into(),
                    took,
                    failed.to_string(),
                    Foreign::name(&job.name).to_string(),
                ],
                value,
            )
        }
        Err(error) => {
            let value = serde_json::json!({ "id": id, "error": error.to_string() });
            (
                [
                    id,
                    "?".into(),
                    String::new(),
                    String::new(),
                    error.to_string(),
                ],
                value,
            )
        }
    }
}
