//! Policies by name: `fifo`, `capacity:queue.prod=70,elastic=false`, `fair:by=queue+delay:node=3s+gang`.
//!
//! `NAME[:key=value,…][+WRAPPER[:key=value,…]]…`: the first wrapper goes around the policy, the next
//! around both.

mod part;
mod unknown;

use part::{ABOVE_0, NamedPart, above_0, hundredths};
pub use unknown::{UnknownPolicy, names};

use super::wrapper::{Age, Avoid, Delay, GangScheduling, Priority, Speculate};
use super::{
    Blind, By, ByDeadline, Capacity, DyScale, Fair, Fifo, Hetero, Hpe, HpeConserve, HpeLiteral,
    LiftBatch, MapsFast, Nanos, Scheduler, Window,
};

/// Policies and their keys.
pub const POLICIES: &[(&str, &[&str])] = &[
    ("fifo", &["order"]),
    ("fifo-barrier", &["order"]),
    ("fifo-blind", &[]),
    ("capacity", &["queue.NAME", "elastic", "by-stage", "order"]),
    ("fair", &["by", "weight.NAME"]),
    ("hetero", &["tenants"]),
    ("hetero-literal", &["tenants"]),
    ("hpe", &["skip", "window", "age"]),
    ("hpe-conserve", &["per", "age"]),
    ("hpe-literal", &["seed"]),
    (
        "dyscale",
        &["lift-batch", "move-least", "most", "order", "park"],
    ),
    ("dyscale-basic", &["most", "order"]),
    ("maps-fast", &[]),
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

/// What `lift-batch` may be.
const LIFT: &str = "idle, always or off";

/// What `park` may be.
const PLACES: &str = "a number from 0 to 16 with at most two decimals, such as 0.25";

fn places(text: &str) -> Option<u64> {
    hundredths(text).filter(|places| *places <= 1600)
}

/// Policies that tell fast slots from slow ones.
const BY_SPEED: [&str; 3] = ["dyscale", "dyscale-basic", "maps-fast"];

/// After so long a stage has waited for too long.
const TOO_LONG: Nanos = Nanos::from_secs(300);

/// The policy that `text` names. `hpe` and `hpe-conserve` have an `age` of their own, where none
/// follows it, for what they pass over.
///
/// # Errors
///
/// A name, key or value is not known; the error lists what there is.
pub fn named(text: &str) -> Result<Box<dyn Scheduler>, UnknownPolicy> {
    let mut parts = text.split('+').map(NamedPart::parse);
    let first = parts.next().unwrap_or(NamedPart {
        name: "",
        values: Vec::new(),
    });
    let mut policy = bare(&first)?;
    let by_deadline = |value: &str| match value {
        "fifo" => Some(false),
        "deadline" => Some(true),
        _ => None,
    };
    if first.get("order", false, "fifo or deadline", by_deadline)? {
        policy = Box::new(ByDeadline { inner: policy });
    }
    let rest: Vec<NamedPart<'_>> = parts.collect();
    let is_hpe = ["hpe", "hpe-conserve"].contains(&first.name);
    let aged = rest.iter().any(|part| part.name == "age");
    if is_hpe && (first.has("age") || !aged) {
        policy = Box::new(Age::new(first.span("age", TOO_LONG)?, true, policy));
    }
    for part in rest {
        policy = wrapped(&part, is_hpe, policy)?;
    }
    Ok(policy)
}

/// The policy of a session that was started with `text`.
///
/// # Errors
///
/// As [`named`].
pub fn of_session(text: &str) -> Result<Box<dyn Scheduler>, UnknownPolicy> {
    named(&session_text(text))
}

/// Its whole name: tasks wait a while for a slot where their input is, attempts that are slow are tried a second time, as
/// their jobs allow, nodes where attempts fail are avoided, and whole jobs start at once.
#[must_use]
pub fn session_text(text: &str) -> String {
    let has = |name: &str| {
        text.split('+')
            .any(|part| NamedPart::parse(part).name == name)
    };
    // A task lasts seconds, and a free slot is known at once.
    let added = [
        ("delay", "delay:node=1s,rack=1s"),
        ("speculate", "speculate"),
        ("avoid", "avoid"),
        ("gang", "gang"),
    ];
    let added = added.into_iter();
    let added = added.filter(|(name, _)| *name == "gang" || !has(name));
    let added = added.map(|(_, part)| part);
    let all: Vec<&str> = std::iter::once(text).chain(added).collect();
    all.join("+")
}

/// Whether `text` names a policy that tells slots on fast cores from slots on slow ones.
#[must_use]
pub fn goes_by_speed(text: &str) -> bool {
    let (name, _) = text.split_once(['+', ':']).unwrap_or((text, ""));
    BY_SPEED.contains(&name)
}

/// Hundredths of a place for stopped attempts that the policy that `text` names has for each fast slot; 0 of one that does
/// not stop any, and where `text` names none.
#[must_use]
pub fn parks(text: &str) -> u64 {
    named(text).map_or(0, |policy| policy.parks())
}

fn bare(part: &NamedPart<'_>) -> Result<Box<dyn Scheduler>, UnknownPolicy> {
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
    let lift = |value: &str| match value {
        "idle" => Some(LiftBatch::Idle),
        "always" => Some(LiftBatch::Always),
        "off" => Some(LiftBatch::Off),
        _ => None,
    };
    let window = |value: &str| match value {
        "plain" => Some(Window::Plain),
        "jobs" => Some(Window::Jobs),
        _ => None,
    };
    match part.name {
        "fifo" => Ok(Box::new(Fifo { barrier: false })),
        "fifo-barrier" => Ok(Box::new(Fifo { barrier: true })),
        "fifo-blind" => Ok(Box::new(Blind)),
        "capacity" => Ok(Box::new(Capacity {
            shares: part.numbers("queue.")?,
            elastic: part.flag("elastic", true)?,
            by_stage: part.flag("by-stage", false)?,
        })),
        "fair" => Ok(Box::new(Fair {
            by: part.get("by", By::Tenant, "user, queue or job", by)?,
            weights: part.numbers("weight.")?,
        })),
        "hetero" | "hetero-literal" => Ok(Box::new(Hetero {
            tenants: part.flag("tenants", false)?,
            literal: part.name == "hetero-literal",
        })),
        "hpe" => Ok(Box::new(Hpe {
            skip: part.get("skip", 3, ABOVE_0, above_0)?,
            window: part.get("window", Window::Plain, "plain or jobs", window)?,
        })),
        "hpe-conserve" => Ok(Box::new(HpeConserve {
            per: part.get("per", 2, ABOVE_0, above_0)?,
        })),
        "hpe-literal" => Ok(Box::new(HpeLiteral {
            chance: part.get("seed", 0, "a whole number", |value| value.parse().ok())?,
        })),
        "dyscale" | "dyscale-basic" => {
            let mut policy = DyScale::new(part.name == "dyscale");
            policy.lift_batch = part.get("lift-batch", LiftBatch::Idle, LIFT, lift)?;
            policy.move_least = part.span("move-least", policy.move_least)?;
            policy.most = part.get("most", policy.most, ABOVE_0, above_0)?;
            policy.park = part.get("park", 0, PLACES, places)?;
            Ok(Box::new(policy))
        }
        "maps-fast" => Ok(Box::new(MapsFast)),
        _ => Err(unknown()),
    }
}

fn wrapped(
    part: &NamedPart<'_>,
    is_hpe: bool,
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
        "age" => Ok(Box::new(Age::new(
            part.span("limit", TOO_LONG)?,
            is_hpe,
            inner,
        ))),
        "gang" => Ok(Box::new(GangScheduling::new(
            part.span("hold", Nanos::from_secs(60))?,
            inner,
        ))),
        _ => Err(unknown()),
    }
}
