//! One workload under one policy, from the first submission to the last end.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use anyhow::{Result, bail};
use policy::schedule::{
    AttemptIx, Bundle, Container, ContainerIx, Decision, Driver, End, Event, JobIx, Nanos, Node,
    NodeIx, ResourceName, Scheduler, Speed, Stage, StageState, Task,
};
use sha2::{Digest as _, Sha256};

use crate::bench::processor_time;
use crate::clock::Clock;
use crate::record::{Line, What};
use crate::workload::{Job, Phase, Workload, seconds};

/// How much slower a slow core is, in hundredths of the fast one's speed.
const SLOW: u64 = 45;

/// From an order to end an attempt to its end.
const STOP: Nanos = Nanos::from_millis(20);

/// From an order to move an attempt, or two, to the launcher's word.
const MOVE: Nanos = Nanos::from_millis(20);

/// An attempt as it ran.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Bar {
    /// Name of its job.
    pub job: String,
    /// `map`, `reduce` or `gang`.
    pub stage: &'static str,
    /// Number of its task.
    pub task: u32,
    /// Its host.
    pub node: String,
    /// Its slot.
    pub slot: u32,
    /// When it began, in seconds.
    pub begin_s: f64,
    /// When it ended, in seconds.
    pub end_s: f64,
    /// `done`, `killed` or `lost`.
    pub how: &'static str,
}

/// What became of a job.
#[derive(Clone, Debug, serde::Serialize)]
pub struct JobTimes {
    /// Its name.
    pub name: String,
    /// When it was submitted, in seconds.
    pub submit_s: f64,
    /// When its first attempt began, in seconds.
    pub begin_s: f64,
    /// When its last task was done, in seconds.
    pub end_s: f64,
}

/// What a run was like.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Each job, in the order of submission.
    pub jobs: Vec<JobTimes>,
    /// Each attempt, in the order in which they ended.
    pub bars: Vec<Bar>,
    /// Decisions, with the nanosecond of each.
    pub decisions: Vec<(Nanos, Decision)>,
    /// When the last job was done.
    pub end: Nanos,
    /// How many events were played.
    pub events: u64,
    /// What of the processor's time went into the session and its policy, the rest being the simulator's own; 0
    /// where it was not [timed](Run::timed).
    pub deciding: Duration,
    /// SHA-256 of the decisions: equal runs have equal ones.
    pub digest: String,
    /// What was told and decided, where that is [recorded](Run::recording).
    pub record: Vec<Line>,
}

/// Something that happens at a time.
#[derive(Clone, Copy, Debug)]
enum Due {
    /// The job of this index in the workload is submitted.
    Submit(usize),
    /// The loss of this index in the workload.
    Loss(usize),
    /// A launcher says that an attempt runs.
    Began(AttemptIx),
    /// An attempt has loaded what it needs and wants its devices, if its slot is still the one of this
    /// many moves.
    Loaded(AttemptIx, u32),
    /// A launcher says that an attempt runs where it was ordered to.
    Moved(AttemptIx),
    /// An attempt's work is done.
    Done(AttemptIx),
    /// An attempt that was ordered to end has ended.
    Stopped(AttemptIx),
    /// The policy wants to be asked.
    Wake,
}

/// A submitted job: when it was, when its first attempt began and its last was done.
#[derive(Clone, Copy, Debug)]
struct Times {
    submit: Nanos,
    begin: Option<Nanos>,
    end: Option<Nanos>,
}

/// What an attempt has to do before it wants its devices.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// When it is done, by the speed of its slot.
    until: Nanos,
    speed: Speed,
    /// How often it was moved: what was due before that is not any more.
    moves: u32,
}

/// A workload that is being played.
#[derive(Debug)]
pub struct Run<'a> {
    workload: &'a Workload,
    driver: Driver,
    clock: Clock<Due>,
    now: Nanos,
    /// Number in the session of each job that was submitted, and back.
    numbers: BTreeMap<JobIx, usize>,
    hosts: Vec<String>,
    began: BTreeMap<AttemptIx, Nanos>,
    loads: BTreeMap<AttemptIx, Load>,
    /// Who waits for a node's devices, the first has them.
    devices: BTreeMap<(NodeIx, ResourceName), VecDeque<AttemptIx>>,
    times: Vec<Option<Times>>,
    /// Jobs that have not ended.
    open: usize,
    /// Attempts that were ordered: the number of the next.
    ordered: u32,
    wakes: Option<Nanos>,
    records: bool,
    timed: bool,
    outcome: Outcome,
    digest: Sha256,
}

