//! How many processes each host of a list gets.

use std::num::NonZeroU32;

/// Deals `processes` over places: the places of the first host, those of the second, and so on; when
/// all are taken, from the top again. What a host gets stands at its position, 0 where it gets none.
pub(crate) fn in_order(places: &[NonZeroU32], processes: u32) -> Vec<u32> {
    let sum: u64 = places.iter().map(|places| u64::from(places.get())).sum();
    let rounds = u64::from(processes).checked_div(sum).unwrap_or(0);
    let mut rest = u64::from(processes) - rounds * sum;
    let share = |places: &NonZeroU32| {
        let places = u64::from(places.get());
        let last = places.min(rest);
        rest -= last;
        u32::try_from(rounds * places + last).unwrap_or(u32::MAX)
    };
    places.iter().map(share).collect()
}

/// As [`in_order`], but every host gets one first. `None` where there are fewer processes than hosts.
pub(crate) fn one_each_first(places: &[NonZeroU32], processes: u32) -> Option<Vec<u32>> {
    let hosts = u32::try_from(places.len()).ok()?;
    let more = processes.checked_sub(hosts)?;
    // What is left of the places when each has given one.
    let sum: u64 = places.iter().map(|places| u64::from(places.get())).sum();
    let beyond = u64::from(more).checked_sub(sum - u64::from(hosts));
    if let Some(beyond) = beyond {
        // All places are taken once; the others are dealt from the top.
        let again = in_order(places, u32::try_from(beyond).ok()?);
        let whole = places.iter().map(|places| places.get());
        return Some(whole.zip(again).map(|(a, b)| a.saturating_add(b)).collect());
    }
    let mut rest = more;
    let share = |places: &NonZeroU32| {
        let extra = (places.get() - 1).min(rest);
        rest -= extra;
        1 + extra
    };
    Some(places.iter().map(share).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(counts: &[u32]) -> Vec<NonZeroU32> {
        counts.iter().filter_map(|c| NonZeroU32::new(*c)).collect()
    }

    #[test]
    fn places_are_taken_in_order_and_from_the_top_again() {
        for (counts, processes, wanted) in [
            (&[2, 2][..], 4, &[2, 2][..]),
            (&[2, 2], 3, &[2, 1]),
            (&[2, 2], 2, &[2, 0]),
            (&[2, 1], 4, &[3, 1]),
            (&[2, 1], 5, &[4, 1]),
            (&[2, 1], 7, &[5, 2]),
            (&[1, 1, 1], 7, &[3, 2, 2]),
            (&[4, 4, 4], 10, &[4, 4, 2]),
            (&[1], 1_000_000, &[1_000_000]),
        ] {
            assert_eq!(
                in_order(&places(counts), processes),
                wanted,
                "{counts:?} {processes}"
            );
        }
    }

    #[test]
    fn where_the_number_of_nodes_stays_each_gets_one_first() {
        for (counts, processes, wanted) in [
            (&[2, 2][..], 4, Some(&[2, 2][..])),
            (&[3, 3], 3, Some(&[2, 1])),
            (&[2, 2], 2, Some(&[1, 1])),
            (&[2, 2], 1, None),
            (&[2, 1], 5, Some(&[4, 1])),
            (&[1, 1, 1], 7, Some(&[3, 2, 2])),
        ] {
            let dealt = one_each_first(&places(counts), processes);
            assert_eq!(dealt.as_deref(), wanted, "{counts:?} {processes}");
        }
    }

    #[test]
    fn nothing_is_lost() {
        for a in 1..5 {
            for b in 1..5 {
                for processes in 2..30 {
                    let counts = places(&[a, b]);
                    assert_eq!(in_order(&counts, processes).iter().sum::<u32>(), processes);
                    let each = one_each_first(&counts, processes).unwrap();
                    assert_eq!(each.iter().sum::<u32>(), processes);
                    assert!(each.iter().all(|share| *share > 0));
                }
            }
        }
    }
}
