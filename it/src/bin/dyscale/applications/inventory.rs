//! Table 2: what the applications read and write, and what that makes of them.

use anyhow::Result;
use it::results::{Axis, Chart, Figure, Series, Setting, Table};

use super::measured::{Measured, Volume};
use super::suite::{Application, Said};
use super::{ApplicationsOptions, command, method};

/// Map output, or output, of so much of the input is much: it parts what the paper calls heavy from what it does not.
const HEAVY: f64 = 1.0 / 3.0;

/// What an application asks of the network and of HDFS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Class {
    shuffle: bool,
    write: bool,
}

impl Class {
    /// Of map output and output as shares of the input.
    fn of((between, output): (f64, f64)) -> Self {
        Self {
            shuffle: between >= HEAVY,
            write: output >= HEAVY,
        }
    }

    const fn words(self) -> &'static str {
        match (self.shuffle, self.write) {
            (true, true) => "shuffle-heavy, write-heavy",
            (true, false) => "shuffle-heavy",
            (false, true) => "write-heavy",
            (false, false) => "light",
        }
    }

    fn is(self, said: Said) -> bool {
        match said {
            Said::Heavy => self.shuffle && self.write,
            Said::Light => !self.shuffle && !self.write,
        }
    }
}

/// Map output and output, as shares of the input.
fn shares(volume: &Volume) -> (f64, f64) {
    let share = |bytes: u64| bytes as f64 / volume.input as f64;
    (share(volume.between), share(volume.output))
}

fn shares_of_paper(application: &Application) -> (f64, f64) {
    let [input, between, output] = application.paper;
    (between / input, output / input)
}

/// MB, with as many digits as a small one needs.
fn megabytes(bytes: u64) -> String {
    let megabytes = bytes as f64 / 1e6;
    match megabytes >= 10.0 {
        true => format!("{megabytes:.0}"),
        false => format!("{megabytes:.4}"),
    }
}

/// The table and its picture.
pub(super) fn figure(
    options: &ApplicationsOptions,
    setting: Setting,
    all: &[Measured],
) -> Result<Figure> {
    let mut table = Table::new(&[
        "application",
        "input, MB",
        "map output, MB",
        "output, MB",
        "records",
        "maps, reduces",
        "map output / input",
        "the paper's",
        "output / input",
        "the paper's",
        "class",
        "by the paper's bytes",
    ]);
    let mut ours: Vec<(&Application, (f64, f64))> = Vec::new();
    for measured in all {
        let (application, volume) = (&measured.application, measured.volume()?);
        let (shares, paper) = (shares(&volume), shares_of_paper(application));
        table.row([
            application.name.to_owned(),
            megabytes(volume.input),
            megabytes(volume.between),
            megabytes(volume.output),
            volume.records.to_string(),
            format!("{}, {}", volume.maps, volume.reduces),
            format!("{:.2}", shares.0),
            format!("{:.2}", paper.0),
            format!("{:.2}", shares.1),
            format!("{:.2}", paper.1),
            Class::of(shares).words().to_owned(),
            Class::of(paper).words().to_owned(),
        ]);
        ours.push((application, shares));
    }
    let mut findings = vec![
        "All runs of an application have written as many records and bytes, on fast and on slow cores.".to_owned(),
    ];
    findings.extend(said(
        &ours,
        Said::Heavy,
        "both shuffle-heavy and write-heavy",
    ));
    findings.extend(said(&ours, Said::Light, "shuffle-light and write-light"));
    let bars = |of: fn(&(&Application, (f64, f64))) -> f64| {
        let at = ours.iter().enumerate();
        at.map(|(place, one)| (place as f64, of(one))).collect()
    };
    Ok(Figure {
        name: "dyscale-table-02".to_owned(),
        title: "DyScale's thirteen applications: what they read and write".to_owned(),
        command: command(options),
        method: format!(
            "{} *Map output*: as reduces fetch it. *Class*: shuffle-heavy where map output is a third of the input at least, \
             write-heavy where output is. Text is random words, in which three in a row repeat less often than in Wikipedia; InvertedIndex emits a file's whole path with each word, and combines nothing; KMeans reads points \
             instead of Netflix's ratings, and sums them up in its maps.",
            method(options)
        ),
        paper: "TeraSort, RankInvIndex, SeqCount and KMeans are both shuffle-heavy and write-heavy; Grep, HistMovies, \
                HistRatings and Classification are shuffle-light and write-light (DyScale, Table 2 and section 5.1)."
            .to_owned(),
        findings,
        setting,
        table,
        chart: Chart {
            x: Axis::linear(""),
            y: Axis::linear("of the input"),
            names: ours.iter().map(|(of, _)| of.name.to_owned()).collect(),
            stacked: false,
            series: vec![
                Series::measured("map output", bars(|(_, shares)| shares.0)),
                Series::given("map output, the paper", bars(|(of, _)| shares_of_paper(of).0)),
                Series::measured("output", bars(|(_, shares)| shares.1)),
                Series::given("output, the paper", bars(|(of, _)| shares_of_paper(of).1)),
            ],
        },
    })
}

/// Of which applications it is true what the paper says; `None`: of none that ran it says anything.
fn said(ours: &[(&Application, (f64, f64))], what: Said, words: &str) -> Option<String> {
    let of = ours.iter().filter(|(of, _)| of.said == Some(what));
    let each: Vec<String> = of
        .map(|(of, shares)| format!("{}: {}", of.name, Class::of(*shares).is(what)))
        .collect();
    (!each.is_empty()).then(|| format!("The paper calls these {words}. Here: {}.", each.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::suite::SUITE;
    use super::*;

    /// The rule says of the paper's own bytes what the paper says in words.
    #[test]
    fn the_papers_bytes_have_the_papers_classes() {
        for application in &SUITE {
            let class = Class::of(shares_of_paper(application));
            let is_as_said = application.said.is_none_or(|said| class.is(said));
            assert!(is_as_said, "{} is {}", application.name, class.words());
        }
        let of = |name: &str| {
            let found = SUITE.iter().find(|one| one.name == name).unwrap();
            Class::of(shares_of_paper(found)).words()
        };
        assert_eq!(of("SelfJoin"), "shuffle-heavy");
        assert_eq!(of("AdjacencyList"), "shuffle-heavy, write-heavy");
        assert_eq!(of("WordCount"), "light");
    }

    #[test]
    fn what_the_paper_says_is_told_of_each() {
        let ours = [(&SUITE[0], (1.0, 1.0)), (&SUITE[12], (0.1, 1.0))];
        assert_eq!(
            said(&ours, Said::Heavy, "heavy").unwrap(),
            "The paper calls these heavy. Here: TeraSort: true, KMeans: false."
        );
        assert_eq!(said(&ours, Said::Light, "light"), None);
        assert_eq!(
            (megabytes(512_000_000), megabytes(300)),
            ("512".into(), "0.0003".into())
        );
    }
}
