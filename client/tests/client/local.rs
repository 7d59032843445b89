//! `gerbil-run --local`, and the whole of a job against a small cluster that misbehaves on order.
//!
//! The programs are shells: what MPI makes of it is another test's matter.

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::{Output, Stdio};
    use std::time::{Duration, Instant};

    use mini::resource_manager::Options;
    use mini::{Cluster, RunFolder};
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    use proto_hadoop::ApplicationClient;
    use proto_hadoop::conf::Configuration;
    use proto_hadoop::server::{Fault, Refusal};
    use proto_hadoop::yarn::Resource;
    use tempfile::TempDir;
    use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
    use tokio::process::{Child, Command};
    use tokio::time::{sleep, timeout};

    /// A job of a second on a busy machine.
    const SOON: Duration = Duration::from_secs(40);

    /// The command, in an environment without Hadoop and with its temporary files in `folder`.
    fn gerbil_run(folder: &Path) -> Command {
        // What nohup, or a shell without job control, has us ignore is not the command's affair.
        let mut command = Command::new("env");
        command.args([
            "--default-signal=HUP,INT,QUIT",
            env!("CARGO_BIN_EXE_gerbil-run"),
        ]);
        for name in ["HADOOP_CONF_DIR", "YARN_CONF_DIR", "HADOOP_HOME"] {
            command.env_remove(name);
        }
        command
            .env("TMPDIR", folder)
            .env("XDG_STATE_HOME", folder.join("state"))
            // Digests of large files are worth keeping.
            .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    async fn output(mut command: Command) -> Output {
        timeout(SOON, command.output()).await.unwrap().unwrap()
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// A folder that others may pass through, as staged files need it.
    fn folder() -> TempDir {
        use std::os::unix::fs::PermissionsExt;
        let open = std::fs::Permissions::from_mode(0o755);
        tempfile::Builder::new()
            .permissions(open)
            .tempdir()
            .unwrap()
    }

    /// Runs of `--local` that have left something in `folder`.
    fn left(folder: &Path) -> usize {
        let uid = nix::unistd::geteuid();
        let runs = std::fs::read_dir(folder.join(format!("gerbil-local-{uid}")));
        runs.map_or(0, Iterator::count)
    }

    /// An argument of `sleep` that no other process on this machine has.
    fn mark(number: u32) -> String {
        format!("43.{}{number}", std::process::id())
    }

    /// Processes, besides this one, with `mark` among their arguments or in their environment.
    fn living(mark: &str) -> Vec<String> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let read = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
            let (line, environment) = (text(&read("cmdline")), text(&read("environ")));
            let own = entry.file_name().to_str() == Some(&std::process::id().to_string());
            if !own && (line.contains(mark) || environment.contains(mark)) {
                found.push(line.replace('\0', " "));
            }
        }
        found
    }

    /// Waits for the line "up"; the rest is to be held, or the command ends as one whose output is
    /// refused.
    async fn up<R: AsyncRead + Unpin>(stream: R) -> BufReader<R> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        let read = timeout(SOON, reader.read_line(&mut line)).await;
        read.unwrap().unwrap();
        assert_eq!(line, "up\n");
        reader
    }

    #[tokio::test]
    async fn a_job_runs_without_hadoop_and_leaves_nothing() {
        let folder = folder();
        let mut command = gerbil_run(folder.path());
        // A Hadoop that would be refused if it were read.
        command.env("HADOOP_CONF_DIR", "/no/such/folder");
        command.args([
            "--local",
            "-n",
            "3",
            "sh",
            "-c",
            "echo rank $PMI_RANK of $PMI_SIZE",
        ]);
        let output = output(command).await;
        let mut lines: Vec<_> = text(&output.stdout).lines().map(str::to_owned).collect();
        lines.sort();
        let said = text(&output.stderr);
        assert_eq!(
            lines,
            ["rank 0 of 3", "rank 1 of 3", "rank 2 of 3"],
            "{said}"
        );
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert_eq!(left(folder.path()), 0);
    }

    #[tokio::test]
    async fn a_quiet_job_says_nothing_of_its_own() {
        let folder = folder();
        // Three times the cores that the nodes have.
        let processes = (std::thread::available_parallelism().unwrap().get() * 6).to_string();
        for (option, silent) in [("--quiet", true), ("-launcher=fork", false)] {
            let mut command = gerbil_run(folder.path());
            command.args(["--local=2", option, "-n", &processes, "true"]);
            let output = output(command).await;
            assert!(output.status.success(), "{output:?}");
            assert_eq!(text(&output.stderr).is_empty(), silent, "{output:?}");
        }
    }

    #[tokio::test]
    async fn exit_codes_and_sentences_are_those_of_a_cluster() {
        let folder = folder();
        let mut command = gerbil_run(folder.path());
        command.args([
            "--local=2",
            "-n",
            "2",
            "sh",
            "-c",
            "test $PMI_RANK = 0 || exit 7; sleep 30",
        ]);
        let output = output(command).await;
        assert_eq!(output.status.code(), Some(7));
        assert!(
            text(&output.stderr).contains("rank 1 on 127.0.0"),
            "{}",
            text(&output.stderr)
        );
        assert_eq!(left(folder.path()), 0);
    }

    #[tokio::test]
    async fn an_interrupt_ends_the_job_and_leaves_nothing() {
        let folder = folder();
        let mark = &mark(1);
        let mut command = gerbil_run(folder.path());
        command.args(["--local", "-n", "2", "sh", "-c"]);
        command.arg(format!("echo up; sleep {mark}"));
        let mut child = command.spawn().unwrap();
        let _held = up(child.stdout.take().unwrap()).await;
        signal(&child, Signal::SIGINT);
        let status = timeout(SOON, child.wait()).await.unwrap().unwrap();
        assert_eq!(status.code(), Some(130));
        assert_eq!(living(mark), [""; 0]);
        assert_eq!(left(folder.path()), 0);
    }

    #[tokio::test]
    async fn a_list_of_local_jobs_needs_no_hadoop() {
        let folder = folder();
        let list = folder.path().join("jobs");
        let run = async |lines: &str| {
            std::fs::write(&list, lines).unwrap();
            let mut command = gerbil_run(folder.path());
            command.arg("--list").arg(&list);
            let output = output(command).await;
            (output.status.code(), text(&output.stderr))
        };
        let (code, said) = run("--local sh -c 'exit 3'\n--local=2 -n 2 true\n").await;
        assert_eq!(code, Some(3), "{said}");
        assert!(said.contains("1 of 2 failed"), "{said}");
        let (code, said) = run("--local true\ntrue\n").await;
        assert_eq!(code, Some(78), "{said}");
    }

    #[tokio::test]
    async fn a_pipe_at_the_other_end_of_which_is_nobody_holds_nobody() {
        let folder = folder();
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for option in ["--report", "--list"] {
            let mut command = gerbil_run(folder.path());
            command.env("HADOOP_CONF_DIR", no_cluster(folder.path()));
            command.arg(option).arg(&pipe);
            if option == "--report" {
                command.arg("true");
            }
            let child = command.spawn().unwrap();
            sleep(Duration::from_secs(1)).await;
            signal(&child, Signal::SIGTERM);
            let output = timeout(SOON, child.wait_with_output()).await;
            let output = output.unwrap().unwrap();
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(143), "{option}: {said}");
        }
    }

    /// Settings that name a cluster where none is.
    fn no_cluster(folder: &Path) -> PathBuf {
        let conf = folder.join("conf");
        let name = "yarn.resourcemanager.hostname";
        let site = format!(
            "<configuration><property><name>{name}</name><value>127.0.0.1</value></property>\
             </configuration>"
        );
        std::fs::create_dir_all(&conf).unwrap();
        std::fs::write(conf.join("yarn-site.xml"), site).unwrap();
        conf
    }

    fn signal(child: &Child, signal: Signal) {
        let pid = Pid::from_raw(child.id().unwrap().cast_signed());
        kill(pid, signal).unwrap();
    }

    #[tokio::test]
    async fn nothing_outlives_a_killed_run_and_the_next_removes_its_folder() {
        let folder = folder();
        let mark = &mark(2);
        let mut command = gerbil_run(folder.path());
        // In the environment of every process of the job, and on the ranks' command lines.
        command.args(["--local", "-n", "2", "sh", "-c"]);
        command.arg(format!("echo up; sleep {mark}"));
        let mut child = command.spawn().unwrap();
        let _held = up(child.stdout.take().unwrap()).await;
        let path = folder.path().to_str().unwrap().to_owned();
        // ApplicationMaster and launcher are there, by the folder in their environment.
        assert!(living(&path).len() >= 4, "{:?}", living(&path));
        signal(&child, Signal::SIGKILL);
        let killed = Instant::now();
        timeout(SOON, child.wait()).await.unwrap().unwrap();
        while !living(&path).is_empty() || !living(mark).is_empty() {
            let took = killed.elapsed();
            assert!(
                took < Duration::from_secs(3),
                "{took:?}: {:?}",
                living(&path)
            );
            sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(left(folder.path()), 1);
        let mut next = gerbil_run(folder.path());
        next.args(["--local", "true"]);
        assert_eq!(output(next).await.status.code(), Some(0));
        assert_eq!(left(folder.path()), 0);
    }

    /// A cluster in this process, and commands that find it by its settings.
    struct Faulty {
        cluster: Cluster,
        run: RunFolder,
        folder: TempDir,
    }

    impl Faulty {
        async fn start() -> Self {
            Self::with(&[Resource::new(4096, 4), Resource::new(4096, 4)]).await
        }

        /// One of such nodes.
        async fn with(sizes: &[Resource]) -> Self {
            let folder = folder();
            let run = RunFolder::create(folder.path()).unwrap();
            let options = Options {
                step_mib: 128,
                ..Options::default()
            };
            let cluster = Cluster::start(options, sizes, &run, "tester")
                .await
                .unwrap();
            let conf = folder.path().join("conf");
            std::fs::create_dir(&conf).unwrap();
            std::fs::write(conf.join("yarn-site.xml"), cluster.settings()).unwrap();
            Self {
                cluster,
                run,
                folder,
            }
        }

        /// Lets `command` find the cluster.
        fn find(&self, command: &mut Command) {
            command
                .env("HADOOP_CONF_DIR", self.folder.path().join("conf"))
                .env("HADOOP_USER_NAME", "tester")
                .arg(format!(
                    "--staging=file:{}/staging",
                    self.run.path().display()
                ));
        }

        fn command(&self, processes: u32, script: &str) -> Command {
            let mut command = gerbil_run(self.folder.path());
            self.find(&mut command);
            command
                .arg("-n")
                .arg(processes.to_string())
                .args(["sh", "-c", script]);
            command
        }

        /// One that asks the cluster itself.
        fn client(&self) -> ApplicationClient {
            let settings = Configuration::from_xml(&self.cluster.settings(), &|_| None).unwrap();
            let addresses = settings.resource_managers().unwrap().client;
            ApplicationClient::new(addresses, "tester")
        }

        /// Runs a job to its end; its exit code and what it said.
        async fn run(&self, processes: u32, script: &str) -> (Option<i32>, String) {
            let output = output(self.command(processes, script)).await;
            (output.status.code(), text(&output.stderr))
        }

        async fn stop(self) {
            let stopped = self.cluster.stop(Duration::from_secs(2));
            timeout(Duration::from_secs(10), stopped).await.unwrap();
        }
    }

    /// What a server says whose queue of calls is full.
    fn too_busy() -> Refusal {
        let class = "org.apache.hadoop.ipc.RetriableException";
        Refusal::new(class, "Server is too busy")
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_job_outlives_an_unsteady_resource_manager() {
        let faulty = Faulty::start().await;
        let manager = faulty.cluster.resource_manager();
        for (method, fault) in [
            ("allocate", Fault::Late(Duration::from_millis(400))),
            ("allocate", Fault::Cut(11)),
            ("allocate", Fault::Twice),
            ("allocate", Fault::Garbled),
            (
                "registerApplicationMaster",
                Fault::Late(Duration::from_millis(400)),
            ),
            ("registerApplicationMaster", Fault::Cut(5)),
            ("registerApplicationMaster", Fault::Refused(too_busy())),
            ("finishApplicationMaster", Fault::Cut(3)),
            ("finishApplicationMaster", Fault::Twice),
        ] {
            manager.scheduler_faults().next(method, fault.clone());
            let (code, said) = faulty.run(4, "exit 0").await;
            assert_eq!(code, Some(0), "{method} {fault:?}: {said}");
        }
        for (method, fault) in [
            ("getApplicationReport", Fault::Cut(40)),
            (
                "getApplicationReport",
                Fault::Late(Duration::from_millis(400)),
            ),
            ("getClusterNodes", Fault::Cut(0)),
            ("submitApplication", Fault::Cut(2)),
            ("submitApplication", Fault::Refused(too_busy())),
            ("getNewApplication", Fault::Fatal(too_busy())),
            ("getApplicationReport", Fault::Refused(too_busy())),
        ] {
            manager.client_faults().next(method, fault.clone());
            let (code, said) = faulty.run(2, "exit 0").await;
            assert_eq!(code, Some(0), "{method} {fault:?}: {said}");
        }
        faulty.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_job_outlives_a_node_manager_that_restarts_while_it_starts() {
        let faulty = Faulty::with(&[Resource::new(4096, 4)]).await;
        let node = &faulty.cluster.nodes()[0];
        let not_ready = || Refusal::yarn("NMNotYetReadyException", "not registered yet");
        for faults in [
            vec![Fault::Refused(not_ready()), Fault::Refused(not_ready())],
            vec![Fault::Cut(5)],
            vec![Fault::Fatal(too_busy())],
        ] {
            for fault in &faults {
                node.faults().next("startContainers", fault.clone());
            }
            // The first container that is started is one of the job's own.
            let mut command = gerbil_run(faulty.folder.path());
            faulty.find(&mut command);
            command.args(["--deploy-mode", "client", "-n", "2", "sh", "-c", "exit 0"]);
            let output = output(command).await;
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{faults:?}: {said}");
            assert!(!said.contains("again"), "{faults:?}: {said}");
        }
        faulty.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_job_outlives_a_restart_and_a_rolled_key() {
        let faulty = Faulty::start().await;
        let manager = faulty.cluster.resource_manager();
        let mut child = faulty.command(2, "echo up; sleep 3").spawn().unwrap();
        let _held = up(child.stdout.take().unwrap()).await;
        manager.restart();
        manager.roll_am_key();
        // One round of heartbeats brings the new token; then the old one is worth nothing.
        sleep(Duration::from_millis(2500)).await;
        manager.retire_am_keys();
        manager.restart();
        let output = timeout(SOON, child.wait_with_output()).await;
        let output = output.unwrap().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        faulty.stop().await;
    }

    /// What a second command says of the cluster.
    async fn beside(faulty: &Faulty, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command = gerbil_run(faulty.folder.path());
        command
            .env("HADOOP_CONF_DIR", faulty.folder.path().join("conf"))
            .env("HADOOP_USER_NAME", "tester")
            .args(arguments);
        let output = output(command).await;
        let code = output.status.code();
        (code, text(&output.stdout), text(&output.stderr))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn others_are_told_which_jobs_there_are_and_how_far() {
        let faulty = Faulty::start().await;
        let (code, listed, said) = beside(&faulty, &["--ps"]).await;
        assert_eq!((code, listed.as_str()), (Some(0), ""), "{said}");
        assert!(said.contains("no job of tester"), "{said}");

        let script = "test $PMI_RANK = 0 || exit 0; echo up; sleep 60";
        let mut command = faulty.command(2, script);
        command.stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let _held = up(child.stdout.take().unwrap()).await;
        // By phases and by ranks: one of two has ended.
        let began = Instant::now();
        let listed = loop {
            let (code, listed, said) = beside(&faulty, &["--ps"]).await;
            assert_eq!(code, Some(0), "{said}");
            if listed.contains("50 %") {
                break listed;
            }
            assert!(began.elapsed() < Duration::from_secs(15), "{listed}");
            sleep(Duration::from_millis(200)).await;
        };
        let row = listed.lines().nth(1).unwrap();
        assert!(
            row.starts_with("application_") && row.ends_with(" sh"),
            "{listed}"
        );
        let id = row.split_whitespace().next().unwrap();
        let (code, _, said) = beside(&faulty, &["-k", id]).await;
        assert_eq!(code, Some(0), "{said}");
        let status = timeout(SOON, child.wait()).await.unwrap().unwrap();
        assert_eq!(status.code(), Some(143));
        faulty.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_job_is_called_by_its_id() {
        let faulty = Faulty::start().await;
        let mut command = gerbil_run(faulty.folder.path());
        faulty.find(&mut command);
        command.args(["--explain", "--timing", "--tags", "Nightly,team:x", "true"]);
        let output = output(command).await;
        let said = text(&output.stderr);
        assert!(output.status.success(), "{said}");
        let submitted = " is submitted to queue default";
        let first = said.lines().find(|line| line.ends_with(submitted));
        let first = first.unwrap_or_else(|| panic!("{said}"));
        let id = first.split_whitespace().nth(1).unwrap();
        assert!(id.starts_with("application_"), "{said}");
        assert!(said.contains(&format!("{id} ended after")), "{said}");

        let client = faulty.client();
        let report = client.report(&id.parse().unwrap()).await.unwrap();
        assert_eq!(report.tags, ["nightly", "team:x"]);
        assert!(
            report.diagnostics.starts_with("1 rank on 1 node ran for "),
            "{report:?}"
        );

        // On Ctrl-C too.
        let mut child = faulty.command(1, "echo up; sleep 60").spawn().unwrap();
        let _held = up(child.stdout.take().unwrap()).await;
        signal(&child, Signal::SIGINT);
        let output = timeout(SOON, child.wait_with_output())
            .await
            .unwrap()
            .unwrap();
        let said = text(&output.stderr);
        assert!(said.contains("ending application_"), "{said}");
        faulty.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_terminal_is_told_the_id_in_a_line_that_stays() {
        let faulty = Faulty::start().await;
        let mut inner = gerbil_run(faulty.folder.path());
        faulty.find(&mut inner);
        inner.arg("true");
        let inner = inner.as_std();
        let words = std::iter::once(inner.get_program()).chain(inner.get_args());
        let words: Vec<&str> = words.map(|word| word.to_str().unwrap()).collect();
        let mut command = Command::new("script");
        command
            .args([
                "--quiet",
                "--return",
                "--command",
                &words.join(" "),
                "/dev/null",
            ])
            .env("HADOOP_CONF_DIR", faulty.folder.path().join("conf"))
            .env("HADOOP_USER_NAME", "tester")
            .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        let output = output(command).await;
        let shown = text(&output.stdout);
        assert!(output.status.success(), "{shown}");
        assert!(shown.contains(" is submitted to queue default"), "{shown}");
        // Where the locale is plain, so is the line that changes.
        assert!(shown.is_ascii(), "{shown}");
        faulty.stop().await;
    }

    /// Whether a process is stopped, by the kernel's word.
    fn is_stopped(child: &Child) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id().unwrap()));
        let stat = stat.unwrap();
        let (_name, state) = stat.rsplit_once(") ").unwrap();
        state.starts_with('T')
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_pause_may_last_and_its_end_may_be_the_jobs() {
        let faulty = Faulty::start().await;
        let mark = &mark(4);
        let start = || {
            let mut command = faulty.command(1, &format!("echo up; sleep {mark}; echo done"));
            command.stderr(Stdio::null());
            command.spawn().unwrap()
        };
        let (mut goes_on, mut dies) = (start(), start());
        let mut held = up(goes_on.stdout.take().unwrap()).await;
        let _held = up(dies.stdout.take().unwrap()).await;
        for child in [&goes_on, &dies] {
            signal(child, Signal::SIGTSTP);
        }
        // Longer than a client may be silent.
        sleep(Duration::from_secs(21)).await;
        assert!(is_stopped(&goes_on) && is_stopped(&dies));
        assert!(living(mark).len() >= 2, "{:?}", living(mark));
        signal(&dies, Signal::SIGKILL);
        timeout(SOON, dies.wait()).await.unwrap().unwrap();
        signal(&goes_on, Signal::SIGCONT);
        let mut rest = String::new();
        let ended = timeout(Duration::from_secs(60), held.read_line(&mut rest)).await;
        ended.unwrap().unwrap();
        assert_eq!(rest, "done\n");
        let status = timeout(SOON, goes_on.wait()).await.unwrap().unwrap();
        assert_eq!(status.code(), Some(0));
        assert_eq!(living(mark), [""; 0]);
        faulty.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_verdict_does_not_wait_for_a_resource_manager_that_is_away() {
        let faulty = Faulty::start().await;
        let manager = faulty.cluster.resource_manager();
        let away = Fault::Late(Duration::from_secs(60));
        manager
            .scheduler_faults()
            .next("finishApplicationMaster", away);
        let (code, said) = faulty.run(2, "exit 0").await;
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("has not taken the verdict"), "{said}");
        faulty.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_cannot_be_mended_is_told_in_a_sentence() {
        let faulty = Faulty::start().await;
        let manager = faulty.cluster.resource_manager();
        let refusal = || Refusal::yarn("YarnException", "no more today");
        manager
            .client_faults()
            .next("submitApplication", Fault::Refused(refusal()));
        let (code, said) = faulty.run(2, "exit 0").await;
        assert_eq!(code, Some(65), "{said}");
        assert!(said.contains("no more today"), "{said}");

        manager
            .client_faults()
            .next("getNewApplication", Fault::Fatal(refusal()));
        let (code, said) = faulty.run(2, "exit 0").await;
        assert_eq!(code, Some(69), "{said}");
        assert!(said.contains("no more today"), "{said}");

        manager
            .scheduler_faults()
            .next("registerApplicationMaster", Fault::Refused(refusal()));
        let (code, said) = faulty.run(2, "exit 0").await;
        assert_eq!(code, Some(70), "{said}");
        assert!(said.contains("no more today"), "{said}");
        faulty.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_job_whose_appmaster_does_not_come_in_time_is_given_up() {
        // One job fills it, its ApplicationMaster and its process.
        let faulty = Faulty::with(&[Resource::new(1024, 4)]).await;
        let mut first = gerbil_run(faulty.folder.path());
        faulty.find(&mut first);
        first.args(["--mem-per-proc", "768m", "sh", "-c", "echo up; sleep 60"]);
        let mut first = first.spawn().unwrap();
        let _held = up(first.stdout.take().unwrap()).await;
        for mode in ["cluster", "client"] {
            let mut command = gerbil_run(faulty.folder.path());
            faulty.find(&mut command);
            command.args(["--deploy-mode", mode, "--wait-timeout", "1500ms", "true"]);
            let began = Instant::now();
            let output = output(command).await;
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(75), "{mode}: {said}");
            assert!(began.elapsed() > Duration::from_millis(1400), "{mode}");
            if mode == "cluster" {
                assert!(said.contains("within 1.5s (--wait-timeout)"), "{said}");
            }
        }
        // Who waits is told who holds the room, and by which name he is known himself.
        let mut command = gerbil_run(faulty.folder.path());
        faulty.find(&mut command);
        command.args(["--wait-timeout", "12s", "true"]);
        let output = output(command).await;
        let said = text(&output.stderr);
        let waiting = said.lines().find(|line| line.contains("waiting: "));
        let waiting = waiting.unwrap_or_else(|| panic!("{said}"));
        assert!(
            waiting.contains("(sh, of tester in default) holds "),
            "{said}"
        );
        assert!(
            waiting.ends_with(')') && waiting.contains(" (application_"),
            "{said}"
        );
        signal(&first, Signal::SIGINT);
        let status = timeout(SOON, first.wait()).await.unwrap().unwrap();
        assert_eq!(status.code(), Some(130));
        faulty.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_job_whose_application_is_forgotten_ends_soon() {
        let faulty = Faulty::start().await;
        let mark = &mark(3);
        let mut child = faulty
            .command(2, &format!("echo up; sleep {mark}"))
            .spawn()
            .unwrap();
        let _held = up(child.stdout.take().unwrap()).await;
        faulty.cluster.resource_manager().forget();
        let began = Instant::now();
        let status = timeout(SOON, child.wait()).await.unwrap().unwrap();
        assert_ne!(status.code(), Some(0));
        assert!(
            began.elapsed() < Duration::from_secs(15),
            "{:?}",
            began.elapsed()
        );
        while !living(mark).is_empty() {
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "{:?}",
                living(mark)
            );
            sleep(Duration::from_millis(50)).await;
        }
        faulty.stop().await;
    }
}
