//! The MapReduce job of an ApplicationMaster, driven without a cluster.

mod attempts;
mod devices;
mod ended;
mod fetches;
mod gathered;
mod leaving;
mod moves;

use gerbil_task::{FromTask, Piece, ReduceOrder, ToTask};
use holding::ContainerEvent;
use job::history::TaskAttempt;
use job::wire::task_event::Event as OfTask;
use job::wire::task_order::Order;
use job::{BlockPlaces, FileAt, MpiProgram, Split, StageTerms};
use policy::Resources;
use policy::lending::TaskStart;
use policy::lifecycle::KillReason;
use policy::schedule::{AttemptIx, ContainerIx, Level, Speed};
use storage::Address;

use super::folder::FolderDone;
use super::*;
use crate::lent_events::LentEvent;
use crate::work::JobEvent;

const JOB: &str = "application_1700000000000_0042_7";

/// A job, and what it has wanted and nobody has asked for yet.
struct Bed {
    job: MapReduce,
    now: Millis,
    wanted: Vec<String>,
    orders: Vec<(ContainerId, Order)>,
    attempts: u32,
}

fn terms(attempts: u32) -> StageTerms {
    StageTerms {
        unit: Resources::default(),
        needs: Vec::new(),
        attempts,
        speculative: true,
    }
}

fn id(number: u32) -> ContainerId {
    ContainerId(format!("c{number}"))
}

impl Bed {
    /// Its client follows, its folder is made, and its maps may start; without maps its reduces.
    fn new(maps: u32, reduces: u32) -> Self {
        let mut bed = Self::begun(maps, reduces);
        bed.folder(FolderDone::SetUp(Ok(())));
        bed.tell(MapReduceHeard::Own(MapReduceEvent::SlotsCome));
        let first = match maps {
            0 => format!("runnable Reduce {reduces}"),
            _ => format!("runnable Map {maps}"),
        };
        assert_eq!(bed.wanted(), ["set up", "admit", "slots", first.as_str()]);
        bed
    }

    fn begun(maps: u32, reduces: u32) -> Self {
        let file = |path: &str| FileAt {
            address: 0,
            path: path.to_owned(),
            modified_ms: 0,
        };
        let split = Split {
            pieces: vec![Piece {
                name: "file:/in".into(),
                offset: 0,
                length: 10,
                size: 10,
            }],
            files: vec![file("/in")],
            ..Split::default()
        };
        let description = MapReduceJob {
            program: MpiProgram::default(),
            plan: "p".into(),
            job: "words".into(),
            settings: BTreeMap::new(),
            params: serde_json::Value::Null,
            addresses: vec![Address::Shared],
            splits: (0..maps).map(|_| split.clone()).collect(),
            block_places: BlockPlaces::default(),
            reduces,
            output: file("/out"),
            map: terms(2),
            reduce: terms(2),
            history: None,
            node_failures: 3,
            skip_max: 1,
            skip_groups: 1,
            explain: false,
            wait_for_nodes: false,
            output_is_new: false,
        };
        let mut bed = Self {
            job: MapReduce::new(description, JOB),
            now: Millis(0),
            wanted: Vec::new(),
            orders: Vec::new(),
            attempts: 0,
        };
        let todo = bed.job.begin(bed.now);
        bed.take(todo);
        bed.tell(MapReduceHeard::Every(JobEvent::ClientAttached));
        bed
    }

    fn tell(&mut self, heard: MapReduceHeard) {
        let is_tick = matches!(heard, MapReduceHeard::Every(JobEvent::Tick));
        let todo = self.job.hear(self.now, heard);
        self.take(todo);
        let due = self.job.wakes_at().filter(|at| is_tick && *at <= self.now);
        assert_eq!(due, None, "it stays due");
    }