impl<'a> Run<'a> {
    /// `workload` under `scheduler`.
    #[must_use]
    pub fn new(workload: &'a Workload, scheduler: Box<dyn Scheduler>) -> Self {
        let outcome = Outcome {
            jobs: Vec::new(),
            bars: Vec::new(),
            decisions: Vec::new(),
            end: Nanos(0),
            events: 0,
            deciding: Duration::ZERO,
            digest: String::new(),
            record: Vec::new(),
        };
        Self {
            workload,
            driver: Driver::new(scheduler),
            clock: Clock::default(),
            now: Nanos(0),
            numbers: BTreeMap::new(),
            hosts: Vec::new(),
            began: BTreeMap::new(),
            loads: BTreeMap::new(),
            devices: BTreeMap::new(),
            times: vec![None; workload.jobs.len()],
            open: workload.jobs.len(),
            ordered: 0,
            wakes: None,
            records: false,
            timed: false,
            outcome,
            digest: Sha256::new(),
        }
    }

    /// Takes the time of decisions, which costs two calls of the kernel an event.
    #[must_use]
    pub const fn timed(mut self) -> Self {
        self.timed = true;
        self
    }

    /// Keeps what is told and decided.
    #[must_use]
    pub const fn recording(mut self) -> Self {
        self.records = true;
        self
    }

    fn record(&mut self, what: impl FnOnce() -> What) {
        if self.records {
            self.outcome.record.push(Line {
                at: self.now,
                what: what(),
            });
        }
    }

    /// Plays it to its end.
    ///
    /// # Errors
    ///
    /// The policy decided what cannot be carried out, or some job can never end; the message says which.
    pub fn play(mut self) -> Result<Outcome> {
        self.join()?;
        for (number, job) in self.workload.jobs.iter().enumerate() {
            self.clock.at(seconds(job.submit_s)?, Due::Submit(number));
        }
        for (number, loss) in self.workload.losses.iter().enumerate() {
            self.clock.at(seconds(loss.at_s)?, Due::Loss(number));
        }
        while let Some((when, due)) = self.clock.next() {
            self.now = when;
            self.happen(due)?;
            if self.open == 0 {
                break;
            }
        }
        self.finish()
    }

    fn join(&mut self) -> Result<()> {
        for node in &self.workload.nodes {
            for _ in 0..node.count {
                let host = format!("n{}", self.hosts.len());
                self.hosts.push(host.clone());
                let (pool, memory) = (node.pool(), Bundle::new().with("memory-mb", node.memory_mb));
                let place = Node {
                    host,
                    rack: node.rack.clone(),
                    pool: pool.clone(),
                    free: pool,
                };
                let container = Container {
                    node: NodeIx(0),
                    pool: memory.clone(),
                    free: memory,
                };
                self.tell(&Event::Joined(place, container, node.cut()))?;
            }
        }
        Ok(())
    }

    fn happen(&mut self, due: Due) -> Result<()> {
        match due {
            Due::Submit(number) => self.submit(number),
            Due::Loss(number) => {
                let node = self.workload.losses.get(number).map_or(0, |loss| loss.node);
                self.lose(ContainerIx(node))
            }
            Due::Began(attempt) => self.begin(attempt),
            Due::Loaded(attempt, moves) => match self.loads.get(&attempt) {
                Some(load) if load.moves == moves => self.loaded(attempt),
                _ => Ok(()),
            },
            Due::Moved(attempt) => self.moved(attempt),
            Due::Done(attempt) => self.end(attempt, End::Done),
            Due::Stopped(attempt) => self.end(attempt, End::Killed),
            Due::Wake => {
                self.wakes = None;
                self.tell(&Event::Wake)
            }
        }
    }

