//! From how many centroids on a board pays.

use std::io::Write as _;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::Run;
use it::accelerators::Programs;
use it::results::{Axis, Chart, Figure, Series, Setting, Spread, Table};

use crate::{HeteroOptions, command, spread};

const CENTROIDS: [u32; 7] = [4, 8, 16, 32, 64, 128, 256];
const THREADS: [u32; 2] = [1, 2];
/// More than this machine may have cores for: computed.
const MORE_THREADS: [u32; 3] = [4, 8, 16];
/// For each measurement, seconds.
const SECONDS: &str = "0.5";
/// A round at the most.
const DEADLINE: Duration = Duration::from_secs(300);

/// A line of `fpgad pays`: nanoseconds a vector.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PaysLine {
    k: u32,
    threads: u32,
    processor: f64,
    board: f64,
    /// What the card is modelled to take.
    card: f64,
}

impl PaysLine {
    fn read(line: &str) -> Result<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [k, threads, processor, board, card] = &words[..] else {
            anyhow::bail!("five numbers are wanted: {line}");
        };
        Ok(Self {
            k: k.parse()?,
            threads: threads.parse()?,
            processor: processor.parse()?,
            board: board.parse()?,
            card: card.parse()?,
        })
    }
}

/// All rounds of a number of centroids and of threads.
struct PaysRow {
    k: u32,
    threads: u32,
    processor: Spread,
    board: Spread,
    card: f64,
}

impl PaysRow {
    /// Medians: how many times faster with a board.
    fn faster(&self) -> f64 {
        self.processor.median / self.board.median
    }

    /// The same of so many threads, each as fast as the one that was measured, on a board of theirs: which is as fast as the
    /// slower of threads and card.
    fn computed(&self, threads: u32) -> f64 {
        let each = |time: Spread| time.median / f64::from(threads);
        each(self.processor) / each(self.board).max(self.card)
    }
}

pub(crate) fn figure(programs: &Programs, options: &HeteroOptions) -> Result<Figure> {
    let setting = Setting::begin("")?;
    let mut lines = Vec::new();
    for _ in 0..options.rounds {
        lines.extend(round(programs)?);
    }
    let rows = rows(&lines)?;
    let mut table = Table::new(&[
        "centroids",
        "threads",
        "processor, ns a vector: median (range)",
        "with a board, ns a vector: median (range)",
        "of which the card is modelled to take, ns",
        "times faster",
    ]);
    for row in &rows {
        table.row([
            row.k.to_string(),
            row.threads.to_string(),
            row.processor.whole(),
            row.board.whole(),
            format!("{:.0}", row.card),
            format!("{:.2}", row.faster()),
        ]);
    }
    let cores = std::thread::available_parallelism()?.get();
    let mut series = Vec::new();
    let mut findings = Vec::new();
    for threads in THREADS {
        let of: Vec<&PaysRow> = rows.iter().filter(|row| row.threads == threads).collect();
        let name = match threads {
            1 => "1 thread".to_owned(),
            more => format!("{more} threads"),
        };
        let line = |time: fn(&PaysRow) -> Spread| -> Vec<(f64, Spread)> {
            of.iter().map(|row| (f64::from(row.k), time(row))).collect()
        };
        series.push(Series::spread(
            &format!("processor, {name}"),
            &line(|row| row.processor),
        ));
        series.push(Series::spread(
            &format!("board, {name}"),
            &line(|row| row.board),
        ));
        let curve: Vec<(f64, f64)> = of
            .iter()
            .map(|row| (f64::from(row.k), row.faster()))
            .collect();
        let most = curve.iter().map(|of| of.1).fold(0.0, f64::max);
        findings.push(format!(
            "From text, {name}: {}; up to {most:.2} times as fast.",
            Crossing::of(&curve).words()
        ));
    }
    for threads in MORE_THREADS {
        let alone = rows.iter().filter(|row| row.threads == 1);
        let curve: Vec<(f64, f64)> = alone
            .map(|row| (f64::from(row.k), row.computed(threads)))
            .collect();
        findings.push(format!(
            "Computed and not measured, for {threads} threads with a core each, as fast as the one that was measured, and one \
             board: {}.",
            Crossing::of(&curve).words()
        ));
    }
    Ok(Figure {
        name: "hetero-pays".to_owned(),
        title: "From how many centroids on a board pays".to_owned(),
        command: command("k", options),
        method: format!(
            "`fpgad pays`, each number for {SECONDS} s, {cores} cores: threads read lines of 128 numbers, normalise them and \
             make packets' worth of vectors of them. *Processor*: the version that a job runs without a board assigns and adds \
             them up. *With a board*: they are made into packets of 1 MiB, which go through the rings of a driver in a process \
             of its own to a card that swallows them and whose time is modelled: for each packet as long as a card of 200 MHz \
             computes it, or as a link of 1000 MB/s brings it, whichever is longer; vectors take as many cycles as they have \
             elements, 128, or as there are centroids if those are more. Threads have a device each of the same board. The \
             driver's own work, two checksums of each packet, is done by the same cores. Before each number the model's answer \
             to a packet is compared with the processor's. The Verilog has 32 lanes; with \
             more centroids the modelled card has a lane for each, which no card has."
        ),
        paper: String::new(),
        findings,
        setting: setting.finish()?,
        table,
        chart: Chart {
            x: Axis::logarithmic("centroids"),
            y: Axis::logarithmic("a vector, ns"),
            names: Vec::new(),
            stacked: false,
            series,
        },
    })
}

