//! Which reduce a key goes to.

use crate::datum::Key;
use crate::error::{Error, Result};
use crate::settings::Settings;
use crate::sort::collect::PartitionFn;

/// A way to deal keys to reduces.
pub trait Partitioner<K: Key>: 'static {
    /// The number of the reduce, below `partitions`, that gets `key`.
    ///
    /// # Errors
    /// The user's own.
    fn partition(&mut self, key: K::View<'_>, partitions: u32) -> Result<u32>;
}

/// Hadoop's `HashPartitioner`: Java's hash without its sign, modulo the number of reduces.
pub(crate) fn hashed<K: Key>(partitions: u32, by_first: bool) -> PartitionFn {
    Box::new(move |key| {
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

/// Ranges of keys, as settings tell them.
pub(crate) fn total_order(partitions: u32, settings: &Settings) -> Result<PartitionFn> {
    let cuts = cuts(settings)?;
    if cuts.len() + 1 != partitions as usize {
        return Err(Error::new(format!(
            "{partitions} ranges of keys are wanted where {} begin",
            cuts.len()
        )));
    }
    Ok(Box::new(move |key| {
        Ok(crate::width::word(
            cuts.partition_point(|cut| cut.as_slice() <= key),
        ))
    }))
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

/// Where `partitions` ranges of about equal numbers of the sampled `keys` begin, as the setting has it.
pub(crate) fn choose_cuts(mut keys: Vec<Vec<u8>>, partitions: u32) -> String {
    keys.sort();
    let mut cuts: Vec<String> = Vec::new();
    for range in 1..partitions as usize {
        let at = keys.len() * range / (partitions as usize).max(1);
        let key = keys.get(at).map(Vec::as_slice).unwrap_or_default();
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
                assert_eq!(place(word.as_bytes()).unwrap(), part, "{word}");
            }
        }
    }

    #[test]
    fn ranges_are_about_equal_and_in_order() {
        let keys = (0..100_u8).map(|byte| vec![byte]).collect();
        let mut settings = Settings::default();
        settings.set(CUTS, &choose_cuts(keys, 4));
        let mut place = total_order(4, &settings).unwrap();
        assert_eq!(
            [0, 24, 25, 50, 99].map(|byte| place(&[byte]).unwrap()),
            [0, 0, 1, 2, 3]
        );
        assert!(total_order(5, &settings).is_err());
    }
}
