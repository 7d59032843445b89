//! The ApplicationMaster (AM): keeps one job alive, or all jobs of a session.
//!
//! It runs in a container of its own ([`contained`] reads job description and keys from the
//! container's credentials), or inside the client, which hands [`serve()`] the same context.
//!
//! ```text
//! launchers, ResourceManager ──▶ holding ──┐                       ┌──▶ WorkEvent ──▶ a job: Work, by JobId
//! clients, output, input ──▶ clients ──────┼─ LoopEvent ─▶ session │                      │
//! file systems, looks at the cluster ──────┘    ▲                  └─────── effects ◀── Do┘
//!                └──────────── tasks ◀──────────┴───────────────────────────────┘
//! ```
//!
//! The AM takes its [`am_context`], opens its port and registers ([`run`]; [`holding`] keeps the containers of
//! the application: what is asked for, granted, started and spoken to). From then on it is a [`session`]:
//! one loop hears news, keeps what is about containers and clients, gives the rest to the job that it is
//! about, carries out what that wants ([`effects`]) and sleeps until the next of them is due. A job
//! ([`work`]) waits for nothing and touches nothing: it hears what has happened and when, and answers what
//! is to be done. An application of one job, an MPI job ([`mpi`] tells its life), ends with it. A session
//! takes many ([`submit`]), MPI jobs and MapReduce jobs ([`mapreduce`], whose [`tasks`] have slots one by one): they share the containers of a [`pool`], whose slots are lent to them
//! ([`sharing`], [`slots`], [`loan`]), until it is told to [`stop`]; YARN's part is played for them
//! ([`lent_containers`]), and whoever asks is told of all ([`status`]), of what tasks have printed
//! ([`task_logs`]), and of what had which slots when ([`ledger`]). Output and input pass it by ([`console`], by job:
//! [`consoles`]), and of jobs that nobody follows it stays here ([`detached`]); what it wants done on file systems
//! ([`files`]) is a task whose end is news.
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

mod agenda;
mod alarm;
mod am_context;
mod client_events;
mod clients;
mod console;
mod consoles;
mod contained;
mod container_events;
mod detached;
mod effects;
mod ended_streams;
mod files;
mod leaving;
mod ledger;
mod lent_containers;
mod lent_events;
mod lifetime;
mod loan;
mod loop_event;
mod mapreduce;
mod mpi;
mod node_events;
mod nodes;
mod output_ends;
mod output_stream;
mod pool;
mod queued;
mod run;
mod running_window;
mod session;
mod sharing;
mod slots;
mod status;
mod stop;
mod submit;
mod task_logs;
mod tasks;
#[cfg(test)]
#[path = "../holding/src/test_keys.rs"]
mod test_keys;
mod timeline;
mod waits;
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
