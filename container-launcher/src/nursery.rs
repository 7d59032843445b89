//! The one thread that forks, signals and reaps.
//!
//! The kernel kills a rank when the *thread* that forked it ends, so one thread forks them all and
//! lives until the launcher leaves. It reaps them too: a pid is then never signalled after it was
//! given back, and the standard library, which reaps a child that could not be executed, never
//! finds it taken. For the same reason it is the one to look at what they use.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{JoinHandle, park_timeout};
use std::time::{Duration, Instant};

use job::JobId;
use job::exit::End;
use nix::sched::CpuSet;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tokio::sync::oneshot;

use crate::affinity::{self, NotMoved};
use crate::foreign_processes::ForeignProcesses;
use crate::process::start::ProcessStart;
use crate::process::{self, exec};
use crate::processes;
use crate::samples::{self, Alive, Look};
use crate::stopping;
use crate::sweep::Kin;

/// Stack of the thread, bytes: it walks /proc and starts programs.
const STACK: usize = 256 * 1024;
/// The owner waits for each answer, a look's aside, so that more than two requests are never there.
const REQUESTS: usize = 2;
/// Most that a sweep may take. A launcher that lost its AM is to be gone within a second.
const SWEEP_MAX: Duration = Duration::from_millis(700);
/// Of how many processes that are no ranks, and were reaped last, it is known how they ended.
const OTHERS: usize = 64;
/// Between two looks at the process table.
const SWEEP_PAUSE: Duration = Duration::from_millis(5);

/// Who is signalled.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Whom {
    All,
    Job(JobId),
    One(process::Id),
}

impl Whom {
    fn is(self, id: process::Id) -> bool {
        match self {
            Self::All => true,
            Self::Job(job) => job == id.job,
            Self::One(one) => one == id,
        }
    }
}

/// A process that is gone and reaped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReapedProcess {
    pub(crate) id: process::Id,
    pub(crate) end: End,
    /// Highest resident size, KiB. Never less than the launcher's own when it forked the rank.
    pub(crate) max_rss_kib: u64,
    /// User and system time, microseconds.
    pub(crate) cpu_us: u64,
    /// From its start until it was reaped.
    pub(crate) life: Duration,
}

enum NurseryRequest {
    Start(Box<ProcessStart>, oneshot::Sender<std::io::Result<Pid>>),
    Reap(oneshot::Sender<Vec<ReapedProcess>>),
    HowEnded(Pid, oneshot::Sender<Option<End>>),
    Signal(Whom, Signal, oneshot::Sender<()>),
    Sweep(JobId, oneshot::Sender<Vec<ReapedProcess>>),
    Look(oneshot::Sender<Look>),
    Kill(process::Id, oneshot::Sender<()>),
    Nudge(JobId, Vec<u32>, Signal, oneshot::Sender<()>),
    Move(
        process::Id,
        Box<CpuSet>,
        oneshot::Sender<Result<(), NotMoved>>,
    ),
    Park(process::Id, oneshot::Sender<Result<(), NotMoved>>),
    GoOn(process::Id, oneshot::Sender<Result<(), NotMoved>>),
    Close,
}

/// The owner's hold on the thread.
#[derive(Debug)]
pub(crate) struct Nursery {
    requests: SyncSender<NurseryRequest>,
    thread: JoinHandle<()>,
}

impl Nursery {
    pub(crate) fn open(kin: Kin) -> std::io::Result<Self> {
        let (requests, received) = sync_channel(REQUESTS);
        let thread = std::thread::Builder::new()
            .name("nursery".to_owned())
            .stack_size(STACK)
            .spawn(move || {
                Thread {
                    kin,
                    alive: BTreeMap::new(),
                    others: VecDeque::new(),
                    foreign: ForeignProcesses::default(),
                }
                .serve(&received);
            })?;
        Ok(Self { requests, thread })
    }

    /// Forks and executes a process.
    pub(crate) async fn start(&self, start: ProcessStart) -> std::io::Result<Pid> {
        self.ask(|answer| NurseryRequest::Start(Box::new(start), answer))
            .await
            .unwrap_or_else(|| Err(std::io::Error::other("the forking thread is gone")))
    }

