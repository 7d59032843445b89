//! Jobs wish for slots of containers that come and go, under the policy that sessions are started with.

use job::wire;
use job::wire::job_event::Event as ToClient;
use policy::lending::{OfferedSlot, SlotRequest, StageTerms, TaskInput, Wants};
use policy::schedule::{AttemptOutcome, JobProfile, Stage, Why, of_session};
use policy::{NodeId, ResourceTypes, Resources};
use tokio::sync::mpsc;

use super::*;

const UNIT: Resources = Resources::new(1024, 1);

/// The slots, and when it is.
struct Bed {
    slots: Slots,
    nodes: Nodes,
    now: Millis,
}

fn id(number: u32) -> ContainerId {
    ContainerId(format!("container_1_0001_01_{number:06}"))
}

impl Bed {
    /// At most so many jobs have slots at the same time; 0: any number.
    fn new(most: u32) -> Self {
        let policy = of_session("fifo").unwrap();
        let lending = Lending::new(policy, ResourceTypes::default());
        Self {
            slots: Slots::new(lending, NonZeroU32::new(most)),
            nodes: Nodes::new(policy::elements::Trust::Both, 1),
            now: Millis(1_000),
        }
    }

    /// The launcher of a container with so many slots has joined.
    fn offered(&mut self, container: u32, slots: u32) {
        let offer = Offer {
            container: id(container),
            node: NodeId(format!("n{container}:45454")),
            host: format!("n{container}"),
            rack: "/default-rack".into(),
            slots: OfferedSlot::alike(slots),
            pool: UNIT.times(slots),
            elements: BTreeMap::new(),
        };
        self.slots.offered(self.now, offer);
    }

    fn submitted(&mut self, job: u32, wants: Wants) -> JobId {
        let request = SlotRequest {
            wants,
            unit: UNIT,
            user: "ann".into(),
            queue: "default".into(),
            priority: 0,
            deadline: None,
            profile: JobProfile::default(),
            any_speed: false,
        };
        let given = LoanTerms {
            name: format!("job-{job}"),
            addresses: Vec::new(),
            files: Vec::new(),
            request,
            explain: false,
        };
        let job = JobId(job);
        self.slots.submitted(self.now, job, given);
        job
    }

    /// A gang looks for a cluster as soon as it is submitted.
    fn gang(&mut self, job: u32, processes: u32) -> JobId {
        let job = self.submitted(job, Wants::Gang(processes));
        assert_eq!(self.slots.see(job), Some(Seen::Nothing));
        job
    }

    /// A job of so many maps.
    fn maps(&mut self, job: u32, maps: u32) -> JobId {
        let terms = StageTerms {
            unit: UNIT,
            needs: Vec::new(),
            speculative: false,
            per_node: None,
        };
        let wants = Wants::Tasks {
            map: terms.clone(),
            reduce: terms,
            node_failures: 3,
        };
        let job = self.submitted(job, wants);
        self.slots.waits_for_turn(job);
        assert_eq!(self.slots.wish(self.now), [job]);
        self.runnable(job, maps);
        job
    }

    fn runnable(&mut self, job: JobId, maps: u32) {
        let inputs = vec![TaskInput::default(); maps as usize];
        self.slots.runnable(self.now, job, Stage::Map, &inputs);
    }

    /// What the jobs hear of what was decided.
    fn allotted(&mut self) -> Vec<Allotted> {
        self.slots.wish(self.now);
        let mut all = Vec::new();
        while let Some(allotted) = self.slots.next_allotted(self.now) {
            all.extend(allotted.ok());
        }
        all
    }

    /// The gangs that have slots now: where.
    fn gangs(&mut self) -> Vec<(JobId, Vec<(ContainerId, u32)>)> {
        let gangs = self.allotted().into_iter().map(|allotted| match allotted {
            Allotted::Gang { job, lent, view } => {
                assert_eq!(view.nodes.len(), lent.shares.len());
                (job, lent.shares)
            }
            other => panic!("{other:?}"),
        });
        gangs.collect()
    }

    /// A gang begins in its containers, and its files are there.
    fn begins(&mut self, job: JobId, containers: &[u32]) {
        for container in containers {
            assert!(self.slots.begins_in(job, &id(*container)).is_some());
            assert!(self.slots.fetched(job, &id(*container), true));
            // They are brought once.
            assert!(!self.slots.fetched(job, &id(*container), true));
        }
    }

    fn lost(&mut self, container: u32) -> Vec<JobId> {
        self.slots.lost(self.now, &id(container));
        self.slots.gone(&id(container))
    }
}

