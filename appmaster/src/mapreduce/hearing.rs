//! What the job hears, sorted out. Nothing is passed over unnamed: what is newly told to jobs does not compile before
//! it is known here what a job of tasks makes of it.

use holding::Finished;
use policy::Millis;
use policy::lifecycle::{KillReason, LifecycleEvent};

use super::folder::FolderDone;
use super::{Client, LifeState, MapReduce, MapReduceEffect, MapReduceEvent};
use crate::lent_events::LentEvent;
use crate::work::{Do, WorkEvent};

/// Something that it hears as long as its client and YARN let it go on: what follows from that goes by how far it is.
#[derive(Debug)]
pub(super) enum OfJob {
    /// Of its tasks.
    Tasks(MapReduceEvent),
    /// Of a container.
    Container(LentEvent),
    /// YARN knows its verdict.
    Finished(Finished),
    /// Time has passed.
    Tick,
}

impl MapReduce {
    /// Takes in what has happened by `now`; what is to be done about it, in order.
    pub(crate) fn hear(&mut self, now: Millis, heard: WorkEvent) -> Vec<Do> {
        self.now = now;
        match heard {
            WorkEvent::ClientAttached => self.attach(),
            WorkEvent::ClientLeft => {
                self.client = Client::Gone;
                self.kill(KillReason::ClientLost);
            }
            WorkEvent::ClientDeaf => {
                self.outbox.clear();
                self.client = Client::Gone;
                self.kill(KillReason::ClientLost);
            }
            WorkEvent::ClientKill(reason) => self.kill(reason),
            WorkEvent::Machine(event) => self.hear_outside(event),
            WorkEvent::OfTasks(MapReduceEvent::FolderWaits(sentence)) => {
                if !std::mem::replace(&mut self.folder_waits, true) {
                    self.notice(sentence);
                }
            }
            WorkEvent::OfTasks(event) => self.hear_by_state(OfJob::Tasks(event)),
            WorkEvent::Lent(event) => self.hear_by_state(OfJob::Container(event)),
            WorkEvent::Finished(finished) => self.hear_by_state(OfJob::Finished(finished)),
            WorkEvent::Tick => self.hear_by_state(OfJob::Tick),
            // Its containers are the session's, and its tasks have no terminal.
            WorkEvent::Granted(_)
            | WorkEvent::Headroom(_)
            | WorkEvent::WantedBack(_)
            | WorkEvent::Asked { .. }
            | WorkEvent::Looked(_)
            | WorkEvent::LastLook(_)
            | WorkEvent::Rivals(_)
            | WorkEvent::Files(_)
            | WorkEvent::Joined { .. }
            | WorkEvent::Said { .. }
            | WorkEvent::Lost(_)
            | WorkEvent::OutputMoved
            | WorkEvent::Output(_)
            | WorkEvent::ClientSignal(_)
            | WorkEvent::ClientResized(_)
            | WorkEvent::ClientDoor(_)
            | WorkEvent::Memory(_) => {}
        }
        self.may_show();
        std::mem::take(&mut self.todo)
    }

    /// What ends it from outside.
    fn hear_outside(&mut self, event: LifecycleEvent) {
        match event {
            LifecycleEvent::KillRequested(reason) => self.kill(reason),
            LifecycleEvent::ResourceManagerLost { silent } => self.cut_off(silent),
            // Of containers of a job's own, and of ranks.
            LifecycleEvent::Registered
            | LifecycleEvent::Snapshot(_)
            | LifecycleEvent::SnapshotFailed(_)
            | LifecycleEvent::Granted(_)
            | LifecycleEvent::StartFailed { .. }
            | LifecycleEvent::Joined(_)
            | LifecycleEvent::Refused { .. }
            | LifecycleEvent::PmiSeen(_)
            | LifecycleEvent::Waits(_)
            | LifecycleEvent::BarrierOver
            | LifecycleEvent::Spawned { .. }
            | LifecycleEvent::NotSpawned(_)
            | LifecycleEvent::RankEnded { .. }
            | LifecycleEvent::Aborted { .. }
            | LifecycleEvent::Broke { .. }
            | LifecycleEvent::Misbehaved { .. }
            | LifecycleEvent::Localizing(_)
            | LifecycleEvent::Freed
            | LifecycleEvent::LinkLost(_)
            | LifecycleEvent::ContainerEnded { .. }
            | LifecycleEvent::RequestsRefused { .. }
            | LifecycleEvent::Blocked { .. }
            | LifecycleEvent::ResourceManagerRestarted
            | LifecycleEvent::InputUsed
            | LifecycleEvent::Tick => {}
        }
    }

    fn hear_by_state(&mut self, heard: OfJob) {
        match &self.step {
            LifeState::SettingUp => self.hear_setting_up(heard),
            LifeState::Running => {
                self.hear_running(heard);
                self.give_slots_up();
                self.gather_ahead();
                self.make_again();
            }
            LifeState::Ending(_) => self.hear_ending(heard),
        }
    }

    /// It has no slots yet, and is in no container.
    fn hear_setting_up(&mut self, heard: OfJob) {
        match heard {
            OfJob::Tasks(MapReduceEvent::Folder(FolderDone::SetUp(Ok(())))) => {
                self.step = LifeState::Running;
                if self.description.splits.is_empty() {
                    // Nothing to read is no failure: the output is empty.
                    return self.done();
                }
                self.want(MapReduceEffect::Slots);
            }
            OfJob::Tasks(MapReduceEvent::Folder(FolderDone::SetUp(Err(sentence)))) => {
                self.refused(sentence);
            }
            OfJob::Tasks(
                MapReduceEvent::Said { .. }
                | MapReduceEvent::SlotsCome
                | MapReduceEvent::NoNode(_)
                | MapReduceEvent::Placed(_)
                | MapReduceEvent::Move(_)
                | MapReduceEvent::Stop { .. }
                | MapReduceEvent::Leaves { .. }
                | MapReduceEvent::Homes(_)
                | MapReduceEvent::Folder(FolderDone::Committed(_) | FolderDone::GivenUp(_))
                | MapReduceEvent::FolderWaits(_)
                | MapReduceEvent::Kept(_),
            )
            | OfJob::Container(_)
            | OfJob::Finished(_)
            | OfJob::Tick => {}
        }
    }
}
