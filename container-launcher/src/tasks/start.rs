//! Starts the process of a task.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fpga_client::client::ACCELERATORS_VARIABLE;
use gerbil_task::settings::{READ_ORDER, READ_TIMEOUT};
use gerbil_task::{
    Blamed, Connection, LAUNCHER_VARIABLE, Page, ROLE_VARIABLE, ToTask, VERSION, Welcome,
};
use job::wire::{Program, Refusal, StartTask};
use nix::sched::CpuSet;
use nix::unistd::Pid;
use policy::MiB;
use policy::scratch::ScratchLimits;
use rustix::process::{Resource, Rlimit, prlimit};
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

use super::Tasks;
use super::attempt::{Attempt, Parts, Said};
use super::carrier::Carrier;
use super::conversation::{Conversation, TaskFailure};
use super::log::{self, LogWriter, Printed};
use super::logs::TaskLog;
use super::output::Files;
use super::places::{Storages, TaskFiles};
use super::sources::Sources;
use super::trouble::Trouble;
use super::watch::{self, Bounds};
use crate::container::OwnContainer;
use crate::cores;
use crate::disks::Room;
use crate::functions::FunctionLease;
use crate::job_files;
use crate::process::exec::INHERITED_FD;
use crate::process::start::ProcessStart;
use crate::process::streams::{self, Outer, ProcessStreams};
use crate::process::{Grants, Id, Process, environment};
use crate::{node_facts, program};

/// Folder in the job's working directory with one for each process.
const FOLDER: &str = ".gerbil-tasks";
/// How much sooner than others the kernel ends tasks where memory is short, of 1,000: they are tried again, while with
/// the launcher all would go that runs here.
const OOM_SCORE_ADJ: &str = "900";
/// What YARN bears of address space, unless it is told otherwise, is 2.1 times a container's memory
/// (`yarn.nodemanager.vmem-pmem-ratio`). What is never touched costs nothing: it may be promised up to there.
const DATA: u64 = 2;
/// Stack of the thread that converses, bytes.
const STACK: usize = 256 * 1024;

/// What a process is started with.
struct Ready {
    program: Program,
    welcome: Welcome,
    task: ToTask,
    places: TaskFiles,
    bounds: Bounds,
    limits: ScratchLimits,
    /// Launchers that a reduce fetches from at the same time.
    copies: usize,
}

