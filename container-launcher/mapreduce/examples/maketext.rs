//! Prints so many megabytes of text, always the same: what word count is measured on.

use std::io::Write as _;

fn main() -> std::io::Result<()> {
    let megabytes: usize = std::env::args()
        .nth(1)
        .and_then(|number| number.parse().ok())
        .unwrap_or(1);
    std::io::stdout().write_all(&gerbil_mapreduce::measure::text(megabytes * 1_000_000))
}
