//! What Hadoop's text output shows of raw bytes and typed bytes: what their `toString` says.

use std::cmp::Ordering;
use std::io::Write as _;

use gerbil_mapreduce::{Bytes, Error, Result, Value};

use crate::form::Form;
use crate::typed::{self, CodeShape, number};

/// Appends what stands in a part file for a key or a value that a command printed in this `form`.
pub(crate) fn show(form: Form, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    match form {
        Form::Text => {
            out.extend_from_slice(bytes);
            Ok(())
        }
        Form::Raw => Bytes::text(bytes, out),
        Form::Typed => {
            let mut rest = bytes;
            value(&mut rest, out)?;
            Ok(())
        }
    }
}

/// A value as a map's keys are compared.
#[derive(Debug)]
enum Rank {
    /// With the code of its type.
    Number(u8, i64),
    Float(u8, f64),
    Text(Vec<u16>),
    Bytes(Vec<u8>),
    /// Java compares none of its kind.
    None,
}

impl Rank {
    fn compare(&self, other: &Self) -> Option<Ordering> {
        let nan = |float: f64| {
            if float.is_nan() {
                f64::NAN.copysign(1.0)
            } else {
                float
            }
        };
        Some(match (self, other) {
            (Self::Number(of, one), Self::Number(like, two)) if of == like => one.cmp(two),
            (Self::Float(of, one), Self::Float(like, two)) if of == like => {
                nan(*one).total_cmp(&nan(*two))
            }
            (Self::Text(one), Self::Text(two)) => one.cmp(two),
            (Self::Bytes(one), Self::Bytes(two)) => one.cmp(two),
            _ => return None,
        })
    }
}

/// Appends the value that is in front, and goes behind it.
fn value(bytes: &mut &[u8], out: &mut Vec<u8>) -> Result<Rank> {
    let cut = || Error::new("typed bytes are cut off");
    let (code, rest) = bytes.split_first().ok_or_else(cut)?;
    let (fixed, rest) = match CodeShape::of(*code) {
        Some(CodeShape::Fixed(size)) => rest.split_at_checked(size).ok_or_else(cut)?,
        Some(CodeShape::Counted | CodeShape::Values(_)) => {
            let length = number(rest, 0).ok_or_else(cut)?;
            let behind = rest.get(4..).unwrap_or_default();
            *bytes = behind;
            match *code {
                typed::VECTOR => return values(bytes, Some(length), out),
                typed::MAP => return map(bytes, length, out),
                _ => behind.split_at_checked(length as usize).ok_or_else(cut)?,
            }
        }
        Some(CodeShape::List) => {
            *bytes = rest;
            return values(bytes, None, out);
        }
        Some(CodeShape::Marker) | None => {
            return Err(Error::new(format!("{code} is no code of typed bytes")));
        }
    };
    *bytes = rest;
    Ok(match (*code, fixed) {
        (typed::BOOL, [truth]) => {
            said::<bool>(&[u8::from(*truth != 0)], out)?;
            Rank::Number(*code, i64::from(*truth != 0))
        }
        (typed::BYTE, _) => whole::<i8>(*code, fixed, out)?,
        (typed::INT, _) => whole::<i32>(*code, fixed, out)?,
        (typed::LONG, _) => whole::<i64>(*code, fixed, out)?,
        (typed::FLOAT, _) => {
            said::<f32>(fixed, out)?;
            let bytes = fixed.first_chunk().ok_or_else(cut)?;
            Rank::Float(*code, f64::from(f32::from_be_bytes(*bytes)))
        }
        (typed::DOUBLE, _) => {
            said::<f64>(fixed, out)?;
            let bytes = fixed.first_chunk().ok_or_else(cut)?;
            Rank::Float(*code, f64::from_be_bytes(*bytes))
        }
        (typed::STRING, _) => {
            let text = String::from_utf8_lossy(fixed);
            out.extend_from_slice(text.as_bytes());
            Rank::Text(text.encode_utf16().collect())
        }
        _ => {
            for byte in fixed {
                write!(out, "{byte:02x}")?;
            }
            Rank::Bytes(fixed.to_vec())
        }
    })
}

/// What `toString` says of a Writable that holds the same as `T`, which is as many bytes as in typed bytes.
fn said<T: Value>(wire: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let mut stored = Vec::new();
    T::from_writable(wire, &mut stored)?;
    T::text(&stored, out)
}

