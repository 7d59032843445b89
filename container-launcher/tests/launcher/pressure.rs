//! Ranks that say too much, or listen too little: what they do to themselves and to nobody else.

use std::time::Duration;

use job::CHUNK_MAX;
use job::wire::mpi_event::Event;
use job::wire::mpi_order::Order;
use job::wire::rank_ended::How;
use job::wire::{PmiStage, Signal};
use nix::sys::signal::Signal as Number;

use crate::support::{self, Appmaster, share};

/// Most that a launcher may grow over its size when idle, KiB: the send buffer of one stream (1 MiB)
/// and what the allocator keeps.
const GROWTH_MAX: u64 = 8 * 1024;

#[tokio::test]
async fn output_that_nobody_takes_stops_the_rank_and_nothing_else() {
    const BYTES: usize = 100_000_000;
    let mut am = Appmaster::start().await;
    let script = "#!/bin/bash\n\
        case $PMI_RANK in\n\
        0) head -c 100000000 /dev/zero | tr '\\0' x; exit 0;;\n\
        1) trap 'exit 9' USR1; echo $$ > pid.1; while :; do sleep 0.01; done;;\n\
        2) echo 'cmd=barrier_in' >&$PMI_FD; read answer <&$PMI_FD; exit 4;;\n\
        esac\n";
    let launcher = am.launcher(&[("writer", script)]);
    let mut link = am.link().await;
    let idle = launcher.status_kib("VmRSS:");
    am.reading.send(false).unwrap();
    link.run(share(4, &[0, 1, 2], "writer")).await;
    launcher.file("pid.1").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let signal = Number::SIGUSR1 as i32;
    link.order(Order::Signal(Signal { signal })).await;
    let mut ended = [link.ended().await, link.ended().await, link.ended().await];
    ended.sort_by_key(|end| end.rank);
    // USR1 kills what has no handler for it: the writer stood still until then.
    assert_eq!(
        ended.iter().map(|end| end.how).collect::<Vec<_>>(),
        [
            Some(How::Signal(10)),
            Some(How::ExitCode(9)),
            Some(How::Signal(10))
        ]
    );
    assert!(am.so_far(0, 0).len() < BYTES);
    let grown = launcher.status_kib("VmHWM:").saturating_sub(idle);
    assert!(
        grown < GROWTH_MAX,
        "{grown} KiB more than the {idle} KiB before"
    );
}

