//! Nodes that differ: what their launchers find in folders that stand for machines, beside what YARN counts. The
//! first has two GPUs, of which YARN counts one; the library of the second crashes; the third has nothing.

use std::fs::{self, Permissions};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context as _, Result, ensure};
use it::bed::{self, Case, DEADLINE, Given};
use it::reported::hosts;
use it::resource_manager::NodeReport;
use it::session::{stop, told};
use it::settings::File;
use it::{gerbil, mapreduce, ports, wait};
use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::accelerated;

pub const CASES: &[(&str, Case)] = &[
    ("what nodes have is told, the smaller count used", both),
    ("what launchers find is used alone", scanned),
    ("what YARN grants is used alone", granted),
    ("maps that need a GPU go where one is", mapped),
    ("an application of its own takes GPUs if it needs one", own),
    (
        "a GPU that tasks lose is looked for again, and not twice",
        lost,
    ),
    (
        "what does not fit a GPU is tried again where a larger one is",
        too_small,
    ),
];

const TYPE: &str = "acc/gpu";
const PROVIDER: &str = "yarn.nodemanager.node-attributes.provider";
/// Where the machines are of this run.
static MACHINES: OnceLock<PathBuf> = OnceLock::new();
/// Of each node.
const EACH: [u64; 3] = [1, 1, 0];

/// CUDA's driver library with two devices; `INIT` is what `cuInit` does, `MEMORY` their GiB.
const CUDA: &str = r#"
#include <signal.h>
#include <string.h>
#include <stddef.h>
int cuInit(unsigned flags) { INIT; return 0; }
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGetName(char *name, int length, int device) { strncpy(name, "Trial", length); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = (size_t)MEMORY << 30; return 0; }
"#;

/// Folders that stand for the machines `0`, `1` and `2`, and `3`, which is what the third node's attributes tell of.
#[derive(Debug)]
pub struct Machines(TempDir);

impl Machines {
    pub fn new() -> Result<Self> {
        let folder = bed::folder()?;
        for (machine, init, devices) in [
            ("0", "", 2),
            ("1", "raise(SIGSEGV)", 1),
            ("2", "", 0),
            ("3", "", 2),
        ] {
            let root = folder.path().join(machine);
            // Its tasks queue for its devices alone, whatever other machines call theirs.
            let memory = root.join("dev/shm");
            fs::create_dir_all(&memory)?;
            fs::set_permissions(&memory, Permissions::from_mode(0o1777))?;
            for device in 0..devices {
                fs::write(root.join(format!("dev/nvidia{device}")), "")?;
            }
            if devices > 0 {
                library(&root, init, 16)?;
            }
        }
        symlink(gerbil::binary()?, folder.path().join("gerbil"))?;
        MACHINES.get_or_init(|| folder.path().to_owned());
        Ok(Self(folder))
    }

    /// A cluster that counts GPUs of some nodes, and whose nodes tell of them by a script.
    pub fn cluster(&self) -> Result<it::Builder> {
        let calculator = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
        let mut builder = it::Cluster::builder()
            .nodes(EACH.len())
            .set(File::ResourceTypes, "yarn.resource-types", types())
            .set(
                File::CapacityScheduler,
                "yarn.scheduler.capacity.resource-calculator",
                calculator,
            )
            .set(File::Yarn, PROVIDER, "script");
        for (node, (count, machine)) in EACH.into_iter().zip(["0", "1", "3"]).enumerate() {
            let functions = accelerated::TYPES.map(|(name, each)| (name, each[node]));
            for (name, count) in [(TYPE, count)].into_iter().chain(functions) {
                let name = format!("yarn.nodemanager.resource-type.{name}");
                builder = builder.set_on_node(node, File::NodeResources, &name, count.to_string());
            }
            let folder = self.0.path().display();
            let script = self.0.path().join(format!("tell-{machine}"));
            let line =
                format!("exec {folder}/gerbil probe --node-attributes --root {folder}/{machine}");
            fs::write(&script, format!("#!/bin/sh\n{line}\n"))?;
            fs::set_permissions(&script, Permissions::from_mode(0o755))?;
            let name = format!("{PROVIDER}.script.path");
            builder = builder.set_on_node(node, File::Yarn, &name, script.display().to_string());
        }
        Ok(builder)
    }
}

