//! OutputCommitter committed in a folder of this machine: whoever stops wherever, and whoever goes on.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use output_committer::{CommitError, OutputCommitter, WhyRepeated};
use policy::commit::{
    AttemptName, Inheritance, Inherited, JobCommit, JobVerdict, Manifest, Setup, SetupVerdict,
    TaskResult, absolute, attempt_file,
};
use storage::{Address, Storage};

#[cfg(test)]
fn output(folder: &Path) -> OutputCommitter {
    let storage = Storage::open(&Address::Shared).unwrap();
    OutputCommitter::new(storage, folder.to_str().unwrap())
}

/// All files below, with what they hold.
#[cfg(test)]
fn tree(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

#[cfg(test)]
const fn attempt(task: u32, number: u32) -> AttemptName {
    AttemptName {
        is_map: false,
        task,
        number,
    }
}

/// The results of a job of two tasks, the second of which was repeated.
#[cfg(test)]
const RESULTS: [AttemptName; 2] = [attempt(0, 0), attempt(1, 1)];

#[cfg(test)]
fn write(top: &Path, attempt: AttemptName, name: &str) {
    let file = attempt_file("n", attempt, name);
    let path = absolute(top.to_str().unwrap(), &file);
    fs::write(path, format!("of {attempt}")).unwrap();
}

/// A job, an attempt of each of whose two tasks has ended well.
#[cfg(test)]
async fn results(top: &Path) -> OutputCommitter {
    let output = output(top);
    let owner = output.set_up(Setup::new("n"), async |_| true).await;
    assert_eq!(owner.unwrap(), SetupVerdict::Owner);
    for attempt in RESULTS.into_iter().chain([attempt(1, 0)]) {
        write(top, attempt, &format!("part{}", attempt.tag()));
    }
    output
}

#[cfg(test)]
fn commit(attempt: u32) -> JobCommit {
    let results = RESULTS.map(|attempt| TaskResult {
        attempt,
        names: None,
    });
    JobCommit::commit("n", attempt, &results)
}

/// Where jobs write.
#[cfg(test)]
fn work(top: &Path) -> PathBuf {
    PathBuf::from(absolute(top.to_str().unwrap(), "work"))
}

#[tokio::test]
async fn a_job_that_stops_anywhere_is_finished_by_the_next() {
    let calls = {
        let folder = tempfile::tempdir().unwrap();
        let output = results(&folder.path().join("out")).await;
        let (mut job, mut calls) = (commit(1), 0);
        while let Some(op) = job.next() {
            job.answered(output.carry_out(&op).await.unwrap());
            calls += 1;
        }
        assert_eq!(job.verdict(), Some(&JobVerdict::Committed));
        calls
    };
    assert!(calls > 8, "{calls} calls");
    for stop in 0..=calls {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("out");
        let first = results(&top).await;
        let mut job = commit(1);
        for _ in 0..stop {
            let Some(op) = job.next() else { break };
            job.answered(first.carry_out(&op).await.unwrap());
        }
        let verdict = output(&top).finish_job(commit(2)).await.unwrap();
        assert_eq!(verdict, JobVerdict::Committed, "after {stop} calls");
        let wanted = [
            ("_SUCCESS", ""),
            ("part-r-00000", "of attempt_r_000000_0"),
            ("part-r-00001", "of attempt_r_000001_1"),
        ];
        let wanted = wanted.map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(tree(&top), wanted.into(), "after {stop} calls");
        assert!(!work(&top).exists(), "after {stop} calls");
    }
}

/// The next ApplicationMaster knows no more than the folder.
#[tokio::test]
async fn whoever_inherits_a_job_finishes_its_commit_or_leaves_nothing_of_it() {
    let mut verdicts = Vec::new();
    for stop in 0.. {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("out");
        let first = results(&top).await;
        let (mut job, mut calls) = (commit(1), 0);
        while let Some(op) = job.next().filter(|_| calls < stop) {
            job.answered(first.carry_out(&op).await.unwrap());
            calls += 1;
        }
        if calls < stop {
            break;
        }
        let next = output(&top).inherit(Inherited::new("n", 2)).await;
        let left: Vec<String> = match top.exists() {
            true => tree(&top).into_keys().collect(),
            false => Vec::new(),
        };
        let next = next.unwrap();
        match &next {
            Inheritance::GivenUp => assert!(left.is_empty(), "after {stop} calls: {left:?}"),
            Inheritance::Finished | Inheritance::Before => {
                assert_eq!(
                    left,
                    ["_SUCCESS", "part-r-00000", "part-r-00001"],
                    "after {stop} calls"
                );
            }
            odd => panic!("{odd:?} after {stop} calls"),
        }
        verdicts.push(next);
        assert!(!work(&top).exists(), "after {stop} calls");
    }
    let given_up = verdicts.iter().filter(|it| **it == Inheritance::GivenUp);
    assert_eq!((verdicts.len(), given_up.count()), (14, 4), "{verdicts:?}");
}

#[tokio::test]
async fn a_living_owner_is_respected_and_a_dead_one_s_folder_taken() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().join("out");
    let output = results(&top).await;
    let other = output.set_up(Setup::new("m"), async |job| job == "n").await;
    let by = "n".to_owned();
    assert_eq!(other.unwrap(), SetupVerdict::Taken { by });
    assert!(!work(&top).join("m").exists());
    let other = output.set_up(Setup::new("m"), async |_| false).await;
    assert_eq!(other.unwrap(), SetupVerdict::Owner);
    let is_owner = || work(&top).join(".owner/m").is_dir() && !top.exists();
    assert!(is_owner());
    // The dead one was only slow: nothing of it comes back.
    let late = output.finish_job(commit(1)).await.unwrap();
    assert_eq!(late, JobVerdict::GivenUp);
    assert!(is_owner());
}

