//! HPE: on nodes that have an element, tasks that need it go before others.
//!
//! Source: Y. S. Tan, B.-S. Lee, B. He, R. H. Campbell, "A Map-Reduce Based Framework for Heterogeneous Processing
//! Element Cluster Environments", §III.C and Algorithm 1. For each free slot of a node, map slots first:
//!
//! ```text
//! skipped = 0; first = none
//! for job in order of submission, with a pending task of the slot's stage:
//!     if the task needs an element:  if the node has it: it starts, done;  else pass over
//!     else if the node has an element:
//!         first = first or job;  skipped += 1;  if skipped == skip: leave the loop
//!     else: it starts, done
//! if first: it starts
//! ```
//!
//! Differences: needs are those of a stage, not of a job; a slot that the walk leaves goes to the first job that it
//! can run, where the paper leaves it empty unless exactly three were skipped; any element counts, not GPUs alone.
//! The paper's text speaks of "the next three jobs", which is [`Window::Jobs`]; its algorithm counts plain ones.
//! That the limit prevents starvation holds while jobs with needs are few: [`Age`](super::wrapper::Age) makes it
//! true, and goes around this policy unless it is told otherwise.
//!
//! | paper | here |
//! |---|---|
//! | `skipcount < 3` | [`Hpe::skip`], in jobs |
//! | `jobGpu` | the need of the job's stage names an element |
//! | `nodeGpu` | what that need names is free, or waited for in turn, on the node |
//! | AssignTask | [`assign_task`](super::assign_task()): the lowest number instead of any |
//!
//! Cost: O(classes of need · skip · log jobs) a slot: only the first jobs of each class are looked at.

use serde::{Deserialize, Serialize};

use super::can_run::fits;
use super::element::{has_element, has_elements, needs_element};
use super::fifo::{ONE_BY_ONE, start};
use super::home::{home, home_among};
use super::{Class, Decision, JobIx, Nanos, NodeIx, Saved, Scheduler, Session, SlotIx, Stage};

/// The policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hpe {
    /// At so many jobs the look-out for one that needs an element ends; at least 1.
    pub skip: u32,
    /// Which jobs count.
    pub window: Window,
}

/// Which jobs count against [`Hpe::skip`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Window {
    /// Those whose task needs no element, as in the paper's algorithm.
    #[default]
    Plain,
    /// All of the slot's stage, whether they could run here or not, as in its text.
    Jobs,
}

impl Default for Hpe {
    fn default() -> Self {
        Self {
            skip: 3,
            window: Window::Plain,
        }
    }
}

/// A job that is next of its kind: order of submission, stage, number.
type Next = (u64, Stage, JobIx);

/// What the walk finds for a slot.
#[derive(Debug, Default)]
struct HpeCandidates {
    /// The first job whose task needs what the node has.
    needing: Option<Next>,
    /// The first that needs no element.
    plain: Option<Next>,
    /// The first that count against the window; some twice, some beyond it.
    counting: Vec<(u64, JobIx)>,
}

impl Scheduler for Hpe {
    fn next(&mut self, _now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision> {
        let node = node?;
        maps_first(session, node).find_map(|slot| {
            let (_, stage, job) = self.walk(session, slot)?;
            start(session, job, stage, slot, node)
        })
    }

    /// Reduces that need no element are kept off the nodes that have one, where there are others.
    fn home(
        &mut self,
        _now: Nanos,
        session: &Session,
        job: JobIx,
        _partition: u32,
        _bytes: u64,
    ) -> Option<NodeIx> {
        preferred_home(session, job)
    }

    fn looks_everywhere(&self, _now: Nanos) -> bool {
        false
    }

    fn saved(&self) -> Option<Saved> {
        Some(Saved::Hpe(*self))
    }
}

impl Hpe {
    fn walk(&self, session: &Session, slot: SlotIx) -> Option<Next> {
        let mut found = HpeCandidates::default();
        for stage in ONE_BY_ONE {
            if session.slot(slot)?.stages.contains(&stage) {
                for class in session.classes(stage) {
                    self.look(session, slot, stage, class, &mut found);
                }
            }
        }
        let HpeCandidates {
            needing,
            plain,
            mut counting,
        } = found;
        let within = needing.filter(|(seq, ..)| {
            counting.retain(|(other, _)| other < seq);
            counting.sort_unstable();
            counting.dedup();
            counting.len() < self.most()
        });
        within.or(plain).or(needing)
    }

    fn look(
        &self,
        session: &Session,
        slot: SlotIx,
        stage: Stage,
        class: Class,
        found: &mut HpeCandidates,
    ) {
        let Some(need) = session.need(class) else {
            return;
        };
        let fits = fits(session, need, stage, slot).is_ok();
        let is_plain = !needs_element(need);
        let counts = self.window == Window::Jobs || (fits && is_plain);
        if !fits && !counts {
            return;
        }
        let jobs = session.runnable(stage, class);
        let seq = |job| session.job(job).map(|known| (known.seq, job));
        let mut jobs = jobs
            .filter_map(seq)
            .take(if counts { self.most() } else { 1 });
        let Some((seq, job)) = jobs.next() else {
            return;
        };
        if fits {
            let kind = if is_plain {
                &mut found.plain
            } else {
                &mut found.needing
            };
            let next = (seq, stage, job);
            *kind = Some(kind.map_or(next, |other| other.min(next)));
        }
        if counts {
            found.counting.push((seq, job));
            found.counting.extend(jobs);
        }
    }

    fn most(&self) -> usize {
        usize::try_from(self.skip).unwrap_or(usize::MAX)
    }
}

/// Free slots of a node: those for maps, then the others.
pub(super) fn maps_first(session: &Session, node: NodeIx) -> impl Iterator<Item = SlotIx> {
    let of_maps = |wanted: bool| {
        session.open_slots(node).filter(move |slot| {
            let slot = session.slot(*slot);
            slot.is_some_and(|slot| slot.stages.contains(&Stage::Map)) == wanted
        })
    };
    of_maps(true).chain(of_maps(false))
}

/// Where the input of a job's reduce is gathered: with the element that it needs, or where there is none at all.
pub(super) fn preferred_home(session: &Session, job: JobIx) -> Option<NodeIx> {
    let need = &session.stage(job, Stage::Reduce)?.need;
    let preferred = if needs_element(need) {
        home_among(session, |node| has_elements(session, need, node))
    } else {
        home_among(session, |node| !has_element(session, node))
    };
    preferred.or_else(|| home(session))
}
