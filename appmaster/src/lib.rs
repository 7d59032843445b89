//! The ApplicationMaster (AM): keeps one job alive.
//!
//! It runs in a container of its own ([`contained`] reads job description and keys from the
//! container's credentials), or inside the client, which hands [`serve()`] the same seat.
//!
//! The life of a job in here: the AM takes its [`seat`], opens its port and registers ([`holding`] keeps
//! the containers of the application: what is asked for, granted, started and spoken to); the machine in
//! `policy` places the processes; when every container is there, launchers are started on all nodes at
//! once; they dial in and get their ranks, whose barriers and spawns ([`spawn`]) and names ([`names`])
//! concern all nodes; their output passes through [`console`] to the client ([`clients`]) that follows the
//! job; [`verdict`] puts the end into words and numbers, and the AM unregisters with it. A job that has
//! succeeded hands over its [`results`] first; one that is saved on its way has [`checkpoints`]. Beside
//! all this
//! [`explain`] keeps the story of what was decided and why, and [`waiting`] looks for who holds what
//! the job waits for ([`holders`]).
//!
//! Invariants: one loop ([`follow`]) owns the machine and all state ([`act`] carries out what the machine
//! answers, [`told`] hears what becomes of the containers); everything else sends it news over a bounded
//! channel. It waits neither for launchers nor for the ResourceManager. Every task belongs to one set that
//! is ended with the AM. What a slow terminal does not take is not read from the ranks either: nothing
//! grows.
//!
//! When a container is lost the program may be started again in this AM ([`repeat`]); when the AM is
//! lost YARN starts another, which knows nothing of this one and begins from the start. An AM that has
//! had no answer from the ResourceManager for half the time after which YARN takes it for dead ends
//! its ranks: no two attempts run side by side.
//!
//! Caveats: launchers do not outlive their AM. On clusters that run every user's containers
//! as one OS user, co-tenants can read the credentials file.

mod act;
mod checkpoints;
mod clients;
mod commit;
mod console;
mod contained;
mod effects;
mod ending;
mod ends;
mod exits;
mod explain;
mod files;
mod handing;
mod holders;
mod missing;
mod mpi;
mod names;
mod news;
mod notice;
mod outbox;
mod repeat;
mod report;
mod results;
mod run;
mod seat;
mod seats;
mod session;
mod silence;
mod spawn;
mod standoff;
#[cfg(test)]
#[path = "../holding/src/test_keys.rs"]
mod test_keys;
mod told;
mod usage;
mod verdict;
mod waiting;
mod work;

use std::process::ExitCode;

pub use handing::Output;
pub use holding::{Keys, Place};
pub use run::serve;
pub use seat::Seat;

/// Exit code of an AM that could not even begin; YARN shows it with its log.
const BROKEN: u8 = 70;

/// Runs the AM of the job whose description is in this container's credentials.
#[must_use]
pub fn main() -> ExitCode {
    job::allocator::set_up();
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
