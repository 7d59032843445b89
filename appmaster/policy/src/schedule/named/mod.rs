//! Policies by name: `fifo`, `capacity:queue.prod=70,elastic=false`, `fair:by=queue+delay:node=3s+gang`.
//!
//! `NAME[:key=value,…][+WRAPPER[:key=value,…]]…`: the first wrapper goes around the policy, the next
//! around both.

mod part;
mod unknown;

use part::Part;
pub use unknown::UnknownPolicy;

use super::wrapper::{Age, Avoid, Delay, GangScheduling, Priority, Speculate};
use super::{By, Capacity, Fair, Fifo, Nanos, Scheduler};

/// Policies and their keys.
pub const POLICIES: &[(&str, &[&str])] = &[
    ("fifo", &[]),
    ("fifo-barrier", &[]),
    ("capacity", &["queue.NAME", "elastic"]),
    ("fair", &["by", "weight.NAME"]),
];

/// Wrappers and their keys.
pub const WRAPPERS: &[(&str, &[&str])] = &[
    ("delay", &["node", "rack"]),
    ("speculate", &["factor", "share", "least"]),
    ("avoid", &[]),
    ("priority", &["preempt"]),
    ("age", &["limit"]),
    ("gang", &["hold"]),
];

/// The policy that `text` names.
///
/// # Errors
///
/// A name, key or value is not known; the error lists what there is.
pub fn named(text: &str) -> Result<Box<dyn Scheduler>, UnknownPolicy> {
    let mut parts = text.split('+').map(Part::parse);
    let first = parts.next().unwrap_or(Part {
        name: "",
        values: Vec::new(),
    });
    let mut policy = bare(&first)?;
    for part in parts {
        policy = wrapped(&part, policy)?;
    }
    Ok(policy)
}

/// The policy of a session that was started with `text`: attempts that are slow are tried a second time, as
/// their jobs allow, nodes where attempts fail are avoided, and whole jobs start at once.
///
/// # Errors
///
/// As [`named`].
pub fn of_session(text: &str) -> Result<Box<dyn Scheduler>, UnknownPolicy> {
    let has = |name: &str| text.split('+').any(|part| Part::parse(part).name == name);
    let added = ["speculate", "avoid", "gang"].into_iter();
    let added = added.filter(|name| *name == "gang" || !has(name));
    let all: Vec<&str> = std::iter::once(text).chain(added).collect();
    named(&all.join("+"))
}

fn bare(part: &Part<'_>) -> Result<Box<dyn Scheduler>, UnknownPolicy> {
    let unknown = || UnknownPolicy::Policy {
        name: part.name.to_owned(),
    };
    part.known(POLICIES).ok_or_else(unknown)??;
    let by = |value: &str| match value {
        "user" => Some(By::Tenant),
        "queue" => Some(By::Queue),
        "job" => Some(By::Job),
        _ => None,
    };
    match part.name {
        "fifo" => Ok(Box::new(Fifo { barrier: false })),
        "fifo-barrier" => Ok(Box::new(Fifo { barrier: true })),
        "capacity" => Ok(Box::new(Capacity {
            shares: part.numbers("queue.")?,
            elastic: part.flag("elastic", true)?,
        })),
        "fair" => Ok(Box::new(Fair {
            by: part.get("by", By::Tenant, "user, queue or job", by)?,
            weights: part.numbers("weight.")?,
        })),
        _ => Err(unknown()),
    }
}

fn wrapped(
    part: &Part<'_>,
    inner: Box<dyn Scheduler>,
) -> Result<Box<dyn Scheduler>, UnknownPolicy> {
    let unknown = || UnknownPolicy::Wrapper {
        name: part.name.to_owned(),
    };
    part.known(WRAPPERS).ok_or_else(unknown)??;
    match part.name {
        "delay" => {
            let patience = Nanos::from_secs(3);
            Ok(Box::new(Delay::new(
                part.span("node", patience)?,
                part.span("rack", patience)?,
                inner,
            )))
        }
        "speculate" => Ok(Box::new(Speculate::new(
            part.hundredths("factor", 150)?,
            part.hundredths("share", 10)?,
            part.span("least", Nanos::from_secs(3))?,
            inner,
        ))),
        "avoid" => Ok(Box::new(Avoid { inner })),
        "priority" => Ok(Box::new(Priority::new(part.flag("preempt", false)?, inner))),
        "age" => Ok(Box::new(Age {
            limit: part.span("limit", Nanos::from_secs(300))?,
            inner,
        })),
        "gang" => Ok(Box::new(GangScheduling::new(
            part.span("hold", Nanos::from_secs(60))?,
            inner,
        ))),
        _ => Err(unknown()),
    }
}
