//! A cluster of this machine as a process of its own: one session runs in it, and commands come and go.
//!
//! `gerbil session start --local` starts it and holds its standard input until the session is submitted. It prints
//! one line, where its folder is or why it has none, and leaves the terminal. It ends when its starter is gone and
//! no application of it waits or runs, and removes its folder; what one leaves that is killed, the next run of
//! `--local` removes.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use job::Role;
use job::exit::Exit;
use proto_hadoop::ApplicationClient;
use proto_hadoop::conf::Configuration;
use proto_hadoop::yarn::ApplicationFilter;
use serde::{Deserialize, Serialize};
use terminal::signals::Signals;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

use super::Local;
use crate::cluster::{Cluster, ClusterError, user_here};
use crate::failure::Failure;
use crate::frame;

/// Between two looks whether anything runs.
const LOOK: Duration = Duration::from_millis(500);
/// It stays for so long after its last application, for those who ask how that ended.
const LINGERS: Duration = Duration::from_secs(5);
/// For the process to start its cluster.
const STARTS: Duration = Duration::from_secs(30);
/// Bytes of the line that it prints.
const LINE_MAX: u64 = 64 * 1024;

/// The line that it prints.
#[derive(Debug, Serialize, Deserialize)]
enum Started {
    /// Its folder.
    Folder(PathBuf),
    /// Why it could not start.
    Not(String),
}

/// The starter's end of it. Dropped, it lets the cluster go as soon as nothing runs there.
#[derive(Debug)]
pub(crate) struct Daemon {
    /// Where it keeps its files.
    pub folder: PathBuf,
    _child: Child,
}

impl Daemon {
    /// Starts one of `nodes` nodes, whose first application has the number `first`.
    ///
    /// # Errors
    ///
    /// It cannot be started, or does not start in time.
    pub(crate) async fn start(nodes: u8, first: i32) -> Result<Self, ClusterError> {
        let cannot = |why: String| ClusterError::Daemon { why };
        let own = std::env::current_exe().map_err(|error| cannot(error.to_string()))?;
        let mut child = Command::new(own)
            .arg(Role::LocalCluster.argument())
            .args([nodes.to_string(), first.to_string()])
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| cannot(error.to_string()))?;
        let mut line = String::new();
        if let Some(printed) = child.stdout.take() {
            let mut printed = BufReader::new(printed.take(LINE_MAX));
            let read = timeout(STARTS, printed.read_line(&mut line)).await;
            if read.is_err() {
                child.start_kill().ok();
                return Err(cannot(format!("it had not within {} s", STARTS.as_secs())));
            }
        }
        match serde_json::from_str(&line) {
            Ok(Started::Folder(folder)) => Ok(Self {
                folder,
                _child: child,
            }),
            Ok(Started::Not(why)) => Err(cannot(why)),
            Err(_cut_off) => Err(cannot("it ended at its start".to_owned())),
        }
    }
}

/// The settings of one that runs, in place of Hadoop's files.
///
/// # Errors
///
/// They cannot be read: it is gone.
pub(crate) fn settings(folder: &Path) -> Result<Cluster, ClusterError> {
    let path = settings_file(folder);
    let text = std::fs::read_to_string(&path).map_err(|error| ClusterError::Daemon {
        why: format!("{}: {error}", path.display()),
    })?;
    let settings = Configuration::from_xml(&text, &|_none| None);
    Cluster::with(settings?, user_here(&|name| std::env::var(name).ok()))
}

fn settings_file(folder: &Path) -> PathBuf {
    folder.join("yarn-site.xml")
}

/// Closes what a shell has handed on: a lock, or the end of a pipe, that it keeps for commands that end soon.
fn close_inherited() {
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else {
        return;
    };
    let numbers = open.flatten().filter_map(|entry| {
        let number: i32 = entry.file_name().to_str()?.parse().ok()?;
        (number > 2).then_some(number)
    });
    for number in numbers.collect::<Vec<i32>>() {
        // That of the folder is closed already.
        nix::unistd::close(number).ok();
    }
}

/// The process; `words`: how many nodes, and the number of the first application.
pub(crate) fn main(mut words: impl Iterator<Item = String>) -> ExitCode {
    close_inherited();
    // It leads already where somebody started it so.
    nix::unistd::setsid().ok();
    let nodes = words.next().and_then(|nodes| nodes.parse().ok());
    let first = words.next().and_then(|first| first.parse().ok());
    frame::main(async |signals| serve(nodes.unwrap_or(1), first.unwrap_or(1), signals).await)
}

async fn serve(nodes: u8, first: i32, signals: &mut Signals) -> Result<u8, Failure> {
    let started = match Local::for_session(nodes, first).await {
        Ok(local) => written(&local).map(|cluster| (local, cluster)),
        Err(error) => Err(error.to_string()),
    };
    let (local, cluster) = match started {
        Ok(started) => started,
        Err(why) => {
            tell(&Started::Not(why));
            return Ok(Exit::Config.code());
        }
    };
    tell(&Started::Folder(local.path().to_owned()));
    let starter_is_gone = Arc::new(AtomicBool::new(false));
    let gone = Arc::clone(&starter_is_gone);
    // A thread, which nobody waits for at the end.
    let _starter = tokio::task::spawn_blocking(move || {
        std::io::stdin().read_to_end(&mut Vec::new()).ok();
        gone.store(true, Ordering::Relaxed);
    });
    let rm = cluster.rm();
    tokio::select! {
        () = nothing_runs(&rm, &starter_is_gone) => {}
        _signal = signals.ending() => {}
    }
    local.stop().await;
    Ok(Exit::Success.code())
}

/// The cluster by its settings, which are written for commands to come.
fn written(local: &Local) -> Result<Cluster, String> {
    let path = settings_file(local.path());
    std::fs::write(&path, local.text()).map_err(|error| format!("{}: {error}", path.display()))?;
    local.settings().map_err(|error| error.to_string())
}

/// Prints the one line; who does not read it has left.
fn tell(started: &Started) {
    let line = serde_json::to_string(started).unwrap_or_default();
    writeln!(std::io::stdout(), "{line}").ok();
}

/// Until nothing waits or runs, and nobody is about to submit anything.
async fn nothing_runs(rm: &ApplicationClient, starter_is_gone: &AtomicBool) {
    let mut since: Option<Instant> = None;
    loop {
        sleep(LOOK).await;
        let runs = match rm.applications(&ApplicationFilter::default()).await {
            Ok(reports) => reports.iter().any(|report| !report.state.is_final()),
            Err(_passing) => true,
        };
        if runs || !starter_is_gone.load(Ordering::Relaxed) {
            since = None;
        } else if since.get_or_insert_with(Instant::now).elapsed() > LINGERS {
            return;
        }
    }
}