    /// Collects who has ended.
    pub(crate) async fn reap(&self) -> Vec<ReapedProcess> {
        self.ask(NurseryRequest::Reap).await.unwrap_or_default()
    }

    /// How a child of the launcher's that is no rank has ended, if it has, and not long ago.
    pub(crate) async fn how_ended(&self, child: Pid) -> Option<End> {
        self.ask(|answer| NurseryRequest::HowEnded(child, answer))
            .await
            .flatten()
    }

    /// Sends a signal to the process groups of those that still run.
    pub(crate) async fn signal(&self, whom: Whom, signal: Signal) {
        self.ask(|answer| NurseryRequest::Signal(whom, signal, answer))
            .await;
    }

    /// Kills the processes of a job with all their descendants and orphans ([`Kin::kill_of`]). Those that
    /// were reaped meanwhile, of whatever job.
    pub(crate) async fn sweep(&self, job: JobId) -> Vec<ReapedProcess> {
        self.ask(|answer| NurseryRequest::Sweep(job, answer))
            .await
            .unwrap_or_default()
    }

    /// Sends a signal to these processes of a job, and to nothing that they have started.
    pub(crate) async fn nudge(&self, job: JobId, numbers: Vec<u32>, signal: Signal) {
        self.ask(|answer| NurseryRequest::Nudge(job, numbers, signal, answer))
            .await;
    }

    /// Kills a process and all that descends from it, whatever process groups these have begun.
    pub(crate) async fn kill(&self, id: process::Id) {
        self.ask(|answer| NurseryRequest::Kill(id, answer)).await;
    }

    /// Moves a process and all that descends from it to other cores.
    ///
    /// # Errors
    ///
    /// Why it is where it was.
    pub(crate) async fn move_to(&self, id: process::Id, cores: CpuSet) -> Result<(), NotMoved> {
        self.ask(|answer| NurseryRequest::Move(id, Box::new(cores), answer))
            .await
            .unwrap_or(Err(NotMoved::Gone))
    }

    /// Stops a process and all that descends from it.
    ///
    /// # Errors
    ///
    /// Why it goes on.
    pub(crate) async fn park(&self, id: process::Id) -> Result<(), NotMoved> {
        self.ask(|answer| NurseryRequest::Park(id, answer))
            .await
            .unwrap_or(Err(NotMoved::Gone))
    }

    /// Lets a process that was stopped go on, with all that descends from it.
    ///
    /// # Errors
    ///
    /// Why it does not.
    pub(crate) async fn go_on(&self, id: process::Id) -> Result<(), NotMoved> {
        self.ask(|answer| NurseryRequest::GoOn(id, answer))
            .await
            .unwrap_or(Err(NotMoved::Gone))
    }

    /// Looks at what the ranks use. The answer may be waited for while other things are asked;
    /// `None`: nobody will answer.
    pub(crate) fn look(&self) -> Option<oneshot::Receiver<Look>> {
        let (answer, answered) = oneshot::channel();
        self.requests.try_send(NurseryRequest::Look(answer)).ok()?;
        Some(answered)
    }

    /// Sweeps and ends the thread.
    pub(crate) fn close(self) {
        // Without the thread the kernel has killed the ranks already.
        drop(self.requests.send(NurseryRequest::Close));
        drop(self.thread.join());
    }

    /// None: the thread is gone, and with it all ranks.
    async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<T>) -> NurseryRequest,
    ) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        self.requests.try_send(request(answer)).ok()?;
        answered.await.ok()
    }
}

struct Thread {
    kin: Kin,
    /// Ranks that are not yet reaped. A rank leads its process group: the pid is the group's too.
    alive: BTreeMap<i32, Alive>,
    /// How others ended that were reaped, the last ones.
    others: VecDeque<(i32, End)>,
    /// Processes that no look has to read.
    foreign: ForeignProcesses,
}

impl Thread {
    fn serve(mut self, requests: &Receiver<NurseryRequest>) {
        // An answer that nobody waits for any more is no loss.
        while let Ok(request) = requests.recv() {
            if self.answer(request, requests).is_break() {
                break;
            }
        }
        self.sweep();
    }

