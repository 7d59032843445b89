//! Looking at the cluster, placing, asking.

use std::sync::Arc;

use super::limits::{LONGEST_LOOK, LONGEST_ROOM_LOOK};
use super::members::Members;
use super::shortfall::Shortfall;
use super::{Gang, GangAction, GangPhase, GangState, GivenUp, NoRoom, Unused};
use crate::{ClusterView, Demand, Millis, Placement, Rejection};

/// What it takes to read many nodes, at [`Gang::cost`].
const MANY: Millis = Millis(1_000);

impl Gang {
    pub(super) fn look(&mut self) -> Vec<GangAction> {
        self.state = GangState::Looking;
        vec![GangAction::TakeSnapshot]
    }

    /// The first look is answered.
    pub(super) fn place(&mut self, now: Millis, view: ClusterView) -> Vec<GangAction> {
        let _none_is_asked = self.silent.look(now, &view, Vec::new());
        let answer = self.place_on(now, &view, &[]);
        self.placed(now, Arc::new(view), answer)
    }

    /// The same, where it is known where it is placed.
    pub(super) fn placed(
        &mut self,
        now: Millis,
        view: Arc<ClusterView>,
        answer: Result<Placement, Rejection>,
    ) -> Vec<GangAction> {
        let on_full = match &answer {
            Err(Rejection::NoRoomNow { .. }) => self.on_full_nodes(now, &view),
            Ok(_) | Err(_) => None,
        };
        self.view = Some(view);
        self.looked = now;
        match (answer, on_full) {
            (Ok(placement), _) => self.begin_to_gather(now, placement),
            (Err(rejection), on_full) if self.may_pass(now, &rejection) => {
                let why = NoRoom::Rejected(Box::new(rejection));
                let Some(placement) = on_full else {
                    return self.wait_for_room(now, why);
                };
                let mut actions = self.begin_to_gather(now, placement);
                // What it waits for is still room.
                actions.push(GangAction::Show(GangPhase::WaitingForRoom(why)));
                actions
            }
            (Err(rejection), _) => self.end_for(GivenUp::Impossible(Box::new(rejection))),
        }
    }

    fn begin_to_gather(&mut self, now: Millis, placement: Placement) -> Vec<GangAction> {
        let span = self.span_to_gather();
        self.members = Members::default();
        self.used.clear();
        self.state = GangState::Gathering {
            until: now.plus(span),
            look_at: None,
        };
        self.ask(now, placement)
    }

    /// Where it is placed on nodes that others have filled, once it has waited for room for long: as without
    /// oversubscription, each process with all that it wants. It is placed again where there is room meanwhile.
    fn on_full_nodes(&self, now: Millis, view: &ClusterView) -> Option<Placement> {
        if now < self.idle_since.plus(self.limits.ask_full) {
            return None;
        }
        let demand = Demand {
            oversubscribe: false,
            ..self.demand.clone()
        };
        (self.place)(&demand, view, &[]).ok()
    }

    /// How long it has to come together. Gangs that got in each other's way in step do not let go in
    /// step.
    pub(super) fn span_to_gather(&mut self) -> Millis {
        let shortest = self.limits.gather;
        let longest = shortest.plus(Millis(shortest.0 / 5));
        self.chance.between(shortest, longest)
    }

    /// How long to wait before the nodes are read again, from `least`, or more where there are many, to `most`: a
    /// sixteenth of the time in which nothing has come, where there are many nodes an eighth, so that whoever waits
    /// for long costs the ResourceManager little, and by chance up to a quarter less, so that gangs that wait for
    /// the same do not look in step.
    pub(super) fn until_next_look(&mut self, now: Millis, least: Millis, most: Millis) -> Millis {
        let least = least.max(self.cost());
        let part = match self.cost() > MANY {
            // There is a word when something is freed, for which none of them need be read.
            true => self.part_of_idle(now).plus(self.part_of_idle(now)),
            false => self.part_of_idle(now),
        };
        let span = part.min(most);
        match span > least {
            true => {
                let shortest = Millis(span.0.saturating_sub(span.0 / 4));
                self.chance.between(shortest, span).max(least)
            }
            false => least,
        }
    }