#[tokio::test]
async fn a_job_that_is_given_up_leaves_nothing_and_output_that_is_there_stays() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().join("out");
    let output = results(&top).await;
    let verdict = output.finish_job(JobCommit::give_up("n", 1)).await.unwrap();
    assert_eq!(verdict, JobVerdict::GivenUp);
    assert!(!top.exists() && !work(&top).exists());
    fs::create_dir(&top).unwrap();
    fs::write(top.join("part-r-00000"), "old").unwrap();
    let there = output.set_up(Setup::new("m"), async |_| true).await;
    assert_eq!(there.unwrap(), SetupVerdict::OutputExists);
    assert_eq!(tree(&top).len(), 1);
}

#[tokio::test]
async fn a_refusal_is_said_and_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    // A name that no file system takes.
    let top = folder.path().join("x".repeat(300)).join("out");
    let refused = output(&top).set_up(Setup::new("n"), async |_| true).await;
    let sentence = refused.unwrap_err().to_string();
    assert!(
        sentence.starts_with("committing the output: ") && sentence.contains("too long"),
        "{sentence}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_name_node_that_stays_away_is_given_up_with_what_was_asked() {
    // Listens, and takes no connection from its queue.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("hdfs://{}", silent.local_addr().unwrap());
    let storage = Storage::open(&Address::Hdfs {
        connect: address.clone(),
        origin: address.clone(),
        user: "alice".to_owned(),
        settings: Vec::new(),
    });
    let output = OutputCommitter::new(storage.unwrap(), "/out");
    let error = output.set_up(Setup::new("n"), async |_| true).await;
    let error = error.unwrap_err();
    assert!(matches!(error, CommitError::OutOfReach { .. }), "{error}");
    let words = format!("{address}/out was out of reach for 3");
    assert!(error.to_string().contains(&words), "{error}");
    assert!(error.to_string().contains("Look(\"out\")"), "{error}");
}

/// Part files at the end of a large job, every task of which was repeated.
const PARTS: u32 = 1000;

