//! A line that is a document.

use std::fmt;

/// What stands where a class is not known.
const UNKNOWN: &str = "-";

/// How many classes and terms there are.
#[derive(Clone, Copy, Default)]
pub struct Kinds {
    pub classes: u32,
    pub terms: u32,
}

/// Why a line is no document.
#[derive(Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is not `number TAB class TAB terms`.
    Fields(usize),
    /// The number of the document.
    Number(String),
    /// It is no number, and not `-`.
    Class(String),
    /// There are so many classes.
    NoClass(u32, u32),
    /// The term at this place, from 1, is no number.
    Term(usize, String),
    /// The term at this place, from 1; there are so many.
    NoTerm(usize, u32, u32),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fields(found) => write!(
                f,
                "{found} fields between tabs, not 3: number, class or -, terms"
            ),
            Self::Number(found) => {
                write!(
                    f,
                    "document {found:?}: its number is not from 0 to {}",
                    u32::MAX
                )
            }
            Self::Class(found) => write!(f, "class {found:?} is no number, and not -"),
            Self::NoClass(class, all) => write!(
                f,
                "class {class}, and there are --classes {all}, of which the first is 0"
            ),
            Self::Term(at, found) => write!(f, "term {at}, {found:?}, is no number"),
            Self::NoTerm(at, term, all) => write!(
                f,
                "term {at} is {term}, and there are --terms {all}, of which the first is 0"
            ),
        }
    }
}

/// Reads a line: the document's number and class; its terms go into `into`, which is as it was where there is a reason.
pub fn read(line: &[u8], kinds: Kinds, into: &mut Vec<u32>) -> Result<(u32, Option<u32>), Reason> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b'\t').collect();
    let [number, class, terms] = fields[..] else {
        return Err(Reason::Fields(fields.len()));
    };
    let number = decimal(number).ok_or_else(|| Reason::Number(shown(number)))?;
    let class = match class == UNKNOWN.as_bytes() {
        true => None,
        false => Some(decimal(class).ok_or_else(|| Reason::Class(shown(class)))?),
    };
    if let Some(class) = class.filter(|class| *class >= kinds.classes) {
        return Err(Reason::NoClass(class, kinds.classes));
    }
    let before = into.len();
    let words = terms.split(|byte| *byte == b' ');
    for (at, word) in (1..).zip(words.filter(|word| !word.is_empty())) {
        let term = decimal(word).ok_or_else(|| Reason::Term(at, shown(word)));
        let term = term.and_then(|term| match term < kinds.terms {
            true => Ok(term),
            false => Err(Reason::NoTerm(at, term, kinds.terms)),
        });
        match term {
            Ok(term) => into.push(term),
            Err(reason) => {
                into.truncate(before);
                return Err(reason);
            }
        }
    }
    Ok((number, class))
}

fn decimal(digits: &[u8]) -> Option<u32> {
    let first = digits.first()?;
    if !first.is_ascii_digit() {
        return None;
    }
    digits.iter().try_fold(0_u32, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u32::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

fn shown(bytes: &[u8]) -> String {
    let bytes = bytes.get(..40).unwrap_or(bytes);
    String::from_utf8_lossy(bytes).into_owned()
}
