//! A job of two ranks on two nodes, and what is heard of it.

use std::num::NonZeroU32;

use holding::Finished;
use job::wire::job_event::Event as ToClient;
use job::wire::mpi_event::Event as Said;
use job::{Binding, MpiJob, Universe, Yielding, wire};
use policy::lifecycle::{Grant, KillReason, LifecycleEvent, LifecycleLimits, MpiMachine};
use policy::{
    ClusterView, ContainerId, Counted, Demand, MiB, Millis, NodeId, NodeView, ResourceTypes,
    Resources,
};

use crate::files::{FileWork, FilesDone};
use crate::mpi::explain::Story;
use crate::mpi::{Beginning, Mpi};
use crate::mpi::{MpiHeard, MpiJobEvent};
use crate::work::{Do, JobEvent, OutputSeen};

pub(super) const HOSTS: [&str; 2] = ["n0", "n1"];

/// The job, its clock and what the client was told.
pub(super) struct Bed {
    pub(super) mpi: Mpi,
    now: Millis,
    pub(super) told: Vec<ToClient>,
}

/// However a test has left it: in no state is it due for ever.
impl Drop for Bed {
    fn drop(&mut self) {
        for _ in 0..100 {
            let Some(at) = self.mpi.wakes_at().filter(|_| !std::thread::panicking()) else {
                return;
            };
            self.now = self.now.max(at);
            self.mpi.hear(self.now, MpiHeard::Every(JobEvent::Tick));
            assert!(self.mpi.wakes_at().is_none_or(|next| next > self.now));
        }
    }
}

/// The container on the node of that index; one that replaces it has another number.
pub(super) fn container(index: usize) -> ContainerId {
    ContainerId(format!("c{index}"))
}

fn unit() -> Resources {
    Resources::new(1024, 1)
}

pub(super) fn view(hosts: &[&str]) -> ClusterView {
    let node = |host: &&str| NodeView {
        id: NodeId(format!("{host}:1")),
        host: (*host).into(),
        rack: "/r".into(),
        capability: unit(),
        ..NodeView::default()
    };
    ClusterView {
        nodes: hosts.iter().map(node).collect(),
        maximum: unit(),
        step: MiB(1024),
        counted: Counted::Memory,
        ..ClusterView::default()
    }
}

fn description(demand: &Demand) -> MpiJob {
    MpiJob {
        demand: demand.clone(),
        types: ResourceTypes::default(),
        limits: LifecycleLimits::default(),
        exclude: Vec::new(),
        explain: false,
        yielding: Yielding::Auto,
        binding: Binding::default(),
        any_speed: false,
        gpus_per_process: None,
        universe: Universe::Unknown,
        programs: Vec::new(),
        stage_out: Vec::new(),
        checkpoints: None,
        input: true,
        terminal: None,
    }
}

impl Bed {
    /// Of attempt 1; `changed` says what is not usual about the job.
    pub(super) fn new(changed: impl FnOnce(&mut Beginning)) -> Self {
        let demand = Demand::anywhere(NonZeroU32::new(2).unwrap(), unit());
        let mut beginning = Beginning {
            description: description(&demand),
            attempt: "appattempt_1_0007_000001".parse().unwrap(),
            name: "appattempt_1_0007_000001".into(),
            limits: holding::ClusterLimits {
                types: ResourceTypes::default(),
                maximum: unit(),
                counted: Counted::Memory,
                step: MiB(1024),
            },
            candidates: None,
            story: Story::new(demand.clone(), false),
            job: MpiMachine::new(demand.clone(), LifecycleLimits::default(), 7),
            checkpoints: crate::mpi::checkpoints::Checkpoints::default(),
            timing: wire::Timing::default(),
            began_us: 1_000_000,
        };
        changed(&mut beginning);
        beginning.job = MpiMachine::new(demand, beginning.description.limits, 7);
        Self {
            mpi: Mpi::new(beginning),
            now: Millis(0),
            told: Vec::new(),
        }
    }

    /// As [`Bed::new`], with a client, and both ranks running at 1 s.
    pub(super) fn running(changed: impl FnOnce(&mut Beginning)) -> Self {
        let mut bed = Self::new(changed);
        bed.begin();
        bed.hear(MpiHeard::Every(JobEvent::ClientAttached));
        bed.starts();
        bed
    }

