//! Two nodes with a board each, their sessions, and K-means in them.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::accelerators::{NodeDriver, Programs};
use it::bed::{self, Given, text_of};
use it::cluster::Size;
use it::mapreduce::{self, Files};
use it::reported::hosts;
use it::results::Setting;
use it::session::told;
use it::settings::File;
use it::wait;
use serde_json::Value;
use tempfile::TempDir;

use crate::kmeans::{KmeansJob, KmeansRun};

/// NodeManagers.
pub(crate) const NODES: usize = 2;
/// Devices of each board for maps, and so the most tasks that compute on it at a time.
pub(crate) const DEVICES: usize = 24;
/// As YARN counts them on each node; a board's profile has the same.
const TYPES: [(&str, usize); 2] = [("kmeans-map", DEVICES), ("kmeans-reduce", 1)];
/// Of a packet: some of them come of each split.
const BLOCK_KIB: u64 = 256;
/// Of the input, each of which is cut into splits.
const FILES: u64 = 4;
/// Bytes of a line, about: 128 numbers of 9, some of which are below 0.
const LINE: u64 = 1_216;
/// Where vectors and results lie in HDFS.
const INPUT: &str = "/hetero/vectors";
const OUTPUT: &str = "/hetero/out";
/// A job at the most.
const DEADLINE: Duration = Duration::from_secs(300);
/// For something to be so that takes some calls.
const SHOWN: Duration = Duration::from_secs(60);
/// Memory of a slot, MiB.
const MEMORY: &str = "256";
const NAME: &str = "hetero";

/// A running cluster, and the programs that run on it.
pub(crate) struct Bench {
    given: Given,
    _folder: TempDir,
    programs: Arc<Programs>,
    /// A folder for the machine of each node.
    machines: Vec<PathBuf>,
    input: BenchInput,
}

/// Vectors in HDFS.
#[derive(Clone, Copy, Default)]
struct BenchInput {
    /// Bytes of the largest file.
    largest: u64,
    /// Of all files.
    bytes: u64,
    lines: u64,
}

/// A session of a container on each node, whose boards are there as long as it.
pub(crate) struct BoardSession<'a> {
    bench: &'a Bench,
    _drivers: Vec<NodeDriver>,
}

impl Bench {
    /// With so many MB of vectors.
    pub(crate) fn start(programs: Arc<Programs>, megabytes: u64) -> Result<Self> {
        let folder = bed::folder()?;
        let names = TYPES.map(|(name, _)| format!("acc/{name}"));
        // A slot is a core of YARN's, and the ApplicationMaster has one beside them.
        let vcores = u32::try_from(DEVICES + 2)?;
        let size = Size {
            memory_mib: 9216,
            vcores,
        };
        let mut builder = it::Cluster::builder()
            .sizes(&[size; NODES])
            .set(File::ResourceTypes, "yarn.resource-types", names.join(","))
            .set(
                File::CapacityScheduler,
                "yarn.scheduler.capacity.resource-calculator",
                "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
            );
        for (what, most) in [("vcores", u64::from(vcores)), ("mb", size.memory_mib)] {
            let name = format!("yarn.scheduler.maximum-allocation-{what}");
            builder = builder.set(File::Yarn, &name, most.to_string());
        }
        for node in 0..NODES {
            for (name, count) in TYPES {
                let name = format!("yarn.nodemanager.resource-type.acc/{name}");
                builder = builder.set_on_node(node, File::NodeResources, &name, count.to_string());
            }
        }
        let given = Given {
            cluster: Arc::new(builder.start()?),
            folder: folder.path().to_owned(),
        };
        given.cluster.hdfs().make_folder("/hetero", "777")?;
        let machines = hosts(&given).into_iter();
        let machines: Vec<PathBuf> = machines
            .map(|host| given.folder.join("m").join(host))
            .collect();
        machines.iter().try_for_each(fs::create_dir_all)?;
        let mut bench = Self {
            given,
            _folder: folder,
            programs,
            machines,
            input: BenchInput::default(),
        };
        bench.input = bench.vectors(megabytes)?;
        Ok(bench)
    }

    /// As of now.
    pub(crate) fn setting(&self) -> Result<Setting> {
        Setting::begin(&self.given.cluster.version()?)
    }

    pub(crate) fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Bytes of text that are a vector, in the mean.
    pub(crate) fn line(&self) -> f64 {
        self.input.bytes as f64 / self.input.lines as f64
    }

