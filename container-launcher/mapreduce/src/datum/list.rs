//! Lists of values of a fixed length, such as vectors of floats.

use std::marker::PhantomData;

use super::{EncodeAs, Key, Value};
use crate::error::Result;

/// Any number of `K`s, as a value: what is emitted is a slice or vector, what comes back is a vector.
#[derive(Debug)]
pub struct List<K>(PhantomData<K>);

impl<K> Value for List<K>
where
    K: for<'a> Key<Part<'a> = K> + EncodeAs<K>,
{
    type View<'a> = Vec<K>;
    type Owned = Vec<K>;
    const WRITABLE: Option<&'static str> = None;

    fn decode(mut bytes: &[u8]) -> Result<Vec<K>> {
        let mut list = Vec::new();
        while !bytes.is_empty() {
            list.push(K::part(&mut bytes)?);
        }
        Ok(list)
    }

    fn text(mut bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let mut between = "";
        let mut alone = Vec::new();
        while !bytes.is_empty() {
            out.extend_from_slice(between.as_bytes());
            between = ",";
            let (part, rest) = bytes.split_at(K::part_length(bytes)?);
            alone.clear();
            K::alone(part, &mut alone)?;
            K::text(&alone, out)?;
            bytes = rest;
        }
        Ok(())
    }
}

impl<K: EncodeAs<K>> EncodeAs<List<K>> for Vec<K> {
    fn append(&self, out: &mut Vec<u8>) -> Result<()> {
        self.iter().try_for_each(|item| item.append_part(out))
    }
}

impl<K: EncodeAs<K>> EncodeAs<List<K>> for [K] {
    fn append(&self, out: &mut Vec<u8>) -> Result<()> {
        self.iter().try_for_each(|item| item.append_part(out))
    }
}
