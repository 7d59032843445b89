//! `hetero` on random sessions beside a reference that knows every attempt and looks through all jobs anew.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::bed::{Bed, started};
use super::hetero::need;
use crate::schedule::{
    AttemptIx, AttemptOutcome, Bundle, ContainerIx, Decision, Event, JobIx, Nanos, Slot, SlotIx,
    Stage, Task,
};

const KINDS: [char; 6] = ['P', 'k', 'K', 'b', 'r', 'G'];
const NAMES: [&str; 4] = [
    "acc/kmeans-map",
    "acc/bayes-map",
    "acc/kmeans-reduce",
    "acc/gpu",
];

#[derive(Clone, Debug)]
struct Host {
    has: [u64; 4],
    maps: usize,
    any: usize,
}

impl Host {
    fn has(&self) -> Bundle {
        let all = NAMES.iter().zip(self.has);
        all.fold(Bundle::new(), |has, (name, amount)| has.with(name, amount))
    }

    fn slots(&self) -> Vec<Slot> {
        let maps = vec![Slot::free(&[Stage::Map]); self.maps];
        let any = vec![Slot::free(&[Stage::Map, Stage::Reduce]); self.any];
        maps.into_iter().chain(any).collect()
    }
}

#[derive(Clone, Debug)]
enum Step {
    Submit {
        user: u8,
        priority: i32,
        kinds: [usize; 2],
        tasks: [usize; 2],
    },
    End(usize, bool),
    Leave(usize),
    Lose(usize),
    Join(Host),
    Pass,
}

