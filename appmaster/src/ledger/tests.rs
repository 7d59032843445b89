//! Slots begin and end, records are made and removed.

use job::StagingFolder;
use policy::lending::TaskStart;
use policy::schedule::{ContainerIx, Level, TaskIx};
use storage::Address;

use super::*;

const APPLICATION: ApplicationId = ApplicationId {
    cluster_timestamp: 1_700_000_000_000,
    id: 42,
};

fn id(number: u32) -> ContainerId {
    ContainerId(format!("container_1_0001_01_{number:06}"))
}

fn start(attempt: u32, container: u32, stage: schedule::Stage) -> TaskStart {
    TaskStart {
        job: 0,
        attempt: AttemptIx(attempt),
        stage,
        task: TaskIx(attempt),
        container: id(container),
        host: format!("n{container}"),
        place: ContainerIx(container),
        cpus: Vec::new(),
        speed: schedule::Speed::Plain,
        slot: 0,
        level: Level::Node,
    }
}

#[test]
fn the_timeline_says_how_each_span_ended() {
    let mut ledger = Ledger::default();
    let (gang, tasks) = (JobId(1), JobId(2));
    let shares = [2, 3].map(|number| (id(number), format!("n{number}"), 2));
    ledger.gang_begins(Millis(5), gang, "pi", shares.into());
    ledger.task_begins(
        Millis(6),
        tasks,
        "words",
        &start(0, 2, schedule::Stage::Map),
    );
    ledger.task_begins(
        Millis(7),
        tasks,
        "words",
        &start(1, 3, schedule::Stage::Reduce),
    );
    ledger.task_ends(Millis(9), tasks, AttemptIx(0), AttemptOutcome::NoDevice);
    ledger.container_lost(Millis(10), &id(3));
    ledger.job_ends(Millis(12), gang, How::Killed);
    let told = ledger.timeline(Millis(20));
    let rows = told.spans.iter();
    let rows = rows.map(|span| {
        (
            span.job,
            span.host.as_str(),
            span.began_ms,
            span.ended_ms,
            span.how(),
        )
    });
    let wanted = [
        (2, "n2", 6, 9, How::Failed),
        (1, "n3", 5, 10, How::Lost),
        (2, "n3", 7, 10, How::Lost),
        (1, "n2", 5, 12, How::Killed),
    ];
    assert_eq!(rows.collect::<Vec<_>>(), wanted);
    assert_eq!(told.spans[0].stage(), Stage::Map);
}

#[tokio::test]
async fn records_of_jobs_lie_below_the_staging_folder_until_the_session_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let staging = StagingFolder {
        address: Address::Shared,
        path: folder.path().to_str().unwrap().to_owned(),
    };
    let records = || walk(&folder.path().join("commits"));
    let output = Folder {
        address: Address::Shared,
        path: folder.path().join("out").to_str().unwrap().to_owned(),
        job: Folder::job(APPLICATION, 1),
    };
    let mut ledger = Ledger::default();
    // Without a folder for them no job is recorded, and none is refused.
    assert!(
        ledger
            .record(JobId(1), "words".into(), &output, 1)
            .is_none()
    );
    assert!(ledger.job_over(JobId(1)).is_none() && ledger.clear().is_none());
    ledger.open(&staging, APPLICATION);
    ledger
        .record(JobId(1), "words".into(), &output, 1)
        .unwrap()
        .await;
    assert!(records() > 0);
    if let Some(removing) = ledger.job_over(JobId(1)) {
        removing.await;
    }
    ledger.clear().unwrap().await;
    assert_eq!(records(), 0);
}

/// Folders below this one that have none themselves.
fn walk(folder: &std::path::Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    let below: Vec<usize> = entries
        .map(|entry| walk(&entry.unwrap().path()).max(1))
        .collect();
    below.into_iter().sum()
}
