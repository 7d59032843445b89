//! Patterns of names, as Hadoop's `FileSystem.globStatus` reads them (`Globber`, `GlobPattern`, `GlobExpander` of
//! Hadoop 3.4): `*`, `?`, `[a-c]`, `{a,b}`, and a backslash before a letter that is to stand for itself. A letter is a
//! character, whatever number of bytes it has. Pure: both launchers ask their file systems.
//!
//! A class that is not closed is a plain `[`, and a backslash at the very end a plain one, where Hadoop refuses both.

use std::fmt;

/// A pattern that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternError {
    /// A brace is opened and not closed.
    Open(String),
    /// Braces in braces stand for too much.
    TooMany(String),
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(pattern) => write!(
                f,
                "{pattern}: a brace is not closed; write \\{{ for a brace in a name"
            ),
            Self::TooMany(pattern) => write!(
                f,
                "{pattern}: its braces stand for more than {PATTERNS_MAX} names"
            ),
        }
    }
}

impl std::error::Error for PatternError {}

impl PatternError {
    /// The same about the pattern as its user gave it, where a launcher looks for another: without a scheme, or from the root
    /// on.
    #[must_use]
    pub fn of(self, given: &str) -> Self {
        match self {
            Self::Open(_) => Self::Open(given.to_owned()),
            Self::TooMany(_) => Self::TooMany(given.to_owned()),
        }
    }
}

/// Letters that make a name a pattern.
pub(crate) const SPECIAL: [char; 4] = ['*', '?', '[', '{'];

/// Most patterns that braces may make of one.
pub const PATTERNS_MAX: usize = 10_000;

/// The letters of a pattern that no backslash stands before, with their places.
fn plain_letters(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut is_escaped = false;
    text.char_indices().filter(move |(_, letter)| {
        let is_plain = !is_escaped && *letter != '\\';
        is_escaped = !is_escaped && *letter == '\\';
        is_plain
    })
}

/// The parts of a list, empty ones too: it is split at commas outside of braces.
pub(crate) fn split(list: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0_usize, 0);
    for (at, letter) in plain_letters(list) {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(list.get(from..at).unwrap_or_default());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(list.get(from..).unwrap_or_default());
    parts
}

/// Whether `text` is a pattern, and no plain name.
#[must_use]
pub fn is_pattern(text: &str) -> bool {
    plain_letters(text).any(|(_, letter)| SPECIAL.contains(&letter))
}

/// The name that a text stands for which is no pattern: without the backslashes before letters.
#[must_use]
pub fn unescaped(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        name.push(match letter {
            '\\' => letters.next().unwrap_or(letter),
            letter => letter,
        });
    }
    name
}

/// `a{b,c}d` as `abd` and `acd`, in no particular order.
///
/// # Errors
/// As [`PatternError`] tells, of the whole pattern.
pub fn braces(whole: &str) -> Result<Vec<String>, PatternError> {
    let mut open = vec![whole.to_owned()];
    let mut done = Vec::new();
    while let Some(pattern) = open.pop() {
        let outer = outer_braces(&pattern).ok_or_else(|| PatternError::Open(whole.to_owned()))?;
        let Some((from, to)) = outer else {
            done.push(pattern);
            continue;
        };
        let part = |range: std::ops::Range<usize>| pattern.get(range).unwrap_or_default();
        let (before, after) = (part(0..from), part(to + 1..pattern.len()));
        for choice in split(part(from + 1..to)) {
            open.push(format!("{before}{choice}{after}"));
        }
        if open.len() + done.len() > PATTERNS_MAX {
            return Err(PatternError::TooMany(whole.to_owned()));
        }
    }
    Ok(done)
}

/// Where the first brace of a pattern is opened and closed, if it has one. `None`: it is not closed.
fn outer_braces(pattern: &str) -> Option<Option<(usize, usize)>> {
    let mut begun = None;
    let mut depth = 0_usize;
    for (at, letter) in plain_letters(pattern) {
        match (letter, begun) {
            ('{', _) => {
                begun.get_or_insert(at);
                depth += 1;
            }
            ('}', Some(from)) => {
                depth -= 1;
                if depth == 0 {
                    return Some(Some((from, at)));
                }
            }
            _ => {}
        }
    }
    match begun {
        None => Some(None),
        Some(_) => None,
    }
}

/// Whether `name` is what `pattern` with `*`, `?`, `[a-c]` and `[^a]` describes.
#[must_use]
pub fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    // Where to go on when a star must take one letter more.
    let mut star: Option<(usize, usize)> = None;
    while let Some(letter) = name.get(n) {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, n));
            p += 1;
            continue;
        }
        match (next(&pattern, p, *letter), star) {
            (Some(after), _) => {
                p = after;
                n += 1;
            }
            (None, Some((at, taken))) => {
                star = Some((at, taken + 1));
                p = at + 1;
                n = taken + 1;
            }
            (None, None) => return false,
        }
    }
    pattern.iter().skip(p).all(|letter| *letter == '*')
}