    fn submit(&mut self, number: usize) -> Result<()> {
        let Some(job) = self.workload.jobs.get(number) else {
            return Ok(());
        };
        let ix = JobIx(u32::try_from(self.numbers.len())?);
        self.numbers.insert(ix, number);
        if let Some(times) = self.times.get_mut(number) {
            *times = Some(Times {
                submit: self.now,
                begin: None,
                end: None,
            });
        }
        let phases = [
            (Stage::Map, &job.maps),
            (Stage::Reduce, &job.reduces),
            (Stage::Gang, &job.ranks),
        ];
        let stages = phases.into_iter().filter_map(|(stage, phase)| {
            Some((stage, StageState::wanting(phase.as_ref()?.need())))
        });
        let arrived = policy::schedule::Job {
            seq: u64::try_from(number)?,
            submitted: self.now,
            priority: job.priority,
            tenant: job.user.clone(),
            queue: job.queue.clone(),
            tag: String::new(),
            deadline: None,
            node_failures: 0,
            stages: stages.collect(),
        };
        self.tell(&Event::Arrived(arrived))?;
        for (stage, phase) in [(Stage::Map, &job.maps), (Stage::Gang, &job.ranks)] {
            self.release(ix, stage, phase.as_ref())?;
        }
        if job.maps.is_none() {
            self.release(ix, Stage::Reduce, job.reduces.as_ref())?;
        }
        Ok(())
    }

    fn release(&mut self, job: JobIx, stage: Stage, phase: Option<&Phase>) -> Result<()> {
        let Some(phase) = phase else { return Ok(()) };
        let near = |task: u32| {
            let node = phase
                .near
                .get(usize::try_from(task).ok()?.checked_rem(phase.near.len())?)?;
            Some(NodeIx(*node))
        };
        let tasks = (0..phase.count).map(|task| Task {
            nodes: near(task).into_iter().collect(),
            bytes: 0,
        });
        self.tell(&Event::Runnable {
            job,
            stage,
            tasks: tasks.collect(),
        })
    }

    /// What happened, and what is decided upon it.
    fn tell(&mut self, event: &Event) -> Result<()> {
        self.record(|| What::Event(event.clone()));
        let began = self.timed.then(processor_time);
        let decisions = self.driver.happened(self.now, event);
        let wakes_at = self.driver.wakes_at();
        if let Some(began) = began {
            let took = processor_time().saturating_sub(began);
            self.outcome.deciding = self.outcome.deciding.saturating_add(took);
        }
        if let Some(illegal) = self.driver.refused().into_iter().next() {
            bail!("the policy decided {:?}: {}", illegal.decision, illegal.why);
        }
        for decision in decisions {
            self.digest.update(format!("{} {decision:?}\n", self.now.0));
            self.carry_out(&decision);
            self.record(|| What::Decision(decision.clone()));
            self.outcome.decisions.push((self.now, decision));
        }
        if let Some(at) = wakes_at.filter(|at| self.wakes.is_none_or(|known| *at < known)) {
            self.wakes = Some(at);
            self.clock.at(at, Due::Wake);
        }
        Ok(())
    }

    fn carry_out(&mut self, decision: &Decision) {
        let start = self.now.plus(Nanos::from_millis(self.workload.start_ms));
        match decision {
            Decision::Start { .. } | Decision::Copy { .. } => self.launch(start),
            Decision::Gang { slots, .. } => slots.iter().for_each(|_| self.launch(start)),
            Decision::Stop { attempt, .. } => {
                self.clock.at(self.now.plus(STOP), Due::Stopped(*attempt))
            }
            Decision::Move { attempt, .. } | Decision::Swap { one: attempt, .. } => {
                self.clock.at(self.now.plus(MOVE), Due::Moved(*attempt));
            }
            Decision::Hold { .. } | Decision::Rehome { .. } => {}
        }
    }

    /// Attempts are numbered in the order of decisions, a gang's in the order of its slots.
    fn launch(&mut self, when: Nanos) {
        self.clock.at(when, Due::Began(AttemptIx(self.ordered)));
        self.ordered = self.ordered.saturating_add(1);
    }

