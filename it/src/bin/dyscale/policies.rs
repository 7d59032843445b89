//! Mean completion times of both queues under each policy, beside the simulator's.

use anyhow::{Context as _, Result};
use it::results::{Axis, Chart, Figure, Series, Setting, Spread, Table};

use crate::recorded::{JobRun, SessionRun, mean};
use crate::{DyScaleOptions, POLICIES, command, plan};

/// What is wanted of `dyscale`: a queue's mean completion time, of that under `fifo` at the most.
const WANTED: [(&str, f64); 2] = [("interactive", 0.5), ("batch", 1.15)];
/// How far a queue's mean may be from the simulator's, percent.
const NEAR: f64 = 5.0;

/// A policy's means of one queue, of all rounds.
struct Row {
    policy: &'static str,
    queue: &'static str,
    /// Of each round.
    real: Vec<f64>,
    planned: Vec<f64>,
}

impl Row {
    fn real(&self) -> f64 {
        mean(self.real.iter().copied())
    }

    fn planned(&self) -> f64 {
        mean(self.planned.iter().copied())
    }

    /// From the simulator's, percent.
    fn off(&self) -> f64 {
        (self.real() / self.planned() - 1.0) * 100.0
    }
}

/// A policy without the shares of its queues.
pub(crate) fn short(policy: &str) -> &str {
    policy.split(":queue.").next().unwrap_or(policy)
}

pub(crate) fn figure(
    options: &DyScaleOptions,
    setting: Setting,
    runs: &[SessionRun],
) -> Result<Figure> {
    let of = |policy: &'static str| runs.iter().filter(move |run| run.policy == policy);
    let rows = POLICIES.iter().flat_map(|policy| {
        WANTED.iter().map(move |(queue, _)| {
            let means = |end: fn(&JobRun) -> f64| of(policy).map(move |run| run.mean(queue, end));
            Row {
                policy,
                queue,
                real: means(|job| job.real).collect(),
                planned: means(|job| job.planned).collect(),
            }
        })
    });
    let rows: Vec<Row> = rows.collect();
    let mut table = Table::new(&[
        "policy",
        "queue",
        "mean completion, AM, s (least–most of the rounds)",
        "of fifo's",
        "simulator, s",
        "of fifo's, simulator",
        "AM off the simulator, %",
        "moves",
        "order to answer, median, ms",
    ]);
    let base = |queue: &str| rows.iter().find(|row| row.queue == queue);
    let mut findings = Vec::new();
    for row in &rows {
        let base = base(row.queue).context("nothing to compare with")?;
        let spread = Spread::of(&row.real).context("no round")?;
        let moved: Vec<&SessionRun> = of(row.policy).collect();
        let answered: Vec<f64> = (moved.iter())
            .flat_map(|run| run.moves.answered.clone())
            .collect();
        let count: u32 = moved.iter().map(|run| run.moves.done).sum();
        table.row([
            short(row.policy).to_owned(),
            row.queue.to_owned(),
            format!("{:.2} ({:.2}–{:.2})", row.real(), spread.min, spread.max),
            format!("{:.3}", row.real() / base.real()),
            format!("{:.2}", row.planned()),
            format!("{:.3}", row.planned() / base.planned()),
            format!("{:+.1}", row.off()),
            count.to_string(),
            Spread::of(&answered).map_or("–".to_owned(), |of| format!("{:.1}", of.median)),
        ]);
    }
    for row in rows.iter().filter(|row| row.policy.starts_with("dyscale")) {
        let base = base(row.queue).context("nothing to compare with")?;
        let most = WANTED.iter().find(|(queue, _)| *queue == row.queue);
        let (_, most) = most.context("a queue of which nothing is wanted")?;
        let ratio = row.real() / base.real();
        let met = if ratio <= *most { "met" } else { "not met" };
        findings.push(format!(
            "{}, {}: {ratio:.3} of fifo's mean completion; at most {most} is wanted: {met}.",
            row.policy, row.queue
        ));
    }
    let near = rows.iter().filter(|row| row.off().abs() <= NEAR).count();
    let most = rows.iter().map(|row| row.off().abs()).fold(0.0, f64::max);
    findings.push(format!(
        "{near} of {} means are within {NEAR} % of the simulator's, which is wanted of all; the one farthest off is off by \
         {most:.1} %.",
        rows.len()
    ));
    let refused: u32 = runs.iter().map(|run| run.moves.refused).sum();
    let without: u32 = runs.iter().map(|run| run.without).sum();
    findings.push(format!(
        "{refused} orders to move could not be carried out; {without} attempts did not end well."
    ));
    let beside = Spread::of(&runs.iter().map(|run| run.beside_ms).collect::<Vec<_>>());
    findings.push(format!(
        "Beside its rest a task took {} ms: the median of the sessions' medians, and their range.",
        beside.map_or("–".to_owned(), Spread::whole)
    ));
    if options.from.is_some() {
        let words = "Made of records that an earlier run has kept: release of the daemons, commit and load are not of that run.";
        findings.push(words.to_owned());
    }
    let bars = |of: fn(&Row) -> f64| {
        let at = rows.iter().enumerate();
        at.map(|(place, row)| (place as f64, of(row))).collect()
    };
    let name = |row: &Row| format!("{} {}", short(row.policy), row.queue);
    Ok(Figure {
        name: "dyscale-policies".to_owned(),
        title: "DyScale in sessions: fast cores for interactive jobs, slow ones for batch".to_owned(),
        command: command("policies", options),
        method: method(options),
        paper: "only simulated: interactive jobs are best off with DyScale at every load, batch jobs slightly worse than on \
                slow cores alone (DyScale, Figure 12)."
            .to_owned(),
        findings,
        setting,
        table,
        chart: Chart {
            x: Axis::linear(""),
            y: Axis::linear("mean completion, s"),
            names: rows.iter().map(name).collect(),
            stacked: false,
            series: vec![
                Series::measured("ApplicationMaster", bars(Row::real)),
                Series::given("simulator", bars(Row::planned)),
            ],
        },
    })
}

fn method(options: &DyScaleOptions) -> String {
    format!(
        "Four NodeManagers on one machine with `--cores fast=0,slow=1` and one map slot on the fast core and three on the slow \
         one each (`--slots fast=1:0,slow=3:1`; the jobs have no reduces). *Emulated*: all nodes share the two cores, and tasks are those of the \
         example `hold --by-mask 0`, which wait instead of computing, as told on core 0 and as long as at 0.45 of its speed \
         on core 1; binding, moves, queues, processes, HDFS and YARN are real. A batch job of {} maps of {} s (on the fast core) \
         and {} interactive jobs of 1 to 3 maps of {} to {} ms, drawn by a seed with exponential gaps of {} s in the mean, in one \
         session a policy, {} rounds with other jobs each. `capacity` has `queue.interactive=25,queue.batch=75`. *AM*: from \
         when the session has the job to its last task's end, of the session's record. *Simulator*: the same jobs, when they \
         came to the session, with the times that are told to `hold` and what tasks took beside them, the median of the \
         record (its process, its output, the reports). \
         *Moves*: attempts that went on on the other core, all rounds; *order to answer* by the ApplicationMaster's clock.",
        options.maps,
        plan::BATCH_SECONDS,
        options.jobs,
        plan::LEAST_MS,
        plan::LEAST_MS * 2,
        plan::GAP,
        options.rounds
    )
}
