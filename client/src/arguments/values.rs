//! How amounts, spans, ranges and yes or no are written on the command line.

use std::ffi::OsStr;
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use job::Universe;
use policy::lifecycle::{LONGEST_GATHER, SHORTEST_REISSUE};

/// A whole number from `first` to `last` of something, in a sentence where it is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole<T> {
    /// What is counted.
    what: &'static str,
    first: T,
    last: T,
}

impl<T> Whole<T> {
    pub(crate) const fn new(what: &'static str, first: T, last: T) -> Self {
        Self { what, first, last }
    }
}

impl<T> clap::builder::TypedValueParser for Whole<T>
where
    T: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    type Value = T;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        let Self { what, first, last } = self.clone();
        let read = move |text: &str| match text.parse::<T>() {
            Ok(number) if first <= number && number <= last => Ok(number),
            Ok(_) | Err(_) => Err(format!(
                "{text} is no {what}; write one from {first} to {last}"
            )),
        };
        read.parse_ref(command, argument, value)
    }
}

/// Any whole number; larger is sooner.
pub(super) fn priority(text: &str) -> Result<i32, String> {
    text.parse()
        .map_err(|_no_number| format!("{text} is no priority; write a whole number"))
}

/// YARN keeps tags in lower case, of at most 100 characters of ASCII.
pub(super) fn tag(text: &str) -> Result<String, String> {
    match text {
        "" => Err("a tag is empty".into()),
        _ if text.len() > TAG_MAX => Err(format!(
            "{text} is longer than {TAG_MAX} characters, which YARN takes for no tag"
        )),
        _ if !text.bytes().all(|byte| byte.is_ascii_graphic()) => Err(format!(
            "{text} is no tag: YARN wants letters, digits and punctuation of ASCII, no blanks"
        )),
        _ => Ok(text.to_ascii_lowercase()),
    }
}

/// Hadoop's YarnConfiguration.APPLICATION_MAX_TAG_LENGTH.
const TAG_MAX: usize = 100;

/// `512`, `512m`, `4g`, `1t`, also `4GiB` and `4GB`, as MiB.
pub(crate) fn memory(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text[digits.len()..].to_ascii_lowercase();
    let number: u64 = digits.parse().map_err(|_not_a_number| {
        format!("{text} is no amount of memory; write for example 512m or 4g")
    })?;
    // YARN's own units are Mi, Gi and Ti.
    let scale = match unit.as_str() {
        "" | "m" | "mb" | "mi" | "mib" => 1,
        "g" | "gb" | "gi" | "gib" => 1024,
        "t" | "tb" | "ti" | "tib" => 1024 * 1024,
        _ => return Err(format!("{unit} is no unit of memory; write m, g or t")),
    };
    match number.checked_mul(scale) {
        Some(0) | None => Err(format!("{text} is out of range")),
        Some(mib) => Ok(mib),
    }
}

/// `16`, `SYSTEM` or `INFINITE`, in any case of letters.
pub(super) fn universe(text: &str) -> Result<Universe, String> {
    match text.to_ascii_uppercase().as_str() {
        "SYSTEM" => Ok(Universe::Cores),
        "INFINITE" => Ok(Universe::Unknown),
        number => number
            .parse()
            .map(Universe::Processes)
            .map_err(|_no_count| {
                format!("{text} is no number of processes; write one, SYSTEM or INFINITE")
            }),
    }
}

/// `50100-50200`, or one port.
pub(crate) fn ports(text: &str) -> Result<(u16, u16), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let port = |text: &str| match text.trim().parse::<u16>() {
        Ok(port) if port > 0 => Ok(port),
        Ok(_) | Err(_) => Err(format!("{text} is no port; write for example 50100-50200")),
    };
    let (first, last) = (port(first)?, port(last)?);
    if first > last {
        return Err(format!("the range {text} is empty"));
    }
    Ok((first, last))
}

/// Longest span that is taken: a year. Longer ones are slips of the hand.
const SPAN_MAX_MS: u64 = 366 * 24 * 3600 * 1000;

/// `30` and `30s` are seconds; also `500ms`, `5m`, `1h`, `2d`.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().map_err(|_not_a_number| {
        format!("{text} is no span of time; write for example 30s or 5m")
    })?;
    let scale = match &text[digits.len()..] {
        "ms" => 1,
        "" | "s" => 1000,
        "m" | "min" => 60 * 1000,
        "h" => 3600 * 1000,
        "d" => 24 * 3600 * 1000,
        unit => {
            return Err(format!("{unit} is no unit of time; write ms, s, m, h or d"));
        }
    };
    match number.checked_mul(scale) {
        Some(ms @ 1..=SPAN_MAX_MS) => Ok(Duration::from_millis(ms)),
        Some(_) | None => Err(format!("{text} is out of range; 1ms to 366d are possible")),
    }
}

