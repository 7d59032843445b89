//! The application of one `gerbil mr` that has no session: a session all the same, which this process owns. Its key is
//! in a file that nobody else may read, for `gerbil logs`, until it ends.
//!
//! ```text
//! the first job is known ─▶ sized ─▶ submitted ─▶ its ApplicationMaster runs ─▶ owned ─▶ … ─▶ ended, with a verdict
//! ```
//!
//! One whose job is left to it (`--detach`) ends with that job. Any other, from the submission on, with this process: an ApplicationMaster that no client owns within half a minute
//! leaves, and so does one whose owner has gone.

mod size;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::job::element::{Scan, Trust};
use ::job::exit::Exit;
use ::job::{ApplicationWork, Description, SessionPlan, wire};
use follow::follower::SessionGuard;
use follow::follower::tasks::JobControl;
use follow::keys::JobKeys;
use follow::kill::kill;
use follow::submit::{ApplicationTerms as Submission, submit};
use follow::timeout::WaitTimeout;
use mapreduce_client::application::{ApplicationFuture, Staging, SubmitApplication};
use mapreduce_client::order::JobOrder;
use mapreduce_client::{MapReduceError, RunEnd};
use policy::{MiB, Millis, ResourceTypes, Resources};
use proto_hadoop::{ApplicationClient, ApplicationId};
use session::reach::{SessionAddress, place_of};
use session::record::Owned;
use session::{Name, Reached, SessionError, SessionRecord};
use terminal::signals::Signals;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::arguments::LocalDisk;
use crate::cluster::{Cluster, ClusterError};
use crate::describe;
use crate::failure::Failure;
use crate::plan::{missed_after, step_mib};
use crate::preflight::{self, Ground};
use crate::sessions;
use crate::subcommands::OwnApplication;
use crate::usage::UsageError;

use super::timing::Timing;
use size::{FirstJob, Size};

/// By which its kind is told from others of the same type.
pub(super) const TAG: &str = "gerbil-mapreduce";
/// Between two looks whether the ApplicationMaster runs, soon after the submission and later.
const SOON: Duration = Duration::from_millis(25);
const LATER: Duration = Duration::from_millis(250);
/// When "soon" is over.
const SOON_ENDS: Duration = Duration::from_secs(3);
/// YARN looks from time to time whether an ApplicationMaster has said something.
const LOOKS: Duration = Duration::from_secs(60);
/// For an application that was told to end to leave YARN.
const LEAVES: Duration = Duration::from_secs(30);
/// Memory of a slot at the least where nobody says a number, MiB: a task sorts in 192 of them, and the program has
/// something of its own.
const SLOT_MIB: u64 = 512;
/// Containers that no job has used for so long are given back, but for one.
const IDLE: Millis = Millis(60_000);
/// For a job that is left to its application to come, where its command was killed in between.
const NO_JOB: Millis = Millis(60_000);

/// The application, from before it is submitted to its end.
pub(super) struct MrApplication {
    rm: Arc<ApplicationClient>,
    cluster: Arc<Cluster>,
    given: OwnApplication,
    /// As YARN lists it.
    name: String,
    /// It ends with its job, and not with this process.
    is_detached: bool,
    timing: Timing,
    /// What YARN takes to miss a node or an ApplicationMaster.
    missed_after: Duration,
    state: Mutex<MrApplicationState>,
}

/// How far it is.
#[derive(Default)]
struct MrApplicationState {
    /// What it waits for.
    waits: String,
    submitted: Option<ApplicationId>,
    owned: Option<(SessionRecord, Reached, SessionGuard)>,
}

impl std::fmt::Debug for MrApplication {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MrApplication")
            .field("name", &self.name)
            .finish()
    }
}

impl SubmitApplication for MrApplication {
    fn begin<'a>(
        &'a self,
        first: &'a JobOrder,
        staged: Staging<'a>,
        wishes: watch::Receiver<JobControl>,
    ) -> ApplicationFuture<'a, (SessionRecord, Reached)> {
        Box::pin(async move {
            self.let_go().await;
            let begun = self.submitted(first, staged, wishes).await;
            begun.map_err(told)
        })
    }

    fn ask<'a>(&'a self, first: &'a JobOrder) -> ApplicationFuture<'a, Vec<String>> {
        Box::pin(async move { self.asked(first).await.map_err(told) })
    }

    fn waits(&self) -> String {
        self.state().waits.clone()
    }

    fn missed_after(&self) -> Duration {
        self.missed_after
    }
}

