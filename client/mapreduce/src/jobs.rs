//! Gives jobs to a session, or to an application of their own: brings their program to the nodes once, submits them,
//! follows them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::{Duration, SystemTime};

use follow::ended::Ended;
use follow::follower::tasks::{JobControl, JobNewsSender, TasksEnd, TasksInSession};
use gerbil_task::settings::QUIET;
use job::exit::Exit;
use job::history::{self, HistoryFolder};
use job::role::BINARY_LINK;
use job::{MpiProgram, StageNeed, Staged};
use policy::schedule::trace::{TracedJob, traced_name};
use proto_hadoop::ApplicationClient;
use session::status::short;
use session::submit::{JobSubmission, Runs};
use session::{Reached, SessionRecord};
use staging::in_place::ProgramPlace;
use staging::{
    Moved, NamedProgram, PlacedProgram, ProcessManager, Shipped, StagedFiles, StagingRequest, stage,
};
use tokio::sync::{Mutex, watch};

use crate::application::SubmitApplication;
use crate::cluster::Cluster;
use crate::dry_run;
use crate::error::MapReduceError;
use crate::order::JobOrder;

/// How the program is brought to the nodes.
#[derive(Clone, Debug)]
pub struct BroughtProgram {
    /// The file.
    pub program: PathBuf,
    /// The words that choose the program out of its file.
    pub choice: Vec<String>,
    /// Files, then archives, that its tasks find in their working folder.
    pub shipped: [Vec<Shipped>; 2],
    /// With the libraries that it needs.
    pub ship_libraries: bool,
    /// The staging folder; `None`: the usual one.
    pub staging: Option<String>,
}

/// Whoever runs jobs.
#[derive(Debug)]
pub struct JobRunner {
    cluster: Arc<Cluster>,
    brought: BroughtProgram,
    rm: Arc<ApplicationClient>,
    /// What is submitted for the jobs where they have no session.
    own: Option<Arc<dyn SubmitApplication>>,
    /// Who runs them, where it is there.
    holder: Lock<Option<Arc<Holder>>>,
    /// Whoever has it submits it.
    beginning: Mutex<()>,
    /// What is on the nodes for the job that was submitted last, and of which files beside the program.
    staged: Mutex<Option<(Vec<Looked>, Arc<StagedFiles>)>>,
    /// So long after its submission each job wants to be done.
    pub deadline: Option<Duration>,
    /// What earlier runs were like, by their names; the last one of a name counts.
    pub profiles: Vec<TracedJob>,
    /// How far the program is on its way.
    pub moved: Arc<Moved>,
    /// What is wished of all jobs.
    pub wishes: watch::Sender<JobControl>,
}

/// A file that is brought along, with its length and when it was changed: a driver may write it anew.
type Looked = (Shipped, Option<(u64, SystemTime)>);

/// The application that holds their containers.
#[derive(Debug)]
struct Holder {
    kept: SessionRecord,
    reached: Reached,
}

impl From<(SessionRecord, Reached)> for Holder {
    fn from((kept, reached): (SessionRecord, Reached)) -> Self {
        Self { kept, reached }
    }
}

/// A job that the session has taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Its number there.
    pub number: u32,
    /// What people call it.
    pub id: String,
    /// The application that it has for itself, as YARN calls it; `None`: it is a session's.
    pub application: Option<String>,
    /// What lists call it.
    pub name: String,
    /// Where its output goes, in full.
    pub output: String,
    /// How many maps it has.
    pub maps: usize,
    /// How many reduces.
    pub reduces: u32,
    /// Bytes of its input.
    pub bytes: u64,
    /// What its stages need.
    pub needs: Vec<StageNeed>,
    /// Nothing is to be said of it but what fails.
    pub is_quiet: bool,
}

impl JobRunner {
    /// Of a session that was reached.
    #[must_use]
    pub fn of_session(
        cluster: Arc<Cluster>,
        brought: BroughtProgram,
        rm: Arc<ApplicationClient>,
        kept: SessionRecord,
        reached: Reached,
    ) -> Self {
        Self {
            holder: Lock::new(Some(Arc::new((kept, reached).into()))),
            ..Self::new(cluster, brought, rm)
        }
    }

    /// Of an application that is submitted for them.
    #[must_use]
    pub fn of_application(
        cluster: Arc<Cluster>,
        brought: BroughtProgram,
        rm: Arc<ApplicationClient>,
        own: Arc<dyn SubmitApplication>,
    ) -> Self {
        Self {
            own: Some(own),
            ..Self::new(cluster, brought, rm)
        }
    }

