//! How fast each module of a map is, in jobs and by itself.

use std::io::Write as _;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use it::Run;

use crate::bench::Bench;
use crate::compare;
use crate::kmeans::{KmeansJob, KmeansWay};
use crate::limits::{copies, loopback};

/// Of a packet, for a vector: its key, and elements of four bytes.
const PACKED: f64 = 4.0 + 128.0 * 4.0;
/// For each measurement.
pub(crate) const TIME: Duration = Duration::from_millis(500);
/// `fpgad bench` at the most.
const DEADLINE: Duration = Duration::from_secs(120);
/// Of a job.
const MAPS: u64 = 4;
/// What `fpgad bench` calls its measurements.
const BENCHED: [&str; 4] = [
    "input acquisition: parsing",
    "packets assembling",
    "transmission and result",
    "rings, 1 MiB there ",
];

/// Rates of one round, MB/s.
pub(crate) struct ModuleRates {
    /// Of a map that reads from HDFS.
    pub(crate) reading: f64,
    /// In the order of [`BENCHED`].
    pub(crate) benched: [f64; 4],
    /// All of a map, its modules one after the other.
    pub(crate) serial: f64,
    /// All of a map, while the board works.
    pub(crate) overlap: f64,
    pub(crate) copies: f64,
    pub(crate) loopback: f64,
    /// Bytes of text that are a vector.
    line: f64,
}

/// One of them.
pub(crate) type Rate = fn(&ModuleRates) -> f64;

/// One after the other: what is left of these rates.
pub(crate) fn in_series(each: &[f64]) -> f64 {
    1.0 / each.iter().map(|rate| 1.0 / rate).sum::<f64>()
}

impl ModuleRates {
    pub(crate) fn acquisition(&self) -> f64 {
        let [parsing, ..] = self.benched;
        in_series(&[self.reading, parsing])
    }

    /// All modules one after the other, MB/s of text.
    pub(crate) fn all(&self) -> f64 {
        let [_, assembling, link, _] = self.benched;
        let of_text = |rate: f64| rate * self.line / PACKED;
        in_series(&[self.acquisition(), of_text(assembling), of_text(link)])
    }
}

/// Jobs, and `fpgad bench`, in each of so many rounds.
pub(crate) fn measured(bench: &Bench, rounds: u32) -> Result<Vec<ModuleRates>> {
    let session = bench.session(1)?;
    let mut wanted = None;
    let mut all = Vec::new();
    for _ in 0..rounds {
        let mut runs = Vec::new();
        for way in [KmeansWay::Serial, KmeansWay::Board, KmeansWay::Processor] {
            let job = KmeansJob {
                k: 16,
                maps: MAPS,
                way,
            };
            let (run, files) = session.run(job)?;
            compare(&mut wanted, files)?;
            runs.push(run);
        }
        let [serial, overlap, ..] = &runs[..] else {
            anyhow::bail!("two jobs are wanted");
        };
        let rate = |bytes: u64, time: Duration| bytes as f64 / time.as_secs_f64() / 1e6;
        let rates = ModuleRates {
            reading: rate(serial.bytes, serial.reading),
            benched: benched(bench)?,
            serial: rate(serial.bytes, serial.reading + serial.mapping),
            overlap: rate(overlap.bytes, overlap.reading + overlap.mapping),
            copies: copies(TIME),
            loopback: loopback(TIME)?,
            line: bench.line(),
        };
        writeln!(
            std::io::stderr(),
            "reading {:.0}, {:.0?}, a map {:.0} and {:.0} MB/s",
            rates.reading,
            rates.benched,
            rates.serial,
            rates.overlap
        )?;
        all.push(rates);
    }
    session.stop()?;
    Ok(all)
}

/// What `fpgad bench` measures, MB/s.
fn benched(bench: &Bench) -> Result<[f64; 4]> {
    let mut command = Command::new(&bench.programs().driver);
    command.arg("bench").arg("--seconds");
    command.arg(TIME.as_secs_f64().to_string());
    let said = Run::new(command).deadline(DEADLINE).finish()?;
    rates(&said.success("fpgad bench")?.stdout_text())
}

fn rates(said: &str) -> Result<[f64; 4]> {
    let mut all = [0.0; 4];
    for (place, name) in all.iter_mut().zip(BENCHED) {
        let rest = said.lines().find_map(|line| line.strip_prefix(name));
        let rest = rest.with_context(|| format!("no {name:?}: {said}"))?;
        // What stands in brackets is no number of ours.
        let numbers = rest.split('(').next().unwrap_or_default();
        let last = numbers.split_whitespace().next_back();
        *place = last.with_context(|| format!("no rate: {rest}"))?.parse()?;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_and_put_in_series() {
        let said = "module                             paper, MB/s     here, MB/s\n\
                    input acquisition: parsing                89.6            950\n\
                    packets assembling                        2660           9000\n\
                    transmission and result                   1000 998 (link modelled at 1000)\n\
                    rings, 1 MiB there                                       4700\n\
                    rings, 1 MiB there and back                              2500\n";
        let benched = rates(said).unwrap();
        assert_eq!(format!("{benched:.0?}"), "[950, 9000, 998, 4700]");
        let of = ModuleRates {
            reading: 950.0,
            benched: [950.0, 1000.0, 1000.0, 1.0],
            serial: 1.0,
            overlap: 1.0,
            copies: 1.0,
            loopback: 1.0,
            line: PACKED * 2.0,
        };
        assert!((of.acquisition() - 475.0).abs() < 1e-9);
        // Half as many bytes of packets as of text.
        assert!((of.all() - 1.0 / (2.0 / 950.0 + 1.0 / 1000.0)).abs() < 1e-9);
        assert!(rates("nothing").is_err());
    }
}
