//! Waiting for something outside this process, with a deadline.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Time between two looks: a two-hundredth of the time waited so far, so that what is measured by
/// waiting is off by half a percent, within these bounds.
const PAUSE: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// Looks with `probe` until it returns a value, and returns that value.
///
/// # Errors
///
/// The probe's own error, at once; after `deadline`, a sentence with `what` and the time waited.
pub fn until<T>(
    what: &str,
    deadline: Duration,
    mut probe: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let begin = Instant::now();
    loop {
        if let Some(value) = probe()? {
            return Ok(value);
        }
        if begin.elapsed() >= deadline {
            bail!("{what}: not so after {deadline:?}");
        }
        pause((begin.elapsed() / 200).clamp(PAUSE.0, PAUSE.1));
    }
}

/// Lets this thread rest, between two looks at something that cannot wake it, or for as long as
/// something outside is to be away.
#[expect(
    clippy::disallowed_methods,
    reason = "every caller is a plain thread, and the time is bounded"
)]
pub fn pause(time: Duration) {
    std::thread::sleep(time);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deadline_is_kept_and_named() {
        let begin = Instant::now();
        let error =
            until::<()>("the moon to fall", Duration::from_millis(120), || Ok(None)).unwrap_err();
        assert!(begin.elapsed() < Duration::from_secs(5));
        assert!(error.to_string().starts_with("the moon to fall"), "{error}");
    }

    #[test]
    fn the_first_value_ends_the_wait() {
        let mut looks = 0;
        let value = until("three looks", Duration::from_secs(5), || {
            looks += 1;
            Ok((looks == 3).then_some(looks))
        });
        assert_eq!(value.unwrap(), 3);
    }
}