    /// Makes the input, with a job.
    fn vectors(&self, megabytes: u64) -> Result<BenchInput> {
        let session = self.session(1)?;
        let each = megabytes * 1_000_000 / FILES / LINE;
        let (lines, files) = (each.to_string(), FILES.to_string());
        let program = text_of(&self.programs.spherical)?;
        let line = ["--session", NAME, "--quiet", &program];
        let job = ["--job", "generate", "--lines", &lines, &files, INPUT];
        let line = [&line[..], &job].concat();
        let run = mapreduce::mr(&self.given.cluster, &self.given.folder, &line)?;
        run.deadline(DEADLINE).finish()?.success("making vectors")?;
        session.stop()?;
        let files = self.given.cluster.hdfs().list(INPUT)?;
        let lengths = || files.iter().map(|file| file.length);
        Ok(BenchInput {
            largest: lengths().max().context("no vectors")?,
            bytes: lengths().sum(),
            lines: each * FILES,
        })
    }

    /// Starts boards, and a session that runs so many tasks at a time on each node.
    pub(crate) fn session(&self, tasks: usize) -> Result<BoardSession<'_>> {
        let functions = TYPES.map(|(name, count)| format!("{name} = {count}"));
        let board = format!(
            "functions = {{ {} }}\nblock_kib = {BLOCK_KIB}",
            functions.join(", ")
        );
        let start = |machine: &PathBuf| NodeDriver::start(&self.programs, machine, &board);
        let drivers = self.machines.iter().map(start).collect::<Result<_>>()?;
        let root = text_of(&self.given.folder.join("m/%h"))?;
        let (containers, tasks) = (NODES.to_string(), tasks.to_string());
        let line = [
            "start",
            NAME,
            "--containers",
            &containers,
            "--slots-per-container",
            &tasks,
            "--memory",
            MEMORY,
            "--scan-root",
            &root,
        ];
        told(&self.given, &line, 0)?;
        wait::until("the devices of both boards are known", SHOWN, || {
            Ok((self.devices()? == (NODES * DEVICES) as u64).then_some(()))
        })?;
        Ok(BoardSession {
            bench: self,
            _drivers: drivers,
        })
    }

    /// Those for maps that the session can use.
    fn devices(&self) -> Result<u64> {
        let said = told(&self.given, &["nodes", NAME, "--json"], 0)?;
        let nodes: Vec<Value> = serde_json::from_str(&said.stdout_text())?;
        let counts = nodes.iter().filter_map(|node| node["counts"].as_array());
        let of_maps = counts
            .flatten()
            .filter(|count| count["name"] == "acc/kmeans-map");
        Ok(of_maps.filter_map(|count| count["used"].as_u64()).sum())
    }
}

impl BoardSession<'_> {
    /// One round of K-means, and what it leaves.
    pub(crate) fn run(&self, job: KmeansJob) -> Result<(KmeansRun, Files)> {
        let Bench { given, input, .. } = self.bench;
        let report = given.folder.join("report.json");
        let mut line = vec![
            "--session".to_owned(),
            NAME.to_owned(),
            "--quiet".to_owned(),
        ];
        line.push(format!("--report={}", report.display()));
        // As many splits of a file as make so many of all.
        let split = input.largest.div_ceil(job.maps.div_ceil(FILES));
        for set in job.settings(split) {
            line.extend(["-D".to_owned(), set]);
        }
        line.push(text_of(&self.bench.programs.spherical)?);
        line.extend(["--k".to_owned(), job.k.to_string()]);
        line.extend(["--rounds", "1", INPUT, OUTPUT].map(str::to_owned));
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let run = mapreduce::mr(&given.cluster, &given.folder, &line)?;
        run.deadline(DEADLINE).finish()?.success("K-means")?;
        let run = KmeansRun::read(&fs::read(&report)?, job)?;
        let files = mapreduce::files(&given.cluster, &format!("{OUTPUT}/round-0"))?;
        ensure!(files.contains_key("_SUCCESS"), "{:?}", files.keys());
        given.cluster.hdfs().remove(OUTPUT)?;
        Ok((run, files))
    }

    pub(crate) fn stop(self) -> Result<()> {
        told(&self.bench.given, &["stop", NAME], 0)?;
        self.bench.given.is_clean()
    }
}
