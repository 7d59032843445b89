//! Files of further attempts on their way to where those of the first ones are, and leftovers of these out of it.

use std::collections::BTreeMap;

use super::layout::{AttemptName, left};
use super::{CallAnswer, Op};

/// Most files that are on their way at once: a rename waits for a NameNode's log or a disk, and neither waits for one
/// at a time.
pub const AT_ONCE: usize = 64;

/// What there is to be moved, begun in this order, and how far it is.
///
/// A file that finds its place taken puts a leftover aside first: while it is not in its place itself, what is there is
/// none of the results, and what was put aside holds that name for good, so that a call which comes late, or somebody
/// else's, puts nothing aside twice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Moves {
    /// Leftovers that nothing takes the place of.
    leftovers: Vec<String>,
    files: Vec<(AttemptName, String)>,
    /// Those before this one have been begun.
    begun: usize,
    /// Those of them that are not done, [`AT_ONCE`] at most.
    open: BTreeMap<usize, MoveStep>,
    /// The first that was found nowhere: no further one is begun.
    missing: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum MoveStep {
    Rename {
        /// A leftover was put aside.
        again: bool,
    },
    PutAside,
    LookFor,
}

impl Moves {
    pub(super) fn new(leftovers: Vec<String>, files: Vec<(AttemptName, String)>) -> Self {
        let mut moves = Self {
            leftovers,
            files,
            begun: 0,
            open: BTreeMap::new(),
            missing: None,
        };
        moves.fill();
        moves
    }

    fn count(&self) -> usize {
        self.leftovers.len().saturating_add(self.files.len())
    }

    /// None: it is a leftover.
    fn file(&self, number: usize) -> Option<&(AttemptName, String)> {
        self.files.get(number.checked_sub(self.leftovers.len())?)
    }

    fn name(&self, number: usize) -> &str {
        match self.file(number) {
            Some((_, name)) => name,
            None => self.leftovers.get(number).map_or("", String::as_str),
        }
    }

    /// Begins as many as may be.
    fn fill(&mut self) {
        while self.missing.is_none() && self.begun < self.count() && self.open.len() < AT_ONCE {
            let step = match self.file(self.begun) {
                Some(_) => MoveStep::Rename { again: false },
                None => MoveStep::PutAside,
            };
            self.open.insert(self.begun, step);
            self.begun = self.begun.saturating_add(1);
        }
    }

    /// Those under way, in their order.
    pub(super) fn open(&self) -> Vec<usize> {
        self.open.keys().copied().collect()
    }

    /// What is to be called for one; `job`: the job's folder, `at`: where the output comes together.
    pub(super) fn call(&self, number: usize, job: &str, at: &str) -> Option<Op> {
        let name = self.name(number);
        let place = format!("{at}/{name}");
        Some(match self.open.get(&number)? {
            MoveStep::Rename { .. } => {
                let (attempt, _) = self.file(number)?;
                Op::Rename(format!("{job}/{attempt}.{name}"), place)
            }
            MoveStep::PutAside => Op::Rename(place, format!("{job}/{}", left(name))),
            MoveStep::LookFor => Op::Look(place),
        })
    }

    /// What the call of one came to.
    pub(super) fn answered(&mut self, number: usize, answer: CallAnswer) {
        use CallAnswer::{Done, Exists, Lost, NotThere};
        let is_leftover = self.file(number).is_none();
        let Some(step) = self.open.get_mut(&number) else {
            return;
        };
        match (&step, answer) {
            // Asked again: what has been moved is not there to be moved.
            (_, Lost) => {}
            (MoveStep::PutAside, _) if !is_leftover => *step = MoveStep::Rename { again: true },
            (MoveStep::PutAside, _) | (_, Done) => {
                self.open.remove(&number);
            }
            (MoveStep::Rename { again: false }, Exists) => *step = MoveStep::PutAside,
            (MoveStep::Rename { .. }, NotThere) => *step = MoveStep::LookFor,
            // Nowhere; or somebody has put something else into its place.
            (MoveStep::LookFor | MoveStep::Rename { .. }, _) => {
                self.open.remove(&number);
                self.missing = Some(self.missing.map_or(number, |first| first.min(number)));
            }
        }
        self.fill();
    }

    /// Whether each that was begun is done, or known to be nowhere.
    pub(super) fn is_over(&self) -> bool {
        self.open.is_empty()
    }

    /// The first file that is nowhere.
    pub(super) fn missing(&self) -> Option<&str> {
        self.missing.map(|number| self.name(number))
    }
}
