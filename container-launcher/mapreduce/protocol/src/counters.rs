//! What tasks have counted.

use std::collections::BTreeMap;
use std::fmt;

use crate::said;
use crate::settings::COUNTERS;

/// Counters that a task may make: where Hadoop's jobs have 120, each task's here has more.
pub const TASK_COUNTERS_MAX: usize = 5000;
/// Counters that all tasks of a job may make together, those of engine and launchers among them: the job's launcher or
/// ApplicationMaster keeps them all.
pub const JOB_COUNTERS_MAX: usize = 10_000;
/// Bytes that the name of a counter or of its group may have.
pub const COUNTER_NAME_MAX: usize = 255;

/// Counters that a job may not have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CountersError {
    /// With them the job has more than [`JOB_COUNTERS_MAX`].
    Many {
        /// The group of the first that is one too many.
        group: String,
        /// Its name.
        counter: String,
    },
    /// With them the program has counters of its own in one job more than the job's settings allow.
    OwnMany {
        /// The group of the first that is one too many.
        group: String,
        /// Its name.
        counter: String,
        /// How many are allowed.
        most: usize,
    },
    /// A name has more bytes than [`COUNTER_NAME_MAX`].
    Long {
        /// Its beginning, and how much longer it is.
        name: String,
    },
}

impl fmt::Display for CountersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Many { group, counter } => write!(
                f,
                "it counts under \"{counter}\" in \"{group}\" where the tasks of the job have counted under \
                 {JOB_COUNTERS_MAX} names, the most that there may be: what each record names is to be emitted, not counted"
            ),
            Self::OwnMany {
                group,
                counter,
                most,
            } => write!(
                f,
                "it counts under \"{counter}\" in \"{group}\", and the job may have {most} counters of its own: {COUNTERS} \
                 allows more"
            ),
            Self::Long { name } => write!(
                f,
                "a counter or its group is called {name}: a name may have up to {COUNTER_NAME_MAX} bytes, count under a \
                 shorter one"
            ),
        }
    }
}

impl std::error::Error for CountersError {}

/// Whether engine and launchers count in `group`, and not a job's own code: what they count is no part of what Hadoop
/// limits.
fn is_of_framework(group: &str) -> bool {
    group == "gerbil" || group.starts_with("org.apache.hadoop.")
}

/// How many counters of its own a job with these settings may have.
#[must_use]
pub fn own_counters_max(settings: &BTreeMap<String, String>) -> usize {
    let set = settings.get(COUNTERS).map(|text| text.trim().parse());
    set.and_then(Result::ok).unwrap_or(JOB_COUNTERS_MAX)
}

/// Refuses counters of a task with which a job that has these `sums` would have too many: more than [`JOB_COUNTERS_MAX`]
/// in all, or more than `own_max` of its own.
///
/// # Errors
/// As [`CountersError`] tells.
pub fn check_counters(
    sums: &Counters,
    counters: &Counters,
    own_max: usize,
) -> Result<(), CountersError> {
    let mut known = sums.values().map(BTreeMap::len).sum::<usize>();
    let own = sums.iter().filter(|(group, _)| !is_of_framework(group));
    let mut own: usize = own.map(|(_, counters)| counters.len()).sum();
    for (group, counters) in counters {
        let sums = sums.get(group);
        let is_own = !is_of_framework(group);
        for counter in counters.keys() {
            if sums.is_some_and(|sums| sums.contains_key(counter)) {
                continue;
            }
            let mut names = [group, counter].into_iter();
            if let Some(long) = names.find(|name| name.len() > COUNTER_NAME_MAX) {
                let name = said::cut(long, SHOWN);
                return Err(CountersError::Long { name });
            }
            known += 1;
            own += usize::from(is_own);
            if known > JOB_COUNTERS_MAX {
                return Err(CountersError::Many {
                    group: said::cut(group, COUNTER_NAME_MAX),
                    counter: said::cut(counter, COUNTER_NAME_MAX),
                });
            }
            if is_own && own > own_max {
                return Err(CountersError::OwnMany {
                    group: said::cut(group, COUNTER_NAME_MAX),
                    counter: said::cut(counter, COUNTER_NAME_MAX),
                    most: own_max,
                });
            }
        }
    }
    Ok(())
}

/// Bytes that are shown of a name that is too long.
const SHOWN: usize = 40;

/// Counters, group by group, under Hadoop's names where Hadoop has them: Java's `long`, which may be below 0.
pub type Counters = BTreeMap<String, BTreeMap<String, i64>>;

/// Adds a task's counters to a job's: sums, but the greater of two that are maxima by their name.
pub fn add(sums: &mut Counters, counters: Counters) {
    for (group, counters) in counters {
        let sums = sums.entry(group).or_default();
        for (counter, value) in counters {
            let is_maximum = counter.ends_with("_MAX");
            let sum = sums.entry(counter);
            sum.and_modify(|sum| {
                *sum = match is_maximum {
                    true => value.max(*sum),
                    false => sum.saturating_add(value),
                };
            })
            .or_insert(value);
        }
    }
}

