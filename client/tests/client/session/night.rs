//! A session named `night`, whose ApplicationMaster is a fake, and commands that use it.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use mini::ResourceManager;
use mini::resource_manager::ResourceManagerOptions;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use proto_hadoop::yarn::{ApplicationSubmission, ContainerLaunch, Resource, YarnApplicationState};
use proto_hadoop::{ApplicationClient, ApplicationId, ApplicationMasterClient};
use session::record::Owned;
use session::{SessionRecord, SessionsFolder};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use super::fake::{self, Serving};

/// A command of a second on a busy machine.
pub const SOON: Duration = Duration::from_secs(30);
pub const USER: &str = "tester";

/// A session named `night`.
pub struct Night {
    pub folder: TempDir,
    pub manager: ResourceManager,
    pub rm: ApplicationClient,
    pub master: ApplicationMasterClient,
    pub id: ApplicationId,
    pub appmaster: Serving,
    pub kept: SessionsFolder,
}

impl Night {
    pub async fn start() -> Self {
        use std::os::unix::fs::PermissionsExt as _;
        let open = std::fs::Permissions::from_mode(0o755);
        let folder = tempfile::Builder::new()
            .permissions(open)
            .tempdir()
            .unwrap();
        let manager = ResourceManager::start(ResourceManagerOptions::default())
            .await
            .unwrap();
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
        let kept = SessionsFolder::below(Some(folder.path().join("state"))).unwrap();
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

    pub fn keep(&self, name: &str, build: &str) {
        self.keep_of(name, build, self.manager.client_address());
    }

    /// Keeps a session that was started on the cluster of this ResourceManager.
    pub fn keep_of(&self, name: &str, build: &str, manager: String) {
        let kept = SessionRecord {
            name: name.parse().unwrap(),
            owned: Owned {
                build: build.into(),
                application: self.id,
                resource_managers: vec![manager],
                user: USER.into(),
                local: None,
                host: None,
            },
            keys: self.appmaster.keys.client_keys(),
        };
        assert!(self.kept.keep(&kept).unwrap());
    }

    /// The same file under either of its names.
    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new("env");
        let link = self.folder.path().join(name);
        let file = Path::new(env!("CARGO_BIN_EXE_gerbil-run"));
        let _there = std::os::unix::fs::symlink(file, &link).is_ok();
        command.arg("--default-signal=HUP,INT,QUIT").arg(link);
        for variable in [
            "YARN_CONF_DIR",
            "HADOOP_HOME",
            "GERBIL_SESSION",
            "LD_LIBRARY_PATH",
        ] {
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
    pub fn job(&self, options: &[&str], does: &str) -> Command {
        let mut command = self.command("gerbil-run");
        let staging = self.folder.path().join("staging");
        command
            .args(["--session", "night", "--staging"])
            .arg(format!("file:{}", staging.display()))
            .args(options)
            .args(["sh", does]);
        command
    }

    /// `gerbil WORDS`.
    pub async fn gerbil(&self, words: &[&str]) -> (Option<i32>, String, String) {
        let mut command = self.command("gerbil");
        command.args(words);
        told(output(command).await)
    }

    pub async fn session(&self, words: &[&str]) -> (Option<i32>, String, String) {
        let mut command = self.command("gerbil");
        command.arg("session").args(words);
        told(output(command).await)
    }

    pub fn heard(&self) -> Vec<String> {
        self.appmaster.heard.lock().unwrap().clone()
    }

    pub async fn until_heard(&self, words: &str) {
        let begin = Instant::now();
        while !self.heard().iter().any(|heard| heard == words) {
            assert!(begin.elapsed() < SOON, "no {words:?} in {:?}", self.heard());
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Nothing has ended the session.
    pub async fn lives(&self) {
        let report = self.rm.report(&self.id).await.unwrap();
        assert_eq!(report.state, YarnApplicationState::Running);
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder
            .path()
            .join(format!("state/gerbil/sessions/{name}.json"))
    }
}

pub async fn output(mut command: Command) -> Output {
    timeout(SOON, command.output()).await.unwrap().unwrap()
}

pub fn told(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

pub fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id().unwrap()).unwrap();
    kill(Pid::from_raw(pid), signal).unwrap();
}

/// Until a process has a handler for the signal.
pub async fn until_it_hears(child: &Child, signal: Signal) {
    let file = format!("/proc/{}/status", child.id().unwrap());
    let begin = Instant::now();
    loop {
        let status = std::fs::read_to_string(&file).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = u64::from_str_radix(caught.unwrap().trim(), 16).unwrap();
        if caught & 1 << (signal as u32 - 1) != 0 {
            return;
        }
        assert!(begin.elapsed() < SOON, "{status}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Starts a job, and waits for its first line.
pub async fn up(mut command: Command) -> Child {
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

pub async fn ended(child: Child) -> (Option<i32>, String, String) {
    let output = timeout(SOON, child.wait_with_output()).await;
    told(output.unwrap().unwrap())
}
