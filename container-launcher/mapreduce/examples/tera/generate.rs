//! The rows of TeraGen: `GenSort` and `Random16` of Hadoop, after the gensort of the sort benchmark.
//!
//! ```text
//!  0        10    12                        44         48                96
//!  +--------+-----+-------------------------+----------+-----------------+----------+
//!  | key    |00 11| row number, 32 hex      |88 99 AA BB| 12 digits, 4 × |CC DD EE FF|
//!  +--------+-----+-------------------------+----------+-----------------+----------+
//! ```

use gerbil_mapreduce::prelude::*;

use crate::{KEY, RECORD};

/// The generator's factor and summand: of a linear congruential one with 128 bits.
const FACTOR: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
const SUMMAND: u128 = 0x4a69_6d47_7261_7952_4950_2020_2020_2001;

/// The state after `steps` steps from 0.
pub(crate) fn skip(steps: u64) -> u128 {
    let (mut factor, mut summand) = (FACTOR, SUMMAND);
    let mut state = 0_u128;
    let mut left = steps;
    while left > 0 {
        if left & 1 == 1 {
            state = state.wrapping_mul(factor).wrapping_add(summand);
        }
        summand = summand.wrapping_mul(factor.wrapping_add(1));
        factor = factor.wrapping_mul(factor);
        left >>= 1;
    }
    state
}

fn digits<const N: usize>(mut number: u128) -> [u8; N] {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut text = [b'0'; N];
    for digit in text.iter_mut().rev() {
        *digit = DIGITS[usize::from(number.to_le_bytes()[0] & 15)];
        number >>= 4;
    }
    text
}

/// One row.
fn row(random: u128, number: u64) -> [u8; RECORD] {
    let mut row = [0; RECORD];
    row[..KEY].copy_from_slice(&random.to_be_bytes()[..KEY]);
    row[10..12].copy_from_slice(&[0x00, 0x11]);
    row[12..44].copy_from_slice(&digits::<32>(u128::from(number)));
    row[44..48].copy_from_slice(&[0x88, 0x99, 0xAA, 0xBB]);
    for (four, digit) in row[48..96].chunks_mut(4).zip(digits::<12>(random)) {
        four.fill(digit);
    }
    row[96..].copy_from_slice(&[0xCC, 0xDD, 0xEE, 0xFF]);
    row
}

/// Makes rows.
pub(crate) struct Rows;

impl Mapper for Rows {
    type Input = Numbers;
    type Key = Text;
    type Value = Text;

    fn map(&mut self, number: u64, (): (), out: &mut Emit<'_, Self>) -> Result<()> {
        let row = row(skip(number + 1), number);
        let (key, value) = row.split_at(KEY);
        out.emit(key, value)
    }
}
