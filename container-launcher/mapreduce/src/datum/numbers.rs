//! Integers, floats, `bool` and nothing: fixed lengths, big-endian, ordered as bytes.
//!
//! Hadoop's integers are signed. Unsigned ones go to its Writables of the same length, and come from them, where the
//! number is the same in both; any other is refused.

use std::fmt::Display;

use super::java_text::JavaText as _;
use super::{EncodeAs, Key, Value, malformed};
use crate::error::{Error, Result};

/// One type of a fixed length: `$to` gives the ordered bytes, `$of` takes them back, `$hash` is Java's; `$wire` gives the
/// bytes of the Writable, and `$unwire` takes them back, if it holds such a value.
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
                let value = Self::decode(bytes)?;
                let wire: Option<[u8; $length]> = $wire(value);
                out.extend_from_slice(&wire.ok_or_else(|| too_large(value, $writable))?);
                Ok(())
            }

            fn from_writable(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
                let wire: [u8; $length] = bytes
                    .try_into()
                    .ok()
                    .ok_or_else(|| malformed::<$type>(bytes))?;
                let value: Option<$type> = $unwire(wire);
                let value = value.ok_or_else(|| negative::<$type>(&wire, $writable))?;
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
const SIGN_16: u16 = 1 << 15;
const SIGN_8: u8 = 1 << 7;

/// The one NaN, whatever its bits were: that of Java's `doubleToLongBits`, which is what a `DoubleWritable` writes.
const NAN_64: u64 = 0x7FF8_0000_0000_0000;
/// The same of `floatToIntBits`.
const NAN_32: u32 = 0x7FC0_0000;

/// Bits whose order as an unsigned number is that of Java's `Double.compare`.
const fn ordered_64(float: f64) -> u64 {
    let bits = if float.is_nan() {
        NAN_64
    } else {
        float.to_bits()
    };
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
    let bits = if float.is_nan() {
        NAN_32
    } else {
        float.to_bits()
    };
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

/// An unsigned number that Hadoop's integer of as many bytes would show as one below zero.
#[cold]
fn too_large(value: impl Display, writable: &str) -> Error {
    Error::new(format!(
        "{value} is too large for Hadoop's {writable}, which is signed"
    ))
}

/// A number below zero, big-endian, where an unsigned one is read.
#[cold]
fn negative<T>(wire: &[u8], writable: &str) -> Error {
    let value = wire
        .iter()
        .fold(-1_i64, |value, byte| value << 8 | i64::from(*byte));
    let name = std::any::type_name::<T>();
    Error::new(format!(
        "{value}, in Hadoop's {writable}, is no {name}: read it as {}",
        name.replace('u', "i")
    ))
}

fixed!(u64, 8, "LongWritable", to: u64::to_be_bytes, of: u64::from_be_bytes, hash: low,
    wire: |n| i64::try_from(n).ok().map(i64::to_be_bytes), unwire: |b| u64::try_from(i64::from_be_bytes(b)).ok());
fixed!(i64, 8, "LongWritable",
    to: |n: i64| (n.cast_unsigned() ^ SIGN_64).to_be_bytes(),
    of: |b| (u64::from_be_bytes(b) ^ SIGN_64).cast_signed(),
    hash: |n: i64| low(n.cast_unsigned()), wire: |n: i64| Some(n.to_be_bytes()), unwire: |b| Some(i64::from_be_bytes(b)));
fixed!(u32, 4, "IntWritable", to: u32::to_be_bytes, of: u32::from_be_bytes, hash: u32::cast_signed,
    wire: |n| i32::try_from(n).ok().map(i32::to_be_bytes), unwire: |b| u32::try_from(i32::from_be_bytes(b)).ok());
fixed!(i32, 4, "IntWritable",
    to: |n: i32| (n.cast_unsigned() ^ SIGN_32).to_be_bytes(),
    of: |b| (u32::from_be_bytes(b) ^ SIGN_32).cast_signed(),
    hash: |n: i32| n, wire: |n: i32| Some(n.to_be_bytes()), unwire: |b| Some(i32::from_be_bytes(b)));
fixed!(u16, 2, "ShortWritable", to: u16::to_be_bytes, of: u16::from_be_bytes,
    hash: |n: u16| i32::from(n.cast_signed()),
    wire: |n| i16::try_from(n).ok().map(i16::to_be_bytes), unwire: |b| u16::try_from(i16::from_be_bytes(b)).ok());
fixed!(i16, 2, "ShortWritable",
    to: |n: i16| (n.cast_unsigned() ^ SIGN_16).to_be_bytes(),
    of: |b| (u16::from_be_bytes(b) ^ SIGN_16).cast_signed(),
    hash: |n: i16| i32::from(n), wire: |n: i16| Some(n.to_be_bytes()), unwire: |b| Some(i16::from_be_bytes(b)));
fixed!(u8, 1, "ByteWritable", to: |n: u8| [n], of: |[b]: [u8; 1]| b, hash: |n: u8| i32::from(n.cast_signed()),
    wire: |n| i8::try_from(n).ok().map(i8::to_be_bytes), unwire: |b| u8::try_from(i8::from_be_bytes(b)).ok());
fixed!(i8, 1, "ByteWritable",
    to: |n: i8| [n.cast_unsigned() ^ SIGN_8], of: |[b]: [u8; 1]| (b ^ SIGN_8).cast_signed(),
    hash: |n: i8| i32::from(n), wire: |n: i8| Some(n.to_be_bytes()), unwire: |b| Some(i8::from_be_bytes(b)));
fixed!(f64, 8, "DoubleWritable", to: |n: f64| ordered_64(n).to_be_bytes(), of: |b| unordered_64(u64::from_be_bytes(b)),
    hash: |n: f64| low(n.to_bits()), wire: |n: f64| Some(n.to_be_bytes()), unwire: |b| Some(f64::from_be_bytes(b)));
fixed!(f32, 4, "FloatWritable", to: |n: f32| ordered_32(n).to_be_bytes(), of: |b| unordered_32(u32::from_be_bytes(b)),
    hash: |n: f32| n.to_bits().cast_signed(), wire: |n: f32| Some(n.to_be_bytes()), unwire: |b| Some(f32::from_be_bytes(b)));
fixed!(bool, 1, "BooleanWritable", to: |b: bool| [u8::from(b)], of: |[b]: [u8; 1]| b != 0,
    hash: |b: bool| if b { 0 } else { 1 }, wire: |b: bool| Some([u8::from(b)]), unwire: |[b]: [u8; 1]| Some(b != 0));

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
