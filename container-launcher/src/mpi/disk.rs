//! A job whose ranks have filled a disk of the container.

use job::wire::Refusal;
use job::wire::mpi_event::Event;
use nix::sys::signal::Signal;

use super::Mpi;
use crate::container::OwnContainer;
use crate::disks::Suspect;
use crate::nursery::Whom;
use crate::process::Id;

/// As of a program that signal 9 has ended.
const EXIT_CODE: i32 = 128 + 9;

impl Mpi {
    /// Its ranks that live, and where they write.
    pub(crate) fn suspect(&self) -> Option<Suspect> {
        let worlds = self.worlds.values();
        let ranks: Vec<(u32, i32)> = worlds.flat_map(|of| of.ranks.processes.alive()).collect();
        let share = self.share.as_ref().filter(|_| !ranks.is_empty())?;
        Some(Suspect {
            job: self.job,
            folder: self.folder.clone(),
            host: share.host.clone(),
            ranks,
        })
    }

    /// Ends the job: a rank and its job here at once, elsewhere by the ApplicationMaster.
    pub(crate) async fn fills_disk(
        &mut self,
        id: Id,
        sentence: String,
        container: &mut OwnContainer<'_>,
    ) {
        self.has_filled_disk = true;
        self.outbox.push_back(Event::Refusal(Refusal {
            sentence,
            exit_code: EXIT_CODE,
            group: 0,
        }));
        container.nursery.kill(id).await;
        let all = Whom::Job(self.job);
        container.nursery.signal(all, Signal::SIGKILL).await;
    }

    pub(crate) const fn has_filled_disk(&self) -> bool {
        self.has_filled_disk
    }
}
