//! The ApplicationMaster (AM): keeps one job alive, or all jobs of a session.
//!
//! It runs in a container of its own ([`contained`] reads job description and keys from the
//! container's credentials), or inside the client, which hands [`serve()`] the same context.
//!
//! ```text
//! launchers, ResourceManager ──▶ holding ──┐                           ┌──▶ rooms: containers, nodes, slots, ledger
//! clients, output, input ──▶ clients ──────┼─ LoopEvent ─▶ application ├──▶ WorkEvent ──▶ a job: Work, by JobId
//! file systems, looks at the cluster ──────┘    ▲                      └─────── edge ◀─── Do ───┘
//!                └──────────── tasks ◀──────────┴──────────────────────────────────┘
//! ```
//!
//! The AM takes its [`am_context`], opens its port and registers ([`run`]; [`holding`] keeps the containers of
//! the application: what is asked for, granted, started and spoken to). From then on it is an [`application`]:
//! one loop hears news, gives each piece to the room and the job that it is about, carries out what these want, and
//! sleeps until something is due. A job ([`work`]) waits for nothing and touches nothing: it hears what has happened
//! and when, and answers what is to be done. An application of one job, an MPI job ([`mpi`] tells its life), ends with
//! it. A session takes many, MPI jobs and MapReduce jobs ([`mapreduce`]), until it is told to stop. Its rooms keep a
//! part each, have fields that no other sees, and decide without waiting:
//!
//! - [`jobs`]: which jobs there are, and which of them the loop has to look at;
//! - [`slots`]: who wishes for slots of the containers and who has them, and why a job waits;
//! - [`containers`]: how many there are, which are lost or wanted back;
//! - [`nodes`]: which devices they have, and which launchers reach each other;
//! - [`ledger`]: the timeline, records for the next AM, questions for what tasks have printed;
//! - [`lifetime`]: since when it is open, and why it stops.
//!
//! Output and input pass the loop by ([`console`], by job: [`consoles`]), and of jobs that no client follows they stay
//! here ([`detached`]); what is to be done on file systems ([`files`]) is a task whose end is news.
//!
//! Invariants: the loop has the only `recv()`, and waits neither for launchers nor for clients, file
//! systems or the ResourceManager; everything else sends it news over a bounded channel. Every task belongs
//! to one set that is ended with the AM. What a slow terminal does not take is not read from the ranks
//! either: nothing grows.
//!
//! When a container is lost the program may be started again in this AM (`mpi::repeat`); when the AM is
//! lost YARN starts another, which knows nothing of this one and begins from the start. An AM that has
//! had no answer from the ResourceManager for half the time after which YARN takes it for dead ends
//! its ranks: no two attempts run side by side.
//!
//! Caveats: launchers do not outlive their AM, nor do the jobs of a session, but for commits that have begun, which
//! the next AM finishes. On clusters that run every user's containers
//! as one OS user, co-tenants can read the credentials file.

mod am_context;
mod application;
mod client_events;
mod clients;
mod console;
mod consoles;
mod contained;
mod containers;
mod detached;
mod ended_streams;
mod files;
mod jobs;
mod ledger;
mod lent_events;
mod lifetime;
mod loop_event;
mod mapreduce;
mod mpi;
mod nodes;
mod output_ends;
mod output_stream;
mod queued;
mod recording;
mod run;
mod slots;
#[cfg(test)]
#[path = "../holding/src/test_keys.rs"]
mod test_keys;
mod work;

use std::process::ExitCode;

pub use am_context::AmContext;
pub use holding::{BoundPort, Keys};
pub use output_stream::OutputReceiver;
pub use run::serve;

/// Exit code of an AM that could not even begin; YARN shows it with its log.
const BROKEN: u8 = 70;

/// Runs the AM of the job whose description is in this container's credentials.
#[must_use]
pub fn main() -> ExitCode {
    job::allocator::set_up(job::allocator::KEPT);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // YARN counts address space: each worker costs a stack and an allocation arena.
        .worker_threads(2)
        .max_blocking_threads(4)
        .thread_stack_size(1 << 20)
        .enable_all()
        .build();
    let outcome = runtime.map_err(anyhow::Error::from).and_then(|runtime| {
        let outcome = runtime.block_on(contained::run());
        // A thread that a file system holds is not waited for.
        runtime.shutdown_background();
        outcome
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("the ApplicationMaster cannot go on: {error:#}");
            ExitCode::from(BROKEN)
        }
    }
}
