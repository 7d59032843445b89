//! What the user sees while the job is on its way: a line that changes on a terminal, nothing in a
//! pipe except a wait that lasts.

use std::fmt;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use job::wire;

use crate::failure::say;

/// In a pipe a wait is mentioned after this, and again when its reason changes.
const PATIENCE: Duration = Duration::from_secs(5);

/// The line.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
    began: Instant,
    /// What is waited for, and since when; empty: nothing.
    waiting: String,
    since: Instant,
    /// What was last said of it.
    said: String,
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new_spinner();
            bar.set_draw_target(ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Self {
            bar,
            quiet,
            began: Instant::now(),
            waiting: String::new(),
            since: Instant::now(),
            said: String::new(),
        }
    }

    /// The same for a job that begins anew.
    pub(crate) fn anew(&self) -> Self {
        Self::new(self.quiet)
    }

    /// Since the command began to report.
    pub(crate) fn age(&self) -> Duration {
        self.began.elapsed()
    }

    /// What is being done now.
    pub(crate) fn show(&mut self, what: impl Into<String>) {
        if let Some(bar) = &self.bar {
            bar.set_message(what.into());
        }
    }

    /// What the job waits for, in the cluster's own words.
    pub(crate) fn wait(&mut self, reason: &str) {
        if self.quiet {
            return;
        }
        let reason = essence(reason);
        if let Some(bar) = &self.bar {
            bar.set_message(format!("waiting: {reason}"));
        } else {
            if self.waiting != reason {
                self.waiting = reason;
                self.since = Instant::now();
            }
            self.remind();
        }
    }

    /// In a pipe: says what is waited for, once it has lasted. To be called now and then.
    pub(crate) fn remind(&mut self) {
        if self.since.elapsed() > PATIENCE && self.said != self.waiting {
            say(format!("waiting: {}", self.waiting));
            self.waiting.clone_into(&mut self.said);
        }
    }

    /// What the ApplicationMaster reports.
    pub(crate) fn phase(&mut self, phase: &wire::Phase) {
        let (done, wanted) = (phase.done, phase.wanted);
        match phase.kind() {
            wire::phase::Kind::WaitingForRoom => self.wait(&phase.note),
            wire::phase::Kind::WaitingForContainers => {
                self.wait(&format!("{done} of {wanted} containers granted"));
            }
            wire::phase::Kind::StartingContainers => {
                self.wait(&format!("{done} of {wanted} nodes ready"));
            }
            // From here on the terminal is the program's.
            wire::phase::Kind::Running | wire::phase::Kind::Ending => self.clear(),
        }
    }

    /// Something that is good to know and no error.
    pub(crate) fn remark(&self, sentence: impl fmt::Display) {
        self.beside().remark(sentence);
    }

    /// Takes the line away while `speak` writes something that stays.
    pub(crate) fn aside(&self, speak: impl FnOnce()) {
        self.beside().aside(speak);
    }

    /// For somebody else who has something to say.
    pub(crate) fn beside(&self) -> Aside {
        Aside {
            bar: self.bar.clone(),
            quiet: self.quiet,
        }
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        self.waiting.clone_from(&self.said);
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Speaks beside the line that somebody else shows.
pub(crate) struct Aside {
    bar: Option<ProgressBar>,
    quiet: bool,
}

impl Aside {
    /// As [`Progress::aside`]; also when the line has been taken away for good since.
    pub(crate) fn aside(&self, speak: impl FnOnce()) {
        match &self.bar {
            Some(bar) if !bar.is_finished() => bar.suspend(speak),
            Some(_) | None => speak(),
        }
    }

    /// As [`Progress::clear`].
    pub(crate) fn clear(&self) {
        if let Some(bar) = self.bar.as_ref().filter(|bar| !bar.is_finished()) {
            bar.finish_and_clear();
        }
    }

    /// As [`Progress::remark`].
    pub(crate) fn remark(&self, sentence: impl fmt::Display) {
        if !self.quiet {
            self.aside(|| say(sentence));
        }
    }
}

/// The ResourceManager's reason without its time stamp and its figures, which change while the reason
/// stays: `[DATE] Application is … resource limit exceeded. Details : AM Partition = …`.
pub(crate) fn essence(reason: &str) -> String {
    let text = match reason
        .trim()
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
    {
        Some((_date, rest)) => rest,
        None => reason,
    };
    let (text, _figures) = text.split_once("Details :").unwrap_or((text, ""));
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_stays_the_same_while_its_figures_change() {
        let at = |date: &str, used: u32| {
            format!(
                "[{date}] Application is added to the scheduler and is not yet activated. Queue's AM \
                 resource limit exceeded.  Details : AM Partition = <DEFAULT_PARTITION>; used {used}"
            )
        };
        assert_eq!(
            essence(&at("Sat Nov 21 02:33:13 +0000 2026", 1)),
            essence(&at("Sun", 2))
        );
        assert!(essence(&at("Sat", 1)).ends_with("resource limit exceeded."));
        assert_eq!(
            essence("2 of 3 containers granted"),
            "2 of 3 containers granted"
        );
    }
}
