//! `mapreduce-limits`: MapReduce jobs that are as large as they get in one respect, on a stock cluster of this machine,
//! whose nodes are loopback addresses.

mod line;
mod small;
mod sort;
mod wide;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

/// Runs a job that is at a limit, and says what it needed.
#[derive(Debug, Parser)]
enum MapReduceLimitsOptions {
    /// Thousands of maps and reduces of next to nothing: what they cost the ApplicationMaster.
    Wide(wide::WideOptions),
    /// A line that is longer than any record may be: how the job ends.
    Line(line::LineOptions),
    /// A job with next to nothing to do: how soon it runs and is over.
    Small(small::SmallOptions),
    /// Rows that are many times what the containers have in memory: how long, and how much disk.
    Sort(sort::SortOptions),
}

const NODES: usize = 4;
/// For one job.
const DEADLINE: Duration = Duration::from_secs(1200);

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    let done = match MapReduceLimitsOptions::parse() {
        MapReduceLimitsOptions::Wide(options) => wide::run(&options),
        MapReduceLimitsOptions::Line(options) => line::run(&options),
        MapReduceLimitsOptions::Small(options) => small::run(&options),
        MapReduceLimitsOptions::Sort(options) => sort::run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mapreduce-limits: {error:#}");
            ExitCode::FAILURE
        }
    }
}
