//! Jobs with kernels, on nodes of which YARN counts GPUs at two. PoCL, which runs them on the nodes' processors, stands
//! for the devices: what comes out is looked at, not when.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use it::bed::{self, Case, DEADLINE, Given};
use it::mapreduce;
use it::reported::hosts;
use it::session::stop;

use crate::elements::nodes;

pub const CASES: &[(&str, Case)] = &[
    (
        "floats that PoCL multiplies are those of a processor",
        matrix,
    ),
    (
        "questions that PoCL counts are those of a processor",
        dnslog,
    ),
    (
        "maps that are labelled as plain and want a GPU are queued again where one is",
        labelled_plain,
    ),
];

/// PoCL's drivers, as `it/setup` installs them.
const DRIVERS: &str = "/etc/OpenCL/vendors";

/// A session that keeps off its nodes with GPUs what needs none.
pub fn start(given: &Given) -> Result<()> {
    ensure!(
        Path::new(DRIVERS).is_dir(),
        "{DRIVERS} is missing: apt-get install pocl-opencl-icd ocl-icd-libopencl1"
    );
    let options = ["--elements", "yarn", "--gpu-slots", "3", "--policy", "hpe"];
    nodes(given, &options).map(drop)
}

/// Runs a job in the session; its maps, and they alone, are to run where GPUs are.
fn runs(given: &Given, program: &str, arguments: &[&str]) -> Result<()> {
    let options = [
        "--session",
        "s",
        "--explain",
        "-D",
        "gerbil.opencl.processors=true",
        program,
    ];
    let line = [&options[..], arguments].concat();
    let run = mapreduce::mr(&given.cluster, &given.folder, &line)?.deadline(DEADLINE);
    let said = run.finish()?.success("gerbil mr")?.stderr_text();
    let of_stage = |stage: &str| -> Vec<&str> {
        let begins = |line: &&str| line.contains(&format!(": {stage} ")) && line.contains("slot");
        said.lines().filter(begins).collect()
    };
    let (maps, reduces) = (of_stage("map"), of_stage("reduce"));
    let hosts = hosts(given);
    let without = hosts.last().context("no host")?;
    let there = format!(" on {without}, ");
    ensure!(maps.len() >= 4 && !reduces.is_empty(), "{said}");
    ensure!(!maps.iter().any(|line| line.contains(&there)), "{said}");
    ensure!(reduces.iter().all(|line| line.contains(&there)), "{said}");
    Ok(())
}

fn floats(files: &mapreduce::Files) -> Vec<f32> {
    let bytes = files.values().flatten().copied().collect::<Vec<u8>>();
    let numbers = bytes.chunks_exact(4);
    numbers
        .map(|number| f32::from_le_bytes(number.try_into().unwrap_or_default()))
        .collect()
}

fn matrix(given: &Given) -> Result<()> {
    let kernel = mapreduce::example_with("matrix", "opencl", &given.folder)?;
    let plain = bed::text_of(&mapreduce::example("matrix")?)?;
    let options = ["-D", "mapreduce.job.maps=6", "90"];
    let wanted = mapreduce::local(given, &plain, &options, "matrix")?;
    start(given)?;
    // The need is declared in the executable, and found there.
    let arguments = [&options[..], &["/matrix/out"]].concat();
    runs(given, &bed::text_of(&kernel)?, &arguments)?;
    let files = mapreduce::files(&given.cluster, "/matrix/out")?;
    ensure!(files.keys().eq(wanted.keys()), "{:?}", files.keys());
    let (ours, theirs) = (floats(&files), floats(&wanted));
    let far = farthest(&ours, &theirs, 8100)?;
    ensure!(far < 1e-5, "{far}");
    stop(given, "s")
}

fn dnslog(given: &Given) -> Result<()> {
    let kernel = mapreduce::example_with("dnslog", "opencl", &given.folder)?;
    let plain = bed::text_of(&mapreduce::example("dnslog")?)?;
    let make = ["--job", "generate", "--records", "2000", "4"];
    let logs = mapreduce::local(given, &plain, &make, "logs")?;
    let folder = bed::text_of(&given.folder.join("logs"))?;
    let wanted = mapreduce::local(given, &plain, &[&folder], "scores")?;
    let texts: Vec<(&str, String)> = logs
        .iter()
        .filter(|(name, _)| name.starts_with("part-"))
        .map(|(name, bytes)| (name.as_str(), String::from_utf8_lossy(bytes).into_owned()))
        .collect();
    let texts: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, &**text)).collect();
    mapreduce::put(given, "/dnslog/in", &texts)?;
    start(given)?;
    runs(
        given,
        &bed::text_of(&kernel)?,
        &["/dnslog/in", "/dnslog/out"],
    )?;
    let files = mapreduce::files(&given.cluster, "/dnslog/out")?;
    mapreduce::is_same(&files, &wanted)?;
    stop(given, "s")
}

/// The label is wrong: every slot gets a map at first, that of the node without a GPU too.
fn labelled_plain(given: &Given) -> Result<()> {
    let kernel = bed::text_of(&mapreduce::example_with("matrix", "opencl", &given.folder)?)?;
    let plain = bed::text_of(&mapreduce::example("matrix")?)?;
    let maps = ["-D", "mapreduce.job.maps=12", "60"];
    let wanted = mapreduce::local(given, &plain, &maps, "plain")?;
    start(given)?;
    let report = given.folder.join("plain.json");
    let report_to = format!("--report={}", report.display());
    let options = [
        "--session",
        "s",
        "--explain",
        &report_to,
        "-D",
        "gerbil.opencl.processors=true",
        "-D",
        "needs.map=cpu",
        &kernel,
    ];
    let line = [&options[..], &maps, &["/plain/out"]].concat();
    let run = mapreduce::mr(&given.cluster, &given.folder, &line)?.deadline(DEADLINE);
    let said = run.finish()?.success("gerbil mr")?.stderr_text();
    let again = "it does not count: maps are queued again as ones that need gpu instead of cpu, as they are labelled";
    let without = hosts(given).last().context("no host")?.clone();
    let on = format!(" on {without}, ");
    let there = said
        .lines()
        .filter(|line| line.contains(": map ") && line.contains("slot") && line.contains(&on));
    let missed = "found no device, and its task is queued again";
    ensure!(
        said.matches(again).count() == 1 && said.matches(missed).count() == 1 && there.count() == 1,
        "{said}"
    );
    let report: job::MapReduceReport = serde_json::from_slice(&std::fs::read(&report)?)?;
    let tasks = report.jobs.first().and_then(|job| job.tasks.clone());
    let tasks = tasks.context("no job")?;
    ensure!(
        (tasks.failed_attempts, tasks.no_device_attempts) == (0, 1)
            && tasks.found_needs.get("map").map(Vec::as_slice) == Some(&["gpu".to_owned()]),
        "{tasks:?}"
    );
    let files = mapreduce::files(&given.cluster, "/plain/out")?;
    let far = farthest(&floats(&files), &floats(&wanted), 3600)?;
    ensure!(far < 1e-5, "{far}");
    stop(given, "s")
}

/// By how much numbers differ at the most, of the second ones.
fn farthest(ours: &[f32], theirs: &[f32], count: usize) -> Result<f32> {
    ensure!(
        ours.len() == count && theirs.len() == count,
        "{} numbers, not {count}",
        ours.len()
    );
    let off = |(a, b): (&f32, &f32)| ((a - b) / b).abs();
    Ok(ours.iter().zip(theirs).map(off).fold(0.0_f32, f32::max))
}
