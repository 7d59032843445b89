//! What `gerbil mr` jobs have left: the files of the folder `history` of a user's staging folder, and what
//! `gerbil mr history JOB --json` prints.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use policy::schedule::trace::{TracedJob, traced_name};
use policy::schedule::{JobClass, Nanos};
use serde::Deserialize;

/// The form of these files that is read here.
const VERSION: u32 = 1;
/// Where the time stands in which reduces wait for their input, of all of them.
const SHUFFLE: (&str, &str) = ("gerbil", "SHUFFLE_MILLISECONDS");

/// What is read of a file.
#[derive(Debug, Deserialize)]
struct HistoryFile {
    version: u32,
    name: String,
    #[serde(default)]
    queue: String,
    began_ms: u64,
    report: Report,
    attempts: Vec<Attempt>,
}

#[derive(Debug, Deserialize)]
struct Report {
    counters: BTreeMap<String, BTreeMap<String, u64>>,
    maps: u32,
    reduces: u32,
}

#[derive(Debug, Deserialize)]
struct Attempt {
    stage: String,
    began_ms: u64,
    ended_ms: u64,
    end: String,
}

/// The jobs of these files in the order of their submission, which is counted from the first one. Jobs of which no map has
/// ended well are left out.
///
/// # Errors
///
/// A file cannot be read, or is none of a job: a sentence with its name.
pub fn jobs<'a>(files: impl IntoIterator<Item = &'a Path>) -> Result<Vec<TracedJob>> {
    let mut all: Vec<(u64, TracedJob)> = Vec::new();
    for path in files {
        let shown = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("reading {shown}"))?;
        let file: HistoryFile = serde_json::from_str(&text)
            .with_context(|| format!("{shown} is no history of a job"))?;
        ensure!(
            file.version == VERSION,
            "{shown} is of version {}, and version {VERSION} is read here",
            file.version
        );
        all.extend(file.job().map(|job| (file.began_ms, job)));
    }
    all.sort_by_key(|(began, _)| *began);
    let first = all.first().map_or(0, |(began, _)| *began);
    let jobs = all.into_iter().map(|(began, job)| TracedJob {
        submit: Nanos::from_millis(began.saturating_sub(first)),
        ..job
    });
    Ok(jobs.collect())
}

impl HistoryFile {
    fn job(&self) -> Option<TracedJob> {
        let shuffle = self.report.counters.get(SHUFFLE.0);
        let shuffle = shuffle.and_then(|group| group.get(SHUFFLE.1)).copied();
        let shuffle = shuffle.unwrap_or(0).checked_div(self.report.reduces.into());
        let shuffle = Nanos::from_millis(shuffle.unwrap_or(0));
        let reduce = (self.report.reduces > 0).then(|| self.mean("reduce"));
        let reduce = reduce.flatten().unwrap_or(Nanos(0));
        (self.report.maps > 0).then_some(())?;
        Some(TracedJob {
            name: traced_name(&self.name),
            submit: Nanos(0),
            class: JobClass::of_queue(&self.queue),
            maps: self.report.maps,
            reduces: self.report.reduces,
            map: self.mean("map")?,
            shuffle: shuffle.min(reduce),
            reduce: reduce.since(shuffle),
        })
    }

    /// What an attempt of a stage that has ended well takes, in the mean.
    fn mean(&self, stage: &str) -> Option<Nanos> {
        let ended = self.attempts.iter();
        let ended = ended.filter(|of| of.stage == stage && of.end == "SUCCEEDED");
        let times = ended.map(|of| u128::from(of.ended_ms.saturating_sub(of.began_ms)));
        let (sum, count) = times.fold((0, 0), |(sum, count), time| (sum + time, count + 1));
        let nanos = (sum * 1_000_000_u128).checked_div(count)?;
        u64::try_from(nanos).ok().map(Nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, began_ms: u64, reduces: u32) -> String {
        format!(
            r#"{{"version": 1, "job": "application_1_0001_1", "name": "{name}", "queue": "batch", "began_ms": {began_ms},
               "report": {{"counters": {{"gerbil": {{"SHUFFLE_MILLISECONDS": 300}}}}, "maps": 2, "reduces": {reduces}}},
               "attempts": [
                 {{"stage": "map", "began_ms": 10, "ended_ms": 110, "end": "SUCCEEDED"}},
                 {{"stage": "map", "began_ms": 10, "ended_ms": 9000, "end": "FAILED"}},
                 {{"stage": "map", "began_ms": 10, "ended_ms": 211, "end": "SUCCEEDED"}},
                 {{"stage": "reduce", "began_ms": 300, "ended_ms": 800, "end": "SUCCEEDED"}}]}}"#
        )
    }

    #[test]
    fn jobs_are_in_the_order_of_their_submission() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let paths = [
            write("late", &file("sort, twice", 5_000, 1)),
            write("early", &file("grep", 3_000, 0)),
        ];
        let jobs = jobs(paths.iter().map(|path| path.as_path())).unwrap();
        let shown: Vec<String> = jobs.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "grep,0,batch,2,0,150.5,0,0",
                "sort  twice,2000,batch,2,1,150.5,300,200"
            ]
        );
        let other = write(
            "other",
            &file("grep", 0, 0).replace("\"version\": 1", "\"version\": 2"),
        );
        let refused = super::jobs([other.as_path()]).unwrap_err().to_string();
        assert!(
            refused.ends_with("is of version 2, and version 1 is read here"),
            "{refused}"
        );
    }
}
