//! Why a job ended, and what to change.

use crate::memory;
use crate::rejection::rejection;
use crate::trace::excerpt;
use crate::waiting::no_room;
use policy::gang::Missing;
use policy::run::{Cause, KillReason, Limit, SeenMemory, Who};
use policy::{End, MiB, Millis, Rank, ResourceTypes};

/// One sentence: what happened, with what was seen of the ranks where it explains the cause, and what to
/// change. `types` names the counts in it.
#[must_use]
pub fn cause(cause: &Cause, seen: SeenMemory, types: &ResourceTypes) -> String {
    let plain = |part: &Cause| self::cause(part, SeenMemory::default(), types);
    match cause {
        Cause::RankFailed { rank, host, end } => {
            let why = match end {
                End::Signal(9) => memory::addition(seen.out_of_memory),
                _ => "",
            };
            format!("{rank} on {host} {}{why}", end.predicate())
        }
        Cause::Aborted { rank, host, code } => {
            format!("{rank} on {host} called MPI_Abort with code {code}")
        }
        Cause::Broke { rank, host, what } => format!(
            "{rank} on {host} was killed because it broke the process manager's protocol: \
                 {what}"
        ),
        Cause::OthersLeft => String::new(),
        Cause::NeverInitialized { rank, host } => format!(
            "{rank} on {host} exited with code 0 before MPI_Init, in which the other \
                 ranks wait for it"
        ),
        Cause::Refused { sentence, .. } | Cause::Results { sentence } => sentence.clone(),
        Cause::StartFailed { host, why } => {
            format!("the NodeManager of {host} did not start the job's container: {why}")
        }
        Cause::NotJoined { hosts, waited } => format!(
            "no word from the launcher on {} within {} s after its container was started; see \
                 the container's log there, and whether a firewall keeps it from the \
                 ApplicationMaster",
            first_few(hosts),
            waited.0 / 1000
        ),
        Cause::ContainerEnded {
            container,
            host,
            status,
            diagnostics,
        } => {
            let ended = ended(*status, diagnostics, seen.largest);
            format!("container {container} on {host} {ended}")
        }
        Cause::LinkLost { container, host } => format!(
            "the launcher in container {container} on {host} is gone, and YARN has not said \
                 why: the node may be lost"
        ),
        Cause::Misbehaved { host, what } => format!("the launcher on {host} {what}"),
        Cause::Impossible(why) => rejection(why, types),
        Cause::RequestsRefused { words } => format!(
            "the ResourceManager refuses what this job asks of it: {}",
            excerpt(words)
        ),
        Cause::NotInTime {
            waited,
            missing,
            held,
        } => not_in_time(*waited, missing, *held, types),
        Cause::NoRoomInTime { waited, why } => format!(
            "the job could not start within {} s: {}",
            waited.0 / 1000,
            match why {
                Some(why) => no_room(why, types),
                None => "the nodes could not be read in that time".into(),
            }
        ),
        Cause::TimedOut { after } => format!(
            "the program ran for longer than {}, which -timeout allows, so the job was ended",
            span(*after)
        ),
        Cause::Outlived { after, left } => format!(
            "{} still ran {} after the first had ended, which is what --wait allows, so the job \
                 was ended",
            match left {
                1 => "1 rank".to_owned(),
                _ => format!("{left} ranks"),
            },
            span(*after)
        ),
        Cause::NotRepeated { lost, why } => {
            format!(
                "{}; the program could not be started again: {}",
                plain(lost),
                plain(why)
            )
        }
        Cause::InputUsed => {
            "it has read standard input, which cannot be given again; --input takes a file, \
                 which can"
                .into()
        }
        Cause::Killed(KillReason::Interrupted) => "interrupted by the user".into(),
        Cause::Killed(KillReason::NoReader) => {
            "the output could not be written any more, so the job was ended".into()
        }
        Cause::Killed(KillReason::ClientLost) => {
            "the client that followed the job is gone, so the job was ended".into()
        }
        Cause::Killed(KillReason::Terminated) => {
            "the ApplicationMaster was told to end, by YARN or its node".into()
        }
        Cause::ResourceManagerLost { silent } => format!(
            "no answer from the ResourceManager for {} s; the job was ended because YARN may \
                 start another attempt of it",
            silent.0 / 1000
        ),
    }
}

