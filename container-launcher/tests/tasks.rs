//! Tasks of a real MapReduce program, in a real launcher, on a folder as the file system.

#[cfg(test)]
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use gerbil_task::{
    Connection, FromTask, MapOrder, Piece, ROLE_VARIABLE, ReduceOrder, Source, ToTask, Welcome,
};
use job::wire::launcher_event::Event as Told;
use job::wire::launcher_order;
use job::wire::mpi_event::Event;
use job::wire::rank_ended;
use job::wire::task_ended::How;
use job::wire::task_event::Event as TaskTold;
use job::wire::task_order::Order;
use job::wire::{
    EndTask, InputFile, OutputFolder, Program, StartTask, TaskEnded, TaskEvent, TaskOrder, TaskSeen,
};
use output_committer::Output;
use policy::commit::{JobCommit, JobVerdict, Setup, SetupVerdict};
use storage::{Address, Storage};
use support::{Appmaster, Launcher, Link, example, is_alive, share, within};
use tempfile::TempDir;

const JOB: u32 = 1;
/// What the job is called in its output folder.
const NAME: &str = "7";
const FILES: [(&str, &str); 2] = [
    ("sleeper", "#!/bin/sh\nexec sleep 60\n"),
    (
        "mute",
        "#!/bin/sh\necho something\necho something else >&2\necho $$ > pid.mute\nexec sleep 60\n",
    ),
];

/// The digest of the plan of the program `words`.
#[cfg(test)]
fn plan() -> String {
    let (socket, own) = UnixStream::pair().unwrap();
    let mut child = Command::new(example("words"))
        .env(ROLE_VARIABLE, "plan")
        .stdin(Stdio::from(OwnedFd::from(own)))
        .spawn()
        .unwrap();
    let hello: FromTask = Connection::new(socket).receive().unwrap();
    child.wait().unwrap();
    match hello {
        FromTask::Hello { plan, .. } => plan,
        other => panic!("{other:?}"),
    }
}

/// A folder with the files that a job reads, each one map's, and its output.
#[cfg(test)]
struct Bed {
    folder: TempDir,
    texts: Vec<String>,
    plan: String,
    settings: BTreeMap<String, String>,
}

