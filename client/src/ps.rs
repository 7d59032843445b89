//! One's own jobs on the cluster: `gerbil ps`, `gerbil-run --ps`. Those of a session stand below its
//! application, as far as it answers.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use job::exit::Exit;
use proto_hadoop::ApplicationClient;
use proto_hadoop::yarn::{ApplicationFilter, ApplicationReport, Rows, YarnApplicationState};

use follow::FollowError;
use follow::follower::reason;
use follow::progress::short_reason;
use follow::timing::now_us;
use terminal::table::{Column, span, table};
use terminal::{Foreign, Text, print, say};

use session::status::{JobStatus, short};

use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::{frame, sessions};

/// Where an application waits or runs.
const LIVE: [YarnApplicationState; 5] = [
    YarnApplicationState::New,
    YarnApplicationState::NewSaving,
    YarnApplicationState::Submitted,
    YarnApplicationState::Accepted,
    YarnApplicationState::Running,
];

/// The whole command under the name `gerbil`.
pub(crate) fn main(json: bool) -> ExitCode {
    frame::interrupted_anywhere(async move {
        let cluster = match Cluster::find() {
            Err(_no_hadoop) if !sessions::clusters_here().is_empty() => None,
            found => Some(Arc::new(found?)),
        };
        ps(cluster, json).await
    })
}

/// Prints those on a cluster, if there is one, and those of sessions on this machine; the exit code.
pub(crate) async fn ps(cluster: Option<Arc<Cluster>>, json: bool) -> Result<u8, Failure> {
    let (reports, jobs) = tokio::join!(
        everywhere(cluster.as_deref()),
        sessions::jobs(cluster.as_deref())
    );
    let reports = reports?;
    if json {
        let all = reports.iter().map(|report| value(report, &jobs));
        let text = serde_json::Value::from_iter(all).to_string();
        print(Text::Json(text)).await?;
    } else if reports.is_empty() {
        match cluster.as_deref() {
            Some(Cluster { user, .. }) => {
                say(format!("no job of {user} waits or runs on this cluster"));
            }
            None => say("no job of yours waits or runs on this machine"),
        }
    } else {
        print(Text::Lines(lines(&reports, &jobs, now_us() / 1000))).await?;
    }
    Ok(Exit::Success.code())
}

/// Those on the cluster, and those of sessions on this machine.
async fn everywhere(cluster: Option<&Cluster>) -> Result<Vec<ApplicationReport>, Failure> {
    let mut reports = Vec::new();
    if let Some(cluster) = cluster {
        let there = live(&cluster.rm(), &cluster.user, None).await?;
        reports.extend(there.iter().cloned());
    }
    for here in sessions::clusters_here() {
        // One that has just ended does not answer.
        if let Ok(there) = live(&here.rm(), &here.user, None).await {
            reports.extend(there.iter().cloned());
        }
    }
    Ok(reports)
}

/// The applications of `user` that wait or run; those with a tag alone, if one is named.
///
/// # Errors
/// The ResourceManager does not tell.
pub(crate) async fn live(
    rm: &ApplicationClient,
    user: &str,
    tag: Option<&str>,
) -> Result<Rows<ApplicationReport>, Failure> {
    let filter = ApplicationFilter {
        states: LIVE.to_vec(),
        users: vec![user.to_owned()],
        types: vec![job::APPLICATION_TYPE.to_owned()],
        tags: tag.into_iter().map(str::to_owned).collect(),
        ..ApplicationFilter::default()
    };
    Ok(rm.applications(&filter).await.map_err(FollowError::from)?)
}

/// Since an application was submitted.
pub(crate) fn age(report: &ApplicationReport, now_ms: i64) -> Duration {
    let age = now_ms.saturating_sub(report.start_time_ms);
    Duration::from_millis(u64::try_from(age).unwrap_or(0))
}

/// Those of the jobs that run in an application.
pub(crate) fn within<'a>(
    report: &ApplicationReport,
    jobs: &'a [JobStatus],
) -> impl Iterator<Item = &'a JobStatus> {
    let own = short(report.id, 0);
    let own = own.trim_end_matches('0').to_owned();
    jobs.iter().filter(move |job| job.id.starts_with(&own))
}

/// An application as JSON.
fn value(report: &ApplicationReport, jobs: &[JobStatus]) -> serde_json::Value {
    serde_json::json!({
        "application": report.id.to_string(),
        "name": report.name,
        "state": state(report),
        "queue": report.queue,
        "submitted_ms": report.start_time_ms,
        "memory_mib": report.usage.used.memory_mib,
        "progress": report.progress.clamp(0.0, 1.0),
        "waits": reason(report).unwrap_or_default(),
        "jobs": within(report, jobs).collect::<Vec<_>>(),
    })
}

/// As YARN's own commands write it.
pub(crate) fn state(report: &ApplicationReport) -> String {
    match report.state {
        YarnApplicationState::NewSaving => "NEW_SAVING".to_owned(),
        state => format!("{state:?}").to_uppercase(),
    }
}

/// A heading, a row each, and one for each of its jobs.
fn lines(reports: &[ApplicationReport], jobs: &[JobStatus], now_ms: i64) -> Vec<String> {
    let columns = [
        Column::Left("application"),
        Column::Left("queue"),
        Column::Right("age"),
        Column::Right("MiB"),
        Column::Right("done"),
        Column::Left("program"),
    ];
    let row = |report: &ApplicationReport| {
        vec![
            report.id.to_string(),
            report.queue.clone(),
            span(age(report, now_ms)),
            report.usage.used.memory_mib.to_string(),
            format!(
                "{:.0} %",
                f64::from(report.progress.clamp(0.0, 1.0)) * 100.0
            ),
            {
                let name = Foreign::name(&report.name);
                match (report.state, reason(report)) {
                    (YarnApplicationState::Running, _) => name.to_string(),
                    (_, Some(reason)) => format!("{name}: {}", short_reason(&reason)),
                    (state, None) => format!("{name}: {state:?}"),
                }
            },
        ]
    };
    let of_session = |job: &JobStatus| {
        vec![
            format!("  {}", job.id),
            String::new(),
            span(Duration::from_millis(job.age_ms)),
            String::new(),
            job.tasks
                .as_ref()
                .map_or_else(String::new, |tasks| format!("{} %", tasks.percent())),
            job.words(),
        ]
    };
    let rows = reports.iter().flat_map(|report| {
        let jobs: Vec<_> = within(report, jobs).map(of_session).collect();
        std::iter::once(row(report)).chain(jobs)
    });
    table(0, &columns, rows)
}
