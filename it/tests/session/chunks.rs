//! Jobs whose maps feed a GPU with chunks: engines that read HDFS by the tokens of their node's read broker, and compute on
//! PoCL.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use it::bed::{self, Case, DEADLINE, Given};
use it::reported::hosts;
use it::session::stop;
use it::{mapreduce, wait};

use crate::kernels;

pub const CASES: &[(&str, Case)] = &[
    (
        "sums of chunks that come from HDFS are those of a processor",
        regression,
    ),
    (
        "pairs that kernels emit of chunks are reduced on other nodes",
        processors,
    ),
    (
        "pairs that kernels emit of chunks are reduced by a kernel",
        devices,
    ),
];

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

/// Runs an example of chunks on `bytes`, which are several maps: on this machine, and in a session whose nodes with GPUs get
/// them from HDFS. Both make the same; the answer is that, and what the session's run said.
fn runs(
    given: &Given,
    name: &str,
    bytes: &[u8],
    settings: &[&str],
) -> Result<(mapreduce::Files, String)> {
    let program = bed::text_of(&mapreduce::example(name)?)?;
    let input = bed::text_of(&given.folder.join(name))?;
    fs::write(&input, bytes)?;
    // Cases of one cluster, each with its own settings.
    let case = settings.last().map_or("", |last| last.trim_matches('-'));
    let folder = format!("/{name}-{}", case.replace('=', "-"));
    let there = format!("{folder}/in");
    mapreduce::with_hdfs(&given.cluster, async |hdfs| {
        hdfs.make_folder(&folder).await?;
        Ok(hdfs.write(&there, bytes.to_vec()).await?)
    })?;
    let split = format!(
        "mapreduce.input.fileinputformat.split.maxsize={}",
        CHUNK * CHUNKS
    );
    let chunk = format!("gpu.chunk={CHUNK}");
    let all = ["gerbil.opencl.processors=true", &chunk, &split];
    let settings = all.iter().chain(settings);
    let settings: Vec<&str> = settings
        .flat_map(|setting| match setting.strip_prefix("--") {
            Some(_) => vec![*setting],
            None => vec!["-D", *setting],
        })
        .collect();
    let at_home = [&settings[..], &[&input]].concat();
    let wanted = mapreduce::local(given, &program, &at_home, "home")?;
    kernels::start(given)?;
    ensure!(sockets(given)?.is_empty(), "{:?}", sockets(given)?);
    let order = [
        "--session",
        "s",
        "--explain",
        "-D",
        "gpu.read-order=spmario",
    ];
    let out = format!("{folder}/out");
    let line = [&order[..], &[&program], &settings, &[&there, &out]].concat();
    let run = mapreduce::mr(&given.cluster, &given.folder, &line)?.deadline(DEADLINE);
    let said = run.finish()?.success("gerbil mr")?.stderr_text();
    let files = mapreduce::files(&given.cluster, &out)?;
    mapreduce::is_same(&files, &wanted)?;
    // Whether HDFS or the kernels bound an attempt is the machine's affair.
    let read = format!("BYTES_READ={}", bytes.len());
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
    })?;
    Ok((files, said))
}

fn regression(given: &Given) -> Result<()> {
    let points = points(CHUNK / POINT * (2 * CHUNKS + 3) + 1001);
    let (files, _) = runs(given, "regression", &points, &[])?;
    sums_are(&files, &points)
}

/// Each reduce has the keys that leave its number; what the run in the session said.
fn histogram(given: &Given, reduce: &str) -> Result<String> {
    let count = u32::try_from(CHUNK / 4 * (2 * CHUNKS + 3) + 1001)?;
    let numbers: Vec<u32> = (0..count)
        .map(|place| place.wrapping_mul(0x9E37_79B9))
        .collect();
    let bytes: Vec<u8> = numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    let settings = ["mapreduce.job.reduces=3", reduce];
    let (files, said) = runs(given, "histogram", &bytes, &settings)?;
    let mut wanted = vec![BTreeMap::new(); 3];
    for number in &numbers {
        let bin = number >> 20;
        let bins = wanted.get_mut(usize::try_from(bin % 3)?);
        *bins.context("no part")?.entry(bin).or_insert(0_u64) += 1;
    }
    for (part, wanted) in wanted.iter().enumerate() {
        let lines = wanted
            .iter()
            .map(|(bin, count)| format!("{bin}\t{count}\n"));
        let file = files.get(&format!("part-r-{part:05}"));
        let file = file.context("no output")?;
        ensure!(*file == lines.collect::<String>().into_bytes(), "{part}");
    }
    Ok(said)
}

/// Whether attempts of a stage were on the node without a GPU.
fn without(given: &Given, said: &str, stage: &str) -> Result<bool> {
    let hosts = hosts(given);
    let there = format!(" on {}, ", hosts.last().context("no host")?);
    let begins = |line: &&str| line.contains(&format!(": {stage} ")) && line.contains("slot");
    let lines: Vec<&str> = said.lines().filter(begins).collect();
    ensure!(!lines.is_empty(), "{said}");
    Ok(lines.iter().any(|line| line.contains(&there)))
}

fn processors(given: &Given) -> Result<()> {
    let said = histogram(given, "--reduce=processor")?;
    ensure!(!without(given, &said, "map")?, "{said}");
    ensure!(without(given, &said, "reduce")?, "{said}");
    Ok(())
}

fn devices(given: &Given) -> Result<()> {
    let said = histogram(given, "--reduce=device")?;
    ensure!(!without(given, &said, "map")?, "{said}");
    ensure!(!without(given, &said, "reduce")?, "{said}");
    ensure!(said.contains("SEGMENTS="), "{said}");
    Ok(())
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