#[cfg(test)]
impl Bed {
    fn new(texts: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (number, text) in texts.iter().enumerate() {
            fs::write(folder.path().join(format!("in-{number}")), text).unwrap();
        }
        Self {
            folder,
            texts: texts.iter().map(|&text| text.to_owned()).collect(),
            plan: plan(),
            settings: BTreeMap::new(),
        }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn output(&self) -> Output {
        let storage = Storage::open(&Address::Shared).unwrap();
        Output::new(storage, &self.path("out"))
    }

    /// The job owns its output folder.
    async fn set_up(&self) {
        let owner = self.output().set_up(Setup::new(NAME), async |_| true).await;
        assert_eq!(owner.unwrap(), SetupVerdict::Owner);
    }

    /// Commits the results of these tasks.
    async fn commit(&self, tasks: &[&str]) -> JobVerdict {
        let tasks: Vec<String> = tasks.iter().map(|&task| task.to_owned()).collect();
        let job = JobCommit::commit(NAME, 1, &tasks);
        self.output().finish_job(job).await.unwrap()
    }

    /// What attempts have below the job's folder.
    fn attempts(&self) -> Vec<String> {
        names(
            &self
                .folder
                .path()
                .join(format!("out/_temporary/{NAME}/_temporary")),
        )
    }

    fn start(&self, process: u32, slot: u32, task: &ToTask) -> StartTask {
        let welcome = Welcome {
            job: "words".to_owned(),
            settings: self.settings.clone(),
            ..Welcome::default()
        };
        let words = Program {
            processes: 1,
            file: "words".to_owned(),
            own_path: example("words").display().to_string(),
            ..Program::default()
        };
        let (inputs, stage, number, attempt) = match task {
            ToTask::Map(map) => {
                let path = |piece: &Piece| InputFile {
                    address: 0,
                    path: piece.name.trim_start_matches("file:").to_owned(),
                };
                let inputs = map.pieces.iter().map(path).collect();
                (inputs, 'm', map.task, map.attempt)
            }
            ToTask::Reduce(reduce) => (Vec::new(), 'r', reduce.task, reduce.attempt),
            other => panic!("{other:?}"),
        };
        StartTask {
            process,
            slot,
            program: Some(words),
            plan: self.plan.clone(),
            welcome: serde_json::to_string(&welcome).unwrap(),
            task: serde_json::to_string(task).unwrap(),
            addresses: vec![serde_json::to_string(&Address::Shared).unwrap()],
            inputs,
            output: Some(OutputFolder {
                address: 0,
                path: self.path("out"),
                job: NAME.to_owned(),
                task: format!("task_{stage}_{number:06}"),
                attempt: format!("attempt_{stage}_{number:06}_{attempt}"),
            }),
            ..StartTask::default()
        }
    }

    fn map(&self, task: u32, attempt: u32, partitions: u32) -> ToTask {
        let text = &self.texts[usize::try_from(task).unwrap()];
        let size = u64::try_from(text.len()).unwrap();
        ToTask::Map(MapOrder {
            task,
            attempt,
            partitions,
            pieces: vec![Piece {
                name: format!("file:{}", self.path(&format!("in-{task}"))),
                offset: 0,
                length: size,
                size,
            }],
            skip: Vec::new(),
        })
    }

    /// Runs one task to its end.
    async fn run(&self, link: &mut Link, process: u32, task: &ToTask) -> TaskEnded {
        order(link, Order::Start(self.start(process, 0, task))).await;
        ended(link).await
    }
}

/// The reduce of partition 0, which reads what these maps have left.
#[cfg(test)]
fn reduce(maps: &[u32]) -> ToTask {
    let sources = maps.iter().map(|&map| Source {
        map,
        // Known to the launcher that has it.
        offset: 0,
        length: 0,
        records: 0,
    });
    ToTask::Reduce(ReduceOrder {
        task: 0,
        attempt: 0,
        sources: sources.collect(),
    })
}

/// Names in a folder, ordered; of one that is not there none.
#[cfg(test)]
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[cfg(test)]
async fn order(link: &Link, order: Order) {
    let order = TaskOrder {
        job: JOB,
        order: Some(order),
    };
    link.say(launcher_order::Order::Task(order)).await;
}

#[cfg(test)]
async fn of_tasks(link: &mut Link) -> TaskTold {
    match link.told().await {
        Told::Task(TaskEvent {
            job: JOB,
            event: Some(event),
        }) => event,
        other => panic!("{other:?}"),
    }
}

#[cfg(test)]
async fn ended(link: &mut Link) -> TaskEnded {
    loop {
        if let TaskTold::Ended(ended) = of_tasks(link).await {
            return ended;
        }
    }
}

/// The next that is told of a task, which runs.
#[cfg(test)]
async fn seen(link: &mut Link) -> TaskSeen {
    match of_tasks(link).await {
        TaskTold::Seen(seen) => seen.tasks[0].clone(),
        other => panic!("{other:?}"),
    }
}

#[cfg(test)]
fn done(ended: &TaskEnded) -> FromTask {
    assert_eq!(ended.trouble, "");
    assert_eq!(ended.how, Some(How::ExitCode(0)));
    assert!(ended.max_rss_kib > 0);
    serde_json::from_str(&ended.said).unwrap()
}

#[cfg(test)]
async fn gone(path: &Path) {
    within(async {
        while path.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// Where a process of the job has its folder, and the job.
#[cfg(test)]
fn folder_of(launcher: &Launcher, process: u32) -> std::path::PathBuf {
    let job = launcher.folder.path().join(format!("jobs/{JOB}"));
    job.join(".gerbil-tasks").join(process.to_string())
}

#[tokio::test]
async fn maps_and_a_reduce_run_beside_ranks() {
    let mut am = Appmaster::start().await;
    let mut launcher = am.launcher(&FILES);
    let mut link = am.link().await;
    let bed = Bed::new(&["b a\na\n", "a c\n!side\n"]);
    bed.set_up().await;
    link.run(share(1, &[0], "sleeper")).await;
    for number in [0, 1] {
        let order = bed.start(number, number, &bed.map(number, 0, 1));
        self::order(&link, Order::Start(order)).await;
    }
    for _ in 0..2 {
        let ended = ended(&mut link).await;
        assert!(matches!(done(&ended), FromTask::MapDone { .. }));
        // One has a file of the output, and the other has nothing to commit.
        assert_eq!(ended.committed, ended.process == 1);
        assert!(ended.fetch_port > 0 && ended.output_bytes > 0);
        assert_eq!(ended.digest.len(), 16);
    }
    let reduced = bed.run(&mut link, 2, &reduce(&[0, 1])).await;
    assert!(matches!(done(&reduced), FromTask::ReduceDone { .. }));
    assert!(reduced.committed && reduced.beaten_by.is_empty());
    let verdict = bed.commit(&["task_m_000001", "task_r_000000"]).await;
    assert_eq!(verdict, JobVerdict::Committed);
    assert_eq!(
        names(Path::new(&bed.path("out"))),
        ["_SUCCESS", "part-r-00000", "side-m-00001"]
    );
    let counted = fs::read_to_string(bed.path("out/part-r-00000")).unwrap();
    assert_eq!(counted, "!side\t1\na\t3\nb\t1\nc\t1\n");
    assert_eq!(fs::read(bed.path("out/side-m-00001")).unwrap(), b"beside\n");
    link.leave().await;
    assert_eq!(launcher.exit().await.code(), Some(0));
    launcher.nothing_left().await;
}

#[tokio::test]
async fn a_job_without_reduces_is_committed_task_by_task_and_a_twin_is_told_who_was_faster() {
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&[]);
    let mut link = am.link().await;
    let bed = Bed::new(&["b a\na\n", "c\n"]);
    bed.set_up().await;
    for task in [0, 1] {
        let ended = bed.run(&mut link, task, &bed.map(task, 0, 0)).await;
        assert!(matches!(done(&ended), FromTask::MapDone { .. }));
        assert!(ended.committed, "{ended:?}");
        // Nobody looks at what a process printed that ended well.
        assert!(!folder_of(&launcher, task).exists());
    }
    let twin = bed.run(&mut link, 2, &bed.map(0, 1, 0)).await;
    done(&twin);
    assert!(!twin.committed);
    assert_eq!(twin.beaten_by, "attempt_m_000000_0");
    let left = bed.path(&format!(
        "out/_temporary/{NAME}/_temporary/attempt_m_000000_1"
    ));
    gone(Path::new(&left)).await;
    let verdict = bed.commit(&["task_m_000000", "task_m_000001"]).await;
    assert_eq!(verdict, JobVerdict::Committed);
    assert_eq!(
        fs::read_to_string(bed.path("out/part-m-00000")).unwrap(),
        "b\t1\na\t1\na\t1\n"
    );
    assert_eq!(
        names(Path::new(&bed.path("out"))),
        ["_SUCCESS", "part-m-00000", "part-m-00001"]
    );
}

#[tokio::test]
async fn a_crash_is_told_with_its_place_and_last_words_and_leaves_nothing() {
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&[]);
    let mut link = am.link().await;
    let bed = Bed::new(&["b\n!abort\n", "b\nb\n!error\n", "!fill\n"]);
    bed.set_up().await;
    let crashed = bed.run(&mut link, 0, &bed.map(0, 0, 0)).await;
    let place = format!(
        "map 0 was killed by signal 6 on record 1 of the split, at byte 2 of file:{}",
        bed.path("in-0")
    );
    assert!(crashed.trouble.contains(&place), "{crashed:?}");
    assert!(
        crashed.trouble.ends_with(":\nthese are my last words"),
        "{crashed:?}"
    );
    assert_eq!(crashed.how, Some(How::Signal(6)));
    assert_eq!(crashed.said, "");
    let printed = folder_of(&launcher, 0).join("stderr");
    assert_eq!(
        fs::read_to_string(printed).unwrap(),
        "these are my last words\n"
    );
    let refused = bed.run(&mut link, 1, &bed.map(1, 0, 0)).await;
    let words = "in-1, record 2 at byte 4: this line is refused";
    assert!(
        refused.trouble.contains("map 1: ") && refused.trouble.ends_with(words),
        "{refused:?}"
    );
    // Killed in the middle of its output.
    order(&link, Order::Start(bed.start(2, 0, &bed.map(2, 0, 0)))).await;
    let pid: i32 = launcher
        .file(&format!("jobs/{JOB}/standing"))
        .await
        .parse()
        .unwrap();
    assert_eq!(bed.attempts().last().unwrap(), "attempt_m_000002_0");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::SIGKILL).unwrap();
    let killed = ended(&mut link).await;
    assert!(
        killed
            .trouble
            .contains("map 2 was killed by signal 9 on record 0 of the split"),
        "{killed:?}"
    );
    for attempt in bed.attempts() {
        let left = format!("out/_temporary/{NAME}/_temporary/{attempt}");
        gone(Path::new(&bed.path(&left))).await;
    }
}

#[tokio::test]
async fn output_that_cannot_be_written_and_input_that_has_changed_are_told_truly() {
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&[]);
    let mut link = am.link().await;
    let bed = Bed::new(&["b\n", "!wait\n", "b c\n"]);
    // Nobody has made the job's folder.
    let gone = bed.run(&mut link, 0, &bed.map(0, 0, 0)).await;
    assert!(
        gone.trouble.contains(&format!(
            "out/_temporary/{NAME} is gone: somebody has removed it"
        )),
        "{gone:?}"
    );
    bed.set_up().await;
    // It goes while a task writes: nothing brings it back.
    order(&link, Order::Start(bed.start(1, 0, &bed.map(1, 0, 0)))).await;
    let waiting = format!("jobs/{JOB}/waiting");
    launcher.file(&waiting).await;
    fs::remove_dir_all(bed.path("out/_temporary")).unwrap();
    fs::remove_file(launcher.folder.path().join(waiting)).unwrap();
    let ended = ended(&mut link).await;
    assert!(
        ended.trouble.contains("map 1: ") && ended.trouble.contains("is gone"),
        "{ended:?}"
    );
    assert_eq!(names(Path::new(&bed.path("out"))), [""; 0]);
    // A file that is shorter than it was.
    let task = bed.map(2, 0, 1);
    fs::write(bed.path("in-2"), "b\n").unwrap();
    let changed = bed.run(&mut link, 2, &task).await;
    assert!(
        changed
            .trouble
            .contains("in-2 had 4 bytes and has 2 now: it was changed while it was read"),
        "{changed:?}"
    );
}

