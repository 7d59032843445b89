//! Which files inputs name, as Hadoop's `FileInputFormat` reads them: lists with commas, and patterns of `*`, `?`,
//! `[a-c]` and `{a,b}`. Pure: whoever has a file system asks it.

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
            Self::Open(pattern) => write!(f, "{pattern}: a brace is not closed"),
            Self::TooMany(pattern) => write!(
                f,
                "{pattern}: its braces stand for more than {PATTERNS_MAX} names"
            ),
        }
    }
}

impl std::error::Error for PatternError {}

/// Whether a file of this name is none that a folder or a pattern stands for: it begins with `_` or `.`.
#[must_use]
pub fn is_hidden(name: &str) -> bool {
    name.starts_with(['_', '.'])
}

/// Parts at commas outside of braces.
#[must_use]
pub fn commas(list: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0_usize, 0);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(list.get(from..at).unwrap_or_default());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(list.get(from..).unwrap_or_default());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Whether `text` is a pattern, and no plain name.
#[must_use]
pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// Most patterns that braces may make of one.
pub const PATTERNS_MAX: usize = 10_000;

/// `a{b,c}d` as `abd` and `acd`, in no particular order.
///
/// # Errors
/// As [`PatternError`] tells.
pub fn braces(pattern: &str) -> Result<Vec<String>, PatternError> {
    let mut open = vec![pattern.to_owned()];
    let mut done = Vec::new();
    while let Some(pattern) = open.pop() {
        let Some(from) = pattern.find('{') else {
            done.push(pattern);
            continue;
        };
        let mut depth = 0_usize;
        let inside = pattern.get(from..).unwrap_or_default();
        let to = inside.bytes().position(|byte| {
            match byte {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        let Some(to) = to.map(|to| from + to) else {
            return Err(PatternError::Open(pattern));
        };
        let (before, choices, after) =
            (&pattern[..from], &pattern[from + 1..to], &pattern[to + 1..]);
        let mut any = false;
        for choice in commas(choices) {
            any = true;
            open.push(format!("{before}{choice}{after}"));
        }
        if !any {
            open.push(format!("{before}{after}"));
        }
        if open.len() + done.len() > PATTERNS_MAX {
            return Err(PatternError::TooMany(pattern));
        }
    }
    Ok(done)
}

/// Whether `name` is what `pattern` with `*`, `?`, `[a-c]` and `[^a]` describes.
#[must_use]
pub fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    // Where to go on when a star must take one byte more.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
                continue;
            }
            Some(b'?') => {
                p += 1;
                n += 1;
                continue;
            }
            Some(b'[') => {
                if let Some((inside, next)) = class(pattern, p, name[n]) {
                    if inside {
                        p = next;
                        n += 1;
                        continue;
                    }
                } else if name[n] == b'[' {
                    p += 1;
                    n += 1;
                    continue;
                }
            }
            Some(b'\\') if pattern.get(p + 1) == Some(&name[n]) => {
                p += 2;
                n += 1;
                continue;
            }
            Some(byte) if *byte == name[n] => {
                p += 1;
                n += 1;
                continue;
            }
            _ => {}
        }
        match star {
            Some((at, taken)) => {
                star = Some((at, taken + 1));
                p = at + 1;
                n = taken + 1;
            }
            None => return false,
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// Whether `byte` is in the class that begins at `at`, and what follows it; none if it is not closed.
fn class(pattern: &[u8], at: usize, byte: u8) -> Option<(bool, usize)> {
    let mut next = at + 1;
    let negated = matches!(pattern.get(next), Some(b'^' | b'!'));
    next += usize::from(negated);
    let (first, mut inside) = (next, false);
    loop {
        let from = *pattern.get(next)?;
        if from == b']' && next > first {
            return Some((inside != negated, next + 1));
        }
        if pattern.get(next + 1) == Some(&b'-')
            && pattern.get(next + 2).is_some_and(|to| *to != b']')
        {
            inside |= (from..=pattern[next + 2]).contains(&byte);
            next += 3;
        } else {
            inside |= from == byte;
            next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PatternError, braces, commas, matches};

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("*.txt", "a.txt", true),
            ("*.txt", "a.txt.gz", false),
            ("p?rt-[0-3]*", "part-2x", true),
            ("p?rt-[0-3]*", "part-4x", false),
            ("[^a]b", "ab", false),
            ("[^a]b", "cb", true),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b", "xxaxxbxx", false),
            ("\\*", "*", true),
            ("[", "[", true),
        ] {
            assert_eq!(
                matches(pattern.as_bytes(), name.as_bytes()),
                expected,
                "{pattern} {name}"
            );
        }
    }

    #[test]
    fn lists_and_braces() {
        assert_eq!(commas("a,{b,c}d,,e"), ["a", "{b,c}d", "e"]);
        let mut all = braces("x{a,b{1,2}}").unwrap();
        all.sort();
        assert_eq!(all, ["xa", "xb1", "xb2"]);
        assert!(matches!(braces("x{a,b"), Err(PatternError::Open(_))));
        let many = "{a,b}".repeat(14);
        assert!(matches!(braces(&many), Err(PatternError::TooMany(_))));
    }
}
