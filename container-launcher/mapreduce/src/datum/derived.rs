//! What the code that `#[derive(Key)]` and `#[derive(Value)]` write calls; nobody else does.
//!
//! What cannot be laid out is refused when the program is compiled. A type with parameters:
//!
//! ```compile_fail
//! #[derive(gerbil_mapreduce::Key)]
//! struct Pair<T> { of: T, at: u64 }
//! ```
//!
//! A union, of which nobody knows what is in it:
//!
//! ```compile_fail
//! #[derive(gerbil_mapreduce::Value)]
//! union Bits { whole: u32, float: f32 }
//! ```
//!
//! A field whose bytes have no order:
//!
//! ```compile_fail
//! #[derive(gerbil_mapreduce::Key)]
//! struct Visits { of: std::collections::HashMap<String, u64> }
//! ```
//!
//! A field of a type that only says how others are laid out (what is meant is `String`):
//!
//! ```compile_fail
//! #[derive(gerbil_mapreduce::Key)]
//! struct Page { site: gerbil_mapreduce::Text, at: u64 }
//! ```
//!
//! A value whose end nobody knows, in front of another field:
//!
//! ```compile_fail
//! #[derive(gerbil_mapreduce::Value)]
//! struct Page { of: gerbil_mapreduce::Json<String>, at: u64 }
//! ```

pub use super::{EncodeAs, Key, Value, malformed};
use super::{Json, tuple};
pub use crate::error::Result;

/// What a field of a derived type is, of what is handed to user code.
#[diagnostic::on_unimplemented(
    message = "`{Self}` says how values are laid out and holds none, so it is no field of a derived key or value",
    label = "what is read of it is `{Of}`",
    note = "a field is a `String` instead of `Text`, a `Vec<u8>` instead of `Bytes`, a `Vec<K>` instead of `List<K>`, a \
            `std::cmp::Reverse<K>` instead of `Reverse<K>`, an `i32` or `i64` instead of `VInt` or `VLong`"
)]
pub trait Held<Of>: Sized {
    /// It holds what was read.
    fn held(of: Of) -> Self;
}

impl<T> Held<T> for T {
    fn held(of: T) -> T {
        of
    }
}

impl<T> Held<T> for Json<T> {
    fn held(of: T) -> Self {
        Self(of)
    }
}

/// Takes a field from the front that others follow.
///
/// # Errors
/// The bytes do not begin with one.
#[inline]
pub fn first<'a, K: Key + Held<K::Part<'a>>>(bytes: &mut &'a [u8]) -> Result<K> {
    Ok(K::held(K::part(bytes)?))
}

/// The last field, which is all that is left.
///
/// # Errors
/// The bytes are none.
#[inline]
pub fn last<'a, V: Value + Held<V::View<'a>>>(bytes: &'a [u8]) -> Result<V> {
    Ok(V::held(V::decode(bytes)?))
}

/// Nothing is left behind the last field, or of a type without any.
///
/// # Errors
/// Something is left.
#[inline]
pub fn end<T>(bytes: &[u8]) -> Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    Err(malformed::<T>(bytes))
}

/// Takes the number of a variant from the front.
///
/// # Errors
/// There is nothing.
#[inline]
pub fn variant<T>(bytes: &mut &[u8]) -> Result<u8> {
    let (number, rest) = bytes.split_first().ok_or_else(|| malformed::<T>(bytes))?;
    *bytes = rest;
    Ok(*number)
}

/// Goes beyond a field that others follow.
///
/// # Errors
/// The bytes do not begin with one.
pub fn skip<K: Key>(bytes: &mut &[u8]) -> Result<()> {
    let all: &[u8] = bytes;
    let rest = all.get(K::part_length(all)?..);
    *bytes = rest.ok_or_else(|| malformed::<K>(all))?;
    Ok(())
}

/// Takes a field from the front, and appends its text and a tab.
///
/// # Errors
/// The bytes do not begin with one.
pub fn text<K: Key>(bytes: &mut &[u8], out: &mut Vec<u8>) -> Result<()> {
    let mut alone = Vec::new();
    tuple::take_alone::<K>(bytes, &mut alone)?;
    K::text(&alone, out)?;
    out.push(b'\t');
    Ok(())
}

/// What `skip` goes beyond, and what follows.
///
/// # Errors
/// Those of `skip`.
pub fn parted<'a>(
    bytes: &'a [u8],
    skip: impl FnOnce(&mut &'a [u8]) -> Result<()>,
) -> Result<(&'a [u8], &'a [u8])> {
    let mut rest = bytes;
    skip(&mut rest)?;
    Ok(bytes.split_at(bytes.len().saturating_sub(rest.len())))
}

/// As Java hashes a list that goes on with a part.
#[must_use]
pub const fn hashed(before: i32, part: i32) -> i32 {
    before.wrapping_mul(31).wrapping_add(part)
}
