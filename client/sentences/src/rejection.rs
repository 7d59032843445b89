//! Why there is no placement, and what to change.

use policy::{Counts, GPU, LimitedBy, MiB, Rejection, ResourceTypes, Resources, counted};

/// Where a container's size is bounded, for sentences that cannot tell which of the two it is.
const MEMORY_KEYS: &str =
    "yarn.scheduler.maximum-allocation-mb or yarn.nodemanager.resource.memory-mb";

/// One sentence with the numbers and what to change; `types` names the counts in them.
#[must_use]
pub fn rejection(why: &Rejection, types: &ResourceTypes) -> String {
    let words = |amount: &Resources| amount.words(types);
    let less = |unit: &Resources| less(types, unit.counts);
    let or_share = |unit: &Resources| or_share(types, unit.counts);
    match why {
        Rejection::NoNodes => "the cluster has no running node that this queue may use".into(),
        Rejection::UnitTooLarge { unit, largest } => format!(
            "one process wants {}, but the largest container any node can give is {}; ask for less \
             with {}, or have {MEMORY_KEYS} raised",
            words(unit),
            words(largest),
            less(unit)
        ),
        Rejection::TooFewSlots {
            wanted,
            unit,
            slots,
            nodes,
        } => format!(
            "{} of {} do not fit: all {nodes} nodes that may be used together hold {slots} when \
             empty; ask for fewer processes (-n), for less for each with {}, for more nodes \
             (--nodes){}",
            number(*wanted),
            words(unit),
            less(unit),
            or_share(unit)
        ),
        Rejection::NoList { mode } => format!(
            "mode {mode} keeps to a list of hosts and there is none; give one with -f, or the \
             number of nodes with --nodes and -r loc+dist, or leave -r away"
        ),
        Rejection::HostNotGiven { mode, entry } => format!(
            "mode {mode} wants a host in every entry of the list, but entry {entry} names none; \
             name it, or relax the location with -r loc or -r loc+dist"
        ),
        Rejection::HostAbsent { host, nodes } => format!(
            "the listed host {host} is lost, or may not be used any more: it is on none of the \
             {nodes} running nodes that this queue may use; list another one, or relax the location \
             with -r loc or -r loc+dist"
        ),
        Rejection::ListDiffers { listed, processes } => format!(
            "the list has {listed} processes where {processes} are wanted; make -n and the counts \
             of the list agree"
        ),
        Rejection::NodeTooSmall {
            host,
            processes,
            unit,
            ceiling,
            by,
        } => format!(
            "{host} can never hold {} of {}: its largest container is {}; put fewer processes \
             there, ask for less with {}, have {} raised{}",
            number(*processes),
            words(unit),
            words(ceiling),
            less(unit),
            key(*by, types),
            or_share(unit)
        ),
        Rejection::TooFewLargeNodes {
            processes,
            unit,
            wanted,
            usable,
            largest,
        } => format!(
            "the list has {} with {processes} or more processes of {}, but the cluster has only {} that can hold so \
             many (the largest container is {}); list smaller numbers, ask for less with {}, have \
             {MEMORY_KEYS} raised{}",
            some(*wanted, "entry", "entries"),
            words(unit),
            some(*usable, "node", "nodes"),
            words(largest),
            less(unit),
            or_share(unit)
        ),
        Rejection::TooFewNodes {
            mode,
            wanted,
            usable,
            unit,
        } => format!(
            "mode {mode} wants {wanted} nodes, but the cluster has only {usable} that can hold a process of {}; ask \
             for fewer nodes (--nodes, or a shorter list), or relax their number with -r all",
            words(unit)
        ),
        Rejection::TooFewProcesses {
            mode,
            processes,
            nodes,
        } => format!(
            "mode {mode} uses every one of {nodes} nodes, but there is only work for {}; ask for \
             more processes (-n) or fewer nodes, or relax their number with -r all",
            number(*processes)
        ),
        Rejection::BesideHeld { held, why } => format!(
            "beside the {held} containers that are held the rest has no place: {}",
            rejection(why, types)
        ),
        Rejection::QueueTooSmall {
            processes,
            wanted,
            queue,
            maximum,
            appmaster,
            unit,
        } => format!(
            "{} of {} want {} together, but the queue {queue} gives its applications at most {}{}; \
             ask for fewer processes (-n), for less for each with {}, choose another queue with \
             --queue, or have its maximum raised{}",
            number(*processes),
            words(unit),
            words(wanted),
            words(maximum),
            match appmaster.memory {
                MiB(0) => String::new(),
                _ => format!(
                    ", of which the job's ApplicationMaster holds {}",
                    words(appmaster)
                ),
            },
            less(unit),
            or_share(unit)
        ),
        Rejection::QueueFull { queue, left, unit } => format!(
            "the queue {queue} gives this user only {} more now, and one process wants {}; its \
             other applications, or this user's, hold the rest",
            words(left),
            words(unit)
        ),
        Rejection::NoRoomNow { unit, freest, most } => {
            let wanted = types.iter().filter(|(index, _)| unit.counts.of(*index) > 0);
            let none: String = wanted
                .map(|(index, name)| format!(", none more than {}", counted(name, most.of(index))))
                .collect();
            format!(
                "no node has room for one process of {} now (the freest has {freest} left{none})",
                words(unit)
            )
        }
    }
}

/// The options with which less is asked for.
fn less(types: &ResourceTypes, wanted: Counts) -> String {
    let has = |gpus: bool| types.named(wanted).any(|(name, _)| (name == GPU) == gpus);
    let gpus = if has(true) { "-gpus-per-proc, " } else { "" };
    let others = if has(false) { "--resource, " } else { "" };
    format!("{gpus}{others}--mem-per-proc or --vcores-per-proc")
}

/// What else helps, except where a process has something of its own that is never shared.
fn or_share(types: &ResourceTypes, wanted: Counts) -> String {
    let named: Vec<&str> = types
        .named(wanted)
        .map(|(name, _)| if name == GPU { "GPUs" } else { name })
        .collect();
    match named.as_slice() {
        [] => ", or let processes share the room there is (-o true, without --mem-per-proc)".into(),
        [name] if *name != "GPUs" => format!("; {name} is not shared"),
        names => format!("; {} are not shared", names.join(" and ")),
    }
}

/// The Hadoop setting, or the part of the cluster, that bounds a container.
fn key(by: LimitedBy, types: &ResourceTypes) -> String {
    match by {
        LimitedBy::MaximumMemory => "yarn.scheduler.maximum-allocation-mb".into(),
        LimitedBy::NodeMemory => "yarn.nodemanager.resource.memory-mb".into(),
        LimitedBy::MaximumVcores => "yarn.scheduler.maximum-allocation-vcores".into(),
        LimitedBy::NodeVcores => "yarn.nodemanager.resource.cpu-vcores".into(),
        LimitedBy::MaximumCount(index) => {
            let name = types.name(index);
            format!("yarn.resource-types.{name}.maximum-allocation")
        }
        LimitedBy::NodeCount(index) => format!("its NodeManager's {}", types.name(index)),
    }
}

/// So many processes, in words.
pub(crate) fn number(processes: u32) -> String {
    match processes {
        1 => "1 process".into(),
        many => format!("{many} processes"),
    }
}

/// So many of something, in words.
fn some(number: usize, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        number => format!("{number} {many}"),
    }
}
