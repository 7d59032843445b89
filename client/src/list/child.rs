//! One job of the list: this program once more, in a process of its own.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use terminal::{Orphan, ends_with_us};
use tokio::process::{Child, Command};
use tokio::sync::{broadcast, mpsc};
use tokio::time::{Instant, sleep_until, timeout};

use super::lines::ListedJob;
use super::output::{self, MarkedLine};
use crate::environment::STAYING_IS_SAID;

/// A job that was told to end is told once more after this: that ends it at once.
const FIRST_PATIENCE: Duration = Duration::from_secs(60);
/// A job that was told twice is killed after this. YARN has had the time to end its application.
const SECOND_PATIENCE: Duration = Duration::from_secs(75);

/// For the last lines of a list that was told to end, where nobody takes them.
pub(super) const LAST_LINES: Duration = Duration::from_secs(3);

/// What a job is told.
#[derive(Clone, Copy, Debug)]
pub(super) enum ChildOrder {
    /// To hand this signal to its ranks.
    Forward(u8),
    /// To end, by this signal.
    End(u8),
}

/// How a job ended, and what became of its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AttendedJob {
    pub exit: ChildExit,
    /// The signal for which its last lines were not waited for.
    pub cut_by: Option<u8>,
}

/// How the process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChildExit {
    Code(u8),
    Signal(u8),
}

impl ChildExit {
    /// As a shell says it.
    pub(super) fn exit_code(self) -> u8 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128u8.saturating_add(signal),
        }
    }
}

impl From<ExitStatus> for ChildExit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(u8::try_from(code).unwrap_or(u8::MAX)),
            (None, signal) => Self::Signal(signal.and_then(|s| u8::try_from(s).ok()).unwrap_or(0)),
        }
    }
}

