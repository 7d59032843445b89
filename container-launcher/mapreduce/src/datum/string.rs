//! `String`: text that is checked to be UTF-8.

use std::borrow::Cow;

use super::text::{escape, hash_bytes, unescape};
use super::writable::{read_text, write_text};
use super::{EncodeAs, Key, Value, malformed};
use crate::error::Result;

/// Laid out, shown and hashed as a [`Text`](super::Text), and in a SequenceFile Hadoop's `Text`. User code is handed a
/// `String` of its own, and bytes that are no UTF-8 are refused; a `Text` is borrowed and not looked into.
impl Value for String {
    type View<'a> = Self;
    type Owned = Self;
    const WRITABLE: Option<&'static str> = super::Text::WRITABLE;

    fn decode(bytes: &[u8]) -> Result<Self> {
        let text = std::str::from_utf8(bytes).ok();
        let text = text.ok_or_else(|| malformed::<Self>(bytes))?;
        Ok(text.to_owned())
    }

    fn text(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(bytes);
        Ok(())
    }

    fn to_writable(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        write_text(bytes, out)
    }

    fn from_writable(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        read_text(bytes, out)
    }
}

impl Key for String {
    type Part<'a> = Self;

    fn part(bytes: &mut &[u8]) -> Result<Self> {
        Self::decode(&unescape(bytes)?)
    }

    fn part_length(mut bytes: &[u8]) -> Result<usize> {
        let all = bytes.len();
        unescape(&mut bytes)?;
        Ok(all - bytes.len())
    }

    fn alone(mut part: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&unescape(&mut part)?);
        Ok(())
    }

    fn as_part(alone: &[u8], out: &mut Vec<u8>) {
        escape(alone, out);
    }

    fn java_hash(bytes: &[u8]) -> i32 {
        hash_bytes(bytes)
    }

    fn java_hash_of_part(bytes: &mut &[u8]) -> Result<i32> {
        Ok(hash_bytes(&unescape(bytes)?))
    }
}

macro_rules! from {
    ($($from:ty),*) => {
        $(impl EncodeAs<String> for $from {
            fn append(&self, out: &mut Vec<u8>) -> Result<()> {
                out.extend_from_slice(self.as_bytes());
                Ok(())
            }

            fn append_part(&self, out: &mut Vec<u8>) -> Result<()> {
                escape(self.as_bytes(), out);
                Ok(())
            }

            #[inline]
            fn bytes<'s>(&'s self, _: &'s mut Vec<u8>) -> Result<&'s [u8]> {
                Ok(self.as_bytes())
            }
        })*
    };
}

from!(String, str, Cow<'_, str>);
