//! How Hadoop's Writables write lengths, text and bytes (`WritableUtils`, `Text`, `BytesWritable`).

use super::malformed;
use crate::error::Result;

/// Appends a number as `WritableUtils.writeVLong` does: one byte from -112 to 127, otherwise a byte that
/// tells sign and length, and the number big-endian.
pub(crate) fn write_long(number: i64, out: &mut Vec<u8>) {
    if let Ok(small @ -112..=127) = i8::try_from(number) {
        out.push(small.cast_unsigned());
        return;
    }
    let (base, magnitude) = if number < 0 {
        (-120_i8, !number)
    } else {
        (-112, number)
    };
    let bytes = magnitude.to_be_bytes();
    let skipped = bytes.iter().take_while(|byte| **byte == 0).count();
    let digits = bytes.get(skipped..).unwrap_or_default();
    let length = i8::try_from(digits.len()).unwrap_or(8);
    out.push((base - length).cast_unsigned());
    out.extend_from_slice(digits);
}

/// Takes such a number from the front.
pub(crate) fn read_long(bytes: &mut &[u8]) -> Option<i64> {
    let (first, rest) = bytes.split_first()?;
    let first = first.cast_signed();
    if first >= -112 {
        *bytes = rest;
        return Some(i64::from(first));
    }
    let negative = first < -120;
    let length = usize::from(if negative { -120 - first } else { -112 - first }.unsigned_abs());
    let (digits, rest) = rest.split_at_checked(length)?;
    let number = digits
        .iter()
        .fold(0_i64, |number, byte| (number << 8) | i64::from(*byte));
    *bytes = rest;
    Some(if negative { !number } else { number })
}

/// `Text`: a length and that many bytes.
pub(super) fn write_text(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    write_long(i64::try_from(bytes.len())?, out);
    out.extend_from_slice(bytes);
    Ok(())
}

pub(super) fn read_text(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let mut rest = bytes;
    let length = read_long(&mut rest).and_then(|length| usize::try_from(length).ok());
    if length != Some(rest.len()) {
        return Err(malformed::<super::Text>(bytes));
    }
    out.extend_from_slice(rest);
    Ok(())
}

/// `BytesWritable`: four bytes of length and that many bytes.
pub(super) fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(&u32::try_from(bytes.len())?.to_be_bytes());
    out.extend_from_slice(bytes);
    Ok(())
}

pub(super) fn read_bytes(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    match bytes.split_first_chunk::<4>() {
        Some((length, rest)) if u32::from_be_bytes(*length) as usize == rest.len() => {
            out.extend_from_slice(rest);
            Ok(())
        }
        _ => Err(malformed::<super::Bytes>(bytes)),
    }
}
