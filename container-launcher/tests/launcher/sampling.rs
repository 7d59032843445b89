//! What a launcher tells of its ranks while they run.

use job::wire::rank_ended::How;
use job::wire::{OutOfMemory, RankUsage, Share};
use policy::MiB;

use crate::support::{Appmaster, share};

/// Rank 0 sleeps; rank 1 has a child that computes and holds some memory.
const SCRIPT: &str = "#!/bin/sh\n\
    test $PMI_RANK = 0 && exec sleep 60\n\
    sh -c 'text=$(head -c 20000000 /dev/zero | tr \"\\0\" x); while :; do :; done'\n";

#[tokio::test]
async fn ranks_are_sampled_with_their_children_while_they_change() {
    let mut am = Appmaster::start().await;
    let mut launcher = am.launcher(&[("script", SCRIPT)]);
    let mut link = am.link().await;
    link.run(share(2, &[0, 1], "script")).await;
    let first = link.usages().await;
    let ranks: Vec<u32> = first.iter().map(|usage| usage.rank).collect();
    assert_eq!(ranks, [0, 1]);
    let idle = &first[0];
    assert!(idle.resident_kib > 0 && idle.virtual_kib > idle.resident_kib);
    assert!((900..10_000).contains(&idle.at_ms), "{}", idle.at_ms);
    // The child has its memory sooner or later.
    let busy: RankUsage = loop {
        let usages = link.usages().await;
        // A sleeping rank says nothing new.
        assert!(usages.iter().all(|usage| usage.rank == 1), "{usages:?}");
        if usages[0].resident_kib > 20_000 {
            break usages[0];
        }
    };
    let later = link.usages().await[0];
    assert!(later.cpu_ms > busy.cpu_ms && later.at_ms > busy.at_ms);
    assert!(later.cpu_ms <= later.at_ms + 1000);
    link.stop(0).await;
    for _ in 0..2 {
        link.ended().await;
    }
    link.leave().await;
    assert_eq!(launcher.exit().await.code(), Some(0), "{}", launcher.log());
    launcher.nothing_left().await;
}

/// Rank 1 holds all that it reads.
const EATS: &str = "#!/bin/sh\n\
    test $PMI_RANK = 0 && exec sleep 60\n\
    exec tail < /dev/zero\n";

#[tokio::test]
async fn a_rank_of_a_job_by_itself_that_has_more_than_its_share_is_ended() {
    let mut am = Appmaster::start().await;
    let mut launcher = am.launcher_with_memory(&[("script", EATS)], MiB(300));
    let mut link = am.link().await;
    let of_both = share(2, &[0, 1], "script");
    let share = Share {
        memory_mib: 150,
        ..of_both
    };
    link.run(share).await;
    let ended = link.ended().await;
    assert_eq!((ended.rank, ended.out_of_memory()), (1, OutOfMemory::Share));
    assert!(
        launcher.log().contains("where 150 are its share"),
        "{}",
        launcher.log()
    );
    link.stop(0).await;
    assert_eq!(link.ended().await.rank, 0);
    link.leave().await;
    assert_eq!(launcher.exit().await.code(), Some(0), "{}", launcher.log());
    launcher.nothing_left().await;
}

/// Its shell holds 60 MB, and four copies of it share them.
const SHARES: &str = "#!/bin/sh\n\
    all=$(head -c 60000000 /dev/zero | tr '\\0' a)\n\
    for each in 1 2 3 4; do (sleep 2; : \"$all\") & done\n\
    wait\n";

#[tokio::test]
async fn pages_that_processes_of_a_job_share_are_counted_once() {
    let mut am = Appmaster::start().await;
    let mut launcher = am.launcher_with_memory(&[("script", SHARES)], MiB(300));
    let mut link = am.link().await;
    let of_one = share(1, &[0], "script");
    link.run(Share {
        memory_mib: 300,
        ..of_one
    })
    .await;
    let ended = link.ended().await;
    assert_eq!(
        (ended.out_of_memory(), ended.how),
        (OutOfMemory::No, Some(How::ExitCode(0))),
        "{}",
        launcher.log()
    );
    link.leave().await;
    assert_eq!(launcher.exit().await.code(), Some(0), "{}", launcher.log());
    launcher.nothing_left().await;
}