impl Tasks {
    /// The process runs when this returns, and the conversation with it, or the attempt knows why there is none.
    ///
    /// # Errors
    ///
    /// Why it does not run, a sentence.
    pub(super) async fn start(
        &mut self,
        mut order: StartTask,
        leases: Vec<FunctionLease>,
        container: &mut OwnContainer<'_>,
    ) -> Result<Attempt, String> {
        let (number, slot) = (order.process, order.slot);
        let folder = self.folder.join(FOLDER).join(number.to_string());
        job_files::make_folder(&container.around.folder, &folder).map_err(|error| {
            let folder = folder.display();
            format!("no folder for task process {number} at {folder}: {error}")
        })?;
        let ready = self.check(&mut order, &mut container.storages)?;
        let reads = ready.welcome.settings.get(READ_ORDER);
        if let Some(order) = reads.filter(|order| !order.is_empty()) {
            let seconds = ready.welcome.settings.get(READ_TIMEOUT);
            let seconds = seconds.map(String::as_str);
            container.elements.order_reads(order, seconds)?;
        }
        let fetcher = match order.launchers.is_empty() {
            true => None,
            false => Some(
                container
                    .exchange
                    .fetcher()
                    .map_err(|error| error.to_string())?,
            ),
        };
        let kept = container.exchange.kept().clone();
        let fetcher = (fetcher, ready.copies);
        let room = Room::new(container.disks.clone(), ready.limits);
        let ahead = self.copies.clone();
        let sources = Sources::new(self.job, kept, fetcher, &mut order, room.clone(), ahead);
        let system = |error: std::io::Error| format!("task process {number}: {error}");
        let own_place = self.free_place();
        let (page, blame) = self.blame(own_place / Page::SLOTS).map_err(system)?;
        let place = own_place % Page::SLOTS;
        let page = page.slot(place);
        page.begin(0, 0);
        let scratch = Arc::new(File::open(room.folder()?).map_err(system)?);

        let cores = cores::set_of(&order.cpus);
        let porter = container.porters.of(slot, cores.as_ref()).map_err(system)?;

        let (streams, outer) = streams::pipes(false).map_err(system)?;
        let (socket, own) = UnixStream::pair().map_err(system)?;
        let ProcessStreams::Plain { stdout, stderr, .. } = streams else {
            return Err("a task has no terminal".to_owned());
        };
        let streams = ProcessStreams::Plain {
            stdin: Some(own.into()),
            stdout,
            stderr,
        };
        let inherits = (streams, cores, &leases[..]);
        let pid = self
            .fork(number, &ready.program, inherits, container)
            .await?;
        let gone = CancellationToken::new();
        let process = Process::new(pid.as_raw(), gone.clone(), Grants::default());
        self.processes.add(number, process);
        let (printed, ends) = (Printed::default(), self.ends.child_token());
        let carrier = porter.handle().clone();
        let mut attempt = Attempt::new(Parts {
            slot,
            porter,
            own_place,
            memory_mib: order.memory_mib,
            task: Arc::new(ready.task),
            page,
            status: Arc::default(),
            printed: printed.clone(),
            output: ready.places.output,
            leases,
            bounds: ready.bounds,
            pid,
            begun: container.disks.begun(pid.as_raw()),
            ends,
        });
        let conversation = Conversation {
            number,
            connection: Connection::new(socket),
            plan: order.plan,
            welcome: Welcome {
                version: VERSION,
                blame: place,
                ..ready.welcome
            },
            task: Arc::clone(&attempt.task),
            blame,
            page: attempt.page.clone(),
            scratch,
            inputs: ready.places.inputs,
            files: Files::new(attempt.output.clone()),
            job: self.job,
            kept: container.exchange.kept().clone(),
            sources,
            gathered: Vec::new(),
            gathered_ahead: 0,
            shuffled: Duration::ZERO,
            carrier: Carrier::new(carrier, attempt.ends.clone()),
            trouble: Trouble::default(),
            status: Arc::clone(&attempt.status),
            printed: printed.clone(),
            gone,
            said_by: self.said_by.clone(),
        };
        let begun = keep_logs(outer, &folder, printed, container).and_then(|log| {
            if let Some(log) = log {
                self.logs.insert(number, log);
            }
            let thread = std::thread::Builder::new().name("task".to_owned());
            thread.stack_size(STACK).spawn(move || conversation.run())
        });
        match begun {
            Ok(thread) => attempt.conversation = Some(thread),
            Err(error) => attempt.hear(Said::Last(Err(TaskFailure::Sentence(system(error))))),
        }
        self.room = Some(room);
        Ok(attempt)
    }

    /// Understands an order.
    fn check(&self, order: &mut StartTask, storages: &mut Storages) -> Result<Ready, String> {
        let number = order.process;
        if self.processes.has(number) || self.attempts.contains_key(&number) {
            return Err(format!("task process {number} runs already"));
        }
        if let Some((other, _)) = self.attempts.iter().find(|(_, of)| of.slot == order.slot) {
            return Err(format!(
                "slot {} is that of task process {other}",
                order.slot
            ));
        }
        let unreadable =
            |what: &str, error: serde_json::Error| format!("the {what} of an order: {error}");
        let welcome: Welcome =
            serde_json::from_str(&order.welcome).map_err(|error| unreadable("welcome", error))?;
        let task: ToTask =
            serde_json::from_str(&order.task).map_err(|error| unreadable("task", error))?;
        if Blamed::of(&task).is_none() {
            return Err("an order is neither a map nor a reduce".to_owned());
        }
        let program = order.program.take();
        let program = program.ok_or("an order names no program")?;
        program::check_one(&program, &self.folder).map_err(|refusal| without_host(&refusal))?;
        Ok(Ready {
            places: TaskFiles::of(order, storages)?,
            bounds: Bounds::of(&welcome)?,
            limits: watch::limits(&welcome, &self.host)?,
            copies: watch::copies(&welcome)?,
            program,
            welcome,
            task,
        })
    }

