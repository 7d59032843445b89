//! MPI jobs of a session, several at once in one launcher: nothing of one touches another.

#[cfg(test)]
mod support;

use std::path::Path;

use job::wire::launcher_event::Event as Told;
use job::wire::launcher_order::Order as Said;
use job::wire::mpi_order::Order;
use job::wire::rank_ended::How;
use job::wire::{FetchFiles, InputChunk, Share, StagedFile, Stop};
use storage::Address;
use support::door::Door;
use support::{Appmaster, Launcher, Link, share};

/// The folder of a job in the container.
fn folder(launcher: &Launcher, job: u32) -> std::path::PathBuf {
    launcher.folder.path().join(format!("jobs/{job}"))
}

/// Brings a program into a job's folder, as a session does.
#[cfg(test)]
async fn fetch(link: &mut Link, staged: &Path, job: u32, program: &str, text: &str) {
    let path = staged.join(format!("{job}-{program}"));
    std::fs::write(&path, text).unwrap();
    let files = vec![StagedFile {
        link: program.to_owned(),
        path: path.display().to_string(),
        size: text.len().try_into().unwrap(),
        ..StagedFile::default()
    }];
    let addresses = vec![serde_json::to_string(&Address::Shared).unwrap()];
    let order = FetchFiles {
        job,
        addresses,
        files,
    };
    link.say(Said::FetchFiles(order)).await;
    let fetched = |told: &Told| matches!(told, Told::FilesFetched(of) if of.job == job);
    match link.told_that(fetched).await {
        Told::FilesFetched(done) => assert_eq!(done.trouble, ""),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn each_job_has_its_folder_its_variables_and_its_output() {
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&[]);
    let staged = tempfile::tempdir().unwrap();
    let mut link = am.link().await;
    for job in [3, 1] {
        let script = format!(
            "#!/bin/sh\necho job {job} $GERBIL_JOB $PWD; pwd; echo $PMI_RANK >left.$PMI_RANK\n"
        );
        fetch(&mut link, staged.path(), job, "same", &script).await;
        link.run_of(job, share(2, &[0, 1], "same")).await;
    }
    for job in [1, 3] {
        for _ in 0..2 {
            assert_eq!(link.ended_of(job).await.how, Some(How::ExitCode(0)));
        }
        let here = folder(&launcher, job);
        let shown = here.display();
        for rank in 0..2 {
            let said = am.stdout_of(job, rank).await;
            assert_eq!(said, format!("job {job} {job} {shown}\n{shown}\n"));
            let left = std::fs::read_to_string(here.join(format!("left.{rank}"))).unwrap();
            assert_eq!(left, format!("{rank}\n"));
        }
    }
    assert_eq!(am.streams.borrow().calls, 2);
    link.end_job(1).await;
    assert!(!folder(&launcher, 1).exists() && folder(&launcher, 3).exists());
}

#[tokio::test]
async fn a_job_whose_client_reads_nothing_holds_up_no_other() {
    const STANDING: u32 = 6;
    let mut am = Appmaster::start().await;
    let _launcher = am.launcher(&[]);
    let staged = tempfile::tempdir().unwrap();
    let mut link = am.link().await;
    let jobs = 1..=STANDING;
    am.standing.send(jobs.clone().collect()).unwrap();
    let script = "#!/bin/sh\nhead -c 8388608 /dev/zero | tr '\\0' x; echo\n";
    for job in jobs.clone() {
        fetch(&mut link, staged.path(), job, "much", script).await;
        link.run_of(job, share(1, &[0], "much")).await;
    }
    // More than all queues, windows and pipes of one job hold; none of them ends.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let last = STANDING + 1;
    fetch(&mut link, staged.path(), last, "much", script).await;
    link.run_of(last, share(1, &[0], "much")).await;
    assert_eq!(link.ended_of(last).await.how, Some(How::ExitCode(0)));
    assert_eq!(am.stdout_of(last, 0).await.len(), 8_388_609);
    assert_eq!(am.so_far_of(1, 0, 0), "");
    // And it loses nothing.
    am.standing.send_replace(Default::default());
    for job in jobs {
        assert_eq!(link.ended_of(job).await.how, Some(How::ExitCode(0)));
        assert_eq!(am.stdout_of(job, 0).await.len(), 8_388_609);
    }
}

#[tokio::test]
async fn each_job_has_its_own_input() {
    let mut am = Appmaster::start().await;
    let _launcher = am.launcher(&[]);
    let staged = tempfile::tempdir().unwrap();
    let mut link = am.link().await;
    let reader = "#!/bin/sh\ncat\n";
    for job in [1, 2] {
        fetch(&mut link, staged.path(), job, "reader", reader).await;
        let share = Share {
            input: true,
            ..share(1, &[0], "reader")
        };
        link.run_of(job, share).await;
    }
    // The first reads for ever; the second to its end.
    for (job, text) in [(1, "one\n"), (2, "two\n")] {
        let chunk = InputChunk {
            data: text.as_bytes().to_vec().into(),
            ..InputChunk::default()
        };
        am.input_of(job).push(chunk, 1);
    }
    am.input_of(2).finish();
    assert_eq!(link.ended_of(2).await.how, Some(How::ExitCode(0)));
    assert_eq!(am.stdout_of(2, 0).await, "two\n");
    support::within(async {
        while am.so_far_of(1, 0, 0) != "one\n" {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    })
    .await;
    link.order_of(1, Order::Stop(Stop { grace_ms: 0 })).await;
    link.ended_of(1).await;
}

#[tokio::test]
async fn a_job_s_lanes_lead_to_its_own_client() {
    let mut am = Appmaster::start().await;
    let door = Door::open(&am, usize::MAX).await;
    let _launcher = am.launcher(&[]);
    let staged = tempfile::tempdir().unwrap();
    let mut link = am.link().await;
    let script = "#!/bin/sh\nseq 1 3000000\n";
    for job in [1, 2] {
        fetch(&mut link, staged.path(), job, "numbers", script).await;
    }
    link.order_of(2, Order::Door(door.order())).await;
    for job in [1, 2] {
        link.run_of(job, share(1, &[0], "numbers")).await;
    }
    for job in [1, 2] {
        assert_eq!(link.ended_of(job).await.how, Some(How::ExitCode(0)));
    }
    let all: usize = (1..=3_000_000)
        .map(|number: u32| number.to_string().len() + 1)
        .sum();
    assert_eq!(am.stdout_of(1, 0).await.len(), all);
    let by_appmaster = am.stdout_of(2, 0).await.len();
    let lanes = door.lanes.lock().unwrap();
    let by_lane: usize = lanes.iter().map(|lane| lane.1.len()).sum();
    assert!(by_lane > 0, "the job prints too little for a lane");
    assert_eq!(by_appmaster + by_lane, all);
}
