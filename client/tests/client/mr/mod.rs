//! `gerbil mr`: a real program, driven, and what a session is given of its jobs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use job::MapReduceJob;
use job::wire::submission::Kind;
use nix::sys::signal::Signal;
use proto_hadoop::yarn::FinalApplicationStatus;
use tokio::process::Command;
use tokio::time::sleep;

use crate::session::fake::Transcript;
use crate::session::night::{Night, ended, output, signal, told};

type Told = (Option<i32>, String, String);

/// Where Cargo has put the program.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.parent().and_then(Path::parent).unwrap();
    target.join("examples/mr-words")
}

/// A session, and input: `in/a` of two lines, `in/b` of one.
async fn night() -> Night {
    let night = Night::start().await;
    let input = night.folder.path().join("in");
    std::fs::create_dir(&input).unwrap();
    std::fs::write(input.join("a"), "x y\nx\n").unwrap();
    std::fs::write(input.join("b"), "y\n").unwrap();
    std::fs::write(input.join("_log"), "no input").unwrap();
    night
}

fn at(night: &Night, name: &str) -> String {
    format!("file:{}", night.folder.path().join(name).display())
}

/// `gerbil mr OPTIONS PROGRAM WORDS` in the session.
fn mr(night: &Night, options: &[&str], program: &Path, words: &[&str]) -> Command {
    let mut command = night.command("gerbil");
    command
        .args([
            "mr",
            "--session",
            "night",
            "--staging",
            &at(night, "staging"),
        ])
        .args(options)
        .arg(program)
        .args(words);
    command
}

async fn run(night: &Night, options: &[&str], words: &[&str]) -> Told {
    let (input, out) = (at(night, "in"), at(night, "out"));
    let mut all = words.to_vec();
    all.extend([input.as_str(), out.as_str()]);
    told(output(mr(night, options, &program(), &all)).await)
}