    async fn fork(
        &self,
        number: u32,
        program: &Program,
        (streams, cores, leases): (ProcessStreams, Option<CpuSet>, &[FunctionLease]),
        container: &OwnContainer<'_>,
    ) -> Result<Pid, String> {
        let around = container.around;
        let inherited = around.environment.clone().into_iter();
        let id = &container.context.container;
        // What YARN says is of the container.
        let own = self.folder.to_str().filter(|_| self.job.is_of_session());
        let suggested = own.map(|folder| ("PWD", folder.to_owned()));
        let environment = environment::of(inherited, suggested, program, id, &self.folder);
        let command = Arc::new(program::command(program, &self.folder, environment));
        let id = Id {
            job: self.job,
            number,
        };
        let own = [
            (ROLE_VARIABLE, "task".to_owned()),
            (LAUNCHER_VARIABLE, std::process::id().to_string()),
        ];
        let devices = container.elements.variables();
        let mut start = ProcessStart::new(id, &command, streams)
            .set(own.into_iter().chain(devices))
            .bind(cores);
        if !leases.is_empty() {
            let named = leases.iter().zip(INHERITED_FD..);
            let named = named.map(|(lease, number)| format!("{}@{number}", lease.function));
            let named: Vec<String> = named.collect();
            start = start.set([(ACCELERATORS_VARIABLE, named.join(","))]);
        }
        for lease in leases {
            let socket = lease.accelerator.as_fd().try_clone_to_owned();
            start = start.inherit(socket.map_err(|error| format!("its lease: {error}"))?);
        }
        let started = container.nursery.start(start).await;
        let pid =
            started.map_err(|error| without_host(&program::not_started(&program.file, &error)))?;
        // Whoever may not write it is no worse off than before.
        drop(fs::write(
            format!("/proc/{pid}/oom_score_adj"),
            OOM_SCORE_ADJ,
        ));
        if container.context.memory.0 > 0 {
            limit_data(pid, container.context.memory);
        }
        Ok(pid)
    }

    /// The lowest place that no task has: its slot may be another's by the time that it ends.
    fn free_place(&self) -> u32 {
        let taken: BTreeSet<u32> = sort::set(self.attempts.values().map(|of| of.own_place));
        (0..).find(|place| !taken.contains(place)).unwrap_or(0)
    }

    /// The memory in which tasks of the job note what they work on, by its number.
    fn blame(&mut self, number: u32) -> std::io::Result<(Page, Arc<OwnedFd>)> {
        if let Some(blame) = self.blame.get(&number) {
            return Ok(blame.clone());
        }
        let (page, descriptor) = Page::create()?;
        let blame = (page, Arc::new(descriptor));
        self.blame.insert(number, blame.clone());
        Ok(blame)
    }
}

/// A task that asks for [`DATA`] times as much data as its whole container has memory for is refused, and ends alone,
/// before YARN counts its address space and ends all that runs here.
fn limit_data(pid: Pid, memory: MiB) {
    let most = memory.0.saturating_mul(DATA << 20);
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    let pid = rustix::process::Pid::from_raw(pid.as_raw());
    // A process that has ended meanwhile needs none.
    let _before = prlimit(pid, Resource::Data, limit).is_ok();
}

/// A refusal names the host, as what is told of a task does anyhow.
fn without_host(refusal: &Refusal) -> String {
    let own = format!("{}: ", node_facts::hostname());
    let sentence = &refusal.sentence;
    sentence.strip_prefix(&own).unwrap_or(sentence).to_owned()
}

/// Removes what a process has printed.
pub(super) fn forget(job: &Path, number: u32) {
    let folder: PathBuf = job.join(FOLDER).join(number.to_string());
    // What stays goes with the job.
    drop(fs::remove_dir_all(folder));
}

/// Starts the tasks that read what the process prints; where that is read. `None`: it has a terminal.
fn keep_logs(
    outer: Outer,
    folder: &Path,
    printed: Printed,
    container: &mut OwnContainer<'_>,
) -> std::io::Result<Option<TaskLog>> {
    let Outer::Pipes { stdout, stderr, .. } = outer else {
        return Ok(None);
    };
    let there = container.carriers.enter();
    let writers = ["stdout", "stderr"].map(|name| LogWriter::create(&folder.join(name)));
    let [of_stdout, of_stderr] = writers;
    let (of_stdout, of_stderr) = (of_stdout?, of_stderr?);
    let log = TaskLog {
        stdout: of_stdout.log(),
        stderr: of_stderr.log(),
        coming: [Printed::default(), printed.clone()],
    };
    let [of_both, _] = log.coming.clone();
    let streams = [(stdout, of_stdout, of_both), (stderr, of_stderr, printed)];
    for (pipe, writer, printed) in streams {
        let pipe = pipe::Receiver::from_owned_fd(pipe.into())?;
        container
            .tasks
            .spawn_on(log::keep(pipe, writer, printed), container.carriers);
    }
    drop(there);
    Ok(Some(log))
}
