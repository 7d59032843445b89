//! K-means, Bayes and a plain job in one session whose policy is `hetero`, and Hadoop's own MapReduce beside it.

use std::io::Write as _;

use anyhow::Result;
use it::mapreduce::{self, Files, is_same};
use it::results::{Axis, Chart, Figure, Series, Table};

use crate::bench::Bench;
use crate::beside_job::{BesideJob, DOCUMENTS, JOBS, start};
use crate::shape::NODES;
use crate::{HeteroOptions, command, spread};

/// At a time on a node.
const TASKS: usize = 4;
/// Documents are so many times fewer bytes than vectors.
const FEWER: u64 = 4;
/// Bytes of a document, about.
const DOCUMENT: u64 = 300;
const POLICY: [&str; 2] = ["--policy", "hetero"];

/// All rounds of a job.
#[derive(Default)]
struct BesideRow {
    alone: Vec<f64>,
    together: Vec<f64>,
    devices: i64,
    wanted: Vec<Files>,
}

impl BesideRow {
    /// What the job left is what it left before.
    fn compare(&mut self, files: Vec<Files>) -> Result<()> {
        if self.wanted.is_empty() {
            self.wanted = files;
            return Ok(());
        }
        let mut both = self.wanted.iter().zip(&files);
        both.try_for_each(|(wanted, files)| is_same(files, wanted))
    }
}

pub(crate) fn figure(bench: &Bench, options: &HeteroOptions) -> Result<Figure> {
    let plain = mapreduce::release_example("wordcount")?;
    let setting = bench.setting()?;
    let session = bench.session_on("model", TASKS, &POLICY)?;
    let documents = (options.mb * 1_000_000 / FEWER / DOCUMENT / 2).to_string();
    let generate = ["--job", "generate", "--lines", &documents, "2", DOCUMENTS];
    let made = session.mr("documents", &[], &bench.programs().bayes, &generate)?;
    made.finish()?.success("making documents")?;
    let mut rows = JOBS.map(|job| (job, BesideRow::default()));
    for _ in 0..options.rounds {
        for (job, row) in &mut rows {
            let end = start(bench, &session, &plain, *job)?.finish(bench, &session)?;
            writeln!(
                std::io::stderr(),
                "{}, alone: {:.2} s",
                job.name(),
                end.seconds
            )?;
            row.alone.push(end.seconds);
            row.compare(end.files)?;
        }
        let running = JOBS.map(|job| start(bench, &session, &plain, job));
        for (running, (job, row)) in running.into_iter().zip(&mut rows) {
            let end = running?.finish(bench, &session)?;
            writeln!(
                std::io::stderr(),
                "{}, together: {:.2} s",
                job.name(),
                end.seconds
            )?;
            row.together.push(end.seconds);
            row.devices = end.devices;
            row.compare(end.files)?;
        }
    }
    session.stop()?;
    let [.., (_, ours), (_, hadoops)] = &rows;
    let text = |row: &BesideRow| {
        let files = row.wanted.iter().flatten();
        let parts = files.filter(|(name, _)| name.starts_with("part-"));
        parts
            .flat_map(|(_, bytes)| bytes.clone())
            .collect::<Vec<u8>>()
    };
    let are_equal = !text(ours).is_empty() && text(ours) == text(hadoops);
    page(options, setting.finish()?, &rows, are_equal)
}

fn page(
    options: &HeteroOptions,
    setting: it::results::Setting,
    rows: &[(BesideJob, BesideRow)],
    are_equal: bool,
) -> Result<Figure> {
    let mut table = Table::new(&[
        "job",
        "alone, s: median (range)",
        "together, s: median (range)",
        "times longer",
        "packets on boards, together",
    ]);
    let (mut alone, mut together) = (Vec::new(), Vec::new());
    for (place, (job, row)) in rows.iter().enumerate() {
        let (one, all) = (spread(&row.alone)?, spread(&row.together)?);
        table.row([
            job.name().to_owned(),
            one.words(),
            all.words(),
            format!("{:.2}", all.median / one.median),
            row.devices.to_string(),
        ]);
        alone.push((place as f64, one));
        together.push((place as f64, all));
    }
    let are_on_boards = rows.iter().all(|(job, row)| match job {
        BesideJob::Kmeans | BesideJob::Bayes => row.devices > 0,
        BesideJob::Plain | BesideJob::Hadoop => row.devices == 0,
    });
    Ok(Figure {
        name: "hetero-beside".to_owned(),
        title: "Jobs of several functions at the same time, and Hadoop's own beside them"
            .to_owned(),
        command: command("beside", options),
        method: format!(
            "{NODES} nodes that are addresses of one machine, of which YARN counts 20 and 2 acc/kmeans-map, 2 and 1 \
             acc/kmeans-reduce, 2 and 1 acc/bayes-map, with modelled boards of as many devices; a session of {TASKS} slots a \
             node whose policy is `hetero`. K-means over {} MB of vectors, naive Bayes over about {} MB of documents, a word \
             count of those; each alone, then all at the same time, with the word count of `hadoop-mapreduce-examples` as it \
             comes, in YARN's own containers on the same nodes. Jobs of the session: from when it takes the first of a program \
             until the last is over; Hadoop's: its command. Outputs of a row are equal, byte by byte, alone and together.",
            options.mb,
            options.mb / FEWER
        ),
        paper: "jobs of Hadoop run beside accelerated ones as they are (HeteroYARN, 3.6)"
            .to_owned(),
        findings: vec![
            format!(
                "K-means and Bayes were computed by boards, all of them, while the others ran: {are_on_boards}."
            ),
            format!(
                "Hadoop's own example ran beside them unchanged, and wrote what ours writes, byte by byte: {are_equal}."
            ),
        ],
        setting,
        table,
        chart: Chart {
            x: Axis::linear(""),
            y: Axis::linear("the job, s"),
            names: rows.iter().map(|(job, _)| job.name().to_owned()).collect(),
            stacked: false,
            series: vec![
                Series::spread("alone", &alone),
                Series::spread("together", &together),
            ],
        },
    })
}
