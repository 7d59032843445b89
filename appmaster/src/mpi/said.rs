//! What launchers say of the job's ranks, and what that means.

use job::wire;
use policy::lifecycle::{LifecycleAction, LifecycleEvent, PmiStage};
use policy::{ContainerId, End, Rank};

use super::Mpi;

impl Mpi {
    /// One thing that a launcher says; what the machine wants done about it.
    pub(super) fn launcher_said(
        &mut self,
        container: ContainerId,
        event: wire::mpi_event::Event,
    ) -> Vec<LifecycleAction> {
        use wire::mpi_event::Event as Said;
        match event {
            Said::Started(started) => {
                if let Some(link) = self.links.get_mut(&container) {
                    link.streams = link.streams.saturating_add(started.streams.into());
                }
                if started.group > 0 {
                    return self.on_part(&container, started.group, None);
                }
                // By the node's clock, which may be ahead of this one or behind it: it was after the node joined, and
                // is over.
                let at = started.at_us.max(self.timing.joined_us);
                let at = at.min(self.wall_us());
                self.timing.started_us = self.timing.started_us.max(at);
                Vec::new()
            }
            Said::Fence(fence) => self.on_fence(container, fence),
            Said::Name(request) => {
                self.on_name(&container, request);
                Vec::new()
            }
            Said::Spawn(request) => self.on_spawn(container, request),
            Said::Modex(request) => {
                self.on_modex(&container, request);
                Vec::new()
            }
            Said::Modexed(answer) => {
                self.on_modexed(answer);
                Vec::new()
            }
            Said::Usages(heard) => {
                let own = |rank| self.seats.runs(&container, Rank(rank));
                let own = heard.usages.iter().filter(|usage| own(usage.rank));
                own.for_each(|usage| self.usages.hear(usage));
                Vec::new()
            }
            Said::PmiSeen(seen) => self.step(LifecycleEvent::PmiSeen(seen.group)),
            Said::Stuck(stuck) => match stuck.group {
                0 => self.step(LifecycleEvent::Waits(container)),
                _ => Vec::new(),
            },
            Said::Abort(wire::Abort { rank, .. }) | Said::Broke(wire::RankBroke { rank, .. })
                if self.has_unspawned(Rank(rank)) =>
            {
                Vec::new()
            }
            Said::Abort(wire::Abort { rank, .. }) | Said::Broke(wire::RankBroke { rank, .. })
                if !self.seats.runs(&container, Rank(rank)) =>
            {
                self.step(LifecycleEvent::Misbehaved {
                    container,
                    what: format!("spoke for rank {rank}, which is not its own"),
                })
            }
            Said::Seen(seen) => {
                self.seen.insert(container, seen);
                Vec::new()
            }
            Said::Compared(compared) => self.compared(container, compared),
            Said::Found(found) => {
                self.checkpoint_found(container, found);
                Vec::new()
            }
            Said::Moved(moved) => {
                self.checkpoint_moved(&container, moved);
                Vec::new()
            }
            Said::Abort(abort) => {
                tracing::info!(rank = abort.rank, "MPI_Abort: {}", abort.message);
                self.step(LifecycleEvent::Aborted {
                    rank: Rank(abort.rank),
                    code: abort.exit_code,
                })
            }
            Said::Broke(broke) => self.step(LifecycleEvent::Broke {
                rank: Rank(broke.rank),
                what: broke.sentence,
            }),
            Said::Refusal(refusal) if refusal.group > 0 => {
                let why = Some(refusal.sentence);
                self.on_part(&container, refusal.group, why)
            }
            Said::Refusal(refusal) => self.step(LifecycleEvent::Refused {
                container,
                sentence: refusal.sentence,
                code: u8::try_from(refusal.exit_code).unwrap_or(u8::MAX),
            }),
            Said::Ended(ended) => {
                let rank = Rank(ended.rank);
                if self.has_unspawned(rank) {
                    return Vec::new();
                }
                if !self.seats.runs(&container, rank) {
                    return self.step(LifecycleEvent::Misbehaved {
                        container,
                        what: format!("reported the end of rank {rank}, which is not its own"),
                    });
                }
                let stage = match ended.pmi() {
                    wire::PmiStage::Silent => PmiStage::Silent,
                    wire::PmiStage::Initialized => PmiStage::Initialized,
                    wire::PmiStage::Finalized => PmiStage::Finalized,
                };
                let end = ended.how.map(End::try_from);
                if self.reports.insert(rank, ended).is_none() {
                    self.group_shrinks(rank);
                }
                match end {
                    Some(Ok(end)) => self.step(LifecycleEvent::RankEnded { rank, end, stage }),
                    Some(Err(_)) | None => self.step(LifecycleEvent::Misbehaved {
                        container,
                        what: format!("reported an end of rank {rank} that no process can have"),
                    }),
                }
            }
        }
    }
}
