//! Tasks of a real MapReduce program, in a real launcher, on a real HDFS. Needs one with two DataNodes, on which each
//! block has two copies, and both of which are dead in the end:
//! `GERBIL_HDFS=hdfs://HOST:PORT cargo test -p container-launcher -- --ignored`.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use gerbil_task::FromTask;
use job::wire::task_order::Order;
use policy::commit::JobVerdict;
use storage::{Address, Known, LocatedBlock, StorageError};
use tokio::time::{Instant, sleep};

use crate::support::tasks::{Bed, JOB, done, ended, order, reduce};
use crate::support::{Appmaster, Launcher};

/// The HDFS of the test.
#[cfg(test)]
fn address() -> Address {
    let connect = std::env::var("GERBIL_HDFS").expect("GERBIL_HDFS=hdfs://HOST:PORT");
    Address::Hdfs {
        origin: connect.clone(),
        connect,
        user: std::env::var("GERBIL_HDFS_USER").unwrap_or_else(|_| "hadoop".to_owned()),
        settings: Vec::new(),
    }
}

/// Lines enough for several blocks of 1 MiB.
#[cfg(test)]
fn lines(count: u32) -> String {
    (0..count)
        .map(|number| format!("word line{number:08}\n"))
        .collect()
}

#[tokio::test]
#[ignore = "needs HDFS: GERBIL_HDFS=hdfs://HOST:PORT"]
async fn maps_of_parts_of_a_file_and_a_reduce_are_committed() {
    const LINES: u32 = 200_000;
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&[]);
    let mut link = am.link().await;
    let text = lines(LINES);
    let mut bed = Bed::on(address(), "/tasks/parts", &[&text, ""]).await;
    bed.locate().await;
    bed.set_up().await;
    let half = u64::try_from(text.len()).unwrap() / 2 + 7;
    let maps = [
        bed.map_of(0, 0, 1, &[(0, 0, half)]),
        bed.map_of(1, 0, 1, &[(0, half, u64::MAX), (1, 0, 0)]),
    ];
    for (number, map) in (0..).zip(&maps) {
        order(&link, Order::Start(bed.start(number, number, map))).await;
    }
    for _ in &maps {
        let ended = ended(&mut link).await;
        assert!(matches!(done(&ended), FromTask::MapDone { .. }));
        assert!(!ended.has_files);
    }
    // Maps with nothing to write make nothing.
    assert_eq!(bed.attempts().await, [""; 0]);
    let reduced = bed.run(&mut link, 2, &reduce(&[0, 1])).await;
    done(&reduced);
    assert!(reduced.has_files);
    let verdict = bed.commit(&["attempt_r_000000_0"]).await;
    assert_eq!(verdict, JobVerdict::Committed);
    assert_eq!(bed.names().await, ["_SUCCESS", "part-r-00000"]);
    let counted = bed.text("part-r-00000").await;
    assert_eq!(counted.lines().count(), usize::try_from(LINES).unwrap() + 1);
    assert_eq!(counted.lines().last(), Some("word\t200000"));
    // A twin of a map without reduces has its own file; a crash leaves nothing.
    let mut bed = Bed::on(address(), "/tasks/twins", &["a b\n", "a\n!abort\n"]).await;
    bed.set_up().await;
    let first = bed.run(&mut link, 3, &bed.map(0, 0, 0)).await;
    done(&first);
    assert!(first.has_files);
    let second = bed.run(&mut link, 4, &bed.map(0, 1, 0)).await;
    done(&second);
    assert!(second.has_files);
    let crashed = bed.run(&mut link, 5, &bed.map(1, 0, 0)).await;
    assert!(
        crashed
            .trouble
            .contains("map 1 was killed by signal 6 on record 1"),
        "{crashed:?}"
    );
    bed.attempts_left(&["part-m-00000", "attempt_m_000000_1.part-m-00000"])
        .await;
    // A file that is another one now.
    let old = bed.map(1, 1, 0);
    bed.storage.remove(&bed.path("in-1")).await.unwrap();
    bed.storage
        .write(&bed.path("in-1"), b"a\n".to_vec())
        .await
        .unwrap();
    let changed = bed.run(&mut link, 6, &old).await;
    assert!(
        changed.trouble.contains("in-1 had 9 bytes and has 2 now"),
        "{changed:?}"
    );
    bed.storage.remove(&bed.path("in-1")).await.unwrap();
    let absent = bed.run(&mut link, 7, &old).await;
    assert!(absent.trouble.contains("there is no hdfs://"), "{absent:?}");
    // The job's folder goes while a task writes.
    bed.add("!wait\n").await;
    order(&link, Order::Start(bed.start(8, 0, &bed.map(2, 0, 0)))).await;
    let waiting = format!("jobs/{JOB}/waiting");
    launcher.file(&waiting).await;
    let work = bed.path("_out.temporary");
    bed.storage.remove(&work).await.unwrap();
    fs::remove_file(launcher.folder.path().join(waiting)).unwrap();
    let removed = ended(&mut link).await;
    assert!(removed.trouble.contains("map 2: "), "{removed:?}");
    assert_eq!(bed.storage.stat(&work).await.unwrap(), None);
    bed.storage.remove("/tasks").await.unwrap();
}

