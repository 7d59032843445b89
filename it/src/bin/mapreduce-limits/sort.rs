//! Rows that are many times what the containers have in memory.

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use it::bed::{Given, on_small_nodes, text_of};
use it::mapreduce;
use it::session::told;
use nix::sys::statvfs::statvfs;

use crate::{DEADLINE, NODES};

/// TeraGen, TeraSort and TeraValidate in a session of four containers of 256 MiB, a slot each: how long, and what the
/// disk of this machine holds at the most meanwhile.
#[derive(Debug, Args)]
pub struct SortOptions {
    /// Of rows, 10^9 bytes; five times as much is to be free.
    #[arg(default_value = "5")]
    gigabytes: u64,
}

/// Of a container, MiB; with [`NODES`] of them a gibibyte in all.
const MEMORY: &str = "256";
const ROWS_A_GIGABYTE: u64 = 10_000_000;
/// Between two looks at the disk.
const LOOK: Duration = Duration::from_millis(100);
/// What the disk may hold at the most beside the rows, by their size.
const TARGET: f64 = 3.2;

pub fn run(options: &SortOptions) -> Result<()> {
    on_small_nodes(NODES, |given| {
        let containers = NODES.to_string();
        let line = [
            "start",
            "s",
            "--containers",
            &containers,
            "--slots-per-container",
            "1",
            "--memory",
            MEMORY,
        ];
        told(given, &line, 0)?;
        let rows = (options.gigabytes * ROWS_A_GIGABYTE).to_string();
        tera(given, "teragen", &rows, "/rows")?;
        let before = used(&given.folder)?;
        let begin = Instant::now();
        let peak = while_looking(&given.folder, || {
            tera(given, "terasort", "/rows", "/sorted")
        })?;
        let seconds = begin.elapsed().as_secs_f64();
        let after = used(&given.folder)?;
        tera(given, "teravalidate", "/sorted", "/checked")?;
        let checked = mapreduce::with_hdfs(&given.cluster, async |hdfs| {
            let bytes = hdfs.read("/checked/part-r-00000", 1 << 20).await?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        })?;
        // Who finds rows out of order writes more than the sum of all.
        ensure!(
            checked.starts_with("checksum\t") && checked.lines().count() == 1,
            "{checked}"
        );
        told(given, &["stop", "s"], 0)?;
        given.cluster.wait_until_clean(DEADLINE)?;
        let input = options.gigabytes as f64 * 1e9;
        let times = |bytes: u64| bytes.saturating_sub(before) as f64 / input;
        writeln!(
            std::io::stdout(),
            "{} GB of rows in {NODES} containers of {MEMORY} MiB: sorted in {seconds:.1} s and validated ({}); the disk held \
             {:.2} times the rows beside them at the most (target {TARGET}), of which {:.2} stay, the output",
            options.gigabytes,
            checked.trim(),
            times(peak),
            times(after),
        )?;
        Ok(())
    })
}

fn tera(given: &Given, job: &str, from: &str, to: &str) -> Result<()> {
    let program = text_of(&mapreduce::release_example("tera")?)?;
    let line = ["--session", "s", "-q", &program, "--job", job, from, to];
    let run = mapreduce::mr(&given.cluster, &given.folder, &line)?;
    run.deadline(DEADLINE).finish()?.success(job).map(drop)
}

/// Bytes of the disk on which the cluster's nodes are, whose folder is beside this one.
fn used(folder: &Path) -> Result<u64> {
    let all = statvfs(folder)?;
    Ok((all.blocks() - all.blocks_free()) * all.fragment_size())
}

/// The most that was used while it ran.
fn while_looking(folder: &Path, act: impl FnOnce() -> Result<()>) -> Result<u64> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| -> Result<u64> {
            let mut most = 0;
            while !is_over.load(Ordering::Relaxed) {
                most = most.max(used(folder)?);
                std::thread::park_timeout(LOOK);
            }
            Ok(most)
        });
        let done = act();
        is_over.store(true, Ordering::Relaxed);
        let most = looking
            .join()
            .ok()
            .context("the disk is not looked at any more")?;
        done?;
        most
    })
}