fn submitted(night: &Night) -> Vec<(job::wire::Submission, MapReduceJob)> {
    let submissions = night.appmaster.submissions.lock().unwrap().clone();
    let jobs = submissions.into_iter().map(|submission| {
        let Some(Kind::Mapreduce(json)) = &submission.kind else {
            panic!("{submission:?}");
        };
        let job = serde_json::from_slice(json).unwrap();
        (submission, job)
    });
    jobs.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_comes_with_program_splits_and_settings_and_its_counters_are_shown() {
    let night = night().await;
    let site = "<configuration>\
        <property><name>mapreduce.job.reduces</name><value>5</value></property>\
        <property><name>mapreduce.framework.name</name><value>yarn</value></property>\
        <property><name>mapreduce.task.timeout</name><value>7000</value></property>\
        </configuration>";
    std::fs::write(night.folder.path().join("conf/mapred-site.xml"), site).unwrap();
    let options = [
        "-D",
        "mapreduce.job.reduces=3",
        "-Dmy.own=1",
        "-D",
        "mapreduce.map.java.opts=-Xmx1g",
        "-D",
        "gerbil.split.pack=1",
        "-D",
        "mapreduce.job.priority=HIGH",
    ];
    let (code, printed, said) = run(&night, &options, &["--reduces", "2"]).await;
    assert_eq!((code, printed.as_str()), (Some(0), ""), "{said}");
    for words in [
        "mapreduce.map.java.opts does nothing here: tasks are no JVMs",
        "words: 2 maps over 0 MB, 2 reduces",
        "words completed: tasks 1.23 s, commit 0.00 s\nCounters: 1\n\tMap-Reduce Framework\n\t\tMap input records=3",
        "lies on a disk of this machine",
    ] {
        assert_eq!(said.matches(words).count(), 1, "{words}: {said}");
    }
    let [(submission, job)] = &submitted(&night)[..] else {
        panic!();
    };
    assert_eq!(
        (submission.name.as_str(), submission.priority),
        ("words", 4)
    );
    assert_eq!(job.job, "words");
    assert_eq!((job.reduces, job.map.attempts), (2, 4));
    let setting = |name: &str| job.settings.get(name).map(String::as_str);
    assert_eq!(setting("mapreduce.job.reduces"), Some("2"));
    assert_eq!(setting("my.own"), Some("1"));
    assert_eq!(setting("mapreduce.task.timeout"), Some("7000"));
    assert_eq!(setting("mapreduce.framework.name"), None);
    let path = |name: &str| night.folder.path().join(name).display().to_string();
    assert_eq!(job.output.path, path("out"));
    let splits = job.splits.iter().map(|split| {
        let (piece, file) = (&split.pieces[0], &split.files[0]);
        assert_eq!((split.pieces.len(), split.files.len()), (1, 1));
        (piece.name.clone(), piece.length, file.path.clone())
    });
    let wanted = [
        (at(&night, "in/a"), 6, path("in/a")),
        (at(&night, "in/b"), 2, path("in/b")),
    ];
    assert_eq!(splits.collect::<Vec<_>>(), wanted);
    assert_eq!(job.addresses, [storage::Address::Shared]);

    // The program is there as it was built, and nothing of gerbil's own.
    assert_eq!(job.program.file, "mr-words");
    let links: Vec<&str> = submission
        .files
        .iter()
        .map(|file| file.link.as_str())
        .collect();
    assert!(!links.contains(&job::role::BINARY_LINK), "{links:?}");
    let staged = submission
        .files
        .iter()
        .find(|file| file.link == "mr-words")
        .unwrap();
    assert_eq!(
        std::fs::metadata(&staged.path).unwrap().len(),
        std::fs::metadata(program()).unwrap().len()
    );
    assert!(
        staged.path.ends_with(&job.program.digest),
        "{}",
        staged.path
    );
    night.lives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_runs_jobs_side_by_side_and_reads_and_removes_their_output() {
    let night = night().await;
    let (code, printed, said) = run(&night, &["-q"], &["--driver", "two"]).await;
    assert_eq!((code, printed.as_str(), said.as_str()), (Some(0), "", ""));
    let outputs: Vec<String> = submitted(&night)
        .into_iter()
        .map(|(_, job)| job.output.path)
        .collect();
    let out = night.folder.path().join("out");
    let wanted = ["one", "other"].map(|name| out.join(name).display().to_string());
    assert_eq!(outputs, wanted);
    // Folders of an output are made by who runs the job.
    assert!(!out.exists());

    let (code, printed, said) = run(&night, &[], &["--driver", "read"]).await;
    assert_eq!(
        (code, printed.as_str()),
        (Some(0), "a\t2\n3 records\n"),
        "{said}"
    );
    assert!(!out.exists());
    // The program has an option of its own for what is said of its jobs.
    let (code, _, said) = run(&night, &[], &["--quiet"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("words"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_is_refused_before_anything_is_staged() {
    let night = night().await;
    let refused = async |options: &[&str], words: &[&str], code: i32, sentence: &str| {
        let (found, _, said) = run(&night, options, words).await;
        assert_eq!(found, Some(code), "{said}");
        assert!(said.contains(sentence), "{sentence}: {said}");
    };
    let unknown = "mapreduce.job.reducers means nothing here (is mapreduce.job.reduces meant?)";
    refused(&["-D", "mapreduce.job.reducers=3"], &[], 64, unknown).await;
    refused(&["-D", "nothing"], &[], 64, "a setting is NAME=VALUE").await;
    refused(
        &["-D", "mapreduce.job.priority=soon"],
        &[],
        1,
        "makes no sense",
    )
    .await;
    // The program's own command line is its own matter.
    refused(&[], &["--drive", "x"], 64, "is --driver meant?").await;
    refused(
        &[],
        &[&at(&night, "nothing")],
        1,
        "nothing: there is no such file",
    )
    .await;
    refused(
        &[],
        &[&at(&night, "in*/z*")],
        1,
        "no such file for this pattern",
    )
    .await;
    refused(&[], &["s3a://bucket/x"], 1, "s3a:").await;
    std::fs::create_dir(night.folder.path().join("out")).unwrap();
    let there = night.folder.path().join("out/there");
    std::fs::write(&there, "").unwrap();
    refused(
        &[],
        &[],
        1,
        "out exists already; choose another, or remove it",
    )
    .await;
    std::fs::remove_file(&there).unwrap();
    // A job that was broken off has left no more than this.
    std::fs::create_dir(night.folder.path().join("out/_temporary")).unwrap();
    refused(
        &["-D", "fake.does=fail"],
        &[],
        1,
        "map 1 failed: line 3 is no number",
    )
    .await;
    std::fs::remove_dir_all(night.folder.path().join("out")).unwrap();
    let submissions = night.appmaster.submissions.lock().unwrap().len();
    assert_eq!(submissions, 1);

    let (input, out) = (at(&night, "in"), at(&night, "out"));
    let other = mr(&night, &[], Path::new("true"), &[&input, &out]);
    let (code, _, said) = told(output(other).await);
    assert_eq!(code, Some(126), "{said}");
    assert!(
        said.contains(
            "true ended before it said hello: is `main()` of the job the first statement of main?"
        ),
        "{said}"
    );
    let other = mr(&night, &[], Path::new("./nothing"), &[&input, &out]);
    let (code, _, said) = told(output(other).await);
    assert_eq!(code, Some(127), "{said}");
    // An application of its own is not beside a session.
    let mut other = night.command("gerbil");
    other.env("GERBIL_SESSION", "night");
    other.args(["mr", "--queue", "q"]);
    other.arg(program()).args([&input, &out]);
    let (code, _, said) = told(output(other).await);
    assert_eq!(code, Some(64), "{said}");
    assert!(
        said.contains("--queue: GERBIL_SESSION names session night"),
        "{said}"
    );
    let other = mr(&night, &["--queue", "q"], &program(), &[&input, &out]);
    let (code, _, said) = told(output(other).await);
    assert_eq!(code, Some(64), "{said}");
    assert!(said.contains("--session"), "{said}");
    let help = mr(&night, &[], &program(), &["--help"]);
    let (code, printed, _) = told(output(help).await);
    assert_eq!(code, Some(0));
    assert!(printed.starts_with("Usage: mr-words"), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_has_what_became_of_each_job_and_of_the_command() {
    let night = night().await;
    let path = night.folder.path().join("report.json");
    let options = ["-q", "--report", path.to_str().unwrap()];
    let report = || -> job::MapReduceReport {
        serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap()
    };
    let (code, _, said) = run(&night, &options, &[]).await;
    assert_eq!(code, Some(0), "{said}");
    let written = report();
    assert_eq!((written.session.as_str(), written.exit_code), ("night", 0));
    let [job] = &written.jobs[..] else {
        panic!("{written:?}");
    };
    assert_eq!(
        (job.name.as_str(), job.output.as_str()),
        ("words", at(&night, "out").as_str())
    );
    assert!(
        written.started_us < job.submitted_us
            && job.submitted_us <= job.ended_us
            && job.ended_us <= written.finished_us
    );
    let tasks = job.tasks.as_ref().unwrap();
    assert_eq!((tasks.maps, tasks.tasks_ms), (2, 1230));
    std::fs::remove_dir_all(night.folder.path().join("out")).unwrap();

    let failing = [&options[..], &["-D", "fake.does=exit"]].concat();
    let (code, _, said) = run(&night, &failing, &[]).await;
    assert_eq!(code, Some(3), "{said}");
    let written = report();
    assert_eq!((written.exit_code, written.jobs[0].exit_code), (3, 3));
    assert!(written.jobs[0].sentence.contains("exited with code 3"));
    // What never came to a job has a report, too.
    let wrong = [&options[..], &["-D", "nothing"]].concat();
    let (code, _, _) = run(&night, &wrong, &[]).await;
    assert_eq!((code, report().exit_code), (Some(64), 64));
    assert!(report().sentence.contains("a setting is NAME=VALUE"));
    let (code, _, said) = run(&night, &["--report", "-"], &[]).await;
    assert_eq!(code, Some(64), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_tells_the_first_job_and_submits_nothing() {
    let night = night().await;
    let (code, printed, said) = run(&night, &["--dry-run"], &["--driver", "two"]).await;
    assert_eq!(code, Some(0), "{said}");
    for words in [
        "words: 1 map over 0.0 MB, 1 reduce\n",
        "of 2 files; 0 of them near blocks, on 0 hosts\n",
        "nothing would be asked of YARN: session night has ",
    ] {
        assert_eq!(printed.matches(words).count(), 1, "{words}: {printed}");
    }
    assert!(submitted(&night).is_empty());
    let nothing = at(&night, "nothing");
    let (code, printed, said) = run(&night, &["--dry-run"], &[&nothing]).await;
    assert_eq!((code, printed.as_str()), (Some(1), ""), "{said}");
    assert!(said.contains("there is no such file"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_output_goes_to_the_trash_when_the_new_one_is_complete() {
    let night = night().await;
    let at_home = |name: &str| night.folder.path().join(name);
    let out = at_home("out");
    let overwrites = async |options: &[&str], words: &[&str]| {
        let (input, out) = (at(&night, "in"), at(&night, "out"));
        let words = [words, &[&input, &out]].concat();
        let mut command = mr(
            &night,
            &[&["--overwrite"], options].concat(),
            &program(),
            &words,
        );
        command.env("HOME", at_home("home"));
        told(output(command).await)
    };
    std::fs::create_dir(&out).unwrap();
    std::fs::write(out.join("old"), "1").unwrap();
    let (code, _, said) = overwrites(&["-D", "fake.does=fail"], &[]).await;
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(std::fs::read(out.join("old")).unwrap(), b"1");
    let (_, job) = submitted(&night).pop().unwrap();
    assert_eq!(job.output.path, at_home("_out.new").display().to_string());

    let trash = at_home(&format!("home/.Trash/Current{}", out.display()));
    let (code, _, said) = overwrites(&[], &[]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(out.join("_SUCCESS").exists() && !out.join("old").exists());
    assert_eq!(std::fs::read(trash.join("old")).unwrap(), b"1");
    assert!(
        said.contains(&format!("file:{} now", trash.display())),
        "{said}"
    );
    // Once more: a name in the trash has the time behind it.
    let (code, _, said) = overwrites(&[], &[]).await;
    assert_eq!(code, Some(0), "{said}");
    let trashed = std::fs::read_dir(trash.parent().unwrap()).unwrap();
    assert_eq!(trashed.count(), 2);
    assert!(!at_home("_out.new").exists());

    // What is left of a run that was cut off stays, and so does what the job reads.
    std::fs::create_dir(at_home("_out.new")).unwrap();
    std::fs::write(at_home("_out.new/_SUCCESS"), "").unwrap();
    let (code, _, said) = overwrites(&[], &[]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("a run that was cut off"), "{said}");
    std::fs::remove_dir_all(at_home("_out.new")).unwrap();
    let (code, _, said) = overwrites(&[], &[&at(&night, "out/part-r-00000")]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("is in its own output"), "{said}");
    assert!(out.join("_SUCCESS").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_fails_says_so_once_and_its_code_is_the_command_s() {
    let night = night().await;
    let (code, _, said) = run(&night, &["-D", "fake.does=exit"], &[]).await;
    assert_eq!(code, Some(3), "{said}");
    assert_eq!(said.matches("exited with code 3").count(), 1, "{said}");
    // The driver may make something else of it.
    let (code, _, said) = run(&night, &["-D", "fake.does=exit"], &["--driver", "again"]).await;
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("Some(\"rank 0"), "{said}");
    let (code, _, said) = run(&night, &["-D", "fake.does=large"], &[]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("session night: a task does not fit"),
        "{said}"
    );
    let (code, _, said) = run(&night, &["-D", "fake.does=lost"], &[]).await;
    assert_eq!(code, Some(70), "{said}");
    assert!(
        said.contains("lost the ApplicationMaster of session night"),
        "{said}"
    );
}

/// The next ApplicationMaster says what it has made of the job, with YARN's last word on the application.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_lost_applicationmaster_was_committing_has_its_output() {
    let lost = |words: &'static str| async move {
        let night = night().await;
        let ending = async {
            while night.appmaster.submissions.lock().unwrap().is_empty() {
                sleep(Duration::from_millis(20)).await;
            }
            // The client has lost the first one by then, or is about to.
            sleep(Duration::from_millis(500)).await;
            let status = FinalApplicationStatus::Failed;
            night.master.finish(status, words, "").await.unwrap();
        };
        let options = ["-D", "fake.does=lost"];
        let (told, ()) = tokio::join!(run(&night, &options, &[]), ending);
        told
    };
    // Its driver wants the counters.
    let words = "the ApplicationMaster was lost; the commit of job 7 to file:/o was finished";
    let (code, _, said) = lost(words).await;
    assert_eq!(code, Some(1), "{said}");
    for words in [
        "while job 7 of session night committed; the commit was finished: its output is whole",
        "its output is whole, but its counters were lost",
    ] {
        assert_eq!(said.matches(words).count(), 1, "{said}");
    }
    let words = "the ApplicationMaster was lost; job 7 was given up";
    let (code, _, said) = lost(words).await;
    assert_eq!(code, Some(70), "{said}");
    assert!(said.contains(words), "{said}");
    assert!(!said.contains("its output is whole"), "{said}");
}

/// Jobs were told to end, `jobs` of them.
fn kills(heard: &Transcript) -> usize {
    let heard = heard.lock().unwrap();
    heard
        .iter()
        .filter(|words| words.starts_with("kill "))
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_end_with_their_driver_however_that_ends() {
    let night = night().await;
    for (how, sentence) in [
        ("panic", "the driver panicked at"),
        (
            "exit",
            "the driver exited with code 0 in the middle, after 1 submitted jobs",
        ),
    ] {
        let before = kills(&night.appmaster.heard);
        let (code, _, said) = run(&night, &["-D", "fake.does=hold"], &["--driver", how]).await;
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(sentence), "{said}");
        assert_eq!(kills(&night.appmaster.heard), before + 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_ends_job_and_driver_and_twice_does_not_wait() {
    let night = night().await;
    let (input, out) = (at(&night, "in"), at(&night, "out"));
    let words = ["--driver", "loop", &input, &out];
    let child = mr(&night, &["-D", "fake.does=hold"], &program(), &words)
        .spawn()
        .unwrap();
    night.until_heard("attach 7").await;
    signal(&child, Signal::SIGINT);
    let (code, _, said) = ended(child).await;
    assert_eq!(code, Some(130), "{said}");
    assert!(
        said.contains("once more to leave it to the session"),
        "{said}"
    );
    assert!(night.heard().contains(&"kill 7 Interrupted".to_owned()));

    let child = mr(&night, &["-D", "fake.does=deaf"], &program(), &words)
        .spawn()
        .unwrap();
    night.until_heard("attach 8").await;
    signal(&child, Signal::SIGINT);
    night.until_heard("kill 8 Interrupted").await;
    signal(&child, Signal::SIGINT);
    let (code, _, said) = ended(child).await;
    assert_eq!(code, Some(130), "{said}");
    assert!(
        said.contains("was told to end, and not waited for"),
        "{said}"
    );
    night.lives().await;
}
