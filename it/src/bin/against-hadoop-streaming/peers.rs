//! The two that run a command line of Hadoop Streaming.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::hadoop::Distribution;
use it::java::{FLAGS, Java};
use it::mapreduce::Files;
use it::{Run, Version, gerbil};

/// One run of either.
const DEADLINE: Duration = Duration::from_secs(120);
const VERSION: Version = Version::V3_4_2;
/// Heap of Hadoop's local runner.
const HEAP: &str = "-Xmx512m";

#[derive(Clone, Copy, Debug)]
pub(crate) enum Peer {
    Hadoop,
    Gerbil,
}

impl Peer {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Hadoop => "hadoop",
            Self::Gerbil => "gerbil",
        }
    }
}

/// Where both are.
pub(crate) struct Peers {
    java: Java,
    class_path: String,
    gerbil: PathBuf,
    scratch: PathBuf,
}

impl Peers {
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        let hadoop = Distribution::fetch(VERSION)?;
        let mut class_path = hadoop.class_path();
        class_path.push(hadoop.streaming_jar()?.display().to_string());
        let gerbil = folder.join("gerbil");
        std::os::unix::fs::symlink(gerbil::binary()?, &gerbil)?;
        Ok(Self {
            java: Java::find(&VERSION.java())?,
            class_path: class_path.join(":"),
            gerbil,
            scratch: folder.join("scratch"),
        })
    }

    /// Runs a command line in `folder`, without its output, and reads the part files that it writes.
    pub(crate) fn run(&self, peer: Peer, folder: &Path, words: &[&str]) -> Result<Files> {
        let output = folder.join("out");
        if output.exists() {
            fs::remove_dir_all(&output)?;
        }
        let mut command = match peer {
            Peer::Hadoop => {
                let mut command = Command::new(self.java.command());
                command
                    .args(FLAGS)
                    .args([HEAP, "-cp", &self.class_path])
                    .arg("org.apache.hadoop.streaming.HadoopStreaming")
                    .args(["-D", "mapreduce.framework.name=local"])
                    .args(["-D", "fs.defaultFS=file:///"])
                    .arg("-D")
                    .arg(format!("hadoop.tmp.dir={}", self.scratch.display()));
                command
            }
            Peer::Gerbil => {
                let mut command = Command::new(&self.gerbil);
                command.args(["mr", "--local", "--quiet", "streaming"]);
                command.env_remove("HADOOP_CONF_DIR");
                command
            }
        };
        command
            .args(words)
            .arg("-output")
            .arg(&output)
            .current_dir(folder);
        let ran = Run::new(command).deadline(DEADLINE).finish()?;
        ensure!(
            ran.code() == 0,
            "exit code {}: {}{}",
            ran.code(),
            ran.stdout_text(),
            ran.stderr_text()
        );
        let mut files = Files::new();
        for entry in fs::read_dir(&output)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.context("a file without a name")?;
            if name.starts_with("part-") {
                files.insert(name.to_owned(), fs::read(&path)?);
            }
        }
        Ok(files)
    }
}
