//! Small files, whose end costs more than their bytes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use it::bed::{Case, Given};
use storage::{CreateOptions, Storage, StorageError};
use tokio::task::JoinSet;

use crate::address;

pub const CASES: &[(&str, Case)] = &[
    ("small files are closed as soon as HDFS has them", in_turn),
    (
        "small files that one client writes at once do not hold each other up",
        at_once,
    ),
];

/// Files one after the other, of a few bytes and of more than a packet.
fn in_turn(given: &Given) -> Result<()> {
    const FILES: u32 = 20;
    /// A client that asks again after 500 ms takes that for nearly every file.
    const EACH: Duration = Duration::from_millis(250);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let storage = Storage::open(&address(given))?;
        storage.make_folder("/small").await?;
        let content = |number: u32| vec![b'x'; if number.is_multiple_of(2) { 7 } else { 300_000 }];
        let began = Instant::now();
        for number in 0..FILES {
            let path = format!("/small/{number}");
            let mut file = storage.create(&path, CreateOptions::default()).await?;
            file.write(content(number).into()).await?;
            file.close().await?;
        }
        let took = began.elapsed();
        for number in 0..FILES {
            let path = format!("/small/{number}");
            let written = storage.read(&path, 1 << 20).await?;
            ensure!(
                written == content(number),
                "{path}: {} bytes",
                written.len()
            );
        }
        ensure!(took < EACH * FILES, "{FILES} files took {took:?}");
        storage.remove("/small").await?;
        Ok(())
    })
}

/// As the tasks of a launcher write theirs: each a file after the other, and the threads that carry them are two.
fn at_once(given: &Given) -> Result<()> {
    const WRITERS: u32 = 24;
    const EACH: u32 = 60;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let storage = Arc::new(Storage::open(&address(given))?);
        storage.make_folder("/at-once").await?;
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let storage = Arc::clone(&storage);
            writers.spawn(async move {
                for number in 0..EACH {
                    let path = format!("/at-once/{writer}-{number}");
                    storage.write(&path, path.clone().into_bytes()).await?;
                }
                Ok::<(), StorageError>(())
            });
        }
        while let Some(written) = writers.join_next().await {
            written??;
        }
        let all = storage.list("/at-once", 10_000).await?;
        let wanted = usize::try_from(WRITERS * EACH)?;
        ensure!(all.len() == wanted, "{} files", all.len());
        ensure!(all.iter().all(|file| file.size > 0), "{all:?}");
        storage.remove("/at-once").await?;
        Ok(())
    })
}
