//! One workload under one policy, from the first submission to the last end.

mod attempts;
mod busy;
mod devices;
mod digest;
mod jobs;
mod losses;
mod nodes;
mod outcome;
mod speed;
mod timing;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, bail};
use policy::Numbered;
use policy::schedule::record::{RecordLine, What};
use policy::schedule::{
    AttemptIx, AttemptOutcome, Decision, Event, JobIx, Nanos, Scheduler, SessionDriver, Speed,
    Stage, TaskIx,
};

use crate::clock::Clock;
use crate::workload::{Workload, seconds};
pub use busy::BusyTime;
use devices::DeviceLines;
use digest::DecisionDigest;
pub(crate) use outcome::in_seconds;
pub use outcome::{Bar, JobTimes, RunResult};
pub(crate) use speed::CoreSpeed;
use timing::CallTiming;
pub use timing::TIMED_OF;

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
    /// A launcher says that an attempt runs where it was ordered to, and so does one that it changes places with.
    Moved(AttemptIx, Option<AttemptIx>),
    /// An attempt has no more use for its device.
    Computed(AttemptIx),
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
    /// One of its tasks failed too often.
    failed: bool,
}

/// What an attempt has to do before it wants its devices.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// When it is done, by the speed of its slot; never while it is stopped.
    until: Nanos,
    speed: CoreSpeed,
    /// What is left of its work while it is stopped.
    stopped: Option<Nanos>,
    /// How often it was moved: what was due before that is not any more.
    moves: u32,
    /// What its slot's cores are, and since when its time there counts.
    on: Speed,
    since: Nanos,
}

/// A workload that is being played.
#[derive(Debug)]
pub struct WorkloadRun<'a> {
    workload: &'a Workload,
    driver: SessionDriver,
    clock: Clock<Due>,
    now: Nanos,
    /// Number in the session of each job that was submitted, and back.
    numbers: Numbered<JobIx, usize>,
    hosts: Vec<String>,
    began: Numbered<AttemptIx, Nanos>,
    loads: Numbered<AttemptIx, Load>,
    devices: DeviceLines,
    /// How many tasks share a device of each host.
    ways: Vec<u64>,
    /// How often tasks have failed.
    failures: BTreeMap<(JobIx, Stage, TaskIx), u32>,
    times: Vec<Option<Times>>,
    /// Jobs that have not ended.
    open: usize,
    /// Attempts that were ordered: the number of the next.
    ordered: u32,
    wakes: Option<Nanos>,
    records: bool,
    /// Bars and decisions are not kept.
    lean: bool,
    timing: Option<CallTiming>,
    /// All jobs are submitted before anything is decided.
    queued: bool,
    outcome: RunResult,
    digest: DecisionDigest,
}

impl<'a> WorkloadRun<'a> {
    /// `workload` under `scheduler`.
    #[must_use]
    pub fn new(workload: &'a Workload, scheduler: Box<dyn Scheduler>) -> Self {
        let outcome = RunResult {
            jobs: Vec::new(),
            bars: Vec::new(),
            decisions: Vec::new(),
            end: Nanos(0),
            events: 0,
            deciding: Duration::ZERO,
            busy: BusyTime::default(),
            lost: 0,
            digest: String::new(),
            record: Vec::new(),
        };
        Self {
            workload,
            driver: SessionDriver::new(scheduler),
            clock: Clock::default(),
            now: Nanos(0),
            numbers: Numbered::new(),
            hosts: Vec::new(),
            began: Numbered::new(),
            loads: Numbered::new(),
            devices: DeviceLines::default(),
            ways: Vec::new(),
            failures: BTreeMap::new(),
            times: vec![None; workload.jobs.len()],
            open: workload.jobs.len(),
            ordered: 0,
            wakes: None,
            records: false,
            lean: false,
            timing: None,
            queued: false,
            outcome,
            digest: DecisionDigest::default(),
        }
    }

    /// Takes the time of decisions, of some events for all.
    #[must_use]
    pub const fn timed(mut self) -> Self {
        self.timing = Some(CallTiming::new());
        self
    }

    /// Keeps what is told and decided.
    #[must_use]
    pub const fn recording(mut self) -> Self {
        self.records = true;
        self
    }

