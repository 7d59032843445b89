//! Jobs of a session and the commands on it, against an ApplicationMaster that stands in for a session's, over
//! the true wire and TLS, and a ResourceManager that knows it.

#[cfg(test)]
mod fake;
#[cfg(test)]
mod whole;

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::{Output, Stdio};
    use std::time::{Duration, Instant};

    use mini::ResourceManager;
    use mini::resource_manager::Options;
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    use proto_hadoop::yarn::{
        ApplicationSubmission, ContainerLaunch, FinalApplicationStatus, Resource,
        YarnApplicationState,
    };
    use proto_hadoop::{ApplicationClient, ApplicationId, ApplicationMasterClient};
    use session::kept::Owned;
    use session::{Folder, Kept};
    use tempfile::TempDir;
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
    use tokio::process::{Child, Command};
    use tokio::time::{sleep, timeout};

    use crate::fake::{self, Serving};

    /// A command of a second on a busy machine.
    const SOON: Duration = Duration::from_secs(30);
    const USER: &str = "tester";

    /// A session named `night`.
    struct Night {
        folder: TempDir,
        manager: ResourceManager,
        rm: ApplicationClient,
        master: ApplicationMasterClient,
        id: ApplicationId,
        appmaster: Serving,
        kept: Folder,
    }

    impl Night {
        async fn start() -> Self {
            use std::os::unix::fs::PermissionsExt as _;
            let open = std::fs::Permissions::from_mode(0o755);
            let folder = tempfile::Builder::new()
                .permissions(open)
                .tempdir()
                .unwrap();
            let manager = ResourceManager::start(Options::default()).await.unwrap();
            let rm = ApplicationClient::new(vec![manager.client_address()], USER);
            let appmaster = fake::serve().await;
            let id = rm.new_application().await.unwrap().id;
            let submission = ApplicationSubmission {
                unmanaged: true,
                ..ApplicationSubmission::new(id, ContainerLaunch::default(), Resource::new(1, 1))
            };
            rm.submit(&submission).await.unwrap();
            let token = rm.report(&id).await.unwrap().am_rm_token.unwrap();
            let master = ApplicationMasterClient::new(vec![manager.scheduler_address()], token);
            master
                .register("127.0.0.1", Some(appmaster.port), "")
                .await
                .unwrap();
            let conf = folder.path().join("conf");
            std::fs::create_dir(&conf).unwrap();
            let settings = format!(
                "<configuration>\
                   <property><name>yarn.resourcemanager.address</name><value>{}</value></property>\
                   <property><name>yarn.resourcemanager.scheduler.address</name><value>{}</value></property>\
                 </configuration>",
                manager.client_address(),
                manager.scheduler_address()
            );
            std::fs::write(conf.join("yarn-site.xml"), settings).unwrap();
            let kept = Folder::below(Some(folder.path().join("state"))).unwrap();
            let night = Self {
                folder,
                manager,
                rm,
                master,
                id,
                appmaster,
                kept,
            };
            night.keep("night", job::BUILD);
            night
        }

        fn keep(&self, name: &str, build: &str) {
            let kept = Kept {
                name: name.parse().unwrap(),
                owned: Owned {
                    build: build.into(),
                    application: self.id,
                    resource_managers: vec![self.manager.client_address()],
                    user: USER.into(),
                },
                keys: self.appmaster.keys.client_keys(),
            };
            assert!(self.kept.keep(&kept).unwrap());
        }

        /// The same file under either of its names.
        fn command(&self, name: &str) -> Command {
            let mut command = Command::new("env");
            let link = self.folder.path().join(name);
            let file = Path::new(env!("CARGO_BIN_EXE_gerbil-run"));
            let _there = std::os::unix::fs::symlink(file, &link).is_ok();
            command.arg("--default-signal=HUP,INT,QUIT").arg(link);
            for variable in ["YARN_CONF_DIR", "HADOOP_HOME", "GERBIL_SESSION"] {
                command.env_remove(variable);
            }
            command
                .env("HADOOP_CONF_DIR", self.folder.path().join("conf"))
                .env("HADOOP_USER_NAME", USER)
                .env("XDG_STATE_HOME", self.folder.path().join("state"))
                .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .kill_on_drop(true);
            command
        }

        /// A job of the session.
        fn job(&self, options: &[&str], does: &str) -> Command {
            let mut command = self.command("gerbil-run");
            let staging = self.folder.path().join("staging");
            command
                .args(["--session", "night", "--staging"])
                .arg(format!("file:{}", staging.display()))
                .args(options)
                .args(["sh", does]);
            command
        }

        async fn session(&self, words: &[&str]) -> (Option<i32>, String, String) {
            let mut command = self.command("gerbil");
            command.arg("session").args(words);
            told(output(command).await)
        }

        fn heard(&self) -> Vec<String> {
            self.appmaster.heard.lock().unwrap().clone()
        }

        async fn until_heard(&self, words: &str) {
            let begin = Instant::now();
            while !self.heard().iter().any(|heard| heard == words) {
                assert!(begin.elapsed() < SOON, "no {words:?} in {:?}", self.heard());
                sleep(Duration::from_millis(20)).await;
            }
        }

        /// Nothing has ended the session.
        async fn lives(&self) {
            let report = self.rm.report(&self.id).await.unwrap();
            assert_eq!(report.state, YarnApplicationState::Running);
        }

        fn file(&self, name: &str) -> PathBuf {
            self.folder
                .path()
                .join(format!("state/gerbil/sessions/{name}.json"))
        }
    }

    async fn output(mut command: Command) -> Output {
        timeout(SOON, command.output()).await.unwrap().unwrap()
    }

    fn told(output: Output) -> (Option<i32>, String, String) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    }

    fn signal(child: &Child, signal: Signal) {
        let pid = i32::try_from(child.id().unwrap()).unwrap();
        kill(Pid::from_raw(pid), signal).unwrap();
    }

    /// Starts a job, and waits for its first line.
    async fn up(mut command: Command) -> Child {
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        timeout(SOON, lines.read_line(&mut line))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(line, "up\n");
        child.stdout = Some(lines.into_inner());
        child
    }

    async fn ended(child: Child) -> (Option<i32>, String, String) {
        let output = timeout(SOON, child.wait_with_output()).await;
        told(output.unwrap().unwrap())
    }

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
        let wanted = format!(
            "lost the ApplicationMaster of session night ({}), and with it job 8",
            night.id
        );
        assert!(said.contains(&wanted), "{said}");
        night.lives().await;
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
        let (code, _, said) = run(&["--session", "night", "--queue", "q"]).await;
        assert_eq!(code, Some(64), "{said}");
        assert!(
            said.contains("--queue does not go with a session"),
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
        let (code, shown, said) = night.session(&["status", "night"]).await;
        assert_eq!(code, Some(0), "{said}");
        assert!(
            shown.contains("1 container with 2 slots, 1 of them lent"),
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
