//! Sessions on this machine alone: no settings of Hadoop's, and a cluster that is a process of its own.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::{sleep, timeout};

use super::night::told;

/// A command of some seconds on a busy machine.
const SOON: Duration = Duration::from_secs(60);

/// A user without Hadoop.
pub struct User {
    pub folder: TempDir,
}

type CommandOutcome = (Option<i32>, String, String);

impl User {
    pub fn new() -> Self {
        let open = std::fs::Permissions::from_mode(0o755);
        let folder = tempfile::Builder::new()
            .permissions(open)
            .tempdir()
            .unwrap();
        Self { folder }
    }

    pub async fn gerbil(&self, words: &[&str]) -> CommandOutcome {
        // As from a script that holds a lock while it runs.
        let mut command = Command::new("sh");
        command
            .args(["-c", "exec 9>\"$0\"; exec env \"$@\""])
            .arg(self.held());
        let link = self.folder.path().join("gerbil");
        let file = Path::new(env!("CARGO_BIN_EXE_gerbil-run"));
        let _there = std::os::unix::fs::symlink(file, &link).is_ok();
        command.arg("--default-signal=HUP,INT,QUIT").arg(link);
        for variable in [
            "YARN_CONF_DIR",
            "HADOOP_CONF_DIR",
            "HADOOP_HOME",
            "GERBIL_SESSION",
        ] {
            command.env_remove(variable);
        }
        command
            .args(words)
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .env("TMPDIR", self.folder.path())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        told(timeout(SOON, command.output()).await.unwrap().unwrap())
    }

    /// What the script holds.
    fn held(&self) -> PathBuf {
        self.folder.path().join("held")
    }

