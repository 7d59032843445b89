//! Checkpoints of the job: asked for by the clock or by somebody, written by the ranks, copied by their
//! launchers, made complete here.
//!
//! One is `ROOT/APPLICATION/NUMBER.ATTEMPT.tmp/RANK/…` while it grows. When all launchers have copied what
//! their ranks wrote, the manifest is added and it gets the name `NUMBER` in one step: what has a plain
//! number is complete, whoever dies when. The newest two stay; when the job has succeeded none does.
//! Ranks begin from the newest, whether the program is started again by this attempt of the
//! ApplicationMaster or by the next.
//!
//! Somebody asks by a file in the job's folder, which is looked for now and then: whoever may write
//! there may ask.

mod complete;
mod take;

use std::collections::BTreeSet;
use std::sync::Arc;

use job::Checkpoints as Plan;
use job::data::Manifest;
use job::{MpiJob, wire};
use policy::{ContainerId, Millis};
use proto_hadoop::AppAttemptId;
use storage::{Address, Storage};

pub(crate) use complete::close;

use crate::files::FileWork;

/// Between two looks whether somebody asks.
const LOOK: Millis = Millis(2_000);
/// For so long a job that begins again waits for the file system with its checkpoint, seconds.
const RESTORE_PATIENCE_S: u32 = 60;
/// Entries of a job's folder that make sense.
pub(crate) const ENTRIES_MAX: usize = 1000;
/// Complete checkpoints that stay.
const KEPT: u32 = 2;

/// A complete checkpoint.
#[derive(Clone, Debug)]
struct Saved {
    address: Address,
    path: String,
    manifest: Manifest,
}

/// One that is being made.
#[derive(Debug)]
struct Growing {
    manifest: Manifest,
    /// Whose ranks have not written yet.
    writing: BTreeSet<ContainerId>,
    /// Whose files are not copied yet.
    copying: BTreeSet<ContainerId>,
    trouble: Option<String>,
    /// All files are there; the manifest and the name are not.
    closing: bool,
    /// Somebody waits for it.
    asked_for: bool,
}

/// The checkpoints of this job, if it has any.
#[derive(Debug, Default)]
pub(crate) struct Checkpoints {
    own: Option<CheckpointState>,
    /// What the ranks begin from when they are started next.
    newest: Option<Saved>,
    /// Why it cannot be told from what they are to begin.
    trouble: Option<String>,
}

#[derive(Debug)]
struct CheckpointState {
    plan: Plan,
    storage: Arc<Storage>,
    /// Of this job.
    folder: String,
    application: String,
    /// Of the ApplicationMaster: what grew under another one is of no use.
    attempt: i32,
    /// Processes of the job.
    size: u32,
    /// Of the last one that was begun.
    number: u32,
    growing: Option<Growing>,
    /// Somebody asked, and the one that was to come of it was cut off.
    asked: bool,
    /// The ranks run.
    running: bool,
    /// When they were ended one was growing: launchers may still copy.
    cut_off: bool,
    /// When the next is due, by the clock.
    due: Option<Millis>,
    /// When it is looked whether somebody asks; `None`: it is being looked, or nobody may.
    look: Option<Millis>,
}

impl Checkpoints {
    /// Finds from what the ranks are to begin, and makes the job's folder.
    pub(crate) async fn open(job: &MpiJob, attempt: AppAttemptId) -> Self {
        let Some(plan) = job.checkpoints.clone() else {
            return Self::default();
        };
        let application = attempt.application.to_string();
        let storage = match Storage::open(&plan.address) {
            Ok(storage) => Arc::new(storage),
            Err(error) => {
                return Self {
                    trouble: Some(error.to_string()),
                    ..Self::default()
                };
            }
        };
        let size = job.processes();
        let mut own = CheckpointState::new(plan, storage, application, attempt.attempt, size);
        match own.begin_from().await {
            Ok(newest) => Self {
                own: Some(own),
                newest,
                trouble: None,
            },
            Err(trouble) => Self {
                own: None,
                newest: None,
                trouble: Some(trouble),
            },
        }
    }

