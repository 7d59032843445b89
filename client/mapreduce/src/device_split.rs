//! Splits that fit a device: fixed when a job is submitted, so that they never depend on who is alive.

use gerbil_task::settings::{DEVICE_FRACTION, KNOWN};
use policy::MiB;

use crate::error::MapReduceError;
use crate::settings::Settings;

/// A fraction is counted in these.
const MILLIONTHS: u64 = 1_000_000;
/// A last piece of a file may be longer than the others by this many hundredths.
const SLOP: u64 = 110;

/// The most bytes of a split, and why, a sentence: `None` where no device's memory is known. `expansion` is that of
/// the mapper.
///
/// # Errors
/// The fraction is none.
pub fn most(
    smallest_device: Option<MiB>,
    settings: &Settings,
    expansion: u32,
) -> Result<Option<(u64, String)>, MapReduceError> {
    let default = KNOWN.iter().find(|known| known.name == DEVICE_FRACTION);
    let given = settings.get(DEVICE_FRACTION).map(String::as_str);
    let text = given.or(default.map(|known| known.default)).unwrap_or("1");
    let fraction = millionths(text.trim()).ok_or_else(|| {
        MapReduceError::Setting(format!(
            "{DEVICE_FRACTION}={text}: a fraction above 0 and up to 1 is wanted, such as 0.25"
        ))
    })?;
    let Some(memory) = smallest_device.filter(|memory| memory.0 > 0) else {
        return Ok(None);
    };
    let bytes = u128::from(memory.0) << 20;
    let expansion = expansion.max(1);
    let most = bytes * u128::from(fraction) / u128::from(MILLIONTHS) / u128::from(expansion);
    let cut = most * 100 / u128::from(SLOP);
    let cut = u64::try_from(cut).unwrap_or(u64::MAX).max(1);
    let divided = match expansion {
        1 => String::new(),
        more => format!(", of which a byte of input takes {more}"),
    };
    let why = format!(
        "splits have at most {} KiB: {text} of the {memory} of the smallest device{divided}",
        most / 1024
    );
    Ok(Some((cut, why)))
}

/// `0.25` is 250,000; `None`: it is no fraction above 0 and up to 1.
fn millionths(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if part.len() > 6 || !digits(part) || !digits(whole) || text.is_empty() {
        return None;
    }
    let whole: u64 = match whole {
        "" => 0,
        whole => whole.parse().ok()?,
    };
    let part: u64 = format!("{part:0<6}").parse().ok()?;
    let all = whole.checked_mul(MILLIONTHS)?.checked_add(part)?;
    (all > 0 && all <= MILLIONTHS).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(memory: Option<u64>, fraction: Option<&str>, expansion: u32) -> Result<u64, String> {
        let fraction = fraction.map(|value| (DEVICE_FRACTION.to_owned(), value.to_owned()));
        let found = most(memory.map(MiB), &fraction.into_iter().collect(), expansion);
        match found {
            Ok(found) => Ok(found.map_or(0, |(most, _)| most)),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn a_split_with_its_longest_last_piece_fits_the_fraction() {
        let quarter = 64 << 20;
        assert_eq!(of(Some(256), None, 0), Ok(quarter * 100 / 110));
        assert_eq!(of(Some(256), None, 4), Ok(quarter / 4 * 100 / 110));
        assert_eq!(of(Some(256), Some("1"), 1), Ok(256 * (1 << 20) * 100 / 110));
        assert_eq!(of(Some(1), Some("0.000001"), 1000), Ok(1));
        assert_eq!(of(None, None, 1), Ok(0));
        let why = most(Some(MiB(256)), &Settings::new(), 2)
            .unwrap()
            .unwrap()
            .1;
        assert_eq!(
            why,
            "splits have at most 32768 KiB: 0.25 of the 256 MiB of the smallest device, of which a byte of input \
             takes 2"
        );
    }

    #[test]
    fn what_is_no_fraction_is_refused() {
        for text in ["0", "1.1", "a quarter", "-1", ".", "0.0000001", "1e-3"] {
            let refused = of(Some(256), Some(text), 1).unwrap_err();
            assert!(
                refused.starts_with(&format!("device.fraction={text}: ")),
                "{refused}"
            );
        }
        assert_eq!(of(Some(4), Some(".5"), 1), Ok((2 << 20) * 100 / 110));
    }
}
