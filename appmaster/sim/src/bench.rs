//! How long decisions take on a large session, and the simulator itself: in processor time of the one thread, which
//! a busy machine changes little.

use std::time::Duration;

use anyhow::{Result, bail};
use policy::schedule::{
    AttemptIx, Bundle, Container, Driver, End, Event, Job, JobIx, Nanos, Need, Node, NodeIx, Slot,
    Stage, StageState, Task, named,
};
use rustix::time::{ClockId, clock_gettime};

use crate::record::What;

/// Processor time of this thread.
pub(crate) fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(time.tv_sec.unsigned_abs(), nanos)
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Decisions that were taken.
    pub decisions: u64,
    /// Events that were told.
    pub events: u64,
    /// Mean of an event with its decisions.
    pub mean: Duration,
    /// Longest.
    pub worst: Duration,
    /// All of it.
    pub total: Duration,
}

/// Fills `nodes` of 8 slots from `jobs` queued jobs of `tasks` tasks each, then ends attempts one after the
/// other, `ends` of them: each end is one event, and its slot is given anew.
///
/// # Errors
///
/// No such policy, or it decided what cannot be carried out.
pub fn decisions(policy: &str, nodes: u32, jobs: u32, tasks: usize, ends: u32) -> Result<Figures> {
    let mut driver = Driver::new(named(policy)?);
    let memory = Bundle::new().with("memory-mb", 8 * 1024);
    for node in 0..nodes {
        let place = Node {
            host: format!("n{node}"),
            rack: format!("r{}", node / 32),
            pool: Bundle::new(),
            free: Bundle::new(),
        };
        let container = Container {
            node: NodeIx(0),
            pool: memory.clone(),
            free: memory.clone(),
        };
        driver.tell(
            Nanos(0),
            &Event::Joined(place, container, vec![Slot::free(&[Stage::Map]); 8]),
        );
    }
    for number in 0..jobs {
        let need = Need {
            bundle: Bundle::new().with("memory-mb", 1024),
            locks: Vec::new(),
        };
        let job = Job {
            seq: u64::from(number),
            submitted: Nanos(0),
            priority: 0,
            tenant: format!("user{}", number % 50),
            queue: format!("queue{}", number % 5),
            tag: String::new(),
            deadline: None,
            node_failures: 0,
            stages: [(Stage::Map, StageState::wanting(need))].into(),
        };
        driver.tell(Nanos(0), &Event::Arrived(job));
        let near = |task: usize| {
            let spread = u32::try_from(task)
                .unwrap_or(0)
                .wrapping_mul(7)
                .wrapping_add(number);
            Task {
                nodes: vec![NodeIx(spread.checked_rem(nodes).unwrap_or(0))],
                bytes: 1,
            }
        };
        let tasks = (0..tasks).map(near).collect();
        driver.tell(
            Nanos(0),
            &Event::Runnable {
                job: JobIx(number),
                stage: Stage::Map,
                tasks,
            },
        );
    }
    let mut taken = u64::try_from(driver.decide(Nanos(0)).len())?;
    let (mut total, mut worst, mut events) = (Duration::ZERO, Duration::ZERO, 0_u64);
    for number in 0..ends {
        let now = Nanos::from_millis(u64::from(number));
        let attempt = AttemptIx(number);
        for event in [
            Event::Began(attempt),
            Event::Ended {
                attempt,
                how: End::Done,
                phases: Vec::new(),
            },
        ] {
            let begin = processor_time();
            let decided = driver.happened(now, &event);
            let span = processor_time().saturating_sub(begin);
            total = total.saturating_add(span);
            worst = worst.max(span);
            events = events.saturating_add(1);
            taken = taken.saturating_add(u64::try_from(decided.len())?);
        }
        if let Some(illegal) = driver.refused().into_iter().next() {
            bail!("the policy decided {:?}: {}", illegal.decision, illegal.why);
        }
    }
    let mean = total
        .checked_div(ends.saturating_mul(2))
        .unwrap_or_default();
    Ok(Figures {
        decisions: taken,
        events,
        mean,
        worst,
        total,
    })
}

/// What the simulator itself is like.
#[derive(Clone, Debug)]
pub struct Speed {
    /// Events that were played.
    pub events: u64,
    /// All of it.
    pub total: Duration,
    /// What of it went into the session and its policy.
    pub deciding: Duration,
}

/// Plays `jobs` of `tasks` tasks on `nodes` of 8 slots to their end.
///
/// # Errors
///
/// No such policy, or it decided what cannot be carried out.
pub fn simulator(policy: &str, nodes: u32, jobs: u32, tasks: u32) -> Result<Speed> {
    let all: Vec<serde_json::Value> = (0..jobs)
        .map(|job| {
            let seconds = f64::from(job % 7 + 1);
            serde_json::json!({
                "name": format!("j{job}"), "user": format!("user{}", job % 50), "submit_s": f64::from(job) / 100.0,
                "maps": { "count": tasks, "seconds": seconds },
            })
        })
        .collect();
    let workload = serde_json::from_value(serde_json::json!({
        "nodes": [{ "count": nodes, "map_slots": 8 }], "jobs": all,
    }))?;
    let begin = processor_time();
    let outcome = crate::Run::new(&workload, named(policy)?).play()?;
    let total = processor_time().saturating_sub(begin);
    // The same events once more, for a driver alone: to look at the clock at each would cost as much as playing it.
    let recorded = crate::Run::new(&workload, named(policy)?)
        .recording()
        .play()?;
    let mut driver = Driver::new(named(policy)?);
    let begin = processor_time();
    for line in &recorded.record {
        if let What::Event(event) = &line.what {
            driver.happened(line.at, event);
            std::hint::black_box(driver.wakes_at());
        }
    }
    Ok(Speed {
        events: outcome.events,
        total,
        deciding: processor_time().saturating_sub(begin),
    })
}
