//! The engine's steps, in MB per second of processor time: `cargo bench -p gerbil-mapreduce`.

use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    // `cargo test --benches` only wants to know that it starts.
    if !std::env::args().any(|word| word == "--bench") {
        return ExitCode::SUCCESS;
    }
    match gerbil_mapreduce::measure::figures() {
        Ok(figures) => {
            for figure in figures {
                drop(writeln!(
                    std::io::stdout(),
                    "{:<45} {:>8.0} MB/s",
                    figure.step,
                    figure.speed
                ));
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            drop(writeln!(std::io::stderr(), "{error}"));
            ExitCode::FAILURE
        }
    }
}
