//! Lists: their items as parts of a tuple, one after the other.

use std::marker::PhantomData;

use super::text::{escape, unescape};
use super::{EncodeAs, Key, Value, malformed};
use crate::error::{Error, Result};

/// Any number of `K`s, as a value: what is emitted is a slice or vector, what comes back is a vector.
#[derive(Debug)]
pub struct List<K>(PhantomData<K>);

/// What a list may hold: what is read of it is what was written.
fn items<K>(mut bytes: &[u8]) -> Result<Vec<K>>
where
    K: for<'a> Key<Part<'a> = K>,
{
    let mut list = Vec::new();
    while !bytes.is_empty() {
        let before = bytes.len();
        list.push(K::part(&mut bytes)?);
        if bytes.len() == before {
            return Err(malformed::<List<K>>(bytes));
        }
    }
    Ok(list)
}

/// Appends what text output shows of a list: its items, with commas between.
fn text<K: Key>(mut bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let mut between = "";
    let mut alone = Vec::new();
    while !bytes.is_empty() {
        out.extend_from_slice(between.as_bytes());
        between = ",";
        let length = K::part_length(bytes)?;
        let parts = bytes.split_at_checked(length).filter(|_| length > 0);
        let (part, rest) = parts.ok_or_else(|| malformed::<List<K>>(bytes))?;
        alone.clear();
        K::alone(part, &mut alone)?;
        K::text(&alone, out)?;
        bytes = rest;
    }
    Ok(())
}

fn append<K, E: EncodeAs<K>>(list: &[E], out: &mut Vec<u8>) -> Result<()> {
    list.iter().try_for_each(|item| {
        let before = out.len();
        item.append_part(out)?;
        if out.len() == before {
            return Err(nothing::<K>());
        }
        Ok(())
    })
}

/// Items without any bytes, of which nobody could tell how many there are.
#[cold]
fn nothing<K>() -> Error {
    Error::new(format!(
        "a list of {} does not say how long it is: its items take no bytes",
        std::any::type_name::<K>()
    ))
}

impl<K> Value for List<K>
where
    K: for<'a> Key<Part<'a> = K> + EncodeAs<K>,
{
    type View<'a> = Vec<K>;
    type Owned = Vec<K>;
    const WRITABLE: Option<&'static str> = None;

    fn decode(bytes: &[u8]) -> Result<Vec<K>> {
        items(bytes)
    }

    fn text(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        text::<K>(bytes, out)
    }
}

impl<K: EncodeAs<K>> EncodeAs<List<K>> for Vec<K> {
    fn append(&self, out: &mut Vec<u8>) -> Result<()> {
        append(self, out)
    }
}

impl<K: EncodeAs<K>> EncodeAs<List<K>> for [K] {
    fn append(&self, out: &mut Vec<u8>) -> Result<()> {
        append(self, out)
    }
}

/// A [`List`] under the name of what is emitted, and a key, too: in the order of the first items that differ, and the
/// shorter one first where none does.
impl<K> Value for Vec<K>
where
    K: for<'a> Key<Part<'a> = K> + EncodeAs<K>,
{
    type View<'a> = Self;
    type Owned = Self;
    const WRITABLE: Option<&'static str> = None;

    fn decode(bytes: &[u8]) -> Result<Self> {
        items(bytes)
    }

    fn text(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        text::<K>(bytes, out)
    }
}

/// Java's hash of a list: of bytes that are none it is 0.
fn hash<K: Key>(mut bytes: &[u8]) -> i32 {
    let mut hash = 1_i32;
    while !bytes.is_empty() {
        let before = bytes.len();
        match K::java_hash_of_part(&mut bytes) {
            Ok(item) if bytes.len() < before => {
                hash = hash.wrapping_mul(31).wrapping_add(item);
            }
            _ => return 0,
        }
    }
    hash
}

impl<K> Key for Vec<K>
where
    K: for<'a> Key<Part<'a> = K> + EncodeAs<K>,
{
    type Part<'a> = Self;

    fn part(bytes: &mut &[u8]) -> Result<Self> {
        items(&unescape(bytes)?)
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
        hash::<K>(bytes)
    }

    fn java_hash_of_part(bytes: &mut &[u8]) -> Result<i32> {
        Ok(hash::<K>(&unescape(bytes)?))
    }
}

impl<K: EncodeAs<K>> EncodeAs<Self> for Vec<K> {
    fn append(&self, out: &mut Vec<u8>) -> Result<()> {
        append(self, out)
    }

    fn append_part(&self, out: &mut Vec<u8>) -> Result<()> {
        let mut alone = Vec::new();
        append(self, &mut alone)?;
        escape(&alone, out);
        Ok(())
    }
}

impl<K: EncodeAs<K>> EncodeAs<Vec<K>> for [K] {
    fn append(&self, out: &mut Vec<u8>) -> Result<()> {
        append(self, out)
    }

    fn append_part(&self, out: &mut Vec<u8>) -> Result<()> {
        let mut alone = Vec::new();
        append(self, &mut alone)?;
        escape(&alone, out);
        Ok(())
    }
}