    fn new(cluster: Arc<Cluster>, brought: BroughtProgram, rm: Arc<ApplicationClient>) -> Self {
        Self {
            cluster,
            brought,
            rm,
            own: None,
            holder: Lock::default(),
            beginning: Mutex::default(),
            staged: Mutex::default(),
            deadline: None,
            profiles: Vec::new(),
            moved: Arc::default(),
            wishes: watch::channel(JobControl::Run).0,
        }
    }

    /// They have an application of their own, which ends with this process.
    #[must_use]
    pub fn are_alone(&self) -> bool {
        self.own.is_some()
    }

    /// What all of them wait for now; empty: for nothing.
    #[must_use]
    pub fn waits(&self) -> String {
        let own = self.own.as_ref().filter(|_| self.present().is_none());
        own.map_or_else(String::new, |own| own.waits())
    }

    /// Who runs them, submitted for `first` where it is not there yet.
    async fn holder(&self, first: &JobOrder) -> Result<Arc<Holder>, MapReduceError> {
        let _alone = self.beginning.lock().await;
        if let Some(present) = self.present() {
            return Ok(present);
        }
        let Some(own) = &self.own else {
            return Err(MapReduceError::Asked("there is no session".to_owned()));
        };
        // What was staged for one before, which may have run for days, may have been removed since.
        *self.staged.lock().await = None;
        let begun = own.begin(first, Box::pin(self.staged(first)), self.wishes.subscribe());
        let holder = Arc::new(Holder::from(begun.await?));
        *self.lock() = Some(Arc::clone(&holder));
        Ok(holder)
    }