#[test]
fn a_gang_that_loses_a_launcher_leaves_the_others_and_waits_for_as_many_slots() {
    let mut bed = Bed::new(0);
    (2..=3).for_each(|container| bed.offered(container, 2));
    let job = bed.gang(1, 4);
    assert_eq!(bed.gangs(), [(job, vec![(id(2), 2), (id(3), 2)])]);
    assert!(matches!(bed.slots.see(job), Some(Seen::Slots(_))));
    bed.begins(job, &[2, 3]);
    assert_eq!(bed.lost(2), [job]);
    assert!(bed.slots.jobs_in(&id(2)).is_empty());
    // It looks for a cluster again.
    assert_eq!(bed.slots.see(job), Some(Seen::Leaves(vec![id(3)])));
    assert!(!bed.slots.begins_again(bed.now, job), "it is there still");
    assert!(bed.slots.left(job, &id(3)));
    assert!(bed.slots.begins_again(bed.now, job));
    assert!(!bed.slots.has_slots(job));
    assert!(bed.gangs().is_empty(), "two slots are left");
    bed.offered(4, 2);
    assert_eq!(bed.gangs(), [(job, vec![(id(3), 2), (id(4), 2)])]);
    assert!(bed.slots.has_slots(job));
}

#[test]
fn a_gang_whose_container_is_lost_before_it_hears_of_its_slots_waits_for_as_many() {
    let mut bed = Bed::new(0);
    (2..=3).for_each(|container| bed.offered(container, 2));
    let job = bed.gang(1, 3);
    bed.slots.wish(bed.now);
    assert_eq!(
        bed.slots.in_use(),
        [id(2), id(3)].into(),
        "about to be used"
    );
    assert!(bed.lost(2).is_empty(), "no job is there yet");
    assert_eq!(bed.allotted(), [Allotted::GangAnew]);
    assert!(!bed.slots.has_slots(job) && bed.slots.in_use().is_empty());
    bed.slots.wish(bed.now);
    bed.slots.tick(bed.now);
    assert!(bed.gangs().is_empty());
    bed.offered(4, 1);
    assert_eq!(bed.gangs(), [(job, vec![(id(3), 2), (id(4), 1)])]);
}

#[test]
fn nothing_begins_in_a_container_that_is_wanted_back_while_a_slot_is_wished_for() {
    let mut bed = Bed::new(0);
    bed.offered(2, 2);
    let job = bed.maps(1, 1);
    assert_eq!(
        bed.slots.in_use(),
        [id(2)].into(),
        "decided, and not heard yet"
    );
    let [Allotted::Task { start, .. }] = &bed.allotted()[..] else {
        panic!("no task has a slot");
    };
    let attempt = start.attempt;
    bed.slots
        .leaving(bed.now, &id(2), bed.now.plus(Millis(15_000)));
    bed.runnable(job, 1);
    let begun = |allotted: &Allotted| matches!(allotted, Allotted::Task { .. });
    assert!(!bed.allotted().iter().any(begun));
    assert_eq!(bed.slots.lacking(), 1);
    // What runs there goes on to its end.
    bed.slots
        .ended(bed.now, attempt, AttemptOutcome::Done, Vec::new());
    bed.offered(3, 2);
    let allotted = bed.allotted();
    let [Allotted::Task { job: of, start }] = &allotted[..] else {
        panic!("{allotted:?}");
    };
    assert_eq!((of, &start.container, start.task.0), (&job, &id(3), 1));
}

#[test]
fn a_task_whose_container_is_lost_before_its_job_hears_of_the_slot_is_placed_again() {
    let mut bed = Bed::new(0);
    bed.offered(2, 1);
    let job = bed.maps(1, 1);
    bed.lost(2);
    assert!(bed.allotted().is_empty(), "the slot is gone");
    bed.offered(3, 1);
    let allotted = bed.allotted();
    let [Allotted::Task { job: of, start }] = &allotted[..] else {
        panic!("{allotted:?}");
    };
    assert_eq!((of, &start.container), (&job, &id(3)));
}

#[test]
fn an_attempt_that_is_to_stop_is_told_to_its_own_job() {
    let mut bed = Bed::new(0);
    let (job, attempt) = (bed.maps(7, 1), policy::schedule::AttemptIx(0));
    let why = Why::Preempted;
    let stop = |job| Word::Stop { job, attempt, why };
    bed.slots.unheard.extend([stop(0), stop(9)]);
    // No wish has the number 9 any more.
    assert_eq!(bed.allotted(), [Allotted::Stop { job, attempt, why }]);
}

#[test]
fn a_job_that_is_over_returns_its_slots_when_every_launcher_has_left_it() {
    let mut bed = Bed::new(1);
    bed.offered(2, 2);
    let (one, next) = (bed.gang(1, 2), bed.gang(2, 2));
    assert_eq!(bed.gangs(), [(one, vec![(id(2), 2)])]);
    bed.begins(one, &[2]);
    let waits = |bed: &Bed| {
        let around = Around {
            nodes: &bed.nodes,
            missing: 0,
        };
        let wait = bed.slots.waits(next, &mut bed.slots.line(), around);
        wait.map(|wait| wait.words)
    };
    let turn = "waits for another job to end: 1 run, as --max-running says";
    assert_eq!(waits(&bed).as_deref(), Some(turn));
    assert_eq!(bed.slots.is_done(one), [id(2)]);
    assert!(
        bed.slots.is_done(one).is_empty(),
        "it has been told to leave"
    );
    assert!(!bed.slots.is_left(one));
    assert!(bed.slots.left(one, &id(2)) && bed.slots.is_left(one));
    assert!(!bed.slots.has_returned(one));
    assert!(bed.slots.take_back(bed.now, one) && bed.slots.has_returned(one));
    assert!(!bed.slots.take_back(bed.now, one), "it has none");
    assert_eq!(bed.gangs(), [(next, vec![(id(2), 2)])]);
    assert_eq!(waits(&bed), None);
    bed.slots.forget(one);
    assert!(bed.slots.wishes.len() == 1 && bed.slots.loans.len() == 1);
}