    /// When the nodes are read again because there may be more: where many wait, somebody's end is heard of
    /// all the time, and is seldom room for this one.
    pub(super) fn soonest_look(&self, now: Millis, least: Millis, most: Millis) -> Millis {
        let rest = self.part_of_idle(now).min(most);
        let least = least.max(self.cost());
        self.looked.plus(rest.max(least)).max(now)
    }

    /// While containers are asked for. Who holds none is in nobody's way.
    pub(super) fn longest_look(&self) -> Millis {
        match self.members.progress().0 {
            0 => LONGEST_ROOM_LOOK,
            _ => LONGEST_LOOK,
        }
    }

    /// The shortest span between two looks at as many nodes as the last has shown. Reading a thousand of them takes
    /// the ResourceManager some 20 ms: one gang shall not cost it more than a fiftieth of its time.
    fn cost(&self) -> Millis {
        let nodes = self.view.as_ref().map_or(0, |view| view.nodes.len());
        let nodes = u64::try_from(nodes).unwrap_or(u64::MAX);
        Millis(nodes).min(LONGEST_LOOK)
    }

    /// A sixteenth of the time in which nothing has come.
    fn part_of_idle(&self, now: Millis) -> Millis {
        Millis(now.0.saturating_sub(self.idle_since.0) / 16)
    }

    /// Whether to look again. What was possible once is believed to be impossible only when two looks
    /// in a row say so: while a ResourceManager or a node restarts, nodes are missing for seconds. What was whole,
    /// and has lost a container, may have to wait until its node is back.
    pub(super) fn may_pass(&mut self, now: Millis, rejection: &Rejection) -> bool {
        if rejection.may_pass() {
            self.doubted = false;
            return true;
        }
        let is_first = self.round > 0 && !self.doubted;
        self.doubted = true;
        is_first || self.back_by.is_some_and(|back_by| now < back_by)
    }

    /// Asks for what of `placement` is neither there nor asked for, in one call that also clears
    /// what is no longer wanted. Nothing is sent when nothing changes.
    pub(super) fn ask(&mut self, now: Millis, placement: Placement) -> Vec<GangAction> {
        let span = self.until_next_look(now, self.limits.reissue, self.longest_look());
        let GangState::Gathering { look_at, .. } = &mut self.state else {
            return Vec::new();
        };
        *look_at = Some(now.plus(span));
        self.doubted = false;
        let placement = placement.in_order_of_list(&self.demand);
        let round = self.round.saturating_add(1);
        let change = self.members.want(placement.clone(), round, now);
        let mut actions = Vec::new();
        if !change.dropped.is_empty() {
            actions.push(GangAction::Release {
                containers: change.dropped,
                why: Unused::NotWanted,
            });
        }
        if change.asks {
            self.round = round;
            actions.push(GangAction::Ask {
                round,
                placement,
                held: change.held,
                kept: change.kept,
            });
            actions.push(self.granted_so_far());
        }
        actions.extend(self.complete());
        actions
    }

    /// Nothing can be asked for now.
    pub(super) fn wait_for_room(&mut self, now: Millis, why: NoRoom) -> Vec<GangAction> {
        if !matches!(self.shortfall, Some(Shortfall::Containers { .. })) {
            self.shortfall = Some(Shortfall::Room(why.clone()));
        }
        let span = self.until_next_look(now, self.limits.look_again, LONGEST_ROOM_LOOK);
        self.state = GangState::Waiting {
            until: now.plus(span),
        };
        vec![GangAction::Show(GangPhase::WaitingForRoom(why))]
    }

    /// The time that the user gave for waiting is up.
    pub(super) fn give_up(&mut self) -> Vec<GangAction> {
        self.note_shortfall();
        let waited = self.limits.wait.unwrap_or_default();
        let why = match self.shortfall.take() {
            Some(Shortfall::Containers { missing, held }) => GivenUp::NotInTime {
                waited,
                missing,
                held,
            },
            Some(Shortfall::Room(why)) => GivenUp::NoRoomInTime {
                waited,
                why: Some(why),
            },
            None => GivenUp::NoRoomInTime { waited, why: None },
        };
        self.end_for(why)
    }

    pub(super) fn end_for(&mut self, why: GivenUp) -> Vec<GangAction> {
        let held = self.end();
        vec![GangAction::GiveUp { why, held }]
    }
}
