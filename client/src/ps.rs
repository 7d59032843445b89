//! One's own jobs on the cluster: `gerbil ps`, `gerbil-run --ps`.

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

use crate::failure::Failure;

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
    let reports = tokio::select! {
        reports = rm.applications(&filter) => reports.map_err(FollowError::from)?,
        signal = signals.ending() => return Ok(128u8.saturating_add(signal)),
    };
    if reports.is_empty() {
        say(format!("no job of {user} waits or runs on this cluster"));
        return Ok(Exit::Success.code());
    }
    let mut text = String::new();
    for line in lines(&reports, now_us() / 1000) {
        text.push_str(&line);
        text.push('\n');
    }
    // A reader that has left has seen enough.
    let _read = std::io::stdout().lock().write_all(text.as_bytes()).is_ok();
    Ok(Exit::Success.code())
}

/// A heading and a row each.
fn lines(reports: &[ApplicationReport], now_ms: i64) -> Vec<String> {
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
    table(0, &columns, reports.iter().map(row))
}
