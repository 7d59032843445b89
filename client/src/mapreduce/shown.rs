//! What the user sees of a run: a line that changes on a terminal, what stays of each job.

use std::collections::{BTreeMap, BTreeSet};

use follow::ended::Ended;
use follow::explained::Sink;
use follow::follower::tasks::JobNews;
use follow::progress::Progress;
use follow::timing::now_us;
use job::wire::{TasksPhase, phase::Kind};
use job::{MapReduceJobReport, TasksReport};
use mapreduce_client::Show;
use mapreduce_client::history::text::{count, counters, seconds};
use mapreduce_client::jobs::Accepted;
use terminal::{Foreign, say};

use super::timing::Timing;

/// A run that is shown.
pub(super) struct Shown {
    progress: Progress,
    quiet: bool,
    /// The jobs have an application of their own.
    are_alone: bool,
    timing: Timing,
    /// Where decisions are told.
    pub(super) explain: Option<Sink>,
    /// How far each job is that is under way, by its number.
    jobs: BTreeMap<u32, String>,
    /// Why jobs failed, as it was said.
    said: Vec<String>,
    /// What stages go on without, said once: each job of a loop meets it.
    without: BTreeSet<String>,
    /// When jobs were taken that are under way, by their numbers, us since 1970.
    submitted: BTreeMap<u32, i64>,
    /// Jobs that have ended.
    ended: Vec<MapReduceJobReport>,
    /// What the first job would be, a line each.
    pub(super) planned: Vec<String>,
    /// The job that was left to its session, or to its application.
    pub(super) left: Option<String>,
}

impl Shown {
    pub(super) fn new(
        mut progress: Progress,
        quiet: bool,
        are_alone: bool,
        timing: Timing,
    ) -> Self {
        progress.show("starting the program");
        Self {
            progress,
            quiet,
            are_alone,
            timing,
            explain: None,
            jobs: BTreeMap::new(),
            said: Vec::new(),
            without: BTreeSet::new(),
            submitted: BTreeMap::new(),
            ended: Vec::new(),
            planned: Vec::new(),
            left: None,
        }
    }

    /// The jobs, for a report.
    pub(super) fn into_jobs(self) -> Vec<MapReduceJobReport> {
        self.ended
    }

    /// Takes the line away.
    pub(super) fn clear(&mut self) {
        self.progress.clear();
    }

    /// Whether the user has read it already.
    pub(super) fn has_said(&self, sentence: &str) -> bool {
        self.said.iter().any(|said| said == sentence)
    }

    fn line(&mut self) {
        let jobs: Vec<&str> = self.jobs.values().map(String::as_str).collect();
        self.progress.show(jobs.join("; "));
    }
}

impl Show for Shown {
    fn note(&mut self, sentence: &str) {
        self.progress.remark(Foreign::sentence(sentence));
    }

    fn planned(&mut self, lines: &[String]) {
        self.planned = lines.to_vec();
    }

    fn uploaded(&mut self, done: u64, all: u64) {
        self.progress.uploading(done, all);
    }

    fn waits(&mut self, why: &str) {
        self.progress.wait(why);
    }

    fn accepted(&mut self, job: &Accepted) {
        self.timing.mark(format!("{} was taken", job.id));
        self.submitted.insert(job.number, now_us());
        self.progress.taken(job.id.clone());
        let sentence = format!(
            "{} {}{}: {} over {} MB, {}",
            job.id,
            Foreign::name(&job.name),
            match &job.application {
                Some(application) => format!(" ({application})"),
                None => String::new(),
            },
            count(job.maps as u64, "map"),
            job.bytes / 1_000_000,
            count(job.reduces.into(), "reduce"),
        );
        if !job.is_quiet {
            self.progress.remark(sentence);
        }
        self.jobs
            .insert(job.number, format!("{}: submitted", job.id));
        self.line();
    }

    fn left(&mut self, job: &Accepted) {
        self.left = Some(job.id.clone());
        if let Some(application) = &job.application
            && !self.quiet
        {
            self.progress
                .remark(format!("{} is {application} to YARN", job.id));
        }
    }

    fn told(&mut self, job: &Accepted, told: &JobNews) {
        match told {
            JobNews::Notice(sentence) => {
                let without = sentences::is_on_processors(sentence);
                if without.is_none_or(|needs| self.without.insert(needs.to_owned())) {
                    self.progress.remark(Foreign::sentence(sentence));
                }
            }
            JobNews::Explained(line) => {
                if let Some(sink) = &mut self.explain {
                    self.progress.aside(|| sink.write(line));
                }
            }
            JobNews::Tasks(tasks) => {
                self.jobs.insert(job.number, far(&job.id, tasks));
                self.line();
            }
            JobNews::Phase(phase) => match phase.kind() {
                Kind::Running | Kind::Ending => {}
                Kind::WaitingForRoom | Kind::WaitingForContainers | Kind::StartingContainers => {
                    self.progress.phase(phase);
                }
            },
            _ => {}
        }
    }

    fn remind(&mut self) {
        self.progress.remind();
    }

