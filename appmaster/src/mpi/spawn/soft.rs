//! The info key `soft`: how many processes a program is content with.
//!
//! MPI 4.1, section 11.8.4: a list of `a`, `a:b` and `a:b:c`, which stand for the one number, for all from
//! `a` to `b`, and for every `c`-th of them. Numbers below 0 or above those that are wanted do not count.
//! Any of the rest may be started; here there is always room for the most.

/// The most of `text` that is not above `wanted`.
///
/// # Errors
/// A sentence: it cannot be read, or no number of it can be started.
pub(super) fn most(text: &str, wanted: u32) -> Result<u32, String> {
    let mut best: Option<u32> = None;
    for triplet in text.split(',') {
        let found = of_triplet(triplet.trim(), i64::from(wanted)).map_err(|()| {
            format!("the info key soft is {text}, and {triplet} is no range in it")
        })?;
        best = best.max(found.and_then(|found| u32::try_from(found).ok()));
    }
    best.filter(|best| *best > 0).ok_or_else(|| {
        format!("the info key soft is {text}, which has no number from 1 to {wanted}")
    })
}

/// The largest number of `a:b:c` from 0 to `wanted`.
fn of_triplet(triplet: &str, wanted: i64) -> Result<Option<i64>, ()> {
    let mut parts = triplet.split(':').map(|part| part.trim().parse::<i32>());
    let mut next = || parts.next().transpose().map_err(|_no_number| ());
    let first = i64::from(next()?.ok_or(())?);
    let last = next()?.map_or(first, i64::from);
    let step = next()?.map_or(1, i64::from);
    if next()?.is_some() || step == 0 {
        return Err(());
    }
    // All that are in order lie between the ends; a step downwards begins at the upper one.
    let (from, to) = if step > 0 {
        (first, last)
    } else {
        (last, first)
    };
    if from > to {
        return Ok(None);
    }
    let width = step.abs();
    // The numbers are `first` plus multiples of the step.
    let upper = to.min(wanted);
    let largest = upper - (upper - first).rem_euclid(width);
    Ok(Some(largest).filter(|largest| *largest >= from.max(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_that_is_allowed_is_started() {
        for (text, wanted, expected) in [
            // mpi4py's own.
            ("1:5", 5, 5),
            ("3", 5, 3),
            ("1:100", 5, 5),
            ("1:9:4", 8, 5),
            ("2:10:2", 7, 6),
            ("10:2:-3", 9, 7),
            ("8,1:3", 5, 3),
            (" 4 , 2:3", 5, 4),
            ("-2:9:3", 6, 4),
        ] {
            assert_eq!(most(text, wanted), Ok(expected), "{text} of {wanted}");
        }
        for bad in ["", "x", "1:2:0", "1:2:3:4", "1:", "99999999999"] {
            assert!(most(bad, 5).unwrap_err().contains("is no range"), "{bad}");
        }
        for none in ["7:9", "0", "3:1", "-4:-1"] {
            assert!(most(none, 5).unwrap_err().contains("from 1 to 5"), "{none}");
        }
    }
}
