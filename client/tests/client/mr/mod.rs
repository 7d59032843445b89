//! `gerbil mr`: a real program, driven, and what a session is given of its jobs.

mod ended;
mod refused;

use std::path::{Path, PathBuf};

use job::MapReduceJob;
use job::wire::submission::Kind;
use tokio::process::Command;

use crate::session::night::{Night, output, told};

type CommandOutcome = (Option<i32>, String, String);

/// Where Cargo has put the program.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.parent().and_then(Path::parent).unwrap();
    let program = target.join("examples/mr-words");
    assert!(
        program.exists(),
        "{} is not there: cargo build -p client --example mr-words builds it, and so does cargo test -p client \
         without --test",
        program.display()
    );
    program
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

async fn run(night: &Night, options: &[&str], words: &[&str]) -> CommandOutcome {
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
    assert_eq!((code, printed.as_str()), (Some(64), ""), "{said}");
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
    // Where nothing is yet the job writes beside it as well: others that may overwrite it meet it there.
    let (code, _, said) = overwrites(&[], &[]).await;
    assert_eq!(code, Some(0), "{said}");
    let (_, job) = submitted(&night).pop().unwrap();
    assert_eq!(job.output.path, at_home("_out.new").display().to_string());
    assert!(out.join("_SUCCESS").exists() && !at_home("_out.new").exists());
    std::fs::remove_dir_all(&out).unwrap();

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

    // A run that was cut off between its renames has left OUT in the trash and its own output beside.
    std::fs::rename(&out, at_home("_out.new")).unwrap();
    let (code, _, said) = overwrites(&["-D", "fake.does=fail"], &[]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("a run before was cut off"), "{said}");
    assert!(out.join("_SUCCESS").exists() && !at_home("_out.new").exists());

    // What is no output of a job stays in the way, and so does what the job reads.
    std::fs::create_dir(at_home("_out.new")).unwrap();
    let (code, _, said) = overwrites(&[], &[]).await;
    assert_eq!(code, Some(64), "{said}");
    assert!(said.contains("has no _SUCCESS"), "{said}");
    std::fs::remove_dir_all(at_home("_out.new")).unwrap();
    let (code, _, said) = overwrites(&[], &[&at(&night, "out/part-r-00000")]).await;
    assert_eq!(code, Some(64), "{said}");
    assert!(said.contains("is in its own output"), "{said}");
    assert!(out.join("_SUCCESS").exists());
}
