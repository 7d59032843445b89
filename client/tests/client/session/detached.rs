//! Jobs that are left to a session.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::time::{sleep, timeout};

use super::bed::{Bed, SOON, told};

#[tokio::test(flavor = "multi_thread")]
async fn a_detached_job_is_watched_by_several_during_and_after_its_life() {
    let bed = Bed::start().await;
    let size = ["--containers", "2", "--slots-per-container", "2"];
    let (code, _, said) = bed
        .session(&[&["start", "--memory", "128"], &size[..]].concat())
        .await;
    assert_eq!(code, Some(0), "{said}");
    let go = bed.folder.path().join("go");
    let script = format!(
        "go={}; echo up $PMI_RANK; echo bad >&2; while ! test -e $go; do sleep 0.05; done; echo end; cat; \
         : > $go.$PMI_RANK; while ! test -e $go.0 || ! test -e $go.1; do sleep 0.05; done; \
         exit $((PMI_RANK * 4))",
        go.display()
    );
    let job = bed.detach(&["-n", "2"], &script).await;
    let number = job.split_once('.').unwrap().0;
    assert_eq!(job, format!("{number}.1"));
    bed.shows("(detached)").await;
    let (_, shown, _) = bed.session(&["status", "default", "--json"]).await;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["jobs"][0]["detached"], true);
    let (_, listed, said) = told(bed.gerbil(&["ps"]).spawn().unwrap()).await;
    assert!(listed.contains("sh (detached)"), "{listed}{said}");

    // One watches from now on, one leaves again, and the job does not care.
    let early = bed.gerbil(&["attach", &job]).spawn().unwrap();
    let mut leaver = bed.gerbil(&["attach", &job]).spawn().unwrap();
    let mut lines = BufReader::new(leaver.stdout.take().unwrap());
    let mut line = String::new();
    let read = timeout(SOON, lines.read_line(&mut line)).await;
    read.unwrap().unwrap();
    assert!(line.starts_with("up "), "{line}");
    let pid = i32::try_from(leaver.id().unwrap()).unwrap();
    kill(Pid::from_raw(pid), Signal::SIGINT).unwrap();
    leaver.stdout = Some(lines.into_inner());
    let (code, _, said) = told(leaver).await;
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains(&format!("{job} goes on")), "{said}");
    // So far, without waiting.
    let (code, printed, said) = told(bed.gerbil(&["logs", &job, "1"]).spawn().unwrap()).await;
    assert_eq!((code, printed.as_str()), (Some(0), "up 1\n"), "{said}");
    assert_eq!(said, "bad\n");
    let none = bed.gerbil(&["attach", "--input", &job]).spawn().unwrap();
    let (code, _, said) = told(none).await;
    assert_eq!(code, Some(65), "{said}");
    assert!(said.contains("was empty from the beginning"), "{said}");

    std::fs::write(&go, "").unwrap();
    let (code, printed, said) = told(early).await;
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("rank 1"), "{said}");
    bed.shows("no job runs, 0 waiting, 1 ended").await;
    // When it is over there is the same to be seen.
    let mut seen: Vec<&str> = printed.lines().collect();
    seen.sort_unstable();
    assert_eq!(seen, ["end", "end", "up 0", "up 1"], "{printed}");
    for _ in 0..2 {
        let (code, again, said) = told(bed.gerbil(&["attach", &job]).spawn().unwrap()).await;
        assert_eq!((code, &again), (Some(4), &printed), "{said}");
        assert!(said.contains("rank 1"), "{said}");
    }
    let (code, again, _) = told(bed.gerbil(&["logs", &job, "0"]).spawn().unwrap()).await;
    assert_eq!((code, again.as_str()), (Some(0), "up 0\nend\n"));
    let (_, shown, _) = bed.session(&["status", "default"]).await;
    assert!(shown.contains("detached jobs that have ended"), "{shown}");
    let (code, _, said) = told(
        bed.gerbil(&["logs", &format!("{number}.9")])
            .spawn()
            .unwrap(),
    )
    .await;
    assert_eq!(code, Some(70), "{said}");
    assert!(said.contains("there is no job 9 here"), "{said}");
    bed.stop().await;
}