/// What YARN counts.
fn types() -> String {
    let functions = accelerated::TYPES.map(|(name, _)| name);
    [&[TYPE][..], &functions].concat().join(",")
}

/// The folder where those of a running suite are, under the names of hosts.
fn hosts_of(given: &Given) -> Result<PathBuf> {
    let folder = given.folder.join("machines");
    fs::create_dir_all(&folder)?;
    let own = MACHINES.get().context("nobody has made the machines")?;
    for (machine, host) in hosts(given).iter().enumerate() {
        let link = folder.join(host);
        if !link.exists() {
            symlink(own.join(machine.to_string()), link)?;
        }
    }
    Ok(folder)
}

/// With devices of so many GiB.
fn library(root: &Path, init: &str, memory: u32) -> Result<()> {
    let source = root.join("cuda.c");
    let text = CUDA.replace("INIT", init);
    fs::write(&source, text.replace("MEMORY", &memory.to_string()))?;
    fs::create_dir_all(root.join("usr/lib"))?;
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-w", "-o"])
        .arg(root.join("usr/lib/libcuda.so.1"))
        .arg(&source)
        .status()
        .context("cc")?;
    ensure!(built.success(), "cc: {built}");
    Ok(())
}

/// Starts a session whose launchers look there, and waits until all is known: its nodes, by host.
pub fn nodes(given: &Given, options: &[&str]) -> Result<Vec<Value>> {
    // Scripts run beside the NodeManagers' beginning.
    wait::until("attributes have come", DEADLINE, || {
        let nodes = given.cluster.resource_manager().nodes()?;
        let told = |node: &NodeReport| node.node_attributes_info.to_string().contains("gpu");
        Ok(nodes.iter().all(told).then_some(()))
    })?;
    let root = hosts_of(given)?.join("%h").display().to_string();
    let line = [
        "start",
        "s",
        "--containers",
        "3",
        "--memory",
        "128",
        "--scan-root",
        &root,
    ];
    told(given, &[&line[..], options].concat(), 0)?;
    let nodes = asked(given)?;
    let mut sorted = Vec::new();
    for host in hosts(given) {
        let of_host = nodes.iter().find(|node| node["host"] == host.as_str());
        sorted.push(
            of_host
                .with_context(|| format!("{host}: {nodes:?}"))?
                .clone(),
        );
    }
    Ok(sorted)
}

/// Waits until all nodes of the session are known.
fn asked(given: &Given) -> Result<Vec<Value>> {
    wait::until("libraries have been asked", DEADLINE, || {
        let said = told(given, &["nodes", "s", "--json"], 0)?;
        let nodes: Vec<Value> = serde_json::from_str(&said.stdout_text())?;
        let is_known = nodes.iter().all(|node| node["is_scanning"] == false);
        Ok(is_known.then_some(nodes))
    })
}

/// Of GPUs what each node has found, what YARN has granted it, what its attributes tell, and what is used.
fn gpus(nodes: &[Value]) -> Vec<[Option<u64>; 4]> {
    let of = |node: &Value| {
        let counts = node["counts"].as_array().cloned().unwrap_or_default();
        let gpu = counts.into_iter().find(|count| count["name"] == "gpu");
        let gpu = gpu.unwrap_or_default();
        ["scanned", "granted", "attributed", "used"].map(|name| gpu[name].as_u64())
    };
    nodes.iter().map(of).collect()
}