impl MrApplication {
    /// One that is not submitted yet.
    pub(super) fn new(
        rm: Arc<ApplicationClient>,
        cluster: Arc<Cluster>,
        given: OwnApplication,
        name: String,
        is_detached: bool,
        timing: Timing,
    ) -> Result<Self, ClusterError> {
        Ok(Self {
            missed_after: missed_after(&cluster)?.saturating_add(LOOKS),
            rm,
            cluster,
            given,
            name,
            is_detached,
            timing,
            state: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, MrApplicationState> {
        // Whoever panicked while he held it has left it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The one before is over, and nobody reads its logs as its owner.
    async fn let_go(&self) {
        let (submitted, owned) = {
            let mut state = self.state();
            (state.submitted.take(), state.owned.take())
        };
        if let Some((_, _, owning)) = owned {
            owning.end().await;
        }
        if let Some(id) = submitted {
            Self::forget(id);
        }
    }

    fn forget(id: ApplicationId) {
        if let Ok(applications) = sessions::applications() {
            let name = Name::of_application(id);
            let _is_forgotten = applications.forget(&name, id).is_ok();
        }
    }

    async fn submitted(
        &self,
        first: &JobOrder,
        staged: Staging<'_>,
        wishes: watch::Receiver<JobControl>,
    ) -> Result<(SessionRecord, Reached), Failure> {
        self.timing.mark("the first job was made");
        let disk = self.disk()?;
        let looking = self.ground(first, &disk);
        let staging = async { Ok::<_, Failure>(staged.await?) };
        let (ground, staged) = tokio::try_join!(looking, staging)?;
        self.timing
            .mark("the program was staged, and the cluster looked at");
        let size = Size::new(&self.given, self.wanted(first)?, &ground)?;
        let id = ground.application;
        let keys = JobKeys::generate()?;
        let description = Description {
            build: ::job::BUILD.into(),
            application: describe::session_application(
                describe::Network {
                    am_ports: self.given.am_ports,
                    launcher_ports: self.given.launcher_ports,
                    interface: self.given.iface.as_deref(),
                },
                &self.cluster,
                // The program goes the way of those of a session.
                binary(&staged.staged),
            )?,
            jobs: ApplicationWork::Session(Box::new(self.plan(
                size,
                trust(first),
                ground.excluded,
                (disk.every, ground.disks),
                &staged,
            )?)),
        };
        let application = Submission {
            id,
            name: self.name.clone(),
            queue: self.queue(first),
            priority: first.priority,
            tags: vec![TAG.to_owned()],
            attempts: describe::SESSION_ATTEMPTS,
            unmanaged: false,
            places: Vec::new(),
        };
        // From here on there may be something to end, whatever the ResourceManager answers.
        self.state().submitted = Some(id);
        submit(&self.rm, application, &description, &staged.staged, &keys).await?;
        self.timing.mark(format!("YARN took {id}"));
        let kept = SessionRecord {
            name: Name::of_application(id),
            owned: Owned {
                build: ::job::BUILD.into(),
                application: id,
                resource_managers: self.cluster.resource_managers.client.clone(),
                user: self.cluster.user.clone(),
                local: None,
                host: None,
            },
            keys: keys.client_keys(),
        };
        Self::keep(&kept);
        let mut reached = self.reached(&kept).await?;
        self.timing.mark("its ApplicationMaster was reached");
        if self.is_detached {
            self.state().waits.clear();
            return Ok((kept, reached));
        }
        let owning = SessionGuard::begin(&mut reached.client, wishes).await;
        let owning = owning.map_err(|status| SessionError::Refused {
            name: kept.name.clone(),
            code: status.code(),
            why: status.message().to_owned(),
        })?;
        let own = reached.clone();
        let mut state = self.state();
        state.waits.clear();
        state.owned = Some((kept.clone(), own, owning));
        Ok((kept, reached))
    }

    /// Keeps its key for those who want to read what its tasks print; who cannot does without.
    fn keep(kept: &SessionRecord) {
        if let Ok(applications) = sessions::applications() {
            applications.sweep(sessions::logs::KEPT);
            let _is_kept = applications.keep(kept).is_ok();
        }
    }

    /// What would be asked of YARN.
    async fn asked(&self, first: &JobOrder) -> Result<Vec<String>, Failure> {
        let disk = self.disk()?;
        let ground = self.ground(first, &disk).await?;
        let (wanted, elements) = (self.wanted(first)?, trust(first));
        let size = Size::new(&self.given, wanted, &ground)?;
        let types = ResourceTypes::default();
        let container = size.slot.times(size.slots.get());
        let queue = self.queue(first);
        let Size {
            slots,
            first,
            containers,
            most,
            ..
        } = size;
        let all = u64::from(first.get()).saturating_mul(container.memory.0);
        let with = match elements {
            Trust::Scan => "",
            Trust::Yarn | Trust::Both => {
                ", each with all GPUs and other accelerators that YARN counts and has free on its node"
            }
        };
        Ok(vec![
            format!(
                "slots: {}, each of {}; tasks that may run at once: {}",
                u64::from(slots.get()).saturating_mul(first.get().into()),
                size.slot.words(&types),
                wanted.tasks,
            ),
            format!(
                "of YARN: an application {} in queue {queue}; an ApplicationMaster of {}; containers of {}: {first} at the \
                 beginning, {all} MiB in all, up to {most} while slots are lacking, down to {containers} when they are \
                 idle{with}",
                self.name,
                wanted.appmaster,
                container.words(&types),
            ),
        ])
    }

    async fn ground(&self, first: &JobOrder, disk: &LocalDisk) -> Result<Ground, Failure> {
        let (queue, exclude) = (self.queue(first), &self.given.exclude);
        Ok(preflight::ground(&self.rm, &queue, exclude, disk).await?)
    }

    fn queue(&self, first: &JobOrder) -> String {
        let queue = self.given.queue.clone().or_else(|| first.queue.clone());
        queue.unwrap_or_else(|| "default".to_owned())
    }

    /// What the first job is to the cluster.
    fn wanted(&self, first: &JobOrder) -> Result<FirstJob, Failure> {
        let step = step_mib(&self.cluster)?;
        let (map, reduce) = (first.job.map.unit.memory.0, first.job.reduce.unit.memory.0);
        let unit = match first.job.reduces {
            0 => map,
            _ => map.max(reduce),
        };
        let memory = self.given.memory.unwrap_or(match unit {
            0 => step.max(SLOT_MIB),
            unit => unit,
        });
        let maps = u32::try_from(first.job.splits.len()).unwrap_or(u32::MAX);
        Ok(FirstJob {
            tasks: maps.max(first.job.reduces),
            slot: Resources::new(memory, 1),
            appmaster: MiB(step.max(follow::submit::AM_MEMORY_MIB)),
        })
    }

    /// What tasks may have of the nodes' disks.
    fn disk(&self) -> Result<LocalDisk, UsageError> {
        let disk = LocalDisk::of(&self.given.local_disk);
        disk.map_err(|what| UsageError::DiskTwice { what })
    }

    fn plan(
        &self,
        size: Size,
        elements: Trust,
        exclude: Vec<String>,
        (local_disk, local_disks): (u64, BTreeMap<String, u64>),
        staged: &staging::StagedFiles,
    ) -> Result<SessionPlan, Failure> {
        Ok(SessionPlan {
            name: self.name.clone(),
            containers: size.containers,
            first: size.first,
            most: size.most,
            idle_container: IDLE,
            slots: size.slots,
            gpu_slots: size.slots,
            room: size.slots,
            slot: size.slot,
            types: ResourceTypes::default(),
            policy: "fifo".to_owned(),
            core_slots: None,
            running: None::<NonZeroU32>,
            // A driver may think as long as it lives; a job that is left comes at once, or not at all.
            idle: self.is_detached.then_some(NO_JOB),
            scan: Scan::default(),
            elements,
            local_disk,
            local_disks,
            disk_percent: self.cluster.disk_percent()?,
            is_owned: !self.is_detached,
            ends_with_job: self.is_detached,
            exclude,
            staging: describe::staging_folder(staged),
            record: None,
        })
    }

    /// Its ApplicationMaster, once that runs.
    async fn reached(&self, kept: &SessionRecord) -> Result<Reached, Failure> {
        let id = kept.owned.application;
        let (began, limit) = (Instant::now(), WaitTimeout::new(self.given.wait_timeout));
        loop {
            let placed = tokio::select! {
                placed = place_of(&self.rm, id) => placed?,
                () = limit.over() => return Err(self.late(limit)),
            };
            match placed {
                SessionAddress::Over { why, exit } => {
                    return Err(Failure::NotBegun { why, exit });
                }
                SessionAddress::Starting(why) => self.state().waits = why,
                SessionAddress::At(address) => match Reached::at(address, kept).await {
                    Ok(reached) => return Ok(reached),
                    Err(SessionError::Unreachable { address, why, .. }) => {
                        return Err(Failure::Unreachable { id, address, why });
                    }
                    Err(other) => return Err(other.into()),
                },
            }
            sleep(match began.elapsed() < SOON_ENDS {
                true => SOON,
                false => LATER,
            })
            .await;
        }
    }

    fn late(&self, limit: WaitTimeout) -> Failure {
        Failure::NotInTime {
            span: limit.limit().unwrap_or_default(),
            waits: self.state().waits.clone(),
        }
    }

    /// Ends it, if it was submitted, and waits until YARN says that it is over or until a signal. YARN records
    /// what became of the run.
    pub(super) async fn end(&self, outcome: &RunEnd, signals: &mut Signals) -> Result<(), Failure> {
        let (submitted, owned) = {
            let mut state = self.state();
            (state.submitted.take(), state.owned.take())
        };
        let Some(id) = submitted else {
            return Ok(());
        };
        Self::forget(id);
        let ending = async {
            match owned {
                None => self.killed(id).await,
                Some((kept, reached, owning)) => {
                    let ended = self.told(&kept, reached, outcome).await;
                    owning.end().await;
                    ended
                }
            }
        };
        tokio::select! {
            ended = ending => ended,
            // Without its owner it ends by itself.
            _ = signals.ending() => Ok(()),
        }
    }

    async fn told(
        &self,
        kept: &SessionRecord,
        mut reached: Reached,
        outcome: &RunEnd,
    ) -> Result<(), Failure> {
        let id = kept.owned.application;
        if reached.end(kept, verdict(outcome)).await.is_err() {
            return match outcome.code == Exit::Lost.code() {
                // It ends by itself: one that is cut off from its owner, and one that takes its place and may have
                // a commit to finish.
                true => Ok(()),
                false => self.killed(id).await,
            };
        }
        let since = Instant::now();
        while !matches!(place_of(&self.rm, id).await?, SessionAddress::Over { .. }) {
            if since.elapsed() > LEAVES {
                return self.killed(id).await;
            }
            sleep(SOON).await;
        }
        self.timing.mark("YARN called it over");
        Ok(())
    }

    async fn killed(&self, id: ApplicationId) -> Result<(), Failure> {
        match kill(&self.rm, &id, "gerbil mr has ended").await {
            // It was refused, or was never heard of.
            Err(follow::FollowError::Unknown { .. }) => Ok(()),
            other => Ok(other.map(drop)?),
        }
    }
}

/// Whose count of a node's elements holds. YARN is asked for those that it counts where the first job needs any: what
/// no job needs stays there for others.
fn trust(first: &JobOrder) -> Trust {
    let stages = [&first.job.map, &first.job.reduce];
    match stages.iter().all(|stage| stage.needs.is_empty()) {
        true => Trust::Scan,
        false => Trust::Both,
    }
}

/// For whoever has asked for it.
fn told(failure: Failure) -> MapReduceError {
    MapReduceError::Application {
        sentence: failure.to_string(),
        exit: failure.exit(),
    }
}

/// This binary alone.
fn binary(staged: &[::job::Staged]) -> Vec<::job::Staged> {
    let binary = staged
        .iter()
        .filter(|file| file.link == ::job::role::BINARY_LINK);
    binary.cloned().collect()
}

/// What YARN is to record.
fn verdict(outcome: &RunEnd) -> wire::SessionVerdict {
    let state = match outcome.code {
        code if code == Exit::Success.code() => wire::FinalState::Succeeded,
        // A signal's.
        129.. => wire::FinalState::Killed,
        _ => wire::FinalState::Failed,
    };
    let sentence = match (state, outcome.sentence.as_str()) {
        (wire::FinalState::Succeeded, _) => String::new(),
        (_, "") => format!("gerbil mr has ended with code {}", outcome.code),
        (_, sentence) => sentence.to_owned(),
    };
    wire::SessionVerdict {
        state: state.into(),
        sentence,
    }
}
