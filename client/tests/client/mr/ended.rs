//! Jobs that fail, and those that end with whoever has driven them.

use std::time::Duration;

use nix::sys::signal::Signal;
use proto_hadoop::yarn::{FinalApplicationStatus, YarnApplicationState};
use session::{Name, SessionRecord, SessionsFolder};
use tokio::time::{sleep, timeout};

use super::*;
use crate::session::fake::Transcript;
use crate::session::night::{SOON, ended, signal};

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
    assert_eq!(code, Some(65), "{said}");
    assert!(
        said.contains("session night: a task does not fit"),
        "{said}"
    );
    let (code, _, said) = run(&night, &["-D", "fake.does=lost"], &[]).await;
    assert_eq!(code, Some(70), "{said}");
    assert!(
        said.contains("the connection to session night broke")
            && said.contains("is over: it had come to its end before, or was ended")
            && said.contains("its output is whole where it has _SUCCESS"),
        "{said}"
    );
    let (code, _, said) = run(&night, &["-D", "fake.does=gone"], &[]).await;
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
            let is_submitted = async {
                while night.appmaster.submissions.lock().unwrap().is_empty() {
                    sleep(Duration::from_millis(20)).await;
                }
            };
            let submitted = timeout(SOON, is_submitted).await;
            submitted.expect("the client has submitted a job");
            // The client has lost the first one by then, or is about to.
            sleep(Duration::from_millis(500)).await;
            let status = FinalApplicationStatus::Failed;
            night.master.finish(status, words, "").await.unwrap();
        };
        let options = ["-D", "fake.does=gone"];
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

/// `gerbil kill` of its application, or of its session's.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_application_is_killed_says_so() {
    let night = night().await;
    let killing = async {
        night.until_heard("attach 7").await;
        night.rm.kill(&night.id, Some("by hand")).await.unwrap();
    };
    let options = ["-D", "fake.does=gone"];
    let ((code, _, said), ()) = tokio::join!(run(&night, &options, &[]), killing);
    assert_eq!(code, Some(143), "{said}");
    assert!(
        said.contains("was killed through YARN")
            && said.contains("job 7 of session night ended with it"),
        "{said}"
    );
    assert!(!said.contains("lost the ApplicationMaster"), "{said}");
}

/// `gerbil kill` of the application that one command has for itself, whose key is here.
#[tokio::test(flavor = "multi_thread")]
async fn an_application_of_a_command_is_ended_in_order() {
    let night = night().await;
    let state = night.folder.path().join("state");
    let applications = SessionsFolder::of_applications(Some(state)).unwrap();
    let kept = night.kept.find_session(&"night".parse().unwrap()).unwrap();
    let kept = SessionRecord {
        name: Name::of_application(night.id),
        ..kept
    };
    assert!(applications.keep(&kept).unwrap());
    let ending = async {
        night.until_heard("stop now=true").await;
        let status = FinalApplicationStatus::Killed;
        night.master.finish(status, "in order", "").await.unwrap();
    };
    let id = night.id.to_string();
    let words = ["kill", id.as_str()];
    let ((code, _, said), ()) = tokio::join!(night.gerbil(&words), ending);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(&format!("{id} is KILLED")), "{said}");
    let report = night.rm.report(&night.id).await.unwrap();
    assert_eq!(report.state, YarnApplicationState::Finished, "{report:?}");
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
