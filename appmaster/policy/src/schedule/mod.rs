//! Which job gets the next slot: one interface for every policy.
//!
//! A [`Session`] holds what is known of jobs, nodes, slots, tasks and attempts. A [`Scheduler`] looks at
//! it and names a [`Decision`]; a [`SessionDriver`] feeds both with [`Event`]s and asks until there is none.
//! The ApplicationMaster and the simulator own a driver each and feed it alike, so that a recorded run
//! of one replays in the other to the same decisions.
//!
//! ```text
//!  Event ─▶ Session::apply ─▶ Scheduler::hear ─▶ Scheduler::next ─▶ Decision
//!              ▲                                                      │
//!              └───────────────── Event::Ordered ◀────────────────────┘ ─▶ carried out
//! ```
//!
//! Orders are not facts: a decision reserves the slots that it names, and only the launcher's word
//! (`Began`, `Moved`, `Ended`) makes them busy or free again. Policies choose only job and slot; which task it is,
//! whether it fits, what is left of an attempt and what to ask of YARN are functions that all share:
//! [`assign_task()`], [`can_run()`], [`remaining()`], [`wanted()`], [`dominant()`], [`home()`].
//!
//! | policy | a slot goes to |
//! |---|---|
//! | [`fifo`](Fifo) | the job that was submitted first |
//! | [`fifo-barrier`](Fifo) | the same, and no job before the earlier ones' maps are done |
//! | [`fifo-blind`](Blind) | the first job, whether or not the node has what its tasks need |
//! | [`capacity`](Capacity) | the queue with the least of its guaranteed share |
//! | [`fair`](Fair) | the user, queue or job with the fewest slots for its weight |
//! | [`hetero`](Hetero) | of jobs that need the same functions the first; such groups share by dominant shares, or their users do |
//! | [`hetero-literal`](Hetero) | the same without priorities |
//! | [`hpe`](Hpe) | the first job that needs an element which the node has, unless too many others were first; with `age` |
//! | [`hpe-conserve`](HpeConserve) | that job, while fewer than two attempts a device are on the node, else the first plain one; with `age` |
//! | [`hpe-literal`](HpeLiteral) | as the paper's pseudocode says, which may be nobody |
//! | [`dyscale`](DyScale) | on fast cores the first interactive job, on slow ones the first batch job; attempts move between them |
//! | [`dyscale-basic`](DyScale) | the same without moves |
//! | [`maps-fast`](MapsFast) | the first job: its maps on fast cores, its reduces on slow ones |
//!
//! | wrapper | around any of them |
//! |---|---|
//! | [`delay`](wrapper::Delay) | a task waits a while for a node that has its input |
//! | [`speculate`](wrapper::Speculate) | slow attempts are tried a second time |
//! | [`avoid`](wrapper::Avoid) | nodes where attempts of a job fail get no more of that job |
//! | [`priority`](wrapper::Priority) | higher priorities first |
//! | [`age`](wrapper::Age) | who waited too long goes first |
//! | [`gang`](wrapper::GangScheduling) | MPI jobs start whole, and slots are drained for them |
//!
//! Invariants: no query above O(log n) in jobs and tasks unless its doc says so; comparisons are of
//! integers; ties go to the lower number.

mod apply;
mod aria;
mod assign_task;
mod blind;
mod bundle;
mod by_deadline;
mod can_run;
mod capacity;
mod cut;
mod dominant;
mod driver;
mod dyscale;
mod element;
mod event;
mod fair;
mod fifo;
mod foreseen;
mod hetero;
mod home;
mod hpe;
mod hpe_conserve;
mod hpe_literal;
mod ids;
mod job;
mod legal;
mod maps_fast;
mod misses;
mod named;
mod own_slots;
mod parked;
mod place;
pub mod record;
mod remaining;
mod saved;
mod session;
#[cfg(test)]
mod tests;
pub mod trace;
mod wanted;
pub mod wrapper;

pub use aria::StageSpan;
pub use assign_task::{Level, assign_task, level};
pub use blind::Blind;
pub use bundle::{Bundle, ResourceName};
pub use by_deadline::ByDeadline;
pub use can_run::{Misfit, can_run};
pub use capacity::Capacity;
pub use cut::Cut;
pub use dominant::{Share, dominant};
pub use driver::{Decided, Illegal, Scheduler, SessionDriver};
pub use dyscale::{DyScale, JobClass, LiftBatch};
pub use element::{element_amounts, has_elements};
pub use event::{AttemptOutcome, AttemptPhase, Decision, Event, Why};
pub use fair::{By, Fair};
pub use fifo::Fifo;
pub use foreseen::{Foreseen, JobProfile, foreseen};
pub use hetero::Hetero;
pub use home::home;
pub use hpe::{Hpe, Window};
pub use hpe_conserve::HpeConserve;
pub use hpe_literal::HpeLiteral;
pub use ids::{AttemptIx, ContainerIx, JobIx, Nanos, NodeIx, SlotIx, TaskIx};
pub use job::{Job, Measured, Need, NodeLimit, Stage, StageState, Task};
pub use maps_fast::MapsFast;
pub use misses::{DeadlineMiss, deadline_miss};
pub use named::{
    POLICIES, UnknownPolicy, WRAPPERS, goes_by_speed, named, names, of_session, parks, session_text,
};
pub use own_slots::without_own_slots;
pub use place::{Container, Node, Reservation, Slot, SlotUse, Speed};
pub use remaining::remaining;
pub use saved::{Saved, Snapshot};
pub use session::{Attempt, Class, Owner, Session, Stay};
pub use wanted::wanted;
