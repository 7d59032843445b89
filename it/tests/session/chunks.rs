//! Jobs whose maps feed a GPU with chunks: engines that read HDFS by the tokens of their node's read broker, and compute on
//! PoCL.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use it::bed::{self, Case, DEADLINE, Given};
use it::reported::hosts;
use it::session::stop;
use it::{mapreduce, wait};

use crate::kernels;

pub const CASES: &[(&str, Case)] = &[(
    "sums of chunks that come from HDFS are those of a processor",
    regression,
)];

/// Bytes.
const CHUNK: usize = 64 << 10;
/// Of a map: several, and a file's last one is short.
const CHUNKS: usize = 4;
const POINT: usize = 8;

/// Points of two floats, each of which a float has exactly.
fn points(count: usize) -> Vec<u8> {
    let floats = (0..count * 2).map(|place| {
        let odd = u16::try_from(place * 7919 % 1021).unwrap_or_default();
        f32::from(odd) / 1024.0
    });
    floats.flat_map(f32::to_le_bytes).collect()
}

/// Sockets of read brokers on the nodes' machines.
fn sockets(given: &Given) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for host in hosts(given) {
        let memory = given.folder.join("machines").join(host).join("dev/shm");
        for folder in fs::read_dir(memory)? {
            let folder = folder?.path();
            if !folder.is_dir() {
                continue;
            }
            for file in fs::read_dir(folder)? {
                let path = file?.path();
                found.extend((path.extension() == Some("socket".as_ref())).then_some(path));
            }
        }
    }
    Ok(found)
}

fn regression(given: &Given) -> Result<()> {
    let program = bed::text_of(&mapreduce::example("regression")?)?;
    // Three maps.
    let points = points(CHUNK / POINT * (2 * CHUNKS + 3) + 1001);
    let input = bed::text_of(&given.folder.join("points"))?;
    fs::write(&input, &points)?;
    mapreduce::with_hdfs(&given.cluster, async |hdfs| {
        hdfs.make_folder("/points").await?;
        Ok(hdfs.write("/points/in", points.clone()).await?)
    })?;
    let split = format!(
        "mapreduce.input.fileinputformat.split.maxsize={}",
        CHUNK * CHUNKS
    );
    let chunk = format!("gpu.chunk={CHUNK}");
    let settings = [
        "-D",
        "gerbil.opencl.processors=true",
        "-D",
        &chunk,
        "-D",
        &split,
    ];
    let at_home = [&settings[..], &[&input]].concat();
    let wanted = mapreduce::local(given, &program, &at_home, "home")?;
    kernels::start(given)?;
    ensure!(sockets(given)?.is_empty(), "{:?}", sockets(given)?);
    let order = ["--session", "s", "-D", "gpu.read-order=spmario"];
    let job = [program.as_str(), "/points/in", "/points/out"];
    let line = [&order[..], &settings, &job].concat();
    let run = mapreduce::mr(&given.cluster, &given.folder, &line)?.deadline(DEADLINE);
    let said = run.finish()?.success("gerbil mr")?.stderr_text();
    let files = mapreduce::files(&given.cluster, "/points/out")?;
    mapreduce::is_same(&files, &wanted)?;
    sums_are(&files, &points)?;
    // Whether HDFS or the kernels bound an attempt is the machine's affair.
    let read = format!("BYTES_READ={}", points.len());
    let is_told = ["BOUND_BY_HDFS=", "BOUND_BY_KERNEL=", "BOUND_BY_COPY="];
    ensure!(
        said.contains("CHUNKS=12")
            && said.contains(&read)
            && is_told.iter().any(|bound| said.contains(bound))
            && !said.contains("BOUND_BY_DISK"),
        "{said}"
    );
    // The brokers are the launchers', which are still there; the last one leaves nothing.
    ensure!(!sockets(given)?.is_empty(), "no broker of a launcher");
    stop(given, "s")?;
    wait::until("no socket is left", DEADLINE, || {
        Ok(sockets(given)?.is_empty().then_some(()))
    })
}

/// The output is what a processor makes of the points.
fn sums_are(files: &mapreduce::Files, points: &[u8]) -> Result<()> {
    let text = files.get("part-r-00000").context("no output")?;
    let text = String::from_utf8_lossy(text);
    let words = points.chunks_exact(4);
    let floats: Vec<f64> = words
        .map(|word| f32::from_le_bytes(word.try_into().unwrap_or_default()).into())
        .collect();
    let mut count = 0;
    for line in text.lines() {
        let (name, found) = line.split_once('\t').context("no value")?;
        let terms = floats.chunks_exact(2).map(|point| match (name, point) {
            ("x", [x, _]) => *x,
            ("y", [_, y]) => *y,
            ("xx", [x, _]) => x * x,
            ("yy", [_, y]) => y * y,
            ("xy", [x, y]) => x * y,
            _ => 1.0,
        });
        let (found, wanted): (f64, f64) = (found.parse()?, terms.sum());
        let most = if name == "n" { 0.0 } else { wanted * 1e-5 };
        ensure!((found - wanted).abs() <= most, "{line}: {wanted}");
        count += 1;
    }
    ensure!(count == 6, "{text}");
    Ok(())
}
