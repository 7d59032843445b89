//! What a job says of accelerators.

use std::num::NonZeroU32;

use super::{ACC_FALLBACK, ACC_MODULES, ACC_TASKS, ACC_TIMEOUT};

/// The longest that an attempt may wait for devices: a year.
const ACC_TIMEOUT_MAX: u64 = 365 * 86_400;

/// As many tasks as boards can use.
const AUTO: &str = "auto";

/// Judges what is given of accelerators; `given` tells the value of a setting.
///
/// # Errors
/// One makes no sense: a sentence.
pub fn check_accelerators<'a>(given: impl Fn(&str) -> Option<&'a str>) -> Result<(), String> {
    let given = |name| given(name).map(str::trim).filter(|value| !value.is_empty());
    if let Some(text) = given(ACC_TIMEOUT) {
        let seconds = text.parse::<u64>().ok();
        if seconds.is_none_or(|seconds| seconds > ACC_TIMEOUT_MAX) {
            return Err(format!(
                "{ACC_TIMEOUT}={text}: give a number of seconds, from 0 to {ACC_TIMEOUT_MAX}"
            ));
        }
    }
    tasks_per_node(given(ACC_TASKS))?;
    for (name, known) in [
        (ACC_FALLBACK, &["never", "start", "always"][..]),
        (ACC_MODULES, &["overlap", "serial"]),
    ] {
        if let Some(text) = given(name).filter(|text| !known.contains(text)) {
            return Err(format!("{name}={text}: known are {}", known.join(", ")));
        }
    }
    Ok(())
}

/// How many tasks of a stage that needs functions may run on a node at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TasksPerNode {
    /// So many.
    Most(NonZeroU32),
    /// As many as its boards can use.
    Auto,
}

/// The same, by the value of that setting; `None`: nobody says.
///
/// # Errors
/// It makes no sense: a sentence.
pub fn tasks_per_node(value: Option<&str>) -> Result<Option<TasksPerNode>, String> {
    let Some(text) = value.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    if text == AUTO {
        return Ok(Some(TasksPerNode::Auto));
    }
    match text.parse() {
        Ok(most) => Ok(Some(TasksPerNode::Most(most))),
        Err(_) => Err(format!(
            "{ACC_TASKS}={text}: give a number of tasks, from 1 to {}, or {AUTO}",
            u32::MAX
        )),
    }
}

/// Whether a job goes on where no node has the functions of accelerators that it needs: its program has a version for the
/// processor, which it says by this setting. `given` tells the value of a setting.
pub fn goes_on_without<'a>(given: impl Fn(&str) -> Option<&'a str>) -> bool {
    matches!(given(ACC_FALLBACK).map(str::trim), Some("start" | "always"))
}

#[cfg(test)]
mod tests {
    use super::{ACC_FALLBACK, check_accelerators, goes_on_without};

    #[test]
    fn a_job_goes_on_without_devices_where_it_says_so() {
        for (value, goes_on) in [
            (None, false),
            (Some(""), false),
            (Some("never"), false),
            (Some("start"), true),
            (Some(" always "), true),
        ] {
            let given = |name: &str| value.filter(|_| name == ACC_FALLBACK);
            assert_eq!(goes_on_without(given), goes_on, "{value:?}");
        }
    }

    #[test]
    fn what_is_given_of_accelerators_makes_sense_or_is_refused() {
        let check = |name: &'static str, value: &'static str| {
            check_accelerators(|of| (of == name).then_some(value))
        };
        for (name, value) in [
            ("acc.timeout", " 0 "),
            ("acc.timeout", "31536000"),
            ("acc.timeout", ""),
            ("acc.fallback", "always"),
            ("acc.modules", "serial"),
            ("acc.tasks-per-node", " 20 "),
            ("acc.tasks-per-node", "auto"),
            ("acc.tasks-per-node", ""),
        ] {
            check(name, value).unwrap();
        }
        for (name, value, said) in [
            (
                "acc.timeout",
                "abc",
                "acc.timeout=abc: give a number of seconds, from 0 to 31536000",
            ),
            (
                "acc.timeout",
                "31536001",
                "acc.timeout=31536001: give a number of seconds, from 0 to 31536000",
            ),
            (
                "acc.fallback",
                "perhaps",
                "acc.fallback=perhaps: known are never, start, always",
            ),
            (
                "acc.modules",
                "both",
                "acc.modules=both: known are overlap, serial",
            ),
            (
                "acc.tasks-per-node",
                "0",
                "acc.tasks-per-node=0: give a number of tasks, from 1 to 4294967295, or auto",
            ),
        ] {
            assert_eq!(check(name, value).unwrap_err(), said);
        }
    }
}
