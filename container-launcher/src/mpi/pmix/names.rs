//! What ranks publish and look up by name, one request to the job's name service at a time for each rank: pure.
//!
//! A rank's library may ask for several names at once, may wait for one that nobody has published yet, and may publish
//! what the first look-up takes away; the name service knows one name a request, and none of the two.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use job::wire::name_request::Kind;
use job::wire::{KeyValue, PmixAnswer, PmixNames};
use pmi::{Effect, NameRequest};
use prost::bytes::Bytes;

use super::calls::{Outcome, done, failed};

/// Between two look-ups of a name that a rank waits for.
pub(super) const PAUSE: Duration = Duration::from_millis(100);
const TRIES_A_SECOND: u32 = 10;
/// Requests of all ranks here that wait for the name service.
const WAITING_MAX: usize = 4096;
/// What stands before a value: whether the first look-up takes it away.
const ONCE: char = '1';
const KEPT: char = '0';
/// The name service's words.
const KNOWN: &str = "key_already_present";
const MISSING: &str = "service_not_found";

/// What the ranks of a container have asked for.
#[derive(Debug, Default)]
pub(super) struct Names {
    by_rank: BTreeMap<u32, VecDeque<PendingCall>>,
}

/// A call, as far as it is not answered yet.
#[derive(Debug)]
struct PendingCall {
    /// None: nobody waits for it.
    call: Option<u64>,
    kind: Kind,
    left: VecDeque<KeyValue>,
    found: Vec<KeyValue>,
    once: bool,
    /// How often a look-up is tried again.
    tries: u32,
}

impl Names {
    /// A rank asks.
    pub(super) fn ask(&mut self, call: u64, asked: PmixNames) -> Outcome {
        let kind = asked.kind();
        if asked.entries.is_empty() {
            return Outcome::answer(done(call, Bytes::new()));
        }
        let waiting: usize = self.by_rank.values().map(VecDeque::len).sum();
        if waiting >= WAITING_MAX {
            return Outcome::answer(failed(call));
        }
        let queue = self.by_rank.entry(asked.rank).or_default();
        queue.push_back(PendingCall {
            call: Some(call),
            kind,
            left: asked.entries.into(),
            found: Vec::new(),
            once: asked.once,
            tries: match (asked.waits, asked.patience_s) {
                (false, _) => 0,
                (true, 0) => u32::MAX,
                (true, seconds) => seconds.saturating_mul(TRIES_A_SECOND),
            },
        });
        match queue.len() {
            1 => self.again(asked.rank),
            _ => Outcome::default(),
        }
    }

    /// What the rank asks for next.
    pub(super) fn again(&self, rank: u32) -> Outcome {
        let next = self.by_rank.get(&rank).and_then(VecDeque::front);
        let request = next.and_then(|asked| Some((asked, asked.left.front()?)));
        let effects = request.map(|(asked, KeyValue { key, value })| {
            let service = key.clone();
            let request = match asked.kind {
                Kind::Publish => NameRequest::Publish {
                    service,
                    port: format!("{}{value}", if asked.once { ONCE } else { KEPT }),
                },
                Kind::Lookup => NameRequest::Lookup(service),
                Kind::Unpublish => NameRequest::Unpublish(service),
            };
            Effect::Name { rank, request }
        });
        Outcome {
            effects: effects.into_iter().collect(),
            ..Outcome::default()
        }
    }

    /// The name service has answered a rank.
    pub(super) fn answered(&mut self, rank: u32, outcome: Result<&str, &str>) -> Outcome {
        let Some(queue) = self.by_rank.get_mut(&rank) else {
            return Outcome::default();
        };
        let Some(mut asked) = queue.pop_front() else {
            return Outcome::default();
        };
        if outcome == Err(MISSING) && asked.kind == Kind::Lookup && asked.tries > 0 {
            if asked.tries != u32::MAX {
                asked.tries -= 1;
            }
            queue.push_front(asked);
            return Outcome {
                again: Some(rank),
                ..Outcome::default()
            };
        }
        let mut refused = None;
        if let Some(KeyValue { key, .. }) = asked.left.pop_front() {
            match (asked.kind, outcome) {
                (Kind::Lookup, Ok(port)) => {
                    let mut letters = port.chars();
                    let is_taken = letters.next() == Some(ONCE);
                    let value = letters.as_str().to_owned();
                    if is_taken {
                        queue.push_front(taken(key.clone()));
                    }
                    asked.found.push(KeyValue { key, value });
                }
                // Others may be there.
                (Kind::Lookup, Err(MISSING)) | (Kind::Publish | Kind::Unpublish, Ok(_)) => {}
                (Kind::Lookup | Kind::Publish | Kind::Unpublish, Err(why)) => refused = Some(why),
            }
        }
        let answer = match refused {
            None if !asked.left.is_empty() => {
                // Behind what is to be taken away.
                let at = usize::from(!queue.is_empty() && queue[0].call.is_none());
                queue.insert(at, asked);
                None
            }
            _ => asked.call.map(|call| told(call, asked, refused)),
        };
        if queue.is_empty() {
            self.by_rank.remove(&rank);
        }
        Outcome {
            answer,
            ..self.again(rank)
        }
    }
}