    pub(super) fn begin(&mut self) -> Vec<String> {
        let todo = self.mpi.begin(self.now);
        self.done(todo)
    }

    /// The containers come, the launchers join, the ranks begin.
    pub(super) fn starts(&mut self) -> Vec<String> {
        self.hear(MpiHeard::Own(MpiJobEvent::Machine(
            LifecycleEvent::Snapshot(view(&HOSTS)),
        )));
        let grants = HOSTS.into_iter().enumerate();
        let grants = grants.map(|(index, host)| Grant {
            container: container(index),
            node: NodeId(format!("{host}:1")),
            resources: unit(),
            round: 1,
        });
        let grants = grants.collect();
        self.at(self.now() + 500);
        self.hear(MpiHeard::Own(MpiJobEvent::Granted(grants)));
        self.at(self.now() + 500);
        let mut all = self.joins(0);
        all.extend(self.joins(1));
        for index in 0..HOSTS.len() {
            self.says(
                index,
                Said::Started(wire::RanksStarted {
                    streams: 2,
                    at_us: 2_000_000,
                    ..wire::RanksStarted::default()
                }),
            );
        }
        all
    }

    pub(super) fn joins(&mut self, index: usize) -> Vec<String> {
        self.hear(MpiHeard::Own(MpiJobEvent::Joined {
            container: container(index),
            node: wire::NodeFacts::default(),
        }))
    }

    pub(super) fn now(&self) -> u64 {
        self.now.0
    }

    /// It is so many milliseconds after the job began.
    pub(super) fn at(&mut self, ms: u64) {
        assert!(ms >= self.now.0, "time goes on");
        self.now = Millis(ms);
    }

    /// The job sleeps until something is due.
    pub(super) fn wakes(&mut self) -> Vec<String> {
        let at = self.mpi.wakes_at().expect("something is due");
        self.now = self.now.max(at);
        self.hear(MpiHeard::Every(JobEvent::Tick))
    }

    pub(super) fn hear(&mut self, heard: MpiHeard) -> Vec<String> {
        let is_tick = matches!(heard, MpiHeard::Every(JobEvent::Tick));
        let todo = self.mpi.hear(self.now, heard);
        let done = self.done(todo);
        let due = self.mpi.wakes_at().filter(|at| is_tick && *at <= self.now);
        assert_eq!(due, None, "it stays due");
        done
    }

    pub(super) fn says(&mut self, index: usize, event: Said) -> Vec<String> {
        let container = container(index);
        self.hear(MpiHeard::Own(MpiJobEvent::Said { container, event }))
    }

    pub(super) fn files(&mut self, done: FilesDone) -> Vec<String> {
        self.hear(MpiHeard::Own(MpiJobEvent::Files(done)))
    }

    /// The rank has returned 0, or was killed by that signal.
    pub(super) fn ends(&mut self, rank: u32, signal: Option<i32>) -> Vec<String> {
        use wire::rank_ended::How;
        let ended = wire::RankEnded {
            rank,
            how: Some(signal.map_or(How::ExitCode(0), How::Signal)),
            pmi: wire::PmiStage::Finalized.into(),
            ..wire::RankEnded::default()
        };
        self.says(usize::try_from(rank).unwrap(), Said::Ended(ended))
    }

    /// Both ranks have returned 0; what the second end brings.
    pub(super) fn succeeds(&mut self) -> Vec<String> {
        self.ends(0, None);
        self.ends(1, None)
    }

    pub(super) fn killed(&mut self, why: KillReason) -> Vec<String> {
        self.hear(MpiHeard::Every(JobEvent::Killed(why)))
    }

    pub(super) fn output(&mut self, seen: OutputSeen) -> Vec<String> {
        self.hear(MpiHeard::Own(MpiJobEvent::Output(seen)))
    }

    /// All output is with the client: from there to the order to unregister.
    pub(super) fn drained(&mut self) -> Vec<String> {
        let mut all = self.output(OutputSeen {
            is_drained: true,
            ..OutputSeen::default()
        });
        if all.last().is_some_and(|last| last == "measure") {
            all.extend(self.hear(MpiHeard::Own(MpiJobEvent::Memory(wire::Memory::default()))));
        }
        all
    }

    /// The ResourceManager has taken the verdict, or not.
    pub(super) fn unregistered(&mut self, unregistered: bool) -> Vec<String> {
        self.hear(MpiHeard::Every(JobEvent::Finished(Finished {
            unregistered,
            allocates: 9,
            asking: 1,
        })))
    }

