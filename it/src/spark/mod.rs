//! Apache Spark as one warm application on a cluster's YARN: `PySpark` of `PyPI`, which brings Spark's jars.
//!
//! The driver is a Python program that reads a job a line and answers a line; executors live as long as it does.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::cache::Cache;
use crate::cluster::Cluster;
use crate::mpi::pip;
use crate::process::{self, ChildStreams};

/// On `PyPI`.
pub const RELEASE: &str = "4.3.0";

/// Two JVMs, and four containers of YARN's.
const START: Duration = Duration::from_secs(180);

/// Of an executor; YARN adds Spark's overhead, 384 MiB.
const EXECUTOR_MIB: u32 = 1024;

/// A warm application. Dropping it kills the driver; the application ends when YARN misses its ApplicationMaster's.
#[derive(Debug)]
pub struct Spark {
    driver: Child,
    answers: Receiver<String>,
    log: PathBuf,
}

impl Spark {
    /// Starts the application with so many executors of one core, and waits until it takes jobs.
    ///
    /// # Errors
    ///
    /// `PyPI` cannot be reached, or Spark does not start: its last words are in the message.
    pub fn start(cluster: &Cluster, executors: usize) -> Result<Self> {
        let python = Cache::find().entry(&format!("pyspark-{RELEASE}"), |half| {
            pip(half, &[&*format!("pyspark=={RELEASE}")])
        })?;
        let folder = cluster.folder().join("spark");
        std::fs::create_dir_all(&folder)?;
        let jobs = folder.join("jobs.py");
        std::fs::write(&jobs, include_str!("jobs.py"))?;
        let log = folder.join("driver.log");
        let mut command = Command::new(python.join("bin/python3"));
        let submit = submit(cluster, &python, executors)?;
        command
            .arg(&jobs)
            .current_dir(&folder)
            .env("PYSPARK_SUBMIT_ARGS", submit)
            .env("SPARK_LOCAL_IP", "127.0.0.1")
            .env("PYSPARK_PYTHON", python.join("bin/python3"));
        cluster.as_client(&mut command);
        let streams = ChildStreams {
            stdin: Stdio::piped(),
            stdout: Stdio::piped(),
            stderr: Stdio::from(std::fs::File::create(&log)?),
        };
        let mut driver = process::spawn(&command, streams)?;
        let stdout = driver.stdout.take().context("the driver's stdout")?;
        let (said, answers) = sync_channel(1);
        // Ends with the driver, or when the answers are no longer wanted.
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if said.send(line).is_err() {
                    break;
                }
            }
        });
        let spark = Self {
            driver,
            answers,
            log,
        };
        spark.answer("ready", START)?;
        Ok(spark)
    }

    /// Runs `job`, one of `jobs.py`'s, and waits for its output.
    ///
    /// # Errors
    ///
    /// It failed, or did not end in time.
    pub fn run(&mut self, job: &[&str], deadline: Duration) -> Result<()> {
        let stdin = self.driver.stdin.as_mut().context("the driver's stdin")?;
        writeln!(stdin, "{}", job.join(" "))?;
        self.answer("done", deadline)
    }

    fn answer(&self, wanted: &str, deadline: Duration) -> Result<()> {
        match self.answers.recv_timeout(deadline) {
            Ok(answer) if answer == wanted => Ok(()),
            Ok(answer) => bail!("Spark: {answer}"),
            Err(_) => {
                let log = std::fs::read(&self.log).unwrap_or_default();
                let last = log
                    .get(log.len().saturating_sub(2000)..)
                    .unwrap_or_default();
                let last = String::from_utf8_lossy(last);
                bail!("Spark did not say {wanted} within {deadline:?}: {last}")
            }
        }
    }
}

impl Drop for Spark {
    fn drop(&mut self) {
        // It may have ended.
        let _gone = process::destroy(&mut self.driver);
    }
}

/// What `spark-submit` would be given.
fn submit(cluster: &Cluster, python: &std::path::Path, executors: usize) -> Result<String> {
    let libraries = std::fs::read_dir(python.join("lib"))?
        .filter_map(Result::ok)
        .map(|entry| entry.path().join("site-packages/pyspark/jars"))
        .find(|jars| jars.is_dir())
        .context("pyspark has no jars")?;
    let java = cluster.java_options().join(" ");
    let settings = [
        (
            "spark.yarn.jars",
            format!("local:{}/*", libraries.display()),
        ),
        ("spark.executor.instances", executors.to_string()),
        ("spark.executor.cores", "1".to_owned()),
        ("spark.executor.memory", format!("{EXECUTOR_MIB}m")),
        ("spark.driver.host", "127.0.0.1".to_owned()),
        ("spark.sql.shuffle.partitions", executors.to_string()),
        ("spark.ui.enabled", "false".to_owned()),
        // Executors that are not there yet would do none of the first job's work.
        (
            "spark.scheduler.minRegisteredResourcesRatio",
            "1.0".to_owned(),
        ),
        ("spark.driver.extraJavaOptions", java.clone()),
        ("spark.executor.extraJavaOptions", java.clone()),
        ("spark.yarn.am.extraJavaOptions", java),
    ];
    let settings = settings.map(|(key, value)| format!("--conf '{key}={value}'"));
    Ok(format!(
        "--master yarn --deploy-mode client {} pyspark-shell",
        settings.join(" ")
    ))
}
