//! One node, with the launchers of a session and their tasks on cores that are made fast and slow.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::bed::{self, Given, text_of};
use it::cores::{Controller, LimitedGroup};
use it::session::told;
use it::{mapreduce, victims, wait};
use job::history::JobHistory;
use tempfile::TempDir;

use super::data::Data;
use super::measured::ApplicationRun;
use super::suite::{Application, SPLIT};

/// Any job.
const DEADLINE: Duration = Duration::from_secs(3600);
/// Of a slot, MiB.
const MEMORY: &str = "1024";
/// Slots of a core, each in a container of its own, so that reduces fetch from other launchers. The paper has a map and
/// a reduce slot a core.
pub(crate) const SLOTS: u32 = 2;
/// For the session to have all containers.
const READY: Duration = Duration::from_secs(120);
/// The session.
const NAME: &str = "applications";
const OUT: &str = "/out";
/// By which the kernel forgets what it has read of files.
const FORGET: &str = "/proc/sys/vm/drop_caches";

/// How fast each core is; the paper's processors have 1.6 and 3.3 GHz.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speed {
    Fast,
    Slow,
}

impl Speed {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Slow => "slow",
        }
    }

    /// Thousandths of a processor, a core.
    pub(crate) const fn thousandths(self) -> u64 {
        match self {
            Self::Fast => 1000,
            Self::Slow => 485,
        }
    }
}

/// A running node. The cluster goes first: then nothing is in the group any more.
pub(crate) struct Node {
    given: Given,
    /// Dropped when the cluster has ended.
    group: LimitedGroup,
    _folder: TempDir,
    /// Where they are, by name.
    programs: BTreeMap<&'static str, String>,
    cores: u32,
    /// What the kernel has read stays in memory.
    is_warm: bool,
    /// The session's application.
    session: String,
    /// Jobs that the session was given.
    jobs: u32,
}

impl Node {
    /// A cluster of one node, a session with [`SLOTS`] containers a core there, and their launchers in a control group.
    pub(crate) fn start(cores: u32, is_warm: bool) -> Result<Self> {
        let controller = Controller::find()?;
        let all = std::thread::available_parallelism()?.get();
        ensure!(
            usize::try_from(cores)? < all,
            "{cores} cores for tasks leave none of {all} to HDFS: give fewer --cores"
        );
        // Before the cluster, which is to end first.
        let group = LimitedGroup::make(controller, Speed::Fast.thousandths() * u64::from(cores))?;
        let folder = bed::folder()?;
        let cluster = it::Cluster::builder().nodes(1).start()?;
        let given = Given {
            cluster: Arc::new(cluster),
            folder: folder.path().to_owned(),
        };
        for path in ["/in", OUT] {
            given.cluster.hdfs().make_folder(path, "777")?;
        }
        let wanted = cores * SLOTS;
        let count = wanted.to_string();
        let line = [
            "start",
            NAME,
            "--containers",
            &count,
            "--slots-per-container",
            "1",
            "--memory",
            MEMORY,
            "--session-timeout",
            "never",
        ];
        told(&given, &line, 0)?;
        let session = given.newest()?.id;
        let launchers = wait::until("all launchers", READY, || {
            let found = victims::launchers(&given.cluster)?;
            Ok((found.len() == usize::try_from(wanted)?).then_some(found))
        })?;
        for launcher in launchers {
            group.take(launcher.pid)?;
        }
        Ok(Self {
            given,
            group,
            _folder: folder,
            programs: BTreeMap::new(),
            cores,
            is_warm,
            session,
            jobs: 0,
        })
    }

    pub(crate) fn version(&self) -> Result<String> {
        self.given.cluster.version()
    }

    /// Ends the session, in which all is well.
    pub(crate) fn stop(self) -> Result<()> {
        told(&self.given, &["stop", NAME], 0)?;
        self.given.is_clean()
    }

    /// Makes a folder of input.
    pub(crate) fn make(&mut self, data: Data, megabytes: u64, seed: u64) -> Result<()> {
        let making = data.making(megabytes, seed);
        let program = self.program(making.program)?;
        let words: Vec<&str> = making.words.iter().map(String::as_str).collect();
        self.submitted(&[&[program.as_str()], &words[..]].concat())?;
        self.jobs += 1;
        Ok(())
    }

    /// Runs an application once.
    pub(crate) fn run(&mut self, of: &Application, speed: Speed) -> Result<ApplicationRun> {
        let thousandths = speed.thousandths() * u64::from(self.cores);
        self.group.limit(thousandths)?;
        let (program, out) = (self.program(of.program)?, format!("{OUT}/{}", self.jobs));
        let reduces = format!("mapreduce.job.reduces={}", of.reduces);
        let split = format!("mapreduce.input.fileinputformat.split.maxsize={SPLIT}");
        let settings = [
            split.as_str(),
            "gerbil.split.pack=1",
            &reduces,
            // A second attempt is more work, and free memory decides else whether map output is compressed.
            "mapreduce.map.speculative=false",
            "mapreduce.reduce.speculative=false",
            "mapreduce.map.output.compress=false",
        ];
        let settings = settings.iter().flat_map(|setting| ["-D", setting]);
        let operands = of.operands();
        let mut line: Vec<&str> = settings.collect();
        line.push(&program);
        line.extend(of.options.split_whitespace());
        line.extend(operands.iter().map(String::as_str));
        line.push(&out);
        if !self.is_warm {
            nix::unistd::sync();
            fs::write(FORGET, "1").with_context(|| format!("writing to {FORGET}"))?;
        }
        let before = self.group.periods()?;
        self.submitted(&line)?;
        let periods = self.group.periods()?.since(before);
        ensure!(periods.all > 0, "{} did not run in its group", of.name);
        let jobs: Vec<JobHistory> = (1..=of.jobs)
            .map(|number| self.history(self.jobs + number))
            .collect::<Result<_>>()?;
        self.jobs += of.jobs;
        self.given.cluster.hdfs().remove(&out)?;
        ApplicationRun::of(&jobs, periods).with_context(|| of.name)
    }

    fn submitted(&self, words: &[&str]) -> Result<()> {
        let line = [&["--session", NAME, "--quiet"], words].concat();
        let run = mapreduce::mr(&self.given.cluster, &self.given.folder, &line)?;
        let done = run.deadline(DEADLINE).finish()?;
        done.success(&words.join(" ")).map(drop)
    }

    /// Of a job of the session, the first one being 1.
    fn history(&self, number: u32) -> Result<JobHistory> {
        let job = format!("{}.{number}", self.session);
        let line = ["history", &job, "--json"];
        let run = mapreduce::mr(&self.given.cluster, &self.given.folder, &line)?;
        let told = run.deadline(DEADLINE).finish()?.success("history")?;
        serde_json::from_str(&told.stdout_text()).with_context(|| format!("the history of {job}"))
    }

    /// The example `name`, which is built once.
    fn program(&mut self, name: &'static str) -> Result<String> {
        if let Some(path) = self.programs.get(name) {
            return Ok(path.clone());
        }
        let path = text_of(&mapreduce::release_example(name)?)?;
        self.programs.insert(name, path.clone());
        Ok(path)
    }
}
