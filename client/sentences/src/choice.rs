//! Why `-r auto` chose a mode.

use policy::{COMMUNICATES_MUCH, Choice, Demand, Outlook, ResourceTypes, Wait};

use crate::rejection::rejection;

/// Why the mode, in one sentence, with the expected wait; `wanted` is the demand before a mode was chosen.
#[must_use]
pub fn choice(choice: &Choice, wanted: &Demand, types: &ResourceTypes) -> String {
    let given = match (wanted.listed.is_empty(), wanted.nodes) {
        (false, _) => "a host file is given",
        (true, Some(_)) => "a number of nodes is given, no host file",
        (true, None) => "no host file is given",
    };
    let stricter = choice.stricter.as_ref();
    let stricter =
        stricter.map(|(mode, come_of)| format!("mode {mode} {}, ", outlook(come_of, types)));
    let wait = match &choice.outlook {
        Outlook::Whole | Outlook::Shared => "one heartbeat".into(),
        Outlook::Waits(wait) => waits(wait),
        Outlook::Never(_) => "for ever".into(),
    };
    let standing = match &choice.outlook {
        Outlook::Waits(_) if !choice.alone => "has the shortest wait".into(),
        Outlook::Waits(_) => "finds no room now".into(),
        other => outlook(other, types),
    };
    let communication = match choice.communication_share {
        Some(share) if share >= COMMUNICATES_MUCH => format!(
            "; communication took {:.0} % of an earlier run, so listed nodes go before listed numbers",
            share * 100.0
        ),
        Some(share) => format!(
            "; communication took only {:.0} % of an earlier run, so the nodes matter little",
            share * 100.0
        ),
        None => String::new(),
    };
    format!(
        "{given}: {}mode {} {standing}; expected wait: {wait}{communication}",
        stricter.unwrap_or_default(),
        choice.mode
    )
}

/// How it is with a mode, after its name.
fn outlook(outlook: &Outlook, types: &ResourceTypes) -> String {
    match outlook {
        Outlook::Whole => "has room for every process now".into(),
        Outlook::Shared => "starts now with processes sharing the room there is".into(),
        Outlook::Waits(wait) => format!("waits {}", waits(wait)),
        Outlook::Never(why) => format!("cannot be placed ({})", rejection(why, types)),
    }
}

fn waits(wait: &Wait) -> String {
    match wait.hosts.as_slice() {
        [] if wait.queue => "until the queue gives as much".into(),
        [] => "until any node has room for a process".into(),
        [one] => format!("until somebody leaves {one}"),
        [one, two] => format!("until somebody leaves {one} and {two}"),
        [one, two, more @ ..] => {
            format!("until somebody leaves {one}, {two} and {} more", more.len())
        }
    }
}