    /// The sentences and verdicts that the client was told since this was last called.
    pub(super) fn heard_by_the_client(&mut self) -> Vec<String> {
        let told = std::mem::take(&mut self.told).into_iter();
        let words = told.map(|event| match event {
            ToClient::Notice(notice) => notice.sentence,
            ToClient::Verdict(verdict) => format!(
                "verdict {} after {} allocates: {}",
                verdict.exit_code, verdict.allocates, verdict.sentence
            ),
            ToClient::Unregistered(_) => "unregistered".into(),
            ToClient::Again(again) => format!("again {}", again.run),
            other => format!("{other:?}"),
        });
        words.collect()
    }

    /// In words; whatever may be told to the client is told.
    fn done(&mut self, todo: Vec<Do>) -> Vec<String> {
        while self.mpi.has_an_event() {
            let event = self.mpi.outbox().next().unwrap().event;
            self.told.extend(event);
        }
        let words = todo.iter().filter_map(words);
        words.collect()
    }
}

/// What is done, in words; `None`: progress is shown.
fn words(what: &Do) -> Option<String> {
    use wire::mpi_order::Order;
    Some(match what {
        Do::Show(_) | Do::Progress(_) => return None,
        Do::Tell { to, order } => {
            let order = match &**order {
                Order::Share(_) => "share".to_owned(),
                Order::Stop(stop) => format!("stop within {} ms", stop.grace_ms),
                Order::Checkpoint(checkpoint) => format!("save {}", checkpoint.id),
                Order::Compare(_) => "compare".to_owned(),
                Order::Find(find) => format!("find {}", find.paths.join(" ")),
                Order::Move(wire::Move { copies, .. }) => {
                    let copies = copies.iter().map(|copy| copy.remote.as_str());
                    format!("copy to {}", copies.collect::<Vec<_>>().join(" "))
                }
                other => format!("{other:?}"),
            };
            format!("tell {to} {order}")
        }
        Do::Files(work) => match work {
            FileWork::WasAsked { .. } => "was one asked for".into(),
            FileWork::CloseCheckpoint { to, .. } => format!("complete {to}"),
            FileWork::GiveCheckpointUp { left, refused, .. } => {
                let why = refused.as_ref().map(|(_, why)| why.as_str());
                format!("give up {left}: {}", why.unwrap_or("nobody asked"))
            }
            FileWork::ClearCheckpoints { keeps, .. } => format!("clear, keeps: {keeps}"),
            FileWork::Undelivered { .. } => "what is undelivered".into(),
            FileWork::AreFree(places) => {
                let paths = places.iter().flat_map(|(_, paths)| paths);
                let paths: Vec<&str> = paths.map(String::as_str).collect();
                format!("are free: {}", paths.join(" "))
            }
            FileWork::Commit { own, .. } => format!("commit {}", own.path),
            FileWork::Forget(all) => {
                let all: Vec<&str> = all.iter().map(|own| own.path.as_str()).collect();
                format!("forget {}", all.join(" "))
            }
        },
        Do::Ask(asking) => format!("ask for {}", asking.fresh().count()),
        Do::Release(all) => format!("release {}", all.len()),
        Do::Start(id) => format!("start {id}"),
        Do::Probe(id) => format!("probe {id}"),
        Do::Dismiss(id) => format!("dismiss {id}"),
        Do::Leave(id) => format!("leave {id}"),
        Do::Admit(Ok(())) => "admit".into(),
        Do::Admit(Err(why)) => format!("refuse: {why}"),
        Do::LookAtOutput { .. } => "look at output".into(),
        Do::Unregister {
            status,
            diagnostics,
        } => format!("unregister {status:?}: {diagnostics}"),
        Do::TakeSnapshot => "snapshot".into(),
        Do::LookAround { .. } => "look around".into(),
        Do::LastLook => "last look".into(),
        Do::LookForRivals { .. } => "look for rivals".into(),
        Do::Hurry => "hurry".into(),
        Do::LogOutput => "log output".into(),
        Do::CloseOutput => "close output".into(),
        Do::RenewInput => "renew input".into(),
        Do::EndInput => "end input".into(),
        Do::DropFiles => "drop files".into(),
        Do::Measure => "measure".into(),
        Do::ForTasks(wanted) => format!("for tasks: {wanted:?}"),
    })
}
