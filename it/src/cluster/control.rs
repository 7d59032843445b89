//! Daemons started, stopped, killed and frozen one by one, and waited for.

use std::fs::File;
use std::net::TcpStream;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::Signal;

use super::logs::excerpt;
use super::{Cluster, devices};
use crate::command::Run;
use crate::daemon::Daemon;
use crate::process::{self, ChildStreams};
use crate::wait;

/// A daemon that was told to end.
const ENDS: Duration = Duration::from_secs(30);

impl Cluster {
    /// Starts one daemon that does not run. It is not waited for.
    ///
    /// # Errors
    ///
    /// It runs already, or Java cannot be started.
    pub fn start(&self, daemon: Daemon) -> Result<()> {
        let mut daemons = self.lock();
        if let Some(child) = daemons.get_mut(&daemon)
            && child.try_wait()?.is_none()
        {
            bail!("{daemon} runs already");
        }
        let folder = self.daemon_folder(daemon);
        let settings = self.zookeeper_settings().display().to_string();
        let arguments: &[&str] = match daemon {
            Daemon::ZooKeeper => &[&settings],
            _ => &[],
        };
        let command = self.java_command(
            &folder.join("conf"),
            daemon.class(),
            arguments,
            daemon.is_hdfs(),
        );
        let command = match daemon {
            Daemon::NodeManager(node) if self.gpus > 0 => {
                devices::within(&command, &folder.join("dev"), node, self.gpus)
            }
            _ => command,
        };
        let log = File::options()
            .create(true)
            .append(true)
            .open(folder.join("log"))?;
        let streams = ChildStreams {
            stdin: Stdio::null(),
            stdout: log.try_clone()?.into(),
            stderr: log.into(),
        };
        let child =
            process::spawn(&command, streams).with_context(|| format!("starting {daemon}"))?;
        daemons.insert(daemon, child);
        Ok(())
    }

    /// Tells one daemon to end, as an administrator would, and waits until it has.
    ///
    /// # Errors
    ///
    /// It does not run or does not end.
    pub fn stop(&self, daemon: Daemon) -> Result<()> {
        self.signal(daemon, Signal::SIGTERM)?;
        self.wait_for_end(daemon)
    }

    /// Kills one daemon with `-9` and waits until it is gone. Containers of a NodeManager stay.
    ///
    /// # Errors
    ///
    /// It does not run.
    pub fn kill(&self, daemon: Daemon) -> Result<()> {
        self.signal(daemon, Signal::SIGKILL)?;
        self.wait_for_end(daemon)
    }

    /// Freezes one daemon: it keeps its connections and answers nothing.
    ///
    /// # Errors
    ///
    /// It does not run.
    pub fn freeze(&self, daemon: Daemon) -> Result<()> {
        self.signal(daemon, Signal::SIGSTOP)
    }

    /// Lets a frozen daemon go on.
    ///
    /// # Errors
    ///
    /// It does not run.
    pub fn thaw(&self, daemon: Daemon) -> Result<()> {
        self.signal(daemon, Signal::SIGCONT)
    }

    fn signal(&self, daemon: Daemon, signal: Signal) -> Result<()> {
        match self.lock().get_mut(&daemon) {
            Some(child) => match child.try_wait()? {
                // Its id may be another's by now.
                Some(_) => Ok(()),
                None => process::signal(child, signal),
            },
            None => bail!("{daemon} was never started"),
        }
    }

    pub(super) fn wait_for_end(&self, daemon: Daemon) -> Result<()> {
        wait::until(&format!("the end of {daemon}"), ENDS, || {
            match self.lock().get_mut(&daemon) {
                Some(child) => Ok(child.try_wait()?),
                None => bail!("{daemon} was never started"),
            }
        })?;
        Ok(())
    }

    /// Waits until HDFS takes writes.
    ///
    /// # Errors
    ///
    /// It does not in time, or a daemon has ended.
    pub fn wait_for_hdfs(&self) -> Result<()> {
        let stores = self.stores().len();
        let ready = || {
            self.check_alive()?;
            // Not listening yet is no error.
            Ok(self.hdfs().is_ready(stores).unwrap_or(false).then_some(()))
        };
        wait::until(
            "HDFS out of safe mode with a live DataNode",
            self.deadline,
            ready,
        )
    }

    /// Waits until the ResourceManager counts `count` running nodes.
    ///
    /// # Errors
    ///
    /// It does not in time, or a daemon has ended.
    pub fn wait_for_nodes(&self, count: usize) -> Result<()> {
        let ready = || {
            self.check_alive()?;
            let nodes = self.resource_manager().nodes().unwrap_or_default();
            Ok(
                (nodes.iter().filter(|node| node.state == "RUNNING").count() == count)
                    .then_some(()),
            )
        };
        wait::until(&format!("{count} running nodes"), self.deadline, ready)
    }

    pub(super) fn bring_up(&self) -> Result<()> {
        for daemon in self
            .all_daemons()
            .into_iter()
            .filter(|daemon| !daemon.is_hdfs())
        {
            self.start(daemon)?;
            if daemon == Daemon::ZooKeeper {
                let address = (self.loopback.master(), 2181);
                wait::until("ZooKeeper", self.deadline, || {
                    Ok(TcpStream::connect(address).ok().map(drop))
                })?;
            }
        }
        if self.has_hdfs {
            let conf = self.daemon_folder(Daemon::NameNode).join("conf");
            let format = self.java_command(
                &conf,
                Daemon::NameNode.class(),
                &["-format", "-nonInteractive"],
                true,
            );
            let formatted = Run::new(format).deadline(self.deadline).finish()?;
            if !formatted.status.success() {
                bail!(
                    "formatting the NameNode: {}\n{}",
                    formatted.status,
                    excerpt(&formatted.stderr_text(), true)
                );
            }
            self.start(Daemon::NameNode)?;
            for store in self.stores() {
                self.start(store)?;
            }
        }
        self.wait_for_nodes(self.nodes)?;
        if self.has_hdfs {
            self.wait_for_hdfs()?;
            self.hdfs().make_folder("/tmp", "1777")?;
            self.hdfs().make_home(&self.user)?;
        }
        Ok(())
    }

    /// An error if a daemon that was started has ended by itself.
    fn check_alive(&self) -> Result<()> {
        match self.ended() {
            Some((daemon, status)) => bail!("{daemon} ended with {status}"),
            None => Ok(()),
        }
    }

    /// A daemon that was started and has ended by itself, the masters before the nodes.
    pub(super) fn ended(&self) -> Option<(Daemon, ExitStatus)> {
        use std::os::unix::process::ExitStatusExt as _;

        self.lock().iter_mut().find_map(|(daemon, child)| {
            let status = child.try_wait().ok()??;
            // Killed or stopped by a test.
            let by_a_test = matches!(status.signal(), Some(9 | 15)) || status.code() == Some(143);
            (!by_a_test).then_some((*daemon, status))
        })
    }
}
