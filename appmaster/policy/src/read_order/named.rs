//! Read orders by name: `spmario:backlog=unit`, `rr:turn=16,wait=true`.

use super::{Backlog, Gpmr, ReadOrder, RoundRobin, SpMario, SpMarioLiteral};
use crate::schedule::names;

/// Read orders and their keys.
pub const READ_ORDERS: &[(&str, &[&str])] = &[
    ("spmario", &["backlog"]),
    ("spmario-literal", &[]),
    ("rr", &["turn", "wait"]),
    ("gpmr", &[]),
];

/// Chunks of a turn of `rr`.
const TURN: u64 = 16;

/// Why a text names no read order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownReadOrder {
    /// No such order.
    #[error("read order {name:?} is not known; there are {}", names(READ_ORDERS))]
    Order {
        /// What was given.
        name: String,
    },
    /// The order has no such key.
    #[error("read order {of} has no key {key:?}; {}", keys(of))]
    Key {
        /// The order.
        of: String,
        /// What was given.
        key: String,
    },
    /// The value makes no sense for its key.
    #[error("read order {of}: {key}={value}: {wanted} is wanted")]
    Value {
        /// The order.
        of: String,
        /// The key.
        key: String,
        /// What was given.
        value: String,
        /// What would make sense.
        wanted: &'static str,
    },
}

/// The order that `NAME[:key=value,…]` names; of a key that is given twice the last counts.
///
/// # Errors
///
/// A name, key or value is not known; the error lists what there is.
pub fn read_order(text: &str) -> Result<Box<dyn ReadOrder>, UnknownReadOrder> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let known = READ_ORDERS.iter().find(|(known, _)| *known == name);
    let unknown = || UnknownReadOrder::Order {
        name: name.to_owned(),
    };
    let (_, known) = known.ok_or_else(unknown)?;
    let (mut backlog, mut turn, mut wait) = (Backlog::Measured, TURN, true);
    for word in rest.split(',').filter(|word| !word.is_empty()) {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        if !known.contains(&key) {
            let (of, key) = (name.to_owned(), key.to_owned());
            return Err(UnknownReadOrder::Key { of, key });
        }
        let wrong = |wanted| UnknownReadOrder::Value {
            of: name.to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
            wanted,
        };
        match key {
            "backlog" => {
                backlog = match value {
                    "measured" => Backlog::Measured,
                    "unit" => Backlog::Unit,
                    _ => return Err(wrong("measured or unit")),
                }
            }
            "turn" => {
                let chunks = value.parse::<u64>().ok().filter(|chunks| *chunks > 0);
                turn = chunks.ok_or_else(|| wrong("a whole number above 0"))?;
            }
            _ => wait = value.parse().ok().ok_or_else(|| wrong("true or false"))?,
        }
    }
    match name {
        "spmario" => Ok(Box::new(SpMario::new(backlog))),
        "spmario-literal" => Ok(Box::<SpMarioLiteral>::default()),
        "rr" => Ok(Box::new(RoundRobin::new(turn, wait))),
        "gpmr" => Ok(Box::new(Gpmr)),
        _ => Err(unknown()),
    }
}

fn keys(of: &str) -> String {
    match READ_ORDERS.iter().find(|(name, _)| *name == of) {
        Some((_, [])) | None => "it has none".to_owned(),
        Some((_, keys)) => format!("it has {}", keys.join(", ")),
    }
}