fn expect(nodes: &[Value], wanted: [[u64; 4]; 3]) -> Result<()> {
    let wanted: Vec<[Option<u64>; 4]> = wanted.iter().map(|node| node.map(Some)).collect();
    let found = gpus(nodes);
    ensure!(found == wanted, "{found:?}\n{nodes:#?}");
    Ok(())
}

fn both(given: &Given) -> Result<()> {
    let nodes = nodes(given, &[])?;
    expect(&nodes, [[2, 1, 2, 1], [0, 1, 0, 0], [0, 0, 2, 0]])?;
    // Where YARN counts a GPU there is room for those who load and store; where it is broken there is not.
    let slots: Vec<&Value> = nodes.iter().map(|node| &node["slots"]).collect();
    ensure!(slots == [4, 1, 1], "{slots:?}");
    // A table whose columns are broken where they are too narrow.
    let words = told(given, &["nodes", "s"], 0)?.stdout_text();
    let words: Vec<&str> = words.split_whitespace().collect();
    let words = words.join(" ");
    for wanted in [
        "2 gpu nvidia Trial 16384 MiB, CUDA 13.0",
        "1 gpu nvidia, broken: signal 11 in cuInit",
        "2 gpu found, YARN has granted 1, the node's attributes say 2: 1 used (--elements both)",
        "0 gpu found, YARN has granted 1, the node's attributes say 0: 0 used (--elements both)",
        "0 gpu found, YARN has granted 0, the node's attributes say 2: 0 used (--elements both)",
    ] {
        ensure!(words.contains(wanted), "{wanted}\n{words}");
        if wanted.contains("--elements") {
            let said = times_logged(given, wanted)?;
            ensure!(
                said == 1,
                "the ApplicationMaster says {said} times: {wanted}"
            );
        }
    }
    stop(given, "s")
}

/// How often containers have written these words.
fn times_logged(given: &Given, words: &str) -> Result<usize> {
    let logs = given.cluster.container_logs();
    let logs: Vec<Vec<u8>> = logs.iter().map(fs::read).collect::<Result<_, _>>()?;
    let texts = logs.iter().map(|log| String::from_utf8_lossy(log));
    Ok(texts.map(|text| text.matches(words).count()).sum())
}

/// Its maps run on the only node whose GPU can be used; under `hpe` what needs none is kept off it.
fn mapped(given: &Given) -> Result<()> {
    let ports = ports::free()?;
    let range = format!("{}-{}", ports.start(), ports.end());
    let options = ["--elements", "scan", "--slots-per-container", "2"];
    let further = ["--policy", "hpe", "--launcher-ports", &range];
    nodes(given, &[&options[..], &further].concat())?;
    let text = mapreduce::text(7);
    let inputs: Vec<String> = (0..6).map(|number| format!("part-{number}")).collect();
    let inputs: Vec<(&str, &str)> = inputs.iter().map(|name| (name.as_str(), &*text)).collect();
    mapreduce::put(given, "/gpu/in", &inputs)?;
    let wordcount = bed::text_of(&mapreduce::example("wordcount")?)?;
    let line = [
        "--session",
        "s",
        "--explain",
        "-D",
        "needs.map=gpu",
        // Small files are packed otherwise.
        "-D",
        "mapreduce.input.fileinputformat.split.maxsize=20000",
        &wordcount,
        "/gpu/in",
        "/gpu/out",
    ];
    let run = mapreduce::mr(&given.cluster, &given.folder, &line)?.deadline(DEADLINE);
    let said = run.finish()?.success("gerbil mr")?.stderr_text();
    let fits = "0.25 of the 16384 MiB of the smallest device";
    ensure!(said.contains(fits), "{said}");
    let of_stage = |stage: &str| -> Vec<&str> {
        let begins = |line: &&str| line.contains(&format!(": {stage} ")) && line.contains("slot");
        said.lines().filter(begins).collect()
    };
    let (maps, reduces) = (of_stage("map"), of_stage("reduce"));
    let with = format!(" on {}, ", hosts(given).first().context("no host")?);
    ensure!(maps.len() >= 6 && !reduces.is_empty(), "{said}");
    ensure!(maps.iter().all(|line| line.contains(&with)), "{said}");
    ensure!(!reduces.iter().any(|line| line.contains(&with)), "{said}");
    // Where the reduce has fetched from.
    let is_open = |port| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
    ensure!(ports.into_iter().any(is_open), "nobody listens at {range}");
    stop(given, "s")
}

