//! Holds slots for as long as it is told, and a node's device in turn, and computes nothing: how a queue of jobs goes
//! through a cluster, without the work.
//!
//! ```text
//! cargo run --release --example hold -- --local --load 0.5 MAPS OUT
//! gerbil mr -D needs.map=gpu ./hold --load 0.6 --device 0.4 --reduce 3 32 OUT
//! gerbil mr --queue batch ./hold --load 4 --by-mask 0-3 60 OUT
//! ```
//!
//! Each of so many maps rests for `--load` seconds, has a device for `--device` seconds (0: it wants none), and rests
//! for `--store`; each reduce rests for `--reduce`. OUT stays empty.
//!
//! With `--by-mask CORES` it rests at the speed of the cores that it is bound to, as a task does that computes: as told
//! on these cores, else as long as at 0.45 of their speed. Where it is moved meanwhile the rest goes on at the other speed,
//! and while it is stopped it stands still.

use std::fs;
use std::time::{Duration, Instant};

use gerbil_mapreduce::prelude::*;

struct Hold;

impl Mapper for Hold {
    type Input = Numbers;
    type Key = u64;
    type Value = u64;

    fn map(&mut self, map: u64, (): (), out: &mut Emit<'_, Self>) -> Result<()> {
        let pace = Pace::of(out.option("by-mask")?)?;
        pace.rest(out.option("load")?)?;
        let device: f64 = out.option("device")?;
        if device > 0.0 {
            let turn = Devices::wanted()?.turn(|| out.progress())?;
            Pace::Even.rest(device)?;
            drop(turn);
        }
        pace.rest(out.option("store")?)?;
        out.emit(&map, &1)
    }
}

struct Rest;

impl Reducer<u64, u64> for Rest {
    type Key = u64;
    type Value = u64;

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        let pace = Pace::of(context.option("by-mask")?)?;
        pace.rest(context.option("reduce")?)
    }

    fn reduce(
        &mut self,
        _: u64,
        _: &mut Values<'_, u64, u64>,
        _: &mut Output<'_, u64, u64>,
    ) -> Result<()> {
        Ok(())
    }
}

/// How fast it rests.
enum Pace {
    /// As the clock goes.
    Even,
    /// As told while it is bound to these cores alone, else at [`SLOW`].
    ByMask(Vec<u32>),
}

/// Of the speed of fast cores.
const SLOW: f64 = 0.45;
/// Between two looks at the mask.
const LOOK: Duration = Duration::from_millis(20);
/// A longer time it was stopped, and did not work.
const SEEN: Duration = Duration::from_millis(500);

impl Pace {
    fn of(cores: String) -> Result<Self> {
        match cores.as_str() {
            "" => Ok(Self::Even),
            list => match numbers(list) {
                Some(cores) => Ok(Self::ByMask(cores)),
                None => Err(Error::new(format!(
                    "{list} is no list of cores such as 0-3,8"
                ))),
            },
        }
    }

    /// For so many seconds.
    fn rest(&self, seconds: f64) -> Result<()> {
        let span = Duration::try_from_secs_f64(seconds);
        let span =
            span.map_err(|why| Error::new(format!("{seconds} is no number of seconds: {why}")))?;
        let Self::ByMask(fast) = self else {
            let until = Instant::now() + span;
            while let Some(left) = until.checked_duration_since(Instant::now()) {
                std::thread::park_timeout(left);
            }
            return Ok(());
        };
        let (mut left, mut looked) = (seconds, Instant::now());
        while left > 0.0 {
            let speed = if bound_to()?.iter().all(|core| fast.contains(core)) {
                1.0
            } else {
                SLOW
            };
            std::thread::park_timeout(LOOK.min(Duration::from_secs_f64(left / speed)));
            let now = Instant::now();
            // While it is stopped it does nothing.
            left -= now.duration_since(looked).min(SEEN).as_secs_f64() * speed;
            looked = now;
        }
        Ok(())
    }
}

/// The cores that this thread is bound to.
fn bound_to() -> Result<Vec<u32>> {
    let status = fs::read_to_string("/proc/thread-self/status");
    let status = status.map_err(|why| Error::new(format!("/proc/thread-self/status: {why}")))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let cores = line.and_then(|list| numbers(list.trim()));
    cores.ok_or_else(|| Error::new("the kernel does not say which cores a thread may use"))
}

fn numbers(list: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        all.extend(first.parse::<u32>().ok()?..=last.parse().ok()?);
    }
    Some(all)
}

fn main() -> ExitCode {
    let job = Job::new("hold")
        .option::<f64>("load", Some("0"), "seconds of a map before its device")
        .option::<f64>("device", Some("0"), "seconds of a map with its device")
        .option::<f64>("store", Some("0"), "seconds of a map after it")
        .option::<f64>("reduce", Some("0"), "seconds of a reduce")
        .option::<String>(
            "by-mask",
            Some(""),
            "fast cores; on others it takes as long as at 0.45 of the speed",
        )
        .set("mapreduce.job.reduces", "1")
        .map(|| Hold)
        .reduce(|| Rest);
    App::new("hold")
        .job(job)
        .drive(|run| {
            let (maps, output) = (run.inputs().join(","), run.output().to_owned());
            let submit = run.job("hold").input(&maps).output(&output);
            submit.set("mapreduce.job.maps", &maps).wait().map(drop)
        })
        .main()
}
