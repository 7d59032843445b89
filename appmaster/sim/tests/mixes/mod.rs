//! Small workloads by chance, MPI and MapReduce jobs together, under every policy and stack of rules: each comes to
//! its end, with no decision that cannot be carried out, and nobody is asked for ever.

use policy::schedule::{
    Decision, Nanos, NodeIx, POLICIES as NAMES, Scheduler, Session, WRAPPERS, named,
};
use serde_json::{Value, json};
use sim::{Chance, Workload, WorkloadRun};

use super::{ends, play};

const POLICIES: [&str; 29] = [
    "fifo+gang",
    "fifo-barrier+gang",
    "fifo-blind+speculate+gang",
    "capacity+gang",
    "fair+gang",
    "hpe+gang",
    "hpe-literal:seed=7+age:limit=1s+gang",
    "fair:by=user+priority+gang",
    "fifo+delay+gang",
    "fifo+delay:node=1s,rack=1s+speculate+avoid+gang",
    "fifo+delay+speculate+priority:preempt=true+age+gang",
    "fifo+priority:preempt=true+gang",
    "capacity+priority:preempt=true+gang",
    "fair:by=queue+age+delay+gang",
    "hpe+delay+speculate+avoid+gang",
    "fifo+gang:hold=5s",
    "fifo+gang:hold=0",
    "fair+speculate+gang:hold=1s+age:limit=10s",
    "fifo+gang:hold=20s+priority:preempt=true+delay",
    "fair:by=job+gang:hold=1s+speculate:factor=1.01,share=0.5",
    "hpe-conserve+gang",
    "hetero+delay+speculate+avoid+gang",
    "hetero:tenants=true+gang",
    "hetero-literal+priority:preempt=true+gang",
    "dyscale:most=4,lift-batch=always,move-least=0+gang",
    "dyscale:most=4+delay+speculate+avoid+gang",
    "dyscale-basic:most=4+priority:preempt=true+gang",
    "dyscale:most=4,order=deadline+delay+speculate+gang",
    "maps-fast+gang",
];

/// Of each policy so many.
const WORKLOADS: u64 = 24;

/// Draws workloads.
struct Mixer(Chance);

impl Mixer {
    fn below(&mut self, many: u64) -> u64 {
        self.0.below(many)
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }

    fn tasks(&mut self, nodes: u64, gpu: bool) -> Value {
        let mut tasks = json!({
            "count": 1 + self.below(6),
            "seconds": self.of(&[0.1, 1.0, 5.0, 30.0, 70.0, 200.0]),
        });
        if self.one_in(3) {
            tasks["near"] = json!([self.below(nodes)]);
        }
        if gpu && self.one_in(3) {
            tasks["devices"] = json!(["acc/gpu"]);
            tasks["device_seconds"] = json!(1.0);
        }
        tasks
    }

    /// One to nine nodes of one to three slots, and one to six jobs; no rank or task that could never run.
    fn workload(&mut self) -> Value {
        let (mut nodes, mut count, mut slots, mut gpu) = (Vec::new(), 0, 0, false);
        for _ in 0..=self.below(3) {
            let (many, of_each) = (1 + self.below(3), 1 + self.below(3));
            let mut alike = json!({
                "count": many, "slots": of_each, "rack": format!("r{}", self.below(2)),
                "speed": self.of(&["fast", "fast", "slow"]),
            });
            if self.one_in(3) {
                alike["has"] = json!({ "acc/gpu": 1 });
                gpu = true;
            }
            nodes.push(alike);
            (count, slots) = (count + many, slots + many * of_each);
        }
        let mut jobs = Vec::new();
        for number in 0..=self.below(6) {
            let mut job = json!({
                "name": format!("j{number}"),
                "submit_s": self.of(&[0, 1, 2, 5, 10, 60, 100]),
                "user": format!("u{}", self.below(3)),
                "queue": self.of(&["default", "a", "b", ""]),
                "priority": self.of(&[0, 0, 1, -1]),
            });
            if number % 3 > 0 {
                job["deadline_s"] = json!(5 * number);
            }
            match self.below(10) {
                0..=3 => {
                    let ranks = 1 + self.below(slots);
                    job["ranks"] = json!({ "count": ranks, "seconds": self.of(&[1, 10, 100]) });
                }
                4..=6 => {
                    job["maps"] = self.tasks(count, gpu);
                    job["reduces"] = self.tasks(count, gpu);
                }
                _ => job["maps"] = self.tasks(count, gpu),
            }
            jobs.push(job);
        }
        json!({ "nodes": nodes, "jobs": jobs })
    }
}