    /// The job, the phase and the slot's speed of an attempt that is not over.
    fn known(&self, attempt: AttemptIx) -> Option<(&'a Job, &'a Phase, Speed, NodeIx)> {
        let session = self.driver.session();
        let attempt = session.attempt(attempt)?;
        let job = self.workload.jobs.get(*self.numbers.get(&attempt.job)?)?;
        let phase = match attempt.stage {
            Stage::Map => job.maps.as_ref(),
            Stage::Reduce => job.reduces.as_ref(),
            Stage::Gang => job.ranks.as_ref(),
        };
        let speed = session.slot(attempt.slot)?.speed;
        Some((job, phase?, speed, session.node_of(attempt.slot)?))
    }

    fn begin(&mut self, attempt: AttemptIx) -> Result<()> {
        let Some((_, phase, speed, _)) = self.known(attempt) else {
            return Ok(());
        };
        let takes = at_speed(seconds(phase.seconds)?, speed);
        self.began.insert(attempt, self.now);
        let job = self
            .driver
            .session()
            .attempt(attempt)
            .map(|attempt| attempt.job);
        let number = job.and_then(|job| self.numbers.get(&job)).copied();
        if let Some(Some(Times { begin, .. })) =
            number.and_then(|number| self.times.get_mut(number))
        {
            begin.get_or_insert(self.now);
        }
        let until = self.now.plus(takes);
        let load = Load {
            until,
            speed,
            moves: 0,
        };
        self.loads.insert(attempt, load);
        self.clock.at(until, Due::Loaded(attempt, load.moves));
        self.tell(&Event::Began(attempt))
    }

    /// The launcher confirms a move, or a swap of two: what is left of their work takes as long as their new
    /// slots' speed says.
    fn moved(&mut self, attempt: AttemptIx) -> Result<()> {
        let other = self
            .driver
            .session()
            .attempt(attempt)
            .and_then(|attempt| attempt.swaps);
        self.tell(&Event::Moved { attempt, ok: true })?;
        for attempt in [Some(attempt), other].into_iter().flatten() {
            let speed = self.known(attempt).map(|(_, _, speed, _)| speed);
            let (Some(speed), Some(load)) = (speed, self.loads.get_mut(&attempt)) else {
                continue;
            };
            if self.now >= load.until {
                continue;
            }
            let left = at_full_speed(load.until.since(self.now), load.speed);
            load.until = self.now.plus(at_speed(left, speed));
            load.speed = speed;
            load.moves = load.moves.saturating_add(1);
            let (until, moves) = (load.until, load.moves);
            self.clock.at(until, Due::Loaded(attempt, moves));
        }
        Ok(())
    }

    fn loaded(&mut self, attempt: AttemptIx) -> Result<()> {
        let Some((_, phase, _, node)) = self.known(attempt) else {
            return Ok(());
        };
        let Some(device) = phase.devices.first() else {
            self.clock.at(self.now, Due::Done(attempt));
            return Ok(());
        };
        let line = self
            .devices
            .entry((node, ResourceName(device.clone())))
            .or_default();
        line.push_back(attempt);
        if line.len() == 1 {
            self.clock.at(
                self.now.plus(seconds(phase.device_seconds)?),
                Due::Done(attempt),
            );
        }
        Ok(())
    }

    fn end(&mut self, attempt: AttemptIx, how: End) -> Result<()> {
        self.leave_line(attempt)?;
        self.loads.remove(&attempt);
        let Some(ended) = self.driver.session().attempt(attempt) else {
            return Ok(());
        };
        let (job, stage) = (ended.job, ended.stage);
        self.note(attempt, how);
        self.tell(&Event::Ended {
            attempt,
            how,
            phases: Vec::new(),
        })?;
        self.advance(job, stage)
    }

    /// The next in line gets the device.
    fn leave_line(&mut self, attempt: AttemptIx) -> Result<()> {
        let mut next = Vec::new();
        for line in self.devices.values_mut() {
            let had = line.front() == Some(&attempt);
            line.retain(|other| *other != attempt);
            if had {
                next.extend(line.front().copied());
            }
        }
        for waiting in next {
            if let Some((_, phase, ..)) = self.known(waiting) {
                self.clock.at(
                    self.now.plus(seconds(phase.device_seconds)?),
                    Due::Done(waiting),
                );
            }
        }
        Ok(())
    }

