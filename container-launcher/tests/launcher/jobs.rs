//! MPI jobs of a session, several at once in one launcher: nothing of one touches another.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use job::wire::launcher_event::Event as Told;
use job::wire::launcher_order::Order as Said;
use job::wire::mpi_event::Event;
use job::wire::mpi_order::Order;
use job::wire::rank_ended::How;
use job::wire::{FenceDone, FetchFiles, InputChunk, Share, Signal, StagedFile, Stop};
use storage::Address;

use crate::support::door::Door;
use crate::support::{self, Appmaster, Launcher, Link, is_alive, share};

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
    tokio::time::sleep(Duration::from_secs(1)).await;
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
            tokio::time::sleep(Duration::from_millis(5)).await;
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

/// Two jobs with equal ranks: one is stopped, ended, and leaves nothing; the other goes on and finishes.
#[tokio::test]
async fn one_job_ends_with_all_that_it_started_and_the_other_finishes() {
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&[]);
    let staged = tempfile::tempdir().unwrap();
    let mut link = am.link().await;
    // Each leaves an orphan that has gone from its session and its group.
    let script = "#!/bin/bash\n\
        (setsid sleep 600 & echo $! >orphan.$PMI_RANK) </dev/null >/dev/null 2>&1\n\
        trap 'echo a signal; exit 5' USR1\n\
        echo cmd=init pmi_version=1 pmi_subversion=1 >&$PMI_FD; read -r a <&$PMI_FD\n\
        echo cmd=barrier_in >&$PMI_FD; read -r a <&$PMI_FD; echo \"$a\"\n\
        while :; do sleep 0.05; done\n";
    for job in [1, 2] {
        fetch(&mut link, staged.path(), job, "waiter", script).await;
        link.run_of(job, share(2, &[0, 1], "waiter")).await;
    }
    // Both are in their barriers; one of these is opened.
    for job in [1, 2] {
        for expected in [true, false] {
            let event = link.event_of(job).await;
            assert_eq!(matches!(event, Event::PmiSeen(_)), expected, "{event:?}");
        }
    }
    for done in FenceDone::pieces(0, Vec::new()) {
        link.order_of(2, Order::FenceDone(done)).await;
    }
    let mut orphans = BTreeMap::new();
    for job in [1, 2] {
        for rank in [0, 1] {
            let pid = launcher.file(&format!("jobs/{job}/orphan.{rank}")).await;
            orphans.insert((job, rank), pid.parse::<i32>().unwrap());
        }
    }
    support::within(async {
        while [0, 1].map(|rank| am.so_far_of(2, rank, 0)) != ["cmd=barrier_out rc=0\n"; 2] {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    link.order_of(1, Order::Stop(Stop { grace_ms: 300 })).await;
    for _ in 0..2 {
        assert_eq!(link.ended_of(1).await.how, Some(How::Signal(15)));
    }
    link.end_job(1).await;
    assert!(!folder(&launcher, 1).exists());
    assert_eq!([0, 1].map(|rank| am.so_far_of(1, rank, 0)), [""; 2]);
    for (&(job, rank), &pid) in &orphans {
        assert_eq!(is_alive(pid), job == 2, "rank {rank} of job {job}");
    }
    // What is late does not bring it back.
    link.order_of(1, Order::Share(share(1, &[0], "/bin/true")))
        .await;
    link.end_job(1).await;
    assert!(!folder(&launcher, 1).exists());

    let signal = nix::sys::signal::Signal::SIGUSR1 as i32;
    link.order_of(2, Order::Signal(Signal { signal })).await;
    for _ in 0..2 {
        assert_eq!(link.ended_of(2).await.how, Some(How::ExitCode(5)));
    }
    assert!(am.stdout_of(2, 0).await.ends_with("a signal\n"));
    // Nobody leads them any more, and they are the job's all the same.
    assert!(is_alive(orphans[&(2, 0)]) && is_alive(orphans[&(2, 1)]));
    link.end_job(2).await;
    launcher.only_its_own().await;
    assert!(
        std::fs::read_dir(launcher.folder.path().join("jobs"))
            .unwrap()
            .next()
            .is_none()
    );
}

#[tokio::test]
async fn a_job_that_runs_ends_at_once_and_one_that_never_was_ends_too() {
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&[]);
    let staged = tempfile::tempdir().unwrap();
    let mut link = am.link().await;
    link.end_job(9).await;
    // It would not end by itself, has closed its folder and says more than anybody reads.
    let script = "#!/bin/bash\ntrap '' TERM\nmkdir deep; touch deep/file; chmod 500 deep .\n\
        (sleep 600 &)\nyes\n";
    am.standing.send([1].into()).unwrap();
    fetch(&mut link, staged.path(), 1, "stubborn", script).await;
    link.run_of(1, share(2, &[0, 1], "stubborn")).await;
    let deep = folder(&launcher, 1).join("deep/file");
    support::within(async {
        while !deep.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    link.end_job(1).await;
    assert!(!folder(&launcher, 1).exists());
    launcher.only_its_own().await;
    // What it was to be told is not kept for it, and the launcher is well.
    fetch(
        &mut link,
        staged.path(),
        2,
        "good",
        "#!/bin/sh\necho good\n",
    )
    .await;
    link.run_of(2, share(1, &[0], "good")).await;
    assert_eq!(link.ended_of(2).await.how, Some(How::ExitCode(0)));
    assert_eq!(am.stdout_of(2, 0).await, "good\n");
}

#[tokio::test]
async fn files_that_are_on_their_way_when_the_job_ends_do_not_come() {
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&[]);
    let staged = tempfile::tempdir().unwrap();
    let mut link = am.link().await;
    let cache = am.application.path().join("gerbil/files");
    let large = staged.path().join("large.tar");
    let mut archive = tar::Builder::new(std::fs::File::create(&large).unwrap());
    for number in 0..200 {
        let mut header = tar::Header::new_ustar();
        header.set_size(1 << 20);
        header.set_mode(0o644);
        let contents = std::io::Read::take(std::io::repeat(b'x'), 1 << 20);
        archive
            .append_data(&mut header, format!("part/{number}"), contents)
            .unwrap();
    }
    archive.into_inner().unwrap();
    let size = std::fs::metadata(&large).unwrap().len();
    // Whether it is still being brought, or unpacked.
    let moments: [fn(&Path) -> bool; 2] = [
        |part| part.join("large.tar").exists(),
        |part| part.join("unpacked/files/part/3").exists(),
    ];
    for (job, moment) in (1..).zip(moments) {
        link.say(Said::FetchFiles(FetchFiles {
            job,
            addresses: vec![serde_json::to_string(&Address::Shared).unwrap()],
            files: vec![StagedFile {
                link: "libs".to_owned(),
                path: large.display().to_string(),
                size,
                unpack: true,
                ..StagedFile::default()
            }],
        }))
        .await;
        let entries = || std::fs::read_dir(&cache).into_iter().flatten().flatten();
        support::within(async {
            while !entries().any(|entry| moment(&entry.path())) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        link.end_job(job).await;
        assert!(!folder(&launcher, job).exists());
        support::within(async {
            while entries().next().is_some() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }
    // Nothing of it is said, and nothing is brought behind it.
    fetch(&mut link, staged.path(), 3, "good", "#!/bin/sh\n").await;
    assert!(!cache.join("large.tar.d").exists());
    assert!(!folder(&launcher, 1).exists() && !folder(&launcher, 2).exists());
}

/// So many jobs, one after the other: the launcher stays as it is.
#[tokio::test]
async fn hundreds_of_jobs_leave_nothing_behind() {
    const JOBS: u32 = 300;
    const WARM: u32 = 100;
    const GROWTH_MAX_KIB: u64 = 2048;
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&[]);
    let mut link = am.link().await;
    let mut warm = (0, 0);
    let descriptors = || {
        std::fs::read_dir(format!("/proc/{}/fd", launcher.pid()))
            .unwrap()
            .count()
    };
    for job in 1..=JOBS {
        let shell = share(1, &[0], "/bin/sh");
        // What it leaves holds none of its descriptors, so that nobody waits for its last words.
        let script =
            "echo $GERBIL_JOB; echo x >file; eval \"sleep 600 >/dev/null 2>&1 $PMI_FD>&- &\"";
        link.run_of(job, support::with(shell, &["-c", script], &[]))
            .await;
        assert_eq!(link.ended_of(job).await.how, Some(How::ExitCode(0)));
        assert_eq!(am.stdout_of(job, 0).await, format!("{job}\n"));
        link.end_job(job).await;
        if job == WARM {
            warm = (launcher.status_kib("VmRSS:"), descriptors());
        }
    }
    let (resident, open) = (launcher.status_kib("VmRSS:"), descriptors());
    println!(
        "resident {} then {resident} KiB, {} then {open} descriptors",
        warm.0, warm.1
    );
    assert!(
        resident.abs_diff(warm.0) < GROWTH_MAX_KIB,
        "{} KiB, then {resident}",
        warm.0
    );
    // A pipe of the last job may be closed a moment later.
    support::within(async {
        while descriptors() > warm.1 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert!(
        std::fs::read_dir(launcher.folder.path().join("jobs"))
            .unwrap()
            .next()
            .is_none()
    );
    launcher.only_its_own().await;
}
