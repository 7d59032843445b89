//! Numbers as Java's `toString` writes them, which is what Hadoop's text output holds.
//!
//! Floats have a point always, and an exponent below a thousandth and from ten million on. Their digits are the
//! shortest that are read back as the same number, two at least, of these the nearest to it, and of two that are equally
//! near the even one, as Java's are from 19 on; older ones sometimes write one more.

/// Something that text output holds.
pub(super) trait JavaText {
    /// As `toString` says it.
    fn java_text(&self) -> String;
}

macro_rules! as_here {
    ($($type:ty),*) => {
        $(impl JavaText for $type {
            fn java_text(&self) -> String {
                self.to_string()
            }
        })*
    };
}

as_here!(u64, i64, u32, i32, u16, i16, u8, i8, bool);

impl JavaText for f64 {
    fn java_text(&self) -> String {
        let is_same = |text: &str| {
            text.parse()
                .is_ok_and(|read: Self| read.to_bits() == self.to_bits())
        };
        let digits = nearest(
            format!("{self:e}"),
            |count| format!("{self:.count$e}"),
            is_same,
        );
        of_float(*self, &digits)
    }
}

impl JavaText for f32 {
    fn java_text(&self) -> String {
        let is_same = |text: &str| {
            text.parse()
                .is_ok_and(|read: Self| read.to_bits() == self.to_bits())
        };
        let digits = nearest(
            format!("{self:e}"),
            |count| format!("{self:.count$e}"),
            is_same,
        );
        of_float(f64::from(*self), &digits)
    }
}

/// Of all numbers of as many digits as the `shortest` has, and of two at least, the nearest one to the float, the even
/// one of two: `rounded` to so many digits behind the first, if that `is_same` float when it is read.
fn nearest(
    shortest: String,
    rounded: impl Fn(usize) -> String,
    is_same: impl Fn(&str) -> bool,
) -> String {
    let digits = shortest.split('e').next().unwrap_or_default();
    let count = digits.bytes().filter(u8::is_ascii_digit).count();
    let rounded = rounded(count.max(2) - 1);
    if rounded != shortest && is_same(&rounded) {
        return rounded;
    }
    shortest
}

/// `float`, whose digits and exponent are `exponential`: `1.25e-7`.
fn of_float(float: f64, exponential: &str) -> String {
    if float.is_nan() {
        return "NaN".to_owned();
    }
    let sign = if float.is_sign_negative() { "-" } else { "" };
    if float.is_infinite() {
        return format!("{sign}Infinity");
    }
    let (digits, exponent) = exponential.split_once('e').unwrap_or((exponential, "0"));
    let digits: String = digits.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_end_matches('0');
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if float == 0.0 {
        return format!("{sign}0.0");
    }
    if !(-3..7).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let rest = if rest.is_empty() { "0" } else { rest };
        return format!("{sign}{first}.{rest}E{exponent}");
    }
    let Ok(whole) = usize::try_from(exponent) else {
        let zeros = "0".repeat(usize::try_from(-1 - exponent).unwrap_or(0));
        return format!("{sign}0.{zeros}{digits}");
    };
    let padded = format!("{digits:0<width$}", width = whole + 2);
    let (whole, rest) = padded.split_at(whole + 1);
    format!("{sign}{whole}.{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `Double.toString` and `Float.toString` answer.
    #[test]
    fn floats_are_written_as_java_writes_them() {
        for (float, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (100.0, "100.0"),
            (1234.5678, "1234.5678"),
            (9_999_999.0, "9999999.0"),
            (10_000_000.0, "1.0E7"),
            (12_345_678.9, "1.23456789E7"),
            (0.001, "0.001"),
            (0.012, "0.012"),
            (0.000_999, "9.99E-4"),
            (1e-5, "1.0E-5"),
            (1e300, "1.0E300"),
            (f64::MAX, "1.7976931348623157E308"),
            (f64::MIN_POSITIVE, "2.2250738585072014E-308"),
            // Subnormals of one digit have two.
            (5e-324, "4.9E-324"),
            (1e-323, "9.9E-324"),
            (2e-323, "2.0E-323"),
            (1e23, "1.0E23"),
            (2e23, "2.0E23"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(float.java_text(), text);
        }
        for (float, text) in [
            (0.1_f32, "0.1"),
            (3.402_823_5e38, "3.4028235E38"),
            (16_777_216.0, "1.6777216E7"),
            (1e-45, "1.4E-45"),
            (3e-45, "2.8E-45"),
            // As near to ….3 as to ….2, which is even.
            (12_190_353.0 / 4.0, "3047588.2"),
            (12_190_355.0 / 4.0, "3047588.8"),
        ] {
            assert_eq!(float.java_text(), text);
        }
    }
}
