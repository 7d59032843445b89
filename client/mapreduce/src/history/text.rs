//! What became of a job, in words.

use std::collections::{BTreeMap, BTreeSet};

use gerbil_task::Counters;
use job::history::{AttemptEnd, JobHistory, JobState, Print, TaskAttempt, TaskStage};
use job::recovered::LOST;
use terminal::Foreign;

use super::id;

/// Attempts of each stage that are named as the slowest.
const SLOWEST: usize = 5;
/// Attempts that changed slots, of which the text names the slots.
const MOVED: usize = 20;
/// Lines that an attempt that failed has printed, of each stream.
const PRINTED: usize = 20;

/// As YARN says it.
#[must_use]
pub const fn state(state: JobState) -> &'static str {
    match state {
        JobState::Succeeded => "SUCCEEDED",
        JobState::Failed => "FAILED",
        JobState::Killed => "KILLED",
    }
}

/// As sentences say it.
#[must_use]
pub const fn end(end: AttemptEnd) -> &'static str {
    match end {
        AttemptEnd::Succeeded => "succeeded",
        AttemptEnd::Failed => "failed",
        AttemptEnd::Killed => "killed",
        AttemptEnd::Lost => "lost",
        AttemptEnd::NoDevice => "no device",
    }
}

/// What a stage is called.
#[must_use]
pub const fn stage(stage: TaskStage) -> &'static str {
    match stage {
        TaskStage::Map => "map",
        TaskStage::Reduce => "reduce",
    }
}

/// 1 map, 2 maps.
#[must_use]
pub fn count(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        number => format!("{number} {what}s"),
    }
}

/// 12.34 s.
#[must_use]
pub fn seconds(ms: u64) -> String {
    format!("{}.{:02} s", ms / 1_000, ms % 1_000 / 10)
}

/// How a job is, in a few lines.
#[must_use]
pub fn status(job: &JobHistory) -> String {
    let report = &job.report;
    let mut lines = vec![
        format!("{} {}", id(job), Foreign::name(&job.name)),
        format!("state {}", state(job.state)),
    ];
    if !job.sentence.is_empty() {
        lines.push(format!("because {}", Foreign::sentence(&job.sentence)));
    }
    lines.push(format!("output {}", Foreign::sentence(&job.output)));
    if job.sentence.starts_with(LOST) {
        lines.push(format!(
            "took {}; what its tasks did went with the ApplicationMaster",
            seconds(job.took_ms)
        ));
        return lines.join("\n");
    }
    lines.push(format!(
        "{} over {} MB, {}",
        count(report.maps.into(), "map"),
        job.bytes / 1_000_000,
        count(report.reduces.into(), "reduce")
    ));
    lines.push(format!(
        "took {}: tasks {}, commit {}",
        seconds(job.took_ms),
        seconds(report.tasks_ms),
        seconds(report.commit_ms)
    ));
    lines.join("\n")
}

/// The job, its attempts by stage and node, the slowest ones, and those that did not succeed.
#[must_use]
pub fn history(job: &JobHistory) -> String {
    let mut text = status(job);
    for of in [TaskStage::Map, TaskStage::Reduce] {
        let attempts: Vec<&TaskAttempt> = job.attempts.iter().filter(|a| a.stage == of).collect();
        if !attempts.is_empty() {
            text.push('\n');
            text.push_str(&stage_words(of, &attempts));
        }
    }
    let others = job
        .attempts
        .iter()
        .filter(|a| a.end != AttemptEnd::Succeeded);
    for attempt in others {
        text.push_str(&format!(
            "\n{} {} on {} after {}{}{}",
            name(attempt),
            end(attempt.end),
            Foreign::name(&attempt.host),
            seconds(took(attempt)),
            if attempt.sentence.is_empty() {
                ""
            } else {
                ": "
            },
            Foreign::sentence(&attempt.sentence)
        ));
        for (name, print) in [("output", &attempt.stdout), ("error", &attempt.stderr)] {
            text.push_str(&printed(name, print));
        }
    }
    text.push_str(&moved(job));
    if job.attempts_left_out > 0 {
        text.push_str(&format!(
            "\n{} more attempts are not kept",
            job.attempts_left_out
        ));
    }
    text
}

/// Attempts that changed slots while they ran: the first of them.
fn moved(job: &JobHistory) -> String {
    let moved = || {
        let all = job.attempts.iter();
        all.filter(|attempt| !attempt.earlier_slots.is_empty())
    };
    let lines = moved().take(MOVED).map(|attempt| {
        let stays = attempt.stays().map(|(slot, from, until)| {
            format!("slot {slot} for {}", seconds(until.saturating_sub(from)))
        });
        let stays: Vec<String> = stays.collect();
        let host = Foreign::name(&attempt.host);
        format!(
            "\n{} on {host} had {}",
            name(attempt),
            stays.join(", then ")
        )
    });
    let mut text: String = lines.collect();
    match moved().count().saturating_sub(MOVED) {
        0 => {}
        more => text.push_str(&format!("\n{more} more attempts changed slots")),
    }
    text
}

/// The last lines that an attempt has written to a stream.
fn printed(name: &str, print: &Print) -> String {
    let end = match print.tail.as_str() {
        "" => &print.head,
        tail => tail,
    };
    let lines: Vec<&str> = end.trim_end().lines().collect();
    if lines.is_empty() {
        return String::new();
    }
    let before = lines.len().saturating_sub(PRINTED);
    let more = match print.left_out > 0 || before > 0 {
        true => ", the last lines",
        false => "",
    };
    let mut text = format!("\n  on standard {name}{more}:");
    for line in lines.into_iter().skip(before) {
        text.push_str(&format!("\n  | {}", Foreign::sentence(line)));
    }
    text
}

