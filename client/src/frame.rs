//! What every command is run in: threads, and the end of the process.

use std::process::ExitCode;

use follow::say;
use job::exit::Exit;

use crate::failure::Failure;
use crate::system::system;

/// Runs a command; the answer is its exit code, or a sentence first.
pub(crate) fn main(command: impl Future<Output = Result<u8, Failure>>) -> ExitCode {
    job::allocator::set_up(job::allocator::KEPT);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let outcome = match runtime {
        Ok(runtime) => {
            let outcome = runtime.block_on(command);
            // A thread may still wait at the terminal.
            runtime.shutdown_background();
            outcome
        }
        Err(error) => Err(system("start threads", Exit::Lost)(error).into()),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            say(&failure);
            ExitCode::from(failure.exit().code())
        }
    }
}
