//! Keys and values as bytes.
//!
//! A type such as [`Text`] or `u64` says how a key or value is laid out; what user code is handed is its
//! [`View`](Value::View), which borrows where it can, and what it may emit is whatever is
//! [`EncodeAs`] it: `str`, `[u8]` and `String` as `Text`, an integer as itself, a pair as a pair.
//!
//! **The bytes of a key are its order**: comparing them as bytes is comparing the keys. Integers are
//! big-endian with a flipped sign, floats follow Java's `compare`: -0.0 is before 0.0, and NaN, of which there
//! is one, comes last; text is its bytes; in front of other
//! parts of a tuple a text ends with `00 00`, and a zero byte in it is written `00 FF`, so that no text runs
//! into what follows; [`Reverse`] inverts every bit.
//!
//! A type that holds its own values, such as an integer or a `String`, may be a field of a derived key.

#[doc(hidden)]
pub mod derived;
mod java_text;
mod json;
mod list;
mod numbers;
mod option;
mod reverse;
mod side;
mod string;
mod text;
mod tuple;
mod variable;
pub(crate) mod writable;

pub use json::Json;
pub use list::List;
pub use reverse::{Descending, Reverse, Upright};
pub use side::{Left, Right, Side};
pub use text::{Bytes, Text};
pub use variable::{VInt, VLong};

use crate::error::{Error, Result};

/// A type of values.
///
/// With the feature `derive` a struct or enum of one's own is one by `#[derive(Value)]`. It is handed to user code and
/// emitted as it is. Its fields are keys that hold their own values: integers, floats, `bool`, `String`, `Option`, `Vec`,
/// tuples of these, [`std::cmp::Reverse`], and derived keys; the last field may be any value that does so, [`Json`]
/// and derived ones among them. It has no Writable.
///
/// ```
/// use gerbil_mapreduce::prelude::*;
///
/// #[derive(Value)]
/// struct Times { count: u64, longest: f64 }
///
/// struct Join;
///
/// impl Combiner<Times> for Join {
///     fn combine(&mut self, left: Times, right: Times) -> Result<Times> {
///         Ok(Times { count: left.count + right.count, longest: left.longest.max(right.longest) })
///     }
/// }
///
/// let job = Job::new("times")
///     .map_lines::<Text, Times, _>(|line, out| out.emit("line", &Times { count: 1, longest: line.len() as f64 }))
///     .combine(|| Join)
///     .reduce(|| Identity);
/// assert_eq!(job.test().input("a\nabc\nab\n").run()?.text(), "line\t3\t3.0\n");
/// # Ok::<(), Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of values",
    note = "integers, floats, `bool`, `()`, `Text`, `Bytes`, `String`, `Option`, `Vec`, `List`, `Json` and tuples are some; \
            `#[derive(Value)]` makes one of a type of your own"
)]
pub trait Value: 'static {
    /// What user code is handed.
    type View<'a>;
    /// What user code can keep, and a combiner gives back.
    type Owned: EncodeAs<Self>;
    /// The Writable of Hadoop that holds the same in a SequenceFile, if there is one.
    const WRITABLE: Option<&'static str>;

    /// Reads what [`EncodeAs::append`] wrote.
    ///
    /// # Errors
    /// The bytes are none of this type.
    fn decode(bytes: &[u8]) -> Result<Self::View<'_>>;

    /// Appends what Hadoop's `toString` says of the value, as text output shows it.
    ///
    /// # Errors
    /// The bytes are none of this type.
    fn text(bytes: &[u8], out: &mut Vec<u8>) -> Result<()>;

    /// Appends the value as its Writable writes it.
    ///
    /// # Errors
    /// The type has no Writable, or the bytes are none of this type.
    fn to_writable(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let (_, _) = (bytes, out);
        Err(Error::new(format!(
            "{} has no Writable, so it cannot go to a SequenceFile",
            std::any::type_name::<Self>()
        )))
    }

    /// Appends what the bytes of a Writable are as this type.
    ///
    /// # Errors
    /// The type has no Writable, or the bytes are none of it.
    fn from_writable(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let (_, _) = (bytes, out);
        Err(Error::new(format!(
            "{} has no Writable, so it cannot come from a SequenceFile",
            std::any::type_name::<Self>()
        )))
    }
}

