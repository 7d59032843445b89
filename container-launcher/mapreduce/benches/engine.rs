//! The engine's steps, in MB per second of processor time, beside what cannot be left out of each:
//! `cargo bench -p gerbil-mapreduce`.

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
                let limit = figure.limit.map_or_else(String::new, |(of, limit)| {
                    let share = figure.speed / limit * 100.0;
                    format!(", {share:.0} % of {limit:.0}: {of}")
                });
                drop(writeln!(
                    std::io::stdout(),
                    "{:<45} {:>8.0} MB/s{limit}",
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
