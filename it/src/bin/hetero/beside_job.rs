//! What runs at the same time: programs of a session, and Hadoop's own.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use it::Run;
use it::command::Running;
use it::mapreduce::{self, Files};
use job::MapReduceReport;

use crate::bench::{Bench, BoardSession, DEADLINE, INPUT};

/// Where documents lie in HDFS.
pub(crate) const DOCUMENTS: &str = "/hetero/documents";
/// Where the program of each row leaves its output.
const LEFT: &str = "/hetero/beside";

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BesideJob {
    Kmeans,
    Bayes,
    Plain,
    /// `hadoop jar hadoop-mapreduce-examples.jar wordcount`, as it comes.
    Hadoop,
}

pub(crate) const JOBS: [BesideJob; 4] = [
    BesideJob::Kmeans,
    BesideJob::Bayes,
    BesideJob::Plain,
    BesideJob::Hadoop,
];

impl BesideJob {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Kmeans => "K-means, 2 rounds, 16 centroids",
            Self::Bayes => "naive Bayes: counting and sorting documents",
            Self::Plain => "word count",
            Self::Hadoop => "Hadoop's word count, outside the session",
        }
    }

    /// Its report's.
    const fn file(self) -> &'static str {
        match self {
            Self::Kmeans => "kmeans",
            Self::Bayes => "bayes",
            Self::Plain => "plain",
            Self::Hadoop => "hadoop",
        }
    }

    fn output(self) -> String {
        format!("{LEFT}-{}", self.file())
    }

    /// Folders of its output that are compared.
    const fn folders(self) -> &'static [&'static str] {
        match self {
            Self::Kmeans => &["/round-0", "/round-1"],
            Self::Bayes => &["/classes"],
            Self::Plain | Self::Hadoop => &[""],
        }
    }

    /// The program, its settings and its options.
    fn command(self, bench: &Bench, plain: &Path) -> (PathBuf, Vec<String>, Vec<String>) {
        let programs = bench.programs();
        let (program, options): (&Path, &[&str]) = match self {
            Self::Kmeans => (&programs.spherical, &["--k", "16", "--rounds", "2", INPUT]),
            Self::Bayes => (&programs.bayes, &[DOCUMENTS]),
            Self::Plain | Self::Hadoop => (plain, &["--reduces", "1", DOCUMENTS]),
        };
        let options = options.iter().map(|option| (*option).to_owned());
        let options = options.chain([self.output()]).collect();
        let needs: &[&str] = match self {
            Self::Kmeans | Self::Bayes => {
                &["acc.fallback=never", "mapreduce.map.speculative=false"]
            }
            Self::Plain | Self::Hadoop => &[],
        };
        let small = "mapreduce.input.fileinputformat.split.maxsize=8000000";
        let settings = needs.iter().chain([&small]);
        let settings = settings.map(|set| (*set).to_owned()).collect();
        (program.to_owned(), settings, options)
    }
}

/// One that runs.
pub(crate) struct BesideRun {
    job: BesideJob,
    began: Instant,
    running: Running,
}

/// What became of it.
pub(crate) struct BesideEnd {
    pub(crate) seconds: f64,
    pub(crate) devices: i64,
    /// Of each folder.
    pub(crate) files: Vec<Files>,
}

pub(crate) fn start(
    bench: &Bench,
    session: &BoardSession<'_>,
    plain: &Path,
    job: BesideJob,
) -> Result<BesideRun> {
    let run = match job {
        BesideJob::Hadoop => {
            let output = job.output();
            let class = "org.apache.hadoop.examples.WordCount";
            Run::new(bench.given().cluster.tool(class, &[DOCUMENTS, &output])).deadline(DEADLINE)
        }
        BesideJob::Kmeans | BesideJob::Bayes | BesideJob::Plain => {
            let (program, settings, options) = job.command(bench, plain);
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            session.mr(job.file(), &settings, &program, &options)?
        }
    };
    Ok(BesideRun {
        job,
        began: Instant::now(),
        running: run.start()?,
    })
}

impl BesideRun {
    /// Waits for its end, and takes its output away.
    pub(crate) fn finish(self, bench: &Bench, session: &BoardSession<'_>) -> Result<BesideEnd> {
        let Self {
            job,
            began,
            running,
        } = self;
        running.finish()?.success(job.name())?;
        let (seconds, devices) = match job {
            BesideJob::Hadoop => (began.elapsed().as_secs_f64(), 0),
            BesideJob::Kmeans | BesideJob::Bayes | BesideJob::Plain => {
                told(&session.report(job.file())?)?
            }
        };
        let cluster = &bench.given().cluster;
        let folders = job.folders().iter();
        let folders = folders.map(|folder| format!("{}{folder}", job.output()));
        let files = folders.map(|folder| mapreduce::files(cluster, &folder));
        let files = files.collect::<Result<_>>()?;
        cluster.hdfs().remove(&job.output())?;
        Ok(BesideEnd {
            seconds,
            devices,
            files,
        })
    }
}

/// From when its first job was taken until its last was over, and its packets on devices.
fn told(report: &[u8]) -> Result<(f64, i64)> {
    let report: MapReduceReport = serde_json::from_slice(report)?;
    let began = report.jobs.iter().map(|of| of.submitted_us).min();
    let ended = report.jobs.iter().map(|of| of.ended_us).max();
    let (began, ended) = began.zip(ended).context("no job was run")?;
    let tasks = report.jobs.iter().filter_map(|of| of.tasks.as_ref());
    let groups = tasks.flat_map(|tasks| tasks.counters.values());
    let of = |name: &'static str| {
        groups
            .clone()
            .filter_map(move |group| group.get(name))
            .sum::<i64>()
    };
    ensure!(
        of("PROCESSOR_PACKETS") == 0,
        "processors computed: {report:?}"
    );
    Ok((
        ended.saturating_sub(began) as f64 / 1e6,
        of("DEVICE_PACKETS"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_lasts_from_its_first_job_to_its_last() {
        let report = r#"{"jobs": [
            {"name": "count", "submitted_us": 1000000, "ended_us": 2000000},
            {"name": "classify", "submitted_us": 2500000, "ended_us": 4000000,
             "tasks": {"counters": {"gerbil": {"DEVICE_PACKETS": 7}}, "maps": 2, "reduces": 1, "failed_attempts": 0,
                       "tasks_ms": 1400, "commit_ms": 3}}]}"#;
        assert_eq!(told(report.as_bytes()).unwrap(), (3.0, 7));
        let elsewhere = report.replace("DEVICE", "PROCESSOR");
        assert!(told(elsewhere.as_bytes()).is_err());
        assert!(told(b"{}").is_err());
    }
}