    /// Folders of clusters, those of the dead too.
    fn clusters(&self) -> Vec<PathBuf> {
        let uid = nix::unistd::geteuid();
        let shared = self.folder.path().join(format!("gerbil-local-{uid}"));
        let entries = std::fs::read_dir(shared).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    pub async fn until_nothing_is_left(&self) {
        let begin = Instant::now();
        while !self.clusters().is_empty() {
            assert!(begin.elapsed() < SOON, "{:?}", self.clusters());
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// The process that holds the lock of the only cluster.
    fn daemon(&self) -> Pid {
        let lock = self.clusters().remove(0).join("lock");
        let mut processes = std::fs::read_dir("/proc").unwrap().flatten();
        let holder = processes.find_map(|process| {
            let mut open = std::fs::read_dir(process.path().join("fd")).ok()?.flatten();
            let holds = open.any(|file| std::fs::read_link(file.path()).is_ok_and(|to| to == lock));
            let number = process.file_name().to_str()?.parse().ok()?;
            holds.then_some(number)
        });
        Pid::from_raw(holder.unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_on_this_machine_needs_no_hadoop_and_leaves_nothing() {
    let user = User::new();
    let start = "session start here --local=2 --containers 2 --slots-per-container 3";
    let start: Vec<&str> = start.split(' ').collect();
    let (code, printed, said) = user.gerbil(&start).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(printed.contains("ready, with 6 slots"), "{printed}");
    let open = std::fs::read_dir(format!("/proc/{}/fd", user.daemon())).unwrap();
    let mut open = open.filter_map(|file| std::fs::read_link(file.unwrap().path()).ok());
    assert!(
        !open.any(|file| file == user.held()),
        "what a shell keeps is kept on"
    );
    let job = ["run", "--session", "here"];
    let (code, printed, said) = user
        .gerbil(&[&job[..], &["-n", "6", "echo", "up"]].concat())
        .await;
    assert_eq!((code, printed), (Some(0), "up\n".repeat(6)), "{said}");
    let (code, _, said) = user.gerbil(&[&job[..], &["false"]].concat()).await;
    assert_eq!(code, Some(1), "{said}");
    // In the folder where it was typed, as with --local.
    let here = std::env::current_dir().unwrap();
    let (code, printed, said) = user.gerbil(&[&job[..], &["pwd", "-P"]].concat()).await;
    assert_eq!(
        (code, Path::new(printed.trim())),
        (Some(0), here.as_path()),
        "{said}"
    );
    let list = user.folder.path().join("jobs");
    std::fs::write(&list, "--session here echo listed\n").unwrap();
    let list = ["run", "--list", list.to_str().unwrap()];
    let (code, printed, said) = user.gerbil(&list).await;
    assert_eq!((code, &*printed), (Some(0), "[job 1] listed\n"), "{said}");
    let (code, name, said) = user
        .gerbil(&[&job[..], &["--detach", "echo", "later"]].concat())
        .await;
    assert_eq!(code, Some(0), "{said}");
    let (code, printed, said) = user.gerbil(&["attach", name.trim()]).await;
    assert_eq!(
        (code, printed.as_str()),
        (Some(0), "later\n"),
        "{name}: {said}"
    );
    let (code, printed, said) = user.gerbil(&["ps"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(printed.contains("gerbil session here"), "{printed}");
    let (code, _, said) = user.gerbil(&["session", "key", "here"]).await;
    assert_eq!(code, Some(64), "{said}");
    assert!(said.contains("on this machine alone"), "{said}");
    let (code, _, said) = user.gerbil(&["session", "stop", "here"]).await;
    assert_eq!(code, Some(0), "{said}");
    user.until_nothing_is_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_job_of_a_session_writes_to_its_files_no_later_job_sees() {
    let user = User::new();
    let at = |name: &str| user.folder.path().join(name);
    let large = "x".repeat(2 << 20);
    for (name, text) in [
        ("small", "good"),
        ("large", &large),
        ("prog", "#!/bin/sh\necho ran\n"),
    ] {
        std::fs::write(at(name), text).unwrap();
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(at(name), open).unwrap();
    }
    let start = ["session", "start", "here", "--local"];
    let (code, _, said) = user.gerbil(&start).await;
    assert_eq!(code, Some(0), "{said}");
    let (small, large) = (
        at("small").display().to_string(),
        at("large").display().to_string(),
    );
    let prog = at("prog").display().to_string();
    let files = format!("{small},{large},{prog}");
    let job = [
        "run",
        "--session",
        "here",
        "-n",
        "1",
        "--files",
        &files,
        "sh",
        "-c",
    ];
    let spoil =
        "for file in small large prog; do chmod u+w $file; echo exit 3 > $file; done; cat small";
    let (code, printed, said) = user.gerbil(&[&job[..], &[spoil]].concat()).await;
    assert_eq!((code, printed.as_str()), (Some(0), "exit 3\n"), "{said}");
    let look = "cat small; wc -c < large; ./prog";
    let (code, printed, said) = user.gerbil(&[&job[..], &[look]].concat()).await;
    assert_eq!(
        (code, printed.as_str()),
        (Some(0), "good2097152\nran\n"),
        "{said}"
    );
    let program = ["run", "--session", "here", "-n", "1", &prog];
    let (code, printed, said) = user.gerbil(&program).await;
    assert_eq!((code, printed.as_str()), (Some(0), "ran\n"), "{said}");
    let (code, _, said) = user.gerbil(&["session", "stop", "here"]).await;
    assert_eq!(code, Some(0), "{said}");
    user.until_nothing_is_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_killed_or_refused_on_this_machine_leaves_its_name_free() {
    let user = User::new();
    let start = ["session", "start", "here", "--local"];
    let too_much = [&start[..], &["--memory", "9000g"]].concat();
    let (code, _, said) = user.gerbil(&too_much).await;
    assert_eq!(code, Some(65), "{said}");
    user.until_nothing_is_left().await;
    let (code, _, said) = user.gerbil(&start).await;
    assert_eq!(code, Some(0), "{said}");
    kill(user.daemon(), Signal::SIGKILL).unwrap();
    let (code, _, said) = user
        .gerbil(&["run", "--session", "here", "-n", "1", "true"])
        .await;
    assert_eq!(code, Some(69), "{said}");
    assert!(
        said.contains("session here is over") && said.contains("cluster on this machine is gone"),
        "{said}"
    );
    let (code, _, said) = user.gerbil(&start).await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(user.clusters().len(), 1, "the next start removes the dead");
    let (code, _, said) = user.gerbil(&["session", "stop", "here", "--now"]).await;
    assert_eq!(code, Some(0), "{said}");
    user.until_nothing_is_left().await;
}