    fn take(&mut self, todo: Vec<Do>) {
        for what in todo {
            match what {
                Do::ForTasks(MapReduceEffect::Tell { to, order }) => self.orders.push((to, *order)),
                Do::ForTasks(MapReduceEffect::Show(_) | MapReduceEffect::Began(_)) => {}
                Do::ForTasks(wanted) => self.wanted.push(words(&wanted)),
                Do::Start(container) => self.wanted.push(format!("start {container}")),
                Do::Leave(container) => self.wanted.push(format!("leave {container}")),
                Do::Unregister { status, .. } => self.wanted.push(format!("{status:?}")),
                Do::Admit(Ok(())) => self.wanted.push("admit".into()),
                Do::CloseOutput => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn wanted(&mut self) -> Vec<String> {
        std::mem::take(&mut self.wanted)
    }

    fn folder(&mut self, done: FolderDone) {
        self.tell(MapReduceHeard::Own(MapReduceEvent::Folder(done)));
    }

    /// A task has a slot in a container.
    fn place(&mut self, stage: Stage, task: u32, container: u32) -> AttemptIx {
        let attempt = AttemptIx(self.attempts);
        self.attempts += 1;
        self.tell(MapReduceHeard::Own(MapReduceEvent::Placed(TaskStart {
            job: 0,
            attempt,
            stage,
            task: TaskIx(task),
            container: id(container),
            host: format!("n{container}"),
            place: ContainerIx(container),
            slot: 0,
            cpus: Vec::new(),
            speed: Speed::Plain,
            level: Level::Node,
        })));
        attempt
    }

    /// A launcher has brought the job's files.
    fn joined(&mut self, container: u32) {
        self.fetched(container, "");
    }

    /// The same, or why it has not.
    fn fetched(&mut self, container: u32, trouble: &str) {
        let fetched = wire::FilesFetched {
            trouble: trouble.to_owned(),
            ..wire::FilesFetched::default()
        };
        let node = wire::NodeFacts {
            hostname: format!("n{container}"),
            ..wire::NodeFacts::default()
        };
        let heard = LentEvent::of_files(id(container), node, &fetched);
        self.tell(MapReduceHeard::Container(heard));
    }

    /// Something becomes of a container; it hears of that what its session tells.
    fn heard(&mut self, heard: &ContainerEvent) {
        if let Some(heard) = LentEvent::of(heard) {
            self.tell(MapReduceHeard::Container(heard));
        }
    }

    /// A launcher is lost.
    fn lost(&mut self, container: u32) {
        self.heard(&ContainerEvent::Lost(id(container)));
    }

    /// The one order that was given, which starts an attempt in a container.
    fn started(&mut self, container: u32, attempt: AttemptIx) -> (wire::StartTask, ToTask) {
        match std::mem::take(&mut self.orders).as_slice() {
            [(to, Order::Start(start))] => {
                assert_eq!((to, start.process), (&id(container), attempt.0));
                let task = serde_json::from_str(&start.task).unwrap();
                (start.clone(), task)
            }
            other => panic!("{other:?}"),
        }
    }

    fn ended(&mut self, container: u32, ended: wire::TaskEnded) {
        self.tell(MapReduceHeard::Own(MapReduceEvent::Said {
            container: id(container),
            event: Box::new(OfTask::Ended(ended)),
        }));
    }

    /// A map or a reduce has ended well; `digest`: of what a map has left for reduces, where it has.
    fn done(&mut self, container: u32, attempt: AttemptIx, digest: Option<u128>) {
        self.done_at(container, attempt, digest, "");
    }

    /// The same at a launcher that listens at the address `fetch_host`.
    fn done_at(
        &mut self,
        container: u32,
        attempt: AttemptIx,
        digest: Option<u128>,
        fetch_host: &str,
    ) {
        self.ended(
            container,
            wire::TaskEnded {
                process: attempt.0,
                said: counted(["n".to_owned()]),
                has_files: digest.is_none(),
                fetch_port: 40,
                fetch_host: fetch_host.to_owned(),
                digest: digest.map_or(Vec::new(), |digest| digest.to_le_bytes().to_vec()),
                ..wire::TaskEnded::default()
            },
        );
    }

    fn failed(&mut self, container: u32, attempt: AttemptIx, sentence: &str) {
        let ended = wire::TaskEnded {
            process: attempt.0,
            trouble: sentence.to_owned(),
            ..wire::TaskEnded::default()
        };
        self.ended(container, ended);
    }

    /// Nothing of it is left in the containers, and YARN knows; how it ended, and what was wanted for that.
    fn over(&mut self, containers: &[u32]) -> (i32, String, TasksReport) {
        for container in containers {
            self.lost(*container);
        }
        if self.wanted.iter().any(|wanted| wanted == "give up") {
            self.folder(FolderDone::GivenUp(Ok(())));
        }
        self.tell(MapReduceHeard::Every(JobEvent::Finished(
            holding::Finished {
                unregistered: true,
                ..holding::Finished::default()
            },
        )));
        let mut verdict = None;
        while let Some(event) = self.job.outbox().next() {
            if let Some(ToClient::Verdict(last)) = event.event {
                verdict = Some(last);
            }
        }
        let verdict = verdict.unwrap();
        assert!(!self.job.is_over());
        self.tell(MapReduceHeard::Every(JobEvent::ClientLeft));
        assert!(self.job.is_over());
        let report = serde_json::from_str(&verdict.tasks).unwrap();
        (verdict.exit_code, verdict.sentence, report)
    }
}

/// What a map says that has counted once under each of these names.
fn counted(names: impl IntoIterator<Item = String>) -> String {
    let counters = names.into_iter().map(|name| (name, 1)).collect();
    let said = FromTask::MapDone {
        counters: Counters::from([("g".to_owned(), counters)]),
        partitions: Vec::new(),
    };
    serde_json::to_string(&said).unwrap()
}

/// However a test has left it: in no state is it due for ever.
impl Drop for Bed {
    fn drop(&mut self) {
        for _ in 0..100 {
            let Some(at) = self.job.wakes_at().filter(|_| !std::thread::panicking()) else {
                return;
            };
            self.now = self.now.max(at);
            self.job
                .hear(self.now, MapReduceHeard::Every(JobEvent::Tick));
            assert!(self.job.wakes_at().is_none_or(|next| next > self.now));
        }
    }
}

fn words(wanted: &MapReduceEffect) -> String {
    match wanted {
        MapReduceEffect::Slots => "slots".into(),
        MapReduceEffect::Runnable { stage, inputs } => {
            let hosts = inputs.iter().flat_map(|input| &input.hosts);
            let hosts: String = hosts.map(|host| format!(" at {host}")).collect();
            format!("runnable {stage:?} {}{hosts}", inputs.len())
        }
        MapReduceEffect::Homes { partitions, among } => {
            let among: Vec<&str> = among.iter().map(|container| container.0.as_str()).collect();
            format!("homes {partitions:?} of {}", among.join(" "))
        }
        MapReduceEffect::Over {
            attempt,
            how,
            phases,
        } => {
            let phases = phases.iter();
            let phases: String = phases
                .map(|(of, took)| format!(" {of:?} {}", took.0))
                .collect();
            format!("over {} {how:?}{phases}", attempt.0)
        }
        MapReduceEffect::MapsLost(maps) => format!("lost {}", maps.len()),
        MapReduceEffect::Folder(FolderWork::SetUp { .. }) => "set up".into(),
        MapReduceEffect::Folder(FolderWork::Commit(results)) => {
            let results = results.iter().map(|result| match &result.names {
                Some(names) => format!(" {}: {}", result.attempt, names.join(", ")),
                None => format!(" {}", result.attempt),
            });
            format!("commit{}", results.collect::<String>())
        }
        MapReduceEffect::Folder(FolderWork::GiveUp) => "give up".into(),
        MapReduceEffect::Avoid(container) => format!("avoid {container}"),
        MapReduceEffect::NoMore => "no more".into(),
        MapReduceEffect::InSlot { attempt, slot } => format!("in slot {attempt} {slot}"),
        MapReduceEffect::Moved { attempt, why_not } => {
            let why = why_not.iter().map(|why| format!(": {why}"));
            format!("moved {}{}", attempt.0, why.collect::<String>())
        }
        MapReduceEffect::NoRoom(container) => format!("no room in {container}"),
        MapReduceEffect::Keep(folder, history) => {
            let of = |end: &TaskAttempt| format!("{:?} {} {:?}", end.stage, end.task, end.end);
            let attempts: Vec<String> = history.attempts.iter().map(of).collect();
            let (state, path) = (history.state, &folder.path);
            format!("{path}: {} {state:?}: {}", history.job, attempts.join(", "))
        }
        other => format!("{other:?}"),
    }
}

/// Whose outputs a reduce was ordered to read: of which maps, and at which launcher if not at its own.
fn sources((start, task): (wire::StartTask, ToTask)) -> Vec<(u32, Option<String>)> {
    let ToTask::Reduce(ReduceOrder { sources, .. }) = task else {
        panic!("{task:?}");
    };
    let kept_by = start.kept_by.iter().map(|place| {
        let index = usize::try_from(*place).unwrap().checked_sub(1);
        index.map(|index| start.launchers[index].clone())
    });
    let maps = sources.iter().map(|source| source.map);
    maps.zip(kept_by).collect()
}

/// How far an attempt is.
fn seen(bed: &mut Bed, container: u32, attempt: AttemptIx, done: u64, wanted: u64) {
    let task = wire::TaskSeen {
        process: attempt.0,
        done,
        wanted,
        status: String::new(),
        pid: 4711,
    };
    bed.tell(MapReduceHeard::Own(MapReduceEvent::Said {
        container: id(container),
        event: Box::new(OfTask::Seen(wire::TasksSeen { tasks: vec![task] })),
    }));
}

/// Two maps in containers of their own, and three reduces.
fn mapped() -> Bed {
    let mut bed = Bed::new(2, 3);
    for map in [0, 1] {
        let container = map + 1;
        let attempt = bed.place(Stage::Map, map, container);
        bed.joined(container);
        bed.done(container, attempt, Some(3));
    }
    bed
}

/// What its client has been told since it was asked last.
fn notices(bed: &mut Bed) -> Vec<String> {
    let events = std::iter::from_fn(|| bed.job.outbox().next());
    let sentences = events.filter_map(|event| match event.event {
        Some(ToClient::Notice(notice)) => Some(notice.sentence),
        _ => None,
    });
    sentences.collect()
}
