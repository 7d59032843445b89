//! Keys, partitioners and combiners of one's own.

use std::io::Write as _;

use gerbil_mapreduce::prelude::*;
use gerbil_mapreduce::{EncodeAs, Key, Value};

/// A year and a month, in the order of time; the bytes are those of a number, and text has it as `2026-11`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg(test)]
pub(super) struct Month {
    pub(super) year: u16,
    pub(super) month: u8,
}

#[cfg(test)]
impl Value for Month {
    type View<'a> = Self;
    type Owned = Self;
    const WRITABLE: Option<&'static str> = None;

    fn decode(mut bytes: &[u8]) -> Result<Self> {
        Self::part(&mut bytes)
    }

    fn text(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let Self { year, month } = Self::decode(bytes)?;
        Ok(write!(out, "{year}-{month:02}")?)
    }
}

#[cfg(test)]
impl Key for Month {
    type Part<'a> = Self;

    fn part(bytes: &mut &[u8]) -> Result<Self> {
        let (head, rest) = bytes
            .split_first_chunk()
            .ok_or_else(|| Error::new("no month"))?;
        *bytes = rest;
        let [a, b, month] = *head;
        let year = u16::from_be_bytes([a, b]);
        Ok(Self { year, month })
    }

    fn java_hash(bytes: &[u8]) -> i32 {
        bytes
            .iter()
            .fold(1, |hash, byte| hash * 31 + i32::from(*byte))
    }

    fn java_hash_of_part(bytes: &mut &[u8]) -> Result<i32> {
        let before = *bytes;
        Self::part(bytes)?;
        Ok(Self::java_hash(&before[..3]))
    }
}

#[cfg(test)]
impl EncodeAs<Self> for Month {
    fn append(&self, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&self.year.to_be_bytes());
        out.push(self.month);
        Ok(())
    }
}

/// `2026-11 3`: a month and a number.
#[cfg(test)]
fn month_of(line: &[u8]) -> Result<(Month, u64)> {
    let text = std::str::from_utf8(line)?;
    let (month, number) = text
        .split_once(' ')
        .ok_or_else(|| Error::new("no number"))?;
    let (year, month) = month
        .split_once('-')
        .ok_or_else(|| Error::new("no month"))?;
    let month = Month {
        year: year.parse()?,
        month: month.parse()?,
    };
    Ok((month, number.parse()?))
}

#[cfg(test)]
pub(super) struct Months;

#[cfg(test)]
impl Mapper for Months {
    type Input = TextLines;
    type Key = Month;
    type Value = u64;

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let (month, number) = month_of(line)?;
        out.emit(&month, &number)
    }
}

#[cfg(test)]
pub(super) const MONTHS: &str = "2026-11 1\n987-2 2\n2026-2 4\n2026-11 8\n2027-1 16\n";

#[test]
fn a_key_of_ones_own_is_sorted_grouped_and_shown() {
    let job = Job::new("months")
        .map(|| Months)
        .combine(|| Sum)
        .reduce(|| Sum);
    let done = job.test().input(MONTHS).input("2026-2 32\n").run().unwrap();
    assert_eq!(
        done.text(),
        "987-02\t2\n2026-02\t36\n2026-11\t9\n2027-01\t16\n"
    );
}

/// One in front of other parts of a tuple, too: the months of each number.
#[test]
fn a_key_of_ones_own_is_a_part_of_a_tuple() {
    let job = Job::new("pairs")
        .map_lines::<(Month, u64), (), _>(|line, out| {
            let (month, number) = month_of(line)?;
            out.emit(&(month, number), &())
        })
        .group_by_first()
        .reduce_with::<Month, u64, _>(|(month, _), values, out| {
            let mut count = 0_u64;
            while values.next()?.is_some() {
                count += 1;
            }
            out.emit(&month, &count)
        });
    let done = job.test().input(MONTHS).reduces(2).run().unwrap();
    let mut lines: Vec<String> = done.text().lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(
        lines,
        ["2026-02\t1", "2026-11\t2", "2027-01\t1", "987-02\t1"]
    );
}

/// Months to quarters; the fourth is one too far where there are three reduces.
#[cfg(test)]
struct Quarters;

#[cfg(test)]
impl Partitioner<Month> for Quarters {
    fn partition(&mut self, key: Month, _partitions: u32) -> Result<u32> {
        match key.month {
            0 => Err(Error::new("there is no month 0")),
            month => Ok(u32::from(month - 1) / 3),
        }
    }
}

#[test]
fn a_partitioner_of_ones_own_says_which_file_a_key_is_in() {
    let job = || {
        Job::new("quarters")
            .map(|| Months)
            .partition(|| Quarters)
            .reduce(|| Sum)
            .test()
            .input(MONTHS)
    };
    let done = job().reduces(4).run().unwrap();
    let part =
        |number| String::from_utf8(done.files()[&format!("part-r-0000{number}")].clone()).unwrap();
    assert_eq!(part(0), "987-02\t2\n2026-02\t4\n2027-01\t16\n");
    assert_eq!([part(1), part(2)], ["", ""]);
    assert_eq!(part(3), "2026-11\t9\n");
    let error = job().reduces(3).run().unwrap_err().to_string();
    assert!(
        error.ends_with("the partitioner said 3 where there are 3 partitions"),
        "{error}"
    );
    let error = job()
        .input("2026-0 1\n")
        .reduces(4)
        .run()
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("input-1, record 0 at byte 0: there is no month 0"),
        "{error}"
    );
}

/// Adds, and will have no 3.
#[cfg(test)]
struct NoThree;

#[cfg(test)]
impl Combiner<u64> for NoThree {
    fn combine(&mut self, left: u64, right: u64) -> Result<u64> {
        match left + right {
            3 => Err(Error::new("three of one key")),
            sum => Ok(sum),
        }
    }
}

/// Values are combined a few at a time, but never later than with the record that they were emitted for.
#[test]
fn what_a_combiner_refuses_is_blamed_on_the_record_that_brought_it() {
    let job = || {
        Job::new("refusing").map_lines::<Text, u64, _>(|line, out| {
            line.split(|byte| *byte == b' ')
                .try_for_each(|word| out.emit(word, &1))
        })
    };
    // More words than are combined at a time, and words that are too long for a slot.
    let many: String = (0..40).map(|n| format!("{n} ")).collect();
    let long = "a word that no slot of the table has room for";
    for word in ["a", long] {
        let word = word.replace(' ', "-");
        let refused = format!("{word} {many}\nb\n{word} b\n{word}\nlast\n");
        let at = refused.match_indices('\n').nth(2).unwrap().0 + 1;
        let job = job().combine(|| NoThree).reduce(|| Sum).test();
        let error = job.input(&refused).run().unwrap_err().to_string();
        let words = format!("record 3 at byte {at}: three of one key");
        assert!(error.ends_with(&words), "{error}");
    }
}
