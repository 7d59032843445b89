//! Which reduce a key goes to: by Hadoop's hash of it, or of parts of it, as `KeyFieldBasedPartitioner`.

use gerbil_mapreduce::{Error, Key as _, Partitioner, Result, Settings, Text};

use crate::key_fields::{Part, first, parts};
use crate::order;
use crate::settings::{
    COMPARATOR, KEY_SEPARATOR, PARTITION_BY_FIELDS, PARTITIONER, PARTITIONER_FIELDS, text,
};

/// Deals keys.
#[derive(Debug, Default)]
pub(crate) struct KeyPartitioner {
    by: By,
    /// Keys have what they are compared by in front.
    are_ordered: bool,
}

#[derive(Debug, Default)]
enum By {
    #[default]
    Whole,
    /// Of no parts: as Java hashes a string.
    Letters,
    Parts(Vec<Part>, Vec<u8>),
}

impl By {
    fn of(settings: &Settings) -> Result<Self> {
        if !settings.parse_if(PARTITION_BY_FIELDS)?.unwrap_or(false) {
            return Ok(Self::Whole);
        }
        let parts = match settings.parse_if(PARTITIONER_FIELDS)? {
            Some(fields) => first(fields),
            None => parts(text(settings, PARTITIONER, "")).map_err(Error::new)?,
        };
        let separator = text(settings, KEY_SEPARATOR, "\t").as_bytes().to_vec();
        Ok(match parts.is_empty() {
            true => Self::Letters,
            false => Self::Parts(parts, separator),
        })
    }

    fn hash(&self, key: &[u8]) -> i32 {
        match self {
            Self::Whole => Text::java_hash(key),
            Self::Letters => {
                let letters = String::from_utf8_lossy(key);
                letters
                    .encode_utf16()
                    .fold(0, |hash, letter| step(hash, i32::from(letter)))
            }
            Self::Parts(parts, separator) => {
                let found = parts.iter().filter_map(|part| part.of(key, separator));
                found
                    .flatten()
                    .fold(0, |hash, byte| step(hash, i32::from(byte.cast_signed())))
            }
        }
    }
}

const fn step(hash: i32, by: i32) -> i32 {
    hash.wrapping_mul(31).wrapping_add(by)
}

impl Partitioner<Text> for KeyPartitioner {
    fn setup(&mut self, settings: &Settings) -> Result<()> {
        self.by = By::of(settings)?;
        self.are_ordered = settings.get(COMPARATOR).is_some();
        Ok(())
    }

    fn partition(&mut self, key: &[u8], partitions: u32) -> Result<u32> {
        let key = match self.are_ordered {
            true => order::key(key),
            false => key,
        };
        let hash = self.by.hash(key).cast_unsigned() & 0x7FFF_FFFF;
        Ok(hash % partitions.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::By;
    use crate::key_fields::parts;

    #[test]
    fn hashes_are_javas() {
        // "hello".hashCode(), and that of its bytes in WritableComparator, which begins with 1.
        assert_eq!(By::Letters.hash(b"hello"), 99_162_322);
        assert_eq!(By::Letters.hash("\u{e9}".as_bytes()), 233);
        let of = |options, key: &str| {
            By::Parts(parts(options).unwrap(), b".".to_vec()).hash(key.as_bytes())
        };
        assert_eq!(of("-k1,2", "hello"), 99_162_322);
        assert_eq!(of("-k1,1 -k2,2", "hel.lo.x"), 99_162_322);
        assert_eq!(of("-k4,4", "a.b"), 0);
    }
}
