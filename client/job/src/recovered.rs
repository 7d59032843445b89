//! What the ApplicationMaster after one that was lost has done about that one's jobs: a sentence, which YARN keeps as
//! the application's last word, and in which a client finds its own job.

use std::collections::BTreeSet;

/// The folder of the records by which it finds these jobs, in the staging folder.
pub const FOLDER: &str = "commits";
/// How it begins.
const HEAD: &str = "the ApplicationMaster was lost";
/// Why a job that is given up has failed, in its history.
pub const LOST: &str = "its ApplicationMaster was lost";
/// Of an ApplicationMaster that has left no record of a job.
const NONE: &str = "none of its jobs was about to commit";
/// Output folders that are named; further jobs are told by their numbers.
const NAMED: usize = 20;
/// Sentences about what could not be done.
const TOLD: usize = 5;

/// The jobs of the one that was lost, by their numbers in the application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Their commits were under way and are finished, with the URL of the output.
    pub finished: Vec<(u32, String)>,
    /// Their output was there already.
    pub before: BTreeSet<u32>,
    /// Nothing is left of them.
    pub given_up: BTreeSet<u32>,
    /// Why that could not be done, a sentence each.
    pub failed: Vec<(u32, String)>,
    /// Why it is not known which jobs there were, a sentence; empty: it is.
    pub unread: String,
}

impl Recovered {
    /// All of it.
    #[must_use]
    pub fn sentence(&self) -> String {
        let mut parts = vec![HEAD.to_owned()];
        if !self.before.is_empty() {
            parts.push(format!("{} had committed before", jobs(&self.before)));
        }
        let (named, further) = self.finished.split_at(self.finished.len().min(NAMED));
        let named = named.iter();
        parts.extend(
            named.map(|(job, url)| format!("the commit of job {job} to {url} was finished")),
        );
        if !further.is_empty() {
            let further = further.iter().map(|(job, _)| *job).collect();
            parts.push(format!("the commits of {} were finished", jobs(&further)));
        }
        if !self.given_up.is_empty() {
            let were = match self.given_up.len() {
                1 => "was",
                _ => "were",
            };
            parts.push(format!("{} {were} given up", jobs(&self.given_up)));
        }
        let failed = self.failed.iter().take(TOLD);
        parts.extend(failed.map(|(job, why)| format!("job {job} is as it was left: {why}")));
        let untold = self.failed.len().saturating_sub(TOLD);
        if untold > 0 {
            parts.push(format!("and {untold} more are"));
        }
        if !self.unread.is_empty() {
            parts.push(format!(
                "which of its jobs were about to commit could not be read: {}",
                self.unread
            ));
        }
        if parts.len() == 1 {
            parts.push(NONE.to_owned());
        }
        parts.join("; ")
    }
}

/// Whether a [sentence](Recovered::sentence), with whatever YARN has put around it, says that the output of a job
/// is there.
#[must_use]
pub fn has_committed(sentence: &str, job: u32) -> bool {
    let Some((_, parts)) = sentence.split_once(HEAD) else {
        return false;
    };
    let named = format!("; the commit of job {job} to ");
    parts.contains(&named)
        || is_listed(parts, "job ", " had committed before", job)
        || is_listed(parts, "jobs ", " had committed before", job)
        || is_listed(parts, "the commits of job ", " were finished", job)
        || is_listed(parts, "the commits of jobs ", " were finished", job)
}

/// Whether a [sentence](Recovered::sentence), with whatever YARN has put around it, says that nothing of a job is
/// there: it may run again.
#[must_use]
pub fn is_given_up(sentence: &str, job: u32) -> bool {
    let Some((_, parts)) = sentence.split_once(HEAD) else {
        return false;
    };
    // That of one that had not begun to write.
    parts.split("; ").any(|part| part.trim_end() == NONE)
        || is_listed(parts, "job ", " was given up", job)
        || is_listed(parts, "jobs ", " were given up", job)
}

/// Whether one of the parts is a list with this job, between these words.
fn is_listed(parts: &str, before: &str, behind: &str, job: u32) -> bool {
    let parts = parts.split("; ");
    let mut lists =
        parts.filter_map(|part| part.trim_end().strip_prefix(before)?.strip_suffix(behind));
    lists.any(|list| is_in(list, job))
}

/// `job 3`, `jobs 3, 5-9`.
fn jobs(numbers: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if last.saturating_add(1) == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let ranges: Vec<String> = ranges
        .into_iter()
        .map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        })
        .collect();
    let noun = match numbers.len() {
        1 => "job",
        _ => "jobs",
    };
    format!("{noun} {}", ranges.join(", "))
}

/// Whether a list of numbers and ranges has this one.
fn is_in(list: &str, job: u32) -> bool {
    list.split(", ").any(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        match (first.parse::<u32>(), last.parse::<u32>()) {
            (Ok(first), Ok(last)) => (first..=last).contains(&job),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_was_finished_and_what_was_given_up() {
        let recovered = Recovered {
            finished: vec![(3, "hdfs://n/a".into())],
            before: [1, 2, 7].into(),
            given_up: [4, 5].into(),
            ..Recovered::default()
        };
        assert_eq!(
            recovered.sentence(),
            "the ApplicationMaster was lost; jobs 1-2, 7 had committed before; the commit of job 3 to hdfs://n/a was \
             finished; jobs 4-5 were given up"
        );
        let one = Recovered {
            given_up: [4].into(),
            failed: vec![(6, "hdfs://n/b: no room".into())],
            ..Recovered::default()
        };
        assert_eq!(
            one.sentence(),
            "the ApplicationMaster was lost; job 4 was given up; job 6 is as it was left: hdfs://n/b: no room"
        );
        assert_eq!(
            Recovered::default().sentence(),
            "the ApplicationMaster was lost; none of its jobs was about to commit"
        );
    }

    #[test]
    fn a_client_finds_its_own_job() {
        let recovered = Recovered {
            finished: (10..40)
                .map(|job| (job, format!("hdfs://n/{job}")))
                .collect(),
            before: [1, 2, 3, 7].into(),
            given_up: [4, 5].into(),
            failed: vec![(6, "why".into()), (8, "the commit of job".into())],
            unread: "why".into(),
        };
        let sentence = format!("application_1_2 failed: {}", recovered.sentence());
        for job in 0..50 {
            let wanted = [1, 2, 3, 7].contains(&job) || (10..40).contains(&job);
            assert_eq!(has_committed(&sentence, job), wanted, "{job}: {sentence}");
            let given_up = [4, 5].contains(&job);
            assert_eq!(is_given_up(&sentence, job), given_up, "{job}: {sentence}");
        }
        let none = format!("{}\n", Recovered::default().sentence());
        assert!(is_given_up(&none, 1) && !is_given_up("it was killed", 1));
        let one = Recovered {
            before: [9].into(),
            ..Recovered::default()
        };
        assert!(has_committed(&one.sentence(), 9) && !has_committed(&one.sentence(), 8));
        assert!(!has_committed(
            "killed by its user; job 9 had committed before",
            9
        ));
    }
}
