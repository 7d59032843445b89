//! What the records of a map's output are known by.

use crate::message::Partition;

/// A digest of all records that a map has left, whatever their order within a partition: two outputs of the
/// same records have the same.
#[must_use]
pub fn records_digest(partitions: &[Partition]) -> u128 {
    const ODD: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    partitions.iter().fold(0_u128, |digest, partition| {
        let one = u128::from(partition.records_digest) << 64 | u128::from(partition.records);
        (digest ^ one).wrapping_mul(ODD).rotate_left(29)
    })
}

#[cfg(test)]
mod tests {
    use super::{Partition, records_digest};

    #[test]
    fn records_of_one_partition_are_not_those_of_another() {
        let of = |records, records_digest, bytes_digest| Partition {
            records,
            records_digest,
            bytes_digest,
            ..Partition::default()
        };
        let (one, other) = (of(1, 7, 1), of(1, 8, 1));
        assert_ne!(records_digest(&[one, other]), records_digest(&[other, one]));
        assert_ne!(records_digest(&[one]), records_digest(&[of(2, 7, 1)]));
        // Their order is no matter.
        assert_eq!(records_digest(&[one]), records_digest(&[of(1, 7, 2)]));
    }
}
