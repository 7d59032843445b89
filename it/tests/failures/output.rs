//! Much output, and output that ends in the middle of a line.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::{expect, gerbil};

use crate::given::{Case, Given};

pub const CASES: &[(&str, Case)] = &[
    ("100 MB of output from each rank", flood),
    ("output without a newline", no_newline),
];

fn flood(given: &Given) -> Result<()> {
    const MIB: u64 = 100;
    const RANKS: usize = 4;
    let program = given.program("flood")?;
    let path = given.programs.join("flood.out");
    let output = File::create(&path)?;
    let arguments = ["-n".to_owned(), RANKS.to_string(), program, MIB.to_string()];
    let run = gerbil::run(&given.cluster, arguments)?;
    expect::job(
        &given.cluster,
        run.stdout_to(output).deadline(Duration::from_secs(400)),
    )?;
    let mut next = [0_u64; RANKS];
    for line in BufReader::new(File::open(&path)?).lines() {
        let line = line?;
        let mut words = line.split(' ');
        let rank: usize = words
            .next()
            .context("an empty line")?
            .parse()
            .with_context(|| line.clone())?;
        let number: u64 = words
            .next()
            .context("a short line")?
            .parse()
            .with_context(|| line.clone())?;
        ensure!(line.len() == 63 && rank < RANKS, "{line:?}");
        ensure!(
            number == next[rank],
            "rank {rank}: line {number} instead of {}",
            next[rank]
        );
        next[rank] += 1;
    }
    fs::remove_file(path)?;
    ensure!(next == [MIB * (1 << 20) / 64; RANKS], "lines: {next:?}");
    Ok(())
}

fn no_newline(given: &Given) -> Result<()> {
    let program = given.program("no_newline")?;
    let finished = given.succeeds(&["-n", "4", &program])?;
    let stdout = finished.stdout_text();
    for rank in 0..4 {
        let count = stdout.matches(&format!("<rank {rank} ends here>")).count();
        ensure!(
            count == 1,
            "rank {rank} is there {count} times in {stdout:?}"
        );
    }
    Ok(())
}
