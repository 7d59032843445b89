//! What is told of an attempt that is over.

use gerbil_task::{Blamed, NO_DEVICE, how};
use job::exit::End;
use job::wire::TaskEnded;
use job::wire::task_ended::How;

use super::attempt::Attempt;
use super::conversation::{Done, TaskFailure};
use crate::node_facts;
use crate::shuffle::Exchange;

/// Linux's number of the signal that no process survives.
const SIGKILL: u8 = 9;

impl Attempt {
    /// The record that a map failed on; none: it did not fail, or on no record, or that is not known.
    pub(super) fn failed_on(&self) -> Option<u64> {
        let is_of_the_code = match (&self.last, &self.killed) {
            (Some(Ok(_)), _) => false,
            // It got no further, or had too much in memory.
            (_, Some(_)) | (Some(Err(TaskFailure::Said { .. })), None) => true,
            // SIGKILL comes from outside, as when a node has no memory left.
            (Some(Err(TaskFailure::Died { greeted })), None) => {
                let end = self.ended.as_ref().map(|(report, _)| report.ended.end);
                *greeted && !matches!(end, Some(End::Signal(SIGKILL)))
            }
            (Some(Err(TaskFailure::Sentence(_) | TaskFailure::Unread { .. })) | None, None) => {
                false
            }
        };
        let blame = is_of_the_code.then(|| self.blame())?;
        Blamed::of(&self.task)?.record(&blame)
    }

    /// What it found no device of: its process said so, or by what it exited with; empty: of a GPU.
    fn missing(&self) -> Option<String> {
        match (&self.last, &self.killed) {
            (Some(Err(TaskFailure::Said { missing, .. })), None) => missing.clone(),
            (Some(Err(TaskFailure::Died { .. })), None) => {
                let end = self.ended.as_ref().map(|(report, _)| report.ended.end);
                matches!(end, Some(End::Code(NO_DEVICE))).then(String::new)
            }
            _ => None,
        }
    }

    /// Its device has too little memory for what its process put there, which has said so.
    const fn found_no_room(&self) -> bool {
        let said = (&self.last, &self.killed);
        matches!(
            said,
            (Some(Err(TaskFailure::Said { no_room: true, .. })), None)
        )
    }

    /// How it ended, in words if not well.
    pub(super) fn result(&mut self) -> Result<Done, String> {
        let title = self.title();
        let sentence = match (self.last.take(), self.killed.take()) {
            (Some(Ok(done)), _) => return Ok(done),
            (_, Some(why)) => why,
            (Some(Err(TaskFailure::Said { sentence: said, .. })), None) => {
                match Blamed::of(&self.task) {
                    Some(task) => task.failed(&self.blame(), &said),
                    None => said,
                }
            }
            (
                Some(Err(TaskFailure::Sentence(sentence) | TaskFailure::Unread { sentence, .. })),
                None,
            ) => {
                format!("{title}: {sentence}")
            }
            (Some(Err(TaskFailure::Died { greeted })), None) => self.died(greeted),
            (None, None) => format!("{title} ended, and what came of it is not known"),
        };
        Err(format!("{}: {sentence}", node_facts::hostname()))
    }

    fn died(&self, greeted: bool) -> String {
        let how = match self.ended {
            Some((report, _)) if !self.is_stuck => match report.ended.end {
                End::Code(code) => how(Some(code.into()), None),
                End::Signal(number) => how(None, Some(number.into())),
            },
            _ => how(None, None),
        };
        let sentence = match (Blamed::of(&self.task), greeted) {
            (Some(task), true) => task.died(&self.blame(), &how),
            _ => format!(
                "{} {how} before it said hello: is `main()` of the job the first statement of main?",
                self.title()
            ),
        };
        match self.printed.last_lines() {
            lines if lines.is_empty() => sentence,
            lines => format!("{sentence}; its last words on standard error:\n{lines}"),
        }
    }
}

/// What is told of a task that has ended well.
fn told(done: Done, exchange: &mut Exchange) -> Result<TaskEnded, String> {
    let mut event = TaskEnded {
        said: serde_json::to_string(&done.said).map_err(|error| error.to_string())?,
        has_files: done.files.is_whole,
        files: done.files.names,
        output_bytes: done.files.bytes,
        gathered_bytes: done.gathered_ahead,
        ..TaskEnded::default()
    };
    if let Some(left) = done.left {
        let (host, port) = exchange.port().map_err(|error| error.to_string())?;
        (event.fetch_host, event.fetch_port) = (host.unwrap_or_default(), port.into());
        event.digest = left.digest.to_le_bytes().to_vec();
        event.output_bytes = left.bytes;
    }
    Ok(event)
}

/// What the ApplicationMaster is told.
pub(super) fn event(process: u32, attempt: &mut Attempt, exchange: &mut Exchange) -> TaskEnded {
    let mut event = TaskEnded {
        process,
        ..TaskEnded::default()
    };
    if let Some(Err(TaskFailure::Unread { maps, .. })) = &attempt.last {
        event.unfetched.clone_from(maps);
    }
    event.record = attempt.failed_on();
    let missing = attempt.missing();
    event.no_device = missing.is_some();
    event.missing_device = missing.unwrap_or_default();
    event.no_room = attempt.found_no_room();
    match attempt.result().and_then(|done| told(done, exchange)) {
        Ok(done) => event = TaskEnded { process, ..done },
        Err(trouble) => event.trouble = trouble,
    }
    match attempt.lost_functions.first() {
        Some(first) if !event.trouble.is_empty() => {
            (event.no_device, event.device_gone) = (true, true);
            let all = attempt.lost_functions.join(" and ");
            event.trouble = format!("{}; its lease of {all} was over", event.trouble);
            event.missing_device.clone_from(first);
        }
        Some(_) | None => {}
    }
    if let Some((report, _)) = attempt.ended {
        let ended = report.ended;
        event.how = Some(match ended.end {
            End::Code(code) => How::ExitCode(code.into()),
            End::Signal(number) => How::Signal(number.into()),
        });
        event.max_rss_kib = ended.max_rss_kib;
        event.cpu_us = ended.cpu_us;
        event.out_of_memory = report.out_of_memory.into();
    }
    event
}
