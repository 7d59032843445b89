//! What was decided and seen, in words for a terminal.
//!
//! Each event becomes a first line that says what happened and, behind blanks, the lines that say
//! more. No table has more than [`ROWS`] rows, however large the cluster: what is left out is
//! counted.

mod cluster;
mod gang;
mod placement;
mod sink;
mod slots;
mod task;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use job::explain::{Amount, ChosenManager, DryRun, Explained, NotPlaced, Outlook, Submitted};
use terminal::Foreign;

pub(crate) use placement::nodes as placement_table;
pub use sink::Sink;

/// Rows of a table.
const ROWS: usize = 40;
/// Names in a list inside a line.
const NAMES: usize = 3;

/// The lines of one event, whatever stands in the names and reasons that others have given.
pub fn words(event: &Explained) -> Vec<String> {
    let lines = lines(event);
    let shown = lines.iter().map(|line| Foreign::sentence(line).to_string());
    shown.collect()
}

fn lines(event: &Explained) -> Vec<String> {
    match event {
        Explained::Submitted(submitted) => {
            let Submitted {
                application, queue, ..
            } = submitted;
            vec![format!("{application} is submitted to queue {queue}")]
        }
        Explained::ProcessManager(chosen) => vec![process_manager(chosen)],
        Explained::Snapshot(snapshot) => cluster::words(snapshot),
        Explained::Placed(placed) => placement::words(placed),
        Explained::NotPlaced(not) => vec![not_placed(not)],
        Explained::Asked(asked) => vec![gang::asked(asked)],
        Explained::Granted(granted) => vec![gang::granted(granted)],
        Explained::Missing(missing) => gang::missing(missing),
        Explained::Released(released) => vec![gang::released(released)],
        Explained::DryRun(dry) => outlook(dry),
        Explained::WaitsForSlots(waits) => slots::words(waits),
        Explained::TaskPlaced(placed) => vec![task::placed(placed)],
        Explained::TaskEnded(ended) => vec![task::ended(ended)],
        Explained::HomeMoved(moved) => vec![task::moved(moved)],
    }
}

fn process_manager(chosen: &ChosenManager) -> String {
    let ChosenManager {
        program, manager, ..
    } = chosen;
    let libpmix = chosen.libpmix.as_ref().map(|libpmix| {
        let release = libpmix.release.as_deref();
        let release = release.map_or_else(String::new, |release| format!(" {release}"));
        let whose = match libpmix.named {
            true => "that --pmix names",
            false => "of the program",
        };
        format!(", libpmix{release} {whose} ({})", libpmix.path)
    });
    format!(
        "process manager of {program}: {manager}{}",
        libpmix.unwrap_or_default()
    )
}

fn not_placed(not: &NotPlaced) -> String {
    let (when, after) = match not.may_pass {
        true => ("now", "; it waits and looks again"),
        false => ("ever", ""),
    };
    format!(
        "{}no placement {when}: {}{after}",
        stamp(not.at_ms),
        not.reason
    )
}

/// What would become of the job, and what is not known before it runs.
fn outlook(dry: &DryRun) -> Vec<String> {
    let first = match dry.outlook {
        Outlook::Starts => "the job would start now",
        Outlook::Waits => "the job would wait for room, and then start",
        Outlook::Never => "the job can never start on this cluster",
    };
    let mut lines = vec![first.to_owned()];
    if dry.outlook == Outlook::Never {
        return lines;
    }
    if let Some(appmaster) = &dry.appmaster {
        lines.push(format!(
            "  before that its ApplicationMaster takes {appmaster} on a node that YARN chooses"
        ));
    }
    if !dry.counting_is_set {
        lines.push("  assumed that cores are not counted: the settings here do not have".into());
        lines.push("  yarn.scheduler.capacity.resource-calculator".into());
    }
    lines.push("  what the queue still gives its users is known only when the job runs".into());
    lines
}

/// When it was, in seconds since the ApplicationMaster began; nothing in a dry run.
fn stamp(at_ms: u64) -> String {
    match at_ms {
        0 => String::new(),
        ms => format!("{}.{:03} s: ", ms / 1000, ms % 1000),
    }
}

/// An amount in a column: MiB, cores and, where it has some, GPUs; others by their names.
fn short(amount: &Amount) -> String {
    let gpus = match amount.gpus {
        0 => String::new(),
        some => format!("/{some}"),
    };
    let others = amount.others.iter();
    let others: String = others
        .map(|(name, count)| format!(", {count} {name}"))
        .collect();
    format!("{}/{}{gpus}{others}", amount.memory_mib, amount.vcores)
}

/// `1 node`, `2 nodes`.
pub fn count(number: usize, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        many => format!(
            "{many} {one}{}",
            if one.ends_with('s') { "es" } else { "s" }
        ),
    }
}

/// At most [`NAMES`] of them, and how many more there are.
fn some<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = names.len().saturating_sub(NAMES);
    let shown: Vec<&str> = names.take(NAMES).collect();
    match more {
        0 => shown.join(", "),
        more => format!("{}, {more} more", shown.join(", ")),
    }
}

/// Names nodes by their host, and by their whole id where two are on one host.
struct Labels<'a>(BTreeMap<&'a str, usize>);

impl<'a> Labels<'a> {
    fn of(hosts: impl Iterator<Item = &'a str>) -> Self {
        let mut seen = BTreeMap::new();
        for host in hosts {
            *seen.entry(host).or_insert(0) += 1;
        }
        Self(seen)
    }

    fn name<'b>(&self, id: &'b str, host: &'b str) -> &'b str {
        match self.0.get(host) {
            Some(1) => host,
            _ => id,
        }
    }
}
