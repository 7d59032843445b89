//! Tasks of a real MapReduce program, in a real launcher, on a folder as the file system.

use std::fs;

use gerbil_task::FromTask;
use job::wire::launcher_event::Event as Told;
use job::wire::mpi_event::Event;
use job::wire::rank_ended;
use job::wire::task_ended::How;
use job::wire::task_order::Order;
use job::wire::{EndTask, Program, ReadLog, StartTask, TaskEnded, task_event};
use policy::MiB;
use policy::commit::JobVerdict;

use crate::support::tasks::{Bed, JOB, NAME, done, ended, log_read, order, reduce, seen};
use crate::support::{Appmaster, Launcher, is_alive, share};

const FILES: [(&str, &str); 2] = [
    ("sleeper", "#!/bin/sh\nexec sleep 60\n"),
    (
        "mute",
        "#!/bin/sh\necho something\necho something else >&2\necho $$ > pid.mute\nexec sleep 60\n",
    ),
];

/// Where a process of the job has its folder, and the job.
#[cfg(test)]
fn folder_of(launcher: &Launcher, process: u32) -> std::path::PathBuf {
    let job = launcher.folder.path().join(format!("jobs/{JOB}"));
    job.join(".gerbil-tasks").join(process.to_string())
}

/// What a task has counted of its output.
#[cfg(test)]
fn written(ended: &TaskEnded) -> u64 {
    let (FromTask::MapDone { counters, .. } | FromTask::ReduceDone { counters }) = done(ended)
    else {
        panic!("{ended:?}");
    };
    let of_output = &counters["org.apache.hadoop.mapreduce.lib.output.FileOutputFormatCounter"];
    of_output["BYTES_WRITTEN"].try_into().unwrap()
}

#[tokio::test]
async fn maps_and_a_reduce_run_beside_ranks() {
    let mut am = Appmaster::start().await;
    let mut launcher = am.launcher(&FILES);
    let mut link = am.link().await;
    let bed = Bed::new(&["b a\na\n", "a c\n!side\n"]).await;
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
        assert_eq!(ended.has_files, ended.process == 1);
        assert!(ended.fetch_port > 0 && ended.output_bytes > 0);
        assert_eq!(ended.digest.len(), 16);
    }
    let reduced = bed.run(&mut link, 2, &reduce(&[0, 1])).await;
    assert!(matches!(done(&reduced), FromTask::ReduceDone { .. }));
    assert!(reduced.has_files);
    let bytes = u64::try_from("!side\t1\na\t3\nb\t1\nc\t1\n".len()).unwrap();
    assert_eq!((reduced.output_bytes, written(&reduced)), (bytes, bytes));
    let verdict = bed
        .commit(&["attempt_m_000001_0", "attempt_r_000000_0"])
        .await;
    assert_eq!(verdict, JobVerdict::Committed);
    assert_eq!(
        bed.names().await,
        ["_SUCCESS", "part-r-00000", "side-m-00001"]
    );
    let counted = bed.text("part-r-00000").await;
    assert_eq!(counted, "!side\t1\na\t3\nb\t1\nc\t1\n");
    assert_eq!(bed.text("side-m-00001").await, "beside\n");
    link.leave().await;
    assert_eq!(launcher.exit().await.code(), Some(0));
    launcher.nothing_left().await;
}

#[tokio::test]
async fn what_one_attempt_of_each_task_has_written_is_the_output_of_a_job_without_reduces() {
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&[]);
    let mut link = am.link().await;
    let bed = Bed::new(&["b a\na\n", "c\n"]).await;
    bed.set_up().await;
    for task in [0, 1] {
        let ended = bed.run(&mut link, task, &bed.map(task, 0, 0)).await;
        assert!(matches!(done(&ended), FromTask::MapDone { .. }));
        assert!(ended.has_files, "{ended:?}");
        let bytes = [12, 4][usize::try_from(task).unwrap()];
        assert_eq!((ended.output_bytes, written(&ended)), (bytes, bytes));
        // Nobody looks at what a process printed that ended well.
        assert!(!folder_of(&launcher, task).exists());
    }
    let twin = bed.run(&mut link, 2, &bed.map(0, 1, 0)).await;
    done(&twin);
    assert!(twin.has_files);
    let verdict = bed
        .commit(&["attempt_m_000000_1", "attempt_m_000001_0"])
        .await;
    assert_eq!(verdict, JobVerdict::Committed);
    assert_eq!(bed.text("part-m-00000").await, "b\t1\na\t1\na\t1\n");
    assert_eq!(
        bed.names().await,
        ["_SUCCESS", "part-m-00000", "part-m-00001"]
    );
}

