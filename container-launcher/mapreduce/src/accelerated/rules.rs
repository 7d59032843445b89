//! What a job's settings say of accelerators.

use std::time::Duration;

use gerbil_task::settings::{ACC_FALLBACK, ACC_MODULES, ACC_TIMEOUT};

use crate::error::Result;
use crate::settings::Settings;

/// When packets are computed on the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fallback {
    /// Never: an attempt without a device fails for that.
    Never,
    /// Where an attempt begins without a device.
    Start,
    /// Also where an attempt has lost its device.
    Always,
}

/// What holds for an attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) fallback: Fallback,
    /// One packet after the other, on the attempt's thread alone.
    pub(super) is_serial: bool,
    /// How long it stands in line for devices that others hold.
    pub(super) wait: Duration,
    /// How long a packet may take.
    pub(super) answer: Duration,
}

/// For the answer to a packet where attempts are not to wait for devices.
const ANSWER: Duration = Duration::from_secs(60);

impl Rules {
    pub(super) fn of(settings: &Settings) -> Result<Self> {
        crate::settings::check_accelerators(settings)?;
        let wait = Duration::from_secs(settings.parse(ACC_TIMEOUT)?);
        Ok(Self {
            fallback: match settings.get(ACC_FALLBACK) {
                Some("never") => Fallback::Never,
                Some("always") => Fallback::Always,
                _ => Fallback::Start,
            },
            is_serial: settings.get(ACC_MODULES) == Some("serial"),
            wait,
            answer: match wait.is_zero() {
                true => ANSWER,
                false => wait,
            },
        })
    }
}
