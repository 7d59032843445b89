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

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use job::Checkpoints as Plan;
use job::data::{MANIFEST, MANIFEST_MAX, Manifest, REFUSED, WANTED, number, of_job};
use job::wire;
use job::wire::launcher_order::Order as ToLauncher;
use policy::ContainerId;
use storage::{Address, Storage};
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Instant, timeout, timeout_at};

use crate::follow::Appmaster;
use crate::news::News;
use crate::seat::Seat;

/// Between two looks whether somebody asks.
const LOOK: Duration = Duration::from_secs(2);
/// Entries of a job's folder that make sense.
const ENTRIES_MAX: usize = 1000;
/// Complete checkpoints that stay.
const KEPT: u32 = 2;
/// For launchers to leave.
const GONE: Duration = Duration::from_secs(2);
/// To remove what is not needed at the end of the job.
const LAST: Duration = Duration::from_secs(15);

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

/// What is told of a task's end.
#[derive(Debug)]
pub(crate) enum Heard {
    /// Whether somebody asks for a checkpoint.
    Asked(bool),
    /// The one that grew is complete, or why not.
    Closed(Result<(), String>),
}

/// The checkpoints of this job, if it has any.
#[derive(Debug, Default)]
pub(crate) struct Checkpoints {
    own: Option<Own>,
    /// What the ranks begin from when they are started next.
    newest: Option<Saved>,
    /// Why it cannot be told from what they are to begin.
    trouble: Option<String>,
}

#[derive(Debug)]
struct Own {
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
    /// Held by the task that makes one complete.
    closing: Arc<Mutex<()>>,
    /// When the next is due, by the clock.
    due: Option<Instant>,
    /// When it is looked whether somebody asks; `None`: it is being looked, or nobody may.
    look: Option<Instant>,
}

