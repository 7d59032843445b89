//! Sessions whole: this binary as ApplicationMaster and launcher, on a small cluster in this process.

use std::process::Stdio;
use std::time::Instant;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

use super::bed::{Bed, SOON, told};

#[tokio::test(flavor = "multi_thread")]
async fn jobs_run_in_a_session_one_after_the_other_and_at_once() {
    let bed = Bed::start().await;
    let begin = Instant::now();
    let size = [
        "--containers",
        "2",
        "--slots-per-container",
        "2",
        "--memory",
        "128",
    ];
    let (code, ready, said) = bed.session(&[&["start"], &size[..]].concat()).await;
    assert_eq!(code, Some(0), "{said}");
    println!("ready after {:?}", begin.elapsed());
    assert!(
        ready.starts_with("session default is ready, with 4 slots"),
        "{ready}"
    );

    // Output, exit code, and a name of its own for each of several programs.
    for _ in 0..3 {
        let begin = Instant::now();
        let (code, printed, said) = bed.run(&["-n", "4"], "echo $PMI_RANK of $PMI_SIZE").await;
        println!("a job took {:?}", begin.elapsed());
        assert_eq!(code, Some(0), "{said}");
        let mut lines: Vec<&str> = printed.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["0 of 4", "1 of 4", "2 of 4", "3 of 4"], "{said}");
    }
    let (code, _, said) = bed.run(&["-n", "2"], "exit $((PMI_RANK * 5))").await;
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("rank 1"), "{said}");

    let mut command = bed.shell(&[], "cat; echo end");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"one\ntwo\n").await.unwrap();
    drop(stdin);
    let (code, printed, said) = told(child).await;
    assert_eq!(
        (code, printed.as_str()),
        (Some(0), "one\ntwo\nend\n"),
        "{said}"
    );

    // Two at once, of which each has half of the slots.
    let both = tokio::join!(
        bed.run(&["-n", "2"], "sleep 0.5; echo a"),
        bed.run(&["-n", "2"], "sleep 0.5; echo b"),
    );
    for ((code, printed, said), wanted) in [(both.0, "a\na\n"), (both.1, "b\nb\n")] {
        assert_eq!((code, printed.as_str()), (Some(0), wanted), "{said}");
    }
    bed.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_waits_is_shown_and_ctrl_c_ends_one_job_alone() {
    let bed = Bed::start().await;
    let size = ["--containers", "2", "--memory", "128"];
    let (code, _, said) = bed.session(&[&["start"], &size[..]].concat()).await;
    assert_eq!(code, Some(0), "{said}");
    let mut held = bed
        .shell(&["-n", "2"], "echo up; sleep 100")
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(held.stdout.take().unwrap());
    let mut line = String::new();
    timeout(SOON, lines.read_line(&mut line))
        .await
        .unwrap()
        .unwrap();
    held.stdout = Some(lines.into_inner());
    let next = bed.shell(&["-n", "1"], "echo next").spawn().unwrap();
    bed.shows("1 job runs, 1 waiting").await;
    let (_, shown, _) = bed.session(&["status", "default"]).await;
    println!("{shown}");
    let pid = i32::try_from(held.id().unwrap()).unwrap();
    kill(Pid::from_raw(pid), Signal::SIGINT).unwrap();
    let (code, _, said) = told(held).await;
    assert_eq!(code, Some(130), "{said}");
    let (code, printed, said) = told(next).await;
    assert_eq!((code, printed.as_str()), (Some(0), "next\n"), "{said}");
    bed.shows("no job runs, 0 waiting, 2 ended").await;

    // More than it can ever have.
    let (code, _, said) = bed.run(&["-n", "3"], "true").await;
    assert_eq!(code, Some(65), "{said}");
    bed.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn options_of_a_job_do_in_a_session_what_they_do_elsewhere() {
    let bed = Bed::start().await;
    let size = [
        "--containers",
        "2",
        "--slots-per-container",
        "2",
        "--memory",
        "128",
    ];
    let (code, _, said) = bed.session(&[&["start"], &size[..]].concat()).await;
    assert_eq!(code, Some(0), "{said}");

    let folder = bed.folder.path();
    let out = format!("{}/%r.out", folder.display());
    let (code, printed, said) = bed
        .run(
            &["-n", "2", "-outfile-pattern", &out, "-wdir", "/"],
            "pwd; echo $PMI_RANK",
        )
        .await;
    assert_eq!((code, printed.as_str()), (Some(0), ""), "{said}");
    let written = std::fs::read_to_string(folder.join("1.out")).unwrap();
    assert_eq!(written, "/\n1\n");

    // An archive is unpacked, and a program's own folder is its job's alone.
    let packed = folder.join("packed");
    std::fs::create_dir(&packed).unwrap();
    std::fs::write(packed.join("inside.txt"), "unpacked\n").unwrap();
    let tar = folder.join("data.tar");
    let made = Command::new("tar")
        .arg("-cf")
        .arg(&tar)
        .args(["-C", folder.to_str().unwrap(), "packed"])
        .status();
    assert!(made.await.unwrap().success());
    let archive = format!("{}#data", tar.display());
    let (code, printed, said) = bed
        .run(
            &["--archives", &archive, "-env", "A", "b"],
            "cat data/packed/inside.txt; echo $A",
        )
        .await;
    assert_eq!(
        (code, printed.as_str()),
        (Some(0), "unpacked\nb\n"),
        "{said}"
    );
    let zip = folder.join("data.zip");
    std::fs::write(&zip, "none").unwrap();
    let (code, _, said) = bed
        .run(&["--archives", zip.to_str().unwrap()], "true")
        .await;
    assert_eq!(code, Some(64), "{said}");
    assert!(said.contains("a session unpacks .tar alone"), "{said}");

    // More than its links hold at once.
    let mut command = bed.shell(&["-n", "2"], "head -c 30000000 /dev/zero");
    let mut child = command.spawn().unwrap();
    let mut printed = child.stdout.take().unwrap();
    let counting = async {
        let mut sink = tokio::io::sink();
        tokio::io::copy(&mut printed, &mut sink).await.unwrap()
    };
    let bytes = timeout(SOON, counting).await.unwrap();
    let (code, _, said) = told(child).await;
    assert_eq!((code, bytes), (Some(0), 60_000_000), "{said}");

    // A reader that leaves ends its job, and nothing else.
    let mut child = bed.shell(&[], "yes").spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    timeout(SOON, lines.read_line(&mut line))
        .await
        .unwrap()
        .unwrap();
    drop(lines);
    let (code, _, said) = told(child).await;
    assert_eq!(code, Some(128 + 13), "{said}");

    let (code, _, said) = bed.run(&["-timeout", "1"], "sleep 60").await;
    assert_eq!(code, Some(124), "{said}");
    let (code, printed, said) = bed.run(&["--pty"], "test -t 1 && echo a terminal").await;
    assert_eq!(
        (code, printed.trim_end()),
        (Some(0), "a terminal"),
        "{said}"
    );
    bed.shows("no job runs, 0 waiting, 6 ended").await;
    bed.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_loses_a_container_begins_again_in_others() {
    let bed = Bed::start().await;
    let line = "start --containers 2 --slots-per-container 2";
    let line: Vec<&str> = line.split(' ').collect();
    let (code, _, said) = bed.session(&line).await;
    assert_eq!(code, Some(0), "{said}");
    // In its first run each process waits for what never comes.
    let seen = bed.folder.path().join("seen").display().to_string();
    let script = format!(
        "if mkdir {seen}-$PMI_RANK 2>/dev/null; then echo up; sleep 600; fi; echo again $PMI_RANK"
    );
    let lose_one = async |options: &[&str]| {
        let mut running = bed.shell(options, &script).spawn().unwrap();
        let mut lines = BufReader::new(running.stdout.take().unwrap());
        for _ in 0..4 {
            let mut line = String::new();
            let read = timeout(SOON, lines.read_line(&mut line)).await;
            read.unwrap().unwrap();
            assert_eq!(line, "up\n");
        }
        running.stdout = Some(lines.into_inner());
        kill(bed.launcher(), Signal::SIGKILL).unwrap();
        told(running).await
    };
    let (code, printed, said) = lose_one(&["-n", "4", "--restarts", "1"]).await;
    let mut again: Vec<&str> = printed.lines().collect();
    again.sort_unstable();
    let all = ["again 0", "again 1", "again 2", "again 3"];
    assert_eq!((code, again), (Some(0), all.to_vec()), "{said}");
    assert!(said.contains("the program is started again"), "{said}");
    bed.shows("2 containers with 4 slots, 0 of them in use")
        .await;

    for rank in 0..4 {
        std::fs::remove_dir(format!("{seen}-{rank}")).unwrap();
    }
    let (code, printed, said) = lose_one(&["-n", "4", "--no-restart"]).await;
    assert_eq!((code, printed.as_str()), (Some(70), ""), "{said}");
    bed.shows("2 containers with 4 slots, 0 of them in use")
        .await;
    bed.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_files_cannot_be_brought_ends_and_holds_no_slot() {
    let bed = Bed::start().await;
    let data = bed.folder.path().join("data.txt");
    std::fs::write(&data, "as it was\n").unwrap();
    let files = ["-n", "2", "--files", data.to_str().unwrap()];
    let start = ["start", "default", "--containers", "2", "--memory", "128"];
    let (code, _, said) = bed.session(&start).await;
    assert_eq!(code, Some(0), "{said}");
    let (code, printed, said) = bed.run(&files, "cat data.txt").await;
    assert_eq!((code, printed.lines().count()), (Some(0), 2), "{said}");
    let (code, _, said) = bed.session(&["stop", "default"]).await;
    assert_eq!(code, Some(0), "{said}");

    // From now on something else of the same size lies where it was staged; another session's nodes have
    // none of it yet.
    let mut folders = vec![bed.run.path().join("staging")];
    let mut spoilt = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if std::fs::read(&path).unwrap() == b"as it was\n" => {
                    std::fs::write(&path, "as it is.\n").unwrap();
                    spoilt += 1;
                }
                false => {}
            }
        }
    }
    assert_eq!(spoilt, 1);
    let (code, _, said) = bed.session(&start).await;
    assert_eq!(code, Some(0), "{said}");
    let (code, _, said) = bed.run(&files, "cat data.txt").await;
    assert_ne!(code, Some(0), "{said}");
    assert!(said.contains("is not what was staged"), "{said}");
    bed.shows("no job runs, 0 waiting, 1 ended").await;
    let (code, printed, said) = bed.run(&["-n", "2"], "echo well").await;
    assert_eq!(
        (code, printed.as_str()),
        (Some(0), "well\nwell\n"),
        "{said}"
    );
    bed.stop().await;
}
