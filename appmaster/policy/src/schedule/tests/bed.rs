//! A session to try policies on.

use crate::schedule::{
    AttemptIx, AttemptOutcome, Bundle, Container, Decision, Event, Job, JobIx, JobProfile, Nanos,
    Need, Node, NodeIx, SessionDriver, Slot, SlotIx, Stage, StageState, Task, named,
};

pub(super) struct Bed {
    pub(super) driver: SessionDriver,
    pub(super) now: Nanos,
    /// Whether tasks of the jobs that come may be tried a second time.
    pub(super) speculative: bool,
    /// Failures at a node that keep those jobs off it; 0: any number.
    pub(super) node_failures: u32,
    /// When the jobs that come want to be done, and what earlier runs of theirs took.
    pub(super) deadline: Option<Nanos>,
    pub(super) profile: JobProfile,
    pub(super) any_speed: bool,
    jobs: u32,
    started: u32,
}

/// What a decision started: job, stage, number of the task, slot.
pub(super) type Started = (u32, Stage, u32, u32);

impl Bed {
    /// `nodes` of `slots` slots each, which run anything; two nodes a rack.
    pub(super) fn new(policy: &str, nodes: u32, slots: usize) -> Self {
        let driver = SessionDriver::new(named(policy).unwrap());
        let mut bed = Self {
            driver,
            now: Nanos(0),
            speculative: true,
            node_failures: 3,
            deadline: None,
            profile: JobProfile::default(),
            any_speed: false,
            jobs: 0,
            started: 0,
        };
        for node in 0..nodes {
            bed.join(node, slots, Bundle::new());
        }
        bed
    }

    pub(super) fn join(&mut self, node: u32, slots: usize, has: Bundle) -> Vec<Decision> {
        let slot = Slot::free(&[Stage::Map, Stage::Reduce, Stage::Gang]);
        self.join_cut(node, has, vec![slot; slots])
    }

    /// The same with slots of its own.
    pub(super) fn join_cut(&mut self, node: u32, has: Bundle, slots: Vec<Slot>) -> Vec<Decision> {
        let memory = Bundle::new().with("memory-mb", slots.len() as u64 * 1024);
        let container = Container {
            node: NodeIx(0),
            pool: memory.clone(),
            free: memory,
        };
        let host = Node {
            host: format!("n{node}"),
            rack: format!("r{}", node / 2),
            pool: has.clone(),
            free: has,
        };
        self.tell(&Event::Joined(host, container, slots))
    }

    pub(super) fn tell(&mut self, event: &Event) -> Vec<Decision> {
        let decisions = self.driver.happened(self.now, event);
        assert_eq!(self.driver.refused(), []);
        let wakes_at = self.driver.wakes_at();
        assert!(
            wakes_at.is_none_or(|at| at > self.now),
            "{wakes_at:?} is past"
        );
        let session = self.driver.session();
        self.started = session
            .attempts()
            .last()
            .map_or(self.started, |(ix, _)| ix.0 + 1);
        decisions
    }

    pub(super) fn wait(&mut self, span: Nanos) -> Vec<Decision> {
        self.now = self.now.plus(span);
        self.tell(&Event::Wake)
    }

    /// A job of `user` with so many tasks of `stage`, anywhere; each takes 1024 MiB.
    pub(super) fn submit(&mut self, user: &str, stage: Stage, tasks: usize) -> Vec<Decision> {
        self.submit_job(
            user,
            0,
            stage,
            vec![Task::default(); tasks],
            Need::default(),
        )
    }

    pub(super) fn submit_job(
        &mut self,
        user: &str,
        priority: i32,
        stage: Stage,
        tasks: Vec<Task>,
        need: Need,
    ) -> Vec<Decision> {
        let ix = JobIx(self.jobs);
        let mut decisions = self.arrive(user, priority, &[(stage, need)]);
        decisions.extend(self.tell(&Event::Runnable {
            job: ix,
            stage,
            tasks,
        }));
        decisions
    }

    /// A job whose tasks are told later; each takes 1024 MiB.
    pub(super) fn arrive(
        &mut self,
        user: &str,
        priority: i32,
        stages: &[(Stage, Need)],
    ) -> Vec<Decision> {
        let state = |need: &Need| StageState {
            speculative: self.speculative,
            ..StageState::wanting(Need {
                bundle: need.bundle.clone().with("memory-mb", 1024),
                ..need.clone()
            })
        };
        let stages = stages
            .iter()
            .map(|(stage, need)| (*stage, state(need)))
            .collect();
        let job = Job {
            seq: u64::from(self.jobs),
            submitted: self.now,
            priority,
            tenant: user.to_owned(),
            queue: user.to_owned(),
            tag: String::new(),
            deadline: self.deadline,
            profile: self.profile.clone(),
            any_speed: self.any_speed,
            node_failures: self.node_failures,
            stages,
        };
        self.jobs += 1;
        self.tell(&Event::Arrived(job))
    }

    /// The attempt on `slot` began.
    pub(super) fn begin(&mut self, slot: u32) -> AttemptIx {
        let attempt = self.on(slot);
        self.tell(&Event::Began(attempt));
        attempt
    }

    pub(super) fn on(&self, slot: u32) -> AttemptIx {
        let attempts = self.driver.session().attempts();
        let here = attempts
            .filter(|(_, attempt)| attempt.slot == SlotIx(slot))
            .map(|(ix, _)| ix);
        here.last().unwrap()
    }

    pub(super) fn begin_all(&mut self) {
        let all: Vec<AttemptIx> = self.driver.session().attempts().map(|(ix, _)| ix).collect();
        for attempt in all {
            self.tell(&Event::Began(attempt));
        }
    }

    pub(super) fn end(&mut self, slot: u32, how: AttemptOutcome) -> Vec<Decision> {
        let attempt = self.on(slot);
        self.tell(&Event::Ended {
            attempt,
            how,
            phases: Vec::new(),
        })
    }
}

pub(super) fn started(decisions: &[Decision]) -> Vec<Started> {
    let started = decisions.iter().filter_map(|decision| match decision {
        Decision::Start {
            job,
            stage,
            task,
            slot,
        } => Some((job.0, *stage, task.0, slot.0)),
        _ => None,
    });
    started.collect()
}

pub(super) fn jobs(decisions: &[Decision]) -> Vec<u32> {
    started(decisions)
        .into_iter()
        .map(|(job, ..)| job)
        .collect()
}

/// The driver again, out of what was written of it.
pub(super) fn reloaded(driver: &SessionDriver) -> SessionDriver {
    let written = serde_json::to_vec(&driver.snapshot().unwrap()).unwrap();
    let loaded = SessionDriver::load(serde_json::from_slice(&written).unwrap());
    assert_eq!(
        format!("{:?}", loaded.session()),
        format!("{:?}", driver.session())
    );
    assert_eq!(loaded.wakes_at(), driver.wakes_at());
    loaded
}
