//! Ranges in the names of hosts, as srun writes them: `n[1-3,5]`, `n[01-10]`, `rack[1-2]n[1-4]`.

use super::PROCESSES_MAX;
use super::error::Trouble;

/// Pieces between commas, those within brackets aside.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0usize;
    text.split(move |letter| {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    })
}

/// The names that `text` stands for, in order: itself, where it has no range.
///
/// # Errors
/// A range that is none, or far too many names.
pub(super) fn expand(text: &str) -> Result<Vec<String>, Trouble> {
    let mut names = vec![String::new()];
    let mut rest = text;
    let no_range = || Trouble::NoRange {
        name: text.to_owned(),
    };
    while let Some((before, behind)) = rest.split_once('[') {
        let (ranges, behind) = behind.split_once(']').ok_or_else(no_range)?;
        let mut numbers = Vec::new();
        for range in ranges.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            numbers.extend(between(first, last).ok_or_else(no_range)?);
            if numbers.len().saturating_mul(names.len()) > PROCESSES_MAX as usize {
                return Err(no_range());
            }
        }
        let longer = names.iter().flat_map(|name| {
            let numbers = numbers.iter();
            numbers.map(move |number| format!("{name}{before}{number}"))
        });
        names = longer.collect();
        rest = behind;
    }
    if rest.contains(']') {
        return Err(no_range());
    }
    for name in &mut names {
        name.push_str(rest);
    }
    Ok(names)
}

/// The numbers from `first` to `last`, as wide as `first` is written; `None` where these are none, the
/// wrong way round or too many.
fn between(first: &str, last: &str) -> Option<Vec<String>> {
    let number = |text: &str| {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u64>().ok().filter(|_| digits)
    };
    let (low, high) = (number(first)?, number(last)?);
    let count = high.checked_sub(low)?;
    (count < u64::from(PROCESSES_MAX)).then(|| {
        let width = first.len();
        (low..=high)
            .map(|number| format!("{number:0width$}"))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        expand(text).unwrap()
    }

    #[test]
    fn ranges_are_those_of_srun() {
        assert_eq!(names("n1"), ["n1"]);
        assert_eq!(names("n[1-3]"), ["n1", "n2", "n3"]);
        assert_eq!(names("n[09-11,2].x"), ["n09.x", "n10.x", "n11.x", "n2.x"]);
        assert_eq!(names("r[1-2]n[1,2]"), ["r1n1", "r1n2", "r2n1", "r2n2"]);
        let found: Vec<&str> = pieces("a,n[1,3-4]:2,b").collect();
        assert_eq!(found, ["a", "n[1,3-4]:2", "b"]);
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in [
            "n[",
            "n[]",
            "n[a-b]",
            "n[3-1]",
            "n[1-]",
            "n[1-2",
            "n1]",
            "n[-1]",
            "n[1-9999999]",
            "n[1-1000][1-1000][1-10]",
            "n[+1-2]",
            "n[1[2]]",
        ] {
            let error = expand(text).unwrap_err();
            assert!(error.to_string().contains("n[1-3]"), "{text}: {error}");
        }
    }
}