fn scanned(given: &Given) -> Result<()> {
    let options = ["--elements", "scan", "--slots-per-container", "2"];
    let nodes = nodes(given, &options)?;
    // Nothing is asked of YARN.
    expect(&nodes, [[2, 0, 2, 2], [0, 0, 0, 0], [0, 0, 2, 0]])?;
    let slots: Vec<&Value> = nodes.iter().map(|node| &node["slots"]).collect();
    ensure!(slots == [2, 2, 2], "{slots:?}");
    stop(given, "s")
}

fn granted(given: &Given) -> Result<()> {
    let nodes = nodes(given, &["--elements", "yarn", "--gpu-slots", "3"])?;
    expect(&nodes, [[2, 1, 2, 1], [0, 1, 0, 1], [0, 0, 2, 0]])?;
    let slots: Vec<&Value> = nodes.iter().map(|node| &node["slots"]).collect();
    ensure!(slots == [3, 3, 1], "{slots:?}");
    stop(given, "s")
}

/// Without a session GPUs that YARN counts are asked for where the first job needs one, and left where it needs none.
fn own(given: &Given) -> Result<()> {
    mapreduce::put(given, "/own/in", &[("a", "a b a\n")])?;
    let wordcount = bed::text_of(&mapreduce::example("wordcount")?)?;
    let line = |options: &[&str], out: &str| -> Result<it::Run> {
        let room = [
            "--containers",
            "3",
            "--slots-per-container",
            "1",
            "--memory",
            "128",
        ];
        let line = [&room[..], options, &[&wordcount, "/own/in", out]].concat();
        Ok(mapreduce::mr(&given.cluster, &given.folder, &line)?.deadline(DEADLINE))
    };
    let with =
        "each with all GPUs and other accelerators that YARN counts and has free on its node";
    let asked = |options: &[&str]| -> Result<bool> {
        let dry = line(&[&["--dry-run"], options].concat(), "/own/dry")?;
        let said = dry.finish()?.success("--dry-run")?.stdout_text();
        Ok(said.contains(with))
    };
    ensure!(!asked(&[])? && asked(&["-D", "needs.reduce=gpu"])?);
    // Nothing of this machine is one.
    let waits = ["--wait-for-nodes", "-D", "needs.map=gpu"];
    let mut running = line(&waits, "/own/out")?.start()?;
    wait::until("GPUs are taken", DEADLINE, || {
        let nodes = given.cluster.resource_manager().nodes()?;
        let taken: u64 = nodes.iter().map(|node| node.used(TYPE)).sum();
        Ok((taken == EACH.iter().sum::<u64>()).then_some(()))
    })?;
    running.signal(Signal::SIGINT)?;
    let ended = running.finish()?;
    ensure!(
        ended.code() == 130,
        "{}: {}",
        ended.code(),
        ended.stderr_text()
    );
    given.is_clean()
}