/// A time as Slurm has it: minutes, `MM:SS`, `HH:MM:SS`, and with days before a dash `D-HH`,
/// `D-HH:MM`, `D-HH:MM:SS`.
pub(super) fn slurm_time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text} is no time; write minutes, or for example 1:30:00 or 2-12");
    let number = |text: &str| text.parse::<u64>().map_err(|_no_number| wrong());
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (Some(number(days)?), clock),
        None => (None, text),
    };
    let parts: Vec<u64> = clock.split(':').map(number).collect::<Result<_, _>>()?;
    let (hours, minutes, seconds) = match (days.is_some(), &parts[..]) {
        (false, &[minutes]) => (0, minutes, 0),
        (false, &[minutes, seconds]) => (0, minutes, seconds),
        (true, &[hours]) => (hours, 0, 0),
        (true, &[hours, minutes]) => (hours, minutes, 0),
        (_, &[hours, minutes, seconds]) => (hours, minutes, seconds),
        _ => return Err(wrong()),
    };
    let sum = [
        (days.unwrap_or(0), 86_400),
        (hours, 3600),
        (minutes, 60),
        (seconds, 1),
    ]
    .into_iter()
    .try_fold(0u64, |sum, (count, each)| {
        sum.checked_add(count.checked_mul(each)?)
    });
    match sum.and_then(|seconds| seconds.checked_mul(1000)) {
        Some(ms @ 1..=SPAN_MAX_MS) => Ok(Duration::from_millis(ms)),
        Some(_) | None => Err(format!(
            "{text} is out of range; 1 second to 366 days are possible"
        )),
    }
}

/// The span for which a gang may stay incomplete, or after which its requests are placed again. YARN
/// takes a granted container back that has not been started for ten minutes; what was granted first
/// must be started before.
pub(super) fn gang_span(text: &str) -> Result<Duration, String> {
    let shortest = Duration::from_millis(SHORTEST_REISSUE.0);
    let longest = Duration::from_millis(LONGEST_GATHER.0);
    match span(text)? {
        span if span > longest => Err(format!(
            "{text} is too long: YARN takes a container back that is not used within ten minutes; at \
             most {}m is possible",
            longest.as_secs() / 60
        )),
        span if span < shortest => Err(format!(
            "{text} is too short: a NodeManager is given work once a second; at least {}s is possible",
            shortest.as_secs()
        )),
        span => Ok(span),
    }
}

/// `true`, `yes`, `on`, `1`, and their opposites.
pub(super) fn yes_or_no(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err(format!("{text} is neither true nor false")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_memory_have_units() {
        let known = |n| Ok(Universe::Processes(std::num::NonZeroU32::new(n).unwrap()));
        assert_eq!(universe("16"), known(16));
        assert_eq!(universe("system"), Ok(Universe::Cores));
        assert_eq!(universe("INFINITE"), Ok(Universe::Unknown));
        assert!(universe("0").is_err() && universe("-1").is_err());
        assert_eq!(memory("512"), Ok(512));
        assert_eq!(memory("4g"), Ok(4096));
        for (yarns, mib) in [
            ("1Gi", 1024),
            ("512Mi", 512),
            ("2Ti", 2 << 20),
            ("3GiB", 3072),
        ] {
            assert_eq!(memory(yarns), Ok(mib), "{yarns}");
        }
        for none in ["5i", "5ib", "5b", "5k", "5gg"] {
            assert!(memory(none).is_err(), "{none}");
        }
        assert_eq!(memory("4GiB"), Ok(4096));
        assert_eq!(memory("1tb"), Ok(1024 * 1024));
        for bad in ["", "g", "0", "12x", "99999999999999999t", "-1"] {
            assert!(memory(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn port_ranges_are_ranges() {
        assert_eq!(ports("50100-50200"), Ok((50100, 50200)));
        assert_eq!(ports("50100"), Ok((50100, 50100)));
        for bad in ["", "0-5", "9-8", "1-70000", "a-b"] {
            assert!(ports(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn spans_have_units_and_ends() {
        let seconds = |s| Ok(Duration::from_secs(s));
        assert_eq!(span("30"), seconds(30));
        assert_eq!(span("30s"), seconds(30));
        assert_eq!(span("5m"), seconds(300));
        assert_eq!(span("1h"), seconds(3600));
        assert_eq!(span("1d"), seconds(86_400));
        assert_eq!(span("500ms"), Ok(Duration::from_millis(500)));
        for bad in [
            "",
            "s",
            "0",
            "-1",
            "1.5s",
            "5w",
            "367d",
            "99999999999999999999h",
        ] {
            assert!(span(bad).is_err(), "{bad}");
        }
        assert_eq!(gang_span("8m"), seconds(480));
        assert_eq!(gang_span("1s"), seconds(1));
        assert!(gang_span("9m").unwrap_err().contains("at most 8m"));
        assert!(gang_span("500ms").unwrap_err().contains("at least 1s"));
    }

    #[test]
    fn times_are_slurms() {
        for (text, seconds) in [
            ("30", 1800),
            ("1:30", 90),
            ("1:00:00", 3600),
            ("2-12", 60 * 3600),
            ("1-0:30", 86_400 + 1800),
            ("0-0:0:5", 5),
        ] {
            assert_eq!(slurm_time(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for bad in [
            "",
            "0",
            "30m",
            "1:2:3:4",
            "1-",
            "-1",
            "367-0",
            "99999999999999999999",
        ] {
            assert!(slurm_time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn yes_and_no_in_many_words() {
        for yes in ["true", "yes", "on", "1", "TRUE"] {
            assert_eq!(yes_or_no(yes), Ok(true));
        }
        for no in ["false", "no", "off", "0", "No"] {
            assert_eq!(yes_or_no(no), Ok(false));
        }
        assert!(yes_or_no("maybe").is_err());
    }
}