#[test]
fn mixes_by_chance_end_under_every_policy() {
    for seed in 0..WORKLOADS {
        let text = Mixer(Chance::seeded(seed)).workload();
        let workload: Workload = serde_json::from_value(text.clone()).unwrap();
        let has = |speed: &str| {
            text["nodes"]
                .as_array()
                .unwrap()
                .iter()
                .any(|of| of["speed"] == speed)
        };
        for policy in POLICIES {
            // Its maps run on fast slots alone, its reduces on slow ones, and either may lack its GPU there.
            let is_split = !has("fast") || !has("slow") || text.to_string().contains("acc/gpu");
            if policy.starts_with("maps-fast") && is_split {
                continue;
            }
            let run = WorkloadRun::new(&workload, named(policy).unwrap());
            let error = run.play().err();
            assert!(error.is_none(), "{policy}, seed {seed}: {error:?}\n{text}");
        }
    }
}

#[test]
fn every_policy_and_rule_is_among_those_that_are_played() {
    for (name, _) in NAMES.iter().chain(WRAPPERS) {
        let mut parts = POLICIES.iter().flat_map(|policy| policy.split('+'));
        let is_played = parts.any(|part| part.split(':').next() == Some(*name));
        assert!(is_played, "{name}");
    }
}

/// One slot of two is held for the gang until 60 s after 2, and again from 120 s after that on; the long map has the
/// other until 400 s.
#[test]
fn a_gang_for_which_slots_were_held_in_vain_has_them_when_they_come() {
    let workload = r#"{
        "start_ms": 0,
        "nodes": [{ "slots": 2 }],
        "jobs": [
            { "name": "long", "submit_s": 0, "maps": { "count": 1, "seconds": 400 } },
            { "name": "gang", "submit_s": 1, "ranks": { "count": 2, "seconds": 10 } },
            { "name": "short", "submit_s": 2, "maps": { "count": 1, "seconds": 20 } }
        ]
    }"#;
    let outcome = play("fifo+gang", workload);
    assert_eq!(ends(&outcome), ["400.000", "410.000", "82.000"]);
    assert!(outcome.events < 30, "{}", outcome.events);
}

/// Wants to be asked for what it was asked already.
#[derive(Debug)]
struct Insistent(Box<dyn Scheduler>);

impl Scheduler for Insistent {
    fn next(&mut self, now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision> {
        self.0.next(now, session, node)
    }

    fn wakes_at(&self, _asked: Nanos) -> Option<Nanos> {
        Some(Nanos::from_secs(1))
    }
}

#[test]
fn a_policy_that_is_never_content_is_named_as_the_fault() {
    let workload = r#"{ "nodes": [{ "slots": 1 }], "jobs": [{ "name": "a", "maps": { "count": 1, "seconds": 9 } }] }"#;
    let workload: Workload = serde_json::from_str(workload).unwrap();
    let insistent = Insistent(named("fifo").unwrap());
    let error = WorkloadRun::new(&workload, Box::new(insistent)).play();
    assert_eq!(
        error.unwrap_err().to_string(),
        "the policy wants to be asked again at 1 s, and was asked at 1 s: it would be asked for ever"
    );
}
