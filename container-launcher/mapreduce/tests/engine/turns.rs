//! Tasks of a node that take turns at its devices, as processes that end in every way.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::example;

#[cfg(test)]
const SOON: Duration = Duration::from_secs(30);
/// What a device may stay taken by who was killed.
#[cfg(test)]
const FREED: Duration = Duration::from_millis(100);

/// A process that takes a turn, notes it as `NAME DEVICE` in `log`, and keeps it until `end` is there.
#[cfg(test)]
fn turn(bed: &Path, name: &str) -> Child {
    command(bed, name).spawn().unwrap()
}

#[cfg(test)]
fn command(bed: &Path, name: &str) -> Command {
    let mut command = Command::new(example("turn"));
    command
        .arg(name)
        .arg(bed.join("log"))
        .arg(bed.join("end"))
        .env("GERBIL_DEVICES", "0@nvidia0")
        .env("GERBIL_DEVICE_TURNS", bed.join("turns"))
        .stdin(Stdio::null());
    command
}

#[cfg(test)]
fn log(bed: &Path) -> String {
    fs::read_to_string(bed.join("log")).unwrap_or_default()
}

#[cfg(test)]
fn until(what: &str, mut is: impl FnMut() -> bool) {
    let limit = Instant::now() + SOON;
    while !is() {
        assert!(Instant::now() < limit, "{what}");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// How many wait.
#[cfg(test)]
fn waiting(bed: &Path) -> usize {
    waiting_in(&bed.join("turns"))
}

#[cfg(test)]
fn waiting_in(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let numbers = entries.filter(|entry| entry.file_name().len() == 20);
    numbers.count()
}

#[test]
fn a_device_is_free_at_once_when_its_holder_or_one_who_waits_is_killed() {
    let bed = tempfile::tempdir().unwrap();
    let bed = bed.path();
    let mut holder = turn(bed, "holder");
    until("the first has its turn", || log(bed) == "holder 0\n");
    let mut all = Vec::new();
    for (number, name) in ["killed", "second", "third"].into_iter().enumerate() {
        all.push(turn(bed, name));
        until("it waits", || waiting(bed) == number + 1);
    }
    // One who waits, and is before others.
    all[0].kill().unwrap();
    all[0].wait().unwrap();
    let began = Instant::now();
    holder.kill().unwrap();
    until("the next has its turn", || {
        log(bed) == "holder 0\nsecond 0\n"
    });
    let freed = began.elapsed();
    assert!(freed < FREED, "{freed:?}");
    holder.wait().unwrap();
    assert_eq!(all[2].try_wait().unwrap(), None);
    fs::write(bed.join("end"), "").unwrap();
    for one in &mut all[1..] {
        assert!(one.wait().unwrap().success());
    }
    assert_eq!(log(bed), "holder 0\nsecond 0\nthird 0\n");
    // The next one to come removes what the killed ones have left.
    assert!(turn(bed, "last").wait().unwrap().success());
    assert_eq!(waiting(bed), 0);
}

#[test]
fn a_container_s_tasks_use_as_many_devices_at_a_time_as_it_was_granted() {
    let bed = tempfile::tempdir().unwrap();
    let bed = bed.path();
    // Two devices, of which each of two containers was granted one.
    let of = |container: &str, name: &str| {
        let permits = format!("1@{}", bed.join(container).display());
        let mut task = command(bed, name);
        task.env("GERBIL_DEVICES", "0@nvidia0,1@nvidia1");
        task.env("GERBIL_DEVICE_PERMITS", permits).spawn().unwrap()
    };
    let mut first = of("a", "a1");
    until("the first has its turn", || log(bed) == "a1 0\n");
    let mut second = of("a", "a2");
    until("it waits for its container's permit", || {
        waiting_in(&bed.join("a")) == 1
    });
    // Another container's has the other device meanwhile, before the one who came first.
    let mut other = of("b", "b1");
    until("the other device is taken", || log(bed) == "a1 0\nb1 1\n");
    assert_eq!(second.try_wait().unwrap(), None);
    first.kill().unwrap();
    first.wait().unwrap();
    until("the permit is free", || log(bed) == "a1 0\nb1 1\na2 0\n");
    fs::write(bed.join("end"), "").unwrap();
    for one in [&mut second, &mut other] {
        assert!(one.wait().unwrap().success());
    }
}
