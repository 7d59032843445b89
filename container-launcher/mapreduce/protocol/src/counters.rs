//! What tasks have counted.

use std::collections::BTreeMap;

/// Counters, group by group, under Hadoop's names where Hadoop has them.
pub type Counters = BTreeMap<String, BTreeMap<String, u64>>;

/// Adds a task's counters to a job's: sums, but the greater of two that are maxima by their name.
pub fn add(sums: &mut Counters, counters: Counters) {
    for (group, counters) in counters {
        let sums = sums.entry(group).or_default();
        for (counter, value) in counters {
            let is_maximum = counter.ends_with("_MAX");
            let sum = sums.entry(counter).or_default();
            *sum = if is_maximum {
                value.max(*sum)
            } else {
                sum.saturating_add(value)
            };
        }
    }
}

/// Adds the bytes that a task has written to the output of its job: its launcher counts them, whatever engine the task has.
pub fn count_written(counters: &mut Counters, bytes: u64) {
    let group = counters.entry(WRITTEN.to_owned()).or_default();
    let sum = group.entry("BYTES_WRITTEN".to_owned()).or_default();
    *sum = sum.saturating_add(bytes);
}

/// Hadoop's group of what is written to the output.
const WRITTEN: &str = "org.apache.hadoop.mapreduce.lib.output.FileOutputFormatCounter";

#[cfg(test)]
mod tests {
    use super::{Counters, add};

    #[test]
    fn sums_and_maxima() {
        let of = |sum: u64, most: u64| -> Counters {
            let counters = [("A".to_owned(), sum), ("B_MAX".to_owned(), most)];
            [("g".to_owned(), counters.into())].into()
        };
        let mut sums = of(1, 5);
        add(&mut sums, of(2, 3));
        assert_eq!(sums, of(3, 5));
    }
}