#[tokio::test]
async fn a_task_is_seen_and_one_that_does_not_get_on_is_ended_with_its_place() {
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&[]);
    let mut link = am.link().await;
    let mut bed = Bed::new(&["b\n!status\n!stand\n"]);
    bed.set_up().await;
    order(&link, Order::Start(bed.start(0, 0, &bed.map(0, 0, 1)))).await;
    launcher.file(&format!("jobs/{JOB}/standing")).await;
    let seen = seen(&mut link).await;
    assert_eq!(
        (seen.process, seen.wanted, seen.status.as_str()),
        (0, 17, "half way")
    );
    order(&link, Order::End(EndTask { process: 0 })).await;
    let stopped = ended(&mut link).await;
    assert!(
        stopped.trouble.contains("map 0 was ended by order"),
        "{stopped:?}"
    );
    let timeout = "mapreduce.task.timeout";
    bed.settings.insert(timeout.to_owned(), "soon".to_owned());
    let refused = bed.run(&mut link, 1, &bed.map(0, 0, 1)).await;
    assert!(
        refused
            .trouble
            .contains("mapreduce.task.timeout is \"soon\""),
        "{refused:?}"
    );
    bed.settings.insert(timeout.to_owned(), "300".to_owned());
    let stalled = bed.run(&mut link, 2, &bed.map(0, 0, 1)).await;
    assert!(
        stalled.trouble.contains(
            "map 0 made no progress for 0.3 s on record 2 of the split, at byte 10 of file:"
        ),
        "{stalled:?}"
    );
}

