//! Lines of numbers become packed vectors.

use super::decimal;
use crate::fixed::q22_of_unit;
use std::fmt;

/// A line that is no vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// The file, as the caller names it.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// What is wrong.
    pub reason: Reason,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It has so many numbers, not so many.
    Count {
        /// How many it has.
        found: usize,
        /// How many a vector has.
        wanted: usize,
    },
    /// The element at this place, from 1, is no number.
    NotANumber {
        /// The place.
        at: usize,
        /// What stands there.
        found: String,
    },
    /// The element at this place, from 1, is NaN or infinite.
    NotFinite {
        /// The place.
        at: usize,
    },
    /// All its elements are zero: it has no direction.
    Zero,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}: {}", self.file, self.line, self.reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { found, wanted } => write!(f, "{found} numbers, not {wanted}"),
            Self::NotANumber { at, found } => write!(f, "element {at}, {found:?}, is no number"),
            Self::NotFinite { at } => write!(f, "element {at} is not finite"),
            Self::Zero => f.write_str("a vector of zeros has no direction"),
        }
    }
}

impl std::error::Error for ParseError {}

/// Reads lines of `dimension` numbers, one vector each.
#[derive(Debug)]
pub struct Parser {
    file: String,
    line: u64,
    floats: Vec<f32>,
}

impl Parser {
    /// For vectors of so many elements, from a file of this name.
    pub fn new(file: &str, dimension: usize) -> Self {
        Self {
            file: file.to_owned(),
            line: 0,
            floats: vec![0.0; dimension],
        }
    }

    /// Reads the next line and appends its vector, of length 1, in Q1.22.
    ///
    /// # Errors
    ///
    /// The line is no vector; nothing is appended, and the next line may be read.
    pub fn line(&mut self, line: &[u8], into: &mut Vec<i32>) -> Result<(), ParseError> {
        self.line += 1;
        parse_line(line, &mut self.floats)
            .and_then(|()| normalise(&self.floats, into))
            .map_err(|reason| ParseError {
                file: self.file.clone(),
                line: self.line,
                reason,
            })
    }
}

/// Reads the numbers of a line, which are separated by spaces, tabs or commas.
///
/// # Errors
///
/// There are more or fewer than `floats` has room for, or one is none.
pub fn parse_line(line: &[u8], floats: &mut [f32]) -> Result<(), Reason> {
    let mut rest = skip(line);
    let wanted = floats.len();
    for (at, float) in floats.iter_mut().enumerate() {
        if rest.is_empty() {
            return Err(Reason::Count { found: at, wanted });
        }
        let (value, length) = match decimal::short(rest) {
            Some(short) => short,
            None => fast_float2::parse_partial(rest).map_err(|_none| not_a_number(rest, at))?,
        };
        if !value.is_finite() {
            return Err(Reason::NotFinite { at: at + 1 });
        }
        *float = value;
        let after = &rest[length..];
        rest = skip(after);
        if rest.len() == after.len() && !rest.is_empty() {
            return Err(not_a_number(rest, at));
        }
    }
    if rest.is_empty() {
        return Ok(());
    }
    let more = rest
        .split(|&byte| separates(byte))
        .filter(|word| !word.is_empty())
        .count();
    Err(Reason::Count {
        found: wanted + more,
        wanted,
    })
}

fn separates(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b',' | b'\r' | b'\n')
}

fn skip(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    while let [first, after @ ..] = rest
        && separates(*first)
    {
        rest = after;
    }
    rest
}

fn not_a_number(rest: &[u8], at: usize) -> Reason {
    let word = rest.split(|&byte| separates(byte)).next().unwrap_or(rest);
    let word = &word[..word.len().min(32)];
    Reason::NotANumber {
        at: at + 1,
        found: String::from_utf8_lossy(word).into_owned(),
    }
}

/// Appends a vector's direction, in Q1.22.
///
/// # Errors
///
/// It has none.
pub fn normalise(floats: &[f32], into: &mut Vec<i32>) -> Result<(), Reason> {
    // Eight sums, always added up in the same order: the same bits on every machine.
    let mut squares = [0.0f64; 8];
    for eight in floats.chunks(8) {
        for (sum, &value) in squares.iter_mut().zip(eight) {
            *sum += f64::from(value) * f64::from(value);
        }
    }
    let length = squares.iter().sum::<f64>().sqrt();
    if length <= 0.0 {
        return Err(Reason::Zero);
    }
    let scale = length.recip();
    into.extend(
        floats
            .iter()
            .map(|&value| q22_of_unit(f64::from(value) * scale)),
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Vec<i32>, String> {
        let mut parser = Parser::new("points.txt", 3);
        parser.line = 6;
        let mut vectors = Vec::new();
        parser
            .line(line.as_bytes(), &mut vectors)
            .map(|()| vectors)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn lines_become_directions() {
        let one = 1 << 22;
        assert_eq!(read("0 2.5 0\n"), Ok(vec![0, one, 0]));
        assert_eq!(
            read("  3,0,\t4e0\r\n"),
            Ok(vec![one / 5 * 3 + 2, 0, one / 5 * 4 + 3])
        );
        assert_eq!(read("-1e-30 0 0"), Ok(vec![-one, 0, 0]));
    }

    #[test]
    fn what_is_no_vector_is_said_with_its_place() {
        let cases = [
            ("1 2", "points.txt, line 7: 2 numbers, not 3"),
            ("1 2 3 4 5", "points.txt, line 7: 5 numbers, not 3"),
            (
                "1 x 3",
                "points.txt, line 7: element 2, \"x\", is no number",
            ),
            (
                "1 2x 3",
                "points.txt, line 7: element 2, \"x\", is no number",
            ),
            ("1 NaN 3", "points.txt, line 7: element 2 is not finite"),
            ("1 2 1e99", "points.txt, line 7: element 3 is not finite"),
            (
                "0 0 0",
                "points.txt, line 7: a vector of zeros has no direction",
            ),
            ("", "points.txt, line 7: 0 numbers, not 3"),
        ];
        for (line, said) in cases {
            assert_eq!(read(line), Err(said.to_owned()));
        }
    }
}
