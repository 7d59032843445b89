//! What a dead job has published without coming to an end goes out of the output folder again.

use std::collections::BTreeSet;

use super::{CallAnswer, Manifest, Op, job_folder};

/// Where the folder of a dead job is brought.
pub(super) fn aside(dead: &str) -> String {
    format!("_temporary/.aside-{dead}")
}

/// Takes from the output folder what the manifest of a dead job names, and nothing else.
///
/// First the dead job's folder gets another name, all at once: from then on no ApplicationMaster of that job that
/// yet runs publishes anything, success least of all. Then each file of the manifest goes back to where it came from:
/// a rename, so that who is late, and would take a file of the next owner, finds the place taken or gone. A file whose
/// place is taken was never the dead job's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Withdrawal {
    dead: String,
    step: WithdrawalStep,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum WithdrawalStep {
    SetAside,
    ReadManifest,
    /// What is there of these files, `ATTEMPT/NAME` each.
    List(Vec<String>),
    /// The last of them goes back.
    TakeBack(Vec<String>),
    ListAgain,
    Over(Withdrawn),
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Withdrawn {
    /// There is no output.
    Free,
    /// There is output that is not the dead job's, or that has its success.
    Foreign(Vec<String>),
    /// The output folder is gone.
    Absent,
}

impl Withdrawal {
    pub(super) fn new(dead: &str) -> Self {
        Self {
            dead: dead.to_owned(),
            step: WithdrawalStep::SetAside,
        }
    }

    /// The dead job.
    pub(super) fn dead(&self) -> &str {
        &self.dead
    }

    pub(super) fn next(&self) -> Option<Op> {
        let aside = aside(&self.dead);
        Some(match &self.step {
            WithdrawalStep::SetAside => Op::Rename(job_folder(&self.dead), aside),
            WithdrawalStep::ReadManifest => Op::Read(format!("{aside}/.manifest")),
            WithdrawalStep::List(_) | WithdrawalStep::ListAgain => Op::List(String::new()),
            WithdrawalStep::TakeBack(files) => {
                let file = files.last().map_or("", String::as_str);
                let back = format!("{aside}/{}", Manifest::source(file));
                Op::Rename(Manifest::target(file).to_owned(), back)
            }
            WithdrawalStep::Over(_) => return None,
        })
    }

    pub(super) fn verdict(&self) -> Option<&Withdrawn> {
        match &self.step {
            WithdrawalStep::Over(verdict) => Some(verdict),
            _ => None,
        }
    }

    pub(super) fn answered(&mut self, answer: CallAnswer) {
        use CallAnswer::{Content, Exists, Lost, Names, NotThere};
        let step = std::mem::replace(&mut self.step, WithdrawalStep::ListAgain);
        self.step = match (step, answer) {
            // Asked again: what has been moved is not there to be moved.
            (step, Lost) => step,
            (WithdrawalStep::SetAside, _) => WithdrawalStep::ReadManifest,
            (WithdrawalStep::ReadManifest, Content(text)) => match Manifest::from_text(&text) {
                Some(Manifest::Commit(files)) => WithdrawalStep::List(files),
                Some(Manifest::GiveUp) | None => WithdrawalStep::List(Vec::new()),
            },
            (WithdrawalStep::ReadManifest, _) => WithdrawalStep::List(Vec::new()),
            (WithdrawalStep::List(files), Names(names)) => listed(files, &names),
            (WithdrawalStep::ListAgain, Names(names)) => listed(Vec::new(), &names),
            (WithdrawalStep::List(_) | WithdrawalStep::ListAgain, NotThere) => {
                WithdrawalStep::Over(Withdrawn::Absent)
            }
            (WithdrawalStep::TakeBack(files), Exists) => {
                let name = files.last().map_or("", |file| Manifest::target(file));
                WithdrawalStep::Over(Withdrawn::Foreign(vec![name.to_owned()]))
            }
            (WithdrawalStep::TakeBack(mut files), _) => {
                files.pop();
                match files.is_empty() {
                    true => WithdrawalStep::ListAgain,
                    false => WithdrawalStep::TakeBack(files),
                }
            }
            (step, _) => step,
        };
    }
}

/// What comes when `names` are in the output folder, and `files` were to be there.
fn listed(mut files: Vec<String>, names: &[String]) -> WithdrawalStep {
    let there: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let ours: BTreeSet<&str> = files.iter().map(|file| Manifest::target(file)).collect();
    let foreign = there
        .difference(&ours)
        .filter(|name| **name != "_temporary");
    let foreign: Vec<String> = foreign.map(|name| (*name).to_owned()).collect();
    if !foreign.is_empty() {
        return WithdrawalStep::Over(Withdrawn::Foreign(foreign));
    }
    files.retain(|file| there.contains(Manifest::target(file)));
    match files.is_empty() {
        true => WithdrawalStep::Over(Withdrawn::Free),
        false => WithdrawalStep::TakeBack(files),
    }
}