#[tokio::test]
async fn the_end_of_a_job_ends_all_of_it_at_once() {
    let mut am = Appmaster::start().await;
    let mut launcher = am.launcher(&[]);
    let mut link = am.link().await;
    let bed = Bed::new(&["!fill\n", "!stand\n", "!wait\n"]);
    bed.set_up().await;
    order(&link, Order::Start(bed.start(0, 0, &bed.map(0, 0, 0)))).await;
    let job = launcher.folder.path().join(format!("jobs/{JOB}"));
    launcher.file(&format!("jobs/{JOB}/standing")).await;
    fs::remove_file(job.join("standing")).unwrap();
    order(&link, Order::Start(bed.start(1, 1, &bed.map(1, 0, 1)))).await;
    launcher.file(&format!("jobs/{JOB}/standing")).await;
    order(&link, Order::Start(bed.start(2, 2, &bed.map(2, 0, 0)))).await;
    launcher.file(&format!("jobs/{JOB}/waiting")).await;
    let began = std::time::Instant::now();
    link.end_job(JOB).await;
    assert!(began.elapsed() < std::time::Duration::from_secs(2));
    assert!(!job.exists());
    launcher.only_its_own().await;
    link.leave().await;
    assert_eq!(launcher.exit().await.code(), Some(0));
    launcher.nothing_left().await;
}