#[test]
fn a_job_that_is_killed_while_it_waits_leaves_its_place_to_the_next() {
    let mut bed = Bed::new(0);
    let (one, next) = (bed.gang(1, 2), bed.gang(2, 2));
    assert!(bed.gangs().is_empty());
    assert!(bed.slots.is_done(one).is_empty() && bed.slots.is_left(one));
    assert!(bed.slots.take_back(bed.now, one));
    bed.offered(2, 2);
    assert_eq!(bed.gangs(), [(next, vec![(id(2), 2)])]);
}

#[test]
fn what_jobs_wait_for_is_shown_a_moment_after_the_first_change() {
    let mut bed = Bed::new(0);
    assert_eq!(bed.slots.dues()[1].1, None);
    assert!(!bed.slots.have_changed());
    bed.offered(2, 1);
    assert!(bed.slots.have_changed() && !bed.slots.have_changed());
    let at = bed.now.plus(SHOW);
    bed.now = bed.now.plus(Millis(400));
    bed.offered(3, 1);
    assert_eq!(bed.slots.dues()[1].1, Some(at));
    assert!(!bed.slots.is_to_show(Millis(at.0 - 1)));
    assert!(bed.slots.is_to_show(at) && !bed.slots.is_to_show(at));
}

#[test]
fn a_client_hears_why_its_job_waits_once() {
    let mut bed = Bed::new(0);
    bed.offered(2, 3);
    let job = bed.gang(1, 4);
    assert!(bed.gangs().is_empty());
    let (client, mut heard) = mpsc::channel::<Result<wire::JobEvent, _>>(8);
    let show = |bed: &mut Bed, client, asking: &str| {
        let around = Around {
            nodes: &bed.nodes,
            missing: 0,
        };
        let wait = bed.slots.waits(job, &mut bed.slots.line(), around);
        let at = Millis(5);
        bed.slots.tell_waiting(job, at, wait, asking, client)
    };
    for asking in ["", "", "the queue is full", "the queue is full"] {
        assert_eq!(show(&mut bed, Some(&client), asking), None);
    }
    let mut notes = Vec::new();
    while let Ok(Ok(event)) = heard.try_recv() {
        match event.event {
            Some(ToClient::Phase(phase)) => notes.push(phase.note),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].starts_with("waits for 4 slots of 1024 MiB: 3 free"));
    assert!(notes[1].ends_with("; no container more: the queue is full"));
    // Of one without a client the ApplicationMaster keeps it.
    let kept = show(&mut bed, None, "");
    assert!(matches!(kept, Some(ToClient::Phase(phase)) if phase.note == notes[0]));
}

/// `cargo test --release -p appmaster --lib -- --ignored --nocapture five_thousand`
#[test]
#[ignore = "prints how long a session of 5,000 containers takes, which depends on the machine"]
fn five_thousand_containers_of_eight_slots() {
    let mut bed = Bed::new(0);
    let timed = |what: &str, began: Instant| println!("{what}: {:?}", began.elapsed());
    let began = Instant::now();
    (1..=5_000).for_each(|container| bed.offered(container, 8));
    timed("5,000 joins", began);
    let began = Instant::now();
    let job = bed.gang(1, 40_000);
    let gangs = bed.gangs();
    timed("a gang of all 40,000 slots", began);
    assert_eq!((gangs[0].0, gangs[0].1.len()), (job, 5_000));
    let began = Instant::now();
    let around = Around {
        nodes: &bed.nodes,
        missing: 0,
    };
    let rows = bed.slots.row(bed.now, job, &mut bed.slots.line(), around);
    let lent: u32 = bed.slots.offers().map(|(_, lent)| lent).sum();
    timed("a look", began);
    assert_eq!((rows.unwrap().slots, lent), (40_000, 40_000));
    let began = Instant::now();
    assert_eq!(bed.slots.in_use().len(), 5_000);
    timed("containers in use", began);
    assert!(bed.slots.is_done(job).is_empty() && bed.slots.is_left(job));
    bed.slots.take_back(bed.now, job);
    let began = Instant::now();
    let job = bed.maps(2, 20_000);
    assert_eq!(bed.allotted().len(), 20_000);
    timed("20,000 starts", began);
    let began = Instant::now();
    bed.slots.ended(
        bed.now,
        policy::schedule::AttemptIx(40_000),
        AttemptOutcome::Done,
        Vec::new(),
    );
    timed("the end of one attempt, with idle slots", began);
    assert_eq!(bed.slots.name(job), Some("job-2"));
}
