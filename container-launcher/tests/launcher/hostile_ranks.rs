//! Ranks that mistreat their PMI socket: each hurts itself alone, is named with what it did, and costs
//! the launcher no memory.

use std::time::Duration;

use job::wire::mpi_event::Event;
use job::wire::mpi_order::Order;
use job::wire::rank_ended::How;
use job::wire::{FenceDone, PmiStage};

use crate::support::{self, Appmaster, share};

/// Most that a launcher may grow over its size when idle, KiB: what the allocator keeps.
const GROWTH_MAX: u64 = 8 * 1024;

/// What the AM hears of a rank that broke the protocol.
#[cfg(test)]
async fn broken(script: &str) -> String {
    let mut am = Appmaster::start().await;
    let script = format!(
        "#!/bin/bash\nif [ $PMI_RANK = 1 ]; then echo cmd=get_appnum >&$PMI_FD; read -r a <&$PMI_FD; \
         echo \"$a\"; sleep 60; fi\n{script}"
    );
    let launcher = am.launcher(&[("bad", &script)]);
    let mut link = am.link().await;
    let idle = launcher.status_kib("VmRSS:");
    link.run(share(2, &[0, 1], "bad")).await;
    let Event::Broke(broke) = link.event().await else {
        panic!("no word of it");
    };
    assert_eq!(broke.rank, 0);
    let ended = link.ended().await;
    assert_eq!((ended.rank, ended.how), (0, Some(How::Signal(9))));
    let grown = launcher.status_kib("VmHWM:").saturating_sub(idle);
    assert!(grown < GROWTH_MAX, "{grown} KiB");
    // The other rank is served and goes on.
    support::within(async {
        while am.so_far(1, 0) != "cmd=appnum appnum=0 rc=0\n" {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    link.stop(0).await;
    assert_eq!(link.ended().await.rank, 1);
    broke.sentence
}

#[tokio::test]
async fn a_rank_that_floods_its_pmi_socket_is_killed() {
    let message = broken("exec head -c 1000000000 /dev/zero >&$PMI_FD\n").await;
    assert!(
        message.contains("a line of more than 65536 bytes"),
        "{message}"
    );
}

#[tokio::test]
async fn a_rank_that_never_reads_its_answers_is_killed() {
    let message = broken("yes cmd=get_maxes >&$PMI_FD\n").await;
    assert!(message.contains("does not read the answers"), "{message}");
}

#[tokio::test]
async fn a_rank_that_speaks_something_else_is_killed() {
    let message = broken("echo 'GET / HTTP/1.0' >&$PMI_FD; sleep 60\n").await;
    assert!(message.contains("GET / HTTP/1.0"), "{message}");
}

#[tokio::test]
async fn a_line_of_ten_megabytes_is_not_waited_for() {
    let message = broken(
        "(printf 'cmd=put key=k value='; head -c 10000000 /dev/zero | tr '\\0' x; echo) >&$PMI_FD\n\
         sleep 60\n",
    )
    .await;
    assert!(
        message.contains("a line of more than 65536 bytes"),
        "{message}"
    );
}

#[tokio::test]
async fn a_rank_that_writes_noise_is_killed_and_not_quoted_at_length() {
    let noise = "head -c 10000000 /dev/urandom >&$PMI_FD; sleep 60\n";
    let message = broken(noise).await;
    assert!(message.len() < 1000, "{} bytes", message.len());
    assert!(message.chars().all(|c| !c.is_control()), "{message:?}");
}

#[tokio::test]
async fn a_rank_that_closes_its_socket_goes_on_alone() {
    let mut am = Appmaster::start().await;
    let script = "#!/bin/bash\n\
        test $PMI_RANK = 0 && { eval \"exec $PMI_FD>&-\"; sleep 0.3; exit 6; }\n\
        echo 'cmd=init pmi_version=1 pmi_subversion=1' >&$PMI_FD; read -r a <&$PMI_FD\n\
        eval \"exec $PMI_FD>&-\"; sleep 0.3; exit 7\n";
    let _launcher = am.launcher(&[("closes", script)]);
    let mut link = am.link().await;
    link.run(share(2, &[0, 1], "closes")).await;
    assert!(matches!(link.event().await, Event::PmiSeen(_)));
    let mut ended = [link.ended().await, link.ended().await];
    ended.sort_by_key(|end| end.rank);
    let seen: Vec<_> = ended.iter().map(|end| (end.how, end.pmi())).collect();
    // The second died in the middle of MPI, which is the AM's to judge.
    assert_eq!(
        seen,
        [
            (Some(How::ExitCode(6)), PmiStage::Silent),
            (Some(How::ExitCode(7)), PmiStage::Initialized)
        ]
    );
}

/// Whole lines of two processes are requests of one rank; who reads an answer is their own affair.
#[tokio::test]
async fn a_rank_that_forks_may_ask_from_both_processes() {
    let mut am = Appmaster::start().await;
    let script = "#!/bin/bash\n\
        ask() { for i in {1..300}; do echo cmd=get_maxes >&$PMI_FD; read -r a <&$PMI_FD; done; }\n\
        ask & ask; wait\n\
        echo cmd=barrier_in >&$PMI_FD; read -r answer <&$PMI_FD; echo \"$answer\"; exit 4\n";
    let launcher = am.launcher(&[("forks", script)]);
    let mut link = am.link().await;
    let idle = launcher.status_kib("VmRSS:");
    link.run(share(1, &[0], "forks")).await;
    assert!(matches!(link.event().await, Event::Fence(_)));
    link.order(Order::FenceDone(FenceDone::default())).await;
    assert_eq!(link.ended().await.how, Some(How::ExitCode(4)));
    assert!(am.stdout(0).await.starts_with("cmd=barrier_out"));
    let grown = launcher.status_kib("VmHWM:").saturating_sub(idle);
    assert!(grown < GROWTH_MAX, "{grown} KiB");
}

/// Two that write into each other's lines make no sense together: the rank ends, and no other.
#[tokio::test]
async fn torn_lines_of_two_processes_end_their_rank() {
    let message = broken(
        "write() { while :; do printf 'cmd=ge' >&$PMI_FD; printf 't_maxes\\n' >&$PMI_FD; done; }\n\
         write & write & cat <&$PMI_FD >/dev/null\n",
    )
    .await;
    assert!(message.len() < 1000, "{message}");
}

#[tokio::test]
async fn ten_megabytes_of_values_cost_no_more_than_they_are() {
    const MIB: u64 = 10;
    let mut am = Appmaster::start().await;
    let script = "#!/bin/bash\n\
        value=$(head -c 1000 /dev/zero | tr '\\0' y)\n\
        for i in {1..10486}; do\n\
        echo \"cmd=put key=k$i value=$value\" >&$PMI_FD; read -r answer <&$PMI_FD\n\
        done\n\
        echo \"$answer\"\n\
        echo cmd=barrier_in >&$PMI_FD; read -r answer <&$PMI_FD; echo \"$answer\"; exit 4\n";
    let launcher = am.launcher(&[("puts", script)]);
    let mut link = am.link().await;
    let idle = launcher.status_kib("VmRSS:");
    link.run(share(1, &[0], "puts")).await;
    let Event::Fence(fence) = link.event().await else {
        panic!("no barrier");
    };
    assert_eq!(fence.puts.len(), 10486);
    let puts = fence.puts.into_iter().map(|put| (put.key, put.value));
    for piece in FenceDone::pieces(0, puts.collect()) {
        link.order(Order::FenceDone(piece)).await;
    }
    assert_eq!(link.ended().await.how, Some(How::ExitCode(4)));
    assert!(am.stdout(0).await.contains("cmd=barrier_out rc=0"));
    let grown = launcher.status_kib("VmHWM:").saturating_sub(idle);
    // Held by the space, on the way up, and on the way down; and pages of the program that it had not yet run.
    assert!(grown < 6 * MIB * 1024 + GROWTH_MAX, "{grown} KiB");
}
