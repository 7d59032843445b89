//! What is watched while a task says nothing.

use std::time::Instant;

use gerbil_task::Blame;

use super::blame::AttemptFailure;
use super::descent;
use super::process::RoleProcess;
use super::queue::LocalTask;
use super::slot::Slot;
use crate::error::Error;

impl Slot<'_> {
    /// Looks at a process that says nothing: is it alive, does it get on, how much memory has it?
    pub(super) fn look(
        &self,
        process: &RoleProcess,
        work: &LocalTask,
        seen: &mut (Blame, Instant),
    ) -> Result<(), AttemptFailure> {
        if self.queue.is_over() {
            return Err(Error::new("the job is over").into());
        }
        if let Some(status) = process.has_ended() {
            return Err(self.died(work, Some(status)));
        }
        let blame = self.page.read();
        if blame != seen.0 {
            *seen = (blame, Instant::now());
        } else if let Some(timeout) = self.timeout.filter(|timeout| seen.1.elapsed() > *timeout) {
            return Err(AttemptFailure {
                sentence: work.blamed().stalled(&blame, timeout),
                fault: self.fault(work, &blame),
            });
        }
        let over = self.memory.and_then(|limit| {
            let used = resident(process.id());
            (used > limit).then_some((limit, used))
        });
        if let Some((limit, used)) = over {
            return Err(AttemptFailure {
                sentence: work.blamed().overfed(&blame, used, limit),
                fault: self.fault(work, &blame),
            });
        }
        Ok(())
    }
}

/// Bytes of a process, and of those that it has started, that are in memory.
fn resident(pid: u32) -> u64 {
    let started = descent::of(pid)
        .into_iter()
        .map(|(pid, _)| pid.unsigned_abs());
    let pages = |pid| -> Option<u64> {
        let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
        statm.split_whitespace().nth(1)?.parse().ok()
    };
    let pages: u64 = started.chain([pid]).filter_map(pages).sum();
    pages * rustix::param::page_size() as u64
}
