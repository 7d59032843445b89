//! Nodes with a fast and a slow core, a session on them, and the jobs of a plan in it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use it::bed::{self, Given, text_of};
use it::session::told;
use it::settings::File;
use it::{mapreduce, wait};
use tempfile::TempDir;

use crate::plan::{Plan, PlannedJob};

/// NodeManagers.
pub(crate) const NODES: usize = 4;
/// Map slots of a node on the slow core, beside one on the fast one.
pub(crate) const SLOW_SLOTS: usize = 3;
/// Where records and outputs lie in HDFS.
const RECORDS: &str = "/dyscale-records";
const OUT: &str = "/dyscale-out";
/// All jobs of a session at the most.
const DEADLINE: Duration = Duration::from_secs(900);
/// For something to be so that takes some calls.
const SHOWN: Duration = Duration::from_secs(60);
/// Memory of a slot, MiB.
const MEMORY: &str = "200";

/// A running cluster.
pub(crate) struct Bench {
    given: Given,
    _folder: TempDir,
    /// The program whose tasks hold slots.
    hold: String,
}

impl Bench {
    pub(crate) fn start() -> Result<Self> {
        let folder = bed::folder()?;
        // A container has as many vcores as slots, of which `park=1` adds one.
        let cluster = it::Cluster::builder()
            .nodes(NODES)
            .set(File::Yarn, "yarn.scheduler.maximum-allocation-vcores", "8")
            .start()?;
        let given = Given {
            cluster: Arc::new(cluster),
            folder: folder.path().to_owned(),
        };
        given.cluster.hdfs().make_folder(RECORDS, "777")?;
        given.cluster.hdfs().make_folder(OUT, "777")?;
        Ok(Self {
            hold: text_of(&mapreduce::release_example("hold")?)?,
            given,
            _folder: folder,
        })
    }

    pub(crate) fn version(&self) -> Result<String> {
        self.given.cluster.version()
    }

    /// A session of this policy with all jobs of `plan`; its record.
    pub(crate) fn play(&self, policy: &str, plan: &Plan) -> Result<Vec<u8>> {
        self.session(policy)?;
        let begin = Instant::now();
        let mut running = Vec::new();
        let mut batch: Option<Instant> = None;
        for (number, job) in plan.jobs.iter().enumerate() {
            if let Some(since) = batch {
                let at = Duration::from_secs_f64(job.after);
                wait::pause(at.saturating_sub(since.elapsed()));
            }
            running.push(self.submitted(number, job)?);
            if batch.is_none() {
                // The others count from when it is there.
                wait::until("the batch job is in the session", SHOWN, || {
                    let shown = self.status()?;
                    let jobs = shown["jobs"].as_array().map_or(0, Vec::len);
                    Ok((jobs > 0).then_some(()))
                })?;
                batch = Some(Instant::now());
            }
        }
        for job in running {
            job.finish()?.success("gerbil mr")?;
        }
        ensure!(begin.elapsed() < DEADLINE, "a session took too long");
        told(&self.given, &["stop", "dyscale"], 0)?;
        let mut files = mapreduce::files(&self.given.cluster, RECORDS)?;
        let (_, record) = files.pop_first().context("the session left no record")?;
        for folder in [RECORDS, OUT] {
            self.given.cluster.hdfs().remove(folder)?;
            self.given.cluster.hdfs().make_folder(folder, "777")?;
        }
        self.given.is_clean()?;
        Ok(record)
    }

    fn session(&self, policy: &str) -> Result<()> {
        let record = format!("{RECORDS}/session.jsonl");
        let (nodes, slots) = (NODES.to_string(), format!("fast=1:0,slow={SLOW_SLOTS}:1"));
        let line = [
            "start",
            "dyscale",
            "--containers",
            &nodes,
            "--memory",
            MEMORY,
            "--policy",
            policy,
            "--cores",
            "fast=0,slow=1",
            "--slots",
            &slots,
            "--record",
            &record,
        ];
        told(&self.given, &line, 0)?;
        wait::until("each node has a container", SHOWN, || {
            let shown = self.status()?;
            let all = shown["containers"].as_array().map_or(0, Vec::len);
            Ok((all == NODES).then_some(()))
        })
    }

    fn status(&self) -> Result<serde_json::Value> {
        let shown = told(&self.given, &["status", "dyscale", "--json"], 0)?;
        Ok(serde_json::from_str(&shown.stdout_text())?)
    }

    fn submitted(&self, number: usize, job: &PlannedJob) -> Result<it::command::Running> {
        let (maps, seconds) = (job.maps.to_string(), job.seconds.to_string());
        let out = format!("{OUT}/{number}");
        let line = [
            "--session",
            "dyscale",
            "--quiet",
            "--queue",
            job.queue,
            "-D",
            "mapreduce.job.reduces=0",
            // A second attempt at a map would be work that the simulator is not told of.
            "-D",
            "mapreduce.map.speculative=false",
            &self.hold,
            "--by-mask",
            "0",
            "--load",
            &seconds,
            &maps,
            &out,
        ];
        let run = mapreduce::mr(&self.given.cluster, &self.given.folder, &line)?;
        run.deadline(DEADLINE).start()
    }
}
