//! Jobs whose maps and reduces compute on boards: those of the first two nodes lie behind an `fpgad` each, and YARN
//! counts them.

mod bayes;
mod packed;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use it::accelerators::{NodeDriver, Programs};
use it::bed::{Case, DEADLINE, Given, text_of};
use it::mapreduce::{self, Files, files, is_same};
use it::reported::hosts;
use it::session::{stop, told};
use it::wait;
use job::{MapReduceJobReport, MapReduceReport};
use serde_json::Value;

pub const CASES: &[(&str, Case)] = &[(
    "a job on the boards of nodes writes the bytes of processors",
    boards,
)];

/// As YARN counts them: of the functions on the first node, on the second, and on the third.
pub const TYPES: [(&str, [u64; 3]); 3] = [
    ("acc/kmeans-map", [2, 1, 0]),
    ("acc/kmeans-reduce", [1, 0, 0]),
    ("acc/bayes-map", [1, 1, 0]),
];

/// The same, as a board's profile has them.
const BOARDS: [&str; 2] = [
    "functions = { kmeans-map = 2, kmeans-reduce = 1, bayes-map = 1 }",
    "functions = { kmeans-map = 1, bayes-map = 1 }",
];
/// What the program leaves.
const ROUNDS: [&str; 3] = ["first", "round-0", "round-1"];
/// Small maps: six of them.
const OPTIONS: [&str; 4] = ["--k", "8", "--rounds", "2"];

/// A folder for the machine of each node.
fn machines(given: &Given) -> Result<Vec<PathBuf>> {
    let all = hosts(given);
    let all = all.iter().map(|host| given.folder.join("m").join(host));
    let all: Vec<PathBuf> = all.collect();
    all.iter().try_for_each(fs::create_dir_all)?;
    Ok(all)
}

/// Starts the session once functions are known on all of its nodes: how many can be used.
fn start(given: &Given) -> Result<()> {
    let root = text_of(&given.folder.join("m/%h"))?;
    let room = ["start", "s", "--containers", "3", "--memory", "256"];
    told(given, &[&room[..], &["--scan-root", &root]].concat(), 0)?;
    wait::until("nodes are known", DEADLINE, || {
        let said = told(given, &["nodes", "s", "--json"], 0)?;
        let nodes: Vec<Value> = serde_json::from_str(&said.stdout_text())?;
        let is_known = nodes.iter().all(|node| node["is_scanning"] == false);
        Ok((nodes.len() == 3 && is_known).then_some(()))
    })
}

/// Vectors, here and in HDFS, and what the processor makes of them.
fn expected(given: &Given, program: &str) -> Result<Vec<Files>> {
    let here = given.folder.join("vectors");
    let at = text_of(&here)?;
    let generate = ["--job", "generate", "--lines", "3000", "2"];
    mapreduce::local(given, program, &generate, "vectors")?;
    let text = fs::read_to_string(here.join("part-m-00000"))?;
    let more = fs::read_to_string(here.join("part-m-00001"))?;
    mapreduce::put(
        given,
        "/acc/in",
        &[("part-m-00000", &text), ("part-m-00001", &more)],
    )?;
    let nowhere = text_of(&given.folder.join("no-fpgad"))?;
    let mut command = std::process::Command::new(program);
    command
        .args(["--local", "--quiet"])
        .args(OPTIONS)
        .args([&at, &text_of(&given.folder.join("wanted"))?])
        .env("GERBIL_FPGAD", nowhere);
    let run = it::Run::new(command).deadline(DEADLINE);
    run.finish()?.success("spherical on processors")?;
    let rounds = ROUNDS.iter();
    rounds
        .map(|round| mapreduce::read(&given.folder.join("wanted").join(round)))
        .collect()
}

/// `gerbil mr` of the program in the session.
fn run(given: &Given, program: &str, options: &[&str], out: &str) -> Result<it::Run> {
    run_with(given, (program, &[]), options, out)
}

/// The same, with some options of the program more.
fn run_with(
    given: &Given,
    (program, more): (&str, &[&str]),
    options: &[&str],
    out: &str,
) -> Result<it::Run> {
    let report = format!("--report={}", given.folder.join("report.json").display());
    let line = ["--session", "s", &report, "-D"];
    let cut = "mapreduce.input.fileinputformat.split.maxsize=1200000";
    let program = [&[program][..], &OPTIONS, more, &["/acc/in", out]].concat();
    let line = [&line[..], &[cut], options, &program].concat();
    Ok(mapreduce::mr(&given.cluster, &given.folder, &line)?.deadline(DEADLINE))
}

/// The jobs of this name of the run before.
fn reported(given: &Given, name: &str) -> Result<Vec<MapReduceJobReport>> {
    let report = fs::read(given.folder.join("report.json"))?;
    let report: MapReduceReport = serde_json::from_slice(&report)?;
    Ok(report
        .jobs
        .into_iter()
        .filter(|job| job.name == name)
        .collect())
}

/// Packets that the jobs' tasks have had answered by devices, and by processors.
fn packets(jobs: &[MapReduceJobReport]) -> [i64; 2] {
    counted(jobs, ["DEVICE_PACKETS", "PROCESSOR_PACKETS"])
}

/// What the jobs' tasks have counted so.
fn counted<const N: usize>(jobs: &[MapReduceJobReport], names: [&str; N]) -> [i64; N] {
    names.map(|name| {
        let tasks = jobs.iter().filter_map(|job| job.tasks.as_ref());
        let groups = tasks.flat_map(|tasks| tasks.counters.values());
        groups.filter_map(|group| group.get(name)).sum()
    })
}