/// What follows in the pattern, if what stands at `at` describes `letter`; it is no star.
fn next(pattern: &[char], at: usize, letter: char) -> Option<usize> {
    match (*pattern.get(at)?, pattern.get(at + 1)) {
        ('?', _) => Some(at + 1),
        ('[', _) => match class(pattern, at, letter) {
            Some((is_inside, after)) => is_inside.then_some(after),
            None => (letter == '[').then_some(at + 1),
        },
        ('\\', Some(escaped)) => (*escaped == letter).then_some(at + 2),
        (plain, _) => (plain == letter).then_some(at + 1),
    }
}

/// Whether `letter` is in the class that begins at `at`, and what follows it; none if it is not closed.
fn class(pattern: &[char], at: usize, letter: char) -> Option<(bool, usize)> {
    let mut next = at + 1;
    let is_negated = matches!(pattern.get(next), Some('^' | '!'));
    next += usize::from(is_negated);
    let (first, mut is_inside) = (next, false);
    loop {
        if *pattern.get(next)? == ']' && next > first {
            return Some((is_inside != is_negated, next + 1));
        }
        let (from, after) = class_letter(pattern, next)?;
        next = after;
        let ends = pattern.get(next) == Some(&'-') && pattern.get(next + 1) != Some(&']');
        let (to, after) = match ends {
            true => class_letter(pattern, next + 1)?,
            false => (from, next),
        };
        next = after;
        is_inside |= (from..=to).contains(&letter);
    }
}

/// A letter of a class, and what follows it.
fn class_letter(pattern: &[char], at: usize) -> Option<(char, usize)> {
    match (*pattern.get(at)?, pattern.get(at + 1)) {
        ('\\', Some(escaped)) => Some((*escaped, at + 2)),
        (letter, _) => Some((letter, at + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::{PatternError, braces, is_pattern, matches, unescaped};

    /// As Hadoop 3.4 finds each name by each pattern.
    #[test]
    fn patterns_find_what_hadoop_finds() {
        for (pattern, name, expected) in [
            ("*.txt", "a.txt", true),
            ("*.txt", "a.txt.gz", false),
            ("p?rt-[0-3]*", "part-2x", true),
            ("p?rt-[0-3]*", "part-4x", false),
            ("[^a]b", "ab", false),
            ("[^a]b", "cb", true),
            ("[!a]b", "ab", false),
            ("[!a]b", "!b", true),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b", "xxaxxbxx", false),
            // A letter is a character.
            ("?n?.txt", "ünï.txt", true),
            ("??n?.txt", "ünï.txt", false),
            ("[ä-ü]x", "öx", true),
            ("[ä-ü]x", "ax", false),
            ("[ä-ü]x", "日x", false),
            ("[^ä]x", "öx", true),
            ("[äö]", "ö", true),
            ("日?", "日本", true),
            ("?", "𝄞", true),
            ("*ï*", "ünï.txt", true),
            // What a backslash stands before is itself.
            (r"\*", "*", true),
            (r"\*", "a", false),
            (r"b\{r\}ace.*", "b{r}ace.txt", true),
            (r"a\,b*", "a,bc", true),
            (r"[\]]x", "]x", true),
            (r"[a\-c]", "b", false),
            (r"[a\-c]", "-", true),
            (r"\\*", r"\x", true),
            ("a}*", "a}b", true),
            ("[", "[", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn braces_stand_for_each_of_their_parts() {
        for (pattern, expected) in [
            ("x{a,b{1,2}}", &["xa", "xb1", "xb2"][..]),
            ("part{,-x}", &["part", "part-x"]),
            ("a{}b", &["ab"]),
            (r"b\{r\}ace", &[r"b\{r\}ace"]),
            (r"{a\,b,c}", &[r"a\,b", "c"]),
            (r"{\{,\}}", &[r"\{", r"\}"]),
            ("}{a/b,c}", &["}a/b", "}c"]),
            ("{ä,ö}/日", &["ä/日", "ö/日"]),
        ] {
            let mut all = braces(pattern).unwrap();
            all.sort();
            assert_eq!(all, expected, "{pattern}");
        }
        // What is refused is said of what was given, and not of what became of it.
        for open in ["x{a,b", r"x{a,b\}", "{a,b}/{c", "{{a,b},c{d"] {
            assert_eq!(braces(open), Err(PatternError::Open(open.to_owned())));
        }
        let many = "{a,b}".repeat(14);
        assert_eq!(braces(&many), Err(PatternError::TooMany(many.clone())));
        let said = PatternError::Open("/home/x{a".to_owned()).of("x{a");
        assert_eq!(said, PatternError::Open("x{a".to_owned()));
    }

    #[test]
    fn a_text_is_a_pattern_by_its_letters_without_a_backslash() {
        for (text, expected) in [
            ("plain", None),
            ("a,b}]", None),
            (r"a\*b", Some("a*b")),
            (r"b\{r\}ace", Some("b{r}ace")),
            (r"m\,n", Some("m,n")),
            (r"\\", Some(r"\")),
            (r"end\", Some(r"end\")),
        ] {
            assert!(!is_pattern(text), "{text}");
            assert_eq!(unescaped(text), expected.unwrap_or(text));
        }
        for text in ["*", "a?", "[", "{", r"\\*", r"\?*"] {
            assert!(is_pattern(text), "{text}");
        }
    }
}
