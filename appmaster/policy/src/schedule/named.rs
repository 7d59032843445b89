//! Policies by name: `fifo`, `capacity:queue.prod=70,elastic=false`, `fair:by=queue+delay:node=3s+gang`.
//!
//! `NAME[:key=value,…][+WRAPPER[:key=value,…]]…`: the first wrapper goes around the policy, the next
//! around both.

use std::collections::BTreeMap;
use std::str::FromStr;

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

/// Why a text names no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownPolicy {
    /// No such policy.
    #[error("policy {name:?} is not known; there are {}", names(POLICIES))]
    Policy {
        /// What was given.
        name: String,
    },
    /// No such wrapper.
    #[error("wrapper {name:?} is not known; there are {}", names(WRAPPERS))]
    Wrapper {
        /// What was given.
        name: String,
    },
    /// The policy or wrapper has no such key.
    #[error("{of} has no key {key:?}; {}", keys(of))]
    Key {
        /// The policy or wrapper.
        of: String,
        /// What was given.
        key: String,
    },
    /// The value makes no sense for its key.
    #[error("{of}: {key}={value}: {wanted} is wanted")]
    Value {
        /// The policy or wrapper.
        of: String,
        /// The key.
        key: String,
        /// What was given.
        value: String,
        /// What would make sense.
        wanted: &'static str,
    },
}

fn names(of: &[(&str, &[&str])]) -> String {
    let names: Vec<&str> = of.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

fn keys(of: &str) -> String {
    let known = POLICIES
        .iter()
        .chain(WRAPPERS)
        .find(|(name, _)| *name == of);
    match known {
        Some((_, [])) | None => "it has none".to_owned(),
        Some((_, keys)) => format!("it has {}", keys.join(", ")),
    }
}

/// One `NAME:key=value,…`.
struct Part<'a> {
    name: &'a str,
    values: Vec<(&'a str, &'a str)>,
}

impl<'a> Part<'a> {
    fn parse(text: &'a str) -> Self {
        let (name, values) = text.split_once(':').unwrap_or((text, ""));
        let values = values.split(',').filter(|value| !value.is_empty());
        let values = values
            .map(|value| value.split_once('=').unwrap_or((value, "")))
            .collect();
        Self { name, values }
    }

    fn known(&self, among: &[(&str, &[&str])]) -> Option<Result<(), UnknownPolicy>> {
        let (_, keys) = among.iter().find(|(name, _)| *name == self.name)?;
        let known = |key: &str| {
            keys.iter().any(|known| match known.strip_suffix("NAME") {
                Some(prefix) => key
                    .strip_prefix(prefix)
                    .is_some_and(|name| !name.is_empty()),
                None => *known == key,
            })
        };
        let odd = self.values.iter().find(|(key, _)| !known(key));
        Some(odd.map_or(Ok(()), |(key, _)| {
            Err(UnknownPolicy::Key {
                of: self.name.to_owned(),
                key: (*key).to_owned(),
            })
        }))
    }

    fn get<T>(
        &self,
        key: &str,
        default: T,
        wanted: &'static str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, UnknownPolicy> {
        let given = self.values.iter().rev().find(|(name, _)| *name == key);
        given.map_or(Ok(default), |(_, value)| {
            read(value).ok_or_else(|| self.wrong(key, value, wanted))
        })
    }

    fn wrong(&self, key: &str, value: &str, wanted: &'static str) -> UnknownPolicy {
        let (of, key, value) = (self.name.to_owned(), key.to_owned(), value.to_owned());
        UnknownPolicy::Value {
            of,
            key,
            value,
            wanted,
        }
    }

    fn span(&self, key: &str, default: Nanos) -> Result<Nanos, UnknownPolicy> {
        self.get(key, default, "a span such as 3s, 500ms or 5m", span)
    }

    fn flag(&self, key: &str, default: bool) -> Result<bool, UnknownPolicy> {
        self.get(key, default, "true or false", |value| {
            bool::from_str(value).ok()
        })
    }

    fn hundredths(&self, key: &str, default: u64) -> Result<u64, UnknownPolicy> {
        self.get(
            key,
            default,
            "a number with at most two decimals, such as 1.5",
            hundredths,
        )
    }

    /// Positive numbers of keys that begin with `prefix`.
    fn numbers(&self, prefix: &str) -> Result<BTreeMap<String, u64>, UnknownPolicy> {
        let named = self
            .values
            .iter()
            .filter_map(|(key, value)| Some((*key, key.strip_prefix(prefix)?, *value)));
        let numbers = named.map(|(key, name, value)| {
            let number = value.parse().ok().filter(|number| *number > 0);
            let number = number.ok_or_else(|| self.wrong(key, value, "a whole number above 0"))?;
            Ok((name.to_owned(), number))
        });
        numbers.collect()
    }
}

/// `3s`, `500ms`, `5m`, `1h`; `0` without a unit.
fn span(text: &str) -> Option<Nanos> {
    if text == "0" {
        return Some(Nanos(0));
    }
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(digits)?;
    let number: u64 = number.parse().ok()?;
    let unit: u64 = match unit {
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    number.checked_mul(unit).map(Nanos)
}

/// `1.5` is 150.
fn hundredths(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if part.len() > 2 || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part: u64 = format!("{part:0<2}").parse().ok()?;
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(100)?
        .checked_add(part)
}

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