#[tokio::test]
#[ignore = "needs HDFS: GERBIL_HDFS=hdfs://HOST:PORT"]
async fn when_the_data_node_dies_a_task_reads_on_and_when_all_are_dead_it_says_so() {
    const LINES: u32 = 3_000_000;
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&[]);
    let mut link = am.link().await;
    // More than all pipes and buffers on the way hold.
    let text = format!("!wait\n{}", lines(LINES));
    let mut bed = Bed::on(address(), "/tasks/dying", &[&text]).await;
    bed.locate().await;
    bed.set_up().await;
    let waiting = format!("jobs/{JOB}/waiting");
    for (process, is_last) in [(0, false), (1, true)] {
        order(
            &link,
            Order::Start(bed.start(process, 0, &bed.map(0, process, 1))),
        )
        .await;
        launcher.file(&waiting).await;
        for pid in serving(&launcher).await {
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::SIGKILL)
                .unwrap();
        }
        fs::remove_file(launcher.folder.path().join(&waiting)).unwrap();
        let ended = ended(&mut link).await;
        match is_last {
            false => {
                let FromTask::MapDone { counters, .. } = done(&ended) else {
                    panic!("{ended:?}");
                };
                let counters = &counters["org.apache.hadoop.mapreduce.TaskCounter"];
                assert_eq!(counters["MAP_INPUT_RECORDS"], i64::from(LINES) + 1);
            }
            true => {
                let words = "map 0: reading hdfs://";
                assert!(
                    ended.trouble.contains(words)
                        && ended.trouble.contains("no DataNode moves the data"),
                    "{ended:?}"
                );
            }
        }
    }
}

/// The one DataNode that sends to this launcher, once what the task does not take has filled all on the way to it: until
/// then the launcher empties the connection as it fills.
#[cfg(test)]
async fn serving(launcher: &Launcher) -> BTreeSet<i32> {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let serving = senders(launcher);
        if serving.len() == 1 {
            return serving;
        }
        assert!(Instant::now() < deadline, "{serving:?}");
        sleep(Duration::from_millis(50)).await;
    }
}

/// Processes of this machine to which the launcher has a connection with data in it, by which a DataNode sends.
#[cfg(test)]
fn senders(launcher: &Launcher) -> BTreeSet<i32> {
    let inodes = |pid: i32| -> BTreeSet<String> {
        let all = fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten();
        let links = all.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        let names = links.filter_map(|link| link.to_str().map(str::to_owned));
        names
            .filter_map(|name| {
                Some(
                    name.strip_prefix("socket:[")?
                        .trim_end_matches(']')
                        .to_owned(),
                )
            })
            .collect()
    };
    // local address, remote address, state, queues, …, inode
    let table = |name: &str| -> Vec<Vec<String>> {
        let text = fs::read_to_string(name).unwrap();
        let rows = text.lines().skip(1);
        rows.map(|row| row.split_whitespace().map(str::to_owned).collect())
            .collect()
    };
    let own = inodes(launcher.pid());
    let (four, six) = (table("/proc/net/tcp"), table("/proc/net/tcp6"));
    let full = (four.iter()).filter(|row| {
        let waits = row[4].split(':').nth(1).unwrap() != "00000000";
        own.contains(&row[9]) && waits
    });
    let remotes: BTreeSet<String> = full.map(|row| row[2].clone()).collect();
    // Java listens for both kinds of addresses.
    let ports: BTreeSet<&str> = remotes
        .iter()
        .map(|remote| remote.split(':').nth(1).unwrap())
        .collect();
    let listens = four.iter().chain(&six).filter(|row| row[3] == "0A");
    let at = listens.filter(|row| {
        remotes.contains(&row[1])
            || (row[1].len() > 13 && ports.contains(row[1].split(':').nth(1).unwrap()))
    });
    let listeners: BTreeSet<String> = at.map(|row| row[9].clone()).collect();
    let pids = fs::read_dir("/proc").unwrap();
    let pids = pids.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|&pid| !inodes(pid).is_disjoint(&listeners))
        .collect()
}

/// Its blocks are known as far as its first bytes.
#[tokio::test]
#[ignore = "needs HDFS: GERBIL_HDFS=hdfs://HOST:PORT"]
async fn what_is_left_of_a_file_is_not_read_of_another_in_its_place() {
    const FIRST: u64 = 1000;
    let text = lines(5000);
    let mut bed = Bed::on(address(), "/tasks/replaced", &[&text]).await;
    bed.locate().await;
    let path = bed.path("in-0");
    let status = bed.storage.stat(&path).await.unwrap().unwrap();
    let blocks = bed.blocks(&path).into_iter().map(LocatedBlock::from);
    let first = blocks.map(|block| LocatedBlock {
        length: FIRST,
        ..block
    });
    let known = Known {
        size: status.size,
        modified_ms: u64::try_from(status.modified_ms).unwrap(),
        blocks: first.take(1).collect(),
    };
    for is_replaced in [false, true] {
        let reader = bed.storage.read_known(&path, (0, FIRST), known.clone());
        let mut reader = reader.await.unwrap();
        let mut came = reader.next().await.unwrap().to_vec();
        assert_eq!(came, text.as_bytes()[..1000]);
        if is_replaced {
            bed.storage.remove(&path).await.unwrap();
            let other = text.to_uppercase().into_bytes();
            bed.storage.write(&path, other).await.unwrap();
        }
        let error = loop {
            match reader.next().await {
                Ok(piece) if piece.is_empty() => break None,
                Ok(piece) => came.extend_from_slice(&piece),
                Err(error) => break Some(error),
            }
        };
        if is_replaced {
            let error = error.unwrap();
            assert!(matches!(error, StorageError::Replaced { .. }), "{error}");
            assert_eq!(came.len(), 1000);
        } else {
            assert!(error.is_none() && came == text.as_bytes(), "{error:?}");
        }
    }
    bed.storage.remove("/tasks").await.unwrap();
}