/// A rank has ended with code 0 between `MPI_Init` and `MPI_Finalize`; `within` is how long the others may go on.
#[must_use]
pub fn left_early(rank: Who, host: &str, within: Option<Millis>) -> String {
    let at_most = within.map_or_else(String::new, |within| format!(", or after {}", span(within)));
    format!(
        "{rank} on {host} ended with code 0 but without MPI_Finalize: the others are ended when all that they do is wait \
         for it there{at_most}"
    )
}

/// The `others`, with their hosts, still ran so long after a rank had ended with code 0 between `MPI_Init` and
/// `MPI_Finalize`, and are ended.
#[must_use]
pub fn ended_for_one(rank: Who, host: &str, after: Millis, others: &[(Who, String)]) -> String {
    let named: Vec<String> = (others.iter())
        .map(|(rank, host)| format!("{rank} on {host}"))
        .collect();
    let were = if others.len() == 1 { "was" } else { "were" };
    format!(
        "{} still ran {} s after {rank} on {host} had ended with code 0 but without MPI_Finalize, and {were} ended; no rank \
         failed, so this is no failure of the job; --wait gives them longer",
        first_few(&named),
        after.0 / 1000
    )
}

/// Containers that a sentence names one by one.
const NAMED: usize = 5;

/// The sentence of a gang that did not come together within `waited`.
fn not_in_time(waited: Millis, missing: &[Missing], held: usize, types: &ResourceTypes) -> String {
    let named = missing.iter().take(NAMED).map(|one| {
        let (host, ask) = (&one.host, one.ask.words(types));
        match one.room {
            Some(room) => format!("{host} ({ask} asked for, {} left)", room.words(types)),
            None => format!("{host} ({ask} asked for, the node is gone)"),
        }
    });
    let named = named.collect::<Vec<_>>().join(", ");
    let more = match missing.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "only {held} of {} containers came within {} s; missing: {named}{more}; give it longer with \
         --wait-timeout, ask for less, or relax more with -r",
        held.saturating_add(missing.len()),
        waited.0 / 1000
    )
}

/// Seconds, or where those would not be whole, milliseconds.
fn span(span: Millis) -> String {
    match span.0 % 1000 {
        0 => format!("{} s", span.0 / 1000),
        _ => format!("{} ms", span.0),
    }
}

/// How a container ended, as a predicate, with YARN's own words where ours do not say it all.
fn ended(status: i32, diagnostics: &str, largest: Option<(Rank, MiB)>) -> String {
    let limit = Limit::of(status);
    let words = limit.map_or_else(
        || words(status),
        |limit| memory::predicate(limit, diagnostics, largest),
    );
    let is_understood = limit.is_some_and(|limit| limit.used(diagnostics).is_some());
    match diagnostics.trim() {
        said if !said.is_empty() && !is_understood => {
            format!("{words}; YARN says: {}", excerpt(said))
        }
        _ => words,
    }
}

/// YARN's exit statuses (`ContainerExitStatus`, Hadoop 2.10 to 3.5) as predicates, memory aside.
fn words(status: i32) -> String {
    match status {
        -100 => "was taken back by YARN (released, or its node is lost)".into(),
        -101 => "was lost because the node's disks failed or are full".into(),
        -102 => "was preempted by the scheduler for another queue or application".into(),
        -105 | -106 => "was killed by YARN on request".into(),
        -107 => "was killed by YARN because the application had ended".into(),
        -108 => "was killed by its node's scheduler".into(),
        -109 => "was killed because it logged more than its node allows; have \
                 yarn.nodemanager.container-log-monitor.dir-size-limit-bytes or \
                 total-size-limit-bytes raised"
            .into(),
        -1000 => "could not be started by its NodeManager".into(),
        137 => "was killed by signal 9 (SIGKILL)".into(),
        143 => "was killed by signal 15 (SIGTERM)".into(),
        other => format!("ended with exit status {other}"),
    }
}

/// The first hosts by name, the others by their number.
fn first_few(hosts: &[String]) -> String {
    let named = hosts.iter().take(NAMED).map(String::as_str);
    let named = named.collect::<Vec<_>>().join(", ");
    match hosts.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_few_of_many_silent_launchers_are_named() {
        let sentence = |count: usize| {
            let hosts = (1..=count).map(|host| format!("n{host}")).collect();
            let waited = Millis(30_000);
            cause(
                &Cause::NotJoined { hosts, waited },
                SeenMemory::default(),
                &ResourceTypes::default(),
            )
        };
        assert!(sentence(5).contains("on n1, n2, n3, n4, n5 within 30 s"));
        assert!(sentence(2048).contains("on n1, n2, n3, n4, n5 and 2043 more within 30 s"));
    }
}
