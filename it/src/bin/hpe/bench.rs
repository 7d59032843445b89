//! A cluster of the paper's at half its size, a session on it, and queues that go through it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::bed::{self, Given, text_of};
use it::command::Running;
use it::session::told;
use it::settings::File;
use it::{mapreduce, wait};
use job::MapReduceReport;
use job::history::{AttemptEnd, JobHistory, TaskStage};
use sim::hpe::{HpeCluster, HpeWorld};
use tempfile::TempDir;

use crate::figures::{QueueRun, Real};

/// What YARN counts the devices by.
const TYPE: &str = "acc/gpu";
/// Where jobs leave their output, which is empty.
const OUT: &str = "/out";
/// A queue at the most.
const DEADLINE: Duration = Duration::from_secs(600);
/// For something to be so that takes some calls.
const SHOWN: Duration = Duration::from_secs(60);
/// From when the last job is known to when slots come free.
const SETTLED: Duration = Duration::from_millis(1500);
/// Memory of a slot, MiB.
const MEMORY: &str = "200";

/// A running cluster.
pub(crate) struct Bench {
    given: Given,
    _folder: TempDir,
    /// The program whose tasks hold slots.
    hold: String,
    /// How many devices each node has.
    gpus: Vec<u64>,
    /// Of a node.
    slots: usize,
}

impl Bench {
    /// The nodes of `cluster`, each in a container's eyes with a machine of its own.
    pub(crate) fn start(world: &HpeWorld, cluster: HpeCluster) -> Result<Self> {
        let mut gpus = Vec::new();
        let mut slots = 0;
        for kind in world.nodes(cluster) {
            let has = kind.has.get(TYPE).copied().unwrap_or(0);
            gpus.extend((0..kind.count).map(|_| has));
            slots = kind.slots;
        }
        let folder = bed::folder()?;
        let mut builder = it::Cluster::builder()
            .nodes(gpus.len())
            .set(File::ResourceTypes, "yarn.resource-types", TYPE)
            .set(
                File::CapacityScheduler,
                "yarn.scheduler.capacity.resource-calculator",
                "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
            );
        // A core of YARN's for each slot.
        let most = "yarn.scheduler.maximum-allocation-vcores";
        builder = builder.set(File::Yarn, most, slots.to_string());
        for (node, count) in gpus.iter().enumerate() {
            let name = format!("yarn.nodemanager.resource-type.{TYPE}");
            builder = builder.set_on_node(node, File::NodeResources, &name, count.to_string());
        }
        let cluster = builder.start()?;
        let given = Given {
            cluster: Arc::new(cluster),
            folder: folder.path().to_owned(),
        };
        given.cluster.hdfs().make_folder(OUT, "777")?;
        let nodes = given.cluster.nodes();
        for (number, (node, count)) in nodes.iter().zip(&gpus).enumerate() {
            machine(
                &folder.path().join("machines").join(node.host.to_string()),
                number,
                *count,
            )?;
        }
        Ok(Self {
            hold: text_of(&mapreduce::release_example("hold")?)?,
            given,
            _folder: folder,
            gpus,
            slots,
        })
    }

    pub(crate) fn version(&self) -> Result<String> {
        self.given.cluster.version()
    }

    /// Starts a session of this policy.
    pub(crate) fn session(&self, policy: &str) -> Result<()> {
        let root = text_of(&self.given.folder.join("machines"))? + "/%h";
        let (containers, slots) = (self.gpus.len().to_string(), self.slots.to_string());
        let line = [
            "start",
            "hpe",
            "--containers",
            &containers,
            "--slots-per-container",
            &slots,
            "--gpu-slots",
            &slots,
            "--memory",
            MEMORY,
            "--elements",
            "yarn",
            "--scan-root",
            &root,
            "--policy",
            policy,
        ];
        told(&self.given, &line, 0)?;
        wait::until("every container has its slots", SHOWN, || {
            let shown = self.status()?;
            let all = shown["containers"].as_array().map_or(0, Vec::len);
            Ok((all == self.gpus.len()).then_some(()))
        })
    }

    pub(crate) fn stop(&self) -> Result<()> {
        told(&self.given, &["stop", "hpe"], 0).map(drop)
    }

    fn status(&self) -> Result<serde_json::Value> {
        let shown = told(&self.given, &["status", "hpe", "--json"], 0)?;
        Ok(serde_json::from_str(&shown.stdout_text())?)
    }

    /// Something that has every slot, until `gate` is there.
    fn holder(&self, gate: &Path) -> Result<Running> {
        let all = (self.gpus.len() * self.slots).to_string();
        let script = format!("while [ ! -e {} ]; do sleep 0.1; done", gate.display());
        let line = [
            "--session",
            "hpe",
            "--quiet",
            "-n",
            &all,
            "sh",
            "-c",
            &script,
        ];
        let running = self.given.gerbil(&line)?.deadline(DEADLINE).start()?;
        wait::until("all slots are held", SHOWN, || {
            let shown = self.status()?;
            let state = shown["jobs"][0]["state"].as_str().unwrap_or_default();
            Ok((state == "running").then_some(()))
        })?;
        Ok(running)
    }