fn host() -> impl Strategy<Value = Host> {
    let few = || 0..4_u64;
    ([few(), few(), few(), 0..2_u64], 0..3_usize, 0..4_usize).prop_map(|(has, maps, any)| Host {
        has,
        maps,
        any,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let kind = || 0..KINDS.len();
    let submit = (
        0..3_u8,
        0..2_i32,
        [kind(), kind()],
        [0..5_usize, 0..3_usize],
    );
    prop_oneof![
        4 => submit.prop_map(|(user, priority, kinds, tasks)| Step::Submit { user, priority, kinds, tasks }),
        6 => (0..1000_usize, prop::bool::weighted(0.9)).prop_map(|(at, ok)| Step::End(at, ok)),
        1 => (0..1000_usize).prop_map(Step::Leave),
        1 => (0..1000_usize).prop_map(Step::Lose),
        1 => host().prop_map(Step::Join),
        2 => Just(Step::Pass),
    ]
}

/// What the reference knows of a stage of a job.
#[derive(Clone, Debug)]
struct Known {
    job: u32,
    stage: Stage,
    user: String,
    priority: i32,
    submitted: u64,
    kind: char,
    pending: BTreeSet<u32>,
}

/// An attempt that runs.
#[derive(Clone, Copy, Debug)]
struct Runs {
    job: u32,
    stage: Stage,
    task: u32,
    slot: u32,
}

/// A slot of a container, with what of its host.
#[derive(Clone, Debug)]
struct Room {
    slot: u32,
    container: u32,
    any: bool,
}

#[derive(Clone, Debug, Default)]
struct Reference {
    literal: bool,
    tenants: bool,
    stages: Vec<Known>,
    running: Vec<Runs>,
    rooms: Vec<Room>,
    hosts: Vec<(u32, Host)>,
}

/// `part / whole`; a part of nothing is above all.
type Fraction = (u64, u64);

fn less(one: Fraction, other: Fraction) -> bool {
    match (one.1, other.1) {
        (0, _) => false,
        (_, 0) => true,
        // Small numbers: what is exact with machine words is so.
        (mine, theirs) => one.0 * theirs < other.0 * mine,
    }
}

impl Reference {
    fn takes(kind: char) -> Vec<(&'static str, u64)> {
        match kind {
            'k' => vec![(NAMES[0], 1)],
            'K' => vec![(NAMES[0], 2)],
            'b' => vec![(NAMES[1], 1)],
            'r' => vec![(NAMES[2], 1)],
            'G' => vec![(NAMES[3], 1)],
            _ => Vec::new(),
        }
    }

    fn group(kind: char) -> &'static str {
        Self::takes(kind).first().map_or("", |(name, _)| name)
    }

    fn kind(&self, of: &Runs) -> (char, &str) {
        let known = self
            .stages
            .iter()
            .find(|known| (known.job, known.stage) == (of.job, of.stage));
        known
            .map(|known| (known.kind, known.user.as_str()))
            .unwrap()
    }

    fn share(&self, mut counts: impl FnMut(char, &str) -> bool) -> Fraction {
        let mut slots = 0;
        let mut used = [0_u64; 4];
        for attempt in &self.running {
            let (kind, user) = self.kind(attempt);
            if counts(kind, user) {
                slots += 1;
                for (name, amount) in Self::takes(kind) {
                    used[NAMES.iter().position(|other| *other == name).unwrap()] += amount;
                }
            }
        }
        let rooms = self.rooms.len() as u64;
        let mut most = (slots, rooms.max(1));
        for (at, part) in used.into_iter().enumerate().filter(|(_, part)| *part > 0) {
            let whole = self.hosts.iter().map(|(_, host)| host.has[at]).sum();
            if less(most, (part, whole)) {
                most = (part, whole);
            }
        }
        most
    }

    fn fits(&self, kind: char, room: &Room) -> bool {
        let Some((_, host)) = self
            .hosts
            .iter()
            .find(|(container, _)| *container == room.container)
        else {
            return false;
        };
        Self::takes(kind).into_iter().all(|(name, amount)| {
            let at = NAMES.iter().position(|other| *other == name).unwrap();
            let here = self.running.iter().filter(|attempt| {
                let rooms = self.rooms.iter().find(|other| other.slot == attempt.slot);
                rooms.is_some_and(|other| other.container == room.container)
            });
            let taken: u64 = here
                .flat_map(|attempt| Self::takes(self.kind(attempt).0))
                .filter(|(other, _)| *other == name)
                .map(|(_, amount)| amount)
                .sum();
            // GPUs are waited for in turn.
            if kind == 'G' {
                host.has[at] > 0
            } else {
                taken + amount <= host.has[at]
            }
        })
    }

    /// Who is next in each group of a user, or of all, for a slot.
    fn heads(&self, user: Option<&str>, room: &Room) -> Vec<&Known> {
        let mut heads: Vec<&Known> = Vec::new();
        let groups: BTreeSet<&str> = KINDS.iter().map(|kind| Self::group(*kind)).collect();
        for group in groups {
            let waiting = self.stages.iter().filter(|known| {
                Self::group(known.kind) == group
                    && !known.pending.is_empty()
                    && user.is_none_or(|user| user == known.user)
                    && (known.stage == Stage::Map || room.any)
            });
            let turn = |known: &&Known| {
                let priority = if self.literal { 0 } else { -known.priority };
                (priority, known.job, known.stage)
            };
            heads.extend(waiting.min_by_key(turn));
        }
        heads.retain(|head| self.fits(head.kind, room));
        heads
    }

    /// The stage that a slot goes to.
    fn choice(&self, room: &Room) -> Option<(u32, Stage)> {
        let users: BTreeSet<&str> = self
            .stages
            .iter()
            .map(|known| known.user.as_str())
            .collect();
        let users: Vec<Option<&str>> = match self.tenants {
            true => users.into_iter().map(Some).collect(),
            false => vec![None],
        };
        let mut best: Option<(Fraction, u64, &str, &Known)> = None;
        for user in users {
            let mut own: Option<(Fraction, u64, &str, &Known)> = None;
            for head in self.heads(user, room) {
                let group = Self::group(head.kind);
                let share = self.share(|kind, of| {
                    Self::group(kind) == group && user.is_none_or(|user| user == of)
                });
                let turn = (head.submitted, group);
                let is_less = own.is_none_or(|(other, submitted, name, _)| {
                    less(share, other) || (!less(other, share) && turn < (submitted, name))
                });
                if is_less {
                    own = Some((share, head.submitted, group, head));
                }
            }
            let Some((.., head)) = own else { continue };
            let share = self.share(|_, of| user.is_none_or(|user| user == of));
            let turn = (head.submitted, user.unwrap_or(""));
            let is_less = best.is_none_or(|(other, submitted, name, _)| {
                less(share, other) || (!less(other, share) && turn < (submitted, name))
            });
            if is_less {
                best = Some((share, head.submitted, user.unwrap_or(""), head));
            }
        }
        best.map(|(.., head)| (head.job, head.stage))
    }

    /// Each decision is what the reference decides for that slot.
    fn follow(&mut self, decisions: &[Decision]) {
        let all = started(decisions);
        assert_eq!(all.len(), decisions.len());
        for (job, stage, task, slot) in all {
            let room = self
                .rooms
                .iter()
                .find(|room| room.slot == slot)
                .unwrap()
                .clone();
            assert_eq!(Some((job, stage)), self.choice(&room), "{room:?}");
            let known = self
                .stages
                .iter_mut()
                .find(|known| (known.job, known.stage) == (job, stage));
            assert!(known.unwrap().pending.remove(&task));
            self.running.push(Runs {
                job,
                stage,
                task,
                slot,
            });
        }
        // No slot is idle that a group's head fits, and no function is leased that is not there.
        for room in &self.rooms {
            let is_free = self.running.iter().all(|attempt| attempt.slot != room.slot);
            assert!(!is_free || self.choice(room).is_none(), "{room:?}");
        }
        for (container, host) in &self.hosts {
            for (at, name) in NAMES
                .iter()
                .enumerate()
                .filter(|(_, name)| **name != "acc/gpu")
            {
                let here = self.running.iter().filter(|attempt| {
                    let room = self.rooms.iter().find(|room| room.slot == attempt.slot);
                    room.is_some_and(|room| room.container == *container)
                });
                let taken = here.flat_map(|attempt| Self::takes(self.kind(attempt).0));
                let taken: u64 = taken
                    .filter(|(of, _)| of == name)
                    .map(|(_, amount)| amount)
                    .sum();
                assert!(taken <= host.has[at], "{name} on {host:?}");
            }
        }
    }

    fn over(&mut self, at: usize, done: bool) -> Runs {
        let attempt = self.running.remove(at);
        if !done {
            let mut stages = self.stages.iter_mut();
            let known =
                stages.find(|known| (known.job, known.stage) == (attempt.job, attempt.stage));
            known.unwrap().pending.insert(attempt.task);
        }
        attempt
    }
}

struct Play {
    bed: Bed,
    reference: Reference,
    jobs: u32,
    containers: u32,
    slots: u32,
    left: BTreeSet<u32>,
}

impl Play {
    fn join(&mut self, host: &Host) {
        let container = self.containers;
        self.containers += 1;
        self.reference.hosts.push((container, host.clone()));
        for slot in host.slots() {
            let any = slot.stages.len() > 1;
            self.reference.rooms.push(Room {
                slot: self.slots,
                container,
                any,
            });
            self.slots += 1;
        }
        let decisions = self.bed.join_cut(container, host.has(), host.slots());
        self.reference.follow(&decisions);
    }

    fn attempt(&self, of: Runs) -> AttemptIx {
        let mut attempts = self.bed.driver.session().attempts();
        attempts
            .find(|(_, attempt)| attempt.slot == SlotIx(of.slot))
            .unwrap()
            .0
    }

    fn take(&mut self, step: &Step) {
        let running = self.reference.running.len();
        let decisions = match step {
            Step::Submit {
                user,
                priority,
                kinds,
                tasks,
            } => {
                let (job, user) = (self.jobs, format!("u{user}"));
                self.jobs += 1;
                let submitted = self.bed.now.0;
                let stages = [Stage::Map, Stage::Reduce].into_iter().zip(kinds);
                let stages: Vec<_> = stages
                    .map(|(stage, kind)| (stage, need(KINDS[*kind])))
                    .collect();
                let mut decisions = self.bed.arrive(&user, *priority, &stages);
                for ((stage, count), kind) in [Stage::Map, Stage::Reduce]
                    .into_iter()
                    .zip(tasks)
                    .zip(kinds)
                {
                    let known = Known {
                        job,
                        stage,
                        user: user.clone(),
                        priority: *priority,
                        submitted,
                        kind: KINDS[*kind],
                        pending: (0..u32::try_from(*count).unwrap()).collect(),
                    };
                    self.reference.follow(&decisions);
                    self.reference.stages.push(known);
                    let tasks = vec![Task::default(); *count];
                    let job = JobIx(job);
                    decisions = self.bed.tell(&Event::Runnable { job, stage, tasks });
                }
                decisions
            }
            Step::End(at, ok) if running > 0 => {
                let of = self.reference.running[at % running];
                let attempt = self.attempt(of);
                let is_left = self.left.contains(&of.job);
                self.reference.over(at % running, *ok || is_left);
                let how = if *ok {
                    AttemptOutcome::Done
                } else {
                    AttemptOutcome::Failed
                };
                self.bed.tell(&Event::Began(attempt));
                self.bed.tell(&Event::Ended {
                    attempt,
                    how,
                    phases: Vec::new(),
                })
            }
            Step::Leave(at) if self.jobs > 0 => {
                let job = u32::try_from(*at).unwrap() % self.jobs;
                self.left.insert(job);
                for known in self
                    .reference
                    .stages
                    .iter_mut()
                    .filter(|known| known.job == job)
                {
                    known.pending.clear();
                }
                self.bed.tell(&Event::Left(JobIx(job)))
            }
            Step::Lose(at) if !self.reference.hosts.is_empty() => {
                let (container, _) = self.reference.hosts.remove(at % self.reference.hosts.len());
                let gone = self
                    .reference
                    .rooms
                    .iter()
                    .filter(|room| room.container == container);
                let gone: BTreeSet<u32> = gone.map(|room| room.slot).collect();
                self.reference
                    .rooms
                    .retain(|room| room.container != container);
                while let Some(at) = self
                    .reference
                    .running
                    .iter()
                    .position(|attempt| gone.contains(&attempt.slot))
                {
                    let is_left = self.left.contains(&self.reference.running[at].job);
                    self.reference.over(at, is_left);
                }
                self.bed.tell(&Event::Lost(ContainerIx(container)))
            }
            Step::Join(host) => {
                self.join(host);
                Vec::new()
            }
            Step::Pass => self.bed.wait(Nanos::from_secs(1)),
            _ => Vec::new(),
        };
        self.reference.follow(&decisions);
    }
}

fn play(policy: &str, hosts: &[Host], steps: &[Step]) {
    let mut play = Play {
        bed: Bed::new(policy, 0, 0),
        reference: Reference {
            literal: policy.starts_with("hetero-literal"),
            tenants: policy.contains("tenants"),
            ..Reference::default()
        },
        jobs: 0,
        containers: 0,
        slots: 0,
        left: BTreeSet::new(),
    };
    play.bed.speculative = false;
    play.bed.node_failures = 0;
    hosts.iter().for_each(|host| play.join(host));
    steps.iter().for_each(|step| play.take(step));
}

const POLICIES: [&str; 3] = ["hetero", "hetero:tenants=true", "hetero-literal"];

proptest! {
    #[test]
    fn every_choice_is_the_references(
        policy in 0..POLICIES.len(),
        hosts in prop::collection::vec(host(), 1..4),
        steps in prop::collection::vec(step(), 0..60),
    ) {
        play(POLICIES[policy], &hosts, &steps);
    }
}
