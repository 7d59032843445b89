//! What the user sees while the job is on its way: a line that changes on a terminal, nothing in a
//! pipe except a wait that lasts.

use std::fmt;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use job::wire;
use proto_hadoop::ApplicationId;

use crate::wait::ShownWait;
use terminal::{Foreign, said_so_far, say};

/// The line.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
    began: Instant,
    wait: ShownWait,
    /// What somebody else on this cluster calls the job by, once it is submitted; empty where nobody can.
    application: String,
    /// Who holds what is waited for; empty while that is not known.
    held: String,
}

/// Shown one after the other, so that something moves.
const WHEEL: &str = "|/-\\ ";

impl Progress {
    /// A line on a terminal; `quiet`: none.
    pub fn new(quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new_spinner();
            bar.set_draw_target(ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
                bar.set_style(match is_utf8(&|name| std::env::var(name).ok()) {
                    true => style,
                    false => style.tick_chars(WHEEL),
                });
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Self {
            bar,
            quiet,
            began: Instant::now(),
            wait: ShownWait::default(),
            application: String::new(),
            held: String::new(),
        }
    }

    /// The same for a job that begins anew.
    pub fn anew(&self) -> Self {
        Self {
            application: self.application.clone(),
            ..Self::new(self.quiet)
        }
    }

    /// YARN has taken the job as `id`: on a terminal that is said in a line that stays.
    pub fn submitted(&mut self, id: ApplicationId, queue: &str) {
        self.application = id.to_string();
        if self.bar.is_some() {
            self.remark(format_args!("{id} is submitted to queue {queue}"));
            self.show(format!("{id}: submitted"));
        }
    }

    /// A session has taken the job, which is called `id` there.
    pub fn taken(&mut self, id: String) {
        self.application = id;
    }

    /// The job, by its id where it has one that somebody can use.
    pub fn job(&self) -> &str {
        match self.application.as_str() {
            "" => "the job",
            id => id,
        }
    }

    /// How much of the files that are uploaded is on its way, bytes.
    pub fn uploading(&mut self, done: u64, all: u64) {
        if all == 0 || self.quiet {
            return;
        }
        if let Some(bar) = &self.bar {
            bar.set_message(format!(
                "staging: {} of {} uploaded",
                bytes(done.min(all)),
                bytes(all)
            ));
        } else if self.wait.upload(all, self.began.elapsed()) {
            say(format!(
                "waiting: {} to upload, {} done",
                bytes(all),
                bytes(done.min(all))
            ));
        }
    }

    /// Since the command began to report.
    pub fn age(&self) -> Duration {
        self.began.elapsed()
    }

    /// Who holds what the job waits for, for the next [`Progress::wait`].
    pub fn held(&mut self, by: String) {
        self.held = by;
    }

    /// What is being done now.
    pub fn show(&mut self, what: impl AsRef<str>) {
        if let Some(bar) = &self.bar {
            bar.set_message(Foreign::sentence(what.as_ref()).to_string());
        }
    }

    /// What the job waits for, in the cluster's own words.
    pub fn wait(&mut self, reason: &str) {
        if self.quiet {
            return;
        }
        let mut reason = Foreign::sentence(&short_reason(reason)).to_string();
        if !self.held.is_empty() {
            reason = format!("{reason}; {}", Foreign::sentence(&self.held));
        }
        if let Some(bar) = &self.bar {
            bar.set_message(match self.application.as_str() {
                "" => format!("waiting: {reason}"),
                id => format!("{id} waiting: {reason}"),
            });
        } else {
            self.wait.hear(reason, self.began.elapsed());
            self.remind();
        }
    }

    /// In a pipe: says what is waited for, once it has lasted. To be called now and then.
    pub fn remind(&mut self) {
        if let Some(reason) = self.wait.due(self.began.elapsed()) {
            say(match self.application.as_str() {
                "" => format!("waiting: {reason}"),
                id => format!("waiting: {reason} ({id})"),
            });
        }
    }

    /// What the ApplicationMaster reports.
    pub fn phase(&mut self, phase: &wire::Phase) {
        let (done, wanted) = (phase.done, phase.wanted);
        match phase.kind() {
            wire::phase::Kind::WaitingForRoom => {
                self.held.clone_from(&phase.held);
                self.wait(&phase.note);
            }
            wire::phase::Kind::WaitingForContainers => {
                self.held.clone_from(&phase.held);
                let note = match phase.note.as_str() {
                    "" => String::new(),
                    note => format!("; {note}"),
                };
                self.wait(&format!("{done} of {wanted} containers granted{note}"));
            }
            wire::phase::Kind::StartingContainers => {
                self.held.clear();
                self.wait(&format!("{done} of {wanted} nodes ready"));
            }
            // From here on the terminal is the program's.
            wire::phase::Kind::Running | wire::phase::Kind::Ending => self.clear(),
        }
    }

    /// Something that is good to know and no error.
    pub fn remark(&self, sentence: impl fmt::Display) {
        self.beside().remark(sentence);
    }

    /// Takes the line away while `speak` writes something that stays.
    pub fn aside(&self, speak: impl FnOnce()) {
        self.beside().aside(speak);
    }

    /// For somebody else who has something to say.
    pub fn beside(&self) -> Aside {
        Aside {
            bar: self.bar.clone(),
            quiet: self.quiet,
        }
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        self.wait.is_over();
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Speaks beside the line that somebody else shows.
#[derive(Debug)]
pub struct Aside {
    bar: Option<ProgressBar>,
    quiet: bool,
}

impl Aside {
    /// As [`Progress::aside`]; also when the line has been taken away for good since.
    pub fn aside(&self, speak: impl FnOnce()) {
        match &self.bar {
            // What is said is on the terminal before the line is there again.
            Some(bar) if !bar.is_finished() => bar.suspend(|| {
                speak();
                said_so_far();
            }),
            Some(_) | None => speak(),
        }
    }

    /// As [`Progress::clear`].
    pub fn clear(&self) {
        if let Some(bar) = self.bar.as_ref().filter(|bar| !bar.is_finished()) {
            bar.finish_and_clear();
        }
    }

    /// As [`Progress::remark`].
    pub fn remark(&self, sentence: impl fmt::Display) {
        if !self.quiet {
            self.aside(|| say(sentence));
        }
    }
}

/// Whether the terminal's letters are more than ASCII, by the variables of the locale in their order.
fn is_utf8(variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter();
    let mut set = names.filter_map(|name| variable(name).filter(|value| !value.is_empty()));
    let locale = set.next().unwrap_or_default().to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// As `12 MB`, or `800 kB` where that is more telling.
fn bytes(count: u64) -> String {
    match count {
        0..1_000_000 => format!("{} kB", count / 1000),
        _ => format!("{} MB", count / 1_000_000),
    }
}

/// The ResourceManager's reason without its time stamp and its figures, which change while the reason
/// stays: `[DATE] Application is … resource limit exceeded. Details : AM Partition = …`.
pub fn short_reason(reason: &str) -> String {
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
    fn the_locale_says_what_a_terminal_can_show() {
        let is = |set: &[(&str, &str)]| {
            is_utf8(&|name| {
                let found = set.iter().find(|(set, _)| *set == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(is(&[("LANG", "de_DE.UTF-8")]));
        assert!(is(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8"), ("LANG", "C")]));
        assert!(!is(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]));
        assert!(!is(&[("LANG", "de_DE.ISO-8859-1")]));
        assert!(!is(&[]));
        // Nothing of it needs more than a byte.
        assert!(WHEEL.is_ascii());
        assert_eq!(bytes(999_999), "999 kB");
        assert_eq!(bytes(300_000_000), "300 MB");
    }

    #[test]
    fn a_reason_stays_the_same_while_its_figures_change() {
        let at = |date: &str, used: u32| {
            format!(
                "[{date}] Application is added to the scheduler and is not yet activated. Queue's AM \
                 resource limit exceeded.  Details : AM Partition = <DEFAULT_PARTITION>; used {used}"
            )
        };
        assert_eq!(
            short_reason(&at("Sat Nov 21 02:33:13 +0000 2026", 1)),
            short_reason(&at("Sun", 2))
        );
        assert!(short_reason(&at("Sat", 1)).ends_with("resource limit exceeded."));
        assert_eq!(
            short_reason("2 of 3 containers granted"),
            "2 of 3 containers granted"
        );
    }
}
