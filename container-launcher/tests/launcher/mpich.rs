//! Real MPI programs over two launchers. Needs an MPICH: `GERBIL_MPICC=/path/to/mpicc cargo test
//! -p container-launcher -- --ignored`.

use std::path::{Path, PathBuf};
use std::process::Command;

use job::wire::mpi_event::Event;
use job::wire::mpi_order::Order;
use job::wire::rank_ended::How;
use job::wire::{Abort, FenceDone, PmiStage, RankEnded, Share, Yielding};
use pmi::{Exchange, process_mapping};

use crate::support::{Appmaster, Launcher, Link, share, with};

/// A token goes round; with an argument, the rank it names aborts with 77 then.
const RING: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int rank, size, token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank) MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    token++;
    MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    if (!rank) {
        MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("%d of %d\n", token, size);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 1 && atoi(argv[1]) == rank) MPI_Abort(MPI_COMM_WORLD, 77);
    if (argc > 1) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"#;

#[cfg(test)]
fn mpicc() -> PathBuf {
    std::env::var_os("GERBIL_MPICC")
        .expect("GERBIL_MPICC names the mpicc of an MPICH")
        .into()
}

#[cfg(test)]
fn compile(folder: &Path) -> PathBuf {
    let source = folder.join("ring.c");
    let program = folder.join("ring");
    std::fs::write(&source, RING).unwrap();
    let status = Command::new(mpicc())
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .status()
        .unwrap();
    assert!(status.success());
    program
}

/// Two launchers with two ranks each, and how it went.
#[cfg(test)]
struct TwoLaunchers {
    aborts: Vec<Abort>,
    ends: Vec<RankEnded>,
    barriers: u64,
    /// Files that MPICH left in /dev/shm.
    shared_memory: Vec<String>,
}

#[cfg(test)]
async fn two_nodes(am: &mut Appmaster, args: &[&str]) -> TwoLaunchers {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path());
    let launchers: Vec<Launcher> = (0..2).map(|_| am.launcher(&[])).collect();
    let mut links: Vec<Link> = vec![am.link().await, am.link().await];
    let common = with(share(4, &[], "ring"), args, &[]);
    for launcher in &launchers {
        std::fs::copy(&program, launcher.folder.path().join("ring")).unwrap();
    }
    for (index, link) in links.iter_mut().enumerate() {
        let first = u32::try_from(index).unwrap() * 2;
        link.run(Share {
            ranks: vec![first, first + 1],
            process_mapping: process_mapping(&[2, 2]),
            yielding: Yielding::Always.into(),
            ..common.clone()
        })
        .await;
    }
    let mut exchange = Exchange::new(2);
    let mut outcome = TwoLaunchers {
        aborts: Vec::new(),
        ends: Vec::new(),
        barriers: 0,
        shared_memory: Vec::new(),
    };
    let before = shared_memory();
    let [mut first, mut second] = <[Link; 2]>::try_from(links).ok().unwrap();
    while outcome.ends.len() < 4 {
        let (index, event) = tokio::select! {
            event = first.event() => (0, event),
            event = second.event() => (1, event),
        };
        match event {
            Event::Fence(fence) => {
                let puts = fence.puts.into_iter().map(|put| (put.key, put.value));
                if let Some(union) = exchange.on_fence(index, puts.collect()).unwrap() {
                    for done in FenceDone::pieces(0, union) {
                        for link in [&first, &second] {
                            link.order(Order::FenceDone(done.clone())).await;
                        }
                    }
                }
            }
            Event::Abort(abort) => {
                outcome.aborts.push(abort);
                for link in [&first, &second] {
                    link.stop(200).await;
                }
            }
            Event::Ended(ended) => outcome.ends.push(ended),
            Event::PmiSeen(_) => {}
            other => panic!("{other:?}"),
        }
    }
    outcome.barriers = exchange.barriers();
    am.all_output().await;
    am.all_output().await;
    for link in [&first, &second] {
        link.leave().await;
    }
    for mut launcher in launchers {
        assert_eq!(launcher.exit().await.code(), Some(0), "{}", launcher.log());
        launcher.nothing_left().await;
    }
    outcome.shared_memory = shared_memory();
    outcome.shared_memory.retain(|name| !before.contains(name));
    outcome
}

#[cfg(test)]
fn shared_memory() -> Vec<String> {
    std::fs::read_dir("/dev/shm")
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("mpich"))
        .collect()
}

#[tokio::test]
#[ignore = "needs an MPICH: GERBIL_MPICC=/path/to/mpicc"]
async fn a_ring_over_two_nodes() {
    let mut am = Appmaster::start().await;
    let outcome = two_nodes(&mut am, &[]).await;
    assert_eq!(am.so_far(0, 0), "4 of 4\n");
    assert_eq!(outcome.aborts, []);
    assert!(outcome.barriers > 0);
    for end in outcome.ends {
        assert_eq!(end.how, Some(How::ExitCode(0)));
        assert_eq!(end.pmi(), PmiStage::Finalized);
        // The shim was asked, and has told.
        let waited = end.waiting_share.unwrap();
        assert!((0.0..=1.0).contains(&waited), "{waited}");
    }
}

#[tokio::test]
#[ignore = "needs an MPICH: GERBIL_MPICC=/path/to/mpicc"]
async fn an_abort_ends_both_nodes() {
    let mut am = Appmaster::start().await;
    let outcome = two_nodes(&mut am, &["2"]).await;
    let first = &outcome.aborts[0];
    assert_eq!((first.rank, first.exit_code), (2, 77));
    assert!(am.so_far(2, 1).contains("MPI_Abort"));
    assert_eq!(outcome.shared_memory, [] as [String; 0]);
    let end = outcome.ends.iter().find(|end| end.rank == 2).unwrap();
    // The job is stopped on the word of the abort; the rank may not get to its own exit.
    assert!(matches!(end.how, Some(How::ExitCode(77) | How::Signal(15))));
    assert_eq!(end.pmi(), PmiStage::Initialized);
}

#[tokio::test]
#[ignore = "needs an MPICH: GERBIL_MPICC=/path/to/mpicc"]
async fn a_killed_launcher_leaves_neither_ranks_nor_shared_memory() {
    let mut am = Appmaster::start().await;
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path());
    let before = shared_memory();
    let mut launcher = am.launcher(&[]);
    std::fs::copy(&program, launcher.folder.path().join("ring")).unwrap();
    let mut link = am.link().await;
    link.run(Share {
        process_mapping: process_mapping(&[2, 2]),
        ..share(4, &[0, 1], "ring")
    })
    .await;
    // The other two ranks never come.
    assert!(matches!(link.event().await, Event::PmiSeen(_)));
    assert!(matches!(link.event().await, Event::Fence(_)));
    launcher.child.kill().unwrap();
    launcher.exit().await;
    launcher.nothing_left().await;
    let mut left = shared_memory();
    left.retain(|name| !before.contains(name));
    assert_eq!(left, [] as [String; 0]);
}
