//! What TeraSort has sorted here Hadoop's TeraValidate accepts, and what Hadoop's has sorted ours does.

use anyhow::{Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::mapreduce::hadoop;
use it::session::stop;

use crate::{files, program, start, succeeds};

pub const CASES: &[(&str, Case)] = &[(
    "rows that are sorted here are in order for Hadoop, and the other way round",
    crosswise,
)];

const ROWS: &str = "50000";
const REDUCES: &str = "mapreduce.job.reduces=3";
/// In a process of its own.
const LOCAL: &str = "mapreduce.framework.name=local";

fn crosswise(given: &Given) -> Result<()> {
    start(given)?;
    let tera = program("tera")?;
    let ours = |job: &str, from: &str, to: &str| -> Result<()> {
        let line = ["-q", "-D", REDUCES, &tera, "--job", job, from, to];
        succeeds(given, &line).map(drop)
    };
    let theirs = |job: &str, from: &str, to: &str| -> Result<()> {
        let line = ["-D", LOCAL, "-D", REDUCES, from, to];
        hadoop(&given.cluster, &format!("terasort.{job}"), &line, DEADLINE).map(drop)
    };
    ours("teragen", ROWS, "/sorted/rows")?;
    ours("terasort", "/sorted/rows", "/sorted/ours")?;
    theirs("TeraSort", "/sorted/rows", "/sorted/theirs")?;
    let mut checks = Vec::new();
    for sorted in ["ours", "theirs"] {
        let from = format!("/sorted/{sorted}");
        for (validates, by) in [("here", true), ("there", false)] {
            let to = format!("/sorted/{sorted}-{validates}");
            match by {
                true => ours("teravalidate", &from, &to)?,
                false => theirs("TeraValidate", &from, &to)?,
            }
            let written = files(given, &to)?.into_iter();
            let written = written.filter(|(name, _)| name.starts_with("part-"));
            let text: Vec<u8> = written.flat_map(|(_, bytes)| bytes).collect();
            checks.push(String::from_utf8_lossy(&text).trim().to_owned());
        }
    }
    // One line, with the sum of all rows: who finds rows out of order writes more.
    ensure!(
        checks[0].starts_with("checksum\t") && checks.iter().all(|check| *check == checks[0]),
        "{checks:?}"
    );
    stop(given, "s")
}
