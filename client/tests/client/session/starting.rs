//! How sessions begin, and how they end of themselves.

use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::time::sleep;

use super::bed::{Bed, SOON, told};

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_not_to_be_leaves_nothing() {
    let bed = Bed::start().await;
    let most = ["--containers", "2", "--memory", "1500"];
    let (code, _, said) = bed.session(&[&["start"], &most[..]].concat()).await;
    assert_eq!(code, Some(0), "{said}");
    let files = || {
        let folder = bed.folder.path().join("state/gerbil/sessions");
        std::fs::read_dir(folder).unwrap().count()
    };
    assert_eq!(files(), 1);

    // There is no room for another.
    let late = [&["start", "--wait-timeout", "1s"], &most[..]].concat();
    let (code, _, said) = bed.session(&late).await;
    assert_eq!(code, Some(75), "{said}");
    assert!(
        said.contains("session default-2 was not ready within 1s"),
        "{said}"
    );
    assert_eq!(files(), 1);
    let mut command = bed.command("gerbil");
    command
        .args(["session", "start", "night"])
        .arg(bed.staging())
        .args(most);
    let child = command.spawn().unwrap();
    let begin = Instant::now();
    while files() < 2 {
        assert!(begin.elapsed() < SOON);
        sleep(Duration::from_millis(20)).await;
    }
    sleep(Duration::from_secs(1)).await;
    let pid = i32::try_from(child.id().unwrap()).unwrap();
    kill(Pid::from_raw(pid), Signal::SIGINT).unwrap();
    let (code, _, said) = told(child).await;
    assert_eq!(code, Some(130), "{said}");
    assert!(
        said.contains("session night was interrupted before it was ready, and ended"),
        "{said}"
    );
    assert_eq!(files(), 1);

    // What it could never hold is refused at once.
    let wide = ["start", "wide", "--containers", "3", "--memory", "1500"];
    let (code, _, said) = bed.session(&wide).await;
    assert_eq!(code, Some(65), "{said}");
    assert!(said.contains("3 containers of 1500 MiB"), "{said}");
    assert!(said.contains("can hold 2;"), "{said}");
    let (code, _, said) = bed
        .session(&[
            "start",
            "deep",
            "--memory",
            "1g",
            "--slots-per-container",
            "4",
        ])
        .await;
    assert_eq!(code, Some(65), "{said}");
    let (_, listed, _) = bed.session(&["list"]).await;
    assert_eq!(listed.lines().count(), 2, "{listed}");
    let (code, _, said) = bed.session(&["stop", "default", "--now"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(files(), 0);
    bed.cluster.stop(Duration::from_secs(2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_start_together_have_names_of_their_own_and_end_when_nobody_needs_them() {
    let bed = Bed::start().await;
    let start = &["start", "--memory", "128"];
    let (one, other) = tokio::join!(bed.session(start), bed.session(start));
    let mut names = Vec::new();
    for (code, ready, said) in [one, other] {
        assert_eq!(code, Some(0), "{said}");
        names.push(ready.split(' ').nth(1).unwrap().to_owned());
    }
    names.sort();
    assert_eq!(names, ["default", "default-2"]);
    for name in &names {
        let (code, _, said) = bed.session(&["stop", name, "--now"]).await;
        assert_eq!(code, Some(0), "{said}");
    }

    let idle = ["start", "--memory", "128", "--session-timeout", "1s"];
    let (code, _, said) = bed.session(&idle).await;
    assert_eq!(code, Some(0), "{said}");
    let begin = Instant::now();
    loop {
        let (code, listed, said) = bed.session(&["list"]).await;
        assert_eq!(code, Some(0), "{said}");
        if listed.is_empty() {
            // Also in the moment in which it has closed its port, and YARN does not know yet that it is over.
            assert!(said.contains("there is no session"), "{said}");
            break;
        }
        assert!(begin.elapsed() < SOON, "{listed}");
    }
    let (code, _, said) = bed.run(&[], "true").await;
    assert_eq!(code, Some(64), "{said}");
    bed.cluster.stop(Duration::from_secs(2)).await;
}