/// Adds the bytes that a task has written to the output of its job: its launcher counts them, whatever engine the task has.
pub fn count_written(counters: &mut Counters, bytes: u64) {
    let group = counters.entry(WRITTEN.to_owned()).or_default();
    let sum = group.entry("BYTES_WRITTEN".to_owned()).or_default();
    *sum = sum.saturating_add_unsigned(bytes);
}

/// Hadoop's group of what is written to the output.
const WRITTEN: &str = "org.apache.hadoop.mapreduce.lib.output.FileOutputFormatCounter";

#[cfg(test)]
mod tests {
    use super::{COUNTER_NAME_MAX, Counters, CountersError, JOB_COUNTERS_MAX, add, check_counters};

    #[test]
    fn a_job_has_so_many_counters_however_many_tasks_count() {
        let of = |range: std::ops::Range<usize>| -> Counters {
            let counters = range.map(|number| (format!("n{number}"), 1));
            [("g".to_owned(), counters.collect())].into()
        };
        let mut sums = Counters::new();
        for task in 0..10 {
            let from = task * JOB_COUNTERS_MAX / 10;
            let counted = of(from..from + JOB_COUNTERS_MAX / 10);
            assert_eq!(check_counters(&sums, &counted, JOB_COUNTERS_MAX), Ok(()));
            add(&mut sums, counted);
        }
        // What is known already is one of them, whichever task counts it.
        assert_eq!(
            check_counters(&sums, &of(0..JOB_COUNTERS_MAX), JOB_COUNTERS_MAX),
            Ok(())
        );
        let many =
            check_counters(&sums, &of(7..JOB_COUNTERS_MAX + 1), JOB_COUNTERS_MAX).unwrap_err();
        assert_eq!(
            many.to_string(),
            "it counts under \"n10000\" in \"g\" where the tasks of the job have counted under 10000 names, the most that \
             there may be: what each record names is to be emitted, not counted"
        );
        let group: Counters = [("other".to_owned(), [("n1".to_owned(), 1)].into())].into();
        assert!(check_counters(&sums, &group, JOB_COUNTERS_MAX).is_err());
        assert_eq!(
            check_counters(&sums, &Counters::new(), JOB_COUNTERS_MAX),
            Ok(())
        );
    }

    #[test]
    fn names_of_counters_have_an_end() {
        let of = |group: usize, name: usize| -> Counters {
            [("g".repeat(group), [("n".repeat(name), 1)].into())].into()
        };
        let sums = Counters::new();
        let just = of(COUNTER_NAME_MAX, COUNTER_NAME_MAX);
        assert_eq!(check_counters(&sums, &just, JOB_COUNTERS_MAX), Ok(()));
        for (group, name) in [(COUNTER_NAME_MAX + 1, 1), (1, 1 << 20)] {
            let long = check_counters(&sums, &of(group, name), JOB_COUNTERS_MAX).unwrap_err();
            assert!(matches!(long, CountersError::Long { .. }), "{long}");
            assert!(long.to_string().len() < 200, "{long}");
        }
    }

    #[test]
    fn sums_and_maxima() {
        let of = |sum: i64, most: i64| -> Counters {
            let counters = [("A".to_owned(), sum), ("B_MAX".to_owned(), most)];
            [("g".to_owned(), counters.into())].into()
        };
        let mut sums = of(1, 5);
        add(&mut sums, of(2, 3));
        assert_eq!(sums, of(3, 5));
        add(&mut sums, of(-7, -1));
        assert_eq!(sums, of(-4, 5));
        add(&mut sums, of(i64::MIN, 0));
        assert_eq!(sums, of(i64::MIN, 5));
        let mut none = Counters::new();
        add(&mut none, of(-1, -2));
        assert_eq!(none, of(-1, -2));
    }

    /// Hadoop's default is 120, and what the framework counts is none of them.
    #[test]
    fn settings_limit_what_a_job_s_own_code_counts() {
        let of = |group: &str, range: std::ops::Range<usize>| -> Counters {
            let counters = range.map(|number| (format!("n{number:03}"), 1));
            [(group.to_owned(), counters.collect())].into()
        };
        let settings = [(super::COUNTERS.to_owned(), " 120 ".to_owned())].into();
        let most = super::own_counters_max(&settings);
        let mut sums = of("org.apache.hadoop.mapreduce.TaskCounter", 0..40);
        assert_eq!(check_counters(&sums, &of("gerbil", 0..300), most), Ok(()));
        assert_eq!(check_counters(&sums, &of("g", 0..120), most), Ok(()));
        add(&mut sums, of("g", 0..100));
        assert_eq!(check_counters(&sums, &of("g", 80..120), most), Ok(()));
        let many = check_counters(&sums, &of("h", 0..21), most).unwrap_err();
        assert_eq!(
            many.to_string(),
            "it counts under \"n020\" in \"h\", and the job may have 120 counters of its own: mapreduce.job.counters.max \
             allows more"
        );
        for odd in ["", "many", "-1"] {
            let settings = [(super::COUNTERS.to_owned(), odd.to_owned())].into();
            assert_eq!(super::own_counters_max(&settings), JOB_COUNTERS_MAX);
        }
    }
}
