//! `gerbil session start`.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ::job::element::Scan;
use ::job::exit::Exit;
use ::job::{ApplicationWork, Description, RecordFile, SessionPlan};
use follow::FollowError;
use follow::keys::JobKeys;
use follow::kill::kill;
use follow::progress::Progress;
use follow::submit::{ApplicationTerms, submit};
use follow::timeout::WaitTimeout;
use policy::{Millis, ResourceTypes, Resources, schedule};
use proto_hadoop::{ApplicationClient, ApplicationId};
use session::reach::{SessionAddress, place};
use session::ready::{Readiness, ready};
use session::record::{Owned, this_host};
use session::{Name, SessionError, SessionRecord, SessionsFolder, reach};
use terminal::signals::Signals;
use terminal::{Foreign, Text, blocking, interruptible, print, say};

use crate::arguments::LocalDisk;
use crate::cluster::Cluster;
use crate::data;
use crate::describe;
use crate::failure::Failure;
use crate::local::daemon::{self, Daemon};
use crate::local::staging as staging_of;
use crate::plan::step_mib;
use crate::preflight;
use crate::run::thread;
use crate::subcommands::SessionStart;
use crate::upload::{BroughtFiles, staged, staging_meanwhile};
use crate::usage::UsageError;

use super::slots::{ContainerSlots, core_slots, without_room};

/// By which YARN's lists find sessions.
const TAG: &str = "gerbil-session";

