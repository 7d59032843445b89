//! How long decisions take on a large session, and the simulator itself: in processor time of the one thread, which
//! a busy machine changes little.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use anyhow::{Result, bail};
use policy::lending::{Lending, Offer, OfferedSlot, SlotRequest, Wants, Word};
use policy::schedule::{
    AttemptIx, AttemptOutcome, Bundle, Container, Event, Job, JobIx, JobProfile, Nanos, Need, Node,
    NodeIx, SessionDriver, Slot, Stage, StageState, Task, named,
};
use policy::{ContainerId, Millis, NodeId, ResourceTypes, Resources};
use rustix::time::{ClockId, clock_gettime};

use policy::schedule::record::What;

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
    /// The longest of an event with its decisions.
    pub worst: Duration,
    /// All events with their decisions.
    pub total: Duration,
}

/// Fills `nodes` of 8 slots from `jobs` queued jobs of `tasks` tasks each, then ends attempts one after the
/// other, `ends` of them: each end is one event, and its slot is given anew.
///
/// All of it is done twice: to look at the clock at each event, which the worst one takes, costs about as much as an
/// event, and the mean is to be without.
///
/// # Errors
///
/// No such policy, or it decided what cannot be carried out.
pub fn decisions(policy: &str, nodes: u32, jobs: u32, tasks: usize, ends: u32) -> Result<Figures> {
    let (mut driver, filled) = full(policy, nodes, jobs, tasks)?;
    let begin = processor_time();
    let mut taken = filled;
    for number in 0..ends {
        for event in one_ends(number) {
            let decided = driver.happened(Nanos::from_millis(u64::from(number)), &event);
            taken = taken.saturating_add(u64::try_from(decided.len())?);
        }
    }
    let total = processor_time().saturating_sub(begin);
    legal(&mut driver)?;
    let (mut driver, _) = full(policy, nodes, jobs, tasks)?;
    let mut worst = Duration::ZERO;
    for number in 0..ends {
        for event in one_ends(number) {
            let begin = processor_time();
            let decided = driver.happened(Nanos::from_millis(u64::from(number)), &event);
            worst = worst.max(processor_time().saturating_sub(begin));
            drop(decided);
        }
    }
    let events = ends.saturating_mul(2);
    Ok(Figures {
        decisions: taken,
        events: u64::from(events),
        mean: total.checked_div(events).unwrap_or_default(),
        worst,
        total,
    })
}

/// What is told of an attempt that begins and ends.
const fn one_ends(number: u32) -> [Event; 2] {
    let attempt = AttemptIx(number);
    let ended = Event::Ended {
        attempt,
        how: AttemptOutcome::Done,
        phases: Vec::new(),
    };
    [Event::Began(attempt), ended]
}

fn legal(driver: &mut SessionDriver) -> Result<()> {
    if let Some(illegal) = driver.refused().into_iter().next() {
        bail!("the policy decided {:?}: {}", illegal.decision, illegal.why);
    }
    Ok(())
}

/// A session of `nodes` of 8 slots, full of tasks of `jobs` that have `tasks` each; how many decisions that took.
fn full(policy: &str, nodes: u32, jobs: u32, tasks: usize) -> Result<(SessionDriver, u64)> {
    let mut driver = SessionDriver::new(named(policy)?);
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
            ..Need::default()
        };
        let job = Job {
            seq: u64::from(number),
            submitted: Nanos(0),
            priority: 0,
            tenant: format!("user{}", number % 50),
            queue: format!("queue{}", number % 5),
            tag: String::new(),
            deadline: None,
            profile: JobProfile::default(),
            any_speed: false,
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
    let taken = u64::try_from(driver.decide(Nanos(0)).len())?;
    legal(&mut driver)?;
    Ok((driver, taken))
}

/// What was measured of a session in which many gangs wait.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// A gang comes, or one has ended and gives its slots back: with what is decided then.
    pub turns: Figures,
    /// To say of each that waits why it does.
    pub words: Duration,
    /// How many wait.
    pub wait: usize,
}