fn stage_words(of: TaskStage, attempts: &[&TaskAttempt]) -> String {
    let nodes: BTreeSet<&str> = sort::set(attempts.iter().map(|a| a.host.as_str()));
    let well: Vec<&&TaskAttempt> = attempts
        .iter()
        .filter(|a| a.end == AttemptEnd::Succeeded)
        .collect();
    let mut times: Vec<u64> = well.iter().map(|a| took(a)).collect();
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    let mut by_time = well;
    sort::by_key(&mut by_time, |a| std::cmp::Reverse(took(a)));
    let slowest: Vec<String> = by_time
        .iter()
        .take(SLOWEST)
        .map(|a| {
            format!(
                "{} {} on {}",
                a.task,
                seconds(took(a)),
                Foreign::name(&a.host)
            )
        })
        .collect();
    let mut words = format!(
        "{} at {}s on {}, {} succeeded, median {}",
        count(attempts.len() as u64, "attempt"),
        stage(of),
        count(nodes.len() as u64, "node"),
        times.len(),
        seconds(median)
    );
    if !slowest.is_empty() {
        words.push_str(&format!("; the slowest: {}", slowest.join(", ")));
    }
    words
}

/// map 3, attempt 0.
#[must_use]
pub fn name(attempt: &TaskAttempt) -> String {
    format!(
        "{} {}, attempt {}",
        stage(attempt.stage),
        attempt.task,
        attempt.attempt
    )
}

/// ms.
#[must_use]
pub const fn took(attempt: &TaskAttempt) -> u64 {
    attempt.ended_ms.saturating_sub(attempt.began_ms)
}

/// Group by group, as Hadoop's Counters say themselves; empty where there are none.
#[must_use]
pub fn counters(all: &Counters) -> String {
    let number: usize = all.values().map(BTreeMap::len).sum();
    if number == 0 {
        return String::new();
    }
    let mut text = format!("Counters: {number}");
    for (group, counters) in all {
        text.push_str(&format!("\n\t{}", Foreign::name(group)));
        for (counter, value) in counters {
            text.push_str(&format!("\n\t\t{}={value}", Foreign::name(counter)));
        }
    }
    text
}

#[cfg(test)]
pub(super) mod tests {
    use job::TasksReport;

    use super::*;

    /// Two maps, one of which failed once, and a reduce.
    pub(crate) fn job() -> JobHistory {
        let attempt = |stage, task, attempt, span: (u64, u64), end| TaskAttempt {
            stage,
            task,
            attempt,
            host: format!("n{task}"),
            container: "c".into(),
            slot: 0,
            earlier_slots: Vec::new(),
            began_ms: span.0,
            ended_ms: span.1,
            end,
            output_bytes: 10,
            sentence: match end {
                AttemptEnd::Failed => "no <room>".into(),
                _ => String::new(),
            },
            stdout: Print::default(),
            stderr: match end {
                AttemptEnd::Failed => Print {
                    head: "Traceback:\n  <b>\u{1b}[31m\n".into(),
                    ..Print::default()
                },
                _ => Print::default(),
            },
        };
        JobHistory {
            version: 1,
            job: "application_1700000000000_0042_7".into(),
            name: "words".into(),
            user: "ada".into(),
            queue: "default".into(),
            inputs: vec!["hdfs://nn/in (3 files)".into()],
            began_ms: 1_700_000_000_000,
            output: "hdfs://nn/out".into(),
            took_ms: 4_000,
            bytes: 3_000_000,
            report: TasksReport {
                maps: 2,
                reduces: 1,
                tasks_ms: 3_500,
                commit_ms: 500,
                ..TasksReport::default()
            },
            attempts: vec![
                attempt(TaskStage::Map, 0, 0, (0, 1_000), AttemptEnd::Succeeded),
                attempt(TaskStage::Map, 1, 0, (0, 500), AttemptEnd::Failed),
                attempt(TaskStage::Map, 1, 1, (600, 2_600), AttemptEnd::Succeeded),
                attempt(
                    TaskStage::Reduce,
                    0,
                    0,
                    (2_700, 3_500),
                    AttemptEnd::Succeeded,
                ),
            ],
            ..JobHistory::default()
        }
    }

    #[test]
    fn a_job_is_told_in_words() {
        assert_eq!(
            history(&job()),
            "s42.7 words\n\
             state SUCCEEDED\n\
             output hdfs://nn/out\n\
             2 maps over 3 MB, 1 reduce\n\
             took 4.00 s: tasks 3.50 s, commit 0.50 s\n\
             3 attempts at maps on 2 nodes, 2 succeeded, median 2.00 s; the slowest: 1 2.00 s on n1, 0 1.00 s on n0\n\
             1 attempt at reduces on 1 node, 1 succeeded, median 0.80 s; the slowest: 0 0.80 s on n0\n\
             map 1, attempt 0 failed on n1 after 0.50 s: no <room>\n  on standard error:\n  | Traceback:\n  |   <b>\\x1b[31m"
        );
    }

    #[test]
    fn counters_are_printed_as_hadoop_prints_them() {
        let group = |counters: &[(&str, i64)]| {
            let counters = counters
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value));
            counters.collect::<BTreeMap<_, _>>()
        };
        let all = Counters::from([
            (
                "Map-Reduce Framework".into(),
                group(&[("Map input records", 3)]),
            ),
            ("Mine".into(), group(&[("a", 1), ("b", 2)])),
        ]);
        assert_eq!(
            counters(&all),
            "Counters: 3\n\tMap-Reduce Framework\n\t\tMap input records=3\n\tMine\n\t\ta=1\n\t\tb=2"
        );
        assert_eq!(counters(&Counters::new()), "");
        assert_eq!(seconds(61_239), "61.23 s");
    }
}
