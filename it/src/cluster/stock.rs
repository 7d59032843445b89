//! Hadoop's own command-line classes, run as clients of the cluster.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::Cluster;
use crate::command::{Finished, Run};
use crate::daemon::Daemon;
use crate::java;
use crate::warden::CLUSTER_VARIABLE;

/// A Java start and a few calls.
const TOOL: Duration = Duration::from_secs(90);

impl Cluster {
    /// A stock command-line class run as a client of the cluster, for instance
    /// `org.apache.hadoop.hdfs.tools.DFSAdmin`; add a `HADOOP_USER_NAME` to be another user.
    #[must_use]
    pub fn tool(&self, class: &str, arguments: &[&str]) -> Command {
        self.java_command(&self.conf_dir(), class, arguments, false)
    }

    fn run_tool(&self, class: &str, arguments: &[&str]) -> Result<Finished> {
        let what = format!("{class} {}", arguments.join(" "));
        Run::new(self.tool(class, arguments))
            .deadline(TOOL)
            .finish()?
            .success(&what)
    }

    /// `hdfs dfs ARGUMENTS`
    ///
    /// # Errors
    ///
    /// It failed; its output is in the message. So for the other stock commands here.
    pub fn dfs(&self, arguments: &[&str]) -> Result<Finished> {
        self.run_tool("org.apache.hadoop.fs.FsShell", arguments)
    }

    /// `hdfs dfsadmin ARGUMENTS`: quotas and safe mode.
    ///
    /// # Errors
    ///
    /// As [`Cluster::dfs`].
    pub fn dfs_admin(&self, arguments: &[&str]) -> Result<Finished> {
        self.run_tool("org.apache.hadoop.hdfs.tools.DFSAdmin", arguments)
    }

    /// `yarn rmadmin ARGUMENTS`
    ///
    /// # Errors
    ///
    /// As [`Cluster::dfs`].
    pub fn yarn_admin(&self, arguments: &[&str]) -> Result<Finished> {
        self.run_tool("org.apache.hadoop.yarn.client.cli.RMAdminCLI", arguments)
    }

    /// Forbids or allows changes to HDFS.
    ///
    /// # Errors
    ///
    /// As [`Cluster::dfs`].
    pub fn safe_mode(&self, on: bool) -> Result<()> {
        self.dfs_admin(&["-safemode", if on { "enter" } else { "leave" }])?;
        Ok(())
    }

    pub(super) fn java_command(
        &self,
        conf: &Path,
        class: &str,
        arguments: &[&str],
        web_pages: bool,
    ) -> Command {
        // Behind the jars: what an archive of classes was made with is the front of the class path.
        let mut class_path = self.class_path(conf);
        if web_pages {
            class_path.push(self.folder().join("web").display().to_string());
        }
        let heap_mib = match class == Daemon::ResourceManager.class() {
            true => self.heap_mib,
            false => java::HEAP_MIB,
        };
        let mut command = Command::new(self.java.command());
        command
            .arg(format!("-Xmx{heap_mib}m"))
            .args(java::FLAGS)
            .args(self.archives.flag(class, arguments))
            .args(self.java_names())
            // Web pages and native libraries are unpacked there, and no daemon cleans up after itself.
            .arg(format!(
                "-Djava.io.tmpdir={}",
                self.java_scratch().display()
            ))
            .args(["-cp", &class_path.join(":"), class])
            .args(arguments)
            .current_dir(self.folder());
        self.as_client(&mut command);
        command
            .env("HADOOP_CONF_DIR", conf)
            .env("YARN_CONF_DIR", conf);
        command
    }

    /// Gives `command` the environment of a stock client of this cluster.
    pub fn as_client(&self, command: &mut Command) {
        let conf = self.conf_dir();
        command
            .env("JAVA_HOME", self.java.home())
            .env("HADOOP_CONF_DIR", &conf)
            .env("YARN_CONF_DIR", &conf)
            .env("LANG", "C.UTF-8")
            .env(CLUSTER_VARIABLE, self.folder())
            .env_remove("HADOOP_USER_NAME")
            .env_remove("CLASSPATH");
    }

    /// Options that a JVM needs to know this machine's name, where it does not resolve.
    #[must_use]
    pub fn java_options(&self) -> Vec<String> {
        self.java_names().into_iter().collect()
    }

    /// Where Java programs put what they would put into `/tmp`.
    pub(super) fn java_scratch(&self) -> PathBuf {
        self.folder().join("java")
    }

    pub(super) fn class_path(&self, conf: &Path) -> Vec<String> {
        let mut all = self.distribution.class_path();
        all.push(conf.display().to_string());
        all
    }
}
