//! Dates, times and decimals as text: ISO 8601, and digits around a point.

/// What times are counted in.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    Millis,
    Micros,
    Nanos,
}

/// Days since 1970 as `2026-11-29`; years beyond four digits have a sign.
pub(crate) fn date(days: i64) -> String {
    // Days since 0000-03-01, in eras of 400 years, whose calendar repeats.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    match year {
        0..=9999 => format!("{year:04}-{month:02}-{day:02}"),
        _ => format!("{year:+05}-{month:02}-{day:02}"),
    }
}

/// How many digits are behind a second's point, and how many of the unit make a second.
const fn unit(unit: Unit) -> (usize, i64) {
    match unit {
        Unit::Millis => (3, 1000),
        Unit::Micros => (6, 1_000_000),
        Unit::Nanos => (9, 1_000_000_000),
    }
}

/// A time of day, as `12:30:00` or `12:30:00.250`.
pub(crate) fn time(of_day: i64, of: Unit) -> String {
    let (digits, second) = unit(of);
    let (seconds, rest) = (of_day.div_euclid(second), of_day.rem_euclid(second));
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let whole = format!("{hours:02}:{minutes:02}:{:02}", seconds % 60);
    match rest {
        0 => whole,
        _ => format!("{whole}.{rest:0digits$}"),
    }
}

/// A time since 1970, as `2026-11-29T12:30:00.250Z`: with a `Z` where it is an instant, and none where it is what a clock
/// on some wall shows.
pub(crate) fn timestamp(since: i64, of: Unit, is_instant: bool) -> String {
    let day = unit(of).1 * 86_400;
    let (days, of_day) = (since.div_euclid(day), since.rem_euclid(day));
    let zone = if is_instant { "Z" } else { "" };
    format!("{}T{}{zone}", date(days), time(of_day, of))
}

/// A decimal as its digits, with a point in front of the last `scale` ones.
#[cfg(feature = "parquet")]
pub(crate) fn decimal(bytes: &[u8], scale: usize) -> String {
    let is_negative = bytes.first().is_some_and(|first| *first >= 0x80);
    // The magnitude, the lowest byte first: of a negative number all bits are turned, and one is added.
    let mut carry = u8::from(is_negative);
    let magnitude = bytes.iter().rev().map(|byte| {
        let turned = if is_negative { !byte } else { *byte };
        let (byte, is_over) = turned.overflowing_add(carry);
        carry = u8::from(is_over);
        byte
    });
    let magnitude: Vec<u8> = magnitude.collect();
    // Its digits of base 10⁹, the lowest first.
    let mut digits: Vec<u64> = vec![0];
    for byte in magnitude.iter().rev() {
        let mut carry = u64::from(*byte);
        for digit in &mut digits {
            let next = *digit * 256 + carry;
            *digit = next % 1_000_000_000;
            carry = next / 1_000_000_000;
        }
        if carry > 0 {
            digits.push(carry);
        }
    }
    let mut text = String::new();
    for (place, digit) in digits.iter().rev().enumerate() {
        text.push_str(&match place {
            0 => digit.to_string(),
            _ => format!("{digit:09}"),
        });
    }
    if scale > 0 {
        // At least one digit in front of the point.
        let text_length = text.len().max(scale + 1);
        text = format!("{text:0>text_length$}");
        text.insert(text_length - scale, '.');
    }
    let is_zero = digits.iter().all(|digit| *digit == 0);
    if is_negative && !is_zero {
        format!("-{text}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{Unit, date, decimal, time, timestamp};

    #[test]
    fn days_are_dates() {
        let days = [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (20_786, "2026-11-29"),
            (-719_528, "0000-01-01"),
            (-719_529, "-0001-12-31"),
            (2_932_897, "+10000-01-01"),
        ];
        for (day, text) in days {
            assert_eq!(date(day), text);
        }
    }

    #[test]
    fn times_have_the_digits_of_their_unit_or_none() {
        assert_eq!(time(45_000_000, Unit::Millis), "12:30:00");
        assert_eq!(time(45_000_250, Unit::Millis), "12:30:00.250");
        let before = timestamp(-1, Unit::Micros, true);
        assert_eq!(before, "1969-12-31T23:59:59.999999Z");
        let after = timestamp(1, Unit::Nanos, false);
        assert_eq!(after, "1970-01-01T00:00:00.000000001");
        assert!(timestamp(i64::MIN, Unit::Millis, true).starts_with("-29227"));
    }

    #[test]
    fn decimals_are_their_digits() {
        let small = |value: i32, scale| decimal(&value.to_be_bytes(), scale);
        assert_eq!(small(12_345, 2), "123.45");
        assert_eq!(small(-5, 3), "-0.005");
        assert_eq!(small(0, 2), "0.00");
        assert_eq!(small(i32::MIN, 0), "-2147483648");
        let long = decimal(&i64::MIN.to_be_bytes(), 1);
        assert_eq!(long, "-922337203685477580.8");
        for large in [-i128::MAX, i128::MIN, i128::MAX] {
            assert_eq!(decimal(&large.to_be_bytes(), 0), large.to_string());
        }
        assert_eq!(decimal(&[], 0), "0");
    }
}
