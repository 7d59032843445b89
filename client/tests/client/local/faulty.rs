//! The whole of a job against a small cluster that misbehaves on order.

use mini::resource_manager::ResourceManagerOptions;
use mini::{MiniCluster, RunFolder};
use proto_hadoop::ApplicationClient;
use proto_hadoop::conf::Configuration;
use proto_hadoop::server::{Fault, Refusal};
use proto_hadoop::yarn::Resource;

use super::*;

/// A cluster in this process, and commands that find it by its settings.
pub struct Faulty {
    pub cluster: MiniCluster,
    run: RunFolder,
    pub folder: TempDir,
}

impl Faulty {
    pub async fn start() -> Self {
        Self::with(&[Resource::new(4096, 4), Resource::new(4096, 4)]).await
    }

    /// One of such nodes.
    pub async fn with(sizes: &[Resource]) -> Self {
        let folder = folder();
        let run = RunFolder::create(folder.path()).unwrap();
        let options = ResourceManagerOptions {
            step_mib: 128,
            ..ResourceManagerOptions::default()
        };
        let cluster = MiniCluster::start(options, sizes, &run, "tester")
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
    pub fn find(&self, command: &mut Command) {
        command
            .env("HADOOP_CONF_DIR", self.folder.path().join("conf"))
            .env("HADOOP_USER_NAME", "tester")
            .arg(format!(
                "--staging=file:{}/staging",
                self.run.path().display()
            ));
    }

    pub fn command(&self, processes: u32, script: &str) -> Command {
        let mut command = gerbil_run(self.folder.path());
        self.find(&mut command);
        command
            .arg("-n")
            .arg(processes.to_string())
            .args(["sh", "-c", script]);
        command
    }

    /// One that asks the cluster itself.
    pub fn client(&self) -> ApplicationClient {
        let settings = Configuration::from_xml(&self.cluster.settings(), &|_| None).unwrap();
        let addresses = settings.resource_managers().unwrap().client;
        ApplicationClient::new(addresses, "tester")
    }

    /// Runs a job to its end; its exit code and what it said.
    pub async fn run(&self, processes: u32, script: &str) -> (Option<i32>, String) {
        let output = output(self.command(processes, script)).await;
        (output.status.code(), text(&output.stderr))
    }

    pub async fn stop(self) {
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