    /// One queue, from when slots come free to its end.
    pub(crate) fn play(&self, world: &HpeWorld, run: &QueueRun) -> Result<Real> {
        // Containers look into it.
        let trial = self.given.folder.join("trial");
        fs::create_dir(&trial)?;
        let gate = trial.join("gate");
        wait::until("nothing of the queue before is left", SHOWN, || {
            let shown = self.status()?;
            Ok(shown["jobs"]
                .as_array()
                .is_some_and(Vec::is_empty)
                .then_some(()))
        })?;
        let holder = self.holder(&gate)?;
        let mut running = Vec::new();
        for (place, letter) in run.queue.chars().enumerate() {
            let report = trial.join(format!("{place}.json"));
            let job = world.job(letter, place, run.version)?;
            running.push((self.submitted(&job, &report)?, report));
            // Its place in the queue is that of its name.
            wait::until("the job is in the queue", SHOWN, || {
                let shown = self.status()?;
                let all = shown["jobs"].as_array().map_or(0, Vec::len);
                Ok((all > place + 1).then_some(()))
            })?;
        }
        wait::pause(SETTLED);
        fs::write(&gate, "")?;
        holder.finish()?.success("what held the slots")?;
        let mut jobs = Vec::new();
        for (job, report) in running {
            job.finish()?.success("gerbil mr")?;
            jobs.push(self.history(&report)?);
        }
        fs::remove_dir_all(&trial)?;
        self.given.cluster.hdfs().remove(OUT)?;
        self.given.cluster.hdfs().make_folder(OUT, "777")?;
        self.seen(&jobs, run)
    }

    fn submitted(&self, job: &sim::WorkloadJob, report: &Path) -> Result<Running> {
        let (maps, reduces) = (job.maps.as_ref(), job.reduces.as_ref());
        let (maps, reduces) = maps.zip(reduces).context("a job without a stage")?;
        let need = match maps.devices.is_empty() {
            true => "needs.map=cpu",
            false => "needs.map=gpu",
        };
        let set = [
            need.to_owned(),
            format!("mapreduce.job.reduces={}", reduces.count),
            // Who waits for a device is not slow.
            "mapreduce.map.speculative=false".to_owned(),
            "mapreduce.reduce.speculative=false".to_owned(),
        ];
        let mut line = vec![
            "--session".to_owned(),
            "hpe".to_owned(),
            "--quiet".to_owned(),
        ];
        line.push(format!("--report={}", report.display()));
        line.extend(set.into_iter().flat_map(|set| ["-D".to_owned(), set]));
        line.push(self.hold.clone());
        for (name, seconds) in [
            ("load", maps.seconds),
            ("device", maps.device_seconds),
            ("store", maps.store_seconds),
            ("reduce", reduces.seconds),
        ] {
            line.extend([format!("--{name}"), seconds.to_string()]);
        }
        line.extend([maps.count.to_string(), format!("{OUT}/{}", job.name)]);
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let run = mapreduce::mr(&self.given.cluster, &self.given.folder, &line)?;
        run.deadline(DEADLINE).start()
    }

    /// What the ApplicationMaster has noted of the job of a report.
    fn history(&self, report: &Path) -> Result<JobHistory> {
        let report: MapReduceReport = serde_json::from_slice(&fs::read(report)?)?;
        let id = &report.jobs.first().context("no job was taken")?.id;
        let line = ["history", "--json", id];
        let run = mapreduce::mr(&self.given.cluster, &self.given.folder, &line)?;
        let said = run.deadline(SHOWN).finish()?.success("gerbil mr history")?;
        Ok(serde_json::from_str(&said.stdout_text())?)
    }

    /// Each task ran once, and where it may.
    fn seen(&self, jobs: &[JobHistory], run: &QueueRun) -> Result<Real> {
        let nodes = self.given.cluster.nodes();
        let without: Vec<String> = (nodes.iter().zip(&self.gpus))
            .filter(|(_, gpus)| **gpus == 0)
            .map(|(node, _)| node.host.to_string())
            .collect();
        for job in jobs {
            let needs = job.settings.get("needs.map").map(String::as_str) == Some("gpu");
            for attempt in &job.attempts {
                ensure!(
                    attempt.end == AttemptEnd::Succeeded,
                    "{}: {attempt:?}",
                    run.queue
                );
                let misplaced =
                    needs && attempt.stage == TaskStage::Map && without.contains(&attempt.host);
                ensure!(!misplaced, "no GPU there: {attempt:?}");
            }
        }
        let starts = jobs.iter().flat_map(|job| {
            let attempts = job.attempts.iter();
            attempts.map(|attempt| job.began_ms + attempt.began_ms)
        });
        let zero = starts.min().context("no task ran")?;
        let since = |at: u64| Duration::from_millis(at.saturating_sub(zero)).as_secs_f64();
        let last = |job: &JobHistory| {
            let ends = job.attempts.iter().map(|attempt| attempt.ended_ms);
            since(job.began_ms + ends.max().unwrap_or(0))
        };
        Ok(Real {
            tasks: jobs.iter().map(last).collect(),
            ends: jobs
                .iter()
                .map(|job| since(job.began_ms + job.took_ms))
                .collect(),
        })
    }
}

/// What a node's launcher sees as its machine: device `number` of this one, and a queue of its own for it.
fn machine(root: &Path, number: usize, gpus: u64) -> Result<()> {
    fs::create_dir_all(root.join("dev/shm"))?;
    fs::set_permissions(root.join("dev/shm"), Permissions::from_mode(0o1777))?;
    for device in 0..gpus {
        let file = root.join(format!("dev/nvidia{}", number as u64 + device));
        fs::write(&file, "")?;
        fs::set_permissions(&file, Permissions::from_mode(0o666))?;
    }
    Ok(())
}
