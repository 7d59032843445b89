//! What may be missing.

use super::{EncodeAs, Key, Value, malformed};
use crate::error::Result;

/// A byte that tells whether there is something, and that: nothing is before everything. Text output has nothing for
/// nothing. No Writable is the same.
impl<T: Value> Value for Option<T> {
    type View<'a> = Option<T::View<'a>>;
    type Owned = Option<T::Owned>;
    const WRITABLE: Option<&'static str> = None;

    fn decode(bytes: &[u8]) -> Result<Self::View<'_>> {
        match bytes {
            [0] => Ok(None),
            [1, some @ ..] => Ok(Some(T::decode(some)?)),
            _ => Err(malformed::<Self>(bytes)),
        }
    }

    fn text(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match bytes {
            [0] => Ok(()),
            [1, some @ ..] => T::text(some, out),
            _ => Err(malformed::<Self>(bytes)),
        }
    }
}

/// Takes the byte from the front that tells whether there is something.
fn is_some<T>(bytes: &mut &[u8]) -> Result<bool> {
    match bytes {
        [told @ (0 | 1), rest @ ..] => {
            *bytes = rest;
            Ok(*told == 1)
        }
        _ => Err(malformed::<Option<T>>(bytes)),
    }
}

impl<K: Key> Key for Option<K> {
    type Part<'a> = Option<K::Part<'a>>;

    fn part<'a>(bytes: &mut &'a [u8]) -> Result<Self::Part<'a>> {
        is_some::<K>(bytes)?.then(|| K::part(bytes)).transpose()
    }

    fn part_length(mut bytes: &[u8]) -> Result<usize> {
        Ok(match is_some::<K>(&mut bytes)? {
            true => 1 + K::part_length(bytes)?,
            false => 1,
        })
    }

    fn alone(mut part: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let is_some = is_some::<K>(&mut part)?;
        out.push(u8::from(is_some));
        match is_some {
            true => K::alone(part, out),
            false => Ok(()),
        }
    }

    fn as_part(alone: &[u8], out: &mut Vec<u8>) {
        match alone {
            [1, some @ ..] => {
                out.push(1);
                K::as_part(some, out);
            }
            // What is no such key stays what it is.
            other => out.extend_from_slice(other),
        }
    }

    fn java_hash(bytes: &[u8]) -> i32 {
        match bytes {
            [1, some @ ..] => K::java_hash(some),
            _ => 0,
        }
    }

    fn java_hash_of_part(bytes: &mut &[u8]) -> Result<i32> {
        match is_some::<K>(bytes)? {
            true => K::java_hash_of_part(bytes),
            false => Ok(0),
        }
    }
}

impl<T, E: EncodeAs<T>> EncodeAs<Option<T>> for Option<E> {
    fn append(&self, out: &mut Vec<u8>) -> Result<()> {
        out.push(u8::from(self.is_some()));
        self.as_ref().map_or(Ok(()), |some| some.append(out))
    }

    fn append_part(&self, out: &mut Vec<u8>) -> Result<()> {
        out.push(u8::from(self.is_some()));
        self.as_ref().map_or(Ok(()), |some| some.append_part(out))
    }
}
