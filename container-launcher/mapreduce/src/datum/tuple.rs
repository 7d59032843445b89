//! Tuples: their parts, one after the other; the last one needs no end.

use super::{EncodeAs, Key, Value, malformed};
use crate::error::Result;

macro_rules! tuple {
    ($($first:ident),+; $last:ident) => {
        impl<$($first: Key,)+ $last: Key> Value for ($($first,)+ $last,)
        where
            $($first::Owned: EncodeAs<$first>,)+
        {
            type View<'a> = ($($first::Part<'a>,)+ $last::View<'a>,);
            type Owned = ($($first::Owned,)+ $last::Owned,);
            const WRITABLE: Option<&'static str> = None;

            fn decode(mut bytes: &[u8]) -> Result<Self::View<'_>> {
                Ok(($($first::part(&mut bytes)?,)+ $last::decode(bytes)?,))
            }

            fn text(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
                let mut rest = bytes;
                let mut alone = Vec::new();
                $(
                    alone.clear();
                    take_alone::<$first>(&mut rest, &mut alone)?;
                    $first::text(&alone, out)?;
                    out.push(b'\t');
                )+
                $last::text(rest, out)
            }
        }

        impl<$($first: Key,)+ $last: Key> Key for ($($first,)+ $last,)
        where
            $($first::Owned: EncodeAs<$first>,)+
        {
            type Part<'a> = ($($first::Part<'a>,)+ $last::Part<'a>,);

            fn part<'a>(bytes: &mut &'a [u8]) -> Result<Self::Part<'a>> {
                Ok(($($first::part(bytes)?,)+ $last::part(bytes)?,))
            }

            fn java_hash(mut bytes: &[u8]) -> i32 {
                let mut hash = 1_i32;
                $(
                    let part = $first::java_hash_of_part(&mut bytes).unwrap_or_default();
                    hash = hash.wrapping_mul(31).wrapping_add(part);
                )+
                hash.wrapping_mul(31).wrapping_add($last::java_hash(bytes))
            }

            fn java_hash_of_part(bytes: &mut &[u8]) -> Result<i32> {
                let mut hash = 1_i32;
                $(hash = hash.wrapping_mul(31).wrapping_add($first::java_hash_of_part(bytes)?);)+
                Ok(hash.wrapping_mul(31).wrapping_add($last::java_hash_of_part(bytes)?))
            }

            fn as_part(alone: &[u8], out: &mut Vec<u8>) {
                let mut rest = alone;
                // What is no such tuple stays what it is.
                let parted = [$($first::part(&mut rest).is_ok()),+].iter().all(|taken| *taken);
                let length = if parted { alone.len() - rest.len() } else { alone.len() };
                let (firsts, last) = alone.split_at(length);
                out.extend_from_slice(firsts);
                $last::as_part(last, out);
            }

            fn alone(part: &[u8], out: &mut Vec<u8>) -> Result<()> {
                let mut rest = part;
                $($first::part(&mut rest)?;)+
                out.extend_from_slice(part.get(..part.len() - rest.len()).unwrap_or_default());
                $last::alone(rest, out)
            }

            fn first_length(bytes: &[u8]) -> Result<usize> {
                A::part_length(bytes)
            }

            fn first_hash(mut bytes: &[u8]) -> i32 {
                A::java_hash_of_part(&mut bytes).unwrap_or_default()
            }
        }
    };
}

/// What may be emitted as a tuple: a tuple of what may be emitted as its parts.
macro_rules! encode {
    ($($first:ident $from:ident $part:ident),+; $last:ident $last_from:ident $last_part:ident) => {
        impl<$($first, $from: EncodeAs<$first>,)+ $last, $last_from: EncodeAs<$last>>
            EncodeAs<($($first,)+ $last,)> for ($($from,)+ $last_from,)
        {
            fn append(&self, out: &mut Vec<u8>) -> Result<()> {
                let ($($part,)+ $last_part,) = self;
                $($part.append_part(out)?;)+
                $last_part.append(out)
            }

            fn append_part(&self, out: &mut Vec<u8>) -> Result<()> {
                let ($($part,)+ $last_part,) = self;
                $($part.append_part(out)?;)+
                $last_part.append_part(out)
            }
        }
    };
}

/// Takes one part from the front, and appends what it would be alone.
pub(super) fn take_alone<K: Key>(rest: &mut &[u8], alone: &mut Vec<u8>) -> Result<()> {
    let all: &[u8] = rest;
    let (part, tail) = all
        .split_at_checked(K::part_length(all)?)
        .ok_or_else(|| malformed::<K>(all))?;
    *rest = tail;
    K::alone(part, alone)
}

tuple!(A; B);
tuple!(A, B; C);
tuple!(A, B, C; D);
encode!(A X a; B Y b);
encode!(A X a, B Y b; C Z c);
encode!(A X a, B Y b, C Z c; D W d);
