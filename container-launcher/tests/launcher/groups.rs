//! Groups of ranks that are spawned beside the job's own: many at once, and many one after the other.

use std::time::{Duration, Instant};

use job::wire::mpi_event::Event;
use job::wire::mpi_order::Order;
use job::wire::rank_ended::How;
use job::wire::{BindUnit, Binding, Group, Part, Share, Signal};
use nix::sys::signal::Signal as Number;

use crate::support::{Appmaster, Link, share};

/// What the job's own rank does: it waits for a signal.
const WAITER: &str = "#!/bin/bash\ntrap 'exit 9' USR1; while :; do sleep 0.05; done\n";

/// A spawned group of one rank that runs `program`.
fn group(number: u32, program: &str) -> Group {
    Group {
        group: number,
        first: number,
        size: 1,
        kvs_name: format!("kvs_{}_group_{number}", std::process::id()),
        process_mapping: pmi::process_mapping(&[1]),
        parts: vec![Part {
            ranks: vec![number],
            program: program.to_owned(),
            ..Part::default()
        }],
        ..Group::default()
    }
}

#[cfg(test)]
async fn started(link: &mut Link, number: u32) {
    loop {
        match link.event().await {
            Event::Started(started) if started.group == number => return,
            Event::Started(_) | Event::Ended(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn twenty_groups_that_print_much_share_one_call() {
    const GROUPS: u32 = 20;
    let mut am = Appmaster::start().await;
    let talker = "#!/bin/sh\nhead -c 2097152 /dev/zero | tr '\\0' x; echo; sleep 0.2\n";
    let _launcher = am.launcher(&[("waiter", WAITER), ("talker", talker)]);
    let mut link = am.link().await;
    link.run(share(1, &[0], "waiter")).await;
    for number in 1..=GROUPS {
        link.order(Order::Group(group(number, "talker"))).await;
    }
    let mut ended = 0;
    while ended < GROUPS {
        match link.event().await {
            Event::Ended(end) => {
                assert_eq!(end.how, Some(How::ExitCode(0)));
                ended += 1;
            }
            Event::Started(_) => {}
            other => panic!("{other:?}"),
        }
    }
    let signal = Number::SIGUSR1 as i32;
    link.order(Order::Signal(Signal { signal })).await;
    assert_eq!(link.ended().await.how, Some(How::ExitCode(9)));
    am.all_output().await;
    for number in 1..=GROUPS {
        assert_eq!(am.so_far(number, 0).len(), 2_097_153, "rank {number}");
    }
    assert_eq!(am.streams.borrow().calls, 1);
}

#[tokio::test]
async fn the_control_link_lives_behind_a_reader_that_stands_still() {
    const GROUPS: u32 = 15;
    let mut am = Appmaster::start().await;
    let talker = "#!/bin/sh\nhead -c 4000000 /dev/zero | tr '\\0' x; sleep 60\n";
    let _launcher = am.launcher(&[("waiter", WAITER), ("talker", talker)]);
    let mut link = am.link().await;
    am.reading.send(false).unwrap();
    link.run(share(1, &[0], "waiter")).await;
    for number in 1..=GROUPS {
        link.order(Order::Group(group(number, "talker"))).await;
        started(&mut link, number).await;
    }
    // Whatever may be under way is.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let begin = Instant::now();
    let signal = Number::SIGUSR1 as i32;
    link.order(Order::Signal(Signal { signal })).await;
    for _rank in 0..=GROUPS {
        link.ended().await;
    }
    assert!(
        begin.elapsed() < Duration::from_secs(5),
        "{:?}",
        begin.elapsed()
    );
}

#[tokio::test]
async fn names_of_more_spawns_than_a_pipe_holds_kill_nobody() {
    const GROUPS: u32 = 300;
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&[("waiter", WAITER), ("short", "#!/bin/sh\nexit 0\n")]);
    let mut link = am.link().await;
    link.run(share(1, &[0], "waiter")).await;
    for number in 1..=GROUPS {
        let mut group = group(number, "short");
        group.kvs_name = format!("{}_{}", group.kvs_name, "x".repeat(220));
        link.order(Order::Group(group)).await;
        started(&mut link, number).await;
    }
    // It would sweep within a moment.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let signal = Number::SIGUSR1 as i32;
    link.order(Order::Signal(Signal { signal })).await;
    loop {
        let ended = match link.event().await {
            Event::Ended(ended) => ended,
            other => panic!("{other:?}"),
        };
        if ended.rank == 0 {
            assert_eq!(ended.how, Some(How::ExitCode(9)));
            break;
        }
    }
    assert_eq!(launcher.log(), "");
}

#[tokio::test]
async fn spawned_ranks_are_bound_beside_the_jobs_own() {
    let mut am = Appmaster::start().await;
    let said = "#!/bin/sh\ngrep Cpus_allowed_list /proc/self/status\nsleep 0.5\n";
    let _launcher = am.launcher(&[("waiter", WAITER), ("said", said)]);
    let mut link = am.link().await;
    let binding = Some(Binding {
        to: BindUnit::Hwthread.into(),
        ..Binding::default()
    });
    let own = Share {
        binding,
        ..share(1, &[0], "waiter")
    };
    link.run(own).await;
    for number in [1, 2] {
        link.order(Order::Group(group(number, "said"))).await;
        started(&mut link, number).await;
    }
    for _group in 0..2 {
        link.ended().await;
    }
    link.stop(0).await;
    link.ended().await;
    am.all_output().await;
    let processors = std::thread::available_parallelism().unwrap().get();
    let (first, second) = (am.so_far(1, 0), am.so_far(2, 0));
    if processors > 2 {
        assert_ne!(first, second);
    }
    let mask = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = mask
        .lines()
        .find(|line| line.starts_with("Cpus_allowed_list"));
    let lowest = mask.unwrap().split_whitespace().nth(1).unwrap();
    let lowest = lowest.split(['-', ',']).next().unwrap();
    if processors > 1 {
        // The job's own rank has the first.
        assert_ne!(first.split_whitespace().nth(1), Some(lowest), "{first}");
    }
}