/// What the run left is what it is to leave.
fn compare(given: &Given, out: &str, wanted: &[Files]) -> Result<()> {
    for (round, wanted) in ROUNDS.iter().zip(wanted) {
        is_same(&files(&given.cluster, &format!("{out}/{round}"))?, wanted)?;
    }
    Ok(())
}

fn driver(programs: &Programs, machine: Option<&PathBuf>, board: &str) -> Result<NodeDriver> {
    NodeDriver::start(
        programs,
        machine.map(PathBuf::as_path).context("no node")?,
        board,
    )
}

/// Waits until launchers have seen what drivers lease now: so many devices for maps of K-means.
fn seen(given: &Given, devices: u64) -> Result<()> {
    wait::until("functions are known", DEADLINE, || {
        let said = told(given, &["nodes", "s", "--json"], 0)?;
        let nodes: Vec<Value> = serde_json::from_str(&said.stdout_text())?;
        let counts = nodes.iter().filter_map(|node| node["counts"].as_array());
        let mut used = counts
            .flatten()
            .filter(|count| count["name"] == "acc/kmeans-map");
        let used: u64 = used
            .by_ref()
            .filter_map(|count| count["used"].as_u64())
            .sum();
        Ok((used == devices).then_some(()))
    })
}

/// The only board loses the result of each packet: the third packet that it loses twice turns it off, which is said, and
/// processors go on.
fn goes_off(
    given: &Given,
    programs: &Programs,
    program: &str,
    machine: Option<&PathBuf>,
    wanted: &[Files],
) -> Result<()> {
    let loses = "faults = [\"lost-result@0+1\"]\npatience_ms = 300";
    let driver = driver(programs, machine, &format!("{}\n{loses}", BOARDS[0]))?;
    seen(given, 2)?;
    let said = run(given, program, &[], "/acc/off")?.finish()?;
    let said = said.success("on a board that goes off")?.stderr_text();
    let [devices, processors] = packets(&reported(given, "round")?);
    ensure!(
        devices == 0 && processors > 0 && said.contains("map needs acc/kmeans-map; 0 of "),
        "{devices} {processors}: {said}"
    );
    let listed = told(given, &["nodes", "s", "--json"], 0)?.stdout_text();
    ensure!(listed.contains("board model:0 is off"), "{listed}");
    compare(given, "/acc/off", wanted)?;
    driver.kill()
}

const WITHOUT: &str = ": the processor computes it";

fn boards(given: &Given) -> Result<()> {
    let programs = Programs::build()?;
    let program = text_of(Path::new(&programs.spherical))?;
    let machines = machines(given)?;
    let wanted = expected(given, &program)?;

    // The first node alone has a driver; its board answers two packets, and the driver is killed over the third.
    let stuck = format!(
        "{}\nfaults = [\"stuck@3\"]\npatience_ms = 600000",
        BOARDS[0]
    );
    let dies = driver(&programs, machines.first(), &stuck)?;
    start(given)?;
    let running = run(given, &program, &[], "/acc/killed")?.start()?;
    dies.has_answered(2)?;
    dies.kill()?;
    let said = running
        .finish()?
        .success("with a driver that is killed")?
        .stderr_text();
    for function in [
        "map needs acc/kmeans-map; 0 of ",
        "reduce needs acc/kmeans-reduce; 0 of ",
    ] {
        ensure!(said.matches(function).count() == 1, "{function}: {said}");
    }
    let [devices, processors] = packets(&reported(given, "round")?);
    ensure!(
        devices >= 2 && processors > 0,
        "{devices} {processors}: {said}"
    );
    compare(given, "/acc/killed", &wanted)?;

    goes_off(given, &programs, &program, machines.first(), &wanted)?;

    // Others are started, and seen.
    let _first = driver(&programs, machines.first(), BOARDS[0])?;
    let _second = driver(&programs, machines.get(1), BOARDS[1])?;
    seen(given, 3)?;
    let said = run(given, &program, &[], "/acc/boards")?
        .finish()?
        .success("on boards")?;
    let [devices, processors] = packets(&reported(given, "round")?);
    let said = said.stderr_text();
    ensure!(
        devices > 0 && processors == 0,
        "{devices} {processors}: {said}"
    );
    compare(given, "/acc/boards", &wanted)?;

    packed::text_is_parsed_once(given, &program, &wanted)?;
    bayes::documents_are_sorted(given, &text_of(&programs.bayes)?)?;

    // No node has it, and YARN does not count it. The job before the rounds, which computes on no board, is told the same.
    let other = ["-D", "needs.map=acc/echo"];
    let goes_on = [&other[..], &["-D", "acc.fallback=start"]].concat();
    let said = run(given, &program, &goes_on, "/acc/other")?.finish()?;
    let said = said.success("without its function")?.stderr_text();
    let [devices, processors] = packets(&reported(given, "round")?);
    ensure!(
        said.matches(WITHOUT).count() == 1
            && said.contains("map needs acc/echo; 0 of 3 nodes have one ("),
        "{said}"
    );
    ensure!(
        devices > 0 && processors > 0,
        "{devices} {processors}: {said}"
    );
    compare(given, "/acc/other", &wanted)?;
    let three = ["-D", "needs.map=acc/kmeans-map=3"];
    for (need, sentence) in [
        (
            other,
            "acc/echo is no resource type of this cluster: add it to resource-types.xml",
        ),
        (three, "map needs 3 acc/kmeans-map; 0 of 3 nodes have 3 ("),
    ] {
        let never = [&need[..], &["-D", "acc.fallback=never"]].concat();
        let ended = run(given, &program, &never, "/acc/never")?.finish()?;
        it::expect::sentence(&ended, 65, &[sentence])?;
    }
    stop(given, "s")
}