impl Checkpoints {
    /// Finds from what the ranks are to begin, and makes the job's folder.
    pub(crate) async fn open(seat: &Seat) -> Self {
        let Some(plan) = seat.description.checkpoints.clone() else {
            return Self::default();
        };
        let application = seat.attempt.application.to_string();
        let storage = match Storage::open(&plan.address) {
            Ok(storage) => Arc::new(storage),
            Err(error) => {
                return Self {
                    trouble: Some(error.to_string()),
                    ..Self::default()
                };
            }
        };
        let mut own = Own {
            folder: of_job(&plan.root, &application),
            plan,
            storage,
            application,
            attempt: seat.attempt.attempt,
            size: seat.description.processes,
            number: 0,
            growing: None,
            asked: false,
            running: false,
            cut_off: false,
            closing: Arc::default(),
            due: None,
            look: None,
        };
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
        });
        Ok(())
    }

    /// When something is to be done by the clock.
    pub(crate) fn due(&self) -> Option<Instant> {
        let own = self.own.as_ref()?;
        let due = own.due.filter(|_| own.growing.is_none());
        due.into_iter().chain(own.look).min()
    }

    /// The ranks run.
    pub(crate) fn begin(&mut self) {
        if let Some(own) = &mut self.own {
            let now = Instant::now();
            own.due = own
                .plan
                .interval_ms
                .map(|ms| now + Duration::from_millis(ms));
            own.look = Some(now + LOOK);
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

impl Own {
    /// The newest complete checkpoint of this job, of an earlier attempt of it; or the one that the
    /// user wants.
    async fn begin_from(&mut self) -> Result<Option<Saved>, String> {
        let words = |error: storage::StorageError| error.to_string();
        self.storage
            .make_folder(&self.folder)
            .await
            .map_err(words)?;
        let found = self
            .storage
            .list(&self.folder, ENTRIES_MAX)
            .await
            .map_err(words)?;
        let newest = found.iter().filter_map(|entry| number(entry.name())).max();
        self.number = newest.unwrap_or(0);
        // What an attempt before this one did not finish.
        for entry in found.iter().filter(|entry| is_unfinished(entry.name())) {
            let _later = self.storage.remove(&entry.path).await.is_ok();
        }
        let (address, path) = match (newest, &self.plan.restore) {
            (Some(newest), _) => (
                self.plan.address.clone(),
                format!("{}/{newest}", self.folder),
            ),
            (None, Some(wanted)) => wanted.clone(),
            (None, None) => return Ok(None),
        };
        let storage = Storage::open(&address).map_err(words)?;
        let bytes = storage
            .read(&format!("{path}/{MANIFEST}"), MANIFEST_MAX)
            .await;
        let manifest: Manifest = serde_json::from_slice(&bytes.map_err(words)?)
            .map_err(|error| format!("{}/{MANIFEST}: {error}", address.url(&path)))?;
        if u32::try_from(manifest.ranks.len()) != Ok(self.size) {
            return Err(format!(
                "{} is of {} processes, the job has {}",
                address.url(&path),
                manifest.ranks.len(),
                self.size
            ));
        }
        Ok(Some(Saved {
            address,
            path,
            manifest,
        }))
    }

    fn growing_path(&self) -> String {
        format!("{}/{}.{}.tmp", self.folder, self.number, self.attempt)
    }

    fn path(&self) -> String {
        format!("{}/{}", self.folder, self.number)
    }
}

/// Whether an entry of a job's folder is a checkpoint that is not complete.
fn is_unfinished(name: &str) -> bool {
    name.ends_with(".tmp")
}

/// Makes what lies in `from` complete under the name `to`, and removes what is older than it needs.
async fn close(storage: &Storage, from: &str, to: &str, manifest: &Manifest) -> Result<(), String> {
    let words = |error: storage::StorageError| error.to_string();
    let bytes = serde_json::to_vec(manifest).map_err(|error| error.to_string())?;
    if bytes.len() > MANIFEST_MAX {
        let most = MANIFEST_MAX >> 20;
        return Err(format!("the list of its files is longer than {most} MiB"));
    }
    let written = storage.write(&format!("{from}/{MANIFEST}"), bytes).await;
    written.map_err(words)?;
    storage.rename(from, to).await.map_err(words)?;
    // It is complete; what cannot be removed now is removed with the next.
    let folder = storage::parent(to);
    for old in storage.list(folder, ENTRIES_MAX).await.unwrap_or_default() {
        let is_old = match number(old.name()) {
            Some(number) => number.saturating_add(KEPT) <= manifest.number,
            None => is_unfinished(old.name()),
        };
        if is_old {
            let _later = storage.remove(&old.path).await.is_ok();
        }
    }
    Ok(())
}

impl Appmaster {
    /// Something is due by the clock.
    pub(crate) async fn checkpoint_due(&mut self) {
        let now = Instant::now();
        let Some(own) = &mut self.checkpoints.own else {
            return;
        };
        if own.look.is_some_and(|at| now >= at) {
            own.look = None;
            let (storage, news) = (Arc::clone(&own.storage), self.news.clone());
            let wanted = format!("{}/{WANTED}", own.folder);
            self.tasks.spawn(async move {
                let asked = matches!(storage.stat(&wanted).await, Ok(Some(_)));
                // Before it is taken, so that whoever asks again meanwhile is not overlooked.
                let asked = asked && storage.remove(&wanted).await.is_ok();
                let heard = News::Checkpoint(Heard::Asked(asked));
                let _heard = news.send(heard).await.is_ok();
            });
        }
        if own.growing.is_none() && own.due.is_some_and(|at| now >= at) {
            self.take_checkpoint(false).await;
        }
    }

    /// A task has ended.
    pub(crate) async fn checkpoint_heard(&mut self, heard: Heard) {
        let Some(own) = &mut self.checkpoints.own else {
            return;
        };
        match heard {
            Heard::Asked(asked) => {
                if !own.running {
                    // It is taken when they run again.
                    own.asked |= asked;
                    return;
                }
                own.look = Some(Instant::now() + LOOK);
                let asked = std::mem::take(&mut own.asked) || asked;
                match &mut own.growing {
                    Some(growing) => growing.asked_for |= asked,
                    None if asked => self.take_checkpoint(true).await,
                    None => {}
                }
            }
            Heard::Closed(answer) => {
                let Some(growing) = own.growing.take() else {
                    return;
                };
                if let Err(trouble) = answer {
                    own.growing = Some(growing);
                    self.give_checkpoint_up(&trouble);
                    return;
                }
                let bytes = growing.manifest.bytes();
                let saved = Saved {
                    address: own.plan.address.clone(),
                    path: own.path(),
                    manifest: growing.manifest,
                };
                let url = saved.address.url(&saved.path);
                self.checkpoints.newest = Some(saved);
                let number = self.checkpoints.own.as_ref().map_or(0, |own| own.number);
                self.story.outbox.notice(format!(
                    "checkpoint {number} is complete: {bytes} bytes in {url}"
                ));
                self.plan_checkpoint();
            }
        }
    }

    fn plan_checkpoint(&mut self) {
        if let Some(own) = &mut self.checkpoints.own {
            let ms = own.plan.interval_ms;
            own.due = ms.map(|ms| Instant::now() + Duration::from_millis(ms));
        }
    }

    /// Asks all ranks for one.
    async fn take_checkpoint(&mut self, asked_for: bool) {
        let size = self.seat.description.processes;
        let Some(own) = &mut self.checkpoints.own else {
            return;
        };
        let all = self.seats.all().iter();
        let all: BTreeSet<ContainerId> = all.map(|seat| seat.container.clone()).collect();
        if all.is_empty() {
            return;
        }
        own.number += 1;
        let spawned = !self.firsts.is_empty();
        own.growing = Some(Growing {
            manifest: Manifest {
                application: own.application.clone(),
                number: own.number,
                ranks: vec![Vec::new(); usize::try_from(size).unwrap_or(0)],
            },
            writing: all.clone(),
            copying: all,
            trouble: None,
            closing: false,
            asked_for,
        });
        if spawned {
            self.give_checkpoint_up("the program has spawned processes, which cannot be saved");
            return;
        }
        let order = wire::Checkpoint {
            id: own.number,
            signal: own.plan.signal,
        };
        self.order_all(&ToLauncher::Checkpoint(order)).await;
    }

    /// A launcher says what its ranks have written.
    pub(crate) async fn checkpoint_found(&mut self, container: ContainerId, found: wire::Found) {
        let Some((own, growing)) = self.checkpoints.growing(found.id) else {
            return;
        };
        growing.writing.remove(&container);
        let Some(seat) = self.seats.of(&container) else {
            return;
        };
        if found.trouble.is_empty() && found.paths.len() != seat.ranks.len() {
            growing.trouble = Some(format!("{} told of other ranks than its own", seat.host));
        } else if !found.trouble.is_empty() {
            growing.trouble.get_or_insert(found.trouble);
        }
        if growing.trouble.is_some() {
            growing.copying.remove(&container);
            self.checkpoint_step();
            return;
        }
        let mut copies = Vec::new();
        for (rank, found) in seat.ranks.iter().zip(&found.paths) {
            for file in &found.files {
                copies.push(wire::Copy {
                    local: format!("{}/{}/{}", own.0.folder, rank.0, file.inside),
                    remote: format!("{}/{}/{}", own.1, rank.0, file.inside),
                    address: 0,
                    size: file.size,
                });
            }
            let files = found.files.iter();
            let files = files.map(|file| (file.inside.clone(), file.size)).collect();
            let place = usize::try_from(rank.0).ok();
            if let Some(of_rank) = place.and_then(|rank| growing.manifest.ranks.get_mut(rank)) {
                *of_rank = files;
            }
        }
        let address = serde_json::to_string(&own.0.address).unwrap_or_default();
        let order = ToLauncher::Move(wire::Move {
            id: found.id,
            out: true,
            addresses: vec![address],
            copies,
        });
        self.order(&container, order).await;
    }

    /// A launcher has copied its files, or could not.
    pub(crate) fn checkpoint_moved(&mut self, container: &ContainerId, moved: wire::Moved) {
        let Some((_, growing)) = self.checkpoints.growing(moved.id) else {
            return;
        };
        growing.copying.remove(container);
        if !moved.trouble.is_empty() {
            growing.trouble.get_or_insert(moved.trouble);
        }
        self.checkpoint_step();
    }

    /// When all have answered: makes it complete, or gives it up.
    fn checkpoint_step(&mut self) {
        let Some(own) = &mut self.checkpoints.own else {
            return;
        };
        let (from, to) = (own.growing_path(), own.path());
        let Some(growing) = own.growing.as_mut().filter(|growing| !growing.closing) else {
            return;
        };
        if let Some(trouble) = &growing.trouble {
            // Those that still copy are to end before another begins.
            if growing.writing.is_empty() && growing.copying.is_empty() {
                let trouble = trouble.clone();
                self.give_checkpoint_up(&trouble);
            }
            return;
        }
        if !growing.copying.is_empty() {
            return;
        }
        growing.closing = true;
        let (storage, news) = (Arc::clone(&own.storage), self.news.clone());
        let (manifest, closing) = (growing.manifest.clone(), Arc::clone(&own.closing));
        self.tasks.spawn(async move {
            let _held = closing.lock().await;
            let closed = close(&storage, &from, &to, &manifest).await;
            let _heard = news
                .send(News::Checkpoint(Heard::Closed(closed)))
                .await
                .is_ok();
        });
    }

    fn give_checkpoint_up(&mut self, trouble: &str) {
        let Some(own) = &mut self.checkpoints.own else {
            return;
        };
        let sentence = format!("checkpoint {} was not taken: {trouble}", own.number);
        let asked_for = own.growing.take().is_some_and(|growing| growing.asked_for);
        let (storage, left) = (Arc::clone(&own.storage), own.growing_path());
        let (refused, words) = (format!("{}/{REFUSED}", own.folder), sentence.clone());
        self.tasks.spawn(async move {
            let _later = storage.remove(&left).await.is_ok();
            if asked_for {
                let _told = storage.remove(&refused).await.is_ok()
                    && storage.write(&refused, words.into_bytes()).await.is_ok();
            }
        });
        self.story.outbox.notice(sentence);
        self.plan_checkpoint();
    }

    /// The job is over, and the launchers have been told to leave. Of a job that has succeeded nobody
    /// needs a checkpoint.
    pub(crate) async fn checkpoints_over(
        &mut self,
        succeeded: bool,
        inbox: &mut mpsc::Receiver<News>,
    ) {
        let by = Instant::now() + GONE;
        let cut_off = self.checkpoints.own.as_ref().is_some_and(|own| own.cut_off);
        // What they still copied would come back.
        while cut_off && !self.links.is_empty() {
            match timeout_at(by, inbox.recv()).await {
                Ok(news) => self.hear_late(news).await,
                Err(_late) => break,
            }
        }
        let Some(own) = &self.checkpoints.own else {
            return;
        };
        let newest = self.checkpoints.newest.as_ref();
        let kept = newest.filter(|saved| !succeeded && saved.path.starts_with(&own.folder));
        if let Some(saved) = kept {
            let number = saved.manifest.number;
            self.story.outbox.notice(format!(
                "checkpoint {number} stays: a job with --restore {} goes on from it",
                own.application
            ));
        }
        let clean = async {
            let _closed = own.closing.lock().await;
            if kept.is_none() {
                let _left = own.storage.remove(&own.folder).await.is_ok();
                return;
            }
            for entry in own
                .storage
                .list(&own.folder, ENTRIES_MAX)
                .await
                .unwrap_or_default()
            {
                if number(entry.name()).is_none() {
                    let _left = own.storage.remove(&entry.path).await.is_ok();
                }
            }
        };
        let _in_time = timeout(LAST, clean).await.is_ok();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(root: &str, restore: Option<(Address, String)>) -> Own {
        let plan = Plan {
            folder: "ck".into(),
            signal: 10,
            interval_ms: Some(1),
            address: Address::Shared,
            root: root.into(),
            restore,
        };
        Own {
            folder: of_job(root, "application_1_0001"),
            storage: Arc::new(Storage::open(&plan.address).unwrap()),
            plan,
            application: "application_1_0001".into(),
            attempt: 1,
            size: 2,
            number: 0,
            growing: None,
            asked: false,
            running: false,
            cut_off: false,
            closing: Arc::default(),
            due: None,
            look: None,
        }
    }

    #[tokio::test]
    async fn the_newest_complete_one_is_found_and_brought_to_whoever_runs_the_rank() {
        let root = tempfile::tempdir().unwrap();
        let mut own = plan(root.path().to_str().unwrap(), None);
        assert!(own.begin_from().await.unwrap().is_none());
        for number in 1..=4 {
            own.number = number;
            let file = format!("{}/1/state", own.growing_path());
            own.storage.write(&file, vec![1; 3]).await.unwrap();
            let manifest = Manifest {
                application: own.application.clone(),
                number,
                ranks: vec![Vec::new(), vec![("state".into(), 3)]],
            };
            let (from, to) = (own.growing_path(), own.path());
            if number < 4 {
                close(&own.storage, &from, &to, &manifest).await.unwrap();
            }
        }
        let left = own.storage.list(&own.folder, 10).await.unwrap();
        let left: Vec<&str> = left.iter().map(storage::Status::name).collect();
        assert_eq!(left, ["2", "3", "4.1.tmp"]);

        own.size = 3;
        let refused = own.begin_from().await.unwrap_err();
        assert!(refused.contains("is of 2 processes"), "{refused}");
        (own.size, own.attempt) = (2, 2);
        let newest = own.begin_from().await.unwrap();
        let left = own.storage.list(&own.folder, 10).await.unwrap();
        assert_eq!(left.len(), 2, "what is not complete goes: {left:?}");
        assert_eq!(
            (own.number, newest.as_ref().unwrap().manifest.number),
            (3, 3)
        );
        let checkpoints = Checkpoints {
            own: Some(own),
            newest,
            trouble: None,
        };
        let share = |ranks: &[u32]| {
            let mut share = wire::Share {
                ranks: ranks.to_vec(),
                ..wire::Share::default()
            };
            checkpoints.add_to(&mut share).unwrap();
            share
        };
        assert_eq!(share(&[0]).restore.unwrap().copies, []);
        let copies = share(&[1]).restore.unwrap().copies;
        assert_eq!(copies[0].local, "ck/1/state");
        assert!(copies[0].remote.ends_with("application_1_0001/3/1/state"));
        assert_eq!(share(&[1]).restored, 3);
    }
}
