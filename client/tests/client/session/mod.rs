//! Jobs of a session and the commands on it, against an ApplicationMaster that stands in for a session's, over
//! the true wire and TLS, and a ResourceManager that knows it.

#[cfg(test)]
mod bed;
#[cfg(test)]
mod detached;
#[cfg(test)]
pub mod fake;
#[cfg(test)]
mod forged;
#[cfg(test)]
mod left;
#[cfg(test)]
mod local;
#[cfg(test)]
pub mod night;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod starting;
#[cfg(test)]
mod whole;

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::process::Stdio;

    use nix::sys::signal::Signal;
    use proto_hadoop::yarn::{FinalApplicationStatus, YarnApplicationState};
    use tokio::io::AsyncWriteExt as _;

    use super::night::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_job_goes_to_the_session_with_its_files_and_brings_back_output_and_exit_code() {
        let night = Night::start().await;
        let extra = night.folder.path().join("extra.txt");
        std::fs::write(&extra, "data").unwrap();
        let files = format!("{}#in.txt", extra.display());
        let report = night.folder.path().join("report.json");
        let command = night.job(
            &[
                "-n",
                "2",
                "-p",
                "5",
                "--files",
                &files,
                "--report",
                report.to_str().unwrap(),
                "-l",
            ],
            "exit",
        );
        let (code, printed, said) = told(output(command).await);
        assert_eq!((code, printed.as_str()), (Some(3), "[0] up\n"), "{said}");
        assert!(said.contains("[0] oh no"), "{said}");
        assert!(said.contains("rank 0 on n1 exited with code 3"), "{said}");

        let submission = night.appmaster.submissions.lock().unwrap().remove(0);
        assert_eq!(submission.build, job::BUILD);
        assert_eq!(
            (
                submission.name.as_str(),
                submission.user.as_str(),
                submission.priority
            ),
            ("sh", USER, 5)
        );
        let Some(job::wire::submission::Kind::Mpi(mpi)) = &submission.kind else {
            panic!("{submission:?}");
        };
        let mpi: job::MpiJob = serde_json::from_slice(mpi).unwrap();
        assert_eq!(mpi.processes(), 2);
        assert!(!mpi.demand.memory_is_explicit);
        assert_eq!(mpi.programs[0].file, "sh");
        let links: Vec<&str> = submission
            .files
            .iter()
            .map(|file| file.link.as_str())
            .collect();
        assert!(
            links.contains(&"sh") && links.contains(&"in.txt"),
            "{links:?}"
        );
        assert!(!links.contains(&job::role::BINARY_LINK), "{links:?}");
        for file in &submission.files {
            let address: storage::Address =
                serde_json::from_str(&submission.addresses[file.address as usize]).unwrap();
            assert_eq!(address, storage::Address::Shared);
            assert_eq!(std::fs::metadata(&file.path).unwrap().len(), file.size);
            assert_eq!(file.unpack, file.path.ends_with(".tar"), "{}", file.link);
        }
        let report = std::fs::read_to_string(report).unwrap();
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["application"], format!("{}.7", night.id));
        assert_eq!(report["exit_code"], 3);
        night.lives().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn input_reaches_the_job_that_it_is_for_even_when_there_is_none() {
        let night = Night::start().await;
        let mut command = night.job(&[], "echo");
        command.stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"one\ntwo\n").await.unwrap();
        drop(stdin);
        let (code, printed, said) = ended(child).await;
        assert_eq!((code, printed.as_str()), (Some(0), "one\ntwo\n"), "{said}");
        // Standard input is /dev/null: it ends without a byte.
        let mut command = night.job(&[], "echo");
        command.stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdin.take());
        let (code, printed, said) = ended(child).await;
        assert_eq!((code, printed.as_str()), (Some(0), ""), "{said}");
        let file = night.folder.path().join("in");
        std::fs::write(&file, "three\n").unwrap();
        let command = night.job(&["--input", file.to_str().unwrap()], "echo");
        let (code, printed, said) = told(output(command).await);
        assert_eq!((code, printed.as_str()), (Some(0), "three\n"), "{said}");
        let attached = ["attach 7", "attach 8", "attach 9"];
        let heard = night.heard();
        assert!(
            attached
                .iter()
                .all(|attach| heard.iter().any(|one| one == attach)),
            "{heard:?}"
        );
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn ctrl_c_ends_the_job_alone_and_twice_stops_waiting_for_it() {
        let night = Night::start().await;
        let child = up(night.job(&[], "hold")).await;
        signal(&child, Signal::SIGINT);
        let (code, _, said) = ended(child).await;
        assert_eq!(code, Some(130), "{said}");
        assert!(
            said.contains("once more to leave it to the session"),
            "{said}"
        );
        assert!(
            night.heard().contains(&"kill 7 Interrupted".to_owned()),
            "{:?}",
            night.heard()
        );
        night.lives().await;

        let child = up(night.job(&[], "deaf")).await;
        signal(&child, Signal::SIGINT);
        night.until_heard("kill 8 Interrupted").await;
        signal(&child, Signal::SIGINT);
        let (code, _, said) = ended(child).await;
        assert_eq!(code, Some(130), "{said}");
        assert!(
            said.contains("job 8 of session night was told to end, and not waited for"),
            "{said}"
        );
        night.lives().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_detached_job_is_a_name_alone_and_who_watches_it_leaves_it_as_it_is() {
        let night = Night::start().await;
        let command = night.job(&["--detach", "-n", "2"], "exit");
        let (code, printed, said) = told(output(command).await);
        let number = night.id.id;
        let name = format!("s{number}.7");
        assert_eq!((code, printed), (Some(0), format!("{name}\n")), "{said}");
        assert_eq!(said, "");
        {
            let submissions = night.appmaster.submissions.lock().unwrap();
            let [submission] = &submissions[..] else {
                panic!("{submissions:?}");
            };
            assert!(submission.detached);
            let Some(job::wire::submission::Kind::Mpi(mpi)) = &submission.kind else {
                panic!("{submission:?}");
            };
            let mpi: job::MpiJob = serde_json::from_slice(mpi).unwrap();
            assert!(!mpi.input);
        }
        let gap = "[gerbil: 7 bytes of output are left out here]\n";
        for _ in 0..2 {
            let (code, printed, said) = night.gerbil(&["attach", &name]).await;
            assert_eq!((code, printed), (Some(3), format!("up\n{gap}end\n")));
            assert!(said.contains("rank 0 on n1 exited with code 3"), "{said}");
        }
        let (code, printed, _) = night.gerbil(&["logs", &name, "-l"]).await;
        let wanted = format!("[0] up\n{gap}[1] end\n");
        assert_eq!((code, printed), (Some(0), wanted));
        let (code, printed, _) = night.gerbil(&["logs", &name, "1"]).await;
        assert_eq!((code, printed.as_str()), (Some(0), "end\n"));
        // What had which slots when.
        for (file, wanted) in [
            (
                "gantt.svg",
                format!("{name} cpi gang 1: 1.00 to 3.00 s, done"),
            ),
            ("gantt.json", format!("\"job\": \"{name} cpi\"")),
        ] {
            let path = night.folder.path().join(file);
            let line = ["status", "night", "--gantt", path.to_str().unwrap()];
            let (code, _, said) = night.session(&line).await;
            assert_eq!(code, Some(0), "{said}");
            assert!(said.contains("what 1 job of session night had"), "{said}");
            assert!(said.contains("4 older spans are not kept"), "{said}");
            let written = std::fs::read_to_string(&path).unwrap();
            assert!(written.contains(&wanted), "{written}");
        }
        // What a task has printed, of the last attempt or of one that is named.
        let gap = "[gerbil: 5 bytes of output are left out here]\n";
        let (code, printed, said) = night.gerbil(&["logs", &name, "m3"]).await;
        assert_eq!((code, printed), (Some(0), format!("3 of 7\n{gap}")));
        assert_eq!(said, "reduce false\n");
        let (_, _, said) = night.gerbil(&["logs", &name, "r_000002_0"]).await;
        assert_eq!(said, "reduce true\n");
        let (code, _, said) = night.gerbil(&["logs", &name, "r4"]).await;
        assert_eq!(code, Some(70), "{said}");
        assert!(
            said.contains("session night: the job has no such task"),
            "{said}"
        );
        let tasks = format!("s{number}.5");
        let (code, printed, said) = night.gerbil(&["logs", &tasks]).await;
        assert_eq!(code, Some(0), "{said}");
        let lines: Vec<Vec<&str>> = (printed.lines().skip(1))
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(lines, [["m0.1", "running", "n1"], ["r2", "failed", "n2"]]);
        let wanted = format!("{tasks} is a MapReduce job: gerbil logs {tasks} m0 prints");
        assert!(
            said.contains(&wanted) && said.contains("7 attempts that ended well are not listed"),
            "{said}"
        );
        let (code, _, said) = night.gerbil(&["logs", "s999.1", "r4"]).await;
        assert_eq!(code, Some(64), "{said}");
        assert!(
            said.contains("no session of yours has a job s999.1"),
            "{said}"
        );
        let (code, _, said) = night.gerbil(&["logs", &name, "x4"]).await;
        assert_eq!(code, Some(64), "{said}");
        assert!(said.contains("m3 is map 3"), "{said}");
        let (code, _, said) = night.gerbil(&["attach", &name, "--input"]).await;
        assert_eq!(code, Some(65), "{said}");
        assert!(
            said.contains(&format!(
                "cannot attach to {name}: its standard input is empty"
            )),
            "{said}"
        );

        // Ctrl-C leaves it, and tells nobody to end it.
        let hold = night.job(&["--detach"], "hold");
        let (_, printed, _) = told(output(hold).await);
        let name = printed.trim_end();
        let mut command = night.command("gerbil");
        command.args(["attach", name]);
        let child = up(command).await;
        signal(&child, Signal::SIGINT);
        let (code, _, said) = ended(child).await;
        assert_eq!(code, Some(130), "{said}");
        assert!(
            said.contains(&format!("{name} goes on; gerbil attach {name}"))
                && said.contains(&format!("gerbil kill {name} ends it")),
            "{said}"
        );
        night.until_heard("left 8").await;
        assert!(!night.heard().iter().any(|heard| heard.starts_with("kill")));

        // What is followed is nobody else's.
        let followed = up(night.job(&[], "hold")).await;
        let other = format!("s{number}.9");
        let (code, _, said) = night.gerbil(&["attach", &other]).await;
        assert_eq!(code, Some(70), "{said}");
        let (code, _, said) = night.gerbil(&["logs", &other]).await;
        assert_eq!(code, Some(65), "{said}");
        assert!(said.contains("session night: nothing is kept"), "{said}");
        signal(&followed, Signal::SIGINT);
        ended(followed).await;
        night.lives().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_key_lets_another_host_use_the_session() {
        let night = Night::start().await;
        let key = night.folder.path().join("key");
        let path = key.to_str().unwrap();
        let (code, printed, said) = night.session(&["key", "night", "-o", path]).await;
        assert_eq!((code, printed.as_str()), (Some(0), ""), "{said}");
        assert!(said.contains("run programs as tester"), "{said}");
        let (code, printed, _) = night.session(&["key", "night"]).await;
        let written = std::fs::read_to_string(&key).unwrap();
        assert_eq!((code, &printed), (Some(0), &written));
        // Another host has another state folder.
        let there = night.folder.path().join("there");
        let gerbil = |words: &[&str]| {
            let mut command = night.command("gerbil");
            command.env("XDG_STATE_HOME", &there).args(words);
            command
        };
        let (code, _, said) = told(output(gerbil(&["session", "import", path])).await);
        assert_eq!(code, Some(0), "{said}");
        let mut piped = gerbil(&["session", "import", "-", "--name", "mine"]);
        piped.stdin(std::fs::File::open(&key).unwrap());
        let (code, _, said) = told(output(piped).await);
        assert_eq!(code, Some(0), "{said}");
        let (code, shown, said) = told(output(gerbil(&["session", "status", "mine"])).await);
        assert_eq!(code, Some(0), "{said}");
        assert!(shown.contains("1 container with 2 slots"), "{shown}");
        let mut job = night.job(&[], "exit");
        job.env("XDG_STATE_HOME", &there);
        let (code, printed, said) = told(output(job).await);
        assert_eq!((code, printed.as_str()), (Some(3), "up\n"), "{said}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_job_that_does_not_run_in_time_is_given_up_and_a_lost_link_is_told() {
        let night = Night::start().await;
        let (code, _, said) = told(output(night.job(&["--wait-timeout", "300ms"], "wait")).await);
        assert_eq!(code, Some(75), "{said}");
        assert!(
            said.contains("job 7 of session night did not run within 300ms"),
            "{said}"
        );
        let (code, _, said) = told(output(night.job(&[], "lost")).await);
        assert_eq!(code, Some(70), "{said}");
        // Its ApplicationMaster is well, and says so when it is dialled once more.
        assert!(
            said.contains("the connection to session night broke")
                && said.contains("job 8 is over"),
            "{said}"
        );
        assert!(!said.contains("lost the ApplicationMaster"), "{said}");
        night.lives().await;
        // As one that is killed is: nobody answers.
        let (code, _, said) = told(output(night.job(&[], "gone")).await);
        assert_eq!(code, Some(70), "{said}");
        let wanted = format!(
            "lost the ApplicationMaster of session night ({}), and with it job 9",
            night.id
        );
        assert!(said.contains(&wanted), "{said}");
        let night = Night::start().await;
        // What the session itself says against a job.
        let (code, _, said) = told(output(night.job(&["-n", "9"], "large")).await);
        assert_eq!(code, Some(65), "{said}");
        assert!(
            said.contains("session night: 9 slots are wanted, and the session has 2"),
            "{said}"
        );
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn who_names_no_session_that_there_is_is_told_which_there_are() {
        let night = Night::start().await;
        night.keep("old", "0.0.1+0");
        let run = |options: &'static [&str]| {
            let mut command = night.command("gerbil-run");
            command.args(options).arg("sh");
            async { told(output(command).await) }
        };
        let (code, _, said) = run(&["--session", "nigth"]).await;
        assert_eq!(code, Some(64), "{said}");
        assert!(
            said.contains("there is no session nigth; there are night, old"),
            "{said}"
        );
        let (code, _, said) = run(&["--session", "old"]).await;
        assert_eq!(code, Some(78), "{said}");
        assert!(
            said.contains("0.0.1+0") && said.contains(job::BUILD),
            "{said}"
        );
        let (code, _, said) = run(&["--session", "night", "--iface", "lo"]).await;
        assert_eq!(code, Some(64), "{said}");
        assert!(
            said.contains("--iface does not go with a session"),
            "{said}"
        );
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(night.file("night"), std::fs::Permissions::from_mode(0o644))
            .unwrap();
        let (code, _, said) = run(&["--session", "night"]).await;
        assert_eq!(code, Some(78), "{said}");
        assert!(
            said.contains("can be read by others (its mode is 0644)"),
            "{said}"
        );
        assert!(night.heard().is_empty());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_environment_names_the_session_too() {
        let night = Night::start().await;
        let mut command = night.command("gerbil-run");
        let staging = night.folder.path().join("staging");
        command
            .env("GERBIL_SESSION", "night")
            .arg(format!("--staging=file:{}", staging.display()))
            .args(["sh", "exit"]);
        let (code, printed, said) = told(output(command).await);
        assert_eq!((code, printed.as_str()), (Some(3), "up\n"), "{said}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_session_is_listed_shown_and_stopped_and_then_forgotten() {
        let night = Night::start().await;
        let (code, listed, said) = night.session(&["list"]).await;
        assert_eq!(code, Some(0), "{said}");
        assert!(
            listed.contains("night") && listed.contains("fifo"),
            "{listed}"
        );
        let (_, listed, _) = night.session(&["list", "--json"]).await;
        let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
        assert_eq!(listed[0]["name"], "night", "{listed}");
        assert_eq!(listed[0]["containers"][0]["slots"], 2, "{listed}");
        let (code, shown, said) = night.session(&["status", "night"]).await;
        assert_eq!(code, Some(0), "{said}");
        assert!(
            shown.contains("1 container with 2 slots, 1 of them in use"),
            "{shown}"
        );
        let (_, shown, _) = night.session(&["status", "night", "--json"]).await;
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown["ended"], 3);

        let mut command = night.command("gerbil");
        command.args(["session", "stop", "night"]);
        let child = command.spawn().unwrap();
        night.until_heard("stop now=false").await;
        assert!(night.file("night").exists());
        let done = night
            .master
            .finish(FinalApplicationStatus::Succeeded, "", "")
            .await;
        done.unwrap();
        let (code, _, said) = ended(child).await;
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("session night is over"), "{said}");
        assert!(!night.file("night").exists());
        let (code, _, said) = night.session(&["stop", "night"]).await;
        assert_eq!(code, Some(64), "{said}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_session_that_the_resource_manager_has_just_taken_over_is_waited_for() {
        let night = Night::start().await;
        night.manager.restart();
        let (code, _, said) = night.session(&["status", "night"]).await;
        assert_eq!(code, Some(69));
        assert!(
            said.contains("is only starting: Attempt recovered after RM restart"),
            "{said}"
        );
        let job = night.job(&[], "exit").spawn().unwrap();
        let mut interrupted = night.command("gerbil");
        interrupted.args(["session", "stop", "night"]);
        let interrupted = interrupted.spawn().unwrap();
        until_it_hears(&interrupted, Signal::SIGINT).await;
        signal(&interrupted, Signal::SIGINT);
        let (code, _, said) = ended(interrupted).await;
        assert_eq!(code, Some(130), "{said}");
        assert!(
            said.contains("could not be told yet, and goes on"),
            "{said}"
        );
        let host = "127.0.0.1";
        let port = Some(night.appmaster.port);
        night.master.register(host, port, "").await.unwrap();
        let (code, printed, said) = ended(job).await;
        assert_eq!((code, printed.as_str()), (Some(3), "up\n"), "{said}");
        night.lives().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_session_that_cannot_be_told_is_killed_through_yarn() {
        let night = Night::start().await;
        night.keep("old", "0.0.1+0");
        let (code, _, said) = night.session(&["stop", "old"]).await;
        assert_eq!(code, Some(0), "{said}");
        assert!(
            said.contains("0.0.1+0") && said.contains("it is killed through YARN"),
            "{said}"
        );
        let report = night.rm.report(&night.id).await.unwrap();
        assert_eq!(report.state, YarnApplicationState::Killed);
        assert!(!night.file("old").exists());
        // The same application by its other name: it is over.
        let (code, _, said) = told(output(night.job(&[], "exit")).await);
        assert_eq!(code, Some(69), "{said}");
        assert!(said.contains("session night is over"), "{said}");
        assert!(!night.file("night").exists());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn of_a_session_whose_cluster_is_gone_its_file_is_named() {
        let night = Night::start().await;
        let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = nobody.local_addr().unwrap().to_string();
        drop(nobody);
        night.keep_of("old", job::BUILD, address.clone());
        for words in [["start", "old"], ["stop", "old"]] {
            let (code, _, said) = night.session(&words).await;
            assert_eq!(code, Some(69), "{words:?}: {said}");
            let file = night.file("old");
            let advice = format!("gone for good, remove {}", file.display());
            assert!(
                said.contains("session old was started as")
                    && said.contains(&address)
                    && said.contains(&advice),
                "{words:?}: {said}"
            );
            assert!(file.exists());
        }
        let (code, listed, said) = night.session(&["list"]).await;
        assert_eq!(code, Some(0), "{said}");
        assert!(
            !listed.contains("old") && listed.lines().count() == 2,
            "{listed}"
        );
        assert!(said.contains("session old was started as"), "{said}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_cannot_be_started_is_refused_before_anything_is_submitted() {
        let night = Night::start().await;
        for (words, code, wanted) in [
            (
                &["start", "night"][..],
                64,
                "session night is there already",
            ),
            (
                &["start", "x", "--policy", "lottery"][..],
                64,
                "there are fifo, fifo-barrier",
            ),
            (
                &["start", "x", "--cores", "fast="][..],
                64,
                "names no cores: a number, or a range such as 4-11",
            ),
            (&["start", "a/b"][..], 64, "is no name of a session"),
            (
                &["status", "x"][..],
                64,
                "there is no session x; there is night",
            ),
        ] {
            let (got, _, said) = night.session(words).await;
            assert_eq!(got, Some(code), "{words:?}: {said}");
            assert!(said.contains(wanted), "{words:?}: {said}");
        }
    }
}
