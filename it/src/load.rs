//! What processes use, and how busy the machine is: said beside everything that is measured.

use std::fs;
use std::time::Instant;

use anyhow::{Context as _, Result};

/// Memory and processor time of one process at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    at: Instant,
    /// User and system time so far, in ticks of the clock.
    ticks: u64,
    /// Resident size, KiB.
    pub resident_kib: u64,
    /// Highest resident size so far, KiB.
    pub peak_kib: u64,
}

/// Ticks of `/proc` a second, on every Linux of today.
const TICKS: f64 = 100.0;

impl Usage {
    /// Of the process with this id.
    ///
    /// # Errors
    ///
    /// There is no such process.
    pub fn of(process: u32) -> Result<Self> {
        Self::read(&process.to_string())
    }

    /// Of this process.
    ///
    /// # Errors
    ///
    /// `/proc` cannot be read.
    pub fn of_self() -> Result<Self> {
        Self::read("self")
    }

    fn read(name: &str) -> Result<Self> {
        let path = format!("/proc/{name}/stat");
        let stat = fs::read_to_string(&path).with_context(|| path.clone())?;
        // Fields are counted behind the command, which may hold anything: 14 and 15 of the whole line.
        let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
        let fields = behind.split_whitespace().skip(11).take(2);
        let ticks = fields.map(str::parse::<u64>).sum::<Result<_, _>>();
        let status = fs::read_to_string(format!("/proc/{name}/status"))?;
        let kib = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            let number = line.and_then(|line| line.split_whitespace().next());
            number.and_then(|number| number.parse().ok()).unwrap_or(0)
        };
        Ok(Self {
            at: Instant::now(),
            ticks: ticks.with_context(|| format!("reading {path}"))?,
            resident_kib: kib("VmRSS:"),
            peak_kib: kib("VmHWM:"),
        })
    }

    /// Resident size, 10^6 bytes.
    #[must_use]
    pub fn resident_mb(&self) -> f64 {
        megabytes(self.resident_kib)
    }

    /// Share of one core used since `earlier`, in percent.
    #[must_use]
    pub fn percent_since(&self, earlier: &Self) -> f64 {
        let seconds = self.at.duration_since(earlier.at).as_secs_f64();
        100.0 * self.seconds_since(earlier) / seconds.max(1.0 / TICKS)
    }

    /// Processor time used since `earlier`, seconds.
    #[must_use]
    pub fn seconds_since(&self, earlier: &Self) -> f64 {
        self.ticks.saturating_sub(earlier.ticks) as f64 / TICKS
    }
}

/// Several processes at one moment.
#[derive(Debug, Clone)]
pub struct All(Vec<Usage>);

impl All {
    /// Of the processes with these ids.
    ///
    /// # Errors
    ///
    /// One is not there.
    pub fn of(processes: &[u32]) -> Result<Self> {
        let usages = processes.iter().map(|process| Usage::of(*process));
        usages.collect::<Result<_>>().map(Self)
    }

    /// Resident size of all, 10^6 bytes.
    #[must_use]
    pub fn resident_mb(&self) -> f64 {
        self.0.iter().map(Usage::resident_mb).sum()
    }

    /// Share of one core that all used since `earlier`, when they were the same, in percent.
    #[must_use]
    pub fn percent_since(&self, earlier: &Self) -> f64 {
        let pairs = self.0.iter().zip(&earlier.0);
        pairs.map(|(now, earlier)| now.percent_since(earlier)).sum()
    }
}

/// KiB as 10^6 bytes.
#[must_use]
pub fn megabytes(kib: u64) -> f64 {
    kib as f64 * 1024.0 / 1e6
}

/// Runnable processes, mean of a minute.
///
/// # Errors
///
/// `/proc` cannot be read.
pub fn average() -> Result<f64> {
    let text = fs::read_to_string("/proc/loadavg")?;
    let first = text.split(' ').next().context("/proc/loadavg is empty")?;
    first.parse().context("/proc/loadavg")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_shows() {
        let before = Usage::of_self().unwrap();
        let mut sum = 0_u64;
        // Counted in hundredths of a second, which a busy machine may take a while to grant.
        let after = loop {
            for _ in 0..1_000_000 {
                sum = std::hint::black_box(sum.wrapping_add(1));
            }
            let after = Usage::of(std::process::id()).unwrap();
            if after.seconds_since(&before) > 0.0 {
                break after;
            }
            assert!(before.at.elapsed().as_secs() < 60, "{before:?} {after:?}");
        };
        assert!(after.resident_kib > 100 && after.peak_kib >= after.resident_kib);
    }
}
