//! What is done with a disk that ranks have filled: they end, before YARN gives the node up.

use tokio::time::{Duration, Instant};

use super::Life;
use crate::crowding::Crowding;
use crate::disks::{DiskLook, Suspect};
use crate::share::Share;

/// For whoever is ended to be gone with what it had.
const GOING: Duration = Duration::from_millis(250);

impl Life<'_> {
    /// Ends who has filled a disk, or looks at the disks again.
    pub(super) async fn look_at_disks(&mut self, look: Option<DiskLook>) {
        let suspects = self.suspects();
        let now = Instant::now();
        self.container.crowding = match look {
            _ if suspects.is_empty() => Crowding::Idle,
            Some(look) => {
                if let Some((id, sentence)) = look.filled
                    && let Some(share) = self.jobs.get_mut(&id.job)
                {
                    crate::say(&sentence);
                    share.fills_disk(id, sentence, &mut self.container).await;
                }
                Crowding::Due(now + look.pause)
            }
            // Another is blamed only when the first is gone.
            None if self.is_one_going() => Crowding::Due(now + GOING),
            None => {
                let percent = self.container.context.disk_percent;
                Crowding::look(self.container.disks.clone(), percent, suspects)
            }
        };
        self.tell_reaped().await;
    }

    /// The jobs that have ranks here.
    fn suspects(&self) -> Vec<Suspect> {
        self.jobs.values().filter_map(Share::suspect).collect()
    }

    fn is_one_going(&self) -> bool {
        !self.leaving.is_empty() || self.jobs.values().any(Share::has_filled_disk)
    }
}