#[tokio::test]
async fn what_a_task_may_not_do_is_told_and_another_job_s_end_leaves_it_alone() {
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&FILES);
    let mut link = am.link().await;
    let bed = Bed::new(&["b a\na\n"]);
    link.run(share(1, &[0], "sleeper")).await;
    let other_plan = StartTask {
        plan: "another".to_owned(),
        ..bed.start(0, 0, &bed.map(0, 0, 1))
    };
    order(&link, Order::Start(other_plan)).await;
    let refused = ended(&mut link).await;
    assert!(
        refused.trouble.contains("registers other jobs"),
        "{refused:?}"
    );
    assert!(refused.how.is_some());
    let mute = || {
        let mut order = bed.start(1, 0, &bed.map(0, 0, 1));
        order.program = Some(Program {
            processes: 1,
            file: "mute".to_owned(),
            own_path: launcher.folder.path().join("mute").display().to_string(),
            ..Program::default()
        });
        Order::Start(order)
    };
    order(&link, mute()).await;
    let second = bed.start(2, 0, &bed.map(0, 0, 1));
    order(&link, Order::Start(second)).await;
    let refused = ended(&mut link).await;
    assert!(
        refused.trouble.contains("is that of task process 1"),
        "{refused:?}"
    );
    assert_eq!(refused.how, None);
    let printed = format!("jobs/{JOB}/.gerbil-tasks/1/stdout");
    assert_eq!(launcher.file(&printed).await, "something");
    // The ranks and what they have started are killed, and nobody else.
    let mute: i32 = launcher
        .file(&format!("jobs/{JOB}/pid.mute"))
        .await
        .parse()
        .unwrap();
    link.stop(5000).await;
    let ended_rank = |told: &Told| matches!(told, Told::Mpi(told) if matches!(told.event, Some(Event::Ended(_))));
    let Told::Mpi(told) = link.told_that(ended_rank).await else {
        panic!("the rank ends first");
    };
    let Some(Event::Ended(rank)) = told.event else {
        panic!("{told:?}");
    };
    assert_eq!(rank.how, Some(rank_ended::How::Signal(15)));
    assert!(is_alive(mute));
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(mute), nix::sys::signal::SIGKILL).unwrap();
    let killed = ended(&mut link).await;
    assert_eq!(killed.how, Some(How::Signal(9)));
    let words = "map 0 was killed by signal 9 before it said hello: is `main()` of the job the first statement \
                 of main?; its last words on standard error:\nsomething else";
    assert!(killed.trouble.ends_with(words), "{killed:?}");
}

#[tokio::test]
async fn a_reduce_fetches_what_maps_have_left_with_another_launcher() {
    let mut am = Appmaster::start().await;
    let mut here = am.launcher(&FILES);
    let mut link = am.link().await;
    let mut there = am.launcher(&FILES);
    let mut other = am.link().await;
    let bed = Bed::new(&["b a\na\n", "a c\n", "c c\n"]);
    bed.set_up().await;
    let left = bed.run(&mut other, 0, &bed.map(0, 0, 1)).await;
    done(&left);
    done(&bed.run(&mut link, 1, &bed.map(1, 0, 1)).await);
    done(&bed.run(&mut other, 2, &bed.map(2, 0, 1)).await);
    let fetching = |process, maps: &[u32], address: String, kept_by: &[u32]| StartTask {
        launchers: vec![address],
        kept_by: kept_by.to_vec(),
        ..bed.start(process, 0, &reduce(maps))
    };
    let address = format!("localhost:{}", left.fetch_port);
    // Of a map that the other launcher knows nothing of, and at a port at which nobody listens.
    let nothing = fetching(3, &[7], address.clone(), &[1]);
    order(&link, Order::Start(nothing)).await;
    let unread = ended(&mut link).await;
    assert!(
        unread.trouble.contains("it has no output of map 7"),
        "{unread:?}"
    );
    assert_eq!((unread.unfetched, unread.committed), (vec![7], false));
    let nobody = fetching(4, &[0, 2], "localhost:1".to_owned(), &[1, 1]);
    order(&link, Order::Start(nobody)).await;
    let unread = ended(&mut link).await;
    assert!(unread.trouble.contains("localhost:1"), "{unread:?}");
    assert_eq!(unread.unfetched, [0, 2]);
    let all = fetching(5, &[0, 1, 2], address, &[1, 0, 1]);
    order(&link, Order::Start(all)).await;
    let reduced = ended(&mut link).await;
    assert!(matches!(done(&reduced), FromTask::ReduceDone { .. }));
    assert!(reduced.committed);
    assert_eq!(bed.commit(&["task_r_000000"]).await, JobVerdict::Committed);
    let counted = fs::read_to_string(bed.path("out/part-r-00000")).unwrap();
    assert_eq!(counted, "a\t3\nb\t1\nc\t3\n");
    for (launcher, link) in [(&mut here, link), (&mut there, other)] {
        link.leave().await;
        assert_eq!(launcher.exit().await.code(), Some(0));
        launcher.nothing_left().await;
    }
}
