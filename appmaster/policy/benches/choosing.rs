//! How long a policy takes to choose for a slot while 1,000 jobs are queued; it fails when `hpe`, or `hetero` with ten
//! groups of one tenant, takes longer than 5 µs.
//!
//! `cargo bench -p policy --bench choosing` prints the median of the rounds with the slowest of three queues, on a node with a
//! GPU and on one without; of `hetero` that with ten groups of jobs on a node that has all their functions, where
//! attempts of each group are under way.

#![expect(
    clippy::disallowed_types,
    reason = "the measuring needs a clock, the measured does not"
)]

use std::hint::black_box;
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use policy::schedule::{
    Bundle, Container, Cut, Decision, Event, Job, JobIx, JobProfile, Nanos, Need, Node, NodeIx,
    Session, Slot, SlotIx, Stage, StageState, Task, TaskIx, named,
};

const JOBS: u32 = 1_000;
const ROUNDS: usize = 101;
/// Choices a round, as the clock is read twice a round.
const CHOICES: u32 = 100;
const LIMIT: Duration = Duration::from_micros(5);

/// One node with a GPU, one without, all slots free.
fn join(session: &mut Session) {
    for (host, gpus) in [("gpu", 1), ("plain", 0)] {
        let pool = Bundle::new().with("acc/gpu", gpus);
        let memory = Bundle::new().with("memory-mb", 8 * 1024);
        let node = Node {
            host: host.to_owned(),
            rack: String::new(),
            pool: pool.clone(),
            free: pool.clone(),
        };
        let container = Container {
            node: NodeIx(0),
            pool: memory.clone(),
            free: memory,
        };
        let slots = Cut::default().slots(&pool);
        session.apply(Nanos(0), &Event::Joined(node, container, slots));
    }
}

/// Of each three jobs the first `plain` need no GPU; all have maps and reduces that may start.
fn submit(session: &mut Session, number: u32, plain: u32) {
    let memory = Bundle::new().with("memory-mb", 1024);
    let is_plain = number % 3 < plain;
    let locks = if is_plain {
        Vec::new()
    } else {
        vec!["acc/gpu".into()]
    };
    let map = Need {
        bundle: memory.clone(),
        locks,
        ..Need::default()
    };
    let reduce = Need {
        bundle: memory,
        locks: Vec::new(),
        ..Need::default()
    };
    submit_stages(
        session,
        number,
        [(Stage::Map, map), (Stage::Reduce, reduce)],
    );
}

fn submit_stages(session: &mut Session, number: u32, stages: [(Stage, Need); 2]) {
    let job = Job {
        seq: u64::from(number),
        submitted: Nanos(0),
        priority: 0,
        tenant: format!("user{}", number % 50),
        queue: "default".to_owned(),
        tag: String::new(),
        deadline: None,
        profile: JobProfile::default(),
        any_speed: false,
        node_failures: 0,
        stages: stages
            .map(|(stage, need)| (stage, StageState::wanting(need)))
            .into(),
    };
    session.apply(Nanos(0), &Event::Arrived(job));
    for stage in [Stage::Map, Stage::Reduce] {
        let tasks = vec![Task::default(); 4];
        let job = JobIx(number);
        session.apply(Nanos(0), &Event::Runnable { job, stage, tasks });
    }
}

/// The median of so many rounds.
fn measure(
    text: &str,
    session: &Session,
    now: Nanos,
    node: NodeIx,
    rounds: usize,
) -> Option<Duration> {
    let mut policy = named(text).ok()?;
    let round = |_| {
        let begin = Instant::now();
        for _ in 0..CHOICES {
            black_box(policy.next(now, black_box(session), Some(node)));
        }
        begin.elapsed() / CHOICES
    };
    let mut spans: Vec<Duration> = (0..rounds).map(round).collect();
    spans.sort_unstable();
    spans.get(rounds / 2).copied()
}

fn run(rounds: usize) -> Option<bool> {
    let queues = (1..=3).map(|plain| {
        let mut session = Session::new();
        join(&mut session);
        (0..JOBS).for_each(|number| submit(&mut session, number, plain));
        session
    });
    let queues: Vec<Session> = queues.collect();
    // Before anybody has waited for too long, and when everybody has.
    let moments = [Nanos(1), Nanos::from_secs(400)];
    let mut out = std::io::stdout().lock();
    let mut in_time = true;
    for text in [
        "fifo",
        "fifo-barrier",
        "hpe:age=0",
        "hpe",
        "hpe:window=jobs",
        "hpe-conserve",
        "hpe-literal",
    ] {
        for (at, node) in [("with a GPU", NodeIx(0)), ("without", NodeIx(1))] {
            let each = queues
                .iter()
                .flat_map(|session| moments.map(|now| measure(text, session, now, node, rounds)));
            let slowest = each.max()??;
            in_time &= slowest <= LIMIT || !text.starts_with("hpe");
            writeln!(out, "{text}, node {at}: {slowest:.2?}").ok()?;
        }
    }
    let (session, node) = groups();
    for text in ["hetero", "hetero-literal", "hetero:tenants=true"] {
        let slowest = measure(text, &session, Nanos(1), node, rounds)?;
        in_time &= slowest <= LIMIT || text.contains("tenants");
        writeln!(out, "{text}, {JOBS} jobs in ten groups: {slowest:.2?}").ok()?;
    }
    Some(in_time)
}

/// A node with ten functions, all free, and one on which an attempt of each group is under way.
fn groups() -> (Session, NodeIx) {
    let mut session = Session::new();
    let function = |number: u32| format!("acc/f{}", number % 10);
    let has = (0..10).fold(Bundle::new(), |has, number| has.with(&function(number), 4));
    let join = |session: &mut Session, host: &str| {
        let memory = Bundle::new().with("memory-mb", 40 * 1024);
        let node = Node {
            host: host.to_owned(),
            rack: String::new(),
            pool: has.clone(),
            free: has.clone(),
        };
        let container = Container {
            node: NodeIx(0),
            pool: memory.clone(),
            free: memory,
        };
        let slots = vec![Slot::free(&[Stage::Map, Stage::Reduce]); 20];
        session.apply(Nanos(0), &Event::Joined(node, container, slots));
    };
    join(&mut session, "busy");
    join(&mut session, "free");
    for number in 0..JOBS {
        let bundle = Bundle::new().with("memory-mb", 1024);
        let need = Need {
            bundle: bundle.with(&function(number), 1),
            locks: Vec::new(),
            ..Need::default()
        };
        submit_stages(
            &mut session,
            number,
            [(Stage::Map, need.clone()), (Stage::Reduce, need)],
        );
    }
    for number in 0..10 {
        let decision = Decision::Start {
            job: JobIx(number),
            stage: Stage::Map,
            task: TaskIx(0),
            slot: SlotIx(number),
        };
        session.apply(Nanos(0), &Event::Ordered(decision));
    }
    (session, NodeIx(1))
}

fn main() -> ExitCode {
    // Cargo says so where the build is optimized; in a test run the times mean nothing.
    let measured = std::env::args().any(|argument| argument == "--bench");
    match run(if measured { ROUNDS } else { 1 }) {
        Some(in_time) if in_time || !measured => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
