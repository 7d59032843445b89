//! How far a job is: three bars on a terminal, nothing anywhere else.
//!
//! ```text
//! input    [############--------]  60 %   1200 of 2000 MB
//! maps     [##########----------]  50 %   8 of 16
//! reduces  [--------------------]   0 %   0 of 4
//! ```
//!
//! All three totals are known before the first map begins. Bytes count as their map reads them; a reduce that
//! is under way counts by the records that it has handed out, of those that the maps left for it.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use gerbil_task::{Page, Phase};

use super::queue::TaskQueue;

/// How often a terminal is written to.
const OFTEN: Duration = Duration::from_millis(250);
/// Characters of a bar.
const WIDTH: u64 = 20;
/// Parts of a reduce that is under way.
const PARTS: u64 = 1000;

/// What is shown while a job runs; only on a terminal.
pub(crate) struct Progress {
    shown: Option<Instant>,
    terminal: bool,
    bytes: u64,
}

impl Progress {
    /// For a job that reads so many bytes.
    pub(crate) fn new(quiet: bool, bytes: u64) -> Self {
        Self {
            shown: None,
            terminal: !quiet && std::io::stderr().is_terminal(),
            bytes,
        }
    }

    pub(crate) fn show(&mut self, queue: &TaskQueue, page: &Page, slots: usize) {
        if !self.terminal || self.shown.is_some_and(|shown| shown.elapsed() < OFTEN) {
            return;
        }
        let (mut read, mut parts) = (queue.bytes_read(), 0);
        for slot in (0_u32..).take(slots) {
            let blame = page.slot(slot).read();
            match blame.phase {
                Phase::Map => read = read.saturating_add(blame.done),
                Phase::Reduce => {
                    parts += blame
                        .done
                        .saturating_mul(PARTS)
                        .checked_div(blame.total)
                        .unwrap_or(0)
                        .min(PARTS);
                }
                _ => {}
            }
        }
        let done = queue.done();
        let (maps, reduces) = (done.0 as u64, done.1 as u64);
        let all = (queue.maps() as u64, u64::from(queue.reduces()));
        let rows = [
            bar(
                "input",
                read,
                self.bytes,
                &format!(
                    "{} of {} MB",
                    read.min(self.bytes) / 1_000_000,
                    self.bytes / 1_000_000
                ),
            ),
            bar("maps", maps, all.0, &format!("{maps} of {}", all.0)),
            bar(
                "reduces",
                reduces * PARTS + parts,
                all.1 * PARTS,
                &format!("{reduces} of {}", all.1),
            ),
        ];
        let text = self.back() + &rows.concat();
        self.shown = Some(Instant::now());
        drop(std::io::stderr().write_all(text.as_bytes()));
    }

    /// Takes the cursor back to where the bars begin.
    fn back(&self) -> String {
        if self.shown.is_some() {
            "\x1b[3A\r\x1b[J".to_owned()
        } else {
            String::new()
        }
    }

    pub(crate) fn clear(&self) {
        drop(std::io::stderr().write_all(self.back().as_bytes()));
    }
}

/// A row: a name, a bar, hundredths, and what it counts.
fn bar(name: &str, done: u64, total: u64, words: &str) -> String {
    let share = |of: u64| {
        done.min(total)
            .saturating_mul(of)
            .checked_div(total)
            .unwrap_or(0)
    };
    let full = usize::try_from(share(WIDTH)).unwrap_or(0);
    let rest = usize::try_from(WIDTH).unwrap_or(0) - full;
    format!(
        "{name:<8} [{}{}] {:3} %   {words}\n",
        "#".repeat(full),
        "-".repeat(rest),
        share(100)
    )
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn a_bar_is_full_when_all_is_done_and_never_more() {
        assert_eq!(
            bar("maps", 8, 16, "8 of 16"),
            "maps     [##########----------]  50 %   8 of 16\n"
        );
        assert!(bar("input", 30, 20, "").contains("[####################] 100 %"));
        assert!(bar("reduces", 0, 0, "").contains("[--------------------]   0 %"));
    }
}
