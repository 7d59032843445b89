//! Tasks on the cores of their slots, which change while they run.

use std::collections::BTreeSet;
use std::fs;

use job::wire::task_event::Event as TaskTold;
use job::wire::task_order::Order;
use job::wire::{EndTask, MoveTask, StartTask, TaskMoved};
use nix::sched::{CpuSet, sched_getaffinity};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::tasks::{Bed, JOB, done, ended, of_tasks, order};
use crate::support::{Appmaster, Launcher, Link};

/// The cores that a thread may use.
#[cfg(test)]
pub(super) fn cores(thread: i32) -> BTreeSet<u32> {
    let set = sched_getaffinity(Pid::from_raw(thread)).unwrap();
    let all = (0..CpuSet::count()).filter(|core| set.is_set(*core).unwrap());
    all.map(|core| u32::try_from(core).unwrap()).collect()
}

/// The cores of each thread of the one task that runs.
#[cfg(test)]
fn of_task(launcher: &Launcher) -> BTreeSet<BTreeSet<u32>> {
    let named = |pid: &i32| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "words")
    };
    let tasks: Vec<i32> = launcher.processes().into_iter().filter(named).collect();
    let [pid] = tasks[..] else {
        panic!("{tasks:?}");
    };
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let threads = threads.map(|thread| thread.unwrap().file_name().into_string().unwrap());
    threads
        .map(|thread| cores(thread.parse().unwrap()))
        .collect()
}

/// The cores of each thread of the launcher that brings what tasks read and write.
#[cfg(test)]
fn of_porters(launcher: &Launcher) -> BTreeSet<BTreeSet<u32>> {
    let folder = format!("/proc/{}/task", launcher.pid());
    let threads = fs::read_dir(&folder).unwrap();
    let threads = threads.map(|thread| thread.unwrap().file_name().into_string().unwrap());
    let porters = threads.filter(|thread| {
        fs::read_to_string(format!("{folder}/{thread}/comm"))
            .is_ok_and(|name| name.trim() == "porter")
    });
    porters
        .map(|thread| cores(thread.parse().unwrap()))
        .collect()
}

#[cfg(test)]
async fn moved(link: &mut Link, process: u32, slot: u32, cpus: &[u32]) -> TaskMoved {
    let cpus = cpus.to_vec();
    let to = MoveTask {
        process,
        slot,
        cpus,
        parked: false,
    };
    order(link, Order::Move(to)).await;
    loop {
        if let TaskTold::Moved(moved) = of_tasks(link).await {
            return moved;
        }
    }
}

#[tokio::test]
async fn a_task_runs_on_the_cores_of_its_slot_and_goes_on_on_those_of_another() {
    let own: Vec<u32> = cores(0).into_iter().collect();
    let [fast, slow, ..] = own[..] else {
        return println!("one core has no other");
    };
    let only = |core| BTreeSet::from([BTreeSet::from([core])]);
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&[]);
    let mut link = am.link().await;
    let bed = Bed::new(&["!stand\n", "b a\na\n"]).await;
    bed.set_up().await;
    let start = StartTask {
        cpus: vec![fast],
        ..bed.start(0, 0, &bed.map(0, 0, 1))
    };
    order(&link, Order::Start(start)).await;
    launcher.file(&format!("jobs/{JOB}/standing")).await;
    assert_eq!(of_task(&launcher), only(fast));
    assert_eq!(of_porters(&launcher), only(fast));
    let there = moved(&mut link, 0, 3, &[slow]).await;
    assert!(there.ok && there.why.is_empty(), "{there:?}");
    assert_eq!(of_task(&launcher), only(slow));
    assert_eq!(of_porters(&launcher), only(slow));
    // Another has the slot that it had.
    done(&bed.run(&mut link, 1, &bed.map(1, 0, 1)).await);
    let none = u32::try_from(CpuSet::count()).unwrap();
    let nowhere = moved(&mut link, 0, 0, &[none]).await;
    assert_eq!(nowhere.why, "the launcher may use none of these cores");
    assert_eq!(of_task(&launcher), only(slow));
    let everywhere = moved(&mut link, 0, 0, &[]).await;
    assert!(everywhere.ok);
    assert_eq!(of_task(&launcher), BTreeSet::from([cores(0)]));
    let gone = moved(&mut link, 1, 0, &[fast]).await;
    assert!(!gone.ok && gone.why == "it has ended", "{gone:?}");
    order(&link, Order::End(EndTask { process: 0 })).await;
    let ended = ended(&mut link).await;
    assert!(ended.trouble.contains("map 0"), "{ended:?}");
}

/// The states of the tasks that run, as the kernel names them.
#[cfg(test)]
fn states(launcher: &Launcher) -> BTreeSet<char> {
    let of = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (name, state) = stat.rsplit_once(") ")?;
        state.chars().next().filter(|_| name.ends_with("(words"))
    };
    launcher.processes().iter().filter_map(of).collect()
}

#[cfg(test)]
async fn parked(link: &mut Link, process: u32) -> TaskMoved {
    let to = MoveTask {
        process,
        slot: 7,
        cpus: Vec::new(),
        parked: true,
    };
    order(link, Order::Move(to)).await;
    loop {
        if let TaskTold::Moved(moved) = of_tasks(link).await {
            return moved;
        }
    }
}

#[tokio::test]
async fn a_task_that_is_stopped_outlives_its_timeout_and_goes_on_or_is_ended() {
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&[]);
    let mut link = am.link().await;
    let mut bed = Bed::new(&["!stand\n"]).await;
    bed.settings
        .insert(gerbil_task::settings::TIMEOUT.to_owned(), "1500".to_owned());
    bed.set_up().await;
    let start = bed.start(0, 0, &bed.map(0, 0, 1));
    order(&link, Order::Start(start)).await;
    launcher.file(&format!("jobs/{JOB}/standing")).await;
    let stopped = parked(&mut link, 0).await;
    assert!(stopped.ok, "{stopped:?}");
    assert_eq!(states(&launcher), BTreeSet::from(['T']));
    // Longer than it may stand still.
    tokio::time::sleep(std::time::Duration::from_millis(2200)).await;
    assert_eq!(states(&launcher), BTreeSet::from(['T']));
    let on = moved(&mut link, 0, 0, &[]).await;
    assert!(on.ok, "{on:?}");
    assert!(!states(&launcher).contains(&'T'));
    // Ended while it is stopped, nothing of it is left.
    assert!(parked(&mut link, 0).await.ok);
    order(&link, Order::End(EndTask { process: 0 })).await;
    let ended = ended(&mut link).await;
    assert!(ended.trouble.contains("was ended by order"), "{ended:?}");
    assert_eq!(states(&launcher), BTreeSet::new());
}

#[tokio::test]
async fn nothing_that_is_stopped_outlives_its_launcher() {
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&[]);
    let mut link = am.link().await;
    let bed = Bed::new(&["!stand\n"]).await;
    bed.set_up().await;
    order(&link, Order::Start(bed.start(0, 0, &bed.map(0, 0, 1)))).await;
    launcher.file(&format!("jobs/{JOB}/standing")).await;
    assert!(parked(&mut link, 0).await.ok);
    assert_eq!(states(&launcher), BTreeSet::from(['T']));
    kill(Pid::from_raw(launcher.pid()), Signal::SIGKILL).unwrap();
    launcher.nothing_left().await;
}
