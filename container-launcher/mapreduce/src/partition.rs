//! Which reduce a record goes to.

use std::sync::Arc;

use crate::datum::{Key, Value};
use crate::error::{Error, Result};
use crate::hot_keys::{self, hot_keys};
use crate::job::MakePlace;
use crate::settings::Settings;
use crate::sort::collect::RecordPlace;

/// A way to deal keys to reduces.
pub trait Partitioner<K: Key>: 'static {
    /// Called once before the first key, with the job's settings.
    ///
    /// # Errors
    /// The user's own.
    fn setup(&mut self, settings: &Settings) -> Result<()> {
        let _ = settings;
        Ok(())
    }

    /// The number of the reduce, below `partitions`, that gets `key`.
    ///
    /// # Errors
    /// The user's own.
    fn partition(&mut self, key: K::View<'_>, partitions: u32) -> Result<u32>;
}

/// A way to deal records to reduces by their values, too: Hadoop's `getPartition(key, value, numPartitions)`. Records of one
/// key may go to several reduces, each of which has the key with those values that it got.
///
/// ```
/// # use gerbil_mapreduce::prelude::*;
/// # use gerbil_mapreduce::Settings;
/// /// Long lines to the last reduce, the others to the first.
/// #[derive(Default)]
/// struct ByLength { limit: u64 }
///
/// impl RecordPartitioner<Text, u64> for ByLength {
///     fn setup(&mut self, settings: &Settings) -> Result<()> {
///         self.limit = settings.get("length.limit").unwrap_or("3").parse()?;
///         Ok(())
///     }
///     fn partition(&mut self, _line: &[u8], length: u64, partitions: u32) -> Result<u32> {
///         Ok(if length > self.limit { partitions - 1 } else { 0 })
///     }
/// }
///
/// let job = Job::new("lengths")
///     .map_lines::<Text, u64, _>(|line, out| out.emit("length", &(line.len() as u64)))
///     .partition_records(ByLength::default)
///     .combine(|| Sum)
///     .reduce(|| Sum);
/// let done = job.test().input("a\nab\nabcd\n").reduces(2).run()?;
/// assert_eq!(done.files()["part-r-00000"], b"length\t3\n");
/// assert_eq!(done.files()["part-r-00001"], b"length\t4\n");
/// # Ok::<(), Error>(())
/// ```
pub trait RecordPartitioner<K: Key, V: Value>: 'static {
    /// Called once before the first record, with the job's settings.
    ///
    /// # Errors
    /// The user's own.
    fn setup(&mut self, settings: &Settings) -> Result<()> {
        let _ = settings;
        Ok(())
    }

    /// The number of the reduce, below `partitions`, that gets this record. It is asked of what mappers emit, before
    /// anything is combined.
    ///
    /// # Errors
    /// The user's own.
    fn partition(&mut self, key: K::View<'_>, value: V::View<'_>, partitions: u32) -> Result<u32>;
}

/// How a job deals its keys to reduces, whatever the order in which it was put together.
pub(crate) struct Dealing {
    /// As the plan names it.
    pub(crate) name: String,
    pub(crate) place: MakePlace,
    /// Why keys cannot be dealt so, in one sentence.
    pub(crate) contradiction: Option<String>,
}

impl Dealing {
    /// By the job's `own` partitioner, by ranges, or by Hadoop's hash; groups are those of first parts or of whole keys.
    pub(crate) fn of<K: Key>(
        own: Option<(String, MakePlace)>,
        by_first: bool,
        ranges: bool,
    ) -> Self {
        let what = if by_first { " of the first part" } else { "" };
        let contradiction = own.as_ref().filter(|_| ranges).map(|(name, _)| {
            format!(
                "total_order deals keys by ranges, and partition deals them by {name}: a job has one way to deal its \
                 keys, so leave out one of the two"
            )
        });
        let (name, place) = match own {
            Some(own) => own,
            None if ranges => {
                let place: MakePlace = Arc::new(move |partitions, settings| {
                    total_order::<K>(partitions, settings, by_first)
                });
                (format!("TotalOrderPartitioner{what}"), place)
            }
            None => {
                let place: MakePlace =
                    Arc::new(move |partitions, _| Ok(hashed::<K>(partitions, by_first)));
                (format!("HashPartitioner{what}"), place)
            }
        };
        Self {
            name,
            place,
            contradiction,
        }
    }
}

/// Hadoop's `HashPartitioner`: Java's hash without its sign, modulo the number of reduces.
pub(crate) fn hashed<K: Key>(partitions: u32, by_first: bool) -> RecordPlace {
    RecordPlace::by_key(move |key| {
        let hash = if by_first {
            K::first_hash(key)
        } else {
            K::java_hash(key)
        };
        Ok((hash.cast_unsigned() & 0x7FFF_FFFF) % partitions.max(1))
    })
}

