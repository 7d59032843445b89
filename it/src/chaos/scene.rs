//! A job on the cluster, and its parts to be struck.

use std::fs;
use std::net::SocketAddrV4;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::dice::Dice;
use super::network::{TcpConnection, connections};
use super::{Case, session, traces};
use crate::Cluster;
use crate::bed::{Given, text_of};
use crate::command::Running;
use crate::process;
use crate::resource_manager::ApplicationReport;
use crate::sweep::FoundProcess;
use crate::wait;

/// From its start until the job's part that is to be struck is there.
const APPEARS: Duration = Duration::from_secs(120);
/// Whatever happens, the client has said what became of the job by then.
const TOLD: Duration = Duration::from_secs(300);

/// What rank 0 writes when all are up.
pub const START: &str = "ready\n";

/// The arguments by which the processes of our own binary know their roles.
const MASTER: &str = "--as=appmaster";
const LAUNCHER: &str = "--as=container-launcher";

/// Four ranks on the last two nodes of the cluster.
#[derive(Debug)]
pub struct Scene<'a> {
    /// Where it runs.
    pub given: &'a Given,
    /// Its `gerbil-run`.
    pub running: Running,
    /// When that was started.
    pub began: Instant,
    /// What decides the moment and the victim.
    pub dice: Dice,
    /// The node that was struck, for the verdict.
    pub struck: Option<String>,
    /// The process without which the fault is over.
    pub victim: Option<i32>,
    /// The job's, or its session's.
    pub name: String,
    gate: PathBuf,
    /// As YARN knows it.
    application: String,
    id: Option<String>,
}

/// Tells the jobs of this process from each other.
static JOBS: AtomicUsize = AtomicUsize::new(0);

impl<'a> Scene<'a> {
    /// Starts the job of `case`, whose `program` is chaos.c, compiled.
    ///
    /// # Errors
    ///
    /// `gerbil-run` cannot be started.
    pub fn begin(given: &'a Given, case: &Case, program: &str, seed: u64) -> Result<Self> {
        let name = format!("chaos-{}", JOBS.fetch_add(1, Ordering::Relaxed));
        let gate = given.folder.join(format!("gate-{name}"));
        let _not_there = fs::remove_file(&gate);
        let hosts: Vec<String> = given
            .cluster
            .nodes()
            .iter()
            .skip(1)
            .map(|node| format!("{}:2", node.host))
            .collect();
        let (hosts, path) = (hosts.join(","), text_of(&gate)?);
        let mut line = match case.session {
            None => vec!["--name", &name, "-hosts", &hosts],
            Some(_) => {
                session::begin(given, &name)?;
                vec!["--session", &name, "-n", "4"]
            }
        };
        line.extend(case.options);
        let further = std::env::var("GERBIL_IT_OPTIONS").unwrap_or_default();
        line.extend(further.split_whitespace());
        line.extend([program, path.as_str()]);
        line.extend(case.fault.program_arguments());
        let running = given.gerbil(&line)?.deadline(TOLD).start()?;
        Ok(Self {
            given,
            running,
            began: Instant::now(),
            dice: Dice::new(seed),
            struck: None,
            victim: None,
            gate,
            application: match case.session {
                None => name.clone(),
                Some(_) => format!("gerbil session {name}"),
            },
            name,
            id: None,
        })
    }

    /// The cluster.
    #[must_use]
    pub fn cluster(&self) -> &Cluster {
        &self.given.cluster
    }

    /// Lets the job end, well.
    ///
    /// # Errors
    ///
    /// The file cannot be made.
    pub fn let_go(&self) -> Result<()> {
        fs::write(&self.gate, "").context("letting the job go")
    }

    /// How often the program has started, all ranks of it.
    #[must_use]
    pub fn starts(&self) -> usize {
        self.running.stdout_so_far().matches(START).count()
    }

    /// Waits until the program has started, after so many starts before.
    ///
    /// # Errors
    ///
    /// It does not in time, or the job is over before.
    pub fn wait_for_start(&mut self, before: usize) -> Result<()> {
        self.await_part("the program's start", |scene| {
            Ok((scene.starts() > before).then_some(()))
        })
    }

    /// Whether the process that was struck still lives.
    #[must_use]
    pub fn has_victim(&self) -> bool {
        let lives = |pid: i32| fs::exists(format!("/proc/{pid}")).unwrap_or(false);
        self.victim.is_some_and(lives)
    }

    /// The application's id, which is asked for if nobody has yet.
    ///
    /// # Errors
    ///
    /// As [`Scene::report`].
    pub fn known_id(&mut self) -> Result<String> {
        match &self.id {
            Some(id) => Ok(id.clone()),
            None => Ok(self.report()?.id),
        }
    }

