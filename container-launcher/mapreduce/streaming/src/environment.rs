//! The variables that a command finds: the job's settings and what its task is, with everything but letters and digits as
//! underscores; under the names that Hadoop has today, and under those that it had before.

use std::collections::BTreeMap;

use gerbil_task::renamed::former;

/// What is to be known of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TaskFacts {
    /// YARN's name of the container, of which job and task have theirs.
    pub(crate) container: Option<String>,
    pub(crate) is_map: bool,
    pub(crate) number: u32,
    pub(crate) attempt: u32,
    /// File, offset and length of a map's split.
    pub(crate) input: Option<(String, u64, u64)>,
}

/// Names that Hadoop has given what it tells of a task, and had before.
const OF_TASKS: [(&str, &str); 8] = [
    ("mapreduce.job.id", "mapred.job.id"),
    ("mapreduce.task.id", "mapred.tip.id"),
    ("mapreduce.task.attempt.id", "mapred.task.id"),
    ("mapreduce.task.partition", "mapred.task.partition"),
    ("mapreduce.task.ismap", "mapred.task.is.map"),
    ("mapreduce.map.input.file", "map.input.file"),
    ("mapreduce.map.input.start", "map.input.start"),
    ("mapreduce.map.input.length", "map.input.length"),
];

/// The setting that says how many letters of a value travel at the most; -1: all.
const TRUNCATE: &str = "stream.jobconf.truncate.limit";
/// Settings of this many bytes and more are no variable: the kernel takes none of 128 KiB.
const VALUE_MAX: usize = 100 << 10;

/// The variables of a command, its own ones last.
pub(crate) fn variables<'a>(
    settings: impl Iterator<Item = (&'a str, &'a str)>,
    task: &TaskFacts,
    own: &[(String, String)],
) -> BTreeMap<String, String> {
    let settings: Vec<(&str, &str)> = settings.collect();
    let limit = settings.iter().find(|(name, _)| *name == TRUNCATE);
    let limit = limit.and_then(|(_, value)| value.trim().parse::<usize>().ok());
    let mut all = BTreeMap::new();
    for (name, value) in settings {
        let cut = limit.and_then(|limit| value.char_indices().nth(limit));
        let value = cut.map_or(value, |(at, _)| value.get(..at).unwrap_or(value));
        if value.len() > VALUE_MAX || value.contains('\0') {
            continue;
        }
        all.extend(former(name).map(|old| (variable(old), value.to_owned())));
        all.insert(variable(name), value.to_owned());
    }
    for (name, value) in of_task(task) {
        let old = OF_TASKS.iter().find(|(new, _)| *new == name);
        all.extend(old.map(|(_, old)| (variable(old), value.clone())));
        all.insert(variable(name), value);
    }
    all.extend(own.iter().cloned());
    all
}

fn of_task(task: &TaskFacts) -> Vec<(&'static str, String)> {
    let job = job(task.container.as_deref());
    let stage = if task.is_map { 'm' } else { 'r' };
    let (number, attempt) = (task.number, task.attempt);
    let mut all = vec![
        ("mapreduce.job.id", format!("job_{job}")),
        (
            "mapreduce.task.id",
            format!("task_{job}_{stage}_{number:06}"),
        ),
        (
            "mapreduce.task.attempt.id",
            format!("attempt_{job}_{stage}_{number:06}_{attempt}"),
        ),
        ("mapreduce.task.partition", number.to_string()),
        ("mapreduce.task.ismap", task.is_map.to_string()),
    ];
    if let Some((file, start, length)) = &task.input {
        let file = match file.starts_with('/') {
            true => format!("file:{file}"),
            false => file.clone(),
        };
        all.push(("mapreduce.map.input.file", file));
        all.push(("mapreduce.map.input.start", start.to_string()));
        all.push(("mapreduce.map.input.length", length.to_string()));
    }
    all
}

/// The numbers of a job: those of its application in `container_e17_1700000000000_0007_01_000002`; without a cluster, as
/// Hadoop without one.
fn job(container: Option<&str>) -> String {
    let parts: Vec<&str> = container.unwrap_or_default().split('_').collect();
    match parts.as_slice() {
        ["container", stamp, application, _, _] | ["container", _, stamp, application, _, _] => {
            format!("{stamp}_{application}")
        }
        _ => "local_0001".to_owned(),
    }
}

/// The name of a variable.
fn variable(name: &str) -> String {
    let letter = |letter: char| match letter.is_ascii_alphanumeric() {
        true => letter,
        false => '_',
    };
    name.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::{TaskFacts, variables};

    #[test]
    fn names_of_today_and_of_before_hold_the_same() {
        let task = TaskFacts {
            container: Some("container_e17_1700000000000_0007_01_000002".into()),
            is_map: true,
            number: 3,
            attempt: 1,
            input: Some(("hdfs://n:1/in/a".into(), 7, 9)),
        };
        let settings = [
            ("mapreduce.job.reduces", "4"),
            ("my-own.name", "x"),
            ("long", "0123456789"),
            ("stream.jobconf.truncate.limit", "4"),
        ];
        let all = variables(
            settings.into_iter(),
            &task,
            &[("long".into(), "mine".into())],
        );
        for (name, value) in [
            ("mapreduce_job_id", "job_1700000000000_0007"),
            ("mapred_job_id", "job_1700000000000_0007"),
            ("mapreduce_task_id", "task_1700000000000_0007_m_000003"),
            (
                "mapreduce_task_attempt_id",
                "attempt_1700000000000_0007_m_000003_1",
            ),
            ("mapred_task_id", "attempt_1700000000000_0007_m_000003_1"),
            ("mapreduce_task_partition", "3"),
            ("mapreduce_task_ismap", "true"),
            ("mapreduce_map_input_file", "hdfs://n:1/in/a"),
            ("map_input_file", "hdfs://n:1/in/a"),
            ("mapreduce_map_input_start", "7"),
            ("mapreduce_map_input_length", "9"),
            ("mapreduce_job_reduces", "4"),
            ("mapred_reduce_tasks", "4"),
            ("my_own_name", "x"),
            ("long", "mine"),
        ] {
            assert_eq!(all.get(name).map(String::as_str), Some(value), "{name}");
        }
        let all = variables(
            [
                ("long", "0123456789"),
                ("stream.jobconf.truncate.limit", "4"),
            ]
            .into_iter(),
            &TaskFacts::default(),
            &[],
        );
        assert_eq!(all["long"], "0123");
        assert_eq!(
            all["mapreduce_task_attempt_id"],
            "attempt_local_0001_r_000000_0"
        );
        assert!(!all.contains_key("mapreduce_map_input_file"));
    }
}
