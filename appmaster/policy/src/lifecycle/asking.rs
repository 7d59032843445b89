//! Looking at the cluster, placing, asking.

use super::gang::Gang;
use super::limits::LONGEST_LOOK;
use super::shortfall::Shortfall;
use super::{Action, Cause, Job, Phase, State, Unused};
use crate::{ClusterView, Millis, Placement, Rejection, sentences};

impl Job {
    pub(super) fn look(&mut self) -> Vec<Action> {
        self.state = State::Looking;
        vec![Action::TakeSnapshot]
    }

    /// The first look of a gang is answered.
    pub(super) fn place(&mut self, now: Millis, view: ClusterView) -> Vec<Action> {
        let _none_is_asked = self.silent.look(&view, Vec::new());
        let answer = self.place_on(now, &view, &[]);
        let types = view.types.clone();
        self.view = Some(view);
        self.looked = now;
        match answer {
            Ok(placement) => {
                let span = self.span_of_gang();
                self.state = State::Gathering {
                    gang: Gang::default(),
                    until: now.plus(span),
                    look_at: None,
                };
                self.ask(now, placement)
            }
            Err(rejection) if self.may_pass(&rejection) => {
                self.wait_for_room(now, sentences::rejection(&rejection, &types))
            }
            Err(rejection) => self.fail(now, Cause::Impossible(Box::new(rejection))),
        }
    }

    /// How long a gang has to come together. Jobs that got in each other's way in step do not let go
    /// in step.
    pub(super) fn span_of_gang(&mut self) -> Millis {
        let longest = self.limits.gang.plus(Millis(self.limits.gang.0 / 5));
        self.chance.between(self.limits.gang, longest)
    }

    /// How long to wait before the nodes are read again, at least `least`: a sixteenth of the time in which
    /// nothing has come, so that whoever waits for long costs the ResourceManager little, and by chance up
    /// to a quarter less, so that jobs that wait for the same do not look in step.
    pub(super) fn until_next_look(&mut self, now: Millis, least: Millis) -> Millis {
        let idle = now.0.saturating_sub(self.idle_since.0);
        let span = Millis(idle / 16).min(LONGEST_LOOK);
        match span > least {
            true => {
                let shortest = Millis(span.0.saturating_sub(span.0 / 4));
                self.chance.between(shortest, span).max(least)
            }
            false => least,
        }
    }

    /// Whether to look again. What was possible once is believed to be impossible only when two looks
    /// in a row say so: while a ResourceManager or a node restarts, nodes are missing for seconds.
    pub(super) fn may_pass(&mut self, rejection: &Rejection) -> bool {
        let final_word = !rejection.may_pass();
        let first_time = final_word && self.round > 0 && !self.doubted;
        self.doubted = final_word;
        !final_word || first_time
    }

    /// Asks for what of `placement` is neither there nor asked for, in one call that also clears
    /// what is no longer wanted. Nothing is sent when nothing changes.
    pub(super) fn ask(&mut self, now: Millis, placement: Placement) -> Vec<Action> {
        let span = self.until_next_look(now, self.limits.reissue);
        let State::Gathering { gang, look_at, .. } = &mut self.state else {
            return Vec::new();
        };
        *look_at = Some(now.plus(span));
        self.doubted = false;
        let placement = placement.in_order_of_list(&self.demand);
        let round = self.round.saturating_add(1);
        let change = gang.want(placement.clone(), round, now);
        let mut actions = Vec::new();
        if !change.dropped.is_empty() {
            actions.push(Action::Release {
                containers: change.dropped,
                why: Unused::NotWanted,
            });
        }
        if change.asks {
            self.round = round;
            let (granted, wanted) = gang.progress();
            actions.push(Action::Ask {
                round,
                placement,
                held: change.held,
                kept: change.kept,
            });
            actions.push(Action::Show(Phase::WaitingForContainers {
                granted,
                wanted,
            }));
        }
        actions.extend(self.start_if_complete(now));
        actions
    }

    /// The first look of a gang could not be answered.
    pub(super) fn no_sight(&mut self, now: Millis, why: &str) -> Vec<Action> {
        self.wait_for_room(now, format!("the nodes cannot be read: {why}"))
    }

    fn wait_for_room(&mut self, now: Millis, why: String) -> Vec<Action> {
        if !matches!(self.shortfall, Some(Shortfall::Containers { .. })) {
            self.shortfall = Some(Shortfall::Room(why.clone()));
        }
        let span = self.until_next_look(now, self.limits.look_again);
        self.state = State::Waiting {
            until: now.plus(span),
        };
        vec![Action::Show(Phase::WaitingForRoom(why))]
    }

    /// The time that the user gave for waiting is up.
    pub(super) fn give_up(&mut self, now: Millis) -> Vec<Action> {
        self.note_shortfall();
        let waited = self.limits.wait.unwrap_or_default();
        let cause = match self.shortfall.take() {
            Some(Shortfall::Containers { missing, held }) => Cause::NotInTime {
                waited,
                missing,
                held,
            },
            Some(Shortfall::Room(why)) => Cause::NoRoomInTime { waited, why },
            None => Cause::NoRoomInTime {
                waited,
                why: "the nodes could not be read in that time".into(),
            },
        };
        self.fail(now, cause)
    }
}
