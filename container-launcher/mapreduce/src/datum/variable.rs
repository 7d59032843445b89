//! Integers that Hadoop writes in as few bytes as they need: `VIntWritable` and `VLongWritable`.
//!
//! Only in a SequenceFile: as keys and values of a job they have a fixed length, like every integer, so that their
//! bytes are their order.

use super::writable::{read_long, write_long};
use super::{EncodeAs, Key, Value, malformed};
use crate::error::Result;

macro_rules! variable {
    ($(#[$about:meta])* $name:ident, $number:ty, $writable:literal) => {
        $(#[$about])*
        #[derive(Debug)]
        pub struct $name;

        impl Value for $name {
            type View<'a> = $number;
            type Owned = $number;
            const WRITABLE: Option<&'static str> =
                Some(concat!("org.apache.hadoop.io.", $writable));

            #[inline]
            fn decode(bytes: &[u8]) -> Result<$number> {
                <$number>::decode(bytes)
            }

            fn text(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
                <$number>::text(bytes, out)
            }

            fn to_writable(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
                write_long(i64::from(Self::decode(bytes)?), out);
                Ok(())
            }

            fn from_writable(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
                let mut rest = bytes;
                let number = read_long(&mut rest)
                    .filter(|_| rest.is_empty())
                    .and_then(|number| <$number>::try_from(number).ok())
                    .ok_or_else(|| malformed::<Self>(bytes))?;
                EncodeAs::<Self>::append(&number, out)
            }
        }

        impl Key for $name {
            type Part<'a> = $number;

            fn part(bytes: &mut &[u8]) -> Result<$number> {
                <$number>::part(bytes)
            }

            fn java_hash(bytes: &[u8]) -> i32 {
                <$number>::java_hash(bytes)
            }

            fn java_hash_of_part(bytes: &mut &[u8]) -> Result<i32> {
                <$number>::java_hash_of_part(bytes)
            }
        }

        impl EncodeAs<$name> for $number {
            #[inline]
            fn append(&self, out: &mut Vec<u8>) -> Result<()> {
                EncodeAs::<$number>::append(self, out)
            }
        }
    };
}

variable! {
    /// An `i32` that is a `VIntWritable` in a SequenceFile.
    VInt, i32, "VIntWritable"
}

variable! {
    /// An `i64` that is a `VLongWritable` in a SequenceFile.
    VLong, i64, "VLongWritable"
}
