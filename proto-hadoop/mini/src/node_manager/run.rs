//! The life of a container: files, folders, script, process, end.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use proto_hadoop::yarn::exit_status;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::containers::{AcceptedStart, Desk};
use super::environment::{self, ContainerFolders};
use super::files::FileError;
use super::process::{ContainerProcess, PRELAUNCH};
use super::stand_in::{Accepted, Life};

/// From SIGTERM to SIGKILL, as stock nodes have it.
const TERM_GRACE: Duration = Duration::from_millis(250);
/// What is shown of a failed container's standard error, bytes, as stock nodes have it.
const TAIL: u64 = 4096;
/// Exit code of a process that SIGTERM has ended.
const TERMINATED: i32 = 143;
const CLOSED: u32 = 0o700;
const SECRET: u32 = 0o600;

/// Runs containers, each in a task of its own, until the node ends.
pub(super) async fn keep(desk: Arc<Desk>, mut starts: mpsc::Receiver<AcceptedStart>) {
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            start = starts.recv() => match start {
                Some(start) => drop(running.spawn(one(Arc::clone(&desk), start))),
                None => return,
            },
            Some(_ended) = running.join_next() => {}
        }
    }
}

/// Why a container did not begin.
#[derive(Debug, thiserror::Error)]
enum BeginError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("the link name {name} leads out of the container's folder")]
    Link { name: String },
    #[error("{doing}: {source}")]
    Io {
        doing: &'static str,
        source: io::Error,
    },
}

fn doing(doing: &'static str) -> impl FnOnce(io::Error) -> BeginError {
    move |source| BeginError::Io { doing, source }
}

async fn one(desk: Arc<Desk>, start: AcceptedStart) {
    let id = start.identifier.container;
    if let Some(life) = stand_in(&desk, &start) {
        let code = tokio::select! {
            code = life => code,
            () = start.stop.cancelled() => TERMINATED,
        };
        desk.ended(id, code, String::new());
        return;
    }
    let logs = log_folder(&desk, &start);
    let began = tokio::select! {
        began = begin(&desk, &start, &logs) => began,
        () = start.stop.cancelled() => {
            desk.ended(id, exit_status::ABORTED, "Container ended before it began.".to_owned());
            return;
        }
    };
    let (code, words) = match began {
        Err(error) => (exit_status::INVALID, error.to_string()),
        Ok((mut process, work)) => {
            let code = live(&mut process, &start).await;
            let words = match code {
                0 => String::new(),
                code => failure(code, &logs),
            };
            // Logs stay; what the container wrote beside them does not.
            let _left = tokio::fs::remove_dir_all(&work).await.is_err();
            (code, words)
        }
    };
    desk.ended(id, code, words);
}

/// What lives in the place of the container's process, on a hollow node.
fn stand_in(desk: &Desk, start: &AcceptedStart) -> Option<Life> {
    let accepted = Accepted {
        node: &desk.id,
        container: start.identifier.container,
        launch: &start.launch,
    };
    desk.hollow.stand_in.as_ref()?.stand_in(&accepted)
}

fn log_folder(desk: &Desk, start: &AcceptedStart) -> PathBuf {
    let id = start.identifier.container;
    desk.options
        .folder
        .join("logs")
        .join(id.attempt.application.to_string())
        .join(id.to_string())
}

/// Brings the files, writes the script and starts it; the process and its folder.
async fn begin(
    desk: &Desk,
    start: &AcceptedStart,
    logs: &Path,
) -> Result<(ContainerProcess, PathBuf), BeginError> {
    let launch = &start.launch;
    let mut files = Vec::new();
    for (name, resource) in &launch.resources {
        let plain =
            !name.is_empty() && !name.starts_with('/') && !name.split('/').any(|part| part == "..");
        if !plain {
            return Err(BeginError::Link { name: name.clone() });
        }
        files.push((name, desk.cache.bring(resource).await?));
    }
    let container = start.identifier.container.to_string();
    let application = start.identifier.container.attempt.application.to_string();
    let local = desk.options.folder.join("local").join(&application);
    let work = local.join(&container);
    for folder in [logs, &work] {
        let made = DirBuilder::new()
            .recursive(true)
            .mode(CLOSED)
            .create(folder);
        made.map_err(doing("making a folder"))?;
    }
    for (name, file) in files {
        let link = work.join(name);
        if let Some(above) = link.parent() {
            fs::create_dir_all(above).map_err(doing("making a folder"))?;
        }
        symlink(file, link).map_err(doing("linking a file"))?;
    }
    let tokens = work.join("container_tokens");
    write(&tokens, &launch.tokens.write(), SECRET).map_err(doing("writing the credentials"))?;
    let variables = environment::variables(
        desk,
        launch,
        &ContainerFolders {
            container: &container,
            work: &work,
            logs,
            tokens: &tokens,
            local: &local,
        },
    );
    let script = work.join("launch_container.sh");
    let text = environment::script(&variables, &launch.commands, logs);
    write(&script, text.as_bytes(), CLOSED).map_err(doing("writing the launch script"))?;
    let process =
        ContainerProcess::start(&script, &work, logs).map_err(doing("starting a process"))?;
    Ok((process, work))
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)?;
    file.write_all(bytes)
}

/// Until the process has ended, by itself or on order.
async fn live(process: &mut ContainerProcess, start: &AcceptedStart) -> i32 {
    let ended = tokio::select! {
        ended = process.ended() => ended,
        () = start.stop.cancelled() => {
            process.signal(Signal::SIGTERM);
            match timeout(TERM_GRACE, process.ended()).await {
                Ok(ended) => ended,
                Err(_late) => {
                    process.signal(Signal::SIGKILL);
                    process.ended().await
                }
            }
        }
    };
    match ended {
        Ok(code) => code,
        Err(error) => {
            tracing::error!(container = %start.identifier.container, "cannot start: {error}");
            exit_status::INVALID
        }
    }
}

/// In the words of stock nodes.
fn failure(code: i32, logs: &Path) -> String {
    let mut words = format!("Container exited with a non-zero exit code {code}.");
    for name in [PRELAUNCH, "stderr"] {
        if let Ok(tail) = tail(&logs.join(name))
            && !tail.is_empty()
        {
            let tail = String::from_utf8_lossy(&tail);
            words.push_str(&format!(
                " Last {TAIL} bytes of {name} :\n{}\n",
                tail.trim_end()
            ));
        }
    }
    words
}

fn tail(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = fs::File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    Ok(bytes)
}