    /// Those of attempt 1 of a job of `size` processes, of which there is none yet.
    #[cfg(test)]
    pub(crate) fn fresh(plan: Plan, application: &str, size: u32) -> Self {
        let storage = Arc::new(Storage::open(&plan.address).unwrap());
        Self {
            own: Some(CheckpointState::new(
                plan,
                storage,
                application.to_owned(),
                1,
                size,
            )),
            ..Self::default()
        }
    }

    /// Those of a job that is ended before they could be looked at.
    pub(crate) fn unreachable() -> Self {
        Self {
            trouble: Some("their file system does not answer".into()),
            ..Self::default()
        }
    }

    /// Puts into `share` what its ranks begin from.
    ///
    /// # Errors
    /// Why that cannot be done, a sentence.
    pub(crate) fn add_to(&self, share: &mut wire::Share) -> Result<(), String> {
        if let Some(trouble) = &self.trouble {
            return Err(format!("no checkpoints: {trouble}"));
        }
        let Some(own) = &self.own else {
            return Ok(());
        };
        share.checkpoint_folder.clone_from(&own.plan.folder);
        let Some(saved) = &self.newest else {
            return Ok(());
        };
        let address = serde_json::to_string(&saved.address);
        let mut copies = Vec::new();
        for rank in &share.ranks {
            let files = usize::try_from(*rank).ok();
            let files = files.and_then(|rank| saved.manifest.ranks.get(rank));
            for (file, size) in files.into_iter().flatten() {
                copies.push(wire::Copy {
                    local: format!("{}/{rank}/{file}", own.plan.folder),
                    remote: format!("{}/{rank}/{file}", saved.path),
                    address: 0,
                    size: *size,
                });
            }
        }
        share.restored = saved.manifest.number;
        share.restore = Some(wire::Move {
            id: 0,
            out: false,
            addresses: vec![address.map_err(|error| error.to_string())?],
            copies,
            patience_s: RESTORE_PATIENCE_S,
        });
        Ok(())
    }

    /// When something is to be done by the clock.
    pub(crate) fn due(&self) -> Option<Millis> {
        let own = self.own.as_ref()?;
        let due = own.due.filter(|_| own.growing.is_none());
        due.into_iter().chain(own.look).min()
    }

    /// The ranks run.
    pub(crate) fn begin(&mut self, now: Millis) {
        if let Some(own) = &mut self.own {
            own.due = own.plan.interval_ms.map(|ms| now.plus(Millis(ms)));
            own.look = Some(now.plus(LOOK));
            own.growing = None;
            own.running = true;
        }
    }

    /// The ranks are ended.
    pub(crate) fn pause(&mut self) {
        if let Some(own) = &mut self.own {
            if let Some(growing) = own.growing.take() {
                own.cut_off = true;
                own.asked |= growing.asked_for;
            }
            (own.due, own.look) = (None, None);
            own.running = false;
        }
    }
}

impl Checkpoints {
    /// When the ranks were ended one was growing: launchers may still copy.
    pub(crate) fn was_cut_off(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.cut_off)
    }

    /// The job is over, and the launchers have been told to leave: what is to be removed, and what the user
    /// is to know of what stays.
    pub(crate) fn over(&self, succeeded: bool) -> Option<(FileWork, Option<String>)> {
        let own = self.own.as_ref()?;
        let newest = self.newest.as_ref();
        let kept = newest.filter(|saved| !succeeded && saved.path.starts_with(&own.folder));
        let clearing = FileWork::ClearCheckpoints {
            storage: Arc::clone(&own.storage),
            folder: own.folder.clone(),
            keeps: kept.is_some(),
        };
        let notice =
            kept.map(|saved| sentences::checkpoint_stays(saved.manifest.number, &own.application));
        Some((clearing, notice))
    }
}

/// What `growing` needs beside itself: the plan, and the path.
type Beside = (Plan, String);

impl Checkpoints {
    /// The one that grows, if it is that of `id` and still open.
    fn growing(&mut self, id: u32) -> Option<(Beside, &mut Growing)> {
        let own = self.own.as_mut()?;
        let beside = (own.plan.clone(), own.growing_path());
        let is_it = own.number == id;
        let growing = own.growing.as_mut();
        let growing = growing.filter(|growing| is_it && !growing.closing)?;
        Some((beside, growing))
    }
}
