//! What the ApplicationMaster orders of the ranks of a job.

use std::time::Duration;

use job::wire::Stop;
use job::wire::mpi_order::Order;
use nix::sys::signal::Signal;
use tokio::time::Instant;

use super::Mpi;
use super::process_management::Relayed;
use crate::container::OwnContainer;
use crate::nursery::Whom;

impl Mpi {
    /// Follows an order of the ApplicationMaster.
    ///
    /// # Errors
    ///
    /// What about it makes no sense.
    pub(crate) async fn on_order(
        &mut self,
        order: Order,
        container: &mut OwnContainer<'_>,
    ) -> Result<(), &'static str> {
        match order {
            Order::Share(share) => {
                if !self.all_ended() || self.transfers.is_restoring() {
                    return Err("a share while ranks run");
                }
                if self.share.is_some() {
                    // Neither should be left what the run before has started.
                    self.sweep(container).await;
                    self.forget(container);
                }
                match share.checkpoint_folder.is_empty() {
                    true => self.begin_with(share, container).await,
                    false => self.transfers.restore(Box::new(share)),
                }
            }
            Order::Compare(order) => self.transfers.compare(order),
            Order::Find(find) => self.transfers.find(find),
            Order::Move(order) => self.transfers.carry(order),
            Order::Checkpoint(checkpoint) => {
                let worlds = self.worlds.values();
                let pids = worlds.flat_map(|world| world.ranks.processes.alive());
                self.transfers.checkpoint(checkpoint, pids.collect());
            }
            Order::FenceDone(done) if done.pmix => {
                self.on_relayed(Relayed::Fence(done), container).await;
            }
            Order::Modex(request) => self.on_relayed(Relayed::Asked(request), container).await,
            Order::Modexed(answer) => self.on_relayed(Relayed::Told(answer), container).await,
            Order::FenceDone(done) => {
                let puts = done.values().ok_or("values that cannot be read")?;
                if let Some(world) = self.worlds.get_mut(&done.group) {
                    world.pieces.extend(puts);
                    if !done.more {
                        let puts = std::mem::take(&mut world.pieces);
                        let effects = world.manager.fence_done(puts);
                        self.on_effects(done.group, effects, container).await;
                    }
                }
            }
            Order::Name(answer) => self.on_name_answer(answer, container).await,
            Order::Spawned(answer) => self.on_spawn_answer(answer, container).await,
            Order::Group(group) => self.start_group(group, container).await,
            Order::EndGroup(end) => self.end_group(end.group, container).await,
            Order::Signal(forwarded) => {
                // A number that Linux does not have means nothing to a rank.
                if let Ok(signal) = Signal::try_from(forwarded.signal) {
                    container.nursery.signal(Whom::Job(self.job), signal).await;
                }
            }
            Order::WindowSize(size) => {
                if let Some(world) = self.worlds.get(&0) {
                    world.ranks.resize(size);
                }
            }
            Order::Stop(Stop { grace_ms }) => {
                let at = Instant::now() + Duration::from_millis(u64::from(grace_ms));
                self.stop_at = Some(self.stop_at.map_or(at, |earlier| earlier.min(at)));
                self.stopping = true;
                self.outbox.extend(self.transfers.stop());
                let all = Whom::Job(self.job);
                container.nursery.signal(all, Signal::SIGTERM).await;
                self.sweep_if_over(container).await;
            }
            Order::Door(door) => self.lanes.lead_to(door),
        }
        Ok(())
    }
}
