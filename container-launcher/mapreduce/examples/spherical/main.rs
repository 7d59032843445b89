//! Spherical K-means on the accelerators of the nodes, or on their processors: the same program and the same bytes.
//!
//! ```text
//! cargo run --release --example spherical --features fpga -- --local --job generate --lines 100000 8 VECTORS
//! cargo run --release --example spherical --features fpga -- --local --k 16 --rounds 10 VECTORS OUT
//! ```
//!
//! Source: HeteroYARN (Li et al., TPDS 2020), §4.3.2. A line is a vector of 128 numbers. Vectors and centroids are
//! normalised, so that the nearest centroid has the largest product; elements have 22 bits after the point, sums are of 64
//! bits, and ties go to the lowest centroid. Maps assign and add up (`acc/kmeans-map`, with COMBINE), reduces add sums up
//! (`acc/kmeans-reduce`), divide and normalise. Rounds end when no centroid moves, or after `--rounds`; that of the number
//! N leaves its centroids in `OUT/round-N`. With `--packed true` the first round leaves its vectors beside them, as packets
//! have them (`OUT/round-0/packed-m-*`, 512 bytes each), and the others read those, so that text is parsed once.

mod assign;
mod first;
mod generate;
mod sums;

use std::io::Write as _;

use gerbil_mapreduce::prelude::*;

use assign::{Assign, Line, Packed};
use first::{First, Lowest};
use generate::Vectors;
use sums::Centroids;

/// Elements of a vector.
const DIMENSION: usize = 128;
/// The job whose input are packed vectors, and what files of those are called.
const PACKED: &str = "packed";

fn main() -> ExitCode {
    let generate = Job::new("generate")
        .option::<u64>("lines", Some("1000"), "lines of a file that is made")
        .option::<u64>("seed", Some("1"), "another one makes other vectors")
        .map(|| Vectors)
        .map_only();
    let first = Job::new("first")
        .set("mapreduce.job.reduces", "1")
        .map(First::default)
        .reduce(Lowest::default);
    let round = Job::new("round")
        .option::<usize>("k", Some("16"), "centroids: the vectors of the first lines")
        .option::<u32>("rounds", Some("20"), "rounds, at most")
        .option::<String>("job", Some(""), "generate makes vectors, and nothing else")
        .option::<bool>(
            "packed",
            Some("false"),
            "the first round leaves packed vectors, and the others read those",
        )
        .set("mapreduce.job.reduces", "1")
        .tag("kmeans")
        .accelerated_map(Assign::<Line>::default)
        .accelerated_reduce(Centroids::default);
    let packed = Job::new(PACKED)
        .set("mapreduce.job.reduces", "1")
        .set("fixedlengthinputformat.record.length", "512")
        .tag("kmeans")
        .accelerated_map(Assign::<Packed>::default)
        .accelerated_reduce(Centroids::default);
    App::new("spherical")
        .job(generate)
        .job(first)
        .job(round)
        .job(packed)
        .drive(drive)
        .main()
}

fn drive(run: &mut Run<'_>) -> Result<()> {
    let (inputs, output) = (run.inputs(), run.output().to_owned());
    match run.option::<String>("job")?.as_str() {
        "" => {}
        "generate" => {
            let job = run.job("generate").inputs(inputs).output(&output);
            return job.wait().map(drop);
        }
        other => return Err(Error::new(format!("--job {other}: known is generate"))),
    }
    let k: usize = run.option("k")?;
    let folder = format!("{output}/first");
    let first = run.job("first").inputs(inputs).output(&folder);
    let mut centroids = rows(&first.params(&k)?.wait()?.read_text()?, k)?;
    if let Some(missing) = centroids.iter().position(Vec::is_empty) {
        let words = format!("there are {missing} vectors, and --k {k} centroids are wanted");
        return Err(Error::new(words));
    }
    let reads_packed: bool = run.option("packed")?;
    for round in 0..run.option::<u32>("rounds")? {
        let folder = format!("{output}/round-{round}");
        let before: Vec<i32> = centroids.iter().flatten().copied().collect();
        let job = match round > 0 && reads_packed {
            true => run
                .job(PACKED)
                .side_files(&format!("{output}/round-0"), PACKED),
            false => run.job("round").inputs(inputs),
        };
        let done = job.output(&folder).params(&before)?.wait()?;
        let moved = rows(&done.read_text()?, k)?;
        let mut moves = 0;
        for (centroid, moved) in centroids.iter_mut().zip(moved) {
            // A centroid without vectors stays where it is.
            if !moved.is_empty() && *centroid != moved {
                moves += 1;
                *centroid = moved;
            }
        }
        let line = format!("round {round}: {moves} of {k} centroids move");
        // Nobody there to read it is no reason to fail.
        drop(writeln!(std::io::stderr(), "{line}"));
        if moves == 0 {
            break;
        }
    }
    Ok(())
}

/// Lines of a cluster's number and its centroid's elements, as centroids; one that has no line has no elements.
fn rows(text: &str, k: usize) -> Result<Vec<Vec<i32>>> {
    let mut rows = vec![Vec::new(); k];
    for line in text.lines() {
        let bad = || Error::new(format!("no line of a centroid: {line:.80}"));
        let (cluster, elements) = line.split_once('\t').ok_or_else(bad)?;
        let elements: Result<Vec<i32>, _> = elements.split(',').map(str::parse).collect();
        let row = rows.get_mut(cluster.parse::<usize>()?).ok_or_else(bad)?;
        *row = elements?;
    }
    Ok(rows)
}