#[tokio::test]
async fn a_thousand_files_are_in_their_places_in_the_same_state_as_one_by_one() {
    let mut seconds = Vec::new();
    for together in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("out");
        let output = output(&top);
        let owner = output.set_up(Setup::new("n"), async |_| true).await;
        assert_eq!(owner.unwrap(), SetupVerdict::Owner);
        let name = |part: u32| format!("part-r-{part:05}");
        for part in 0..PARTS {
            write(&top, attempt(part, 1), &name(part));
        }
        let results: Vec<TaskResult> = (0..PARTS)
            .map(|part| TaskResult {
                attempt: attempt(part, 1),
                names: None,
            })
            .collect();
        let mut job = JobCommit::commit("n", 1, &results);
        let from = std::time::Instant::now();
        if together {
            let verdict = output.finish_job(job).await.unwrap();
            assert_eq!(verdict, JobVerdict::Committed);
        } else {
            while let Some(op) = job.next() {
                job.answered(output.carry_out(&op).await.unwrap());
            }
        }
        seconds.push(from.elapsed().as_secs_f64());
        let text = |part: u32| format!("of {}", attempt(part, 1));
        let mut wanted: BTreeMap<_, _> = (0..PARTS).map(|n| (name(n), text(n))).collect();
        wanted.insert("_SUCCESS".to_owned(), String::new());
        assert_eq!(tree(&top), wanted);
    }
    println!(
        "{PARTS} files: one by one {:.3} s, together {:.3} s",
        seconds[0], seconds[1]
    );
}

#[tokio::test]
async fn a_refusal_among_many_files_is_said_and_the_next_one_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().join("out");
    let output = results(&top).await;
    // Names for which there is no room: no file system takes the second.
    let long = format!("{}-r-00001", "x".repeat(300));
    let result = |attempt, name: &str| TaskResult {
        attempt,
        names: Some(vec![name.to_owned()]),
    };
    let [first, second] = RESULTS;
    let too_long = [result(first, "part-r-00000"), result(second, &long)];
    let refused = output.finish_job(JobCommit::commit("n", 1, &too_long));
    let sentence = refused.await.unwrap_err().to_string();
    assert!(sentence.contains("too long"), "{sentence}");
    // What was under way has ended.
    assert!(!top.exists() && work(&top).join("n/commit-1/part-r-00000").exists());
    let manifest = work(&top).join("n/.manifest-1");
    let readable = Manifest(vec![(second, vec!["part-r-00001".to_owned()])]);
    fs::write(&manifest, readable.to_text()).unwrap();
    let verdict = output.finish_job(JobCommit::give_up("n", 2)).await.unwrap();
    assert_eq!(verdict, JobVerdict::Committed);
    let parts =
        ["part-r-00000", "part-r-00001"].map(|name| fs::read_to_string(top.join(name)).unwrap());
    assert_eq!(parts, RESULTS.map(|attempt| format!("of {attempt}")));
}

/// Of several folders that are made at once the first ones are there when the file system refuses a later one: as with
/// a quota of names on HDFS.
#[tokio::test]
async fn who_is_refused_in_the_middle_of_its_folders_leaves_none_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().join("out");
    let long = "n".repeat(300);
    let refused = output(&top)
        .set_up(Setup::new(&long), async |_| true)
        .await
        .unwrap_err();
    assert!(matches!(refused, CommitError::Refused(_)), "{refused}");
    assert!(refused.to_string().contains("too long"), "{refused}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    // Another's folder, and what names it, stay.
    let owner = output(&top).set_up(Setup::new("n"), async |_| true).await;
    assert_eq!(owner.unwrap(), SetupVerdict::Owner);
    let before = fs::read_dir(work(&top)).unwrap().count();
    let refused = output(&top).set_up(Setup::new(&long), async |_| true).await;
    assert!(
        matches!(refused, Err(CommitError::Refused(_))),
        "{refused:?}"
    );
    assert_eq!(fs::read_dir(work(&top)).unwrap().count(), before);
}

/// Nobody answers at its port: it is said why the job waits, and in the end that it waits no more.
#[tokio::test(start_paused = true)]
async fn a_file_system_that_is_away_is_waited_for_and_named_meanwhile() {
    let storage = Storage::open(&Address::Hdfs {
        connect: "hdfs://127.0.0.1:1".to_owned(),
        origin: "hdfs://127.0.0.1:1".to_owned(),
        user: "alice".to_owned(),
        settings: Vec::new(),
    });
    let output = OutputCommitter::new(storage.unwrap(), "/out");
    let mut waits = output.waits();
    let done = output.finish_job(JobCommit::give_up("n", 1)).await;
    assert!(
        matches!(done, Err(CommitError::OutOfReach { .. })),
        "{done:?}"
    );
    let waited = waits.wait_for(Option::is_some).await.unwrap().clone();
    let Some(WhyRepeated::Away(why)) = waited else {
        panic!("{waited:?}");
    };
    assert!(why.contains("hdfs://127.0.0.1:1"), "{why}");
}
