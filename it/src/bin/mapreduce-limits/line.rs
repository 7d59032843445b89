//! A line without an end.

use std::io::Write as _;
use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Args;
use it::bed::{Given, on_small_nodes, text_of};
use it::{expect, mapreduce};
use storage::CreateOptions;

use crate::{DEADLINE, NODES};

/// Counts the words of a file of a few lines of which one is as long as said, without a session: once with the
/// longest record that there is as a rule, once with a setting that allows it, in slots that have no room for it.
#[derive(Debug, Args)]
pub struct LineOptions {
    /// Of the line, 10^6 bytes.
    #[arg(long, default_value_t = 3_000)]
    megabytes: u64,
}

/// Written at once.
const PIECE: usize = 1 << 20;
/// What stands before the line.
const FIRST: &str = "a line\n";

pub fn run(options: &LineOptions) -> Result<()> {
    on_small_nodes(NODES, |given| {
        write(given, options.megabytes * 1_000_000)?;
        let at = format!("/line/in/a: the line at byte {}", FIRST.len());
        fails(given, &[], &[&at, "raise "])?;
        let most = "mapreduce.input.linerecordreader.line.maxlength=4000000000";
        let at = format!("at byte {} of", FIRST.len());
        fails(
            given,
            &["-D", most],
            &[&at, "/line/in/a", "MiB in memory", "--memory"],
        )
    })
}

fn write(given: &Given, mut bytes: u64) -> Result<()> {
    mapreduce::with_hdfs(&given.cluster, async |hdfs| {
        hdfs.make_folder("/line/in").await?;
        let mut file = hdfs.create("/line/in/a", CreateOptions::default()).await?;
        file.write(FIRST.as_bytes().to_vec().into()).await?;
        while bytes > 0 {
            let piece = usize::try_from(bytes).unwrap_or(PIECE).min(PIECE);
            file.write(vec![b'x'; piece].into()).await?;
            bytes = bytes.saturating_sub(piece as u64);
        }
        file.write(b"\nlast\n".to_vec().into()).await?;
        file.close().await?;
        Ok(())
    })
}

/// The job ends with code 1 and a sentence with these words, and leaves nothing.
fn fails(given: &Given, options: &[&str], words: &[&str]) -> Result<()> {
    let program = text_of(&mapreduce::release_example("wordcount")?)?;
    let line = [
        &["--memory", "512"],
        options,
        &[&program, "/line/in", "/line/out"],
    ]
    .concat();
    let begin = Instant::now();
    let run = mapreduce::mr(&given.cluster, &given.folder, &line)?.deadline(DEADLINE);
    let finished = run.finish()?;
    let seconds = begin.elapsed().as_secs_f64();
    writeln!(
        std::io::stdout(),
        "after {seconds:.1} s, code {}:\n{}",
        finished.code(),
        finished.stderr_text()
    )?;
    expect::sentence(&finished, 1, words)?;
    let left = given.cluster.hdfs().list("/line/out")?;
    ensure!(left.is_empty(), "{left:?}");
    given.cluster.wait_until_clean(DEADLINE)
}