/// Ranks of a gang: from one to as many as two nodes have slots.
const fn ranks(number: u32) -> u32 {
    1 + number.wrapping_mul(7) % 16
}

/// `nodes` of 8 slots in a session where `jobs` gangs wait, as an ApplicationMaster keeps it: `turns` times the gang
/// that has run longest ends, and another comes.
///
/// # Errors
///
/// No such policy, or it decided what cannot be carried out.
pub fn gangs(policy: &str, nodes: u32, jobs: u32, turns: u32) -> Result<Waiting> {
    let slot = Resources::new(1024, 1);
    let mut lending = Lending::new(named(policy)?, ResourceTypes::default());
    for node in 0..nodes {
        let offer = Offer {
            container: ContainerId(format!("c{node}")),
            node: NodeId(format!("n{node}:1")),
            host: format!("n{node}"),
            rack: format!("r{}", node / 32),
            slots: OfferedSlot::alike(8),
            pool: slot.times(8),
            elements: BTreeMap::new(),
        };
        lending.joined(Millis(0), offer);
    }
    let request = |number: u32| SlotRequest {
        wants: Wants::Gang(ranks(number)),
        unit: slot,
        user: format!("user{}", number % 50),
        queue: "default".to_owned(),
        priority: 0,
        deadline: None,
        profile: JobProfile::default(),
        any_speed: false,
    };
    let (mut run, mut waiting) = (VecDeque::new(), BTreeSet::new());
    let (mut total, mut worst, mut events) = (Duration::ZERO, Duration::ZERO, 0_u32);
    let mut decided = 0_u64;
    let mut next = 0_u32;
    let come = jobs.saturating_add(nodes.saturating_mul(8));
    while next < come.saturating_add(turns) {
        // At first they only come: that is not measured.
        let is_measured = next >= come;
        let now = Millis(u64::from(next));
        let ended = run.front().copied().filter(|_| is_measured);
        let begin = processor_time();
        let mut words = lending.wanted(now, next, request(next));
        let came = processor_time().saturating_sub(begin);
        let begin = processor_time();
        if let Some(ended) = ended {
            run.pop_front();
            words.extend(lending.returned(now, ended));
        }
        let left = processor_time().saturating_sub(begin);
        waiting.insert(next);
        for word in words {
            if let Word::Lent(lent) = word {
                waiting.remove(&lent.job);
                run.push_back(lent.job);
                decided = decided.saturating_add(u64::from(is_measured));
            }
        }
        if is_measured {
            total = total.saturating_add(came).saturating_add(left);
            worst = worst.max(came).max(left);
            events = events.saturating_add(2);
        }
        if let Some(refused) = lending.refused().into_iter().next() {
            bail!("the policy decided {refused}");
        }
        next = next.saturating_add(1);
    }
    let begin = processor_time();
    let mut line = lending.line(Some);
    for job in &waiting {
        std::hint::black_box(line.waits(*job));
    }
    Ok(Waiting {
        turns: Figures {
            decisions: decided,
            events: u64::from(events),
            mean: total.checked_div(events).unwrap_or_default(),
            worst,
            total,
        },
        words: processor_time().saturating_sub(begin),
        wait: waiting.len(),
    })
}

/// What the simulator itself is like.
#[derive(Clone, Debug)]
pub struct Speed {
    /// Events that were played.
    pub events: u64,
    /// All events with their decisions.
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
    let outcome = crate::WorkloadRun::new(&workload, named(policy)?).play()?;
    let total = processor_time().saturating_sub(begin);
    // The same events once more, for a driver alone: to look at the clock at each would cost as much as playing it.
    let recorded = crate::WorkloadRun::new(&workload, named(policy)?)
        .recording()
        .play()?;
    let mut driver = SessionDriver::new(named(policy)?);
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
