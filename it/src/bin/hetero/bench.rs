//! Two nodes with a board each, their sessions, and K-means in them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::Run;
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
use crate::shape::{BenchShape, DEVICES, MAPS, NODES};

/// Of the input, each of which is cut into splits.
const FILES: u64 = 4;
/// Bytes of a line, about: 128 numbers of 9, some of which are below 0.
const LINE: u64 = 1_216;
/// Where vectors and results lie in HDFS.
pub(crate) const INPUT: &str = "/hetero/vectors";
pub(crate) const OUTPUT: &str = "/hetero/out";
/// A job at the most.
pub(crate) const DEADLINE: Duration = Duration::from_secs(300);
/// For something to be so that takes some calls.
const SHOWN: Duration = Duration::from_secs(60);
/// Memory of a slot, MiB.
const MEMORY: &str = "256";
const NAME: &str = "hetero";

/// A running cluster, and the programs that run on it.
pub(crate) struct Bench {
    given: Given,
    shape: BenchShape,
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
    pub(crate) fn start(
        programs: Arc<Programs>,
        megabytes: u64,
        shape: BenchShape,
    ) -> Result<Self> {
        let folder = bed::folder()?;
        let names = shape.types.iter().map(|(name, _)| format!("acc/{name}"));
        let names: Vec<String> = names.collect();
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
        for (name, counts) in shape.types {
            let name = format!("yarn.nodemanager.resource-type.acc/{name}");
            for (node, count) in counts.iter().enumerate() {
                builder = builder.set_on_node(node, File::NodeResources, &name, count.to_string());
            }
        }
        if shape.has_hadoop {
            builder = mapreduce::with_hadoop(builder);
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
            shape,
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

    pub(crate) const fn given(&self) -> &Given {
        &self.given
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

    /// Starts modelled boards, and a session that runs so many tasks at a time on each node.
    pub(crate) fn session(&self, tasks: usize) -> Result<BoardSession<'_>> {
        self.session_on("model", tasks, &[])
    }

    /// The same with boards of this kind, and more options of `gerbil session start`.
    pub(crate) fn session_on(
        &self,
        kind: &str,
        tasks: usize,
        options: &[&str],
    ) -> Result<BoardSession<'_>> {
        let start = |(node, machine): (usize, &PathBuf)| {
            NodeDriver::start_of_kind(&self.programs, machine, kind, &self.shape.profile(node))
        };
        let machines = self.machines.iter().enumerate();
        let drivers = machines.map(start).collect::<Result<_>>()?;
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
        told(&self.given, &[&line[..], options].concat(), 0)?;
        wait::until("the devices of both boards are known", SHOWN, || {
            Ok((self.devices()? == self.shape.devices(MAPS) as u64).then_some(()))
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
            .filter(|count| count["name"] == format!("acc/{MAPS}"));
        Ok(of_maps.filter_map(|count| count["used"].as_u64()).sum())
    }
}

impl BoardSession<'_> {
    /// One round of K-means, and what it leaves.
    pub(crate) fn run(&self, job: KmeansJob) -> Result<(KmeansRun, Files)> {
        let Bench { given, .. } = self.bench;
        let k = job.k.to_string();
        let options = ["--k", &k, "--rounds", "1", INPUT, OUTPUT];
        let run = self.kmeans(job, "report", &options)?;
        run.finish()?.success("K-means")?;
        let run = KmeansRun::read(&self.report("report")?, job)?;
        let files = mapreduce::files(&given.cluster, &format!("{OUTPUT}/round-0"))?;
        ensure!(files.contains_key("_SUCCESS"), "{:?}", files.keys());
        given.cluster.hdfs().remove(OUTPUT)?;
        Ok((run, files))
    }

    /// K-means with these options, whose report is called so.
    pub(crate) fn kmeans(&self, job: KmeansJob, report: &str, options: &[&str]) -> Result<Run> {
        let Bench {
            input, programs, ..
        } = self.bench;
        // As many splits of a file as make so many of all.
        let split = input.largest.div_ceil(job.maps.div_ceil(FILES));
        self.mr(report, &job.settings(split), &programs.spherical, options)
    }

    /// A program with these settings of its jobs and these options of its own, whose report is called so.
    pub(crate) fn mr(
        &self,
        report: &str,
        settings: &[String],
        program: &Path,
        options: &[&str],
    ) -> Result<Run> {
        let given = &self.bench.given;
        let mut line = vec![
            "--session".to_owned(),
            NAME.to_owned(),
            "--quiet".to_owned(),
        ];
        let report = given.folder.join(format!("{report}.json"));
        line.push(format!("--report={}", report.display()));
        for set in settings {
            line.extend(["-D".to_owned(), set.clone()]);
        }
        line.push(text_of(program)?);
        line.extend(options.iter().map(|option| (*option).to_owned()));
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let run = mapreduce::mr(&given.cluster, &given.folder, &line)?;
        Ok(run.deadline(DEADLINE))
    }

    /// What the program whose report is called so says of its jobs.
    pub(crate) fn report(&self, name: &str) -> Result<Vec<u8>> {
        Ok(fs::read(
            self.bench.given.folder.join(format!("{name}.json")),
        )?)
    }

    pub(crate) fn stop(self) -> Result<()> {
        told(&self.bench.given, &["stop", NAME], 0)?;
        self.bench.given.is_clean()
    }
}