    /// Keeps neither bars nor decisions: what remains of a run of a million tasks is the times of its jobs.
    #[must_use]
    pub const fn lean(mut self) -> Self {
        self.lean = true;
        self
    }

    /// Has all jobs in the queue before the first decision, whenever they say that they come. Such a run is not
    /// recorded: a record has the decisions after each event.
    #[must_use]
    pub const fn queued(mut self) -> Self {
        self.queued = true;
        self
    }

    fn record(&mut self, what: impl FnOnce() -> What) {
        if self.records {
            self.outcome.record.push(RecordLine {
                at: self.now,
                what: what(),
            });
        }
    }

    /// Plays it to its end.
    ///
    /// # Errors
    ///
    /// The policy decided what cannot be carried out, or wants to be asked again for what it was asked already, or some
    /// job can never end; the message says which.
    pub fn play(mut self) -> Result<RunResult> {
        self.join()?;
        if self.queued {
            (0..self.workload.jobs.len()).try_for_each(|number| self.submit(number))?;
            self.queued = false;
            let decisions = self.driver.decide(self.now);
            self.follow(decisions)?;
        } else {
            for (number, job) in self.workload.jobs.iter().enumerate() {
                self.clock.at(seconds(job.submit_s)?, Due::Submit(number));
            }
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

    fn happen(&mut self, due: Due) -> Result<()> {
        match due {
            Due::Submit(number) => self.submit(number),
            Due::Loss(number) => match self.workload.losses.get(number) {
                Some(loss) => self.lose(loss),
                None => Ok(()),
            },
            Due::Began(attempt) => self.begin(attempt),
            Due::Loaded(attempt, moves) => match self.loads.get(&attempt) {
                Some(load) if load.moves == moves => self.loaded(attempt),
                _ => Ok(()),
            },
            Due::Moved(attempt, other) => self.moved(attempt, other),
            Due::Computed(attempt) => self.computed(attempt),
            Due::Done(attempt) => self.end(attempt, AttemptOutcome::Done),
            Due::Stopped(attempt) => self.end(attempt, AttemptOutcome::Killed),
            Due::Wake => {
                self.wakes = None;
                self.tell(&Event::Wake)
            }
        }
    }

    /// What happened, and what is decided upon it.
    fn tell(&mut self, event: &Event) -> Result<()> {
        if self.queued {
            self.driver.tell(self.now, event);
            return Ok(());
        }
        self.record(|| What::Event(event.clone()));
        let (driver, now) = (&mut self.driver, self.now);
        let decisions = match &mut self.timing {
            Some(timing) => timing.of(|| driver.happened(now, event)),
            None => driver.happened(now, event),
        };
        self.follow(decisions)
    }

    fn follow(&mut self, decisions: Vec<Decision>) -> Result<()> {
        if let Some(illegal) = self.driver.refused().into_iter().next() {
            bail!("the policy decided {:?}: {}", illegal.decision, illegal.why);
        }
        for decision in decisions {
            self.digest.decided(self.now, &decision);
            self.carry_out(&decision);
            self.record(|| What::Decision(decision.clone()));
            if !self.lean {
                self.outcome.decisions.push((self.now, decision));
            }
        }
        let wakes_at = self.driver.wakes_at();
        if let Some(at) = wakes_at.filter(|at| *at <= self.now) {
            bail!(
                "the policy wants to be asked again at {} s, and was asked at {} s: it would be asked for ever",
                in_seconds(at),
                in_seconds(self.now)
            );
        }
        if let Some(at) = wakes_at.filter(|at| self.wakes.is_none_or(|known| *at < known)) {
            self.wakes = Some(at);
            self.clock.at(at, Due::Wake);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<RunResult> {
        for (job, times) in self.workload.jobs.iter().zip(&self.times) {
            let Some(Times {
                submit,
                begin: Some(begin),
                end: Some(end),
                failed,
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
                failed: *failed,
            });
        }
        self.outcome.events = self.clock.count();
        self.outcome.deciding = self.timing.map_or(Duration::ZERO, |timing| timing.all());
        self.outcome.digest = self.digest.digest();
        Ok(self.outcome)
    }
}
