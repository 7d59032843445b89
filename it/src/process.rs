//! Children that do not outlive the process that asked for them.
//!
//! Each child is started through `setpriv --pdeathsig KILL`, so the kernel kills it when its parent
//! ends, however it ends. The kernel means the parent *thread*, so all children are started by one
//! thread that lives as long as the process. Each child leads a process group of its own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, sync_channel};

use anyhow::{Context as _, Result, anyhow, bail};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

/// Where a child's three streams go.
#[derive(Debug)]
pub struct ChildStreams {
    /// What the child reads.
    pub stdin: Stdio,
    /// Where its output goes.
    pub stdout: Stdio,
    /// Where its messages go.
    pub stderr: Stdio,
}

struct SpawnOrder {
    command: Command,
    answer: SyncSender<std::io::Result<Child>>,
}

/// Starts `command` (its program, arguments, environment changes and folder) as a guarded child.
///
/// # Errors
///
/// The program or `setpriv` (of util-linux) is not there, or the process cannot be started.
pub fn spawn(command: &Command, streams: ChildStreams) -> Result<Child> {
    use std::os::unix::process::CommandExt as _;

    let program = find(command.get_program())?;
    let mut guarded = Command::new(find(OsStr::new("setpriv"))?);
    guarded
        .args(["--pdeathsig", "KILL", "--"])
        .arg(&program)
        .args(command.get_args());
    for (key, value) in command.get_envs() {
        match value {
            Some(value) => guarded.env(key, value),
            None => guarded.env_remove(key),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        guarded.current_dir(folder);
    }
    guarded
        .stdin(streams.stdin)
        .stdout(streams.stdout)
        .stderr(streams.stderr)
        .process_group(0);

    let (answer, answered) = sync_channel(1);
    keeper()
        .send(SpawnOrder {
            command: guarded,
            answer,
        })
        .map_err(|_gone| anyhow!("the thread that starts children has ended"))?;
    answered
        .recv()
        .context("the thread that starts children has ended")?
        .with_context(|| format!("starting {}", program.display()))
}

/// The thread that is every child's parent.
fn keeper() -> &'static SyncSender<SpawnOrder> {
    static KEEPER: OnceLock<SyncSender<SpawnOrder>> = OnceLock::new();
    KEEPER.get_or_init(|| {
        let (orders, taken) = sync_channel::<SpawnOrder>(8);
        std::thread::spawn(move || {
            for mut order in taken {
                // Who asked has gone: its child is of no use, and ends when the pipe closes.
                if let Err(unwanted) = order.answer.send(order.command.spawn())
                    && let Ok(mut child) = unwanted.0
                {
                    drop(child.kill());
                    drop(child.wait());
                }
            }
        });
        orders
    })
}

/// The file that `program` means, by `PATH` unless it names a folder.
///
/// # Errors
///
/// There is no such executable file.
pub fn find(program: &OsStr) -> Result<PathBuf> {
    let given = Path::new(program);
    if given.components().count() > 1 {
        if is_executable(given) {
            return Ok(given.to_owned());
        }
        bail!("{}: no such executable file", given.display());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    match std::env::split_paths(&path)
        .map(|folder| folder.join(given))
        .find(|file| is_executable(file))
    {
        Some(file) => Ok(file),
        None => bail!(
            "{}: not on PATH; it/setup installs what the tests need",
            given.display()
        ),
    }
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    file.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The process id of a child, as the kernel's calls want it.
#[must_use]
pub fn pid(child: &Child) -> Pid {
    // A Linux process id is at most 2^22.
    Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX))
}

/// Sends `signal` to one child. One that has ended already is fine, and gets none: its id may be another's by now.
///
/// # Errors
///
/// The kernel refused.
pub fn signal(child: &mut Child, signal: Signal) -> Result<()> {
    if child.try_wait()?.is_some() {
        return Ok(());
    }
    ignore_gone(kill(pid(child), signal))
        .with_context(|| format!("sending {signal} to {}", child.id()))
}

/// Sends `signal` to any process, by id. One that has ended already is fine.
///
/// # Errors
///
/// The kernel refused.
pub fn signal_by_id(pid: i32, signal: Signal) -> Result<()> {
    ignore_gone(kill(Pid::from_raw(pid), signal))
        .with_context(|| format!("sending {signal} to {pid}"))
}

/// A variable in the environment that a process was started with; `None` also when it is gone.
#[must_use]
pub fn variable(pid: i32, name: &str) -> Option<String> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    environment.split(|byte| *byte == 0).find_map(|entry| {
        let entry = String::from_utf8_lossy(entry);
        let value = entry.strip_prefix(name)?.strip_prefix('=')?;
        Some(value.to_owned())
    })
}

/// The process group of a process; `None` when it is gone.
#[must_use]
pub fn group(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Behind the name, which may hold anything: state, parent, group.
    let (_name, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(2)?.parse().ok()
}

/// Kills a child and the group it leads, and collects it. Of one that has ended nothing is killed: its id, and that of
/// its group, may be another's by now, also of a test beside this one.
///
/// # Errors
///
/// The kernel refused.
pub fn destroy(child: &mut Child) -> Result<()> {
    if child.try_wait()?.is_some() {
        return Ok(());
    }
    ignore_gone(killpg(pid(child), Signal::SIGKILL))?;
    ignore_gone(kill(pid(child), Signal::SIGKILL))?;
    child
        .wait()
        .with_context(|| format!("waiting for {}", child.id()))?;
    Ok(())
}

fn ignore_gone(answer: nix::Result<()>) -> nix::Result<()> {
    match answer {
        Err(nix::errno::Errno::ESRCH) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};

    use super::*;

    /// What is left of its group stands for whoever has got the id since.
    #[test]
    fn of_a_child_that_was_waited_for_nothing_is_killed() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 300 >&2 & echo $!"]);
        let streams = ChildStreams {
            stdin: Stdio::null(),
            stdout: Stdio::piped(),
            stderr: Stdio::null(),
        };
        let mut child = spawn(&shell, streams).unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        let left: i32 = line.trim().parse().unwrap();
        child.wait().unwrap();
        assert_eq!(group(left), Some(pid(&child).as_raw()));
        destroy(&mut child).unwrap();
        assert_eq!(group(left), Some(pid(&child).as_raw()));
        signal_by_id(left, Signal::SIGKILL).unwrap();
    }
}
