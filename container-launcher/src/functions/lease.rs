//! Leases for a task: all that it wants, or none.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use fpga_client::Function;
use fpga_client::client::{Accelerator, AcceleratorError, map_within};
use fpga_client::wire::{BoardRow, MappedDevice};
use policy::elements::ElementNeed;

use super::{ANSWER, Loss, TYPE};

/// A lease of a function, by the name of its type.
#[derive(Debug)]
pub(crate) struct FunctionLease {
    /// `acc/kmeans-map`.
    pub(crate) of: String,
    pub(crate) function: Function,
    pub(crate) accelerator: Accelerator,
}

/// Why a task has none.
#[derive(Debug)]
pub(crate) struct NotLeased {
    /// `acc/kmeans-map`; each that is missing.
    pub(crate) of: Vec<String>,
    /// A sentence.
    pub(crate) why: String,
    pub(crate) loss: Loss,
}

/// Leases a device for each function that is named, `acc/kmeans-map=2`, all at the same time or none: a task that waits
/// holds nothing that another one waits for. Functions that the driver does not know are another's, and are left to the
/// task.
///
/// # Errors
///
/// What there is no device of, and why.
pub(crate) fn lease(
    socket: &Path,
    functions: &[String],
    holder: &str,
    wait: Duration,
) -> Result<Vec<FunctionLease>, NotLeased> {
    let mut wanted: Vec<(String, Function)> = Vec::new();
    for named in functions {
        let need: ElementNeed = named.parse().map_err(|why: String| NotLeased {
            of: vec![named.clone()],
            loss: Loss::Refused(why.clone()),
            why,
        })?;
        let name = need.name.strip_prefix(TYPE).unwrap_or(&need.name);
        let Ok(function) = name.parse::<Function>() else {
            continue;
        };
        wanted.extend((0..need.count).map(|_| (need.name.clone(), function)));
    }
    let each: Vec<Function> = wanted.iter().map(|(_, function)| *function).collect();
    let leased = match each[..] {
        [] => Ok(Vec::new()),
        [one] => Accelerator::lease(socket, one, holder, Some(wait)).map(|lease| vec![lease]),
        _ => Accelerator::lease_all(socket, &each, holder, Some(wait)),
    };
    let leased = leased.map_err(|error| {
        let there = map_within(socket, ANSWER).ok();
        let names = missing(&wanted, there.as_ref());
        NotLeased {
            why: sentence(&names.join(" and "), &error),
            of: names,
            loss: match error {
                AcceleratorError::TimedOut { .. } => Loss::Taken,
                other => Loss::Refused(other.to_string()),
            },
        }
    })?;
    let each = wanted.into_iter().zip(leased);
    let each = each.map(|((of, function), accelerator)| FunctionLease {
        of,
        function,
        accelerator,
    });
    Ok(each.collect())
}

/// Which of the functions that a task wants are missing, by the driver's map: those of which fewer are free than it wants;
/// where the map does not tell, all.
fn missing(
    wanted: &[(String, Function)],
    map: Option<&(Vec<MappedDevice>, Vec<BoardRow>)>,
) -> Vec<String> {
    let mut counts: BTreeMap<&str, (Function, usize)> = BTreeMap::new();
    for (name, function) in wanted {
        counts.entry(name).or_insert((*function, 0)).1 += 1;
    }
    let free = |function: Function| {
        let (devices, boards) = map?;
        let is_on = |name: &str| {
            let mut boards = boards.iter();
            boards.any(|board| board.board == name && board.off.is_none())
        };
        let of_it = devices.iter().filter(|of| {
            of.device.split('#').next() == Some(function.name())
                && of.lease.is_none()
                && is_on(&of.board)
        });
        Some(of_it.count())
    };
    let short = counts
        .iter()
        .filter(|(_, (function, count))| free(*function).is_some_and(|free| free < *count));
    let short: Vec<String> = short.map(|(name, _)| (*name).to_owned()).collect();
    match short.is_empty() {
        true => counts.into_keys().map(str::to_owned).collect(),
        false => short,
    }
}

fn sentence(name: &str, error: &AcceleratorError) -> String {
    match error {
        AcceleratorError::TimedOut { waited } => format!(
            "no {name} came free within {} s: gerbil fpga ps on that node says who holds them",
            waited.as_secs()
        ),
        other => format!("no {name}: {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::LOOK;
    use super::super::tests::{board, device};
    use super::*;

    #[test]
    fn what_is_not_leased_is_named_and_other_drivers_functions_are_left_to_the_task() {
        let nowhere = Path::new("/nonexistent/fpgad.sock");
        let wanted = |name: &str| lease(nowhere, &[name.to_owned()], "me", LOOK);
        assert!(wanted("acc/coffee=2").unwrap().is_empty());
        let none = wanted("acc/kmeans-map=2").unwrap_err();
        assert_eq!(none.of, ["acc/kmeans-map"]);
        assert!(
            none.why
                .starts_with("no acc/kmeans-map: no fpgad answers at /nonexistent/fpgad.sock"),
            "{none:?}"
        );
    }

    #[test]
    fn of_several_functions_those_are_missing_that_are_not_free_and_where_nobody_tells_all() {
        let wanted = [
            ("acc/kmeans-map".to_owned(), Function::KmeansMap),
            ("acc/kmeans-map".to_owned(), Function::KmeansMap),
            ("acc/bayes-map".to_owned(), Function::BayesMap),
        ];
        let both = ["acc/bayes-map", "acc/kmeans-map"];
        let map = |devices: &[(&str, &str)], off: Option<&str>| {
            let devices = devices.iter().map(|(name, on)| device(name, on));
            (devices.collect(), vec![board("a", None), board("b", off)])
        };
        let one_short = [
            ("kmeans-map#0", "a"),
            ("kmeans-map#1", "b"),
            ("bayes-map#0", "a"),
        ];
        assert_eq!(missing(&wanted, None), both);
        assert_eq!(missing(&wanted, Some(&map(&[], None))), both);
        // They came free meanwhile.
        assert_eq!(missing(&wanted, Some(&map(&one_short, None))), both);
        let off = map(&one_short, Some("stuck"));
        assert_eq!(missing(&wanted, Some(&off)), ["acc/kmeans-map"]);
        assert_eq!(
            missing(&wanted, Some(&map(&one_short[..2], None))),
            ["acc/bayes-map"]
        );
    }
}
