//! What is said of a text that names no policy.

use super::{POLICIES, WRAPPERS};

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

/// The names of [`POLICIES`] or [`WRAPPERS`], for people.
#[must_use]
pub fn names(of: &[(&str, &[&str])]) -> String {
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
