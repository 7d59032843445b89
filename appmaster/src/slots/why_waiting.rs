//! Why jobs of a session have no slots. Their clients hear it once a second at the most, and only what has changed.

use job::JobId;
use job::explain::{Explained, HOLDERS, SlotHolder, WaitsForSlots};
use job::wire;
use job::wire::job_event::Event as ToClient;
use policy::Millis;
use policy::lending::{WaitingLine, Waits, Wants};

use super::Slots;
use crate::loop_event::JobEvents;
use crate::nodes::Nodes;

/// Why a job has no slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WhyWaiting {
    /// A sentence.
    pub(super) words: String,
    /// What there is; `None`: it does not compete for slots yet.
    slots: Option<Waits>,
}

impl WhyWaiting {
    /// The same for a client that wants every reason.
    fn explained(&self, at: Millis, wanted: u32, asking: &str) -> Explained {
        let slots = self.slots.as_ref();
        let holders = slots.map_or(&[][..], |slots| &slots.holders);
        let named = holders.iter().take(HOLDERS);
        let more = holders.len().saturating_sub(HOLDERS);
        Explained::WaitsForSlots(WaitsForSlots {
            at_ms: at.0,
            reason: self.words.clone(),
            wanted: slots.map_or(wanted, |slots| slots.wanted),
            free: slots.map(|slots| slots.free),
            all: slots.map(|slots| slots.all),
            holders: named
                .map(|(job, slots)| SlotHolder {
                    job: *job,
                    slots: *slots,
                })
                .collect(),
            left_out: u32::try_from(more).unwrap_or(u32::MAX),
            ahead: slots.map_or(0, |slots| slots.ahead),
            asking: asking.to_owned(),
        })
    }
}

/// What the reasons of all waits depend on, beside the slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around<'a> {
    /// The nodes of the containers.
    pub nodes: &'a Nodes,
    /// Containers whose launchers are not there.
    pub missing: u32,
}

impl Slots {
    /// The jobs that wait; holders of slots are called by the numbers that their users know.
    pub(crate) fn line(&self) -> WaitingLine<'_> {
        let number_of = |wish| self.wishes.get(&wish).map(|job| job.0);
        self.lending.line(number_of)
    }

    /// Why a job has no slots; `None`: it has, or needs none.
    pub(crate) fn waits(
        &self,
        job: JobId,
        line: &mut WaitingLine<'_>,
        around: Around<'_>,
    ) -> Option<WhyWaiting> {
        let loan = self.loans.get(&job)?;
        match loan.number {
            Some(number) => {
                let slots = line.waits(number)?;
                let words = match self.lack(number, around.nodes) {
                    Some(lack) => sentences::waits_for_element(&lack),
                    None => sentences::waits_for_slots(&slots, around.missing),
                };
                let slots = Some(slots);
                Some(WhyWaiting { words, slots })
            }
            None if loan.lent.is_none() && !loan.is_done => {
                let owner = self.lending.owner_of(&loan.request);
                let running = self.window.running(&owner);
                Some(WhyWaiting {
                    words: sentences::waits_for_turn(running, owner.as_ref()),
                    slots: None,
                })
            }
            None => None,
        }
    }

    /// Tells the client of a job why it waits, where that has changed; without a client, the phase that is to be kept.
    /// `at` is by the job's own clock.
    pub(crate) fn tell_waiting(
        &mut self,
        job: JobId,
        at: Millis,
        wait: Option<WhyWaiting>,
        asking: &str,
        client: Option<&JobEvents>,
    ) -> Option<ToClient> {
        let loan = self.loans.get_mut(&job)?;
        let Some(wait) = wait else {
            loan.told.clear();
            return None;
        };
        let note = match asking {
            "" => wait.words.clone(),
            asking => format!("{}; no container more: {asking}", wait.words),
        };
        let Some(client) = client else {
            return Some(ToClient::Phase(phase(note)));
        };
        if loan.told != note {
            let wanted = match &loan.request.wants {
                Wants::Gang(processes) => *processes,
                Wants::Tasks { .. } => 0,
            };
            let line = loan.explain.then(|| wait.explained(at, wanted, asking));
            // A client that does not keep up hears the next.
            if tells(client, line, &note) {
                loan.told = note;
            }
        }
        None
    }
}

/// Whether the client has a place for it: the reasons, where it wants them, and the phase.
fn tells(client: &JobEvents, line: Option<Explained>, note: &str) -> bool {
    let line = line.and_then(|line| serde_json::to_string(&line).ok());
    let line = line.map(ToClient::Explained);
    let phase = ToClient::Phase(phase(note.to_owned()));
    let mut events = line.into_iter().chain([phase]);
    events.all(|event| {
        let event = Some(event);
        client.try_send(Ok(wire::JobEvent { event })).is_ok()
    })
}

fn phase(note: String) -> wire::Phase {
    wire::Phase {
        kind: wire::phase::Kind::WaitingForRoom.into(),
        note,
        ..wire::Phase::default()
    }
}

#[cfg(test)]
mod tests {
    use policy::Resources;

    use super::*;

    fn wait(holders: u32) -> WhyWaiting {
        WhyWaiting {
            words: "waits".into(),
            slots: Some(Waits {
                wanted: 4,
                unit: Resources::new(2048, 1),
                free: 3,
                all: 5,
                short: None,
                holders: (0..holders).map(|job| (job, 1)).collect(),
                ahead: 2,
            }),
        }
    }

    #[test]
    fn a_line_names_some_holders_and_counts_the_others() {
        let told = wait(40).explained(Millis(7), 4, "the queue is full");
        let Explained::WaitsForSlots(told) = told else {
            panic!("{told:?}");
        };
        assert_eq!((told.at_ms, told.wanted, told.free), (7, 4, Some(3)));
        assert_eq!((told.holders.len(), told.left_out), (HOLDERS, 24));
        assert_eq!((told.ahead, told.asking.as_str()), (2, "the queue is full"));
        let turn = WhyWaiting {
            slots: None,
            ..wait(0)
        };
        let Explained::WaitsForSlots(told) = turn.explained(Millis(7), 6, "") else {
            panic!("another event");
        };
        assert_eq!((told.wanted, told.free, told.all), (6, None, None));
    }

    #[test]
    fn a_client_that_does_not_keep_up_is_told_again() {
        let (client, mut heard) = tokio::sync::mpsc::channel(2);
        let line = || Some(wait(1).explained(Millis(7), 4, ""));
        assert!(tells(&client, line(), "waits"));
        assert!(!tells(&client, line(), "waits"));
        let first = heard.try_recv().unwrap().unwrap().event;
        assert!(matches!(first, Some(ToClient::Explained(_))), "{first:?}");
        let second = heard.try_recv().unwrap().unwrap().event;
        assert!(matches!(second, Some(ToClient::Phase(phase)) if phase.note == "waits"));
    }
}
