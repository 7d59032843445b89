//! Hadoop's own variable-length integers (`org.apache.hadoop.io.WritableUtils`), unlike protobuf's.
//!
//! ```text
//! -112..=127            the value itself, one byte
//! -113..=-120, then n   positive, n = -112 - first bytes follow, big-endian
//! -121..=-128, then n   negative, n = -120 - first bytes follow, big-endian, bitwise NOT of the value
//! ```

use crate::CredentialsError;

/// Takes one integer from the front of `input`.
pub(crate) fn read(input: &mut &[u8], what: &'static str) -> Result<i64, CredentialsError> {
    let (&first, rest) = input.split_first().ok_or(CredentialsError::Truncated {
        what,
        wanted: 1,
        left: 0,
    })?;
    let first = first.cast_signed();
    if first >= -112 {
        *input = rest;
        return Ok(i64::from(first));
    }
    let (negative, count) = if first >= -120 {
        (false, usize::from((-112 - i16::from(first)).unsigned_abs()))
    } else {
        (true, usize::from((-120 - i16::from(first)).unsigned_abs()))
    };
    let Some((bytes, rest)) = rest.split_at_checked(count) else {
        return Err(CredentialsError::Truncated {
            what,
            wanted: count as u64,
            left: rest.len(),
        });
    };
    *input = rest;
    let magnitude = bytes
        .iter()
        .fold(0u64, |sum, &byte| (sum << 8) | u64::from(byte));
    let value = magnitude.cast_signed();
    Ok(if negative { !value } else { value })
}

/// Appends one integer to `output`.
pub(crate) fn write(output: &mut Vec<u8>, value: i64) {
    if let Ok(byte) = i8::try_from(value)
        && byte >= -112
    {
        output.push(byte.cast_unsigned());
        return;
    }
    let (base, magnitude) = if value < 0 {
        (-120i8, !value)
    } else {
        (-112i8, value)
    };
    let bytes = magnitude.to_be_bytes();
    let skip = bytes.iter().take_while(|&&byte| byte == 0).count().min(7);
    let tail = bytes.get(skip..).unwrap_or_default();
    // One to eight bytes follow, so the first byte stays within its range.
    let count = i8::try_from(tail.len()).unwrap_or(8);
    output.push((base - count).cast_unsigned());
    output.extend_from_slice(tail);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_bytes() {
        for (value, bytes) in [
            (0i64, &[0u8][..]),
            (127, &[0x7f]),
            (-112, &[0x90]),
            (128, &[0x8f, 0x80]),
            (300, &[0x8e, 0x01, 0x2c]),
            (-113, &[0x87, 0x70]),
        ] {
            let mut out = Vec::new();
            write(&mut out, value);
            assert_eq!(out, bytes, "{value}");
        }
    }

    proptest! {
        #[test]
        fn round_trip(value: i64) {
            let mut out = Vec::new();
            write(&mut out, value);
            let mut input = &out[..];
            prop_assert_eq!(read(&mut input, "value").unwrap(), value);
            prop_assert!(input.is_empty());
        }
    }
}