fn round(programs: &Programs) -> Result<Vec<PaysLine>> {
    let list = |numbers: &[u32]| {
        let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
        words.join(",")
    };
    let mut command = Command::new(&programs.driver);
    command.args(["pays", "--seconds", SECONDS, "--centroids"]);
    command
        .arg(list(&CENTROIDS))
        .arg("--threads")
        .arg(list(&THREADS));
    let said = Run::new(command).deadline(DEADLINE).finish()?;
    let said = said.success("fpgad pays")?.stdout_text();
    write!(std::io::stderr(), "{said}")?;
    let lines = said.lines().skip(1);
    let lines = lines.map(PaysLine::read).collect::<Result<Vec<_>>>()?;
    let wanted = CENTROIDS.len() * THREADS.len();
    ensure!(lines.len() == wanted, "{wanted} lines are wanted: {said}");
    Ok(lines)
}

fn rows(lines: &[PaysLine]) -> Result<Vec<PaysRow>> {
    let mut rows = Vec::new();
    for k in CENTROIDS {
        for threads in THREADS {
            let of = || {
                let lines = lines.iter();
                lines.filter(move |line| line.k == k && line.threads == threads)
            };
            let times = |time: fn(&PaysLine) -> f64| spread(&of().map(time).collect::<Vec<_>>());
            rows.push(PaysRow {
                k,
                threads,
                processor: times(|line| line.processor)?,
                board: times(|line| line.board)?,
                card: of().next().context("no line")?.card,
            });
        }
    }
    Ok(rows)
}

/// From where on a ratio stays above 1.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Crossing {
    /// From the first one measured on.
    Always,
    /// Between these two.
    Between(f64, f64),
    /// Not up to the last one.
    Never,
}

impl Crossing {
    /// Of numbers of centroids, rising, and their ratios.
    fn of(curve: &[(f64, f64)]) -> Self {
        let Some(last) = curve.iter().rposition(|(_, ratio)| *ratio <= 1.0) else {
            return Self::Always;
        };
        match (curve.get(last), curve.get(last.saturating_add(1))) {
            (Some((below, _)), Some((above, _))) => Self::Between(*below, *above),
            _ => Self::Never,
        }
    }

    fn words(self) -> String {
        match self {
            Self::Always => {
                "a board pays from the fewest centroids on that were measured".to_owned()
            }
            Self::Between(below, above) => {
                format!("a board does not pay at {below} centroids, and does from {above} on")
            }
            Self::Never => {
                "at the most centroids that were measured a board does not pay".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_pays_from_where_it_stays_faster() {
        let of = |ratios: [f64; 3]| {
            Crossing::of(&[(4.0, ratios[0]), (8.0, ratios[1]), (16.0, ratios[2])])
        };
        assert_eq!(of([1.1, 1.2, 1.3]), Crossing::Always);
        assert_eq!(of([1.1, 0.9, 1.3]), Crossing::Between(8.0, 16.0));
        assert_eq!(of([1.1, 0.9, 1.0]), Crossing::Never);
    }

    #[test]
    fn a_line_of_the_driver_is_read() {
        let line =
            "       16        2                    1013                 806                    646";
        let read = PaysLine::read(line).unwrap();
        assert_eq!((read.k, read.threads), (16, 2));
        assert_eq!(
            (read.processor, read.board, read.card),
            (1013.0, 806.0, 646.0)
        );
        assert!(PaysLine::read("16 2 1013").is_err());
    }

    #[test]
    fn more_threads_come_to_the_card() {
        let row = PaysRow {
            k: 16,
            threads: 1,
            processor: spread(&[1600.0]).unwrap(),
            board: spread(&[800.0]).unwrap(),
            card: 200.0,
        };
        assert_eq!(
            (row.faster(), row.computed(2), row.computed(8)),
            (2.0, 2.0, 1.0)
        );
    }
}
