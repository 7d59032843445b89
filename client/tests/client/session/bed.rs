//! A cluster in this process, and commands that use a session on it.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use mini::resource_manager::ResourceManagerOptions;
use mini::{MiniCluster, RunFolder};
use nix::unistd::Pid;
use proto_hadoop::yarn::Resource;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

/// A command of some seconds on a busy machine.
pub const SOON: Duration = Duration::from_secs(60);
const USER: &str = "tester";

/// A session on two nodes, and who uses it.
pub struct Bed {
    pub cluster: MiniCluster,
    pub run: RunFolder,
    pub folder: TempDir,
}

pub type CommandOutcome = (Option<i32>, String, String);

impl Bed {
    pub async fn start() -> Self {
        use std::os::unix::fs::PermissionsExt as _;
        let open = std::fs::Permissions::from_mode(0o755);
        let folder = tempfile::Builder::new()
            .permissions(open)
            .tempdir()
            .unwrap();
        let run = RunFolder::create(folder.path()).unwrap();
        let options = ResourceManagerOptions {
            step_mib: 64,
            ..ResourceManagerOptions::default()
        };
        let nodes = vec![Resource::new(2048, 8); 2];
        let cluster = MiniCluster::start(options, &nodes, &run, USER)
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

    pub fn staging(&self) -> String {
        format!("--staging=file:{}/staging", self.run.path().display())
    }

    pub async fn session(&self, words: &[&str]) -> CommandOutcome {
        let mut command = self.command("gerbil");
        command.arg("session").args(words);
        if words[0] == "start" {
            command.arg(self.staging());
        }
        told(command.spawn().unwrap()).await
    }

    /// A shell in the session.
    pub fn shell(&self, options: &[&str], script: &str) -> Command {
        let mut command = self.command("gerbil-run");
        command
            .args(["--session", "default"])
            .arg(self.staging())
            .args(options)
            .args(["sh", "-c", script]);
        command
    }

    /// `gerbil WORDS`, for a job that was left to the session.
    pub fn gerbil(&self, words: &[&str]) -> Command {
        let mut command = self.command("gerbil");
        command.args(words);
        command
    }

    /// Leaves a shell to the session; its name there.
    pub async fn detach(&self, options: &[&str], script: &str) -> String {
        let options = [&["--detach"], options].concat();
        let (code, name, said) = self.run(&options, script).await;
        assert_eq!((code, said.as_str()), (Some(0), ""));
        name.trim_end().to_owned()
    }

    pub async fn run(&self, options: &[&str], script: &str) -> CommandOutcome {
        told(self.shell(options, script).spawn().unwrap()).await
    }

    /// Until the status holds `words`.
    pub async fn shows(&self, words: &str) {
        let begin = Instant::now();
        loop {
            let (_, shown, said) = self.session(&["status", "default"]).await;
            if shown.contains(words) {
                return;
            }
            assert!(begin.elapsed() < SOON, "no {words:?} in {shown}{said}");
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// One of the session's launchers.
    pub fn launcher(&self) -> Pid {
        let own = self.folder.path().display().to_string();
        let is_one = |process: &Path| {
            let read = |name: &str| {
                let bytes = std::fs::read(process.join(name)).unwrap_or_default();
                String::from_utf8_lossy(&bytes).into_owned()
            };
            read("cmdline").contains("--as=container-launcher") && read("environ").contains(&own)
        };
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let mut launchers = processes.filter(|process| is_one(&process.path()));
        let found = launchers.next().unwrap().file_name();
        Pid::from_raw(found.to_str().unwrap().parse().unwrap())
    }

    pub async fn stop(self) {
        let (code, _, said) = self.session(&["stop", "default"]).await;
        assert_eq!(code, Some(0), "{said}");
        self.cluster.stop(Duration::from_secs(2)).await;
    }
}

pub async fn told(child: Child) -> CommandOutcome {
    let output = timeout(SOON, child.wait_with_output()).await;
    let output = output.unwrap().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}
