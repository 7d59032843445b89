//! Takes a checkpoint: from the order to the ranks until it is complete, or given up.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use job::data::{Manifest, REFUSED, WANTED, number};
use job::wire;
use job::wire::launcher_order::Order as ToLauncher;
use policy::ContainerId;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use super::complete::close;
use super::{ENTRIES_MAX, Growing, Heard, LOOK, Saved};
use crate::follow::Appmaster;
use crate::news::News;

/// For launchers to leave.
const GONE: Duration = Duration::from_secs(2);
/// To remove what is not needed at the end of the job.
const LAST: Duration = Duration::from_secs(15);

impl Appmaster {
    /// Something is due by the clock.
    pub(crate) fn checkpoint_due(&mut self) {
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
            self.take_checkpoint(false);
        }
    }

    /// A task has ended.
    pub(crate) fn checkpoint_heard(&mut self, heard: Heard) {
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
                    None if asked => self.take_checkpoint(true),
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
    fn take_checkpoint(&mut self, asked_for: bool) {
        let size = self.seat.description.job.processes();
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
        self.order_all(&ToLauncher::Checkpoint(order));
    }

    /// A launcher says what its ranks have written.
    pub(crate) fn checkpoint_found(&mut self, container: ContainerId, found: wire::Found) {
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
        self.order(&container, order);
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
        while cut_off && self.holding.links().next().is_some() {
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
