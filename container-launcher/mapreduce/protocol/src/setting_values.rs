//! What values settings may have: said before a job is submitted, not by its first task.

use crate::settings::{
    AM_ATTEMPTS, ARENA, COMBINE, COMPRESS, COMPRESS_MAP, COPIES, COUNTERS, DISK_FULLNESS, LINE_MAX,
    LINES, LOCAL_DISK, MAP_ATTEMPTS, MAP_SPECULATIVE, MAPS, MEMORY, NODE_FAILURES,
    OPENCL_PROCESSORS, QUIET, RECORD_LENGTH, RECORD_MAX, RECURSIVE, REDUCE_ATTEMPTS,
    REDUCE_SPECULATIVE, REDUCES, REPEAT, SKIP, SKIP_GROUPS, SPLIT_MAX, SPLIT_PACK, TIMEOUT,
};
use crate::splits::REDUCES_MAX;

/// Whole numbers from 0.
const NUMBERS: [&str; 21] = [
    AM_ATTEMPTS,
    ARENA,
    COPIES,
    COUNTERS,
    DISK_FULLNESS,
    LINE_MAX,
    LINES,
    LOCAL_DISK,
    MAP_ATTEMPTS,
    MAPS,
    MEMORY,
    NODE_FAILURES,
    RECORD_LENGTH,
    RECORD_MAX,
    REDUCE_ATTEMPTS,
    REDUCES,
    SKIP,
    SKIP_GROUPS,
    SPLIT_MAX,
    SPLIT_PACK,
    TIMEOUT,
];

/// Truths.
const TRUTHS: [&str; 9] = [
    COMBINE,
    COMPRESS,
    COMPRESS_MAP,
    MAP_SPECULATIVE,
    OPENCL_PROCESSORS,
    QUIET,
    RECURSIVE,
    REDUCE_SPECULATIVE,
    REPEAT,
];

/// Judges the values of the engine's settings; `given` tells the value of one.
///
/// # Errors
/// One is none of its kind: a sentence.
pub fn check_values<'a>(given: impl Fn(&str) -> Option<&'a str>) -> Result<(), String> {
    for name in NUMBERS {
        check_number(name, given(name).unwrap_or_default())?;
    }
    for name in TRUTHS {
        check_truth(name, given(name).unwrap_or_default())?;
    }
    let reduces = given(REDUCES).and_then(|value| value.trim().parse::<u64>().ok());
    match reduces.filter(|reduces| *reduces > u64::from(REDUCES_MAX)) {
        Some(reduces) => Err(format!("{REDUCES}={reduces}: {REDUCES_MAX} are the most")),
        None => Ok(()),
    }
}

/// Whether a value, if there is one, is a whole number from 0.
///
/// # Errors
/// It is none: a sentence.
pub fn check_number(name: &str, value: &str) -> Result<(), String> {
    let value = value.trim();
    match value.is_empty() || value.parse::<u64>().is_ok() {
        true => Ok(()),
        false => Err(format!(
            "{name}={value}: that is to be a whole number, from 0"
        )),
    }
}

/// Whether a value, if there is one, is `true` or `false`, in small letters or capitals.
///
/// # Errors
/// It is neither: a sentence.
pub fn check_truth(name: &str, value: &str) -> Result<(), String> {
    let value = value.trim();
    match ["", "true", "false"].contains(&value.to_ascii_lowercase().as_str()) {
        true => Ok(()),
        false => Err(format!("{name}={value}: that is to be true or false")),
    }
}

#[cfg(test)]
mod tests {
    use super::{NUMBERS, TRUTHS, check_values};
    use crate::settings::KNOWN;

    fn given(name: &str, value: &'static str) -> Result<(), String> {
        check_values(|asked| (asked == name).then_some(value))
    }

    #[test]
    fn what_is_no_number_and_no_truth_is_refused_before_anything_is_asked() {
        for name in NUMBERS {
            for good in ["0", "7", " 12\n", ""] {
                assert_eq!(given(name, good), Ok(()), "{name}={good}");
            }
            for bad in ["abc", "-1", "1.5", "0x10"] {
                let wanted = format!("{name}={bad}: that is to be a whole number, from 0");
                assert_eq!(given(name, bad), Err(wanted));
            }
        }
        for name in TRUTHS {
            for good in ["true", "FALSE", " True ", ""] {
                assert_eq!(given(name, good), Ok(()), "{name}={good}");
            }
            let wanted = format!("{name}=perhaps: that is to be true or false");
            assert_eq!(given(name, "perhaps"), Err(wanted));
        }
        assert_eq!(given("a.program.s.own", "abc"), Ok(()));
        let many = given("mapreduce.job.reduces", "4000000000").unwrap_err();
        assert_eq!(
            many,
            "mapreduce.job.reduces=4000000000: 100000 are the most"
        );
    }

    #[test]
    fn defaults_are_of_their_kinds() {
        for known in KNOWN {
            let default = |asked: &str| (asked == known.name).then_some(known.default);
            assert_eq!(check_values(default), Ok(()), "{}", known.name);
        }
    }
}
