//! How long tasks were in their phases on fast and on slow cores, and how much went through these, as counters of the job.

use gerbil_task::{Counters, phases};
use policy::schedule::Speed;

/// Counters of Hadoop's that tell the bytes of a phase, and what they are called here.
const BYTES: [(&str, &str); 5] = [
    ("BYTES_READ", "READ_BYTES"),
    ("MAP_OUTPUT_BYTES", "COLLECT_BYTES"),
    ("MAP_OUTPUT_MATERIALIZED_BYTES", "SPILL_BYTES"),
    ("REDUCE_SHUFFLE_BYTES", "SHUFFLE_BYTES"),
    ("BYTES_WRITTEN", "WRITE_BYTES"),
];

/// What a task has counted that ended on cores of this speed; `None`: these are neither fast nor slow.
pub(super) fn counted(speed: Speed, task: &Counters) -> Option<Counters> {
    let group = match speed {
        Speed::Fast => "gerbil fast cores",
        Speed::Slow => "gerbil slow cores",
        Speed::Plain | Speed::Parked => return None,
    };
    let took = phases(task).map(|(phase, took)| {
        let millis = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
        (phase.counter(), millis)
    });
    let of_hadoop = |name: &str| {
        let groups = task.values().filter_map(|group| group.get(name));
        groups.copied().reduce(i64::saturating_add)
    };
    let bytes = BYTES
        .into_iter()
        .filter_map(|(hadoops, own)| Some((own, of_hadoop(hadoops)?)));
    let all = took.chain(bytes).chain([("TASKS", 1)]);
    let all = all.map(|(name, count)| (name.to_owned(), count));
    Some([(group.to_owned(), all.collect())].into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_counts_for_the_cores_that_it_ended_on() {
        let group = |counters: &[(&str, i64)]| {
            let all = counters
                .iter()
                .map(|(name, count)| ((*name).to_owned(), *count));
            all.collect()
        };
        let task: Counters = [
            (
                "gerbil".to_owned(),
                group(&[("READ_MILLISECONDS", 7), ("MAP_MILLISECONDS", 20)]),
            ),
            ("input".to_owned(), group(&[("BYTES_READ", 1000)])),
        ]
        .into();
        let fast = counted(Speed::Fast, &task).unwrap();
        let told = group(&[
            ("READ_MILLISECONDS", 7),
            ("MAP_MILLISECONDS", 20),
            ("READ_BYTES", 1000),
            ("TASKS", 1),
        ]);
        assert_eq!(fast, [("gerbil fast cores".to_owned(), told)].into());
        assert!(
            counted(Speed::Slow, &task)
                .unwrap()
                .contains_key("gerbil slow cores")
        );
        assert_eq!(counted(Speed::Plain, &task), None);
    }
}
