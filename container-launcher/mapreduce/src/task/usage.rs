//! What a task has used of the machine, as counters of Hadoop's names.

use rustix::time::{ClockId, clock_gettime};

use crate::context::{Counters, TASK_COUNTER};

/// Processor time of the process when a task began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// Processor time of all threads until then, ms.
    began: u64,
}

impl Usage {
    /// From now on.
    pub(crate) fn begin() -> Self {
        Self {
            began: processor_ms(),
        }
    }

    /// Adds what was used since: processor time, and the most memory that the process ever had. `stage` is `MAP` or
    /// `REDUCE`.
    pub(crate) fn count(self, stage: &str, counters: &mut Counters) {
        let counters = counters.entry(TASK_COUNTER.to_owned()).or_default();
        let used = processor_ms().saturating_sub(self.began);
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        counters.insert("CPU_MILLISECONDS".to_owned(), signed(used));
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        if let Some(bytes) = peak(&status) {
            counters.insert(format!("{stage}_PHYSICAL_MEMORY_BYTES_MAX"), signed(bytes));
        }
    }
}

/// Milliseconds of processor time of all threads of this process.
fn processor_ms() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds
        .saturating_mul(1000)
        .saturating_add(nanos / 1_000_000)
}

/// The most bytes that were in memory, of `/proc/PID/status`.
fn peak(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::{Usage, peak};
    use crate::context::{Counters, TASK_COUNTER};

    #[test]
    fn what_was_used_is_counted() {
        assert_eq!(peak("VmPeak:\t9 kB\nVmHWM:\t    3 kB\n"), Some(3072));
        assert_eq!(peak("nothing"), None);
        let mut counters = Counters::new();
        Usage::begin().count("MAP", &mut counters);
        assert!(counters[TASK_COUNTER]["MAP_PHYSICAL_MEMORY_BYTES_MAX"] > 1 << 20);
    }
}