#[tokio::test]
async fn a_crash_is_told_with_its_place_and_last_words_and_leaves_nothing() {
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&[]);
    let mut link = am.link().await;
    let bed = Bed::new(&["b\n!abort\n", "b\nb\n!error\n", "!fill\n"]).await;
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
    let begun = bed.attempts().await;
    assert!(begun.contains(&"part-m-00002".to_owned()), "{begun:?}");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::SIGKILL).unwrap();
    let killed = ended(&mut link).await;
    assert!(
        killed
            .trouble
            .contains("map 2 was killed by signal 9 on record 0 of the split"),
        "{killed:?}"
    );
    bed.attempts_left(&[]).await;
}

/// As a NodeManager does that is started again without recovery: tasks that fail for it are not failed tasks.
#[tokio::test]
async fn a_launcher_whose_folder_is_removed_blames_no_task_and_leaves() {
    let mut am = Appmaster::start().await;
    let mut launcher = am.launcher(&FILES);
    let mut link = am.link().await;
    let bed = Bed::new(&["b a\na\n"]).await;
    bed.set_up().await;
    let away = tempfile::tempdir().unwrap();
    fs::rename(launcher.folder.path(), away.path().join("removed")).unwrap();
    let start = bed.start(0, 0, &bed.map(0, 0, 1));
    order(&link, Order::Start(start)).await;
    assert_eq!(launcher.exit().await.code(), Some(70));
    let told = link.last_told().await;
    let is_end = |told: &Told| matches!(told, Told::Task(of) if matches!(of.event, Some(task_event::Event::Ended(_))));
    assert!(!told.iter().any(is_end), "{told:?}");
    fs::rename(away.path().join("removed"), launcher.folder.path()).unwrap();
    assert!(
        launcher
            .log()
            .contains("is gone, as a NodeManager removes it")
    );
    launcher.nothing_left().await;
}

#[tokio::test]
async fn output_that_cannot_be_written_and_input_that_has_changed_are_told_truly() {
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&[]);
    let mut link = am.link().await;
    let bed = Bed::new(&["b\n", "!wait\n", "b c\n"]).await;
    // Nobody has made the job's folder.
    let gone = bed.run(&mut link, 0, &bed.map(0, 0, 0)).await;
    assert!(
        gone.trouble.contains(&format!(
            "_out.temporary/{NAME} is gone: somebody has removed it"
        )),
        "{gone:?}"
    );
    bed.set_up().await;
    // It goes while a task writes: nothing brings it back.
    order(&link, Order::Start(bed.start(1, 0, &bed.map(1, 0, 0)))).await;
    let waiting = format!("jobs/{JOB}/waiting");
    launcher.file(&waiting).await;
    fs::remove_dir_all(bed.path("_out.temporary")).unwrap();
    fs::remove_file(launcher.folder.path().join(waiting)).unwrap();
    let ended = ended(&mut link).await;
    assert!(
        ended.trouble.contains("map 1: ") && ended.trouble.contains("is gone"),
        "{ended:?}"
    );
    assert_eq!(bed.names().await, [""; 0]);
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
    let launcher = am.launcher_with_memory(&[], MiB(1536));
    let mut link = am.link().await;
    let mut bed = Bed::new(&["b\n!status\n!stand\n"]).await;
    bed.set_up().await;
    order(&link, Order::Start(bed.start(0, 0, &bed.map(0, 0, 1)))).await;
    launcher.file(&format!("jobs/{JOB}/standing")).await;
    let seen = seen(&mut link).await;
    assert_eq!(
        (seen.process, seen.wanted, seen.status.as_str()),
        (0, 17, "half way")
    );
    // Where memory is short the kernel takes the task, not the launcher.
    let adjusted = |pid: i32| {
        let adjusted = fs::read_to_string(format!("/proc/{pid}/oom_score_adj"));
        adjusted.unwrap_or_default().trim() == "900"
    };
    let sooner = launcher
        .processes()
        .into_iter()
        .filter(|pid| adjusted(*pid));
    let sooner: Vec<i32> = sooner.collect();
    assert_eq!(sooner.len(), 1);
    assert!(!adjusted(launcher.pid()));
    let limits = |pid: i32| {
        let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
        let mut lines = limits.lines().map(str::to_owned);
        lines.find(|line| line.starts_with("Max data size"))
    };
    let of_task = limits(sooner[0]).unwrap();
    assert_ne!(Some(&of_task), limits(launcher.pid()).as_ref());
    assert!(
        of_task.contains(&((2 * 1536_u64) << 20).to_string()),
        "{of_task}"
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
    bed.settings.remove(timeout);
    let memory = "gerbil.task.memory.mb";
    bed.settings.insert(memory.to_owned(), "1".to_owned());
    // A slot beyond those of one page of notes.
    let greedy = bed.start(3, 130, &bed.map(0, 0, 1));
    order(&link, Order::Start(greedy)).await;
    let ended = ended(&mut link).await;
    assert!(
        ended
            .trouble
            .contains("MiB in memory where 1 are the limit (gerbil.task.memory.mb)"),
        "{ended:?}"
    );
    bed.settings.remove(memory);
    // Each slot of it has a place of its own there.
    fs::write(bed.path("in-0"), "b\n!status\n!abort\n").unwrap();
    let crashing = bed.start(4, 131, &bed.map(0, 0, 1));
    order(&link, Order::Start(crashing)).await;
    let crashed = self::ended(&mut link).await;
    assert!(
        crashed
            .trouble
            .contains("map 0 was killed by signal 6 on record 2 of the split"),
        "{crashed:?}"
    );
}