fn whole<T: Value>(code: u8, wire: &[u8], out: &mut Vec<u8>) -> Result<Rank> {
    let from = out.len();
    said::<T>(wire, out)?;
    let text = std::str::from_utf8(out.get(from..).unwrap_or_default())?;
    Ok(Rank::Number(code, text.parse()?))
}

/// So many values, or those up to the end of a list.
fn values(bytes: &mut &[u8], count: Option<u32>, out: &mut Vec<u8>) -> Result<Rank> {
    out.push(b'[');
    let mut shown = 0;
    loop {
        match count {
            Some(count) if shown == count => break,
            None if bytes.first() == Some(&typed::MARKER) => {
                *bytes = bytes.get(1..).unwrap_or_default();
                break;
            }
            _ => {}
        }
        if shown > 0 {
            out.extend_from_slice(b", ");
        }
        value(bytes, out)?;
        shown += 1;
    }
    out.push(b']');
    Ok(Rank::None)
}

/// In the order of its keys; of those that are equal, the last one's value.
fn map(bytes: &mut &[u8], count: u32, out: &mut Vec<u8>) -> Result<Rank> {
    let mut entries = Vec::new();
    for _ in 0..count {
        let (mut key, mut its) = (Vec::new(), Vec::new());
        let rank = value(bytes, &mut key)?;
        value(bytes, &mut its)?;
        entries.push((rank, key, its));
    }
    let first = entries.first().map(|(rank, ..)| rank);
    let comparable = first.is_none_or(|first| {
        let mut all = entries.iter();
        all.all(|(rank, ..)| first.compare(rank).is_some())
    });
    if !comparable {
        return Err(Error::new(
            "the keys of a map in typed bytes are of different types, or are lists or maps: they have no order, and a part \
             file shows none",
        ));
    }
    entries.sort_by(|(one, ..), (two, ..)| one.compare(two).unwrap_or(Ordering::Equal));
    out.push(b'{');
    let mut shown = entries.iter().peekable();
    let mut is_first = true;
    while let Some((rank, key, its)) = shown.next() {
        if shown
            .peek()
            .is_some_and(|(next, ..)| rank.compare(next) == Some(Ordering::Equal))
        {
            continue;
        }
        if !std::mem::take(&mut is_first) {
            out.extend_from_slice(b", ");
        }
        out.extend_from_slice(key);
        out.push(b'=');
        out.extend_from_slice(its);
    }
    out.push(b'}');
    Ok(Rank::None)
}

#[cfg(test)]
mod tests {
    use super::{Form, show};

    fn shown(form: Form, bytes: &[u8]) -> Result<String, String> {
        let mut out = Vec::new();
        show(form, bytes, &mut out).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn typed_bytes_are_shown_as_java_says_them() {
        let cases: [(&[u8], &str); 11] = [
            (b"\0\0\0\0\x02a\xFF", "61ff"),
            (b"\x01\xFF", "-1"),
            (b"\x02\x07", "true"),
            (b"\x03\xFF\xFF\xFF\xFE", "-2"),
            (b"\x05\x3D\xCC\xCC\xCD", "0.1"),
            (b"\x06\x41\x63\x12\xD0\0\0\0\0", "1.0E7"),
            (b"\x07\0\0\0\x03a\xFFb", "a\u{FFFD}b"),
            (b"\x08\0\0\0\x02\x01\x05\x09\x01\x06\x01\x07\xFF", "[5, [6, 7]]"),
            (b"\x09\xFF", "[]"),
            (
                b"\x0A\0\0\0\x03\x07\0\0\0\x01b\x01\x01\x07\0\0\0\x01a\x01\x02\x07\0\0\0\x01b\x01\x03",
                "{a=2, b=3}",
            ),
            (b"\x32\0\0\0\x01a", "61"),
        ];
        for (bytes, text) in cases {
            assert_eq!(shown(Form::Typed, bytes), Ok(text.to_owned()));
        }
        let mixed = shown(
            Form::Typed,
            b"\x0A\0\0\0\x02\x01\x01\x01\x01\x03\0\0\0\x01\x01\x01",
        );
        assert!(mixed.unwrap_err().contains("have no order"));
        assert_eq!(shown(Form::Raw, b"a\xFF"), Ok("61 ff".to_owned()));
    }
}
