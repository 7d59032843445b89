//! Typed bytes: a code for a type, and what follows from that.
//!
//! ```text
//!  0 length bytes        1 byte     2 truth      3 int: 4 bytes     4 long: 8 bytes     5 float: 4 bytes
//!  6 double: 8 bytes     7 length UTF-8          8 count, values: a vector              9 values, 255: a list
//!  10 count, keys with their values: a map       50 to 200 length bytes: an application's
//! ```
//!
//! Lengths and counts have four bytes; all is big-endian.

pub(crate) const BYTES: u8 = 0;
pub(crate) const BYTE: u8 = 1;
pub(crate) const BOOL: u8 = 2;
pub(crate) const INT: u8 = 3;
pub(crate) const LONG: u8 = 4;
pub(crate) const FLOAT: u8 = 5;
pub(crate) const DOUBLE: u8 = 6;
pub(crate) const STRING: u8 = 7;
pub(crate) const VECTOR: u8 = 8;
pub(crate) const LIST: u8 = 9;
pub(crate) const MAP: u8 = 10;
/// A Writable with the name of its class.
pub(crate) const WRITABLE: u8 = 50;
/// The last code of an application's.
pub(crate) const OWN_LAST: u8 = 200;
/// The end of a list.
pub(crate) const MARKER: u8 = 255;
/// How deep values may lie in others.
pub(crate) const DEPTH_MAX: usize = 500;

/// What begins with a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodeShape {
    /// So many bytes follow the code.
    Fixed(usize),
    /// A length, and that many bytes.
    Counted,
    /// A number of values, times so many.
    Values(u64),
    List,
    Marker,
}

impl CodeShape {
    /// By its code; none: there is no such type.
    pub(crate) const fn of(code: u8) -> Option<Self> {
        Some(match code {
            BYTE | BOOL => Self::Fixed(1),
            INT | FLOAT => Self::Fixed(4),
            LONG | DOUBLE => Self::Fixed(8),
            BYTES | STRING | WRITABLE..=OWN_LAST => Self::Counted,
            VECTOR => Self::Values(1),
            MAP => Self::Values(2),
            LIST => Self::List,
            MARKER => Self::Marker,
            _ => return None,
        })
    }
}

/// What a value that is not whole yet waits for.
#[derive(Clone, Copy, Debug)]
enum Open {
    Values(u64),
    Marker,
}

/// Finds where a value ends, of which more and more bytes come: none is looked at twice.
#[derive(Debug, Default)]
pub(crate) struct ValueWalk {
    /// Bytes that have been looked at.
    at: usize,
    open: Vec<Open>,
}

/// Why bytes are no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Odd {
    /// The byte of the code at fault, from the first one of the value.
    pub(crate) at: usize,
    pub(crate) code: u8,
    pub(crate) why: String,
}

impl ValueWalk {
    /// How many of these `bytes`, with which the value begins, belong to it; none: more is needed. Those that were there
    /// the last time have to be the same. No value has more than `longest` bytes.
    pub(crate) fn end(&mut self, bytes: &[u8], longest: usize) -> Result<Option<usize>, Odd> {
        while let Some(code) = bytes.get(self.at).copied() {
            let odd = |at, why: String| Odd { at, code, why };
            let Some(shape) = CodeShape::of(code) else {
                return Err(odd(self.at, "there is no such type".to_owned()));
            };
            let count = || number(bytes, self.at + 1);
            let mut opens = None;
            let size = match shape {
                CodeShape::Fixed(size) => 1 + size,
                CodeShape::Counted | CodeShape::Values(_) => {
                    let Some(count) = count() else {
                        return Ok(None);
                    };
                    // Each value within has a byte at the least.
                    let needed = match shape {
                        CodeShape::Values(times) => u64::from(count) * times,
                        _ => u64::from(count),
                    };
                    let size = usize::try_from(needed).unwrap_or(usize::MAX);
                    if size > longest.saturating_sub(self.at) {
                        let why =
                            format!("it says {count} where a record has {longest} bytes at most");
                        return Err(odd(self.at, why));
                    }
                    match shape {
                        CodeShape::Values(_) => {
                            opens = Some(Open::Values(needed));
                            5
                        }
                        _ => 5 + size,
                    }
                }
                CodeShape::List => {
                    opens = Some(Open::Marker);
                    1
                }
                CodeShape::Marker => 1,
            };
            if bytes.len() - self.at < size {
                return Ok(None);
            }
            match (opens, self.open.last()) {
                (Some(_), _) if self.open.len() == DEPTH_MAX => {
                    return Err(odd(
                        self.at,
                        format!("more than {DEPTH_MAX} values lie in one another"),
                    ));
                }
                (Some(Open::Values(0)) | None, _) if shape != CodeShape::Marker => self.closes(),
                (Some(open), _) => self.open.push(open),
                (None, Some(Open::Marker)) => {
                    self.open.pop();
                    self.closes();
                }
                (None, _) => {
                    return Err(odd(self.at, "no list ends here".to_owned()));
                }
            }
            self.at += size;
            if self.open.is_empty() {
                return Ok(Some(self.at));
            }
        }
        Ok(None)
    }

