//! What a place's gang says, and what becomes of the place.

use std::collections::BTreeSet;

use holding::Asking;
use policy::gang::{Gang, GangAction, GangEvent, GangLimits, GivenUp};
use policy::{Demand, ListedHost, Millis, Mode};

use super::place::{PlaceState, PooledContainer};
use super::{JOIN, LOOK_AGAIN, Pool, Want};

impl Pool {
    /// A new place; nothing is asked for it before the pause is over.
    pub(super) fn open(&mut self, now: Millis) -> Vec<Want> {
        let number = self.next;
        self.next = self.next.saturating_add(1);
        let place = PooledContainer {
            gang: Gang::new(
                self.demand(),
                GangLimits::default(),
                self.seed.wrapping_add(number.into()),
            ),
            share: None,
            state: match self.pause.is_over(now) {
                true => PlaceState::Asked,
                false => PlaceState::Pausing,
            },
            phase: None,
            asked: None,
            granted: None,
            idle_since: None,
            leaving: None,
            has_elements: false,
        };
        self.places.insert(number, place);
        self.step(now, number, GangEvent::Begin)
    }

    /// What a container is asked for with.
    pub(super) fn demand(&self) -> Demand {
        let one = std::num::NonZeroU32::MIN;
        Demand {
            memory_is_explicit: true,
            oversubscribe: false,
            mode: Mode::Loc,
            listed: vec![ListedHost {
                host: None,
                processes: 1,
            }],
            ..Demand::anywhere(one, self.plan.slot.times(self.plan.room.get()))
        }
    }

    pub(super) fn step(&mut self, now: Millis, number: u32, event: GangEvent) -> Vec<Want> {
        let alone = self.places.len() == 1 && self.avoided.is_empty();
        let place = self.places.get_mut(&number);
        let Some(place) = place.filter(|place| !matches!(place.state, PlaceState::Pausing)) else {
            return Vec::new();
        };
        let (mut wants, mut asks) = (Vec::new(), Vec::new());
        for action in place.gang.step(now, event) {
            let Some(place) = self.places.get_mut(&number) else {
                break;
            };
            match action {
                GangAction::TakeSnapshot => {
                    if !std::mem::replace(&mut self.looking, true) {
                        wants.push(Want::Snapshot);
                    }
                }
                GangAction::Ask {
                    round,
                    placement,
                    held,
                    kept,
                } => {
                    self.set_share(number, placement.shares.first().cloned());
                    let asking = Asking {
                        round,
                        placement,
                        held,
                        kept,
                    };
                    asks.push(asking);
                }
                GangAction::Release { containers, .. } => wants.push(Want::Release(containers)),
                GangAction::Show(phase) => place.phase = Some(phase),
                // What is missing says it.
                GangAction::Silent { .. } => {}
                GangAction::Complete(members) => {
                    for member in members {
                        if let Some(place) = self.places.get_mut(&number) {
                            place.granted = Some(member.grant.resources);
                            place.state = PlaceState::Starting {
                                container: member.grant.container.clone(),
                                join_by: now.plus(JOIN),
                            };
                        }
                        self.set_share(number, Some(member.share));
                        self.numbers.insert(member.grant.container.clone(), number);
                        wants.push(Want::Start(member.grant.container));
                    }
                }
                GangAction::GiveUp {
                    why: GivenUp::Impossible(why),
                    ..
                } if alone => wants.push(Want::GiveUp(why)),
                GangAction::GiveUp { held, .. } => {
                    place.state = PlaceState::Nowhere {
                        until: now.plus(LOOK_AGAIN),
                    };
                    wants.push(Want::Release(held));
                }
            }
        }
        for asking in asks {
            let asking = self.with_elements(number, asking);
            if let Some(place) = self.places.get_mut(&number) {
                place.asked = Some(asking.clone());
            }
            wants.push(Want::Ask(number, asking));
        }
        wants
    }
}

/// Nothing is asked for.
pub(super) fn nothing() -> Asking {
    Asking {
        round: u32::MAX,
        placement: policy::Placement::default(),
        held: BTreeSet::new(),
        kept: BTreeSet::new(),
    }
}
