//! HPE on random clusters: no task is on a node without its element, no slot is empty that a task could have, and
//! plain jobs end although jobs for the GPUs never do.

use proptest::prelude::*;

use super::bed::Bed;
use super::hpe::need;
use crate::schedule::{
    AttemptOutcome, Bundle, Decision, Event, JobIx, Nanos, Slot, SlotIx, Stage, Task, can_run,
};

const KINDS: [char; 4] = ['P', 'G', 'F', 'K'];

#[derive(Clone, Debug)]
struct Host {
    gpu: bool,
    fpga: bool,
    functions: u64,
    maps: usize,
    reduces: usize,
}

impl Host {
    fn has(&self) -> Bundle {
        let counted = [
            ("acc/gpu", u64::from(self.gpu)),
            ("acc/fpga", u64::from(self.fpga)),
            ("acc/kmeans-map", self.functions),
        ];
        let there = counted.into_iter().filter(|(_, amount)| *amount > 0);
        there.fold(Bundle::new(), |has, (name, amount)| has.with(name, amount))
    }

    fn serves(&self, kind: char) -> bool {
        match kind {
            'G' => self.gpu,
            'F' => self.fpga,
            'K' => self.functions > 0,
            _ => true,
        }
    }

    fn slots(&self) -> Vec<Slot> {
        let maps = vec![Slot::free(&[Stage::Map]); self.maps];
        let reduces = vec![Slot::free(&[Stage::Reduce]); self.reduces];
        maps.into_iter().chain(reduces).collect()
    }
}

fn host() -> impl Strategy<Value = Host> {
    (
        any::<bool>(),
        any::<bool>(),
        0..3_u64,
        1..4_usize,
        0..3_usize,
    )
        .prop_map(|(gpu, fpga, functions, maps, reduces)| Host {
            gpu,
            fpga,
            functions,
            maps,
            reduces,
        })
}

/// Kind and count of a job's maps, then of its reduces.
type Planned = [(usize, usize); 2];

fn job() -> impl Strategy<Value = Planned> {
    let stage = || (0..KINDS.len(), 0..3_usize);
    (stage(), stage()).prop_map(|(map, reduce)| [map, reduce])
}

struct Play {
    bed: Bed,
    hosts: Vec<Host>,
    /// The kinds of each job's maps and reduces.
    kinds: Vec<[char; 2]>,
}

impl Play {
    fn submit(&mut self, [map, reduce]: Planned) {
        let kinds = [KINDS[map.0], KINDS[reduce.0]];
        let job = JobIx(u32::try_from(self.kinds.len()).unwrap());
        self.kinds.push(kinds);
        let stages = [
            (Stage::Map, need(kinds[0])),
            (Stage::Reduce, need(kinds[1])),
        ];
        let decisions = self.bed.arrive("ann", 0, &stages);
        self.check(&decisions);
        for (stage, count) in [(Stage::Map, map.1), (Stage::Reduce, reduce.1)] {
            if count > 0 {
                let tasks = vec![Task::default(); count];
                let decisions = self.bed.tell(&Event::Runnable { job, stage, tasks });
                self.check(&decisions);
            }
        }
    }

    fn check(&self, decisions: &[Decision]) {
        let session = self.bed.driver.session();
        for decision in decisions {
            let Decision::Start {
                job, stage, slot, ..
            } = decision
            else {
                panic!("{decision:?}");
            };
            let host = &self.hosts[session.node_of(*slot).unwrap().0 as usize];
            let kind = self.kinds[job.0 as usize][usize::from(*stage == Stage::Reduce)];
            assert!(host.serves(kind), "{kind} on {host:?}");
        }
    }

    /// No free slot could have a task.
    fn is_busy(&self) {
        let session = self.bed.driver.session();
        let free: Vec<SlotIx> = session
            .free_nodes()
            .flat_map(|node| session.free_slots(node))
            .collect();
        for stage in [Stage::Map, Stage::Reduce] {
            for class in session.classes(stage) {
                let job = session.runnable(stage, class).next().unwrap();
                let idle = free
                    .iter()
                    .find(|slot| can_run(session, job, stage, **slot).is_ok());
                assert_eq!(idle, None, "{stage:?} of job {job}");
            }
        }
    }

    /// About a third of the attempts end.
    fn second(&mut self, chance: u32) {
        self.bed.now = self.bed.now.plus(Nanos::from_secs(1));
        let session = self.bed.driver.session();
        let all = session.attempts().map(|(ix, _)| ix);
        let ends = all.filter(|ix| ix.0.wrapping_mul(7).wrapping_add(chance).is_multiple_of(3));
        for attempt in ends.collect::<Vec<_>>() {
            let decisions = self.bed.tell(&Event::Ended {
                attempt,
                how: AttemptOutcome::Done,
                phases: Vec::new(),
            });
            self.check(&decisions);
        }
        self.is_busy();
    }

    /// Whether something of a plain stage is left that this cluster can run.
    fn plain_is_left(&self) -> bool {
        let session = self.bed.driver.session();
        let mut jobs = session.jobs();
        let reduces = self.hosts.iter().any(|host| host.reduces > 0);
        jobs.any(|(ix, job)| {
            let kinds = self.kinds[ix.0 as usize];
            let left = |stage| {
                job.stages
                    .get(&stage)
                    .is_some_and(|state| state.pending > 0 || state.running > 0)
            };
            (kinds[0] == 'P' && left(Stage::Map))
                || (kinds[1] == 'P' && reduces && left(Stage::Reduce))
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn no_task_is_without_its_element_and_every_plain_job_ends(
        hosts in prop::collection::vec(host(), 1..4),
        jobs in prop::collection::vec(job(), 1..5),
        policy in prop::sample::select(vec!["hpe:age=2s", "hpe:age=2s,skip=1", "hpe:age=2s,window=jobs"]),
        chances in prop::collection::vec(any::<u32>(), 8),
    ) {
        let mut play = Play { bed: Bed::new(policy, 0, 0), hosts: hosts.clone(), kinds: Vec::new() };
        for (number, host) in (0..).zip(&hosts) {
            let decisions = play.bed.join_cut(number, host.has(), host.slots());
            play.check(&decisions);
        }
        for job in jobs {
            play.submit(job);
        }
        let mut seconds = 0_u32;
        while play.plain_is_left() {
            // More of them than any cluster here can do.
            play.submit([(1, 3), (1, 0)]);
            play.second(chances[seconds as usize % chances.len()].wrapping_add(seconds));
            seconds += 1;
            prop_assert!(seconds < 600, "a plain job starves");
        }
    }
}
