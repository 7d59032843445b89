//! The process that cleans up when this one cannot.
//!
//! A shell in a session of its own holds one end of a pipe. When the other end closes because this
//! process was killed, it kills the cluster's daemons and every process that their containers left,
//! and removes the cluster's folder. Terminal signals do not reach it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::wait;

/// Variable of every daemon's environment by which the warden knows it. Its value is the cluster's
/// folder.
pub const CLUSTER_VARIABLE: &str = "GERBIL_IT_CLUSTER";

/// One sweep over a full process table.
const LEAVE: Duration = Duration::from_secs(20);

/// The cleaning process of one cluster.
#[derive(Debug)]
pub struct Warden {
    child: Child,
}

impl Warden {
    /// Starts it for the cluster in `folder`.
    ///
    /// # Errors
    ///
    /// `setsid` or `bash` cannot be started.
    pub fn start(folder: &Path) -> Result<Self> {
        let child = Command::new("setsid")
            .args(["bash", "-c", include_str!("warden.sh"), "warden"])
            .arg(folder)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("starting the warden: setsid bash")?;
        Ok(Self { child })
    }

    /// Lets it go, when the cluster's folder is removed.
    ///
    /// # Errors
    ///
    /// It does not end.
    pub fn leave(&mut self) -> Result<()> {
        drop(self.child.stdin.take());
        wait::until("the warden to leave", LEAVE, || {
            Ok(self.child.try_wait()?)
        })?;
        Ok(())
    }
}