    /// Waits until `look` sees something.
    ///
    /// # Errors
    ///
    /// It does not, or the job is over before.
    pub fn await_part<T>(
        &mut self,
        what: &str,
        look: impl Fn(&Self) -> Result<Option<T>>,
    ) -> Result<T> {
        wait::until(what, APPEARS, || {
            if let Some(seen) = look(self)? {
                return Ok(Some(seen));
            }
            if self.running.is_over()? {
                bail!("the job was over before {what}");
            }
            Ok(None)
        })
        .with_context(|| self.running.stderr_so_far())
    }

    /// YARN's account of the job; its id is known from then on.
    ///
    /// # Errors
    ///
    /// It is not there in time.
    pub fn report(&mut self) -> Result<ApplicationReport> {
        let report = self.await_part("the application", |scene| {
            let all = scene.given.applications()?.into_iter();
            let mut own = all.filter(|report| report.name == scene.application);
            Ok(own.next())
        })?;
        self.id = Some(report.id.clone());
        Ok(report)
    }

    /// The process of the AM.
    ///
    /// # Errors
    ///
    /// It is not there in time.
    pub fn master(&mut self) -> Result<FoundProcess> {
        self.report()?;
        self.await_part("the ApplicationMaster", |scene| {
            Ok(scene.with_role(MASTER)?.pop())
        })
    }

    /// Where the AM takes calls. A client and all launchers have found it there before.
    ///
    /// # Errors
    ///
    /// YARN does not say.
    pub fn master_address(&mut self) -> Result<SocketAddrV4> {
        let report = self.report()?;
        let address = report.master_address.context("no address of the AM")?;
        address.parse().with_context(|| address.clone())
    }

    /// The launchers that are there.
    ///
    /// # Errors
    ///
    /// There is none in time.
    pub fn launchers(&mut self) -> Result<Vec<FoundProcess>> {
        self.report()?;
        self.await_part("a launcher", |scene| {
            let all = scene.with_role(LAUNCHER)?;
            Ok((!all.is_empty()).then_some(all))
        })
    }

    /// One of the launchers that are there.
    ///
    /// # Errors
    ///
    /// There is none in time.
    pub fn launcher(&mut self) -> Result<FoundProcess> {
        let all = self.launchers()?;
        self.pick(all)
    }

    /// The connections of launchers that do not lead to the AM, which listens at this port: those to the
    /// client.
    ///
    /// # Errors
    ///
    /// There is none in time.
    pub fn lanes(&mut self, master: u16) -> Result<Vec<TcpConnection>> {
        self.report()?;
        self.await_part("a lane", |scene| {
            let mut lanes = Vec::new();
            for launcher in scene.with_role(LAUNCHER)? {
                lanes.extend(connections(launcher.pid)?);
            }
            lanes.retain(|found| found.remote.port() != master);
            Ok((!lanes.is_empty()).then_some(lanes))
        })
    }

    /// One of the ranks that are there.
    ///
    /// # Errors
    ///
    /// There is none in time.
    pub fn rank(&mut self) -> Result<FoundProcess> {
        self.report()?;
        let all = self.await_part("a rank", |scene| {
            let ranks = scene.processes()?.into_iter().filter(|found| {
                // What a rank left behind leads no process group.
                let leads = || process::group(found.pid) == Some(found.pid);
                found.arguments.get(1) == scene.gate_text().as_ref() && leads()
            });
            let ranks: Vec<FoundProcess> = ranks.collect();
            Ok((!ranks.is_empty()).then_some(ranks))
        })?;
        self.pick(all)
    }

    fn gate_text(&self) -> Option<String> {
        text_of(&self.gate).ok()
    }

    fn pick(&mut self, all: Vec<FoundProcess>) -> Result<FoundProcess> {
        let found = self.dice.pick(&all).cloned().context("nothing to pick")?;
        self.strike_node_of(&found);
        Ok(found)
    }

    /// The verdict is to name this process's node.
    pub fn strike_node_of(&mut self, found: &FoundProcess) {
        self.struck = node_of(found);
    }

    /// The processes of our own binary in this role; not the shell that YARN starts them by.
    fn with_role(&self, role: &str) -> Result<Vec<FoundProcess>> {
        let mut all = self.processes()?;
        all.retain(|found| found.arguments.get(1).is_some_and(|first| first == role));
        Ok(all)
    }

    fn processes(&self) -> Result<Vec<FoundProcess>> {
        let all = self.cluster().container_processes()?;
        let Some(id) = &self.id else {
            return Ok(Vec::new());
        };
        Ok(traces::of_job(all, id))
    }
}

/// The node that a container's process runs on, as YARN names it.
#[must_use]
pub fn node_of(found: &FoundProcess) -> Option<String> {
    process::variable(found.pid, "NM_HOST")
}