    /// A value is whole, and perhaps what it lies in.
    fn closes(&mut self) {
        while let Some(Open::Values(left)) = self.open.last_mut() {
            *left -= 1;
            if *left > 0 {
                break;
            }
            self.open.pop();
        }
    }
}

/// The four bytes of a length.
pub(crate) fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let found = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*found))
}

#[cfg(test)]
mod tests {
    use super::{Odd, ValueWalk};

    /// However its bytes come.
    fn end(bytes: &[u8]) -> Result<Option<usize>, Odd> {
        let whole = ValueWalk::default().end(bytes, 1000);
        let mut walk = ValueWalk::default();
        let mut pieces = (0..=bytes.len()).map(|length| walk.end(&bytes[..length], 1000));
        let found = pieces.find(|found| *found != Ok(None));
        assert_eq!(found.unwrap_or(Ok(None)), whole);
        whole
    }

    #[test]
    fn a_value_ends_where_its_type_says() {
        let cases: [(&[u8], usize); 11] = [
            (b"\0\0\0\0\x02ab", 7),
            (b"\x01\x05", 2),
            (b"\x02\x01", 2),
            (b"\x03\0\0\0\x05", 5),
            (b"\x06\0\0\0\0\0\0\0\0", 9),
            (b"\x07\0\0\0\0", 5),
            (b"\x08\0\0\0\x02\x01\x05\x09\xFF", 9),
            (b"\x08\0\0\0\0", 5),
            (b"\x09\x09\x01\x05\xFF\x0A\0\0\0\0\xFF", 11),
            (b"\x0A\0\0\0\x01\x01\x01\x07\0\0\0\x01a", 13),
            (b"\xC8\0\0\0\x01a", 6),
        ];
        for (bytes, length) in cases {
            let more = [bytes, b"\x01\x01"].concat();
            assert_eq!(end(&more), Ok(Some(length)), "{bytes:?}");
            let fewer = bytes.get(..bytes.len() - 1).unwrap();
            assert_eq!(end(fewer), Ok(None), "{bytes:?}");
        }
    }

    #[test]
    fn what_is_no_value_is_named_with_its_code() {
        let cases: [(&[u8], usize, u8, &str); 5] = [
            (b"\x0B", 0, 11, "there is no such type"),
            (b"\x09\x01\x01\xC9", 3, 201, "there is no such type"),
            (b"\xFF", 0, 255, "no list ends here"),
            (b"\x08\0\0\0\x01\xFF", 5, 255, "no list ends here"),
            (
                b"\x07\xB2\xD0\x5E\0",
                0,
                7,
                "it says 3000000000 where a record has 1000 bytes at most",
            ),
        ];
        for (bytes, at, code, why) in cases {
            let why = why.to_owned();
            assert_eq!(end(bytes), Err(Odd { at, code, why }), "{bytes:?}");
        }
        let deep = vec![9; 600];
        assert_eq!(ValueWalk::default().end(&deep, 1000).unwrap_err().at, 500);
    }
}