/// The only node that has some loses them twice: the first task waits until they were looked for again, the second
/// one for nothing.
fn lost(given: &Given) -> Result<()> {
    let found = nodes(given, &["--elements", "scan"])?;
    expect(&found, [[2, 0, 2, 2], [0, 0, 0, 0], [0, 0, 2, 0]])?;
    mapreduce::put(given, "/lost/in", &[("a", "good\nno device\n")])?;
    let faulty = bed::text_of(&mapreduce::example("faulty")?)?;
    let report = given.folder.join("lost.json");
    let report_to = format!("--report={}", report.display());
    let run = |out: &str| -> Result<it::Run> {
        let need = ["--session", "s", &report_to, "-D", "needs.map=gpu"];
        let line = [&need[..], &[&faulty, "/lost/in", out]].concat();
        Ok(mapreduce::mr(&given.cluster, &given.folder, &line)?.deadline(DEADLINE))
    };
    let waits = run("/lost/out")?.start()?;
    let host = hosts(given).into_iter().next().context("no host")?;
    wait::until("the GPUs are lost", DEADLINE, || {
        let said = told(given, &["nodes", "s", "--json"], 0)?;
        let nodes: Vec<Value> = serde_json::from_str(&said.stdout_text())?;
        let there = nodes.iter().find(|node| node["host"] == host.as_str());
        let there = there.with_context(|| format!("{host}: {nodes:?}"))?;
        let is_lost = there["elements"]
            .to_string()
            .contains("lost by a task: looked for again in 30 s");
        ensure!(!is_lost || there["is_scanning"] == true, "{there}");
        Ok(is_lost.then_some(()))
    })?;
    waits.finish()?.success("a job whose task lost a GPU")?;
    let said: job::MapReduceReport = serde_json::from_slice(&fs::read(&report)?)?;
    let tasks = said.jobs.first().and_then(|job| job.tasks.clone());
    let tasks = tasks.context("no job")?;
    ensure!(
        (tasks.failed_attempts, tasks.no_device_attempts) == (1, 0),
        "{tasks:?}"
    );
    let ended = run("/lost/again")?.finish()?;
    it::expect::sentence(&ended, 65, &["map needs gpu; 0 of 3 nodes have one ("])?;
    let why = format!("{host}: broken: lost by tasks twice: off for this session");
    it::expect::sentence(&ended, 65, &[&why])?;
    stop(given, "s")
}

/// Two nodes have GPUs, of 16 and of 8 GiB, and each gets a map; on the smaller ones there is no room for it.
fn too_small(given: &Given) -> Result<()> {
    let all = hosts(given);
    let folder = given.folder.join("sizes");
    for (host, (memory, devices)) in all.iter().zip([(16, 0..2), (8, 2..4), (0, 0..0)]) {
        let root = folder.join(host);
        fs::create_dir_all(root.join("dev"))?;
        for device in devices {
            fs::write(root.join(format!("dev/nvidia{device}")), "")?;
        }
        if memory > 0 {
            library(&root, "", memory)?;
        }
    }
    let root = bed::text_of(&folder.join("%h"))?;
    let line = ["start", "s", "--containers", "3", "--memory", "128"];
    let options = ["--elements", "scan", "--scan-root", &root];
    told(given, &[&line[..], &options].concat(), 0)?;
    asked(given)?;
    let lines = [("a", "no room\n"), ("b", "no room\n")];
    mapreduce::put(given, "/small/in", &lines)?;
    let faulty = bed::text_of(&mapreduce::example("faulty")?)?;
    let settings = ["-D", "needs.map=gpu", "-D", "gerbil.split.pack=1"];
    let words = ["--session", "s", "--explain"];
    let line = [&words[..], &settings, &[&faulty, "/small/in", "/small/out"]].concat();
    let run = mapreduce::mr(&given.cluster, &given.folder, &line)?.deadline(DEADLINE);
    let said = run.finish()?.success("gerbil mr")?.stderr_text();
    let why = "512 MiB do not fit: lower -D mapreduce.input.fileinputformat.split.maxsize";
    ensure!(said.contains(why), "{said}");
    let placed = |host: &str| {
        let on = format!(" on {host}, slot ");
        let maps = said.lines().filter(|line| line.contains(": map "));
        maps.filter(|line| line.contains(&on)).count()
    };
    let of: Vec<usize> = all.iter().map(|host| placed(host)).collect();
    ensure!(of == [2, 1, 0], "{of:?}\n{said}");
    stop(given, "s")
}
