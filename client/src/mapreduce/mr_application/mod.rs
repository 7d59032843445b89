//! The application of one `gerbil mr` that has no session: a session all the same, which this process owns. Its key is
//! in a file that nobody else may read, for `gerbil logs`, until it ends.
//!
//! ```text
//! the first job is known ─▶ sized ─▶ submitted ─▶ its ApplicationMaster runs ─▶ owned ─▶ … ─▶ ended, with a verdict
//! ```
//!
//! One whose job is left to it (`--detach`) ends with that job. Any other, from the submission on, with this process: an
//! ApplicationMaster that no client owns within half a minute leaves, and so does one whose owner has gone.

mod ending;
mod request;
mod size;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::job::{ApplicationWork, Description};
use follow::follower::SessionGuard;
use follow::follower::tasks::JobControl;
use follow::keys::JobKeys;
use follow::submit::{ApplicationTerms as Submission, submit};
use follow::timeout::WaitTimeout;
use mapreduce_client::MapReduceError;
use mapreduce_client::application::{ApplicationFuture, Staging, SubmitApplication};
use mapreduce_client::order::JobOrder;
use proto_hadoop::{ApplicationClient, ApplicationId};
use session::reach::{SessionAddress, place_of};
use session::record::Owned;
use session::{Name, Reached, SessionError, SessionRecord};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::cluster::{Cluster, ClusterError};
use crate::describe;
use crate::failure::Failure;
use crate::plan::missed_after;
use crate::sessions;
use crate::subcommands::OwnApplication;

use super::timing::Timing;
use request::trust;
use size::Size;

/// By which its kind is told from others of the same type.
pub(super) const TAG: &str = "gerbil-mapreduce";
/// Between two looks whether the ApplicationMaster runs, soon after the submission and later.
const SOON: Duration = Duration::from_millis(25);
const LATER: Duration = Duration::from_millis(250);
/// When "soon" is over.
const SOON_ENDS: Duration = Duration::from_secs(3);
/// YARN looks from time to time whether an ApplicationMaster has said something.
const LOOKS: Duration = Duration::from_secs(60);

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
