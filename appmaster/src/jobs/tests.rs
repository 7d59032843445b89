//! Jobs come, something is due for them, their clients are told, and they go.

use std::collections::BTreeMap;
use std::sync::Arc;

use job::wire::job_event::Event as ToClient;
use job::{BlockPlaces, FileAt, JobId, MapReduceJob, MpiProgram, StageTerms};
use policy::Resources;
use storage::Address;
use tokio::sync::{mpsc, oneshot};

use super::*;
use crate::console::Console;
use crate::mapreduce::{MapReduce, MapReduceEffect};
use crate::work::{JobEvent, JobWork};

const ATTACH_BY: Millis = Millis(31_000);
const NOW: Millis = Millis(1_000);

/// A job without tasks, as a session takes it.
fn entry(job: JobId) -> JobEntry {
    let terms = StageTerms {
        unit: Resources::default(),
        needs: Vec::new(),
        attempts: 4,
        speculative: true,
    };
    let description = MapReduceJob {
        program: MpiProgram::default(),
        plan: "p".into(),
        job: "words".into(),
        settings: BTreeMap::new(),
        params: serde_json::Value::Null,
        addresses: vec![Address::Shared],
        splits: Vec::new(),
        block_places: BlockPlaces::default(),
        reduces: 0,
        output: FileAt {
            address: 0,
            path: "/out".into(),
            modified_ms: 0,
        },
        map: terms.clone(),
        reduce: terms,
        history: None,
        node_failures: 3,
        skip_max: 0,
        skip_groups: 0,
        explain: false,
        wait_for_nodes: false,
        output_is_new: false,
    };
    let work = MapReduce::new(description, "application_1700000000000_0042_1");
    let console = Arc::new(Console::new(job, Arc::default()));
    JobEntry::of_session(JobWork::MapReduce(Box::new(work)), console, NOW, ATTACH_BY)
}

fn jobs(count: u32) -> Jobs {
    let mut jobs = Jobs::default();
    for _ in 0..count {
        let job = jobs.next_number();
        jobs.insert(job, entry(job));
        let todo = jobs.begin(NOW, job);
        assert!(matches!(
            todo[..],
            [Do::ForTasks(MapReduceEffect::Folder(_))]
        ));
    }
    jobs.bring_up();
    jobs
}

#[test]
fn numbers_of_jobs_are_used_once() {
    let mut jobs = Jobs::default();
    assert!(!jobs.have_come() && !jobs.has_come(JobId(1)));
    assert_eq!(jobs.next_number(), JobId(1));
    // One that is refused takes no number.
    assert_eq!(jobs.next_number(), JobId(1));
    jobs.insert(JobId(1), entry(JobId(1)));
    assert!(jobs.have_come() && jobs.has_come(JobId(1)) && !jobs.has_come(JobId(2)));
    jobs.remove(JobId(1));
    assert_eq!(
        (jobs.next_number(), jobs.ended(), jobs.len()),
        (JobId(2), 1, 0)
    );
    assert!(jobs.has_come(JobId(1)) && jobs.get(JobId(1)).is_none());
    // The one job of an application has no such number.
    assert!(!jobs.has_come(JobId::OF_APPLICATION));
}

#[test]
fn a_client_that_does_not_come_in_time_is_taken_for_gone() {
    let mut jobs = jobs(2);
    assert_eq!(jobs.first_due(), Some(ATTACH_BY));
    // The client of the other one comes.
    let (events, _heard) = mpsc::channel(1);
    let (admitted, mut admission) = oneshot::channel();
    jobs.get_mut(JobId(2)).unwrap().visited((events, admitted));
    let todo = jobs.hear(NOW, JobId(2), WorkEvent::Every(JobEvent::ClientAttached));
    let admits = todo.into_iter().find_map(|what| match what {
        Do::Admit(admission) => Some(admission),
        _ => None,
    });
    jobs.get_mut(JobId(2)).unwrap().admit(admits.unwrap());
    assert!(admission.try_recv().unwrap().is_ok());
    jobs.bring_up();
    assert_eq!(jobs.due(ATTACH_BY), [JobId(1)].into());
    let heard = jobs.overdue(ATTACH_BY, JobId(1));
    assert!(matches!(
        heard,
        Some(WorkEvent::Every(JobEvent::ClientLeft))
    ));
    jobs.bring_up();
    assert_eq!(jobs.first_due(), None);
    // Something else is due then.
    assert!(matches!(
        jobs.overdue(ATTACH_BY, JobId(1)),
        Some(WorkEvent::Every(JobEvent::Tick))
    ));
    assert!(jobs.overdue(ATTACH_BY, JobId(9)).is_none());
}

#[tokio::test]
async fn an_event_goes_to_the_client_whose_stream_has_a_place() {
    let mut jobs = jobs(2);
    let (full, _unread) = mpsc::channel(1);
    full.try_send(Ok(job::wire::JobEvent::default())).unwrap();
    let (free, mut heard) = mpsc::channel(1);
    for (job, client) in [(1, full), (2, free)] {
        let entry = jobs.get_mut(JobId(job)).unwrap();
        entry.follow(client);
        entry.outbox().unwrap().notice(format!("of job {job}"));
    }
    jobs.bring_up();
    let (job, place) = jobs.outlet().await;
    assert_eq!(job, JobId(2));
    assert!(jobs.post(job, place).is_none());
    let event = heard.try_recv().unwrap().unwrap().event;
    assert!(matches!(event, Some(ToClient::Notice(_))), "{event:?}");
    // A stream that has ended is no place.
    drop(heard);
    jobs.get_mut(job)
        .unwrap()
        .outbox()
        .unwrap()
        .notice("more".into());
    jobs.bring_up();
    let (job, place) = jobs.outlet().await;
    assert!(matches!(
        jobs.post(job, place),
        Some(WorkEvent::Every(JobEvent::ClientDeaf))
    ));
}

#[test]
fn the_loop_looks_at_the_jobs_with_which_something_has_happened() {
    let mut jobs = jobs(3);
    assert_eq!(jobs.next_touched(), None);
    jobs.hear(NOW, JobId(3), WorkEvent::Every(JobEvent::Tick));
    jobs.hear(NOW, JobId(1), WorkEvent::Every(JobEvent::Tick));
    jobs.hear(NOW, JobId(3), WorkEvent::Every(JobEvent::Tick));
    let touched: Vec<JobId> = std::iter::from_fn(|| jobs.next_touched()).collect();
    assert_eq!(touched, [JobId(1), JobId(3)]);
}