/// The setting in which the driver tells tasks where the ranges of a total order begin: in hexadecimal digits,
/// with commas between.
pub(crate) const CUTS: &str = "total.order.cuts";

/// Ranges of keys, or of their first parts, as settings tell them.
fn total_order<K: Key>(
    partitions: u32,
    settings: &Settings,
    by_first: bool,
) -> Result<RecordPlace> {
    let cuts = cuts(settings)?;
    if cuts.len() + 1 != partitions as usize {
        return Err(Error::new(format!(
            "{partitions} ranges of keys are wanted where {} begin",
            cuts.len()
        )));
    }
    Ok(RecordPlace::by_key(move |key| {
        let key = group::<K>(key, by_first)?;
        Ok(crate::width::word(
            cuts.partition_point(|cut| cut.as_slice() <= key),
        ))
    }))
}

/// What of a key makes its group. First parts are in the order of the keys that they begin.
pub(crate) fn group<K: Key>(key: &[u8], by_first: bool) -> Result<&[u8]> {
    if !by_first {
        return Ok(key);
    }
    let length = K::first_length(key)?;
    Ok(key.get(..length).unwrap_or(key))
}

fn cuts(settings: &Settings) -> Result<Vec<Vec<u8>>> {
    let Some(text) = settings.given().get(CUTS) else {
        return Ok(Vec::new());
    };
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    text.split(',')
        .map(|cut| {
            let bytes = cut.as_bytes().chunks(2).map(|pair| match pair {
                [high, low] => digit(*high)
                    .zip(digit(*low))
                    .map(|(high, low)| high << 4 | low),
                _ => None,
            });
            bytes
                .collect::<Option<Vec<u8>>>()
                .ok_or_else(|| Error::new(format!("{CUTS}: {cut:?} is no key")))
        })
        .collect()
}

/// Tells tasks where ranges of the sampled `keys` begin, and which of these fill more than a range.
pub(crate) fn set_ranges(
    settings: &mut Settings,
    mut keys: Vec<Vec<u8>>,
    partitions: u32,
    shown: fn(&[u8]) -> String,
) {
    keys.sort();
    hot_keys::set(settings, &hot_keys(&keys, partitions, shown));
    settings.set(CUTS, &choose_cuts(&keys, partitions));
}

/// Where `partitions` ranges of about equal numbers of the sampled `keys`, which are sorted, begin, as the setting has it.
/// No two begin at one key while there are others.
fn choose_cuts(keys: &[Vec<u8>], partitions: u32) -> String {
    let mut cuts: Vec<String> = Vec::new();
    let mut last: Option<&Vec<u8>> = None;
    for range in 1..partitions as usize {
        let at = keys.len() * range / (partitions as usize).max(1);
        let behind = last.map_or(0, |last| keys.partition_point(|key| key <= last));
        last = keys.get(at.max(behind)).or(last);
        let key = last.map(Vec::as_slice).unwrap_or_default();
        cuts.push(key.iter().map(|byte| format!("{byte:02x}")).collect());
    }
    cuts.join(",")
}

#[cfg(test)]
mod tests {
    use super::{CUTS, choose_cuts, hashed, total_order};
    use crate::datum::Text;
    use crate::settings::Settings;

    #[test]
    fn text_goes_where_hadoop_puts_it() {
        // The part files in which Hadoop 3.4.2's own word count with three reduces has these words.
        let parts = [
            ["gang", "gave", "gets,"],
            ["flows,", "folders", "found"],
            ["deadline,", "default", "different"],
        ];
        let mut place = hashed::<Text>(3, false);
        for (part, words) in (0..).zip(parts) {
            for word in words {
                assert_eq!(
                    place.partition(word.as_bytes(), b"").unwrap(),
                    part,
                    "{word}"
                );
            }
        }
    }

    #[test]
    fn ranges_are_about_equal_and_in_order() {
        let keys: Vec<_> = (0..100_u8).map(|byte| vec![byte]).collect();
        let mut settings = Settings::default();
        settings.set(CUTS, &choose_cuts(&keys, 4));
        let mut place = total_order::<Text>(4, &settings, false).unwrap();
        assert_eq!(
            [0, 24, 25, 50, 99].map(|byte| place.partition(&[byte], b"").unwrap()),
            [0, 0, 1, 2, 3]
        );
        assert!(total_order::<Text>(5, &settings, false).is_err());
    }

    #[test]
    fn a_key_that_comes_often_makes_no_empty_range_while_there_are_others() {
        let mut keys = vec![b"a".to_vec()];
        keys.extend(vec![b"m".to_vec(); 90]);
        keys.extend([b"n".to_vec(), b"z".to_vec()]);
        assert_eq!(choose_cuts(&keys, 4), "6d,6e,7a");
        assert_eq!(choose_cuts(&vec![b"m".to_vec(); 9], 3), "6d,6d");
        assert_eq!(choose_cuts(&[], 3), ",");
    }
}
