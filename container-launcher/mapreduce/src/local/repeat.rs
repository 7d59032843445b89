//! A map that is done twice must leave the same records.

use gerbil_task::Partition;

/// What a map left when it was done again, beside what it left before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// The same bytes.
    Same,
    /// The same records, in another order.
    Reordered,
    /// Other records.
    Different {
        /// The first partition that differs.
        partition: usize,
        /// How many records it had, and has.
        records: (u64, u64),
    },
}

/// Compares the digests of two outputs of one map.
pub(crate) fn compare(before: &[Partition], now: &[Partition]) -> Repeat {
    let pairs = || before.iter().zip(now);
    let differs = pairs().position(|(before, now)| {
        (before.records, before.records_digest) != (now.records, now.records_digest)
    });
    if let Some(partition) = differs {
        let records = |of: &[Partition]| of.get(partition).map_or(0, |it| it.records);
        return Repeat::Different {
            partition,
            records: (records(before), records(now)),
        };
    }
    if pairs().all(|(before, now)| before.bytes_digest == now.bytes_digest) {
        Repeat::Same
    } else {
        Repeat::Reordered
    }
}

#[cfg(test)]
mod tests {
    use super::{Repeat, compare};
    use gerbil_task::Partition;

    #[test]
    fn digests_tell_order_from_content() {
        let of = |records, bytes_digest, records_digest| Partition {
            records,
            bytes_digest,
            records_digest,
            ..Partition::default()
        };
        let before = [of(3, 1, 10), of(4, 2, 20)];
        assert_eq!(compare(&before, &before), Repeat::Same);
        assert_eq!(
            compare(&before, &[of(3, 1, 10), of(4, 9, 20)]),
            Repeat::Reordered
        );
        assert_eq!(
            compare(&before, &[of(3, 1, 10), of(5, 9, 21)]),
            Repeat::Different {
                partition: 1,
                records: (4, 5)
            }
        );
    }
}
