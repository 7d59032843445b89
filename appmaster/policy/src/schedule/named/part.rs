//! One part of a policy's text: a name with its keys and values.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::UnknownPolicy;
use crate::schedule::Nanos;

/// One `NAME:key=value,…`.
pub(super) struct NamedPart<'a> {
    pub(super) name: &'a str,
    pub(super) values: Vec<(&'a str, &'a str)>,
}

impl<'a> NamedPart<'a> {
    pub(super) fn parse(text: &'a str) -> Self {
        let (name, values) = text.split_once(':').unwrap_or((text, ""));
        let values = values.split(',').filter(|value| !value.is_empty());
        let values = values
            .map(|value| value.split_once('=').unwrap_or((value, "")))
            .collect();
        Self { name, values }
    }

    pub(super) fn known(&self, among: &[(&str, &[&str])]) -> Option<Result<(), UnknownPolicy>> {
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

    /// Whether a key was given.
    pub(super) fn has(&self, key: &str) -> bool {
        self.values.iter().any(|(name, _)| *name == key)
    }

    pub(super) fn get<T>(
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

    pub(super) fn span(&self, key: &str, default: Nanos) -> Result<Nanos, UnknownPolicy> {
        self.get(key, default, "a span such as 3s, 500ms or 5m", span)
    }

    pub(super) fn flag(&self, key: &str, default: bool) -> Result<bool, UnknownPolicy> {
        self.get(key, default, "true or false", |value| {
            bool::from_str(value).ok()
        })
    }

    pub(super) fn hundredths(&self, key: &str, default: u64) -> Result<u64, UnknownPolicy> {
        self.get(
            key,
            default,
            "a number with at most two decimals, such as 1.5",
            hundredths,
        )
    }

    /// Positive numbers of keys that begin with `prefix`.
    pub(super) fn numbers(&self, prefix: &str) -> Result<BTreeMap<String, u64>, UnknownPolicy> {
        let named = self
            .values
            .iter()
            .filter_map(|(key, value)| Some((*key, key.strip_prefix(prefix)?, *value)));
        let numbers = named.map(|(key, name, value)| {
            let number = above_0(value).ok_or_else(|| self.wrong(key, value, ABOVE_0))?;
            Ok((name.to_owned(), number))
        });
        numbers.collect()
    }
}

/// What [`above_0`] reads.
pub(super) const ABOVE_0: &str = "a whole number above 0";

/// A number, of whatever size is wanted.
pub(super) fn above_0<Number: FromStr + Default + PartialOrd>(text: &str) -> Option<Number> {
    let number: Number = text.parse().ok()?;
    (number > Number::default()).then_some(number)
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
pub(super) fn hundredths(text: &str) -> Option<u64> {
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
