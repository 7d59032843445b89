//! Why jobs of a session have no slots, and that those hear it who follow them: once a second at the most, and only
//! what has changed.

use std::collections::BTreeMap;

use job::JobId;
use job::explain::{Explained, HOLDERS, SlotHolder, WaitsForSlots};
use job::wire;
use job::wire::job_event::Event as ToClient;
use policy::Millis;
use policy::lending::{WaitingLine, Waits, Wants};

use crate::loan::Loan;
use crate::loop_event::JobEvents;
use crate::session::Session;

/// Why a job has no slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    /// A sentence.
    pub(crate) words: String,
    /// What there is; `None`: it does not compete for slots yet.
    slots: Option<Waits>,
}

impl Wait {
    /// What is told of it to who wants every reason.
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

impl Session {
    /// Why a job has no slots; `None`: it has, or needs none.
    pub(crate) fn waits(&self, loan: &Loan, line: &mut WaitingLine<'_>) -> Option<Wait> {
        let sharing = self.sharing.as_ref()?;
        match loan.number {
            Some(number) => {
                let slots = line.waits(number)?;
                let words = match sharing.lack(number) {
                    Some(lack) => sentences::waits_for_element(&lack),
                    None => sentences::waits_for_slots(&slots, sharing.pool.missing()),
                };
                let slots = Some(slots);
                Some(Wait { words, slots })
            }
            None if loan.lent.is_none() && !loan.is_done => {
                let owner = sharing.lending.owner_of(&loan.request);
                let running = sharing.window.running(&owner);
                Some(Wait {
                    words: sentences::waits_for_turn(running, owner.as_ref()),
                    slots: None,
                })
            }
            None => None,
        }
    }

    /// Says to the clients of jobs that wait what they wait for, where that has changed.
    pub(crate) fn show_waiting(&mut self) {
        let now = self.now();
        let asking = self.why_not_more().unwrap_or_default();
        let waits = self.watched();
        if let Some(sharing) = &mut self.sharing
            && sharing.pool.missing() > 0
            && waits.values().any(Option::is_some)
        {
            // What YARN says to that may change while nothing does here.
            sharing.show_soon(now);
        }
        for (job, wait) in waits {
            let Some(entry) = self.jobs.get_mut(&job) else {
                continue;
            };
            let at = entry.own(now);
            let Some(loan) = &mut entry.loan else {
                continue;
            };
            let Some(wait) = wait else {
                loan.told.clear();
                continue;
            };
            let note = match asking.as_str() {
                "" => wait.words.clone(),
                asking => format!("{}; no container more: {asking}", wait.words),
            };
            if let Some(client) = &entry.client {
                if loan.told == note {
                    continue;
                }
                let wanted = match &loan.request.wants {
                    Wants::Gang(processes) => *processes,
                    Wants::Tasks { .. } => 0,
                };
                let line = loan.explain.then(|| wait.explained(at, wanted, &asking));
                // Who does not keep up hears the next.
                if tells(client, line, &note) {
                    loan.told = note;
                }
            } else if let Some(kept) = self.detached.get(job) {
                kept.hear(ToClient::Phase(phase(note)));
            }
        }
    }

    /// The jobs that somebody follows or watches, and why they have no slots.
    fn watched(&self) -> BTreeMap<JobId, Option<Wait>> {
        let Some(sharing) = &self.sharing else {
            return BTreeMap::new();
        };
        let mut line = sharing.line();
        let all = self.jobs.iter().filter_map(|(job, entry)| {
            let loan = entry.loan.as_ref()?;
            // Of one that is detached and only waits whoever watches it hears.
            let is_watched = || {
                self.detached
                    .get(*job)
                    .is_some_and(|kept| kept.is_watched())
            };
            let has_audience = entry.client.is_some() || is_watched();
            has_audience.then(|| (*job, self.waits(loan, &mut line)))
        });
        all.collect()
    }
}

/// Whether the client has a place for it: what is told of the waiting, and as a phase.
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

    fn wait(holders: u32) -> Wait {
        Wait {
            words: "waits".into(),
            slots: Some(Waits {
                wanted: 4,
                unit: Resources::new(2048, 1),
                free: 3,
                all: 5,
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
        let turn = Wait {
            slots: None,
            ..wait(0)
        };
        let Explained::WaitsForSlots(told) = turn.explained(Millis(7), 6, "") else {
            panic!("another event");
        };
        assert_eq!((told.wanted, told.free, told.all), (6, None, None));
    }

    #[test]
    fn who_does_not_keep_up_is_told_again() {
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