    /// Maps that are done release the reduces; a job whose stages are done leaves.
    fn advance(&mut self, ix: JobIx, stage: Stage) -> Result<()> {
        let Some(number) = self.numbers.get(&ix).copied() else {
            return Ok(());
        };
        let Some(job) = self.workload.jobs.get(number) else {
            return Ok(());
        };
        let session = self.driver.session();
        let Some(states) = session.job(ix).map(|job| &job.stages) else {
            return Ok(());
        };
        let maps_done = states.get(&Stage::Map).is_none_or(StageState::is_done);
        let released = states
            .get(&Stage::Reduce)
            .is_none_or(|state| state.runnable);
        if stage == Stage::Map && maps_done && !released {
            return self.release(ix, Stage::Reduce, job.reduces.as_ref());
        }
        if states
            .values()
            .all(|state| state.runnable && state.pending == 0 && state.running == 0)
        {
            if let Some(Some(Times { end, .. })) = self.times.get_mut(number)
                && end.replace(self.now).is_none()
            {
                self.open = self.open.saturating_sub(1);
            }
            return self.tell(&Event::Left(ix));
        }
        Ok(())
    }

    fn lose(&mut self, container: ContainerIx) -> Result<()> {
        let session = self.driver.session();
        let slots = session.slots_of(container).to_vec();
        let lost = session
            .attempts()
            .filter(|(_, attempt)| slots.contains(&attempt.slot));
        let lost: Vec<AttemptIx> = lost.map(|(ix, _)| ix).collect();
        for attempt in lost {
            self.leave_line(attempt)?;
            self.note(attempt, End::Lost);
        }
        self.tell(&Event::Lost(container))
    }

    fn note(&mut self, ix: AttemptIx, how: End) {
        let session = self.driver.session();
        let Some(attempt) = session.attempt(ix) else {
            return;
        };
        let node = session
            .node_of(attempt.slot)
            .and_then(|node| session.node(node));
        let job = self
            .numbers
            .get(&attempt.job)
            .and_then(|number| self.workload.jobs.get(*number));
        let (Some(node), Some(job), Some(began)) = (node, job, self.began.remove(&ix)) else {
            return;
        };
        let bar = Bar {
            job: job.name.clone(),
            stage: match attempt.stage {
                Stage::Map => "map",
                Stage::Reduce => "reduce",
                Stage::Gang => "gang",
            },
            task: attempt.task.0,
            node: node.host.clone(),
            slot: attempt.slot.0,
            begin_s: in_seconds(began),
            end_s: in_seconds(self.now),
            how: match how {
                End::Done => "done",
                End::Lost => "lost",
                _ => "killed",
            },
        };
        self.outcome.bars.push(bar);
    }

    fn finish(mut self) -> Result<Outcome> {
        for (job, times) in self.workload.jobs.iter().zip(&self.times) {
            let Some(Times {
                submit,
                begin: Some(begin),
                end: Some(end),
            }) = times
            else {
                bail!(
                    "job {:?} never ends: no slot can run what is left of it",
                    job.name
                );
            };
            self.outcome.end = self.outcome.end.max(*end);
            self.outcome.jobs.push(JobTimes {
                name: job.name.clone(),
                submit_s: in_seconds(*submit),
                begin_s: in_seconds(*begin),
                end_s: in_seconds(*end),
            });
        }
        self.outcome.events = self.clock.count();
        let digest = self.digest.finalize();
        self.outcome.digest = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(self.outcome)
    }
}

fn at_speed(span: Nanos, speed: Speed) -> Nanos {
    match speed {
        Speed::Plain | Speed::Fast => span,
        Speed::Slow => Nanos(
            span.0
                .saturating_mul(100)
                .checked_div(SLOW)
                .unwrap_or(span.0),
        ),
    }
}

/// The time on a fast core of what takes `span` on one of this speed.
fn at_full_speed(span: Nanos, speed: Speed) -> Nanos {
    match speed {
        Speed::Plain | Speed::Fast => span,
        Speed::Slow => Nanos(span.0.saturating_mul(SLOW) / 100),
    }
}

pub(crate) fn in_seconds(at: Nanos) -> f64 {
    Duration::from_nanos(at.0).as_secs_f64()
}
