//! What every command is run in: threads, signals, and the end of the process.

use std::ops::ControlFlow;
use std::process::ExitCode;

use job::exit::Exit;
use terminal::signals::Signals;
use terminal::{flushed, interruptible, say};
use tokio::task::JoinSet;

use crate::failure::Failure;
use crate::system::system;

/// Runs a command that hears signals itself; the answer is its exit code, or a sentence first.
pub(crate) fn main(command: impl AsyncFnOnce(&mut Signals) -> Result<u8, Failure>) -> ExitCode {
    job::allocator::set_up(job::allocator::KEPT);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let code = match runtime {
        Ok(runtime) => {
            let code = runtime.block_on(whole(command));
            // A thread may still wait at the terminal.
            runtime.shutdown_background();
            code
        }
        Err(error) => told(system("start threads", Exit::Lost)(error).into()),
    };
    ExitCode::from(code)
}

/// The same for a command that a signal may end wherever it is.
pub(crate) fn interrupted_anywhere(
    command: impl Future<Output = Result<u8, Failure>> + Send + 'static,
) -> ExitCode {
    main(async |signals| spawned(signals, command).await)
}

/// Runs `command` in tasks of the runtime, so that a signal is heard whatever the operating system holds it up with.
pub(crate) async fn spawned(
    signals: &mut Signals,
    command: impl Future<Output = Result<u8, Failure>> + Send + 'static,
) -> Result<u8, Failure> {
    let mut running = JoinSet::new();
    running.spawn(command);
    match interruptible(signals, running.join_next()).await {
        ControlFlow::Continue(Some(Ok(outcome))) => outcome,
        ControlFlow::Continue(Some(Err(broken))) => {
            Err(system("run the command", Exit::Lost)(broken.into()).into())
        }
        // It was begun above.
        ControlFlow::Continue(None) => Ok(Exit::Lost.code()),
        ControlFlow::Break(signal) => Ok(128u8.saturating_add(signal)),
    }
}

/// The command, and what it has said, to whoever reads that: unless a signal ends the wait for him.
async fn whole(command: impl AsyncFnOnce(&mut Signals) -> Result<u8, Failure>) -> u8 {
    let mut signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(error) => return told(system("listen to signals", Exit::Lost)(error).into()),
    };
    terminal::begin();
    let code = command(&mut signals).await.unwrap_or_else(told);
    match interruptible(&mut signals, flushed()).await {
        ControlFlow::Continue(()) => code,
        ControlFlow::Break(signal) => 128u8.saturating_add(signal),
    }
}

fn told(failure: Failure) -> u8 {
    say(&failure);
    failure.exit().code()
}
