//! What was measured, as a table and a picture.

use anyhow::{Context as _, Result};
use it::mpi::OPEN_MPI_RELEASE;
use it::results::{Axis, Chart, Figure, Series, Setting, Spread, Table};

use crate::nodes::NODES;
use crate::peers::OfPeers;

/// Of the server's resident memory, MB.
const SERVER_MB: f64 = 12.0;

/// What is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Better {
    Less,
    More,
}

/// One thing that was measured of all peers, in rounds.
pub(crate) struct Comparison {
    what: String,
    unit: &'static str,
    better: Better,
    pub(crate) rounds: Vec<OfPeers<f64>>,
    /// At most, or at least, of what `mpirun` does, in a session.
    wanted: Option<f64>,
}

impl Comparison {
    pub(crate) fn new(
        what: &str,
        unit: &'static str,
        better: Better,
        rounds: Vec<OfPeers<f64>>,
    ) -> Self {
        Self {
            what: what.to_owned(),
            unit,
            better,
            rounds,
            wanted: None,
        }
    }

    pub(crate) fn wanted(mut self, wanted: f64) -> Self {
        self.wanted = Some(wanted);
        self
    }

    fn spread(&self, of: impl Fn(&OfPeers<f64>) -> f64) -> Result<Spread> {
        let values: Vec<f64> = self.rounds.iter().map(of).collect();
        Spread::of(&values).context("no round")
    }

    /// Each round's ratio to `mpirun`.
    fn ratio(&self, place: usize) -> Result<Spread> {
        self.spread(|round| round[place] / round[0])
    }

    fn name(&self) -> String {
        format!("{}, {}", self.what, self.unit)
    }

    /// Whether what is wanted is so, in words.
    fn finding(&self) -> Result<Option<String>> {
        let Some(wanted) = self.wanted else {
            return Ok(None);
        };
        let ratio = self.ratio(1)?;
        let (kept, at) = match self.better {
            Better::Less => (ratio.median <= wanted, "at most"),
            Better::More => (ratio.median >= wanted, "at least"),
        };
        let kept = if kept { "kept" } else { "missed" };
        Ok(Some(format!(
            "{}, in a session: {} of mpirun's (wanted: {at} {wanted:.2}, {kept}).",
            self.what,
            ratio.words()
        )))
    }

    fn cells(&self) -> Result<[String; 6]> {
        let value = |place: usize| -> Result<String> {
            let spread = self.spread(|round| round[place])?;
            Ok(match spread.median < 100.0 {
                true => format!("{:.1} ({:.1}–{:.1})", spread.median, spread.min, spread.max),
                false => spread.whole(),
            })
        };
        Ok([
            self.name(),
            value(0)?,
            value(1)?,
            self.ratio(1)?.words(),
            value(2)?,
            self.ratio(2)?.words(),
        ])
    }
}

pub(crate) fn of(all: &[Comparison], rounds: usize, setting: Setting) -> Result<Figure> {
    let mut table = Table::new(&[
        "what",
        "mpirun",
        "gerbil-run --session",
        "ratio",
        "gerbil-run",
        "ratio",
    ]);
    let mut findings = Vec::new();
    let (mut sessions, mut applications) = (Vec::new(), Vec::new());
    for (place, comparison) in all.iter().enumerate() {
        table.row(comparison.cells()?);
        findings.extend(comparison.finding()?);
        sessions.push((place as f64, comparison.ratio(1)?));
        applications.push((place as f64, comparison.ratio(2)?));
    }
    for comparison in all.iter().filter(|comparison| comparison.unit == "MB") {
        let held = comparison.spread(|round| round[1])?.max;
        let kept = if held <= SERVER_MB { "kept" } else { "missed" };
        findings.push(format!(
            "{}: {held:.1} MB at most in a session (wanted: {SERVER_MB:.0}, {kept}).",
            comparison.what
        ));
    }
    let given: Vec<String> = std::env::args().skip(1).collect();
    Ok(Figure {
        name: "against-mpirun".to_owned(),
        title: "Programs of Open MPI, beside stock mpirun".to_owned(),
        command: format!(
            "cargo build --release -p client -p it && cargo run --release -p it --bin against-mpirun -- {}",
            given.join(" ")
        ),
        method: format!(
            "Open MPI {OPEN_MPI_RELEASE} of PyPI. The daemons of its `mpirun` run on {NODES} nodes of this machine, in namespaces \
             with a host name, shared memory and a copy of the libraries each; `gerbil-run` on the {NODES} nodes of a \
             stock cluster on the same machine, in a session that waits, and as an application that has to ask YARN \
             for its containers. All processes of both share the cores and the network; all ranks yield their core \
             while they wait (`mpi_yield_when_idle`). Open MPI's transport `btl/ofi` sleeps for a second in `MPI_Init` \
             where it finds no network of its own; `gerbil-run` keeps it closed on such nodes, and launches are \
             measured without and with `--mca btl ^ofi` for all. A launch is counted from the start of the command. Output is \
             counted from the first byte to the last. By turns, {rounds} rounds, one more before warms caches: median \
             (least–most); a ratio is that of one round. Memory is the most that was seen of one process in one run."
        ),
        paper: String::new(),
        findings,
        setting,
        table,
        chart: Chart {
            x: Axis::linear(""),
            y: Axis::logarithmic("of mpirun's"),
            names: all.iter().map(Comparison::name).collect(),
            stacked: false,
            series: vec![
                Series::spread("gerbil-run --session", &sessions),
                Series::spread("gerbil-run", &applications),
            ],
        },
    })
}
