//! Takes a checkpoint: from the order to the ranks until it is complete, or given up.

use std::collections::BTreeSet;
use std::sync::Arc;

use job::data::{Manifest, REFUSED, WANTED};
use job::wire;
use job::wire::mpi_order::Order as ToLauncher;
use policy::{ContainerId, Millis};

use super::{Growing, LOOK, Saved};
use crate::files::{FileWork, FilesDone};
use crate::mpi::Mpi;
use crate::work::Do;

impl Mpi {
    /// What is due by the clock.
    pub(crate) fn checkpoint_due(&mut self) {
        let now = self.now;
        let Some(own) = &mut self.checkpoints.own else {
            return;
        };
        if own.look.is_some_and(|at| now >= at) {
            own.look = None;
            self.todo.push(Do::Files(FileWork::WasAsked {
                storage: Arc::clone(&own.storage),
                wanted: format!("{}/{WANTED}", own.folder),
            }));
        }
        if own.growing.is_none() && own.due.is_some_and(|at| now >= at) {
            self.take_checkpoint(false);
        }
    }

    /// Work on its file system has ended.
    pub(crate) fn checkpoint_heard(&mut self, done: FilesDone) {
        let now = self.now;
        let Some(own) = &mut self.checkpoints.own else {
            return;
        };
        match done {
            FilesDone::Asked(asked) => {
                if !own.running {
                    // It is taken when they run again.
                    own.asked |= asked;
                    return;
                }
                own.look = Some(now.plus(LOOK));
                let asked = std::mem::take(&mut own.asked) || asked;
                match &mut own.growing {
                    Some(growing) => growing.asked_for |= asked,
                    None if asked => self.take_checkpoint(true),
                    None => {}
                }
            }
            FilesDone::Closed(number, answer) => {
                // One that was cut off meanwhile counts no more.
                let closing = |growing: &Growing| growing.closing && own.number == number;
                if !own.growing.as_ref().is_some_and(closing) {
                    return;
                }
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
            // Of the end of a job.
            FilesDone::Cleared
            | FilesDone::Undelivered(_)
            | FilesDone::AreFree(_)
            | FilesDone::Committed(_)
            | FilesDone::Away(_)
            | FilesDone::Forgotten => {}
        }
    }

    fn plan_checkpoint(&mut self) {
        if let Some(own) = &mut self.checkpoints.own {
            let ms = own.plan.interval_ms;
            own.due = ms.map(|ms| self.now.plus(Millis(ms)));
        }
    }

    /// Asks all ranks for one.
    fn take_checkpoint(&mut self, asked_for: bool) {
        let size = self.description.processes();
        let Some(own) = &mut self.checkpoints.own else {
            return;
        };
        let all = self.seats.all().iter();
        let all: BTreeSet<ContainerId> = sort::set(all.map(|seat| seat.container.clone()));
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
            // The ranks go on, and there is a next checkpoint.
            patience_s: 0,
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
        self.todo.push(Do::Files(FileWork::CloseCheckpoint {
            storage: Arc::clone(&own.storage),
            from,
            to,
            manifest: growing.manifest.clone(),
        }));
    }

    fn give_checkpoint_up(&mut self, trouble: &str) {
        let Some(own) = &mut self.checkpoints.own else {
            return;
        };
        let sentence = format!("checkpoint {} was not taken: {trouble}", own.number);
        let asked_for = own.growing.take().is_some_and(|growing| growing.asked_for);
        self.todo.push(Do::Files(FileWork::GiveCheckpointUp {
            storage: Arc::clone(&own.storage),
            left: own.growing_path(),
            refused: asked_for.then(|| (format!("{}/{REFUSED}", own.folder), sentence.clone())),
        }));
        self.story.outbox.notice(sentence);
        self.plan_checkpoint();
    }
}
