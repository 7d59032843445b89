//! The read broker that this launcher has for the engines of its node, or stands by for.

use std::path::Path;
use std::time::Duration;

use gerbil_task::settings::{READ_ORDER, READ_TIMEOUT};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use read_broker::{Broker, BrokerSettings, HungEngine, IO_TIMEOUT};

use super::watch::turns;
use crate::say;

/// Starts it, for the GPU that the node calls `key`, with an order and, where it is given, seconds of a read.
///
/// # Errors
///
/// The order is not known, the seconds are none, or there is no thread: a sentence.
pub(super) fn start(
    root: &Path,
    key: String,
    (order, seconds): (&str, Option<&str>),
) -> Result<Broker, String> {
    let settings = BrokerSettings {
        folder: turns(root).into(),
        key,
        order: order.to_owned(),
        io_timeout: seconds.map_or(Ok(IO_TIMEOUT), timeout)?,
    };
    let started = Broker::start(settings, end, say);
    started.map_err(|error| format!("{READ_ORDER} is {order:?}: {error}"))
}

fn timeout(seconds: &str) -> Result<Duration, String> {
    let number = seconds.parse::<u32>().ok().filter(|number| *number > 0);
    let number =
        number.ok_or_else(|| format!("{READ_TIMEOUT}={seconds}: seconds above 0 are wanted"))?;
    Ok(Duration::from_secs(number.into()))
}

/// Kills an engine of this launcher. Another one's finds its connection ended.
fn end(hung: &HungEngine) {
    let status = std::fs::read_to_string(format!("/proc/{}/status", hung.pid));
    let status = status.unwrap_or_default();
    let mut lines = status.lines();
    let parent = lines.find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok());
    if parent == Some(std::process::id()) {
        // It may have ended by itself.
        kill(Pid::from_raw(hung.pid), Signal::SIGKILL).ok();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Command;

    use super::*;

    #[test]
    fn an_engine_that_hangs_is_killed_and_no_other_process() {
        let hung = |child: u32| HungEngine {
            pid: i32::try_from(child).unwrap(),
            task: 0,
        };
        let mut own = Command::new("sleep").arg("60").spawn().unwrap();
        // A child of another process, whose number it tells.
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 60 & echo $!; wait"]);
        let mut shell = shell.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut out = std::io::BufReader::new(shell.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        let another = line.trim().parse().unwrap();
        end(&hung(another));
        end(&hung(own.id()));
        let status = own.wait().unwrap();
        assert_eq!(status.signal(), Some(Signal::SIGKILL as i32));
        // It is there to be killed.
        kill(Pid::from_raw(hung(another).pid), Signal::SIGKILL).unwrap();
        shell.wait().unwrap();
        // Of one that is gone nothing is left to kill.
        end(&hung(own.id()));
    }

    #[test]
    fn seconds_of_a_read_are_a_whole_number_above_0() {
        assert_eq!(timeout("45"), Ok(Duration::from_secs(45)));
        for wrong in ["0", "-1", "1.5", ""] {
            let said = timeout(wrong).unwrap_err();
            assert_eq!(
                said,
                format!("gpu.read-timeout={wrong}: seconds above 0 are wanted")
            );
        }
    }
}
