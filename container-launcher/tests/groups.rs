//! Groups of ranks that are spawned beside the job's own: many at once, and many one after the other.

#[cfg(test)]
mod support;

use std::time::{Duration, Instant};

use job::wire::launcher_event::Event;
use job::wire::launcher_order::Order;
use job::wire::rank_ended::How;
use job::wire::{Group, Part, Signal};
use nix::sys::signal::Signal as Number;
use support::{Appmaster, Link, share};

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
