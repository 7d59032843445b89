//! What an attempt at a task has printed.

use std::time::Duration;

use job::exit::Exit;
use job::wire;
use job::wire::clients_client::ClientsClient;
use tokio::time::timeout;
use tonic::Status;
use tonic::transport::Channel;

use terminal::{Foreign, Text, print, say, write_stderr};

/// For an ApplicationMaster that asks a launcher.
const ANSWERS: Duration = Duration::from_secs(15);

/// Prints what an attempt has written to standard output so far to the same here, and so what it has written to
/// standard error; the exit code.
///
/// # Errors
///
/// What the ApplicationMaster says against it, or that it says nothing.
pub async fn task_log(
    mut client: ClientsClient<Channel>,
    request: wire::TaskLogRequest,
) -> Result<u8, Status> {
    let late = || Status::deadline_exceeded(format!("no answer within {} s", ANSWERS.as_secs()));
    let task = request.task.unwrap_or_default();
    let reduce = request.reduce;
    let log = timeout(ANSWERS, client.read_task_log(request)).await;
    let log = log.unwrap_or_else(|_late| Err(late()))?.into_inner();
    Ok(print_task_log(reduce, task, log).await)
}

/// The same of what is known already.
pub async fn print_task_log(reduce: bool, task: u32, log: wire::TaskLog) -> u8 {
    let what = match reduce {
        true => format!("reduce {task}"),
        false => format!("map {task}"),
    };
    let (stdout, stderr) = (
        log.stdout.unwrap_or_default(),
        log.stderr.unwrap_or_default(),
    );
    if stdout.head.is_empty() && stderr.head.is_empty() {
        say(format!(
            "attempt {} at {what}, on {}, has printed nothing",
            log.attempt,
            Foreign::name(&log.host)
        ));
        return Exit::Success.code();
    }
    if let Err(error) = print(Text::Whole(whole(stdout))).await {
        say(format!("{error}, where what {what} has printed belongs"));
        return error.exit().code();
    }
    write_stderr(whole(stderr));
    Exit::Success.code()
}

/// The bytes as they were printed, and what is left out between them.
fn whole(stream: wire::PrintedStream) -> Vec<u8> {
    let mut bytes = stream.head;
    if stream.left_out > 0 {
        if !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        let words = format!(
            "[gerbil: {} bytes of output are left out here]\n",
            stream.left_out
        );
        bytes.extend(words.into_bytes());
    }
    bytes.extend(stream.tail);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_something_is_left_out_it_is_said() {
        let printed = |head: &str, left_out, tail: &str| {
            let stream = wire::PrintedStream {
                head: head.into(),
                left_out,
                tail: tail.into(),
            };
            String::from_utf8(whole(stream)).unwrap()
        };
        assert_eq!(printed("a\n", 0, ""), "a\n");
        assert_eq!(printed("a\nb", 0, "c\n"), "a\nbc\n");
        let gap = "[gerbil: 7 bytes of output are left out here]";
        assert_eq!(printed("a\nb", 7, "c\n"), format!("a\nb\n{gap}\nc\n"));
    }
}