/// A type of keys: values whose bytes are their order.
///
/// With the feature `derive` a struct or enum of one's own is one by `#[derive(Key)]`, and a [`Value`], too. Its fields are
/// keys, as of a derived value. They are laid out as those of a tuple: keys are in the order of their first fields, then
/// of their second ones, and so on, which is that of a derived `Ord`; groups and partitions by the first part
/// are those of the first field. Of an enum, whose variants are in the order in which they are declared, the variant is the
/// first part.
///
/// ```
/// use gerbil_mapreduce::prelude::*;
///
/// #[derive(Key)]
/// struct Visit { site: String, at: u64 }
///
/// let job = Job::new("first visits")
///     .map_lines::<Visit, Text, _>(|line, out| {
///         let mut words = std::str::from_utf8(line)?.split(' ');
///         let (at, site, who) = (words.next(), words.next(), words.next());
///         let site = site.unwrap_or_default().to_owned();
///         out.emit(&Visit { site, at: at.unwrap_or_default().parse()? }, who.unwrap_or_default())
///     })
///     .group_by_first()
///     .reduce_with::<Visit, Text, _>(|first, visitors, out| match visitors.next()? {
///         Some(visitor) => out.emit(&first, visitor),
///         None => Ok(()),
///     });
/// let done = job.test().input("12 home ann\n7 news bob\n9 home eve\n").run()?;
/// assert_eq!(done.text(), "home\t9\teve\nnews\t7\tbob\n");
/// # Ok::<(), Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of keys: its bytes have no order",
    note = "integers, floats, `bool`, `()`, `Text`, `Bytes`, `String`, `Option`, `Vec` and tuples are some; \
            `#[derive(Key)]` makes one of a type of your own"
)]
pub trait Key: Value {
    /// What the key is inside of a tuple.
    type Part<'a>;

    /// Reads the key from the front of a tuple's bytes, and leaves there what follows.
    ///
    /// # Errors
    /// The bytes do not begin with this type.
    fn part<'a>(bytes: &mut &'a [u8]) -> Result<Self::Part<'a>>;

    /// How many bytes the key takes at the front of a tuple's.
    ///
    /// # Errors
    /// The bytes do not begin with this type.
    fn part_length(mut bytes: &[u8]) -> Result<usize> {
        let all = bytes.len();
        Self::part(&mut bytes)?;
        Ok(all - bytes.len())
    }

    /// Appends what the key is alone, given its bytes inside of a tuple.
    ///
    /// # Errors
    /// The bytes are none of this type.
    fn alone(part: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(part);
        Ok(())
    }

    /// Appends what the key is inside of a tuple, given its bytes alone.
    fn as_part(alone: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(alone);
    }

    /// What Java's `hashCode` says of the key's Writable: partitions are Hadoop's own.
    fn java_hash(bytes: &[u8]) -> i32;

    /// The same, of the key at the front of a tuple's bytes.
    ///
    /// # Errors
    /// The bytes do not begin with this type.
    fn java_hash_of_part(bytes: &mut &[u8]) -> Result<i32>;

    /// How many bytes of the key make its group: all of them, or the first part of a tuple.
    ///
    /// # Errors
    /// The bytes are none of this type.
    fn first_length(bytes: &[u8]) -> Result<usize> {
        Ok(bytes.len())
    }

    /// The hash of what [`first_length`](Self::first_length) tells.
    fn first_hash(bytes: &[u8]) -> i32 {
        Self::java_hash(bytes)
    }
}

/// What may be emitted where a `T` is wanted.
pub trait EncodeAs<T: ?Sized> {
    /// Appends the bytes of a `T`.
    ///
    /// # Errors
    /// The value cannot be written as one: the task fails, or leaves the record out where it may.
    fn append(&self, out: &mut Vec<u8>) -> Result<()>;

    /// Appends the bytes of a `T` that other parts of a tuple follow.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    fn append_part(&self, out: &mut Vec<u8>) -> Result<()> {
        self.append(out)
    }

    /// The bytes of a `T`: its own where they are the same, otherwise written to `scratch`.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    #[inline]
    fn bytes<'s>(&'s self, scratch: &'s mut Vec<u8>) -> Result<&'s [u8]> {
        scratch.clear();
        self.append(scratch)?;
        Ok(scratch)
    }
}

impl<T: ?Sized, E: EncodeAs<T> + ?Sized> EncodeAs<T> for &E {
    fn append(&self, out: &mut Vec<u8>) -> Result<()> {
        (**self).append(out)
    }

    fn append_part(&self, out: &mut Vec<u8>) -> Result<()> {
        (**self).append_part(out)
    }

    #[inline]
    fn bytes<'s>(&'s self, scratch: &'s mut Vec<u8>) -> Result<&'s [u8]> {
        (**self).bytes(scratch)
    }
}

/// Out of the way of those that decode, which are called for each value and are to be compiled into their callers.
#[cold]
#[inline(never)]
#[must_use]
pub fn malformed<T: ?Sized>(bytes: &[u8]) -> Error {
    let shown =
        String::from_utf8_lossy(bytes.get(..bytes.len().min(40)).unwrap_or_default()).into_owned();
    Error::new(format!(
        "{} bytes are no {}: {shown:?}",
        bytes.len(),
        std::any::type_name::<T>()
    ))
}

#[cfg(test)]
mod tests;
