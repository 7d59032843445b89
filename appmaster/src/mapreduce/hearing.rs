//! What the job hears, sorted out. Nothing is passed over unnamed: what is newly told to jobs does not compile before
//! it is known here what a job of tasks makes of it.

use holding::Finished;
use policy::Millis;
use policy::lifecycle::KillReason;

use super::folder::FolderDone;
use super::{Client, LifeState, MapReduce, MapReduceEffect, MapReduceEvent, MapReduceHeard};
use crate::lent_events::LentEvent;
use crate::work::{Do, JobEvent};

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
    pub(crate) fn hear(&mut self, now: Millis, heard: MapReduceHeard) -> Vec<Do> {
        self.now = now;
        match heard {
            MapReduceHeard::Every(heard) => self.hear_every(heard),
            MapReduceHeard::Container(event) => self.hear_by_state(OfJob::Container(event)),
            MapReduceHeard::Own(MapReduceEvent::FolderWaits(sentence)) => {
                if !std::mem::replace(&mut self.folder_waits, true) {
                    self.notice(sentence);
                }
            }
            MapReduceHeard::Own(event) => self.hear_by_state(OfJob::Tasks(event)),
        }
        self.may_show();
        std::mem::take(&mut self.todo)
    }

    fn hear_every(&mut self, heard: JobEvent) {
        match heard {
            JobEvent::ClientAttached => self.attach(),
            JobEvent::ClientLeft => {
                self.client = Client::Gone;
                self.kill(KillReason::ClientLost);
            }
            JobEvent::ClientDeaf => {
                self.outbox.clear();
                self.client = Client::Gone;
                self.kill(KillReason::ClientLost);
            }
            JobEvent::ClientKill(reason) | JobEvent::Killed(reason) => self.kill(reason),
            JobEvent::ResourceManagerLost { silent } => self.cut_off(silent),
            JobEvent::Finished(finished) => self.hear_by_state(OfJob::Finished(finished)),
            JobEvent::Tick => self.hear_by_state(OfJob::Tick),
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
                if self.description.splits.is_empty() && self.description.reduces == 0 {
                    // Nothing to read is no failure: no task writes anything.
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
