//! Short decimals become floats, eight digits at a time.
//!
//! What people and programs write is mostly `-0.081234`: a sign, few digits, a point, few digits.  Such a
//! number is an integer of at most 53 bits divided by a small power of ten: one division of doubles, which
//! is correctly rounded.  Rounding that again to a float gives the float nearest to the decimal, unless the
//! double lies exactly half way between two floats; this, and whatever else is not short, is left to
//! another parser.

/// Powers of ten that a double holds exactly, as far as they are needed.
const TENS: [f64; 17] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
];
/// Digits before and after the point, at most: together they stay below 2^53.
const BEFORE: usize = 7;
const AFTER: usize = 8;
/// Bits of a double that a float has not, and their value half way between two floats.
const DROPPED: u64 = (1 << 29) - 1;
const HALF: u64 = 1 << 28;

/// Reads a short decimal at the start of a text, and how long it is; `None` where it is not one, or where
/// the text ends too soon after it to be read eight bytes at a time.
pub(super) fn short(text: &[u8]) -> Option<(f32, usize)> {
    let negative = *text.first()? == b'-';
    let start = usize::from(negative);
    let word = eight(text, start)?;
    let before = digits(word);
    if !(1..=BEFORE).contains(&before) {
        return None;
    }
    let mut mantissa = value(word, before);
    let mut end = start + before;
    let mut after = 0;
    if text.get(end) == Some(&b'.') {
        let word = eight(text, end + 1)?;
        after = digits(word);
        if after == 0 {
            return None;
        }
        mantissa = mantissa * TEN[after] + value(word, after);
        end += 1 + after;
    }
    // More digits than eight, or an exponent.
    if matches!(text.get(end), Some(b'0'..=b'9' | b'e' | b'E' | b'.')) {
        return None;
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "fewer than 16 digits fit into a double"
    )]
    let double = mantissa as f64 / TENS[after];
    if double.to_bits() & DROPPED == HALF {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rounds to the nearest float, and nothing here is too large for one"
    )]
    let float = double as f32;
    Some((if negative { -float } else { float }, end))
}

/// Powers of ten, for eight digits.
const TEN: [u64; AFTER + 1] = [
    1,
    10,
    100,
    1000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
];

fn eight(text: &[u8], at: usize) -> Option<u64> {
    let bytes = text.get(at..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*bytes) ^ 0x3030_3030_3030_3030)
}

/// How many bytes of the word, from the lowest on, are digits.
fn digits(word: u64) -> usize {
    // A byte of 10 or more gets its highest bit; what carries over does so above the first of them.
    let beyond = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
    usize::try_from(beyond.trailing_zeros() / 8).unwrap_or(8)
}

/// The number that the first `count` digits are, 1 to 8 of them.
fn value(word: u64, count: usize) -> u64 {
    // Zeros go before; then pairs, fours and eights are joined.
    let word = word << (64 - 8 * count);
    let word = word.wrapping_mul(10).wrapping_add(word >> 8);
    let low = (word & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let high = ((word >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    low.wrapping_add(high) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn short_decimals_are_read_and_others_are_left() {
        let read = |text: &str| short(format!("{text}        ").as_bytes());
        assert_eq!(read("0.5"), Some((0.5, 3)));
        assert_eq!(read("-12.25"), Some((-12.25, 6)));
        assert_eq!(read("7"), Some((7.0, 1)));
        assert_eq!(read("1234567.12345678"), Some((1_234_567.1, 16)));
        assert_eq!(read("-0").map(|(zero, _)| zero.to_bits()), Some(1 << 31));
        assert_eq!(read("8388608.5"), None, "half way between two floats");
        for left in [
            "",
            "-",
            ".5",
            "5.",
            "+5",
            "1e5",
            "1.5e5",
            "12345678",
            "0.123456789",
            "nan",
            "1.2.3",
            "--1",
        ] {
            assert_eq!(read(left), None, "{left}");
        }
        assert_eq!(short(b"0.5"), None, "the text ends too soon");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn each_is_the_float_that_the_standard_library_reads(
            negative: bool, before in 0u32..10_000_000, after in 0u32..100_000_000, places in 0usize..=8,
        ) {
            let sign = if negative { "-" } else { "" };
            let fraction = format!("{after:08}");
            let point = if places > 0 { "." } else { "" };
            let word = format!("{sign}{before}{point}{}", &fraction[..places]);
            if let Some((float, length)) = short(format!("{word} 12345678").as_bytes()) {
                prop_assert_eq!(float.to_bits(), word.parse::<f32>().unwrap().to_bits());
                prop_assert_eq!(length, word.len());
            }
        }
    }
}
