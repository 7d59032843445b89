//! One's own jobs on the cluster: `gerbil ps`, `gerbil-run --ps`. Those of a session stand below its
//! application, as far as it answers.

use std::io::Write as _;
use std::time::Duration;

use job::exit::Exit;
use proto_hadoop::ApplicationClient;
use proto_hadoop::yarn::{ApplicationFilter, ApplicationReport, YarnApplicationState};

use follow::follower::reason;
use follow::progress::short_reason;
use follow::signals::Signals;
use follow::table::{Column, span, table};
use follow::timing::now_us;
use follow::{FollowError, say};

use session::status::{Job, short};

use crate::failure::Failure;
use crate::sessions;

/// Where an application waits or runs.
const LIVE: [YarnApplicationState; 5] = [
    YarnApplicationState::New,
    YarnApplicationState::NewSaving,
    YarnApplicationState::Submitted,
    YarnApplicationState::Accepted,
    YarnApplicationState::Running,
];

/// Prints those of `user`; the exit code.
pub(crate) async fn ps(
    rm: &ApplicationClient,
    user: &str,
    signals: &mut Signals,
) -> Result<u8, Failure> {
    let filter = ApplicationFilter {
        states: LIVE.to_vec(),
        users: vec![user.to_owned()],
        types: vec![job::APPLICATION_TYPE.to_owned()],
        ..ApplicationFilter::default()
    };
    let asked = async { tokio::join!(rm.applications(&filter), sessions::jobs()) };
    let (reports, jobs) = tokio::select! {
        (reports, jobs) = asked => (reports.map_err(FollowError::from)?, jobs),
        signal = signals.ending() => return Ok(128u8.saturating_add(signal)),
    };
    if reports.is_empty() {
        say(format!("no job of {user} waits or runs on this cluster"));
        return Ok(Exit::Success.code());
    }
    let mut text = String::new();
    for line in lines(&reports, &jobs, now_us() / 1000) {
        text.push_str(&line);
        text.push('\n');
    }
    // A reader that has left has seen enough.
    let _read = std::io::stdout().lock().write_all(text.as_bytes()).is_ok();
    Ok(Exit::Success.code())
}

/// A heading, a row each, and one for each of its jobs.
fn lines(reports: &[ApplicationReport], jobs: &[Job], now_ms: i64) -> Vec<String> {
    let columns = [
        Column::Left("application"),
        Column::Left("queue"),
        Column::Right("age"),
        Column::Right("MiB"),
        Column::Right("done"),
        Column::Left("program"),
    ];
    let row = |report: &ApplicationReport| {
        let age = u64::try_from(now_ms.saturating_sub(report.start_time_ms)).unwrap_or(0);
        vec![
            report.id.to_string(),
            report.queue.clone(),
            span(Duration::from_millis(age)),
            report.usage.used.memory_mib.to_string(),
            format!(
                "{:.0} %",
                f64::from(report.progress.clamp(0.0, 1.0)) * 100.0
            ),
            match (report.state, reason(report)) {
                (YarnApplicationState::Running, _) => report.name.clone(),
                (_, Some(reason)) => format!("{}: {}", report.name, short_reason(&reason)),
                (state, None) => format!("{}: {state:?}", report.name),
            },
        ]
    };
    let of_session = |job: &Job| {
        vec![
            format!("  {}", job.id),
            String::new(),
            span(Duration::from_millis(job.age_ms)),
            String::new(),
            String::new(),
            job.words(),
        ]
    };
    let rows = reports.iter().flat_map(|report| {
        let own = short(report.id, 0);
        let own = own.trim_end_matches('0');
        let jobs = jobs.iter().filter(|job| job.id.starts_with(own));
        let jobs: Vec<_> = jobs.map(of_session).collect();
        std::iter::once(row(report)).chain(jobs)
    });
    table(0, &columns, rows)
}