/// Starts one, and waits until it is ready; the exit code.
pub(super) async fn start(
    mut given: SessionStart,
    folder: &SessionsFolder,
    signals: &mut Signals,
) -> Result<u8, Failure> {
    if let Err(source) = schedule::of_session(&given.policy) {
        let text = given.policy;
        return Err(UsageError::Policy { text, source }.into());
    }
    let core_slots = core_slots(&given);
    if given.strict && core_slots.is_none() {
        return Err(UsageError::StrictWithoutCores.into());
    }
    let most = given.max_containers.unwrap_or(given.containers);
    if most < given.containers {
        let containers = given.containers;
        return Err(UsageError::FewerThanContainers { most, containers }.into());
    }
    let disk = LocalDisk::of(&given.local_disk);
    let disk = disk.map_err(|what| UsageError::DiskTwice { what })?;
    if let Some(name) = given.name.clone() {
        let there = folder.clone();
        let asked = blocking(signals, move || {
            there.owned(&name).map(|owned| (name, owned))
        })
        .await;
        let (name, owned) = match asked.map_err(thread())? {
            ControlFlow::Continue(asked) => asked?,
            ControlFlow::Break(signal) => return Ok(unsubmitted(signal)),
        };
        match interruptible(signals, still_there(folder, &name, owned)).await {
            ControlFlow::Continue(Ok(None)) => {}
            ControlFlow::Continue(Ok(Some(application))) => {
                return Err(SessionError::Taken { name, application }.into());
            }
            ControlFlow::Continue(Err(error)) => return Err(error.into()),
            ControlFlow::Break(signal) => return Ok(unsubmitted(signal)),
        }
    }
    // It goes with this command where nothing is submitted.
    let local = match given.local {
        None => None,
        Some(nodes) => match interruptible(signals, Daemon::start(nodes, unused(folder))).await {
            ControlFlow::Continue(started) => Some(started?),
            ControlFlow::Break(signal) => return Ok(unsubmitted(signal)),
        },
    };
    let cluster = match &local {
        None => {
            let found = blocking(signals, Cluster::find).await;
            match found.map_err(thread())? {
                ControlFlow::Continue(found) => found?,
                ControlFlow::Break(signal) => return Ok(unsubmitted(signal)),
            }
        }
        Some(local) => {
            let folder = &local.folder;
            given.staging.get_or_insert_with(|| staging_of(folder));
            daemon::settings(folder)?
        }
    };
    let record = match &given.record {
        None => None,
        Some(file) => {
            let file = data::record::locate(file, local.is_some(), &cluster)?;
            match interruptible(signals, data::record::check(&file)).await {
                ControlFlow::Continue(checked) => checked?,
                ControlFlow::Break(signal) => return Ok(unsubmitted(signal)),
            }
            Some(file)
        }
    };
    let rm = cluster.rm();
    let slot = Resources::new(given.memory.map_or_else(|| step_mib(&cluster), Ok)?, 1);
    let slots = ContainerSlots::of(&given, core_slots);
    if let Some(remark) = without_room(&given, core_slots) {
        say(remark);
    }
    let mut progress = Progress::new(false);
    progress.show("staging gerbil");
    let moved = Arc::new(staging::Moved::default());
    let all = async {
        let checking = async {
            let wanted = preflight::WantedContainers {
                containers: given.containers,
                container: slot.times(slots.room.get()),
                exclude: &given.exclude,
            };
            Ok(preflight::held(&rm, &given.queue, &wanted, &disk).await?)
        };
        tokio::try_join!(
            checking,
            staged(
                BroughtFiles::default(),
                given.staging.clone(),
                &cluster,
                Arc::clone(&moved)
            )
        )
    };
    let all = staging_meanwhile(Box::pin(all), &mut progress, &moved, signals).await?;
    let (checked, staged) = match all {
        ControlFlow::Continue(all) => all,
        ControlFlow::Break(signal) => return Ok(unsubmitted(signal)),
    };
    let id = checked.application;
    let keys = JobKeys::generate()?;
    let place = local.as_ref().map(|local| local.folder.clone());
    let kept = kept(&given, folder, &cluster, place, id, &keys);
    let kept = match interruptible(signals, kept).await {
        ControlFlow::Continue(kept) => kept?,
        ControlFlow::Break(signal) => return Ok(unsubmitted(signal)),
    };
    let description = Description {
        build: ::job::BUILD.into(),
        application: describe::session_application(
            describe::Network {
                am_ports: given.am_ports,
                launcher_ports: given.launcher_ports,
                interface: given.iface.as_deref(),
            },
            &cluster,
            staged.staged.clone(),
        )?,
        jobs: ApplicationWork::Session(Box::new(SessionPlan {
            name: kept.name.to_string(),
            containers: given.containers,
            first: given.containers,
            most,
            idle_container: millis(given.idle_timeout),
            slots: slots.plain,
            gpu_slots: slots.gpu,
            room: slots.room,
            slot,
            types: ResourceTypes::default(),
            policy: given.policy.clone(),
            core_slots,
            is_strict: given.strict,
            running: given.max_running,
            idle: given.session_timeout.0.map(millis),
            scan: Scan {
                root: given.scan_root.clone(),
                ways: given.ways,
                interval: given.scan_interval.map(millis),
                granted: None,
                most: None,
                cores: given.cores.clone(),
                measures_cores: core_slots.is_some(),
            },
            elements: given.elements,
            local_disk: disk.every,
            local_disks: checked.disks,
            disk_percent: cluster.disk_percent()?,
            is_owned: false,
            ends_with_job: false,
            exclude: checked.excluded,
            staging: describe::staging_folder(&staged),
            record: record.map(|file| RecordFile {
                address: file.address,
                path: file.path,
            }),
        })),
    };
    let application = ApplicationTerms {
        id,
        name: format!("gerbil session {}", kept.name),
        queue: given.queue.clone(),
        priority: None,
        tags: vec![TAG.to_owned(), kept.name.as_str().to_ascii_lowercase()],
        attempts: describe::SESSION_ATTEMPTS,
        unmanaged: false,
        places: Vec::new(),
    };
    let submitted = submit(&rm, application, &description, &staged.staged, &keys);
    match interruptible(signals, submitted).await {
        ControlFlow::Continue(Ok(())) => {}
        ControlFlow::Continue(Err(error)) => {
            folder.forget(&kept.name, id)?;
            return Err(error.into());
        }
        ControlFlow::Break(signal) => {
            // It may be there or on its way.
            let killed = kill(&rm, &id, "interrupted by the user");
            match interruptible(signals, killed).await {
                ControlFlow::Continue(Ok(_) | Err(FollowError::Unknown { .. })) => {
                    folder.forget(&kept.name, id)?;
                    say(format!("session {} was interrupted, and ended", kept.name));
                }
                ControlFlow::Continue(Err(_)) | ControlFlow::Break(_) => {
                    not_awaited(&kept.name);
                }
            }
            return Ok(128u8.saturating_add(signal));
        }
    }
    progress.submitted(id, &given.queue);
    let began = Begun {
        rm: &rm,
        folder,
        kept: &kept,
        wait_timeout: WaitTimeout::new(given.wait_timeout),
    };
    began
        .follow(given.containers.get(), &mut progress, signals)
        .await
}

/// What the command returns that this signal has ended before there was a session.
fn unsubmitted(signal: u8) -> u8 {
    say("interrupted before anything was submitted");
    128u8.saturating_add(signal)
}

fn millis(span: Duration) -> Millis {
    Millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
}

/// The user does not wait for the end of a session.
fn not_awaited(name: &Name) {
    say(format!(
        "session {name} was not seen to end; gerbil session stop {name} --now ends it"
    ));
}

/// A session that is on its way.
struct Begun<'a> {
    rm: &'a ApplicationClient,
    folder: &'a SessionsFolder,
    kept: &'a SessionRecord,
    wait_timeout: WaitTimeout,
}

