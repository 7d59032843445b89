//! The index of a map's output, as its task sends it: where in the file each partition lies. Pure: both launchers check it
//! before a reduce reads by it.

use std::fmt;
use std::fs::Metadata;

use crate::message::Partition;

/// Bytes of a block's head.
const HEAD: u64 = 20;
/// Records of a block, at the most: it has 256 KiB or a single record, and a record has two lengths of at least a byte.
const RECORDS: u64 = 128 << 10;

/// An index that is none of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexError {
    /// What came with it is no file.
    NoFile,
    /// It has other partitions than there are reduces.
    Count {
        /// How many it has.
        partitions: usize,
        /// How many there are to be.
        reduces: u32,
    },
    /// A partition ends behind the file.
    Behind {
        /// Its number.
        number: usize,
        /// Its entry.
        partition: Partition,
        /// How long the file is, bytes.
        file: u64,
    },
    /// A partition begins before the one before it ends.
    Overlap {
        /// Its number.
        number: usize,
        /// Where it begins.
        offset: u64,
        /// Where the one before it ends.
        end: u64,
    },
    /// A partition has records and no bytes, bytes and no records, or more records than its bytes can be.
    Records {
        /// Its number.
        number: usize,
        /// Its entry.
        partition: Partition,
    },
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFile => f.write_str("what it handed over as its output is no file"),
            Self::Count {
                partitions,
                reduces,
            } => write!(
                f,
                "the index of its output has {partitions} partitions, and the job {reduces} reduces"
            ),
            Self::Behind {
                number,
                partition,
                file,
            } => write!(
                f,
                "the index of its output has {} bytes from byte {} on as partition {number}, and the file has {file} bytes",
                partition.length, partition.offset
            ),
            Self::Overlap {
                number,
                offset,
                end,
            } => write!(
                f,
                "the index of its output has partition {number} begin at byte {offset}, and the one before it end at byte \
                 {end}"
            ),
            Self::Records { number, partition } => write!(
                f,
                "the index of its output has {} records in {} bytes as partition {number}",
                partition.records, partition.length
            ),
        }
    }
}

impl std::error::Error for IndexError {}

/// Refuses an index of `partitions` that is none for so many `reduces`, or none of the file that came with it.
///
/// # Errors
/// As [`IndexError`] tells.
pub fn check_index(
    partitions: &[Partition],
    reduces: u32,
    file: &Metadata,
) -> Result<(), IndexError> {
    match file.is_file() {
        true => check(partitions, reduces, file.len()),
        false => Err(IndexError::NoFile),
    }
}

fn check(partitions: &[Partition], reduces: u32, file: u64) -> Result<(), IndexError> {
    if u32::try_from(partitions.len()) != Ok(reduces) {
        return Err(IndexError::Count {
            partitions: partitions.len(),
            reduces,
        });
    }
    let mut before = 0;
    for (number, partition) in partitions.iter().enumerate() {
        let partition = *partition;
        let offset = partition.offset;
        let end = offset.checked_add(partition.length);
        let Some(end) = end.filter(|end| *end <= file) else {
            return Err(IndexError::Behind {
                number,
                partition,
                file,
            });
        };
        if offset < before {
            return Err(IndexError::Overlap {
                number,
                offset,
                end: before,
            });
        }
        let most = (partition.length / HEAD).saturating_mul(RECORDS);
        if (partition.records == 0) != (partition.length == 0) || partition.records > most {
            return Err(IndexError::Records { number, partition });
        }
        before = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{IndexError, Partition, check, check_index};

    fn partition((offset, length, records): (u64, u64, u64)) -> Partition {
        Partition {
            offset,
            length,
            records,
            ..Partition::default()
        }
    }

    #[test]
    fn an_index_that_is_none_of_its_file_is_refused() {
        for (partitions, reduces, said) in [
            (&[(0, 60, 3), (60, 40, 2)][..], 2, None),
            (&[(0, 0, 0), (0, 100, 2), (100, 0, 0)], 3, None),
            (&[], 0, None),
            // A gap does no harm.
            (&[(10, 20, 1), (50, 50, 1)], 2, None),
            (
                &[(0, 100, 3)],
                2,
                Some("has 1 partitions, and the job 2 reduces"),
            ),
            (
                &[(0, 100, 3)],
                0,
                Some("has 1 partitions, and the job 0 reduces"),
            ),
            (
                &[(0, 60, 3), (60, 41, 2)],
                2,
                Some("41 bytes from byte 60 on as partition 1"),
            ),
            (&[(1 << 62, 1, 1)], 1, Some("the file has 100 bytes")),
            (&[(0, 1 << 40, 1)], 1, Some("the file has 100 bytes")),
            (&[(u64::MAX, 2, 1)], 1, Some("the file has 100 bytes")),
            (&[(101, 0, 0)], 1, Some("the file has 100 bytes")),
            (
                &[(0, 60, 3), (59, 41, 2)],
                2,
                Some("partition 1 begin at byte 59"),
            ),
            (
                &[(40, 60, 3), (0, 40, 2)],
                2,
                Some("partition 1 begin at byte 0"),
            ),
            (
                &[(0, 60, 0)],
                1,
                Some("has 0 records in 60 bytes as partition 0"),
            ),
            (
                &[(0, 0, 7)],
                1,
                Some("has 7 records in 0 bytes as partition 0"),
            ),
            // As many as four full blocks have, which are compressed, and one more.
            (&[(0, 99, 4 << 17)], 1, None),
            (
                &[(0, 99, (4 << 17) + 1)],
                1,
                Some("has 524289 records in 99 bytes as partition 0"),
            ),
            (
                &[(0, 100, u64::MAX)],
                1,
                Some("has 18446744073709551615 records in 100 bytes"),
            ),
            // There is no block without a head.
            (&[(0, 19, 1)], 1, Some("has 1 records in 19 bytes")),
        ] {
            let partitions: Vec<Partition> = partitions.iter().copied().map(partition).collect();
            let checked = check(&partitions, reduces, 100).map_err(|error| error.to_string());
            match said {
                None => assert_eq!(checked, Ok(()), "{partitions:?}"),
                Some(said) => {
                    let refused = checked.unwrap_err();
                    assert!(refused.contains(said), "{said}: {refused}");
                }
            }
        }
        let count = IndexError::Count {
            partitions: 1,
            reduces: 2,
        };
        assert_eq!(check(&[partition((0, 0, 0))], 2, 0), Err(count));
        let of = |path: &str| std::fs::metadata(path).unwrap();
        let index = [partition((0, 30, 1))];
        assert_eq!(check_index(&index, 1, &of("/")), Err(IndexError::NoFile));
        assert_eq!(
            check_index(&[], 0, &of("/dev/null")),
            Err(IndexError::NoFile)
        );
        assert_eq!(check_index(&index, 1, &of("/proc/self/exe")), Ok(()));
    }
}
