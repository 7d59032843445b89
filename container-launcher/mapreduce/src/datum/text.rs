//! Text and bytes: themselves, and escaped in front of other parts of a tuple.

use std::borrow::Cow;

use super::{EncodeAs, Key, Value, malformed};
use crate::error::Result;

/// Text as Hadoop's `Text` has it: bytes that are UTF-8 by custom and are not checked.
#[derive(Debug)]
pub struct Text;

/// Bytes, Hadoop's `BytesWritable`: the same as [`Text`] but in a SequenceFile, and in text output, where
/// they are hexadecimal pairs.
#[derive(Debug)]
pub struct Bytes;

/// Escapes `00` as `00 FF` and ends with `00 00`.
pub(super) fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some(zero) = memchr::memchr(0, rest) {
        let (head, tail) = rest.split_at(zero + 1);
        out.extend_from_slice(head);
        out.push(0xFF);
        rest = tail;
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(&[0, 0]);
}

/// Takes an escaped text from the front.
pub(super) fn unescape<'a>(bytes: &mut &'a [u8]) -> Result<Cow<'a, [u8]>> {
    let all: &'a [u8] = bytes;
    let mut text = Cow::Borrowed(&[][..]);
    let mut rest = all;
    loop {
        let zero = memchr::memchr(0, rest).ok_or_else(|| malformed::<Text>(all))?;
        let (head, tail) = rest.split_at(zero);
        match tail {
            [0, 0, after @ ..] => {
                if text.is_empty() {
                    text = Cow::Borrowed(head);
                } else {
                    text.to_mut().extend_from_slice(head);
                }
                *bytes = after;
                return Ok(text);
            }
            [0, 0xFF, after @ ..] => {
                let text = text.to_mut();
                text.extend_from_slice(head);
                text.push(0);
                rest = after;
            }
            _ => return Err(malformed::<Text>(all)),
        }
    }
}

/// Java's `WritableComparator.hashBytes`.
pub(super) fn hash_bytes(bytes: &[u8]) -> i32 {
    bytes.iter().fold(1_i32, |hash, &byte| {
        hash.wrapping_mul(31)
            .wrapping_add(i32::from(byte.cast_signed()))
    })
}

macro_rules! bytes_like {
    ($type:ty, $writable:literal, text: $text:expr, wire: $wire:expr, unwire: $unwire:expr) => {
        impl Value for $type {
            type View<'a> = &'a [u8];
            type Owned = Vec<u8>;
            const WRITABLE: Option<&'static str> = Some(concat!("org.apache.hadoop.io.", $writable));

            #[inline]
            fn decode(bytes: &[u8]) -> Result<&[u8]> {
                Ok(bytes)
            }

            #[inline]
            fn text(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
                $text(bytes, out);
                Ok(())
            }

            fn to_writable(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
                $wire(bytes, out)
            }

            fn from_writable(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
                $unwire(bytes, out)
            }
        }

        impl Key for $type {
            type Part<'a> = Cow<'a, [u8]>;

            fn part<'a>(bytes: &mut &'a [u8]) -> Result<Cow<'a, [u8]>> {
                unescape(bytes)
            }

            fn as_part(alone: &[u8], out: &mut Vec<u8>) {
                escape(alone, out);
            }

            fn alone(mut part: &[u8], out: &mut Vec<u8>) -> Result<()> {
                out.extend_from_slice(&unescape(&mut part)?);
                Ok(())
            }

            #[inline]
            fn java_hash(bytes: &[u8]) -> i32 {
                hash_bytes(bytes)
            }

            fn java_hash_of_part(bytes: &mut &[u8]) -> Result<i32> {
                Ok(hash_bytes(&unescape(bytes)?))
            }
        }

        bytes_like!(@from $type, [u8], |s: &'s [u8]| s);
        bytes_like!(@from $type, str, |s: &'s str| s.as_bytes());
        bytes_like!(@from $type, String, |s: &'s String| s.as_bytes());
        bytes_like!(@from $type, Vec<u8>, |s: &'s Vec<u8>| s.as_slice());
        bytes_like!(@from $type, Cow<'_, [u8]>, |s: &'s Cow<'_, [u8]>| s.as_ref());
        bytes_like!(@from $type, Cow<'_, str>, |s: &'s Cow<'_, str>| s.as_bytes());

        impl<const N: usize> EncodeAs<$type> for [u8; N] {
            fn append(&self, out: &mut Vec<u8>) -> Result<()> {
                out.extend_from_slice(self);
                Ok(())
            }

            fn append_part(&self, out: &mut Vec<u8>) -> Result<()> {
                escape(self, out);
                Ok(())
            }

            #[inline]
            fn bytes<'s>(&'s self, _: &'s mut Vec<u8>) -> Result<&'s [u8]> {
                Ok(self)
            }
        }
    };
    (@from $type:ty, $from:ty, |$name:ident: $of:ty| $slice:expr) => {
        impl EncodeAs<$type> for $from {
            fn append(&self, out: &mut Vec<u8>) -> Result<()> {
                let $name = self;
                out.extend_from_slice($slice);
                Ok(())
            }

            fn append_part(&self, out: &mut Vec<u8>) -> Result<()> {
                let $name = self;
                escape($slice, out);
                Ok(())
            }

            #[inline]
            fn bytes<'s>(&'s self, _: &'s mut Vec<u8>) -> Result<&'s [u8]> {
                let $name = self;
                Ok($slice)
            }
        }
    };
}

fn hexadecimal(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (index, byte) in bytes.iter().enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
}

bytes_like!(Text, "Text", text: |bytes: &[u8], out: &mut Vec<u8>| out.extend_from_slice(bytes),
    wire: super::writable::write_text, unwire: super::writable::read_text);
bytes_like!(Bytes, "BytesWritable", text: hexadecimal,
    wire: super::writable::write_bytes, unwire: super::writable::read_bytes);