/// Starts `job`; a report goes to `folder` where its line does not say otherwise.
///
/// It gets SIGTERM when the calling thread ends, so call this from one that lasts.
pub(super) fn spawn(own: &Path, job: &ListedJob, folder: &Path) -> io::Result<Child> {
    let mut command = Command::new(own);
    // However the file is called.
    command.arg0("gerbil-run");
    if job.report.is_none() && !job.dry {
        command.arg("--report").arg(job.report(folder));
    }
    if job.number > 1 {
        // The first job of the list has said it.
        command.env(STAYING_IS_SAID, "1");
    }
    command
        .args(&job.words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // The terminal's Ctrl-C comes to us alone, and from us once to each job.
        .process_group(0);
    ends_with_us(command.as_std_mut(), Orphan::Told);
    command.spawn()
}

/// Copies the output of `child` and hands orders to it, until it has ended and all is copied, however
/// slow the reader; once it was told to end, no longer than [`LAST_LINES`] after its end.
pub(super) async fn attend(
    mut child: Child,
    number: usize,
    lines: mpsc::Sender<MarkedLine>,
    mut orders: broadcast::Receiver<ChildOrder>,
) -> AttendedJob {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let copied = async {
        tokio::join!(
            output::copy(stdout, number, output::To::Stdout, &lines),
            output::copy(stderr, number, output::To::Stderr, &lines),
        );
    };
    let mut copied = pin!(copied);
    let mut all = false;
    let (ended, told) = {
        let mut obeyed = pin!(obey(&mut child, &mut orders));
        loop {
            tokio::select! {
                obeyed = &mut obeyed => break obeyed,
                () = &mut copied, if !all => all = true,
            }
        }
    };
    let whole = AttendedJob {
        exit: ended,
        cut_by: None,
    };
    if all {
        return whole;
    }
    let signal = match told {
        Some(signal) => signal,
        None => tokio::select! {
            () = &mut copied => return whole,
            signal = told_to_end(&mut orders) => signal,
        },
    };
    // Nobody may be reading.
    let is_cut = timeout(LAST_LINES, copied).await.is_err();
    AttendedJob {
        cut_by: is_cut.then_some(signal),
        ..whole
    }
}

/// Until there is the order to end, by this signal.
async fn told_to_end(orders: &mut broadcast::Receiver<ChildOrder>) -> u8 {
    loop {
        match orders.recv().await {
            Ok(ChildOrder::End(signal)) => return signal,
            Ok(ChildOrder::Forward(_)) | Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// Until the process has ended, which it does some time after it is told to; and by which signal it was told.
async fn obey(
    child: &mut Child,
    orders: &mut broadcast::Receiver<ChildOrder>,
) -> (ChildExit, Option<u8>) {
    /// The last signal that was to end it, how often it has had one, and when the next comes.
    #[derive(Clone, Copy)]
    struct EndingSignal {
        signal: u8,
        times: u32,
        next: Instant,
    }
    let mut told: Option<EndingSignal> = None;
    let mut listening = true;
    loop {
        let next = told.as_ref().map(|told| told.next);
        tokio::select! {
            status = child.wait() => {
                // An error: no child of ours, so nothing is left of it.
                let ended = status.map_or(ChildExit::Signal(0), ChildExit::from);
                return (ended, told.map(|told| told.signal));
            }
            order = orders.recv(), if listening => match order {
                Ok(ChildOrder::Forward(signal)) => send(child, signal),
                Ok(ChildOrder::End(signal)) => {
                    send(child, signal);
                    let times = told.map_or(1, |told| told.times + 1);
                    let patience = if times == 1 { FIRST_PATIENCE } else { SECOND_PATIENCE };
                    told = Some(EndingSignal { signal, times, next: Instant::now() + patience });
                }
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => listening = false,
            },
            () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {
                if let Some(told) = &mut told {
                    if told.times == 1 {
                        send(child, told.signal);
                    } else {
                        // Its exit is waited for above, and nothing survives this.
                        let _sent = child.start_kill().is_ok();
                    }
                    told.times += 1;
                    told.next = Instant::now() + SECOND_PATIENCE;
                }
            }
        }
    }
}

/// The process is not waited for yet, so the id is still its own.
fn send(child: &Child, signal: u8) {
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    if let (Some(id), Ok(signal)) = (id, Signal::try_from(i32::from(signal))) {
        // One that has just ended needs no signal.
        let _sent = kill(Pid::from_raw(id), signal).is_ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> ListedJob {
        ListedJob {
            number: 7,
            line: 1,
            words: ["-c", text].map(Into::into).into(),
            report: Some("".into()),
            dry: false,
        }
    }

    fn shell(text: &str) -> Child {
        spawn(Path::new("/bin/sh"), &script(text), Path::new("")).unwrap()
    }

    #[tokio::test]
    async fn lines_come_whole_and_marked() {
        let (lines, mut received) = mpsc::channel(16);
        let (_orders, listener) = broadcast::channel(1);
        let child = shell("printf 'a'; printf 'b\\nc'; echo d >&2; cat; exit 3");
        let ended = attend(child, 7, lines, listener).await;
        assert_eq!((ended.exit, ended.cut_by), (ChildExit::Code(3), None));
        assert_eq!(ended.exit.exit_code(), 3);
        let mut all = Vec::new();
        while let Some(line) = received.recv().await {
            all.push((line.to, String::from_utf8(line.bytes).unwrap()));
        }
        all.sort();
        assert_eq!(
            all,
            [
                (output::To::Stdout, "[job 7] ab\n".to_owned()),
                (output::To::Stdout, "[job 7] c\n".to_owned()),
                (output::To::Stderr, "[job 7] d\n".to_owned()),
            ]
        );
    }

    #[tokio::test]
    async fn each_signal_comes_once_and_the_exit_is_its_own() {
        let (lines, mut received) = mpsc::channel(16);
        let (orders, listener) = broadcast::channel(4);
        let child = shell(
            "trap 'echo end; exit 130' INT; trap 'echo usr' USR1; echo ready; \
             while :; do sleep 0.05; done",
        );
        let attended = attend(child, 1, lines, listener);
        let told = async {
            assert!(received.recv().await.unwrap().bytes.ends_with(b"ready\n"));
            orders.send(ChildOrder::Forward(10)).unwrap();
            assert!(received.recv().await.unwrap().bytes.ends_with(b"usr\n"));
            orders.send(ChildOrder::End(2)).unwrap();
            assert!(received.recv().await.unwrap().bytes.ends_with(b"end\n"));
        };
        let (ended, ()) = tokio::join!(attended, told);
        assert_eq!((ended.exit, ended.cut_by), (ChildExit::Code(130), None));
        assert!(received.recv().await.is_none());
    }

    #[tokio::test]
    async fn a_job_whose_lines_nobody_takes_ends_when_it_is_told_to() {
        // Before its end, and after it: what is left in the pipe is nobody's either.
        for text in [
            "while :; do echo line; done",
            "for line in 1 2 3 4 5; do echo; done",
        ] {
            let (lines, _held) = mpsc::channel(1);
            let (orders, listener) = broadcast::channel(4);
            let attended = attend(shell(text), 1, lines, listener);
            let told = async {
                tokio::time::sleep(Duration::from_millis(300)).await;
                orders.send(ChildOrder::End(2)).unwrap();
            };
            let both = async { tokio::join!(attended, told).0 };
            let ended = timeout(Duration::from_secs(20), both).await.unwrap();
            assert!(
                matches!(ended.exit, ChildExit::Signal(2) | ChildExit::Code(0)),
                "{ended:?}"
            );
            // Its lines were not all taken, whatever its code says.
            assert_eq!(ended.cut_by, Some(2));
        }
    }

    #[tokio::test]
    async fn a_job_that_does_not_listen_is_killed_in_the_end() {
        let (lines, mut received) = mpsc::channel(16);
        let (orders, listener) = broadcast::channel(4);
        let child = shell("trap '' INT; echo ready; while :; do sleep 0.05; done");
        let attended = attend(child, 1, lines, listener);
        let told = async {
            received.recv().await.unwrap();
            orders.send(ChildOrder::End(2)).unwrap();
            // From here on time runs as fast as nothing else happens.
            tokio::time::pause();
        };
        let (ended, ()) = tokio::join!(attended, told);
        assert_eq!(ended.exit, ChildExit::Signal(9));
        assert_eq!(ended.exit.exit_code(), 137);
    }
}
