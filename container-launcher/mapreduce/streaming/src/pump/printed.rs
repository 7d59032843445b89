//! What a command prints, as records.

use gerbil_mapreduce::Result;

use super::{Listener, PIECE, Terms};
use crate::form::Form;
use crate::typed::{ValueWalk, number};

/// What was read of a command's output, from `begun` on without a whole record.
#[derive(Debug)]
pub(super) struct Printed {
    bytes: Vec<u8>,
    filled: usize,
    /// Bytes of its output that are records.
    begun: u64,
    /// Records.
    pub(super) count: u64,
    /// Of the record that is next, what has been looked at.
    next: Next,
}

/// A key and a value that are not whole yet.
#[derive(Debug, Default)]
struct Next {
    /// Where the key ends, once that is known.
    key: Option<usize>,
    walk: ValueWalk,
}

/// What is found at the front of what was read.
enum FoundRecord {
    /// A record: where its key ends, and where the record does.
    Record(usize, usize),
    More,
    /// What the command has done that makes no record.
    Broken(String),
}

impl Default for Printed {
    fn default() -> Self {
        Self {
            bytes: vec![0; PIECE],
            filled: 0,
            begun: 0,
            count: 0,
            next: Next::default(),
        }
    }
}

impl Printed {
    /// Where more goes.
    pub(super) fn room(&mut self) -> &mut [u8] {
        if self.bytes.len() - self.filled < PIECE / 2 {
            self.bytes.resize(self.bytes.len() * 2, 0);
        }
        self.bytes.get_mut(self.filled..).unwrap_or_default()
    }

    /// So much has come into the room.
    pub(super) const fn came(&mut self, count: usize) {
        self.filled += count;
    }

    /// Hands over the records that are whole; at the end the rest, too. Returns what the command has done that makes none.
    pub(super) fn hand_over(
        &mut self,
        at_end: bool,
        terms: &Terms,
        to: &mut impl Listener,
    ) -> Result<Option<String>> {
        let (whole, broken) = match terms.form {
            Form::Text => self.lines(at_end, terms, to)?,
            Form::Raw | Form::Typed => self.pairs(at_end, terms, to)?,
        };
        self.bytes.copy_within(whole..self.filled, 0);
        self.filled -= whole;
        self.begun += whole as u64;
        Ok(broken)
    }

    /// Lines end with LF, CR LF or CR.
    fn lines(
        &mut self,
        at_end: bool,
        terms: &Terms,
        to: &mut impl Listener,
    ) -> Result<(usize, Option<String>)> {
        let held = self.bytes.get(..self.filled).unwrap_or_default();
        let whole = match at_end {
            true => held.len(),
            false => memchr::memrchr(b'\n', held).map_or(0, |at| at + 1),
        };
        if held.len() - whole > terms.record_max {
            let most = terms.record_max;
            let broken = format!("has printed a line of more than {most} bytes");
            return Ok((0, Some(broken)));
        }
        let mut rest = held.get(..whole).unwrap_or_default();
        let has_returns = memchr::memchr(b'\r', rest).is_some();
        while !rest.is_empty() {
            let end = match has_returns {
                false => memchr::memchr(b'\n', rest),
                true => memchr::memchr2(b'\n', b'\r', rest),
            };
            let end = end.unwrap_or(rest.len());
            let (line, behind) = rest.split_at(end);
            to.line(line)?;
            self.count += 1;
            let ends_twice = behind.starts_with(b"\r\n");
            rest = behind
                .get(1 + usize::from(ends_twice)..)
                .unwrap_or_default();
        }
        Ok((whole, None))
    }

    fn pairs(
        &mut self,
        at_end: bool,
        terms: &Terms,
        to: &mut impl Listener,
    ) -> Result<(usize, Option<String>)> {
        let mut whole = 0;
        loop {
            let held = self.bytes.get(whole..self.filled).unwrap_or_default();
            let begun = self.begun + whole as u64;
            let found = match terms.form {
                Form::Raw => raw(held, begun, terms.record_max),
                _ => self.next.typed(held, begun, terms.record_max),
            };
            match found {
                FoundRecord::Record(key, end) => {
                    let (key, value) = held.get(..end).unwrap_or_default().split_at(key);
                    match terms.form {
                        Form::Raw => to.pair(behind_length(key), behind_length(value))?,
                        _ => to.pair(key, value)?,
                    }
                    self.count += 1;
                    self.next = Next::default();
                    whole += end;
                }
                FoundRecord::Broken(broken) => return Ok((whole, Some(broken))),
                FoundRecord::More if at_end && !held.is_empty() => {
                    let (form, code) = (terms.form.name(), held.first().copied().unwrap_or(0));
                    let of = match terms.form {
                        Form::Typed => format!(" (type code {code})"),
                        _ => String::new(),
                    };
                    let end = begun + held.len() as u64;
                    let broken = format!(
                        "has printed {form} that are broken: its output ends at byte {end}, within the record that begins at \
                         byte {begun}{of}"
                    );
                    return Ok((whole, Some(broken)));
                }
                FoundRecord::More => return Ok((whole, None)),
            }
        }
    }
}

fn behind_length(field: &[u8]) -> &[u8] {
    field.get(4..).unwrap_or_default()
}

/// A length and so many bytes, twice.
fn raw(held: &[u8], begun: u64, longest: usize) -> FoundRecord {
    let mut at = 0;
    let mut ends = [0; 2];
    for end in &mut ends {
        let Some(length) = number(held, at) else {
            return FoundRecord::More;
        };
        if length as usize > longest.saturating_sub(at) {
            let at = begun + at as u64;
            return FoundRecord::Broken(format!(
                "has printed rawbytes that are broken: at byte {at} of its output a length says {length} where a record has \
                 {longest} bytes at most"
            ));
        }
        at += 4 + length as usize;
        *end = at;
    }
    match ends {
        [key, end] if held.len() >= end => FoundRecord::Record(key, end),
        _ => FoundRecord::More,
    }
}

impl Next {
    fn typed(&mut self, held: &[u8], begun: u64, longest: usize) -> FoundRecord {
        loop {
            let from = self.key.unwrap_or(0);
            let rest = held.get(from..).unwrap_or_default();
            let end = match self.walk.end(rest, longest) {
                Ok(Some(end)) => from + end,
                Ok(None) if held.len() > longest => {
                    return FoundRecord::Broken(format!(
                        "has printed typedbytes that are broken: the record that begins at byte {begun} of its output (type \
                         code {}) has more than {longest} bytes",
                        held.first().copied().unwrap_or(0)
                    ));
                }
                Ok(None) => return FoundRecord::More,
                Err(odd) => {
                    let at = begun + (from + odd.at) as u64;
                    return FoundRecord::Broken(format!(
                        "has printed typedbytes that are broken: at byte {at} of its output, type code {}: {}",
                        odd.code, odd.why
                    ));
                }
            };
            if self.key.is_some() {
                return FoundRecord::Record(from, end);
            }
            self.key = Some(end);
            self.walk = ValueWalk::default();
        }
    }
}