/// What the first look-up of a name does besides.
fn taken(name: String) -> PendingCall {
    let entry = KeyValue {
        key: name,
        ..KeyValue::default()
    };
    PendingCall {
        call: None,
        kind: Kind::Unpublish,
        left: [entry].into(),
        found: Vec::new(),
        once: false,
        tries: 0,
    }
}

/// The answer to a call, of which `asked` is what became of it.
fn told(call: u64, asked: PendingCall, refused: Option<&str>) -> PmixAnswer {
    let is_missing = asked.kind == Kind::Lookup && asked.found.is_empty();
    let missing = refused == Some(MISSING) || refused.is_none() && is_missing;
    PmixAnswer {
        call,
        failed: refused.is_some() || missing,
        found: asked.found,
        missing,
        known: refused == Some(KNOWN),
        ..PmixAnswer::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(kind: Kind, names: &[&str], waits: bool, patience_s: u32) -> PmixNames {
        let entries = names.iter().map(|name| KeyValue {
            key: (*name).to_owned(),
            value: "tport".to_owned(),
        });
        PmixNames {
            rank: 3,
            kind: kind.into(),
            entries: entries.collect(),
            once: false,
            waits,
            patience_s,
        }
    }

    fn request(outcome: &Outcome) -> Option<&NameRequest> {
        match outcome.effects.as_slice() {
            [Effect::Name { rank: 3, request }] => Some(request),
            [] => None,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn requests_of_a_rank_are_asked_one_by_one_and_each_is_answered() {
        let mut names = Names::default();
        let outcome = names.ask(1, asked(Kind::Publish, &["a", "b"], false, 0));
        let publish = |service: &str| NameRequest::Publish {
            service: service.to_owned(),
            port: "0tport".to_owned(),
        };
        assert_eq!(request(&outcome), Some(&publish("a")));
        // Meanwhile another.
        let later = names.ask(2, asked(Kind::Lookup, &["c"], false, 0));
        assert_eq!(later, Outcome::default());
        let outcome = names.answered(3, Ok(""));
        assert_eq!(
            (request(&outcome), &outcome.answer),
            (Some(&publish("b")), &None)
        );
        let outcome = names.answered(3, Ok(""));
        assert_eq!(outcome.answer, Some(done(1, Bytes::new())));
        let lookup = NameRequest::Lookup("c".to_owned());
        assert_eq!(request(&outcome), Some(&lookup));
        let outcome = names.answered(3, Err(MISSING));
        let missing = PmixAnswer {
            missing: true,
            ..failed(2)
        };
        assert_eq!((outcome.answer, outcome.effects.len()), (Some(missing), 0));
        assert_eq!(names.answered(3, Ok("")), Outcome::default());
    }

    #[test]
    fn a_name_that_is_there_already_is_refused_and_what_is_left_is_not_asked_for() {
        let mut names = Names::default();
        names.ask(1, asked(Kind::Publish, &["a", "b"], false, 0));
        let outcome = names.answered(3, Err(KNOWN));
        let known = PmixAnswer {
            known: true,
            ..failed(1)
        };
        assert_eq!((outcome.answer, outcome.effects.len()), (Some(known), 0));
        let none = names.ask(2, asked(Kind::Publish, &[], false, 0));
        assert_eq!(none.answer, Some(done(2, Bytes::new())));
    }

    #[test]
    fn a_look_up_waits_and_takes_away_what_is_there_once() {
        let mut names = Names::default();
        names.ask(1, asked(Kind::Lookup, &["a"], true, 1));
        let lookup = NameRequest::Lookup("a".to_owned());
        for _ in 0..TRIES_A_SECOND {
            assert_eq!(names.answered(3, Err(MISSING)).again, Some(3));
            assert_eq!(request(&names.again(3)), Some(&lookup));
        }
        let outcome = names.answered(3, Err(MISSING));
        assert!(outcome.answer.unwrap().missing);
        // For ever; and two at once, of which one is taken away.
        names.ask(2, asked(Kind::Lookup, &["a", "b"], true, 0));
        assert_eq!(names.answered(3, Err(MISSING)).again, Some(3));
        let outcome = names.answered(3, Ok("1tport"));
        let unpublish = NameRequest::Unpublish("a".to_owned());
        assert_eq!(
            (request(&outcome), outcome.answer.is_none()),
            (Some(&unpublish), true)
        );
        let outcome = names.answered(3, Ok(""));
        assert_eq!(
            request(&outcome),
            Some(&NameRequest::Lookup("b".to_owned()))
        );
        let answer = names.answered(3, Ok("0tother")).answer.unwrap();
        let found: Vec<&str> = answer
            .found
            .iter()
            .map(|pair| pair.value.as_str())
            .collect();
        assert_eq!((answer.failed, found), (false, vec!["tport", "tother"]));
    }
}