#[tokio::test]
async fn the_task_that_has_too_much_ends_before_its_container_does() {
    let mut am = Appmaster::start().await;
    let launcher = am.launcher_with_memory(&[], MiB(300));
    let mut link = am.link().await;
    let bed = Bed::new(&["!stand\n", "!eat\n"]).await;
    bed.set_up().await;
    for (process, memory_mib) in [(0, 150), (1, 100)] {
        let start = StartTask {
            memory_mib,
            ..bed.start(process, process, &bed.map(process, 0, 0))
        };
        order(&link, Order::Start(start)).await;
        if process == 0 {
            launcher.file(&format!("jobs/{JOB}/standing")).await;
        }
    }
    let ended = ended(&mut link).await;
    assert_eq!(ended.process, 1, "{ended:?}");
    let said = ended
        .trouble
        .contains("MiB in memory where 100 are its share, and its container")
        && ended.trouble.contains(" of 300: it was ended before YARN")
        && ended
            .trouble
            .contains("map 1 (on record 0 of the split, at byte 0 of ")
        && ended
            .trouble
            .contains("gerbil mr --memory gives a task more");
    assert!(said, "{ended:?}");
    // The other goes on.
    order(&link, Order::End(EndTask { process: 0 })).await;
    let stopped = self::ended(&mut link).await;
    assert!(
        stopped.trouble.contains("map 0 was ended by order"),
        "{stopped:?}"
    );
}

#[tokio::test]
async fn the_end_of_a_job_ends_all_of_it_at_once() {
    let mut am = Appmaster::start().await;
    let mut launcher = am.launcher(&[]);
    let mut link = am.link().await;
    let bed = Bed::new(&["!fill\n", "!stand\n", "!wait\n"]).await;
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
    let bed = Bed::new(&["b a\na\n"]).await;
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
    // The same over the link, with what it has written to standard error a moment later.
    let mut asked = 0;
    let read = loop {
        asked += 1;
        order(
            &link,
            Order::Log(ReadLog {
                id: asked,
                process: 1,
            }),
        )
        .await;
        let read = log_read(&mut link).await;
        assert_eq!((read.id, read.trouble.as_str()), (asked, ""));
        let errors = read.stderr.clone().unwrap_or_default();
        if errors.head.ends_with(b"\n") {
            break read;
        }
        assert!(asked < 200, "{read:?}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    assert_eq!(read.stdout.unwrap().head, b"something\n");
    assert_eq!(read.stderr.unwrap().head, b"something else\n");
    order(&link, Order::Log(ReadLog { id: 9, process: 77 })).await;
    let none = log_read(&mut link).await;
    assert!(
        none.id == 9 && none.trouble.contains("is not kept"),
        "{none:?}"
    );
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
    let bed = Bed::new(&["b a\na\n", "a c\n", "c c\n"]).await;
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
    assert_eq!((unread.unfetched, unread.has_files), (vec![7], false));
    let nobody = fetching(4, &[0, 2], "localhost:1".to_owned(), &[1, 1]);
    order(&link, Order::Start(nobody)).await;
    let unread = ended(&mut link).await;
    assert!(unread.trouble.contains("localhost:1"), "{unread:?}");
    assert_eq!(unread.unfetched, [0, 2]);
    let all = fetching(5, &[0, 1, 2], address, &[1, 0, 1]);
    order(&link, Order::Start(all)).await;
    let reduced = ended(&mut link).await;
    assert!(matches!(done(&reduced), FromTask::ReduceDone { .. }));
    assert!(reduced.has_files);
    assert_eq!(
        bed.commit(&["attempt_r_000000_0"]).await,
        JobVerdict::Committed
    );
    assert_eq!(bed.text("part-r-00000").await, "a\t3\nb\t1\nc\t3\n");
    for (launcher, link) in [(&mut here, link), (&mut there, other)] {
        link.leave().await;
        assert_eq!(launcher.exit().await.code(), Some(0));
        launcher.nothing_left().await;
    }
}
