//! What a job waits for, in sentences.

use crate::rejection::rejection;
use policy::gang::{LetGo, NoRoom, Silent, Unused};
use policy::{Millis, ResourceTypes};

/// Spans of silence, in seconds, that are told: a sentence that changed with each second would never have
/// stood for long enough to be said.
const TOLD: [u64; 9] = [3600, 1800, 600, 300, 120, 60, 30, 10, 3];
/// Nodes that a sentence names.
const NAMED: usize = 4;

/// Why nothing can be asked for.
#[must_use]
pub fn no_room(why: &NoRoom, types: &ResourceTypes) -> String {
    match why {
        NoRoom::Rejected(why) => rejection(why, types),
        NoRoom::Unseen(why) => format!("the nodes cannot be read: {why}"),
    }
}

/// Why containers are given back.
#[must_use]
pub const fn unused(why: Unused) -> &'static str {
    match why {
        Unused::NotWanted => "its node or its size is no longer wanted",
        Unused::Incomplete => "the job's other containers did not come in time",
        Unused::Forgotten => "the ResourceManager has restarted and does not know them any more",
        Unused::Lost => "its launcher or its node is lost",
        Unused::JobEnds => "the job ends",
    }
}

/// That all was given back, and when it is asked for again.
#[must_use]
pub fn let_go(let_go: &LetGo) -> String {
    let LetGo {
        granted,
        wanted,
        blocked_by,
        pause,
    } = let_go;
    let seconds = pause.0.div_ceil(1000);
    match (granted, blocked_by) {
        (_, Some(other)) => format!(
            "{other} waits as well, is older and holds what is missing: {granted} of {wanted} \
             containers were given back, and all are asked for again in {seconds} s"
        ),
        (0, None) => format!(
            "none of {wanted} containers came in time; they are asked for again in {seconds} s"
        ),
        (_, None) => format!(
            "only {granted} of {wanted} containers came in time; they were given back and are \
             asked for again in {seconds} s"
        ),
    }
}

/// Who does not answer, and for how long.
#[must_use]
pub fn silent(silent: &Silent) -> String {
    let Silent { hosts, span } = silent;
    let named: Vec<&str> = hosts.iter().take(NAMED).map(String::as_str).collect();
    let more = match hosts.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let has = match hosts.len() {
        1 => "has",
        _ => "have",
    };
    let seconds = span.0 / 1000;
    let told = TOLD.iter().copied().find(|told| *told <= seconds);
    format!(
        "{}{more} {has} not answered for over {} s, though there is room",
        named.join(", "),
        told.unwrap_or(seconds)
    )
}

/// That these hosts have newly not answered a request `within` that span, and what becomes of them.
#[must_use]
pub fn unanswered(hosts: &[String], within: Millis, is_bound: bool) -> String {
    let what = match (is_bound, hosts) {
        (true, _) => "the job waits for it, because its mode allows no other",
        (false, [_]) => "it is left alone until it does",
        (false, _) => "they are left alone until they do",
    };
    format!(
        "{} did not answer a request within {} s, though YARN counts it as running: {what}",
        hosts.join(", "),
        within.0 / 1000
    )
}