    fn given_up(&mut self, job: &Accepted) {
        self.submitted.remove(&job.number);
        self.jobs.remove(&job.number);
        self.line();
    }

    fn ended(&mut self, job: &Accepted, ended: &Ended, report: Option<&TasksReport>) {
        let report_of = |report: &TasksReport| {
            let (tasks, commit) = (seconds(report.tasks_ms), seconds(report.commit_ms));
            format!(": tasks {tasks}, commit {commit}")
        };
        let took = report.map_or_else(String::new, report_of);
        self.timing.mark(format!("{} ended{took}", job.id));
        self.ended.push(MapReduceJobReport {
            id: job.id.clone(),
            name: job.name.clone(),
            output: job.output.clone(),
            input_bytes: job.bytes,
            needs: job.needs.clone(),
            exit_code: ended.code.into(),
            sentence: ended.sentence.clone(),
            submitted_us: self.submitted.remove(&job.number).unwrap_or_default(),
            ended_us: now_us(),
            tasks: report.cloned(),
        });
        self.jobs.remove(&job.number);
        self.line();
        if ended.code != 0 && !ended.sentence.is_empty() {
            self.said.push(ended.sentence.clone());
            let (name, why) = (Foreign::name(&job.name), Foreign::sentence(&ended.sentence));
            let sentence = format!("{} {name}: {why}", job.id);
            let prints = report.filter(|report| report.failed_attempts > 0).map(|_| {
                format!(
                    "gerbil logs {} shows what failed attempts have printed, if anything",
                    job.id
                )
            });
            self.progress.aside(|| {
                say(sentence);
                prints.iter().for_each(say);
            });
        }
        if let Some(report) = report.filter(|_| !self.quiet && !job.is_quiet) {
            let text = summary(job, ended, report);
            self.progress.aside(|| say(text));
        }
    }

    fn ending(&mut self, jobs: usize) {
        let what = match jobs {
            0 => "the driver".to_owned(),
            1 => self.progress.job().to_owned(),
            jobs => format!("{jobs} jobs"),
        };
        let more = match self.are_alone {
            true => "once more not to wait for it",
            false => "once more to leave it to the session",
        };
        self.progress
            .aside(|| say(format!("ending {what}; {more}")));
    }

    fn paused(&mut self) {
        self.progress.clear();
    }
}

/// How far a job is, in a line.
fn far(id: &str, tasks: &TasksPhase) -> String {
    let mut text = format!("{id}: maps {} of {}", tasks.maps_done, tasks.maps);
    if tasks.reduces > 0 {
        text.push_str(&format!(
            ", reduces {} of {}",
            tasks.reduces_done, tasks.reduces
        ));
    }
    if tasks.bytes > 0 {
        text.push_str(&format!(
            ", {} of {} MB read",
            tasks.bytes_done / 1_000_000,
            tasks.bytes / 1_000_000
        ));
    }
    if !tasks.waits.is_empty() {
        text.push_str(&format!("; {}", tasks.waits));
    }
    text
}

/// What a job came to, and its counters as Hadoop prints them.
fn summary(job: &Accepted, ended: &Ended, report: &TasksReport) -> String {
    let how = match ended.code {
        0 => "completed",
        _ => "failed",
    };
    let mut text = format!(
        "{} {} {how}: tasks {}, commit {}",
        job.id,
        Foreign::name(&job.name),
        seconds(report.tasks_ms),
        seconds(report.commit_ms)
    );
    if report.failed_attempts > 0 {
        let failed = count(report.failed_attempts.into(), "attempt");
        text.push_str(&format!(", {failed} failed"));
    }
    let skipped = |name: &str, what: &str| {
        let groups = report.counters.values();
        let skipped: i64 = groups.filter_map(|group| group.get(name)).sum();
        let skipped = u64::try_from(skipped).unwrap_or(0);
        (skipped > 0).then(|| count(skipped, what))
    };
    let left_out = [
        skipped("MAP_SKIPPED_RECORDS", "record"),
        skipped("REDUCE_SKIPPED_GROUPS", "group"),
    ];
    let left_out: Vec<String> = left_out.into_iter().flatten().collect();
    if !left_out.is_empty() {
        text.push_str(&format!(
            ", {} left out because the job's code failed on them",
            left_out.join(" and ")
        ));
    }
    let counters = counters(&report.counters);
    if !counters.is_empty() {
        text.push('\n');
        text.push_str(&counters);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_how_far_a_job_is() {
        let tasks = TasksPhase {
            maps: 10,
            maps_done: 3,
            bytes: 800_000_000,
            bytes_done: 120_000_000,
            ..TasksPhase::default()
        };
        assert_eq!(
            far("s4.1", &tasks),
            "s4.1: maps 3 of 10, 120 of 800 MB read"
        );
        let waiting = TasksPhase {
            waits: "the output waits for map 7, attempt 0, node n3, 41 %".into(),
            ..tasks
        };
        assert!(
            far("s4.1", &waiting)
                .ends_with(" read; the output waits for map 7, attempt 0, node n3, 41 %")
        );
    }
}
