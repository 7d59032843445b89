//! How far a job is: maps and reduces that have ended, and each slot in hundredths of its task.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use gerbil_task::Page;

use super::queue::Queue;

/// How often a terminal is written to.
const OFTEN: Duration = Duration::from_millis(250);

/// What is shown while a job runs; only on a terminal.
pub(crate) struct Progress {
    shown: Option<Instant>,
    terminal: bool,
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            shown: None,
            terminal: !quiet && std::io::stderr().is_terminal(),
        }
    }

    pub(crate) fn show(&mut self, queue: &Queue, page: &Page, slots: usize) {
        if !self.terminal || self.shown.is_some_and(|shown| shown.elapsed() < OFTEN) {
            return;
        }
        self.shown = Some(Instant::now());
        let mut line = String::from("\r\x1b[K");
        let (maps, reduces) = queue.done();
        line.push_str(&format!(
            "maps {maps} of {} · reduces {reduces} ·",
            queue.maps()
        ));
        for slot in (0_u32..).take(slots) {
            let blame = page.slot(slot).read();
            let percent = (blame.done.saturating_mul(100))
                .checked_div(blame.total)
                .unwrap_or(0)
                .min(100);
            line.push_str(&format!(" {percent:3} %"));
        }
        drop(std::io::stderr().write_all(line.as_bytes()));
    }

    pub(crate) fn clear(&self) {
        if self.shown.is_some() {
            drop(std::io::stderr().write_all(b"\r\x1b[K"));
        }
    }
}
