//! Naive Bayes on the accelerators of the nodes, or on their processors: the same program and the same bytes.
//!
//! ```text
//! cargo run --release --example bayes --features fpga -- --local --job generate --lines 100000 8 DOCUMENTS
//! cargo run --release --example bayes --features fpga -- --local DOCUMENTS OUT
//! ```
//!
//! Source: HeteroYARN (Li et al., TPDS 2020), §4.3.3, equation (2). A line is a document: its number, a tab, its class or
//! `-`, a tab, and the ids of its terms with blanks between them. A job counts the documents of each class and their terms
//! (`OUT/counts`); the driver makes logarithms of them, of 24 bits after the point; a second job, of maps alone, finds the
//! likeliest class of each document (`acc/bayes-map`), and leaves `number TAB class` in `OUT/classes`. Ties go to the lowest
//! class. The table of logarithms is sent to a device once, under a model id, and again where the device has forgotten it
//! (`MODELS_LOADED`, `MODELS_RELOADED`). `--train` names other documents to count than those that are sorted.

mod classify;
mod count;
mod document;
mod generate;

use std::io::Write as _;

use fpga_driver::bayes::BayesTable;
use gerbil_mapreduce::prelude::*;

use classify::Classify;
use count::Counts;
use generate::Documents;

/// Of counts and of logarithms, at most: 128 MiB of counts in each map.
const CELLS: usize = 1 << 24;

fn main() -> ExitCode {
    let generate = Job::new("generate")
        .option::<u32>("lines", Some("1000"), "documents of a file that is made")
        .option::<u32>(
            "length",
            Some("60"),
            "terms of a document that is made, on average",
        )
        .option::<u64>("seed", Some("1"), "another one makes other documents")
        .map(|| Documents)
        .map_only();
    let count = Job::new("count")
        .option::<u32>(
            "classes",
            Some("8"),
            "classes that documents are sorted into",
        )
        .option::<u32>(
            "terms",
            Some("5000"),
            "terms of the vocabulary: ids are lower",
        )
        .set("mapreduce.job.reduces", "1")
        .map(Counts::default)
        .combine(|| Sum)
        .reduce(|| Sum);
    let classify = Job::new("classify")
        .option::<String>(
            "train",
            Some(""),
            "documents to be counted; without it the input's",
        )
        .option::<String>(
            "job",
            Some(""),
            "generate makes documents, and nothing else",
        )
        .tag("bayes")
        .accelerated_map(Classify::default)
        .map_only();
    App::new("bayes")
        .job(generate)
        .job(count)
        .job(classify)
        .drive(drive)
        .main()
}

fn drive(run: &mut Run<'_>) -> Result<()> {
    let (inputs, output) = (run.inputs(), run.output().to_owned());
    match run.option::<String>("job")?.as_str() {
        "" => {}
        "generate" => {
            let job = run.job("generate").inputs(inputs).output(&output);
            return job.wait().map(drop);
        }
        other => return Err(Error::new(format!("--job {other}: known is generate"))),
    }
    let classes: usize = run.option("classes")?;
    let terms: usize = run.option("terms")?;
    if classes == 0 || terms == 0 {
        let words = format!("--classes {classes} --terms {terms}: give one of each at least");
        return Err(Error::new(words));
    }
    let cells = terms
        .checked_add(1)
        .and_then(|rows| rows.checked_mul(classes))
        .filter(|cells| *cells <= CELLS)
        .ok_or_else(|| {
            let all = format!("--classes {classes} --terms {terms}");
            Error::new(format!("{all}: a table may have up to {CELLS} cells"))
        })?;
    let train: String = run.option("train")?;
    let folder = format!("{output}/counts");
    let count = run.job("count").output(&folder);
    let count = match train.as_str() {
        "" => count.inputs(inputs),
        train => count.input(train),
    };
    let counts = table(&count.wait()?.read_text()?, cells)?;
    let model = BayesTable::of_counts(&counts, classes);
    let documents: u64 = counts.iter().take(classes).sum();
    let line = format!(
        "model {:016x}: {classes} classes, {terms} terms, of {documents} documents",
        model.model()
    );
    // Nobody there to read it is no reason to fail.
    drop(writeln!(std::io::stderr(), "{line}"));
    let folder = format!("{output}/classes");
    let classify = run.job("classify").inputs(inputs).output(&folder);
    classify.params(&(classes, model.logs))?.wait().map(drop)
}

/// Lines of a cell and its count, as all cells; one that has no line is 0.
fn table(text: &str, cells: usize) -> Result<Vec<u64>> {
    let mut counts = vec![0; cells];
    for line in text.lines() {
        let bad = || Error::new(format!("no line of a count: {line:.80}"));
        let (cell, count) = line.split_once('\t').ok_or_else(bad)?;
        let place = counts.get_mut(cell.parse::<usize>()?).ok_or_else(bad)?;
        *place = count.parse()?;
    }
    Ok(counts)
}
