//! Launchers as processes: what YARN makes for them, how they are started, and what is seen of them.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use credentials::Credentials;
use job::element::Scan;
use job::{LauncherContext, Role, secrets};
use policy::MiB;
use tempfile::TempDir;

use super::{Appmaster, binary, within};

/// What YARN makes for a launcher.
pub struct LaunchContainer {
    pub id: String,
    /// With the file of credentials, `container_tokens`.
    pub folder: TempDir,
}

/// A launcher process; killed when dropped.
pub struct Launcher {
    pub child: Child,
    pub container: String,
    pub folder: TempDir,
}

impl Appmaster {
    /// Starts a launcher with these files in its working directory.
    pub fn launcher(&self, files: &[(&str, &str)]) -> Launcher {
        self.launcher_with_ticket(files, b"ticket")
    }

    pub fn launcher_with_ticket(&self, files: &[(&str, &str)], ticket: &[u8]) -> Launcher {
        self.launcher_by(Command::new(binary()), files, ticket)
    }

    /// One that may have so many files open, unless it raises that.
    pub fn launcher_with_open_files(&self, most: u32, files: &[(&str, &str)]) -> Launcher {
        let mut shell = Command::new("sh");
        let limited = format!("ulimit -Sn {most}; exec \"$0\" \"$@\"");
        shell.arg("-c").arg(limited).arg(binary());
        self.launcher_by(shell, files, b"ticket")
    }

    /// A container with these files, as YARN would leave it to a launcher.
    pub fn container(&self, files: &[(&str, &str)], ticket: &[u8]) -> LaunchContainer {
        self.container_with(files, ticket, None, MiB(0))
    }

    fn container_with(
        &self,
        files: &[(&str, &str)],
        ticket: &[u8],
        scan: Option<Scan>,
        memory: MiB,
    ) -> LaunchContainer {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let id = format!("container_{}_0001_01_{number:06}", std::process::id());
        let folder = tempfile::tempdir_in(self.application.path()).unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        }
        let context = LauncherContext {
            build: job::BUILD.to_owned(),
            appmaster: self.address.clone(),
            container: id.clone(),
            ticket: ticket.to_vec(),
            links: Vec::new(),
            memory,
            ports: None,
            interface: None,
            scan,
            disk_percent: 0,
        };
        let mut credentials = Credentials::default();
        for (alias, value) in [
            (secrets::CONTEXT, serde_json::to_string(&context).unwrap()),
            (secrets::AUTHORITY, self.keys.authority.clone()),
            (secrets::CERTIFICATE, self.keys.launcher.0.clone()),
            (secrets::KEY, self.keys.launcher.1.clone()),
        ] {
            credentials.secrets.insert(alias.to_owned(), value.into());
        }
        let tokens = folder.path().join("container_tokens");
        std::fs::write(&tokens, credentials.write()).unwrap();
        LaunchContainer { id, folder }
    }

    /// Starts a launcher that looks for elements so.
    pub fn launcher_that_scans(&self, scan: Option<Scan>) -> Launcher {
        let container = self.container_with(&[], b"ticket", scan, MiB(0));
        Self::launcher_in(Command::new(binary()), container)
    }

    /// Starts a launcher in a container of so much memory.
    pub fn launcher_with_memory(&self, files: &[(&str, &str)], memory: MiB) -> Launcher {
        let container = self.container_with(files, b"ticket", None, memory);
        Self::launcher_in(Command::new(binary()), container)
    }

    fn launcher_by(&self, command: Command, files: &[(&str, &str)], ticket: &[u8]) -> Launcher {
        Self::launcher_in(command, self.container(files, ticket))
    }

    fn launcher_in(mut command: Command, container: LaunchContainer) -> Launcher {
        let LaunchContainer { id, folder } = container;
        let child = command
            .arg(Role::ContainerLauncher.argument())
            .current_dir(folder.path())
            .env("CONTAINER_ID", &id)
            .env(
                "HADOOP_TOKEN_FILE_LOCATION",
                folder.path().join("container_tokens"),
            )
            .stdin(Stdio::null())
            .stderr(std::fs::File::create(folder.path().join("stderr")).unwrap())
            .spawn()
            .unwrap();
        Launcher {
            child,
            container: id,
            folder,
        }
    }
}

impl Launcher {
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    pub async fn exit(&mut self) -> ExitStatus {
        within(async {
            loop {
                if let Some(status) = self.child.try_wait().unwrap() {
                    return status;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("stderr")).unwrap()
    }

    /// Waits until a file appears in the working directory and returns what is in it.
    pub async fn file(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        within(async {
            loop {
                match std::fs::read_to_string(&path) {
                    Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
                    _ => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        })
        .await
    }

    /// Waits until no process of the container is left, the launcher aside.
    pub async fn nothing_left(&self) {
        within(async {
            while !self.processes().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }

    /// Waits until no process of the container is left but those that the launcher itself has started.
    pub async fn only_its_own(&self) {
        within(async {
            while self.processes().len() > 1 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }

    /// Live processes that carry the container's mark, the launcher aside.
    pub fn processes(&self) -> Vec<i32> {
        let mark = format!("CONTAINER_ID={}", self.container);
        std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|&pid: &i32| pid != self.pid())
            .filter(|pid| {
                let environment = std::fs::read(format!("/proc/{pid}/environ"));
                environment
                    .unwrap_or_default()
                    .split(|&byte| byte == 0)
                    .any(|entry| entry == mark.as_bytes())
            })
            .collect()
    }

    /// A line of /proc/PID/status, KiB.
    pub fn status_kib(&self, line: &str) -> u64 {
        status_kib(self.pid(), line)
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

pub fn status_kib(pid: i32, line: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|found| found.strip_prefix(line));
    let number = line.unwrap().trim_matches(|c: char| !c.is_ascii_digit());
    number.parse().unwrap()
}

/// Alive, and no zombie.
pub fn is_alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.starts_with(" Z"))
}
