//! Parts of a key, as `-k POS1[,POS2]` names them: of `KeyFieldBasedPartitioner` and `KeyFieldBasedComparator`, whose options
//! are those of `sort`.
//!
//! A position is `F[.C]`, field and character from 1; without a character it is the field's first, or in POS2 its last.
//! `n` behind a position compares numbers, `r` turns the order; `-n`, `-r` and `-nr` alone do so for each `-k` that says
//! neither.

use memchr::memmem;

/// A part of a key, and how it is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    field: usize,
    letter: usize,
    /// 0: to the end of the key.
    last_field: usize,
    /// 0: to the end of the field.
    last_letter: usize,
    pub(crate) is_number: bool,
    pub(crate) is_reverse: bool,
}

impl Part {
    const WHOLE: Self = Self {
        field: 1,
        letter: 1,
        last_field: 0,
        last_letter: 0,
        is_number: false,
        is_reverse: false,
    };

    /// Fields from the first to the one of this number.
    const fn first(fields: usize) -> Self {
        Self {
            last_field: fields,
            ..Self::WHOLE
        }
    }

    /// What of `key` it is; none: the key does not reach so far.
    pub(crate) fn of<'a>(&self, key: &'a [u8], separator: &[u8]) -> Option<&'a [u8]> {
        let from = start(key, separator, self.field)? + self.letter - 1;
        if from >= key.len() {
            return None;
        }
        let to = match start(key, separator, self.last_field) {
            _ if self.last_field == 0 => key.len(),
            None => key.len(),
            Some(field) if self.last_letter == 0 => {
                let rest = key.get(field..).unwrap_or_default();
                field + find(rest, separator).unwrap_or(rest.len())
            }
            Some(field) => (field + self.last_letter).min(key.len()),
        };
        Some(key.get(from..to.max(from)).unwrap_or_default())
    }
}

/// Where the field of this number begins.
fn start(key: &[u8], separator: &[u8], field: usize) -> Option<usize> {
    let mut at = 0;
    for _ in 1..field {
        at += find(key.get(at..)?, separator)? + separator.len();
    }
    Some(at)
}

fn find(bytes: &[u8], separator: &[u8]) -> Option<usize> {
    match separator {
        [] => None,
        [separator] => memchr::memchr(*separator, bytes),
        separator => memmem::find(bytes, separator),
    }
}

/// Parts that options name; none: they name none.
///
/// # Errors
/// What of them makes no sense.
pub(crate) fn parts(options: &str) -> Result<Vec<Part>, String> {
    let (mut parts, mut all) = (Vec::new(), Part::WHOLE);
    let mut words = options.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "-n" => all.is_number = true,
            "-r" => all.is_reverse = true,
            "-nr" | "-rn" => (all.is_number, all.is_reverse) = (true, true),
            "-k" => {
                let key = words.next();
                parts.push(part(key.ok_or("-k wants POS1[,POS2] behind it")?)?);
            }
            word => match word.strip_prefix("-k") {
                Some(key) => parts.push(part(key)?),
                None => return Err(format!("{word} is none of -k, -n and -r")),
            },
        }
    }
    for part in &mut parts {
        if !part.is_number && !part.is_reverse {
            (part.is_number, part.is_reverse) = (all.is_number, all.is_reverse);
        }
    }
    if parts.is_empty() && all != Part::WHOLE {
        parts.push(all);
    }
    Ok(parts)
}

/// The first `fields` fields, as an old setting has it.
pub(crate) fn first(fields: usize) -> Vec<Part> {
    match fields {
        0 => Vec::new(),
        fields => vec![Part::first(fields)],
    }
}

/// `F[.C][nr][,F[.C][nr]]`.
fn part(text: &str) -> Result<Part, String> {
    let (from, to) = match text.split_once(',') {
        Some((from, to)) => (from, Some(to)),
        None => (text, None),
    };
    let mut part = Part::WHOLE;
    let (field, letter) = position(text, from, &mut part)?;
    (part.field, part.letter) = (field, letter.unwrap_or(1));
    if part.letter == 0 {
        return Err(format!("-k{text}: {from} counts characters from 1"));
    }
    if let Some(to) = to {
        let (field, letter) = position(text, to, &mut part)?;
        (part.last_field, part.last_letter) = (field, letter.unwrap_or(0));
    }
    Ok(part)
}

fn position(all: &str, text: &str, part: &mut Part) -> Result<(usize, Option<usize>), String> {
    let numbers = text.trim_end_matches(['n', 'r']);
    let flags = text.get(numbers.len()..).unwrap_or_default();
    part.is_number |= flags.contains('n');
    part.is_reverse |= flags.contains('r');
    let wrong =
        || format!("-k{all}: {text:?} is no F[.C][nr], field and character being numbers from 1");
    let number = |text: &str| text.parse::<usize>().ok();
    let (field, letter) = match numbers.split_once('.') {
        Some((field, letter)) => (number(field), Some(number(letter).ok_or_else(wrong)?)),
        None => (number(numbers), None),
    };
    let field = field.filter(|field| *field > 0).ok_or_else(wrong)?;
    Ok((field, letter))
}

#[cfg(test)]
mod tests {
    use super::{first, parts};

    #[test]
    fn parts_of_keys_are_what_their_positions_say() {
        for (options, key, wanted) in [
            ("-k1,1", "a.b.c", Some("a")),
            ("-k2,2", "a.b.c", Some("b")),
            ("-k2", "a.b.c", Some("b.c")),
            ("-k 2,3", "a.b.c.d", Some("b.c")),
            ("-k1.2,1.3", "abcd.x", Some("bc")),
            ("-k2.2,2", "a.bcd.e", Some("cd")),
            ("-k3,3", "a.b", None),
            ("-k1,9", "a.b", Some("a.b")),
            ("-k2,2", "a..c", Some("")),
            ("-k2,2", "a.", None),
            ("-k1.5,1", "abc.def", Some("")),
            ("-n", "12", Some("12")),
        ] {
            let parts = parts(options).unwrap();
            let found = parts[0].of(key.as_bytes(), b".");
            assert_eq!(found, wanted.map(str::as_bytes), "{options} of {key}");
        }
        assert_eq!(first(2)[0].of(b"a||b||c", b"||"), Some(b"a||b".as_slice()));
        assert!(first(0).is_empty() && parts("").unwrap().is_empty());
    }

    #[test]
    fn letters_say_how_parts_are_compared() {
        let of = |options| {
            let parts = parts(options).unwrap();
            parts
                .iter()
                .map(|part| (part.is_number, part.is_reverse))
                .collect::<Vec<_>>()
        };
        assert_eq!(of("-k2,2nr"), [(true, true)]);
        assert_eq!(of("-k1,1 -k2n -r"), [(false, true), (true, false)]);
        assert_eq!(of("-nr"), [(true, true)]);
        for (bad, said) in [
            ("-k0", "\"0\" is no F[.C][nr]"),
            ("-k1,x", "\"x\" is no F[.C][nr]"),
            ("-k1.0", "counts characters from 1"),
            ("-k", "-k wants POS1"),
            ("-k2,2f", "\"2f\" is no"),
            ("-u", "-u is none of"),
        ] {
            let error = parts(bad).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
