use gerbil_task::{FromTask, MapOrder, Piece, ReduceOrder, ToTask};
use job::history::{HistoryFolder, TaskAttempt};
use job::wire::task_event::Event as OfTask;
use job::wire::task_order::Order;
use job::{FileAt, Program, Split, StageTerms};
use policy::Resources;
use policy::lending::Start;
use policy::lifecycle::Event as OfContainer;
use policy::schedule::{AttemptIx, ContainerIx, Level};
use storage::Address;

use super::*;

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
    /// Its client follows, its folder is made, and its maps may start.
    fn new(maps: u32, reduces: u32) -> Self {
        let mut bed = Self::begun(maps, reduces);
        bed.folder(FolderDone::SetUp(Ok(())));
        bed.tell(WorkEvent::OfTasks(MapReduceEvent::SlotsCome));
        assert_eq!(
            bed.wanted(),
            [
                "set up".to_owned(),
                "admit".to_owned(),
                "slots".to_owned(),
                format!("runnable Map {maps}")
            ]
        );
        bed
    }

    fn begun(maps: u32, reduces: u32) -> Self {
        let file = |path: &str| FileAt {
            address: 0,
            path: path.to_owned(),
        };
        let split = Split {
            pieces: vec![Piece {
                name: "file:/in".into(),
                offset: 0,
                length: 10,
                size: 10,
            }],
            files: vec![file("/in")],
            hosts: Vec::new(),
        };
        let description = MapReduceJob {
            program: Program::default(),
            plan: "p".into(),
            job: "words".into(),
            settings: BTreeMap::new(),
            params: serde_json::Value::Null,
            addresses: vec![Address::Shared],
            splits: (0..maps).map(|_| split.clone()).collect(),
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
        bed.tell(WorkEvent::ClientAttached);
        bed
    }

    fn tell(&mut self, heard: WorkEvent) {
        let todo = self.job.hear(self.now, heard);
        self.take(todo);
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
        self.tell(WorkEvent::OfTasks(MapReduceEvent::Folder(done)));
    }

    /// A task has a slot in a container.
    fn place(&mut self, stage: Stage, task: u32, container: u32) -> AttemptIx {
        let attempt = AttemptIx(self.attempts);
        self.attempts += 1;
        self.tell(WorkEvent::OfTasks(MapReduceEvent::Placed(Start {
            job: 0,
            attempt,
            stage,
            task: TaskIx(task),
            container: id(container),
            host: format!("n{container}"),
            place: ContainerIx(container),
            slot: 0,
            level: Level::Node,
        })));
        attempt
    }

    fn joined(&mut self, container: u32) {
        self.tell(WorkEvent::Joined {
            container: id(container),
            node: wire::NodeFacts::default(),
        });
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
        self.tell(WorkEvent::OfTasks(MapReduceEvent::Said {
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
        let counters: Counters = [("g".to_owned(), [("n".to_owned(), 1)].into())].into();
        let said = FromTask::MapDone {
            counters,
            partitions: Vec::new(),
        };
        self.ended(
            container,
            wire::TaskEnded {
                process: attempt.0,
                said: serde_json::to_string(&said).unwrap(),
                committed: digest.is_none(),
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
            self.tell(WorkEvent::Lost(id(*container)));
        }
        if self.wanted.iter().any(|wanted| wanted == "give up") {
            self.folder(FolderDone::GivenUp(Ok(())));
        }
        self.tell(WorkEvent::Finished(holding::Finished {
            unregistered: true,
            ..holding::Finished::default()
        }));
        let mut verdict = None;
        while let Some(event) = self.job.outbox().next() {
            if let Some(ToClient::Verdict(last)) = event.event {
                verdict = Some(last);
            }
        }
        let verdict = verdict.unwrap();
        assert!(!self.job.is_over());
        self.tell(WorkEvent::ClientLeft);
        assert!(self.job.is_over());
        let report = serde_json::from_str(&verdict.tasks).unwrap();
        (verdict.exit_code, verdict.sentence, report)
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
        MapReduceEffect::Over { attempt, how } => format!("over {} {how:?}", attempt.0),
        MapReduceEffect::MapsLost(maps) => format!("lost {}", maps.len()),
        MapReduceEffect::Folder(FolderWork::SetUp { .. }) => "set up".into(),
        MapReduceEffect::Folder(FolderWork::Commit { tasks, files }) => {
            format!("commit {}", [&tasks[..], &files[..]].concat().join(" "))
        }
        MapReduceEffect::Folder(FolderWork::GiveUp) => "give up".into(),
        MapReduceEffect::NoMore => "no more".into(),
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

#[test]
fn maps_alone_make_the_output() {
    let mut bed = Bed::new(2, 0);
    let first = bed.place(Stage::Map, 0, 1);
    let second = bed.place(Stage::Map, 1, 2);
    assert_eq!(bed.wanted(), ["start c1", "start c2"]);
    bed.joined(1);
    let (start, task) = bed.started(1, first);
    let output = start.output.unwrap();
    assert_eq!(
        [output.job, output.task, output.attempt],
        [JOB, "task_m_000000", "attempt_m_000000_0"]
    );
    assert_eq!((output.path.as_str(), start.inputs.len()), ("/out", 1));
    let ToTask::Map(MapOrder { partitions: 0, .. }) = task else {
        panic!("{task:?}");
    };
    bed.joined(2);
    bed.started(2, second);
    bed.done(1, first, None);
    bed.done(2, second, None);
    assert_eq!(
        bed.wanted(),
        [
            "over 0 Done",
            "over 1 Done",
            "commit task_m_000000 task_m_000001",
            "no more",
            "leave c1",
            "leave c2"
        ]
    );
    bed.folder(FolderDone::Committed(Ok(())));
    assert_eq!(bed.wanted(), Vec::<String>::new());
    let (code, sentence, report) = bed.over(&[1, 2]);
    assert_eq!((code, sentence.as_str()), (0, ""));
    assert_eq!(bed.wanted(), ["Succeeded"]);
    assert_eq!((report.maps, report.counters["g"]["n"]), (2, 2));
}

#[test]
fn a_map_is_ordered_again_without_the_record_that_it_failed_on() {
    let mut bed = Bed::new(1, 0);
    let failed_on = |bed: &mut Bed, attempt: AttemptIx, record| {
        let ended = wire::TaskEnded {
            process: attempt.0,
            trouble: "no".to_owned(),
            record: Some(record),
            ..wire::TaskEnded::default()
        };
        bed.ended(1, ended);
    };
    let skips = |bed: &Bed| match bed.orders.last() {
        Some((_, Order::Start(start))) => match serde_json::from_str(&start.task) {
            Ok(ToTask::Map(order)) => order.skip,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let first = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    assert_eq!(skips(&bed), [0; 0]);
    failed_on(&mut bed, first, 4);
    // Neither the node nor the task is to blame.
    assert_eq!(bed.wanted(), ["start c1", "over 0 Killed"]);
    let second = bed.place(Stage::Map, 0, 1);
    assert_eq!(skips(&bed), [4]);
    // It was told to leave that one out, and another is one too many: both count.
    failed_on(&mut bed, second, 4);
    assert_eq!(bed.wanted(), ["over 1 Failed"]);
    let third = bed.place(Stage::Map, 0, 1);
    failed_on(&mut bed, third, 5);
    let (code, sentence, report) = bed.over(&[1]);
    assert_eq!((code, report.failed_attempts), (1, 3));
    assert!(
        sentence.starts_with("map 0 failed 2 times") && sentence.contains("left out before: 1"),
        "{sentence}"
    );
}

#[test]
fn what_became_of_a_job_is_kept_before_its_verdict_is_told() {
    let mut bed = Bed::new(2, 0);
    bed.job.description.history = Some(HistoryFolder {
        address: Address::Shared,
        path: "/home/me/history".into(),
    });
    let first = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.started(1, first);
    bed.now = Millis(500);
    bed.failed(1, first, "it is broken");
    let again = bed.place(Stage::Map, 0, 1);
    bed.started(1, again);
    // Never started, and so no attempt.
    bed.place(Stage::Map, 1, 2);
    bed.tell(WorkEvent::ClientLeft);
    bed.wanted();
    bed.tell(WorkEvent::Lost(id(1)));
    bed.tell(WorkEvent::Lost(id(2)));
    bed.folder(FolderDone::GivenUp(Ok(())));
    let kept = format!("/home/me/history: {JOB} Killed: Map 0 Failed, Map 0 Killed");
    assert_eq!(bed.wanted(), ["give up".to_owned(), kept]);
    bed.now = Millis(60_000);
    bed.tell(WorkEvent::Tick);
    assert_eq!(bed.wanted(), Vec::<String>::new());
    let trouble = Err("no room".to_owned());
    bed.tell(WorkEvent::OfTasks(MapReduceEvent::Kept(trouble)));
    assert_eq!(bed.wanted(), ["Killed"]);
}

#[test]
fn a_task_that_fails_too_often_ends_the_job_and_nothing_is_left() {
    let mut bed = Bed::new(1, 0);
    let first = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.started(1, first);
    bed.failed(1, first, "no");
    assert_eq!(bed.wanted(), ["start c1", "over 0 Failed"]);
    let second = bed.place(Stage::Map, 0, 1);
    let (start, _) = bed.started(1, second);
    assert_eq!(start.output.unwrap().attempt, "attempt_m_000000_1");
    bed.failed(1, second, "no again");
    assert_eq!(bed.wanted(), ["no more", "leave c1", "over 1 Failed"]);
    // What was decided before is given back.
    let late = bed.place(Stage::Map, 0, 1);
    assert_eq!(bed.wanted(), [format!("over {} Killed", late.0)]);
    let (code, sentence, report) = bed.over(&[1]);
    assert_eq!(
        (code, sentence.as_str(), report.failed_attempts),
        (1, "map 0 failed 2 times, the last time: no again", 2)
    );
    assert_eq!(bed.wanted(), ["give up", "Failed"]);
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

#[test]
fn a_reduce_starts_when_every_map_has_left_its_part() {
    let mut bed = Bed::new(2, 1);
    let maps = [bed.place(Stage::Map, 0, 1), bed.place(Stage::Map, 1, 1)];
    bed.joined(1);
    bed.orders.clear();
    bed.done(1, maps[1], Some(5));
    assert_eq!(bed.wanted(), ["start c1", "over 1 Done"]);
    bed.done(1, maps[0], Some(3));
    assert_eq!(bed.wanted(), ["over 0 Done", "runnable Reduce 1"]);
    let reduce = bed.place(Stage::Reduce, 0, 1);
    let (start, task) = bed.started(1, reduce);
    let output = start.output.clone().unwrap();
    assert_eq!(output.task, "task_r_000000");
    assert_eq!(sources((start, task)), [(0, None), (1, None)]);
    bed.done(1, reduce, None);
    assert_eq!(
        bed.wanted(),
        ["over 2 Done", "commit task_r_000000", "no more", "leave c1"]
    );
}

#[test]
fn what_a_lost_launcher_had_is_made_again_and_reduces_wait_for_it() {
    let mut bed = Bed::new(2, 1);
    let maps = [bed.place(Stage::Map, 0, 1), bed.place(Stage::Map, 1, 2)];
    bed.joined(1);
    bed.joined(2);
    bed.orders.clear();
    bed.done(1, maps[0], Some(3));
    bed.done(2, maps[1], Some(5));
    let reduce = bed.place(Stage::Reduce, 0, 1);
    bed.started(1, reduce);
    bed.wanted();
    let ended = OfContainer::ContainerEnded {
        container: id(2),
        status: -100,
        diagnostics: String::new(),
    };
    bed.tell(WorkEvent::Lost(id(2)));
    bed.tell(WorkEvent::Machine(ended));
    assert_eq!(bed.wanted(), ["lost 1"]);
    // It cannot read what is gone: no fault of its own, and the next attempt waits.
    let ended = wire::TaskEnded {
        process: reduce.0,
        trouble: "cannot fetch".into(),
        unfetched: vec![1],
        ..wire::TaskEnded::default()
    };
    bed.ended(1, ended);
    assert_eq!(bed.wanted(), ["over 2 Lost"]);
    let parked = bed.place(Stage::Reduce, 0, 1);
    assert!(bed.orders.is_empty());
    // No map has a slot: it gives its own up, in a while.
    bed.now = bed.job.unpark_at.unwrap();
    bed.tell(WorkEvent::Tick);
    assert_eq!(bed.wanted(), [format!("over {} Killed", parked.0)]);
    let again = bed.place(Stage::Map, 1, 1);
    bed.started(1, again);
    let parked = bed.place(Stage::Reduce, 0, 3);
    bed.joined(3);
    assert!(bed.orders.is_empty() && bed.job.unpark_at.is_none());
    bed.done(1, again, Some(5));
    let from = Some("n1:40".to_owned());
    let started = bed.started(3, parked);
    assert_eq!(sources(started), [(0, from.clone()), (1, from)]);
    bed.wanted();
    bed.done(3, parked, None);
    bed.folder(FolderDone::Committed(Ok(())));
    let (code, _, report) = bed.over(&[1, 3]);
    // Its second time counts for nothing.
    assert_eq!((code, report.counters["g"]["n"]), (0, 3));
}

#[test]
fn files_that_cannot_be_brought_are_a_failure_of_who_waits_for_them() {
    let mut bed = Bed::new(1, 0);
    for attempt in 0..2 {
        bed.place(Stage::Map, 0, 1);
        let failed = OfContainer::StartFailed {
            container: id(1),
            why: "no room".into(),
        };
        bed.tell(WorkEvent::Machine(failed));
        let first = bed.wanted.first().map(String::as_str);
        assert_eq!(first, Some("start c1"), "attempt {attempt}");
        if attempt == 0 {
            bed.wanted();
        }
    }
    let (code, sentence, _) = bed.over(&[]);
    assert_eq!(code, 1);
    assert!(sentence.ends_with("no room"), "{sentence}");
}

#[test]
fn a_job_is_killed_at_any_time() {
    let mut bed = Bed::begun(1, 0);
    bed.tell(WorkEvent::ClientKill(KillReason::Interrupted));
    assert_eq!(bed.wanted(), ["set up", "admit", "no more"]);
    bed.folder(FolderDone::SetUp(Ok(())));
    assert_eq!(bed.wanted(), ["give up"]);
    bed.folder(FolderDone::GivenUp(Ok(())));
    assert_eq!(bed.over(&[]).0, 130);
    let mut bed = Bed::new(1, 0);
    let map = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.started(1, map);
    bed.wanted();
    bed.tell(WorkEvent::ClientKill(KillReason::Interrupted));
    assert_eq!(bed.wanted(), ["no more", "leave c1"]);
    // A launcher that says nothing is not waited for for ever.
    while bed.wanted.is_empty() {
        bed.now = bed.job.wakes_at().unwrap();
        bed.tell(WorkEvent::Tick);
    }
    assert_eq!(bed.wanted(), ["give up"]);
    bed.folder(FolderDone::GivenUp(Err("safe mode".into())));
    assert_eq!(bed.over(&[]).0, 130);
}

#[test]
fn an_output_that_cannot_be_had_ends_it_before_anything_runs() {
    let mut bed = Bed::begun(1, 0);
    bed.folder(FolderDone::SetUp(Err("it exists".into())));
    let (code, sentence, _) = bed.over(&[]);
    assert_eq!((code, sentence.as_str()), (74, "it exists"));
    assert_eq!(bed.wanted(), ["set up", "admit", "no more", "Failed"]);
}

#[test]
fn reduces_fetch_where_a_launcher_says_that_it_listens() {
    let mut bed = Bed::new(2, 1);
    let maps: Vec<AttemptIx> = (0..2).map(|map| bed.place(Stage::Map, map, 1)).collect();
    bed.joined(1);
    bed.orders.clear();
    bed.done(1, maps[0], Some(1));
    bed.done_at(1, maps[1], Some(2), "fd00::7");
    let reduce = bed.place(Stage::Reduce, 0, 2);
    bed.joined(2);
    let from = sources(bed.started(2, reduce));
    let named = ["n1:40", "[fd00::7]:40"].map(|place| Some(place.to_owned()));
    assert_eq!(from, (0..).zip(named).collect::<Vec<_>>());
}

#[test]
fn what_a_map_has_left_anew_is_not_doubted_by_who_has_tried_to_read_what_was_lost() {
    let mut bed = Bed::new(1, 1);
    let first = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.done(1, first, Some(3));
    let reduces: Vec<AttemptIx> = (0..2).map(|_| bed.place(Stage::Reduce, 0, 2)).collect();
    bed.joined(2);
    // The launcher stands still: the session gives it up, before those that fetch from there do.
    bed.tell(WorkEvent::Lost(id(1)));
    let again = bed.place(Stage::Map, 0, 3);
    bed.joined(3);
    bed.done(3, again, Some(3));
    for reduce in reduces {
        let ended = wire::TaskEnded {
            process: reduce.0,
            trouble: "it was silent for 30 s".into(),
            unfetched: vec![0],
            ..wire::TaskEnded::default()
        };
        bed.ended(2, ended);
    }
    assert!(bed.job.unfetched.is_empty());
    assert!(bed.job.outputs.contains_key(&TaskIx(0)));
}

#[test]
fn where_launchers_do_not_reach_each_other_a_job_ends() {
    let mut bed = Bed::new(1, 1);
    for container in [1, 2] {
        bed.place(Stage::Map, 0, container);
        bed.joined(container);
    }
    let mut times = 0;
    while !bed.job.is_ending() && times < 100 {
        if bed.job.outputs.is_empty() {
            let map = bed.place(Stage::Map, 0, 1);
            bed.done(1, map, Some(3));
        }
        let reduce = bed.place(Stage::Reduce, 0, 2);
        let ended = wire::TaskEnded {
            process: reduce.0,
            trouble: "n2: no way to n1:40".into(),
            unfetched: vec![0],
            ..wire::TaskEnded::default()
        };
        bed.ended(2, ended);
        times += 1;
    }
    let (code, sentence, report) = bed.over(&[1, 2]);
    assert_eq!((times, code, report.failed_attempts), (8, 1, 0));
    let words =
        "reduce 0 could not read what maps have left, 8 times, the last time: n2: no way to n1:40";
    assert!(sentence.starts_with(words), "{sentence}");
}

/// A reduce at a container could not read what these maps have left.
#[cfg(test)]
fn not_read(bed: &mut Bed, container: u32, reduce: AttemptIx, maps: &[u32]) {
    let ended = wire::TaskEnded {
        process: reduce.0,
        trouble: "no way there".into(),
        unfetched: maps.to_vec(),
        ..wire::TaskEnded::default()
    };
    bed.ended(container, ended);
}

/// Two maps in containers of their own, and three reduces.
#[cfg(test)]
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

#[test]
fn a_container_that_cannot_fetch_where_another_could_is_to_blame_and_the_maps_are_not() {
    let mut bed = mapped();
    let [well, badly] = [(0, 3), (1, 4)].map(|(reduce, container)| {
        let attempt = bed.place(Stage::Reduce, reduce, container);
        bed.joined(container);
        attempt
    });
    bed.done(3, well, None);
    bed.wanted();
    not_read(&mut bed, 4, badly, &[0, 1]);
    assert_eq!(bed.wanted(), [format!("over {} Failed", badly.0)]);
    assert!(bed.job.unfetched.is_empty());
    assert_eq!(bed.job.outputs.len(), 2);
    // Whatever it says from now on is held against nobody else, and the task has not failed.
    for _ in 0..3 {
        let again = bed.place(Stage::Reduce, 1, 4);
        not_read(&mut bed, 4, again, &[0, 1]);
        assert_eq!(bed.wanted(), [format!("over {} Failed", again.0)]);
    }
    assert!(!bed.job.is_ending());
    assert_eq!(bed.job.outputs.len(), 2);
}

#[test]
fn what_lies_where_two_cannot_fetch_who_fetch_elsewhere_is_made_again_at_once() {
    let mut bed = mapped();
    for (reduce, container) in [(0, 3), (1, 4)] {
        let attempt = bed.place(Stage::Reduce, reduce, container);
        bed.joined(container);
        bed.done(container, attempt, None);
    }
    bed.wanted();
    // It has given to both, and gives no more.
    let first = bed.place(Stage::Reduce, 2, 3);
    not_read(&mut bed, 3, first, &[0]);
    assert_eq!(bed.wanted(), [format!("over {} Lost", first.0)]);
    let second = bed.place(Stage::Reduce, 2, 4);
    not_read(&mut bed, 4, second, &[0]);
    assert_eq!(
        bed.wanted(),
        ["lost 1".to_owned(), format!("over {} Lost", second.0)]
    );
    let again = bed.place(Stage::Map, 0, 3);
    bed.done(3, again, Some(3));
    bed.orders.clear();
    let third = bed.place(Stage::Reduce, 2, 4);
    let (start, _) = bed.started(4, third);
    assert_eq!(start.launchers, ["n3:40", "n2:40"]);
}

#[test]
fn an_output_that_nobody_can_fetch_is_made_again() {
    let mut bed = Bed::new(1, 2);
    let map = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.orders.clear();
    bed.done(1, map, Some(3));
    bed.wanted();
    for times in 1..=3 {
        let reduce = bed.place(Stage::Reduce, 0, 2);
        bed.joined(2);
        bed.started(2, reduce);
        bed.wanted();
        bed.ended(
            2,
            wire::TaskEnded {
                process: reduce.0,
                trouble: "no way there".into(),
                unfetched: vec![0],
                ..wire::TaskEnded::default()
            },
        );
        let over = format!("over {} Lost", reduce.0);
        match times {
            3 => assert_eq!(bed.wanted(), [over, "lost 1".to_owned()]),
            _ => assert_eq!(bed.wanted(), [over]),
        }
    }
    let again = bed.place(Stage::Map, 0, 2);
    bed.started(2, again);
    bed.done(2, again, Some(3));
    // Each partition was told of before.
    assert_eq!(bed.wanted(), [format!("over {} Done", again.0)]);
    let reduce = bed.place(Stage::Reduce, 0, 2);
    let started = bed.started(2, reduce);
    assert_eq!(sources(started), [(0, None)]);
}

/// How far an attempt is.
fn seen(bed: &mut Bed, container: u32, attempt: AttemptIx, done: u64, wanted: u64) {
    let task = wire::TaskSeen {
        process: attempt.0,
        done,
        wanted,
        status: String::new(),
    };
    bed.tell(WorkEvent::OfTasks(MapReduceEvent::Said {
        container: id(container),
        event: Box::new(OfTask::Seen(wire::TasksSeen { tasks: vec![task] })),
    }));
}

#[test]
fn of_two_attempts_at_a_map_the_first_to_end_counts_once() {
    let mut bed = Bed::new(1, 1);
    let slow = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.started(1, slow);
    let twin = bed.place(Stage::Map, 0, 2);
    bed.joined(2);
    bed.started(2, twin);
    bed.wanted();
    seen(&mut bed, 1, slow, 4, 10);
    seen(&mut bed, 1, slow, 4, 10);
    seen(&mut bed, 2, twin, 6, 10);
    // Told once, and the bytes of one of them are those of the map.
    assert_eq!(bed.wanted().len(), 2);
    assert_eq!(bed.job.attempts.bytes_done(), 6);
    bed.done(2, twin, Some(5));
    assert!(
        matches!(&bed.orders[..], [(to, Order::End(end))] if *to == id(1) && end.process == slow.0)
    );
    bed.orders.clear();
    assert_eq!(
        bed.wanted(),
        [
            format!("over {} Done", twin.0),
            "runnable Reduce 1".to_owned()
        ]
    );
    // It had ended before it heard; a third that was decided on meanwhile is not begun.
    bed.done(1, slow, Some(5));
    let third = bed.place(Stage::Map, 0, 2);
    let killed = |attempt: AttemptIx| format!("over {} Killed", attempt.0);
    assert_eq!(bed.wanted(), [killed(slow), killed(third)]);
    assert!(bed.orders.is_empty());
    let reduce = bed.place(Stage::Reduce, 0, 2);
    bed.done(2, reduce, None);
    bed.folder(FolderDone::Committed(Ok(())));
    let (code, _, report) = bed.over(&[1, 2]);
    assert_eq!(
        (code, report.counters["g"]["n"], report.failed_attempts),
        (0, 2, 0)
    );
}

#[test]
fn what_the_rest_waits_for_is_said() {
    let mut bed = Bed::new(3, 1);
    let maps: Vec<AttemptIx> = (0..3).map(|map| bed.place(Stage::Map, map, 1)).collect();
    bed.joined(1);
    bed.orders.clear();
    assert_eq!(bed.job.waits(), "");
    bed.done(1, maps[0], Some(1));
    seen(&mut bed, 1, maps[1], 9, 10);
    seen(&mut bed, 1, maps[2], 41, 100);
    let words = "reduces wait for map 2, attempt 0, node n1, 41 %, and 1 more";
    assert_eq!(bed.job.waits(), words);
    bed.done(1, maps[2], Some(1));
    assert_eq!(
        bed.job.waits(),
        "reduces wait for map 1, attempt 0, node n1, 90 %"
    );
    bed.done(1, maps[1], Some(1));
    assert_eq!(bed.job.waits(), "");
}

#[test]
fn attempts_that_find_no_device_make_their_stage_need_one_and_count_only_then() {
    let mut bed = Bed::new(2, 0);
    let without = |bed: &mut Bed, attempt: AttemptIx, container| {
        bed.ended(
            container,
            wire::TaskEnded {
                process: attempt.0,
                trouble: "no GPU".to_owned(),
                no_device: true,
                ..wire::TaskEnded::default()
            },
        );
    };
    let [first, second] = [0, 1].map(|task| bed.place(Stage::Map, task, 1));
    bed.joined(1);
    bed.wanted();
    // Both were placed before it was known: neither counts, and the first tells it for all.
    without(&mut bed, first, 1);
    assert_eq!(
        bed.wanted(),
        [
            "Needed { stage: Map, needs: [ResourceName(\"gpu\")] }",
            "over 0 NoDevice"
        ]
    );
    without(&mut bed, second, 1);
    assert_eq!(bed.wanted(), ["over 1 NoDevice"]);
    // A device that is not there where it should be is a failure, and two of a map are all that may be.
    for number in 2..4 {
        let attempt = bed.place(Stage::Map, 0, 1);
        assert_eq!(attempt.0, number);
        without(&mut bed, attempt, 1);
    }
    let wanted = bed.wanted();
    assert_eq!(wanted[..2], ["over 2 Failed", "no more"], "{wanted:?}");
    let (code, sentence, report) = bed.over(&[1]);
    assert_eq!(
        (code, sentence.as_str()),
        (1, "map 0 failed 2 times, the last time: no GPU")
    );
    assert_eq!((report.failed_attempts, report.no_device_attempts), (2, 2));
    assert_eq!(
        report.found_needs,
        [("map".to_owned(), vec!["gpu".to_owned()])].into()
    );
}

#[test]
fn a_stage_needs_the_kind_of_device_that_its_task_has_named() {
    for (device, need) in [
        ("", "gpu"),
        ("fpga", "fpga"),
        ("acc/fpga", "fpga"),
        ("acc/kmeans-map", "acc/kmeans-map"),
        ("a coffee machine", "gpu"),
    ] {
        let mut bed = Bed::new(1, 0);
        let attempt = bed.place(Stage::Map, 0, 1);
        bed.joined(1);
        bed.wanted();
        bed.ended(
            1,
            wire::TaskEnded {
                process: attempt.0,
                trouble: "none here".to_owned(),
                no_device: true,
                missing_device: device.to_owned(),
                ..wire::TaskEnded::default()
            },
        );
        let needed = format!("Needed {{ stage: Map, needs: [ResourceName({need:?})] }}");
        assert_eq!(bed.wanted(), [needed.as_str(), "over 0 NoDevice"]);
    }
}

#[test]
fn an_attempt_for_which_a_device_is_too_small_counts_and_its_job_leaves_that_node() {
    let mut bed = Bed::new(1, 0);
    let attempt = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.wanted();
    bed.ended(
        1,
        wire::TaskEnded {
            process: attempt.0,
            trouble: "512 MiB do not fit Trial (256 MiB free)".to_owned(),
            no_room: true,
            ..wire::TaskEnded::default()
        },
    );
    let wanted = bed.wanted();
    assert!(
        wanted.len() == 2 && wanted[0].starts_with("no room in ") && wanted[1] == "over 0 Failed",
        "{wanted:?}"
    );
}

#[test]
fn a_job_that_no_node_can_run_ends_as_impossible_unless_it_waits() {
    let mut bed = Bed::new(1, 0);
    assert!(bed.job.wants_nodes_now());
    bed.tell(WorkEvent::OfTasks(MapReduceEvent::NoNode(
        "map needs gpu".into(),
    )));
    assert!(!bed.job.wants_nodes_now());
    let (code, sentence, _) = bed.over(&[]);
    assert_eq!((code, sentence.as_str()), (65, "map needs gpu"));
    let mut bed = Bed::new(1, 0);
    bed.job.description.wait_for_nodes = true;
    assert!(!bed.job.wants_nodes_now());
}

/// What a home was ordered to gather: of which partitions, and which maps at which launcher.
#[cfg(test)]
fn gathers(orders: Vec<(ContainerId, Order)>) -> Vec<String> {
    let words = orders.into_iter().map(|(to, order)| {
        let Order::Gather(order) = order else {
            panic!("{order:?}");
        };
        let sources = order.sources.iter().map(|source| {
            let place = usize::try_from(source.kept_by).unwrap() - 1;
            let (map, output) = (source.map, source.output);
            format!(" {map} of {output} at {}", order.launchers[place])
        });
        format!(
            "{to} {:?}:{}",
            order.partitions,
            sources.collect::<String>()
        )
    });
    words.collect()
}

#[test]
fn what_maps_have_left_is_gathered_at_homes_while_others_run() {
    let mut bed = Bed::new(4, 2);
    let maps: Vec<AttemptIx> = (0..4)
        .map(|map| bed.place(Stage::Map, map, 1 + map % 3))
        .collect();
    (1..=3).for_each(|container| bed.joined(container));
    bed.orders.clear();
    bed.wanted();
    bed.done(1, maps[0], Some(3));
    assert_eq!(bed.wanted(), ["over 0 Done"]);
    // Not at once: what ends a moment later is gathered with it.
    bed.now = bed.now.plus(Millis(999));
    bed.tell(WorkEvent::Tick);
    assert!(bed.wanted().is_empty() && bed.job.wakes_at() == Some(Millis(1_000)));
    bed.now = Millis(1_000);
    bed.tell(WorkEvent::Tick);
    assert_eq!(bed.wanted(), ["homes [(0, 1), (1, 1)] of c1 c2 c3"]);
    let home = |partition, container: u32| policy::lending::Home {
        partition,
        container: id(container),
        host: format!("n{container}"),
    };
    let homes = vec![home(0, 1), home(1, 2)];
    bed.tell(WorkEvent::OfTasks(MapReduceEvent::Homes(homes)));
    // What lies at home needs no way there.
    let orders = std::mem::take(&mut bed.orders);
    assert_eq!(gathers(orders), ["c2 [1]: 0 of 0 at n1:40"]);
    bed.done(2, maps[1], Some(5));
    bed.now = Millis(2_000);
    bed.tell(WorkEvent::Tick);
    let orders = std::mem::take(&mut bed.orders);
    assert_eq!(gathers(orders), ["c1 [0]: 1 of 1 at n2:40"]);
    let gathered = |container, partition, bytes| {
        WorkEvent::OfTasks(MapReduceEvent::Said {
            container: id(container),
            event: Box::new(OfTask::Gathered(wire::GatheredAhead {
                partitions: vec![partition],
                bytes: vec![bytes],
            })),
        })
    };
    bed.tell(gathered(2, 1, 10));
    // It is no home of that.
    bed.tell(gathered(3, 1, 99));
    // A home that is lost has nothing, and what it had left is made again.
    bed.wanted();
    bed.tell(WorkEvent::Lost(id(1)));
    assert_eq!(bed.wanted(), ["lost 1"]);
    bed.done(3, maps[2], Some(7));
    bed.now = Millis(3_000);
    bed.tell(WorkEvent::Tick);
    assert_eq!(bed.wanted(), ["over 2 Done", "homes [(0, 1)] of c2 c3"]);
    let orders = std::mem::take(&mut bed.orders);
    assert!(orders.is_empty(), "{orders:?}");
    bed.tell(WorkEvent::OfTasks(MapReduceEvent::Homes(vec![home(0, 3)])));
    let orders = std::mem::take(&mut bed.orders);
    let wanted = ["c2 [1]: 2 of 2 at n3:40", "c3 [0]: 1 of 1 at n2:40"];
    assert_eq!(gathers(orders), wanted);
    bed.tell(gathered(2, 1, 25));
    let again = bed.place(Stage::Map, 0, 2);
    let last = bed.place(Stage::Map, 3, 2);
    bed.done(2, again, Some(3));
    bed.wanted();
    bed.done(2, last, Some(1));
    // A reduce has a place where something of it lies; what comes after the last map does not count.
    let wanted = [
        format!("over {} Done", last.0),
        "runnable Reduce 1".to_owned(),
        "runnable Reduce 1 at n2".to_owned(),
    ];
    assert_eq!(bed.wanted(), wanted);
    bed.tell(gathered(2, 1, 30));
    assert_eq!(
        bed.job.report().counters["gerbil"]["GATHERED_AHEAD_BYTES"],
        25
    );
    bed.now = Millis(9_000);
    bed.tell(WorkEvent::Tick);
    assert!(bed.wanted().is_empty());
}
