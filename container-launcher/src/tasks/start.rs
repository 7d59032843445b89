//! Starts the process of a task.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use gerbil_task::{Connection, LAUNCHER_VARIABLE, Page, ROLE_VARIABLE, ToTask, VERSION, Welcome};
use job::wire::StartTask;
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

use super::conversation::Conversation;
use super::{Tasks, log};
use crate::container::Container;
use crate::process::start::Start;
use crate::process::streams::{self, Outer, Streams};
use crate::process::{Grants, Id, Process, environment};
use crate::{node_facts, program};

/// Folder in the working directory with one for each job, and in that one for each process.
const FOLDER: &str = ".gerbil-tasks";
/// Stack of the thread that converses, bytes.
const STACK: usize = 256 * 1024;

impl Tasks {
    /// The process runs when this returns, and the conversation with it, or it is said why there is none.
    ///
    /// # Errors
    ///
    /// Why it does not run, a sentence with the host.
    pub(super) async fn start(
        &mut self,
        order: StartTask,
        container: &mut Container<'_>,
    ) -> Result<Result<JoinHandle<()>, String>, String> {
        let (number, host) = (order.process, node_facts::hostname());
        if self.processes.has(number) {
            return Err(format!("{host}: task process {number} runs already"));
        }
        if let Some((other, _)) = self.attempts.iter().find(|(_, of)| of.slot == order.slot) {
            return Err(format!(
                "{host}: slot {} is that of task process {other}",
                order.slot
            ));
        }
        let unreadable = |what: &str, error: serde_json::Error| {
            format!("{host}: the {what} of an order: {error}")
        };
        let welcome: Welcome =
            serde_json::from_str(&order.welcome).map_err(|error| unreadable("welcome", error))?;
        let task: ToTask =
            serde_json::from_str(&order.task).map_err(|error| unreadable("task", error))?;
        let program = order.program;
        let program = program.ok_or_else(|| format!("{host}: an order names no program"))?;
        let around = container.around;
        program::check_one(&program, &around.folder).map_err(|refusal| refusal.sentence)?;
        let folder = around.folder.join(FOLDER).join(self.job.0.to_string());
        let folder = folder.join(number.to_string());
        fs::create_dir_all(folder.join("out")).map_err(|error| {
            let folder = folder.display();
            format!("{host}: no folder for task process {number} at {folder}: {error}")
        })?;
        let system = |error: std::io::Error| format!("{host}: task process {number}: {error}");
        let (blame, scratch) = self.shared(&folder).map_err(system)?;

        let (streams, outer) = streams::pipes(false).map_err(system)?;
        let (socket, own) = UnixStream::pair().map_err(system)?;
        let Streams::Plain { stdout, stderr, .. } = streams else {
            return Err(format!("{host}: a task has no terminal"));
        };
        let streams = Streams::Plain {
            stdin: Some(own.into()),
            stdout,
            stderr,
        };
        let inherited = around.environment.clone().into_iter();
        let id = &container.seat.container;
        let environment = environment::of(inherited, [], &program, id, &around.folder);
        let command = Arc::new(program::command(&program, &around.folder, environment));
        let id = Id {
            job: self.job,
            number,
        };
        let start = Start::new(id, &command, streams).set([
            (ROLE_VARIABLE, "task".to_owned()),
            (LAUNCHER_VARIABLE, std::process::id().to_string()),
        ]);
        let started = container.nursery.start(start).await;
        let pid = started.map_err(|error| program::not_started(&program.file, &error).sentence)?;

        let gone = CancellationToken::new();
        let process = Process::new(pid.as_raw(), gone.clone(), Grants::default());
        self.processes.add(number, process);
        let conversation = Conversation {
            connection: Connection::new(socket),
            plan: order.plan,
            welcome: Welcome {
                version: VERSION,
                blame: order.slot,
                ..welcome
            },
            task,
            blame,
            scratch,
            inputs: around.folder.clone(),
            output: folder.join("out"),
            outputs: Arc::clone(&self.outputs),
            gone,
        };
        let said_by = self.said_by.clone();
        let begun = keep_logs(outer, &folder, container).and_then(|()| {
            let thread = std::thread::Builder::new().name("task".to_owned());
            thread.stack_size(STACK).spawn(move || {
                let said = conversation.run();
                // A launcher that leaves does not listen any more.
                said_by.blocking_send((number, said)).ok();
            })
        });
        Ok(begun.map_err(system))
    }

    /// What all tasks of the job share: the memory for blame, and the folder for spills.
    fn shared(&mut self, folder: &Path) -> std::io::Result<(Arc<OwnedFd>, Arc<File>)> {
        let blame = match &self.blame {
            Some(blame) => Arc::clone(blame),
            None => {
                let blame = Arc::new(Page::create()?.1);
                self.blame = Some(Arc::clone(&blame));
                blame
            }
        };
        let scratch = match &self.scratch {
            Some(scratch) => Arc::clone(scratch),
            None => {
                let spills = folder.parent().unwrap_or(folder);
                let scratch = Arc::new(File::open(spills)?);
                self.scratch = Some(Arc::clone(&scratch));
                scratch
            }
        };
        Ok((blame, scratch))
    }
}

/// Starts the tasks that read what the process prints.
fn keep_logs(outer: Outer, folder: &Path, container: &mut Container<'_>) -> std::io::Result<()> {
    let Outer::Pipes { stdout, stderr, .. } = outer else {
        return Ok(());
    };
    let there = container.carriers.enter();
    for (name, pipe) in [("stdout", stdout), ("stderr", stderr)] {
        let pipe = pipe::Receiver::from_owned_fd(pipe.into())?;
        let keeping = log::keep(pipe, folder.join(name));
        container.tasks.spawn_on(keeping, container.carriers);
    }
    drop(there);
    Ok(())
}
