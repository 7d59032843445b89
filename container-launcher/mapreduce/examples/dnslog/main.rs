//! How well root servers of the domain name system answer, from logs of questions that were put to them.
//!
//! ```text
//! cargo run --release --example dnslog -- --local --job generate --records 100000 8 LOGS
//! cargo run --release --example dnslog -- --local LOGS OUT
//! cargo run --release --example dnslog --features opencl -- --local LOGS OUT
//! ```
//!
//! The first makes eight files, always the same of a `--seed`. A file is a map's, which counts round trips by
//! server and tenths of a millisecond; the third does so on a GPU, and says so in the executable: on a cluster its maps go
//! where one is. The reduces make of it, for each server, how many questions were answered, the median and the 95th
//! percentile of the round trip, and a score: 100 for a server that answers everything at once, half of it
//! where half of the answers take more than 50 ms.

#[cfg(not(any(feature = "cuda", feature = "opencl")))]
#[path = "cpu.rs"]
mod counted;

#[cfg(any(feature = "cuda", feature = "opencl"))]
#[path = "gpu.rs"]
mod counted;

mod generate;
mod score;

#[cfg(any(feature = "cuda", feature = "opencl"))]
use gerbil_mapreduce::cluster_resource;
use gerbil_mapreduce::prelude::*;

/// A to M.
const SERVERS: usize = 13;
/// Microseconds of a bucket, and buckets up to a second.
const BUCKET: u32 = 100;
const BUCKETS: usize = 10_000;
/// Of each server: the buckets, what took longer, and what was not answered.
const LONGER: usize = BUCKETS;
const UNANSWERED: usize = BUCKETS + 1;
const COUNTS: usize = BUCKETS + 2;
/// In place of a round trip.
const NONE: u32 = u32::MAX;

/// The questions of a file.
#[derive(Default)]
struct Questions {
    servers: Vec<u32>,
    /// Round trips, microseconds.
    times: Vec<u32>,
}

/// `1700000000.000123 k.root-servers.net example.org A 23417`: when, whom, what, and how many microseconds the answer
/// took, or `-`.
fn question(line: &[u8]) -> Option<(u32, u32)> {
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let server = words.nth(1)?.strip_suffix(".root-servers.net")?;
    let &[letter @ b'a'..=b'm'] = server.as_bytes() else {
        return None;
    };
    let time = match words.nth(2)? {
        "-" => NONE,
        time => time.parse().ok().filter(|time| *time != NONE)?,
    };
    words
        .next()
        .is_none()
        .then(|| (u32::from(letter - b'a'), time))
}

#[cfg_attr(any(feature = "cuda", feature = "opencl"), cluster_resource("gpu"))]
impl Mapper for Questions {
    type Input = TextLines;
    type Key = u32;
    /// A bucket and its count, and so on.
    type Value = List<u32>;

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let Some((server, time)) = question(line) else {
            out.count("dnslog", "NOT_UNDERSTOOD", 1);
            return Ok(());
        };
        self.servers.push(server);
        self.times.push(time);
        Ok(())
    }

    fn cleanup(&mut self, out: &mut Emit<'_, Self>) -> Result<()> {
        if self.times.is_empty() {
            return Ok(());
        }
        let counts = counted::by_server(&self.servers, &self.times, out)?;
        for (server, counts) in (0_u32..).zip(counts.chunks(COUNTS)) {
            let buckets = (0_u32..).zip(counts).filter(|(_, count)| **count > 0);
            let pairs: Vec<u32> = buckets
                .flat_map(|(bucket, count)| [bucket, *count])
                .collect();
            if !pairs.is_empty() {
                out.emit(&server, &pairs)?;
            }
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    let generate = Job::new("generate")
        .option::<u64>(
            "records",
            Some("100000"),
            "questions of a file that is made",
        )
        .option::<u64>("seed", Some("1"), "what files are made of")
        .map(|| generate::Files)
        .map_only();
    let analyse = Job::new("analyse")
        .option::<String>("job", Some("analyse"), "analyse or generate")
        .set("mapreduce.job.reduces", "1")
        // A file is a map's.
        .set(
            "mapreduce.input.fileinputformat.split.maxsize",
            "9223372036854775807",
        )
        .set("gerbil.split.pack", "1")
        .map(Questions::default)
        .reduce(|| score::Scores);
    App::new("dnslog")
        .job(generate)
        .job(analyse)
        .drive(|run| {
            let (job, inputs, output) = (
                run.option::<String>("job")?,
                run.inputs(),
                run.output().to_owned(),
            );
            let submit = run.job(&job).inputs(inputs).output(&output);
            let submit = match job.as_str() {
                "generate" => submit.set("mapreduce.job.maps", &inputs.join(",")),
                _ => submit,
            };
            submit.wait().map(drop)
        })
        .main()
}