    /// Breaks when the thread is to end.
    fn answer(
        &mut self,
        request: NurseryRequest,
        requests: &Receiver<NurseryRequest>,
    ) -> ControlFlow<()> {
        match request {
            NurseryRequest::Start(start, answer) => drop(answer.send(self.start(*start))),
            NurseryRequest::Reap(answer) => drop(answer.send(self.reap())),
            NurseryRequest::HowEnded(child, answer) => {
                answer.send(self.how_ended(child.as_raw())).ok();
            }
            NurseryRequest::Signal(whom, signal, answer) => {
                self.signal(whom, signal);
                answer.send(()).ok();
            }
            NurseryRequest::Sweep(job, answer) => drop(answer.send(self.sweep_job(job))),
            NurseryRequest::Look(answer) => return self.look(answer, requests),
            NurseryRequest::Kill(id, answer) => {
                self.kill_tree(id);
                answer.send(()).ok();
            }
            NurseryRequest::Nudge(job, numbers, signal, answer) => {
                for (&pid, of) in &self.alive {
                    if of.id.job == job && numbers.contains(&of.id.number) {
                        kill(Pid::from_raw(pid), signal).ok();
                    }
                }
                answer.send(()).ok();
            }
            NurseryRequest::Move(id, cores, answer) => {
                drop(answer.send(self.led_by(id, |pid| affinity::move_to(pid, &cores))));
            }
            NurseryRequest::Park(id, answer) => {
                drop(answer.send(self.led_by(id, stopping::stop)));
            }
            NurseryRequest::GoOn(id, answer) => {
                drop(answer.send(self.led_by(id, stopping::go_on)));
            }
            NurseryRequest::Close => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    /// What becomes of all that a process leads.
    fn led_by(
        &self,
        id: process::Id,
        what: impl FnOnce(i32) -> Result<(), NotMoved>,
    ) -> Result<(), NotMoved> {
        let mut alive = self.alive.iter();
        let leader = alive.find(|(_, of)| of.id == id).map(|(&pid, _)| pid);
        leader.map_or(Err(NotMoved::Gone), what)
    }

    /// A look walks the node's process table, which may be long: whoever asks for something else
    /// meanwhile is answered in between.
    fn look(
        &mut self,
        answer: oneshot::Sender<Look>,
        requests: &Receiver<NurseryRequest>,
    ) -> ControlFlow<()> {
        let began = Instant::now();
        let mut flow = ControlFlow::Continue(());
        let mut foreign = std::mem::take(&mut self.foreign);
        let between = || {
            if let (true, Ok(request)) = (flow.is_continue(), requests.try_recv()) {
                flow = self.answer(request, requests);
            }
            flow
        };
        let processes = processes::all_minding(between, |pid| !foreign.hold(pid));
        if flow.is_continue() {
            foreign.learn(&processes, Pid::this().as_raw());
            self.foreign = foreign;
            let alive = self.alive.iter().map(|(&pid, running)| (pid, running));
            let own = Pid::this().as_raw();
            drop(answer.send(samples::look(alive, &processes, own, began)));
        }
        flow
    }

    fn start(&mut self, start: ProcessStart) -> std::io::Result<Pid> {
        let id = start.id();
        let pid = exec::execute(start)?;
        let since = Instant::now();
        self.alive.insert(pid.as_raw(), Alive { id, since });
        Ok(pid)
    }

    fn signal(&self, whom: Whom, signal: Signal) {
        for (&pid, of) in &self.alive {
            if whom.is(of.id) {
                // It may have ended in this moment.
                killpg(Pid::from_raw(pid), signal).ok();
            }
        }
    }

    fn kill_tree(&self, id: process::Id) {
        let mut alive = self.alive.iter();
        let Some((&leader, _)) = alive.find(|(_, of)| of.id == id) else {
            return;
        };
        let processes = processes::all();
        for &pid in processes.keys() {
            let of = samples::leader(pid, &processes, |pid| self.alive.contains_key(&pid));
            if of == Some(leader) {
                kill(Pid::from_raw(pid), Signal::SIGKILL).ok();
            }
        }
        // Those that it began meanwhile.
        self.signal(Whom::One(id), Signal::SIGKILL);
    }

    fn sweep_job(&mut self, job: JobId) -> Vec<ReapedProcess> {
        let deadline = Instant::now() + SWEEP_MAX;
        let mut ended = Vec::new();
        loop {
            let leaders = self.alive.iter().map(|(&pid, alive)| (pid, alive.id.job));
            let leaders: BTreeMap<i32, JobId> = sort::map(leaders);
            self.signal(Whom::Job(job), Signal::SIGKILL);
            let killed = self.kin.kill_of(job, &leaders);
            ended.extend(self.reap());
            let is_over = killed == 0 && self.alive.values().all(|alive| alive.id.job != job);
            if is_over || Instant::now() > deadline {
                return ended;
            }
            park_timeout(SWEEP_PAUSE);
        }
    }

    fn sweep(&mut self) -> Vec<ReapedProcess> {
        let deadline = Instant::now() + SWEEP_MAX;
        self.signal(Whom::All, Signal::SIGKILL);
        let mut ended = self.reap();
        while self.kin.kill_all() > 0 && Instant::now() < deadline {
            park_timeout(SWEEP_PAUSE);
            ended.extend(self.reap());
        }
        ended.extend(self.reap());
        ended
    }

    /// Reaps every child that has ended, orphans that were handed to this process too.
    fn reap(&mut self) -> Vec<ReapedProcess> {
        let mut ended = Vec::new();
        while let Some((pid, status, usage)) = wait_for(-1) {
            let Some(Alive { id, since }) = self.alive.remove(&pid) else {
                self.others.truncate(OTHERS - 1);
                self.others.push_front((pid, end_of(status)));
                continue;
            };
            ended.push(ReapedProcess {
                id,
                end: end_of(status),
                max_rss_kib: u64::try_from(usage.ru_maxrss).unwrap_or(0),
                cpu_us: microseconds(usage.ru_utime).saturating_add(microseconds(usage.ru_stime)),
                life: since.elapsed(),
            });
        }
        ended
    }

    fn how_ended(&mut self, child: i32) -> Option<End> {
        let mut others = self.others.iter();
        if let Some((_, end)) = others.find(|(pid, _)| *pid == child) {
            return Some(*end);
        }
        // The id may be that of a rank by now, whose end is told elsewhere.
        if self.alive.contains_key(&child) {
            return None;
        }
        wait_for(child).map(|(_, status, _)| end_of(status))
    }
}

/// A child that has ended, this one or, with -1, any; `None` when there is none at the moment.
#[expect(unsafe_code, reason = "wait4 alone tells what a single child has used")]
fn wait_for(child: i32) -> Option<(i32, i32, libc::rusage)> {
    let mut status = 0;
    // SAFETY: all fields of rusage are numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live variables of the types the call writes.
    let pid = unsafe { libc::wait4(child, &raw mut status, libc::WNOHANG, &raw mut usage) };
    (pid > 0).then_some((pid, status, usage))
}

fn end_of(status: i32) -> End {
    if libc::WIFSIGNALED(status) {
        End::Signal(u8::try_from(libc::WTERMSIG(status)).unwrap_or(u8::MAX))
    } else {
        End::Code(u8::try_from(libc::WEXITSTATUS(status)).unwrap_or(u8::MAX))
    }
}

fn microseconds(time: libc::timeval) -> u64 {
    const PER_SECOND: u64 = 1_000_000;
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_usec).unwrap_or(0);
    seconds.saturating_mul(PER_SECOND).saturating_add(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_during_a_look_does_not_wait_for_the_end_of_it() {
        let mut thread = Thread {
            kin: Kin::named("container_x".to_owned(), []),
            alive: BTreeMap::new(),
            others: VecDeque::new(),
            foreign: ForeignProcesses::default(),
        };
        let (requests, received) = sync_channel(REQUESTS);
        let (look, mut looked) = oneshot::channel();
        let (signal, mut signalled) = oneshot::channel();
        let request = NurseryRequest::Signal(Whom::All, Signal::SIGTERM, signal);
        assert!(requests.send(request).is_ok());
        assert!(thread.look(look, &received).is_continue());
        assert!(signalled.try_recv().is_ok() && looked.try_recv().is_ok());

        // The end of the thread ends a look.
        let (look, mut looked) = oneshot::channel();
        assert!(requests.send(NurseryRequest::Close).is_ok());
        assert!(thread.look(look, &received).is_break());
        assert!(looked.try_recv().is_err());
    }
}
