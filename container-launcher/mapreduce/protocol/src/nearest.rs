//! The name that somebody may have meant.

/// The one of `names` that is written most like `word`, if any is: at most a third of its letters differ.
#[must_use]
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let close = |name: &'a str| {
        let far = distance(word.as_bytes(), name.as_bytes());
        (far * 3 <= name.len().max(word.len())).then_some((far, name))
    };
    names.filter_map(close).min().map(|(_, name)| name)
}

/// ` (is NAME meant?)`, or nothing.
#[must_use]
pub fn hint<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> String {
    nearest(word, names).map_or_else(String::new, |name| format!(" (is {name} meant?)"))
}

/// Letters to be put in, taken out or replaced: Levenshtein's distance.
fn distance(one: &[u8], other: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (number, letter) in one.iter().enumerate() {
        // What stood left above the present place.
        let mut corner = number;
        let mut left = number + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (above, wanted) in row.iter_mut().skip(1).zip(other) {
            let replaced = corner + usize::from(letter != wanted);
            corner = *above;
            left = replaced.min(left + 1).min(*above + 1);
            *above = left;
        }
    }
    row.last().copied().unwrap_or(one.len())
}

#[cfg(test)]
mod tests {
    use super::{distance, hint, nearest};

    #[test]
    fn what_is_alike_is_found_and_what_is_not_is_not() {
        assert_eq!(distance(b"kitten", b"sitting"), 3);
        assert_eq!(distance(b"", b"abc"), 3);
        let names = ["--slots", "--reduces", "--recursive"];
        let of = |word| nearest(word, names.into_iter());
        assert_eq!(of("--reducers"), Some("--reduces"));
        assert_eq!(of("--slot"), Some("--slots"));
        assert_eq!(of("--maximum"), None);
        assert_eq!(hint("--slot", names.into_iter()), " (is --slots meant?)");
        assert_eq!(hint("--maximum", names.into_iter()), "");
    }
}