    fn present(&self) -> Option<Arc<Holder>> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<Holder>>> {
        self.holder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// That application is over, with a job of it that is to begin again: the next job has another.
    pub fn leave(&self, application: &str) {
        let is_it =
            |holder: &mut Arc<Holder>| holder.kept.owned.application.to_string() == application;
        drop(self.lock().take_if(is_it));
    }

    /// The program and the job's files on the nodes, brought there where they are not yet.
    async fn staged(&self, order: &JobOrder) -> Result<Arc<StagedFiles>, MapReduceError> {
        let mut staged = self.staged.lock().await;
        let mut shipped = self.brought.shipped.clone();
        for (all, more) in shipped.iter_mut().zip(&order.brought.shipped) {
            all.extend_from_slice(more);
        }
        let mut looked = Vec::new();
        for file in shipped.iter().flatten() {
            let about = tokio::fs::metadata(&file.path).await.ok();
            let about = about.and_then(|about| Some((about.len(), about.modified().ok()?)));
            looked.push((file.clone(), about));
        }
        match &*staged {
            Some((before, there)) if *before == looked => Ok(Arc::clone(there)),
            _ => {
                let there = Arc::new(Box::pin(self.bring(shipped)).await?);
                Ok(Arc::clone(&staged.insert((looked, there)).1))
            }
        }
    }

    async fn bring(&self, shipped: [Vec<Shipped>; 2]) -> Result<StagedFiles, MapReduceError> {
        let own_binary = std::env::current_exe();
        let own_binary = own_binary.map_err(|source| MapReduceError::System {
            doing: "find my own file",
            source,
        })?;
        let request = StagingRequest {
            own_binary,
            // The launchers of a session are this file.
            stages_own: self.own.is_some(),
            programs: vec![NamedProgram {
                name: self.brought.program.clone(),
                first_in: None,
            }],
            shipped,
            venv: None,
            processes: 1,
            ship_libraries: self.brought.ship_libraries,
            // Whether nodes of a cluster have it, no task looks.
            place: match self.cluster.configuration.nodes_are_ours() {
                true => ProgramPlace::Here,
                false => ProgramPlace::Copy,
            },
            // Tasks are no ranks.
            manager: ProcessManager::Pmi,
            root: self.brought.staging.clone(),
            hadoop: &|key| self.cluster.hadoop(key),
            environment: &|name| std::env::var_os(name),
            user: self.cluster.user.clone(),
            conf_dir: self.cluster.conf_dir().map(Into::into),
            nodes_are_ours: self.cluster.configuration.nodes_are_ours(),
            moved: Arc::clone(&self.moved),
        };
        Ok(stage(request).await?)
    }

    /// What the job would be, and what would be asked for it, a line each; nothing is.
    ///
    /// # Errors
    /// It could never run, or nobody can be asked.
    pub async fn ask(&self, order: &JobOrder) -> Result<Vec<String>, MapReduceError> {
        let mut lines = dry_run::words(order);
        if let Some(own) = &self.own {
            lines.extend(own.ask(order).await?);
        } else if let Some(holder) = self.present() {
            let status = holder.reached.clone().status(&holder.kept).await?;
            let (lent, slots) = status.slots();
            lines.push(format!(
                "nothing would be asked of YARN: session {} has {slots} slots in {} containers, {lent} of them in use",
                status.name,
                status.containers.len()
            ));
        }
        Ok(lines)
    }

    /// What the last run of this name was like, as a line of a trace; empty: nobody says.
    fn profile(&self, name: &str) -> String {
        let name = traced_name(name);
        let last = self.profiles.iter().rev().find(|job| job.name == name);
        last.map(ToString::to_string).unwrap_or_default()
    }

    /// Brings the program and submits the job; `detached`: no client follows it.
    ///
    /// # Errors
    /// It cannot be brought, or the session refuses it.
    pub async fn submit(
        &self,
        order: &JobOrder,
        detached: bool,
    ) -> Result<Accepted, MapReduceError> {
        let holder = self.holder(order).await?;
        let staged = self.staged(order).await?;
        let mut run = order.job.clone();
        run.program = program(&staged, &self.brought.choice);
        run.history = Some(HistoryFolder {
            address: staged.address.clone(),
            path: format!("{}/{}", staged.root_path, history::FOLDER),
        });
        // The launchers are there, and their file is this one; a program that is in it, too, wants it beside its files.
        let own = (run.program.file != BINARY_LINK).then_some(BINARY_LINK);
        let files = staged.staged.iter();
        let files = files.filter(|file| Some(file.link.as_str()) != own);
        let files: Vec<Staged> = files.cloned().collect();
        let job = JobSubmission {
            name: order.name.clone(),
            user: &self.cluster.user,
            queue: order.queue.as_deref().unwrap_or("default"),
            priority: order.priority.unwrap_or_default(),
            deadline: self.deadline,
            profile: self.profile(&order.name),
            detached,
            runs: Runs::MapReduce(&run),
            address: &staged.address,
            staged: &files,
        };
        let mut reached = holder.reached.clone();
        let number = reached.submit(&holder.kept, &job).await?;
        let application = holder.kept.owned.application;
        let pieces = order.job.splits.iter().flat_map(|split| &split.pieces);
        let is_quiet = order.job.settings.get(QUIET);
        Ok(Accepted {
            number,
            is_quiet: is_quiet.is_some_and(|value| value.trim().eq_ignore_ascii_case("true")),
            id: short(application, number),
            application: self.are_alone().then(|| application.to_string()),
            needs: order.needs.clone(),
            name: order.name.clone(),
            output: order.output.url(),
            maps: order.job.splits.len(),
            reduces: order.job.reduces,
            bytes: pieces
                .map(|piece| piece.length)
                .fold(0, u64::saturating_add),
        })
    }

    /// Follows a job, which was just taken, to its end.
    pub fn follow(
        &self,
        job: u32,
        told: JobNewsSender,
        wishes: watch::Receiver<JobControl>,
    ) -> impl Future<Output = TasksEnd> + Send + 'static {
        let own = self.own.as_ref();
        let missed_after = own.map_or(Duration::ZERO, |own| own.missed_after());
        let followed = self.present().map(|holder| {
            let Holder { kept, reached } = &*holder;
            let tasks = TasksInSession {
                rm: Arc::clone(&self.rm),
                id: kept.owned.application,
                keys: kept.keys.clone(),
                name: (!self.are_alone()).then(|| kept.name.to_string()),
                job,
                watches: false,
                missed_after,
                told,
                wishes,
            };
            (tasks, reached.clone().dialled())
        });
        async move {
            match followed {
                Some((tasks, dialled)) => tasks.follow(dialled).await,
                None => TasksEnd::from(Ended {
                    code: Exit::Lost.code(),
                    sentence: format!("nobody has taken job {job}"),
                    verdict: None,
                }),
            }
        }
    }
}

/// What each task runs.
fn program(staged: &StagedFiles, choice: &[String]) -> MpiProgram {
    let Some(placed) = staged.programs.first() else {
        return MpiProgram::default();
    };
    MpiProgram {
        processes: 1,
        file: placed.link.clone(),
        own_path: placed.own_path.clone(),
        in_place: None,
        tree: None,
        mpi_library: placed.mpi_library.clone(),
        args: choice.to_vec(),
        environment: libraries_of_here(placed),
        folder: None,
        library_folder: placed.library_folder.clone(),
        library_variables: placed.library_variables.clone(),
        glibc_needed: placed.glibc_needed.clone(),
        digest: placed.digest.clone(),
        pmix_library: None,
    }
}

/// What a program that runs where it lies finds its libraries by, as its user does.
fn libraries_of_here(placed: &PlacedProgram) -> Vec<(String, String)> {
    const LIBRARIES: &str = "LD_LIBRARY_PATH";
    let folders = std::env::var(LIBRARIES)
        .ok()
        .filter(|_| placed.own_path.is_some());
    let folders = folders.map(|folders| (LIBRARIES.to_owned(), folders));
    folders.into_iter().collect()
}