/// Whether an ApplicationMaster keeps output anywhere below `root`. Folders may go meanwhile.
fn keeps_output(root: &Path) -> bool {
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name() == ".gerbil-output" {
                return true;
            }
            if entry.path().is_dir() {
                folders.push(entry.path());
            }
        }
    }
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn a_detached_job_takes_input_of_one_is_killed_by_name_and_ends_with_its_session() {
    let bed = Bed::start().await;
    let size = ["start", "--containers", "2", "--memory", "128"];
    let (code, _, said) = bed.session(&size).await;
    assert_eq!(code, Some(0), "{said}");
    let job = bed.detach(&["--input", "0"], "cat; echo end").await;
    let mut giver = bed.gerbil(&["attach", "--input", &job]);
    let mut giver = giver.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = giver.stdin.take().unwrap();
    stdin.write_all(b"one\n").await.unwrap();
    let mut lines = BufReader::new(giver.stdout.take().unwrap());
    let mut line = String::new();
    let read = timeout(SOON, lines.read_line(&mut line)).await;
    read.unwrap().unwrap();
    assert_eq!(line, "one\n");
    let (code, _, said) = told(bed.gerbil(&["attach", "--input", &job]).spawn().unwrap()).await;
    assert_eq!(code, Some(65), "{said}");
    assert!(
        said.contains("somebody else gives its standard input"),
        "{said}"
    );
    // It is killed: to the job that is no end of its input, and another gives the rest.
    giver.kill().await.unwrap();
    let rest = async {
        loop {
            let mut another = bed.gerbil(&["attach", "--input", &job]);
            let mut another = another.stdin(Stdio::piped()).spawn().unwrap();
            let mut stdin = another.stdin.take().unwrap();
            // One that is refused has no use for it.
            let _given = stdin.write_all(b"two\n").await.is_ok();
            drop(stdin);
            let told = told(another).await;
            if told.0 != Some(65) {
                return told;
            }
        }
    };
    let (code, printed, said) = timeout(SOON, rest).await.unwrap();
    let whole = (Some(0), "one\ntwo\nend\n");
    assert_eq!((code, printed.as_str()), whole, "{said}");

    // More than is kept: whoever comes late sees beginning and end, and how much is between.
    let job = bed.detach(&[], "seq 1 1000000").await;
    bed.shows("no job runs, 0 waiting, 2 ended").await;
    let (code, printed, said) = told(bed.gerbil(&["attach", &job]).spawn().unwrap()).await;
    assert_eq!(code, Some(0), "{said}");
    let (head, tail) = printed.split_once("[gerbil: ").unwrap();
    let (bytes, tail) = tail
        .split_once(" bytes of output are left out here]\n")
        .unwrap();
    let bytes: usize = bytes.parse().unwrap();
    let all: usize = (1..=1_000_000)
        .map(|number: u32| number.to_string().len() + 1)
        .sum();
    let between = head.len() + bytes + tail.len();
    assert!((all..=all + 1).contains(&between), "{between} of {all}");
    assert!(head.starts_with("1\n2\n") && tail.ends_with("\n1000000\n"));
    // A reader that leaves is no reason for anything.
    let mut child = bed.gerbil(&["attach", &job]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let read = timeout(SOON, lines.read_line(&mut line)).await;
    read.unwrap().unwrap();
    drop(lines);
    let (code, _, said) = told(child).await;
    assert_eq!((code, said.as_str()), (Some(128 + 13), ""));

    let job = bed.detach(&["-n", "2"], "echo up; sleep 100").await;
    let watching = bed.gerbil(&["attach", &job]).spawn().unwrap();
    bed.shows("1 job runs").await;
    let (code, _, said) = told(bed.gerbil(&["kill", &job]).spawn().unwrap()).await;
    assert_eq!(code, Some(0), "{said}");
    let (code, _, said) = told(watching).await;
    assert_eq!(code, Some(130), "{said}");

    let job = bed.detach(&[], "echo up; sleep 100").await;
    let mut watching = bed.gerbil(&["attach", &job]).spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap());
    let read = timeout(SOON, lines.read_line(&mut line)).await;
    read.unwrap().unwrap();
    watching.stdout = Some(lines.into_inner());
    let (code, _, said) = bed.session(&["stop", "default", "--now"]).await;
    assert_eq!(code, Some(0), "{said}");
    let (code, _, said) = told(watching).await;
    assert_eq!(code, Some(143), "{said}");
    let (code, _, said) = told(bed.gerbil(&["attach", &job]).spawn().unwrap()).await;
    assert_eq!(code, Some(64), "{said}");
    assert!(said.contains("no session of yours has a job"), "{said}");
    // Clients are told before the ApplicationMaster has ended; then its work folder is gone, or at least what was kept there.
    let gone = async {
        while keeps_output(bed.run.path()) {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, gone).await.unwrap();
    bed.cluster.stop(Duration::from_secs(2)).await;
}
