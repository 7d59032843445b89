//! Settings of a job, by Hadoop's names where Hadoop has them: which there are, and what becomes of others.

mod accelerators;
mod idle;
mod known;
mod names;

pub use accelerators::{TasksPerNode, check_accelerators, goes_on_without, tasks_per_node};
pub use known::{KNOWN, KnownSetting};
pub use names::*;

use crate::{nearest, renamed};
use idle::IDLE;

/// What becomes of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It does what [`KNOWN`] says.
    Known,
    /// It is the user's own, for tasks.
    Own,
    /// Hadoop has it, and here it does nothing, for this reason.
    Idle(&'static str),
    /// It begins as Hadoop's settings do, or gerbil's, and is none; with ` (is NAME meant?)` where one is near.
    Unknown(String),
}

/// What becomes of the setting `name`.
#[must_use]
pub fn standing(name: &str) -> Standing {
    let name = renamed::current(name);
    if KNOWN.iter().any(|known| known.name == name) {
        return Standing::Known;
    }
    let idle = IDLE
        .iter()
        .find(|(idle, _)| match idle.ends_with(['.', '-']) {
            true => name.starts_with(idle),
            false => name == *idle,
        });
    if let Some((_, why)) = idle {
        return Standing::Idle(why);
    }
    let ours = [
        "mapreduce.",
        "gerbil.",
        "needs.",
        "device.",
        "acc.",
        "mapred.",
        "yarn.",
        "io.",
    ];
    match ours.iter().any(|ours| name.starts_with(ours)) {
        true => Standing::Unknown(nearest::hint(name, KNOWN.iter().map(|known| known.name))),
        false => Standing::Own,
    }
}

#[cfg(test)]
mod tests {
    use super::{IDLE, KNOWN, Standing, standing};

    #[test]
    fn a_setting_does_something_or_is_said_why_not() {
        assert_eq!(standing("mapreduce.job.reduces"), Standing::Known);
        assert_eq!(standing("my.own"), Standing::Own);
        assert!(
            matches!(standing("mapreduce.map.java.opts"), Standing::Idle(why) if why.contains("JVM"))
        );
        assert_eq!(
            standing("mapreduce.job.reducers"),
            Standing::Unknown(" (is mapreduce.job.reduces meant?)".into())
        );
        assert!(matches!(
            standing("mapreduce.reduce.maxatempts"),
            Standing::Unknown(_)
        ));
        assert!(
            matches!(standing("gerbil.nothing.at.all"), Standing::Unknown(hint) if hint.is_empty())
        );
    }

    #[test]
    fn what_does_something_is_not_called_idle() {
        for known in KNOWN {
            let (name, idle) = (known.name, IDLE);
            assert!(
                !idle.iter().any(|(idle, _)| name.starts_with(idle)),
                "{name}"
            );
        }
    }
}
