//! Integers, floats, `bool`, `char` and nothing: fixed lengths, big-endian, ordered as bytes.

use super::java_text::JavaText as _;
use super::{EncodeAs, Key, Value, malformed};
use crate::error::Result;

/// One type of a fixed length: `$to` gives the ordered bytes, `$of` takes them back, `$hash` is Java's.
macro_rules! fixed {
    ($type:ty, $length:literal, $writable:literal, to: $to:expr, of: $of:expr, hash: $hash:expr,
     wire: $wire:expr, unwire: $unwire:expr) => {
        impl Value for $type {
            type View<'a> = $type;
            type Owned = $type;
            const WRITABLE: Option<&'static str> =
                Some(concat!("org.apache.hadoop.io.", $writable));

            #[inline]
            fn decode(bytes: &[u8]) -> Result<$type> {
                let bytes: [u8; $length] = bytes
                    .try_into()
                    .ok()
                    .ok_or_else(|| malformed::<$type>(bytes))?;
                Ok($of(bytes))
            }

            fn text(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
                out.extend_from_slice(Self::decode(bytes)?.java_text().as_bytes());
                Ok(())
            }

            fn to_writable(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
                let wire: [u8; $length] = $wire(Self::decode(bytes)?);
                out.extend_from_slice(&wire);
                Ok(())
            }

            fn from_writable(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
                let wire: [u8; $length] = bytes
                    .try_into()
                    .ok()
                    .ok_or_else(|| malformed::<$type>(bytes))?;
                let value: $type = $unwire(wire);
                out.extend_from_slice(&$to(value));
                Ok(())
            }
        }

        impl Key for $type {
            type Part<'a> = $type;

            fn part(bytes: &mut &[u8]) -> Result<$type> {
                let (head, rest) = bytes
                    .split_first_chunk::<$length>()
                    .ok_or_else(|| malformed::<$type>(bytes))?;
                *bytes = rest;
                Ok($of(*head))
            }

            fn java_hash(bytes: &[u8]) -> i32 {
                Self::decode(bytes).map_or(0, $hash)
            }

            fn java_hash_of_part(bytes: &mut &[u8]) -> Result<i32> {
                Ok($hash(Self::part(bytes)?))
            }
        }

        impl EncodeAs<$type> for $type {
            #[inline]
            fn append(&self, out: &mut Vec<u8>) -> Result<()> {
                out.extend_from_slice(&$to(*self));
                Ok(())
            }
        }
    };
}

/// The lower half of a long, as Java's `(int)` takes it.
const fn low(long: u64) -> i32 {
    crate::width::low(long).cast_signed()
}

const SIGN_64: u64 = 1 << 63;
const SIGN_32: u32 = 1 << 31;

/// Bits whose order as an unsigned number is the total order of floats.
const fn ordered_64(float: f64) -> u64 {
    let bits = float.to_bits();
    if bits & SIGN_64 == 0 {
        bits ^ SIGN_64
    } else {
        !bits
    }
}

const fn unordered_64(bits: u64) -> f64 {
    f64::from_bits(if bits & SIGN_64 == 0 {
        !bits
    } else {
        bits ^ SIGN_64
    })
}

const fn ordered_32(float: f32) -> u32 {
    let bits = float.to_bits();
    if bits & SIGN_32 == 0 {
        bits ^ SIGN_32
    } else {
        !bits
    }
}

const fn unordered_32(bits: u32) -> f32 {
    f32::from_bits(if bits & SIGN_32 == 0 {
        !bits
    } else {
        bits ^ SIGN_32
    })
}

fixed!(u64, 8, "LongWritable", to: u64::to_be_bytes, of: u64::from_be_bytes, hash: low,
    wire: u64::to_be_bytes, unwire: u64::from_be_bytes);
fixed!(i64, 8, "LongWritable",
    to: |n: i64| (n.cast_unsigned() ^ SIGN_64).to_be_bytes(),
    of: |b| (u64::from_be_bytes(b) ^ SIGN_64).cast_signed(),
    hash: |n: i64| low(n.cast_unsigned()), wire: i64::to_be_bytes, unwire: i64::from_be_bytes);
fixed!(u32, 4, "IntWritable", to: u32::to_be_bytes, of: u32::from_be_bytes, hash: u32::cast_signed,
    wire: u32::to_be_bytes, unwire: u32::from_be_bytes);
fixed!(i32, 4, "IntWritable",
    to: |n: i32| (n.cast_unsigned() ^ SIGN_32).to_be_bytes(),
    of: |b| (u32::from_be_bytes(b) ^ SIGN_32).cast_signed(),
    hash: |n: i32| n, wire: i32::to_be_bytes, unwire: i32::from_be_bytes);
fixed!(u16, 2, "ShortWritable", to: u16::to_be_bytes, of: u16::from_be_bytes,
    hash: |n: u16| i32::from(n.cast_signed()), wire: u16::to_be_bytes, unwire: u16::from_be_bytes);
fixed!(u8, 1, "ByteWritable", to: |n: u8| [n], of: |[b]: [u8; 1]| b, hash: |n: u8| i32::from(n.cast_signed()),
    wire: |n: u8| [n], unwire: |[b]: [u8; 1]| b);
fixed!(f64, 8, "DoubleWritable", to: |n: f64| ordered_64(n).to_be_bytes(), of: |b| unordered_64(u64::from_be_bytes(b)),
    hash: |n: f64| low(n.to_bits()), wire: f64::to_be_bytes, unwire: f64::from_be_bytes);
fixed!(f32, 4, "FloatWritable", to: |n: f32| ordered_32(n).to_be_bytes(), of: |b| unordered_32(u32::from_be_bytes(b)),
    hash: |n: f32| n.to_bits().cast_signed(), wire: f32::to_be_bytes, unwire: f32::from_be_bytes);
fixed!(bool, 1, "BooleanWritable", to: |b: bool| [u8::from(b)], of: |[b]: [u8; 1]| b != 0,
    hash: |b: bool| if b { 0 } else { 1 }, wire: |b: bool| [u8::from(b)], unwire: |[b]: [u8; 1]| b != 0);

impl Value for () {
    type View<'a> = ();
    type Owned = ();
    const WRITABLE: Option<&'static str> = Some("org.apache.hadoop.io.NullWritable");

    fn decode(bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            Ok(())
        } else {
            Err(malformed::<()>(bytes))
        }
    }

    fn text(_: &[u8], _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    fn to_writable(_: &[u8], _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    fn from_writable(_: &[u8], _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }
}

impl Key for () {
    type Part<'a> = ();

    fn part(_: &mut &[u8]) -> Result<()> {
        Ok(())
    }

    fn java_hash(_: &[u8]) -> i32 {
        0
    }

    fn java_hash_of_part(_: &mut &[u8]) -> Result<i32> {
        Ok(0)
    }
}

impl EncodeAs<()> for () {
    fn append(&self, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }
}
