//! Tasks of a real MapReduce program, in a real launcher.

#[cfg(test)]
mod support;

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
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
use job::wire::{EndTask, Program, StartTask, TaskEnded, TaskEvent, TaskOrder};
use support::{Appmaster, Link, example, is_alive, share};

const JOB: u32 = 1;
const FILES: [(&str, &str); 4] = [
    ("one.txt", "b a\na\n"),
    ("two.txt", "a c\n"),
    ("sleeper", "#!/bin/sh\nexec sleep 60\n"),
    (
        "mute",
        "#!/bin/sh\necho something\necho $$ > pid.mute\nexec sleep 60\n",
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

#[cfg(test)]
fn start(process: u32, slot: u32, task: &ToTask) -> StartTask {
    let welcome = Welcome {
        job: "words".to_owned(),
        ..Welcome::default()
    };
    let words = Program {
        processes: 1,
        file: "words".to_owned(),
        own_path: example("words").display().to_string(),
        ..Program::default()
    };
    StartTask {
        process,
        slot,
        program: Some(words),
        plan: plan(),
        welcome: serde_json::to_string(&welcome).unwrap(),
        task: serde_json::to_string(task).unwrap(),
        ..StartTask::default()
    }
}

#[cfg(test)]
fn map(task: u32) -> ToTask {
    let (name, text) = FILES[usize::try_from(task).unwrap()];
    let size = u64::try_from(text.len()).unwrap();
    ToTask::Map(MapOrder {
        task,
        attempt: 0,
        partitions: 1,
        pieces: vec![Piece {
            name: name.to_owned(),
            offset: 0,
            length: size,
            size,
        }],
        skip: Vec::new(),
    })
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
async fn ended(link: &mut Link) -> TaskEnded {
    match link.told().await {
        Told::Task(TaskEvent {
            job: JOB,
            event: Some(TaskTold::Ended(ended)),
        }) => ended,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn maps_and_a_reduce_run_beside_ranks() {
    let mut am = Appmaster::start().await;
    let mut launcher = am.launcher(&FILES);
    let mut link = am.link().await;
    link.run(share(1, &[0], "sleeper")).await;
    for number in [0, 1] {
        let order = start(number, number, &map(number));
        self::order(&link, Order::Start(order)).await;
    }
    let mut sources = Vec::new();
    for _ in 0..2 {
        let ended = ended(&mut link).await;
        assert_eq!(ended.trouble, "");
        assert_eq!(ended.how, Some(How::ExitCode(0)));
        assert!(ended.max_rss_kib > 0);
        let FromTask::MapDone { partitions, .. } = serde_json::from_str(&ended.said).unwrap()
        else {
            panic!("{}", ended.said);
        };
        sources.push(Source {
            map: ended.process,
            offset: partitions[0].offset,
            length: partitions[0].length,
            records: partitions[0].records,
        });
    }
    sources.sort_by_key(|source| source.map);
    let reduce = ToTask::Reduce(ReduceOrder {
        task: 0,
        attempt: 0,
        sources,
    });
    order(&link, Order::Start(start(2, 0, &reduce))).await;
    let reduced = ended(&mut link).await;
    assert_eq!(reduced.trouble, "");
    assert!(reduced.said.contains("reduce_done"), "{}", reduced.said);
    let output = format!(".gerbil-tasks/{JOB}/2/out/part-r-00000");
    let counted = std::fs::read_to_string(launcher.folder.path().join(output)).unwrap();
    assert_eq!(counted, "a\t3\nb\t1\nc\t1\n");
    link.leave().await;
    assert_eq!(launcher.exit().await.code(), Some(0));
    launcher.nothing_left().await;
}

#[tokio::test]
async fn what_a_task_may_not_do_is_told_and_another_job_s_end_leaves_it_alone() {
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&FILES);
    let mut link = am.link().await;
    link.run(share(1, &[0], "sleeper")).await;
    let other_plan = StartTask {
        plan: "another".to_owned(),
        ..start(0, 0, &map(0))
    };
    order(&link, Order::Start(other_plan)).await;
    let refused = ended(&mut link).await;
    assert!(
        refused.trouble.contains("registers other jobs"),
        "{refused:?}"
    );
    assert!(refused.how.is_some());
    let mute = || {
        let mut order = start(1, 0, &map(0));
        order.program = Some(Program {
            processes: 1,
            file: "mute".to_owned(),
            ..Program::default()
        });
        Order::Start(order)
    };
    order(&link, mute()).await;
    let second = start(2, 0, &map(0));
    order(&link, Order::Start(second)).await;
    let refused = ended(&mut link).await;
    assert!(
        refused.trouble.contains("is that of task process 1"),
        "{refused:?}"
    );
    assert_eq!(refused.how, None);
    assert_eq!(
        launcher
            .file(&format!(".gerbil-tasks/{JOB}/1/stdout"))
            .await,
        "something"
    );
    // The ranks and what they have started are killed, and nobody else.
    let mute: i32 = launcher.file("pid.mute").await.parse().unwrap();
    link.stop(5000).await;
    let Event::Ended(rank) = link.event().await else {
        panic!("the rank ends first");
    };
    assert_eq!(rank.how, Some(rank_ended::How::Signal(15)));
    assert!(is_alive(mute));
    order(&link, Order::End(EndTask { process: 1 })).await;
    let killed = ended(&mut link).await;
    assert_eq!(killed.how, Some(How::Signal(9)));
    assert!(
        killed.trouble.contains("before it said hello"),
        "{killed:?}"
    );
}
