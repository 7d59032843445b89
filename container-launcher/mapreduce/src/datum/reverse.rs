//! A key in descending order: the bits of its bytes inverted.

use std::cmp;
use std::marker::PhantomData;

use super::{EncodeAs, Key, Value, malformed};
use crate::error::Result;

/// `K` in descending order. A key is emitted as `Descending(key)`, and comes back as [`Upright`].
#[derive(Debug)]
pub struct Reverse<K>(PhantomData<K>);

/// A key to be emitted where a [`Reverse`] is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Descending<E>(pub E);

/// A key that was sorted in descending order, as it was before.
#[derive(Debug)]
pub struct Upright<K> {
    bytes: Vec<u8>,
    of: PhantomData<K>,
}

impl<K: Key> Upright<K> {
    /// The key.
    ///
    /// # Errors
    /// The bytes are none of this type.
    pub fn key(&self) -> Result<K::View<'_>> {
        K::decode(&self.bytes)
    }
}

fn inverted(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| !byte).collect()
}

impl<K: Key> Value for Reverse<K> {
    type View<'a> = Upright<K>;
    type Owned = Upright<K>;
    const WRITABLE: Option<&'static str> = None;

    fn decode(bytes: &[u8]) -> Result<Upright<K>> {
        let mut alone = Vec::new();
        K::alone(&inverted(bytes), &mut alone)?;
        Ok(Upright {
            bytes: alone,
            of: PhantomData,
        })
    }

    fn text(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        K::text(&Self::decode(bytes)?.bytes, out)
    }
}

impl<K: Key> Key for Reverse<K> {
    type Part<'a> = Upright<K>;

    fn part(bytes: &mut &[u8]) -> Result<Upright<K>> {
        let upright = inverted(bytes);
        let (part, _) = upright.split_at(K::part_length(&upright)?.min(upright.len()));
        let (_, rest) = bytes.split_at(part.len());
        *bytes = rest;
        let mut alone = Vec::new();
        K::alone(part, &mut alone)?;
        Ok(Upright {
            bytes: alone,
            of: PhantomData,
        })
    }

    fn java_hash(mut bytes: &[u8]) -> i32 {
        Self::java_hash_of_part(&mut bytes).unwrap_or_default()
    }

    fn java_hash_of_part(bytes: &mut &[u8]) -> Result<i32> {
        Ok(K::java_hash(&Self::part(bytes)?.bytes))
    }
}

fn append<K, E: EncodeAs<K> + ?Sized>(key: &E, out: &mut Vec<u8>) -> Result<()> {
    let before = out.len();
    key.append_part(out)?;
    for byte in out.iter_mut().skip(before) {
        *byte = !*byte;
    }
    Ok(())
}

impl<K, E: EncodeAs<K>> EncodeAs<Reverse<K>> for Descending<E> {
    fn append(&self, out: &mut Vec<u8>) -> Result<()> {
        append(&self.0, out)
    }
}

impl<K: Key> EncodeAs<Reverse<K>> for Upright<K> {
    fn append(&self, out: &mut Vec<u8>) -> Result<()> {
        let before = out.len();
        K::as_part(&self.bytes, out);
        for byte in out.iter_mut().skip(before) {
            *byte = !*byte;
        }
        Ok(())
    }
}

/// As [`Reverse`], of what holds its own values: what is emitted, and a field of a derived key.
impl<K> Value for cmp::Reverse<K>
where
    K: for<'a> Key<Part<'a> = K> + EncodeAs<K>,
{
    type View<'a> = Self;
    type Owned = Self;
    const WRITABLE: Option<&'static str> = None;

    fn decode(mut bytes: &[u8]) -> Result<Self> {
        let key = Self::part(&mut bytes)?;
        if bytes.is_empty() {
            Ok(key)
        } else {
            Err(malformed::<Self>(bytes))
        }
    }

    fn text(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        Reverse::<K>::text(bytes, out)
    }
}

impl<K> Key for cmp::Reverse<K>
where
    K: for<'a> Key<Part<'a> = K> + EncodeAs<K>,
{
    type Part<'a> = Self;

    fn part(bytes: &mut &[u8]) -> Result<Self> {
        let upright = inverted(bytes);
        let mut rest = upright.as_slice();
        let key = K::part(&mut rest)?;
        let left = bytes.len() - rest.len().min(bytes.len());
        *bytes = bytes.get(left..).unwrap_or_default();
        Ok(Self(key))
    }

    fn java_hash(bytes: &[u8]) -> i32 {
        Reverse::<K>::java_hash(bytes)
    }

    fn java_hash_of_part(bytes: &mut &[u8]) -> Result<i32> {
        Reverse::<K>::java_hash_of_part(bytes)
    }
}

impl<K, E: EncodeAs<K>> EncodeAs<cmp::Reverse<K>> for cmp::Reverse<E> {
    fn append(&self, out: &mut Vec<u8>) -> Result<()> {
        append(&self.0, out)
    }
}