impl Begun<'_> {
    /// Until it is ready, or is not to be.
    async fn follow(
        &self,
        containers: u32,
        progress: &mut Progress,
        signals: &mut Signals,
    ) -> Result<u8, Failure> {
        let (name, id) = (&self.kept.name, self.kept.owned.application);
        let waited = ready(
            self.rm,
            self.kept,
            containers,
            progress,
            signals,
            self.wait_timeout,
        )
        .await;
        progress.clear();
        match waited? {
            Readiness::Ready(status) => {
                if !status.record_ended.is_empty() {
                    say(Foreign::sentence(&status.record_ended).to_string());
                }
                let (_, slots) = status.slots();
                let line = format!(
                    "session {name} is ready, with {slots} slots: gerbil-run --session {name} -n {slots} PROGRAM; \
                     gerbil session stop {name} ends it"
                );
                let stays = || {
                    say(format!(
                        "session {name} stays until gerbil session stop {name}"
                    ))
                };
                match interruptible(signals, print(Text::Lines(vec![line]))).await {
                    ControlFlow::Continue(Ok(())) => Ok(Exit::Success.code()),
                    ControlFlow::Continue(Err(error)) => {
                        stays();
                        Err(error.into())
                    }
                    ControlFlow::Break(signal) => {
                        stays();
                        Ok(128u8.saturating_add(signal))
                    }
                }
            }
            Readiness::Over { why, exit } => {
                self.folder.forget(name, id)?;
                say(format!(
                    "session {name} has ended before it was ready: {why}"
                ));
                Ok(exit.code())
            }
            Readiness::Interrupted(signal) => {
                progress.show(format!("ending session {name}"));
                let ended = interruptible(signals, self.end("interrupted by the user")).await;
                progress.clear();
                match ended {
                    ControlFlow::Continue(ended) => {
                        ended?;
                        say(format!(
                            "session {name} was interrupted before it was ready, and ended"
                        ));
                    }
                    ControlFlow::Break(_once_more) => not_awaited(name),
                }
                Ok(128u8.saturating_add(signal))
            }
            Readiness::Late(waits) => {
                let late = self.end("it was not ready in time (--wait-timeout)");
                match interruptible(signals, late).await {
                    ControlFlow::Continue(ended) => ended?,
                    ControlFlow::Break(signal) => {
                        not_awaited(name);
                        return Ok(128u8.saturating_add(signal));
                    }
                }
                let span = self.wait_timeout.limit().unwrap_or_default();
                say(format!(
                    "session {name} was not ready within {span:?} (--wait-timeout), so it was ended; {waits}"
                ));
                Ok(Exit::NotInTime.code())
            }
        }
    }

    async fn end(&self, why: &str) -> Result<(), Failure> {
        let (name, id) = (&self.kept.name, self.kept.owned.application);
        kill(self.rm, &id, why).await?;
        Ok(self.folder.forget(name, id)?)
    }
}

/// The application that has this name and is not over. What is kept of one that is over is removed.
async fn taken(
    folder: &SessionsFolder,
    name: &Name,
) -> Result<Option<ApplicationId>, SessionError> {
    let owned = folder.owned(name)?;
    still_there(folder, name, owned).await
}

/// The same of what is kept under this name.
async fn still_there(
    folder: &SessionsFolder,
    name: &Name,
    owned: Option<Owned>,
) -> Result<Option<ApplicationId>, SessionError> {
    let Some(owned) = owned else {
        return Ok(None);
    };
    if owned.other_host().is_some() {
        return Ok(Some(owned.application));
    }
    let found = place(&reach::resource_managers(&owned), &owned).await;
    match found.map_err(|error| error.of_session(name, &owned, folder))? {
        SessionAddress::Over { .. } => {
            folder.forget(name, owned.application)?;
            Ok(None)
        }
        SessionAddress::At(_) | SessionAddress::Starting(_) => Ok(Some(owned.application)),
    }
}

/// A number that no application of the user's sessions has, so that `s7.1` is one job's name.
fn unused(folder: &SessionsFolder) -> i32 {
    let names = folder.names().unwrap_or_default();
    let owned = names.iter().filter_map(|name| folder.owned(name).ok()?);
    let most = owned.map(|owned| owned.application.id).max();
    most.unwrap_or_default().saturating_add(1)
}

/// Keeps what is needed to use the session, under its name or the first that is free.
async fn kept(
    given: &SessionStart,
    folder: &SessionsFolder,
    cluster: &Cluster,
    local: Option<PathBuf>,
    application: ApplicationId,
    keys: &JobKeys,
) -> Result<SessionRecord, SessionError> {
    let mut kept = SessionRecord {
        name: given.name.clone().unwrap_or_default(),
        owned: Owned {
            build: ::job::BUILD.into(),
            application,
            resource_managers: cluster.resource_managers.client.clone(),
            user: cluster.user.clone(),
            host: local.as_ref().and_then(|_here| this_host()),
            local,
        },
        keys: keys.client_keys(),
    };
    if given.name.is_some() {
        return match folder.keep(&kept)? {
            true => Ok(kept),
            // Another was started at the same time.
            false => Err(SessionError::Taken {
                application: folder
                    .owned(&kept.name)?
                    .map_or(application, |owned| owned.application),
                name: kept.name,
            }),
        };
    }
    for name in Name::of_nobody() {
        // One that cannot be looked at is not free.
        if matches!(taken(folder, &name).await, Ok(None)) {
            kept.name = name;
            if folder.keep(&kept)? {
                break;
            }
        }
    }
    Ok(kept)
}
