//! Traces: jobs as lines of a file, each with what its tasks took. The simulator plays them, and a job is told from them what
//! it was like before.
//!
//! ```text
//! job,submit_ms,class,maps,reduces,map_ms,shuffle_ms,reduce_ms
//! wordcount,1500,interactive,12,1,2100.5,40,800
//! ```
//!
//! Times are milliseconds, with up to six digits behind the point: of a job's submission since the trace began, and of one
//! task each, on the slots that it had. `class` is `interactive`, `batch`, or empty where the job's size tells.

use std::fmt;
use std::str::FromStr;

use super::{JobClass, Nanos};

/// The first line of a trace.
pub const HEADER: &str = "job,submit_ms,class,maps,reduces,map_ms,shuffle_ms,reduce_ms";
/// Digits behind the point.
const DIGITS: usize = 6;

/// A job of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedJob {
    /// What it is called: see [`traced_name`].
    pub name: String,
    /// When it was submitted, since the trace began.
    pub submit: Nanos,
    /// Whom it belongs with; `None`: its size tells.
    pub class: Option<JobClass>,
    /// Map tasks.
    pub maps: u32,
    /// Reduce tasks.
    pub reduces: u32,
    /// What a map takes.
    pub map: Nanos,
    /// What a reduce takes until it has its input.
    pub shuffle: Nanos,
    /// What it takes from then on.
    pub reduce: Nanos,
}

/// A line of a trace that says no job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct TraceError {
    /// Its number, from 1 on.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

/// What a job of this name is called in a trace, where commas end fields, and lines end jobs.
#[must_use]
pub fn traced_name(name: &str) -> String {
    name.replace([',', '\n', '\r'], " ")
}

/// The jobs of a trace, in its order.
///
/// # Errors
///
/// The first line is not [`HEADER`], or another one says no job.
pub fn read_trace(text: &str) -> Result<Vec<TracedJob>, TraceError> {
    let mut lines = (1..).zip(text.lines().map(str::trim_end));
    let error = |line, what| TraceError { line, what };
    match lines.next() {
        Some((_, HEADER)) => {}
        Some((line, other)) => {
            let begins: String = other.chars().take(80).collect();
            return Err(error(line, format!("{begins:?} is not {HEADER}")));
        }
        None => return Err(error(1, format!("it is empty, and not {HEADER}"))),
    }
    let jobs = lines.filter(|(_, text)| !text.is_empty());
    let jobs = jobs.map(|(line, text)| text.parse().map_err(|what| error(line, what)));
    jobs.collect()
}

impl FromStr for TracedJob {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fields: Vec<&str> = text.split(',').collect();
        let [name, submit, class, maps, reduces, map, shuffle, reduce] = fields[..] else {
            let count = fields.len();
            return Err(format!("it has {count} fields, and not those of {HEADER}"));
        };
        let count = |what: &str, text: &str| {
            let number = text.parse::<u32>();
            number.map_err(|_odd| format!("{what} {text:?} is no number of tasks"))
        };
        let job = Self {
            name: name.to_owned(),
            submit: time("submit_ms", submit)?,
            class: match class {
                "" => None,
                queue => Some(JobClass::of_queue(queue).ok_or_else(|| {
                    format!("class {queue:?} is neither interactive nor batch, nor empty")
                })?),
            },
            maps: count("maps", maps)?,
            reduces: count("reduces", reduces)?,
            map: time("map_ms", map)?,
            shuffle: time("shuffle_ms", shuffle)?,
            reduce: time("reduce_ms", reduce)?,
        };
        match job.maps {
            0 => Err("a job has at least one map".to_owned()),
            _ => Ok(job),
        }
    }
}

/// The line of a trace.
impl fmt::Display for TracedJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{},{},{},{},{},{},{},{}",
            traced_name(&self.name),
            Millis(self.submit),
            self.class.map_or("", JobClass::queue),
            self.maps,
            self.reduces,
            Millis(self.map),
            Millis(self.shuffle),
            Millis(self.reduce)
        )
    }
}

/// As milliseconds, with no more digits than it has.
struct Millis(Nanos);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.0.0 / 1_000_000;
        match self.0.0 % 1_000_000 {
            0 => write!(f, "{whole}"),
            rest => {
                let digits = format!("{rest:0DIGITS$}");
                write!(f, "{whole}.{}", digits.trim_end_matches('0'))
            }
        }
    }
}

fn time(what: &str, text: &str) -> Result<Nanos, String> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    let is_number =
        |digits: &str| !digits.is_empty() && digits.bytes().all(|of| of.is_ascii_digit());
    let nanos = (is_number(whole) && is_number(rest) && rest.len() <= DIGITS)
        .then(|| format!("{whole}{rest:0<DIGITS$}").parse().ok());
    let nanos = nanos.flatten();
    nanos
        .map(Nanos)
        .ok_or_else(|| format!("{what} {text:?} is no time in milliseconds, such as 1500 or 0.25"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_a_job() {
        let text = format!(
            "{HEADER}\nwordcount,1500,interactive,12,1,2100.5,40,800\r\n\nsort,0,,2,0,0.000001,0,0\n"
        );
        let jobs = read_trace(&text).unwrap();
        let first = TracedJob {
            name: "wordcount".into(),
            submit: Nanos::from_millis(1_500),
            class: Some(JobClass::Interactive),
            maps: 12,
            reduces: 1,
            map: Nanos(2_100_500_000),
            shuffle: Nanos::from_millis(40),
            reduce: Nanos::from_millis(800),
        };
        assert_eq!(jobs[0], first);
        assert_eq!(
            (jobs.len(), jobs[1].class, jobs[1].map),
            (2, None, Nanos(1))
        );
        assert_eq!(jobs[1].to_string(), "sort,0,,2,0,0.000001,0,0");
    }

    #[test]
    fn what_is_no_trace_is_refused_with_its_line() {
        let refused = |text: &str| read_trace(text).unwrap_err().to_string();
        assert!(refused("").starts_with("line 1: it is empty"));
        assert!(refused("a,b\n").starts_with("line 1: \"a,b\" is not job,"));
        let line = |text: &str| refused(&format!("{HEADER}\n{text}\n"));
        assert!(line("a,b").starts_with("line 2: it has 2 fields"));
        assert_eq!(
            line("a,0,quick,1,0,1,0,0"),
            "line 2: class \"quick\" is neither interactive nor batch, nor empty"
        );
        assert_eq!(line("a,0,,0,0,1,0,0"), "line 2: a job has at least one map");
        for odd in [
            "-1",
            "1.",
            ".5",
            "1.0000001",
            "",
            "1e3",
            "99999999999999999999",
        ] {
            let said = line(&format!("a,{odd},,1,0,1,0,0"));
            assert!(said.contains("is no time in milliseconds"), "{said}");
        }
    }

    proptest! {
        #[test]
        fn a_job_is_read_as_it_was_written(times: [u64; 4], maps in 1..u32::MAX, reduces: u32, class in 0..3_usize) {
            let [submit, map, shuffle, reduce] = times.map(Nanos);
            let job = TracedJob {
                name: "of two, lines\n".into(),
                submit,
                class: [None, Some(JobClass::Interactive), Some(JobClass::Batch)][class],
                maps,
                reduces,
                map,
                shuffle,
                reduce,
            };
            let read: TracedJob = job.to_string().parse().unwrap();
            prop_assert_eq!(read.name.as_str(), "of two  lines ");
            prop_assert_eq!(TracedJob { name: job.name.clone(), ..read }, job);
        }
    }
}
