//! Of which attempts at the tasks of a job there may be something to read.

use std::time::Duration;

use job::exit::Exit;
use job::wire;
use job::wire::clients_client::ClientsClient;
use tokio::time::timeout;
use tonic::Status;
use tonic::transport::Channel;

use terminal::table::{Column, table};
use terminal::{Text, print, say};

/// For an ApplicationMaster that looks at what it knows.
const ANSWERS: Duration = Duration::from_secs(15);

/// Prints which attempts there are at tasks of job number `job`, and says how they are read of it by its `name`; the
/// exit code.
///
/// # Errors
///
/// What the ApplicationMaster says against it, or that it says nothing.
pub async fn task_logs(
    mut client: ClientsClient<Channel>,
    job: u32,
    name: &str,
) -> Result<u8, Status> {
    let request = wire::TaskLogRequest {
        job,
        ..wire::TaskLogRequest::default()
    };
    let late = || Status::deadline_exceeded(format!("no answer within {} s", ANSWERS.as_secs()));
    let logs = timeout(ANSWERS, client.read_task_log(request)).await;
    let logs = logs.unwrap_or_else(|_late| Err(late()))?.into_inner();
    Ok(print_task_logs(name, logs).await)
}

/// The same of what is known already.
pub async fn print_task_logs(name: &str, logs: wire::TaskLog) -> u8 {
    let Some(first) = logs.attempts.first() else {
        say(format!(
            "{name} is a MapReduce job of which no task has begun yet"
        ));
        return Exit::Success.code();
    };
    let said = format!(
        "{name} is a MapReduce job: gerbil logs {name} {} prints what the last attempt at that task has printed, with \
         .0 behind it what the first has{}",
        task(first),
        match logs.left_out {
            0 => String::new(),
            more => format!("; {more} attempts that ended well are not listed"),
        }
    );
    let columns = [
        Column::Left("task"),
        Column::Left("state"),
        Column::Left("node"),
    ];
    let rows = logs.attempts.into_iter().map(|of| {
        let name = match of.attempt {
            0 => task(&of),
            attempt => format!("{}.{attempt}", task(&of)),
        };
        vec![name, of.state, of.host]
    });
    if let Err(error) = print(Text::Lines(table(0, &columns, rows))).await {
        say(&error);
        return error.exit().code();
    }
    say(said);
    Exit::Success.code()
}

/// As a command line calls it.
fn task(of: &wire::LoggedAttempt) -> String {
    let stage = if of.reduce { 'r' } else { 'm' };
    format!("{stage}{}", of.task)
}