#[tokio::test]
async fn a_hundred_megabytes_arrive_in_whole_lines() {
    const LINES: [usize; 2] = [1_000_000, 100_000];
    let mut am = Appmaster::start().await;
    let script = "#!/bin/sh\n\
        line=$(head -c 99 /dev/zero | tr '\\0' $PMI_RANK)\n\
        yes $line | head -n $((1000000 / (1 + 9 * $PMI_RANK)))\n";
    let launcher = am.launcher(&[("lines", script)]);
    let mut link = am.link().await;
    let idle = launcher.status_kib("VmRSS:");
    link.run(share(2, &[0, 1], "lines")).await;
    // A reader that stops now and then.
    for reading in [false, true, false, true] {
        am.reading.send(reading).unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    for _ in 0..2 {
        assert_eq!(link.ended().await.how, Some(How::ExitCode(0)));
    }
    am.all_output().await;
    for (rank, lines) in (0..).zip(LINES) {
        let text = am.so_far(rank, 0);
        assert_eq!(text.lines().count(), lines);
        let line = rank.to_string().repeat(99);
        assert!(text.lines().all(|found| found == line));
    }
    assert!(*am.largest.lock().unwrap() <= CHUNK_MAX);
    let grown = launcher.status_kib("VmHWM:").saturating_sub(idle);
    assert!(
        grown < GROWTH_MAX,
        "{grown} KiB more than the {idle} KiB before"
    );
}

#[tokio::test]
async fn an_unfinished_line_is_shown_while_the_rank_waits() {
    let mut am = Appmaster::start().await;
    let _launcher = am.launcher(&[("prompt", "#!/bin/sh\nprintf 'name? '\nsleep 60\n")]);
    let mut link = am.link().await;
    link.run(share(1, &[0], "prompt")).await;
    support::within(async {
        while am.so_far(0, 0) != "name? " {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    link.stop(0).await;
    assert!(matches!(link.ended().await.how, Some(How::Signal(9 | 15))));
}

#[tokio::test]
async fn a_barrier_passes_while_output_stands_still() {
    let mut am = Appmaster::start().await;
    let script = "#!/bin/bash\n\
        (head -c 10000000 /dev/zero | tr '\\0' x) &\n\
        sleep 0.5\n\
        for i in 1 2 3; do\n\
        echo \"cmd=put key=k$i value=$(head -c 900 /dev/zero | tr '\\0' y)\" >&$PMI_FD\n\
        read answer <&$PMI_FD\n\
        echo cmd=barrier_in >&$PMI_FD; read answer <&$PMI_FD\n\
        done\n\
        kill %1; exit 4\n";
    let _launcher = am.launcher(&[("both", script)]);
    let mut link = am.link().await;
    am.reading.send(false).unwrap();
    link.run(share(1, &[0], "both")).await;
    for number in 1..=3 {
        let Event::Fence(fence) = link.event().await else {
            panic!("no barrier");
        };
        assert_eq!(fence.puts[0].key, format!("k{number}"));
        let puts = fence.puts.into_iter().map(|put| (put.key, put.value));
        for done in job::wire::FenceDone::pieces(0, puts.collect()) {
            link.order(Order::FenceDone(done)).await;
        }
    }
    assert_eq!(link.ended().await.how, Some(How::ExitCode(4)));
}

#[tokio::test]
async fn an_abort_comes_before_the_end_it_causes() {
    let mut am = Appmaster::start().await;
    let script = "#!/bin/bash\n\
        echo 'cmd=init pmi_version=1 pmi_subversion=1' >&$PMI_FD; read -r a <&$PMI_FD\n\
        echo 'cmd=abort exitcode=77 message=no more' >&$PMI_FD; exit 3\n";
    for _ in 0..5 {
        let _launcher = am.launcher(&[("abort", script)]);
        let mut link = am.link().await;
        link.run(share(1, &[0], "abort")).await;
        assert!(matches!(link.event().await, Event::PmiSeen(_)));
        let Event::Abort(abort) = link.event().await else {
            panic!("the end came first");
        };
        assert_eq!((abort.rank, abort.exit_code), (0, 77));
        assert_eq!(abort.message, "no more");
        let ended = link.ended().await;
        assert_eq!(ended.how, Some(How::ExitCode(3)));
        assert_eq!(ended.pmi(), PmiStage::Initialized);
        link.leave().await;
    }
}

#[tokio::test]
async fn a_launcher_and_its_warden_are_small() {
    /// KiB. YARN kills a container whose address space is more than 2.1 times its memory, which
    /// is 1 GiB at least.
    const VIRTUAL_MAX: u64 = 200 * 1024;
    const OWN_MAX: u64 = 4 * 1024;
    // With the pages of its file, of which a build for debugging has three times as many.
    const RESIDENT_MAX: u64 = 32 * 1024;
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&[("sleeper", "#!/bin/sh\nexec sleep 60\n")]);
    let warden = support::within(async {
        loop {
            let is_warden = |pid: &i32| {
                let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                let mut arguments = line.split(|&byte| byte == 0);
                arguments.any(|argument| argument == b"--as=warden")
            };
            if let Some(warden) = launcher.processes().into_iter().find(is_warden) {
                return warden;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let mut link = am.link().await;
    link.run(share(4, &[0, 1, 2, 3], "sleeper")).await;
    for (name, pid) in [("launcher", launcher.pid()), ("warden", warden)] {
        let resident = support::status_kib(pid, "VmRSS:");
        let own = support::status_kib(pid, "RssAnon:");
        let virtual_size = support::status_kib(pid, "VmSize:");
        println!("{name}: {resident} KiB resident ({own} its own), {virtual_size} KiB virtual");
        assert!(own < OWN_MAX, "{name}: {own} KiB of its own");
        assert!(resident < RESIDENT_MAX, "{name}: {resident} KiB");
        assert!(virtual_size < VIRTUAL_MAX, "{name}: {virtual_size} KiB");
    }
}
