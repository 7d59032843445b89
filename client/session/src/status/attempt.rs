//! Attempts of tasks, and the cores that they are bound to.

use job::element::core_list;
use job::wire;
use serde::Serialize;
use terminal::table::{Column, table};

/// An attempt that is bound to the cores of its slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BoundAttempt {
    /// `map` or `reduce`.
    pub stage: &'static str,
    /// The number of the map, or of the reduce's partition.
    pub task: u32,
    /// How many there were at this task before.
    pub attempt: u32,
    /// Its node.
    pub host: String,
    /// The number of its process there; `None`: its launcher has not said it yet.
    pub pid: Option<u32>,
    /// The slot of its container.
    pub slot: u32,
    /// Cores of that slot.
    pub cpus: Vec<u32>,
    /// It is stopped, its memory kept, and goes on later.
    pub parked: bool,
}

impl From<wire::BoundAttempt> for BoundAttempt {
    fn from(said: wire::BoundAttempt) -> Self {
        Self {
            stage: if said.is_reduce { "reduce" } else { "map" },
            task: said.task,
            attempt: said.attempt,
            host: said.host,
            pid: (said.pid > 0).then_some(said.pid),
            slot: said.slot,
            cpus: said.cpus,
            parked: said.parked,
        }
    }
}

/// A row an attempt: which process it is, and on which cores it runs.
#[must_use]
pub fn attempts(of: &[BoundAttempt]) -> Vec<String> {
    let columns = [
        Column::Left("attempt"),
        Column::Right("pid"),
        Column::Right("cores"),
        Column::Right("slot"),
        Column::Left("host"),
    ];
    let rows = of.iter().map(|attempt| {
        vec![
            format!("{} {}.{}", attempt.stage, attempt.task, attempt.attempt),
            attempt
                .pid
                .map_or_else(|| "-".to_owned(), |pid| pid.to_string()),
            match attempt.parked {
                true => "stopped".to_owned(),
                false => core_list(&attempt.cpus),
            },
            attempt.slot.to_string(),
            attempt.host.clone(),
        ]
    });
    match of {
        [] => Vec::new(),
        _ => table(2, &columns, rows),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_tell_their_processes_and_cores() {
        let said = |task, pid, cpus: &[u32]| wire::BoundAttempt {
            is_reduce: task > 5,
            task,
            attempt: 1,
            host: "n1".into(),
            pid,
            slot: 2,
            cpus: cpus.to_vec(),
            parked: cpus.is_empty(),
        };
        let all = [
            said(3, 4711, &[0, 1, 2, 3, 8]),
            said(4, 4712, &[]),
            said(6, 0, &[5]),
        ];
        let all: Vec<BoundAttempt> = all.into_iter().map(Into::into).collect();
        let expected = [
            "  attempt      pid    cores  slot  host",
            "  map 3.1     4711    0-3,8     2  n1",
            "  map 4.1     4712  stopped     2  n1",
            "  reduce 6.1     -        5     2  n1",
        ];
        assert_eq!(attempts(&all), expected);
        assert!(attempts(&[]).is_empty());
    }
}
