//! Holds slots for as long as it is told, and a node's device in turn, and computes nothing: how a queue of jobs goes
//! through a cluster, without the work.
//!
//! ```text
//! cargo run --release --example hold -- --local --load 0.5 MAPS OUT
//! gerbil mr -D needs.map=gpu ./hold --load 0.6 --device 0.4 --reduce 3 32 OUT
//! ```
//!
//! Each of so many maps rests for `--load` seconds, has a device for `--device` seconds (0: it wants none), and rests
//! for `--store`; each reduce rests for `--reduce`. OUT stays empty.

use std::time::{Duration, Instant};

use gerbil_mapreduce::prelude::*;

struct Hold;

impl Mapper for Hold {
    type Input = Numbers;
    type Key = u64;
    type Value = u64;

    fn map(&mut self, map: u64, (): (), out: &mut Emit<'_, Self>) -> Result<()> {
        rest(out.option("load")?)?;
        let device: f64 = out.option("device")?;
        if device > 0.0 {
            let turn = Devices::wanted()?.turn(|| out.progress())?;
            rest(device)?;
            drop(turn);
        }
        rest(out.option("store")?)?;
        out.emit(&map, &1)
    }
}

struct Rest;

impl Reducer<u64, u64> for Rest {
    type Key = u64;
    type Value = u64;

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        rest(context.option("reduce")?)
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

/// For so many seconds.
fn rest(seconds: f64) -> Result<()> {
    let span = Duration::try_from_secs_f64(seconds);
    let span =
        span.map_err(|why| Error::new(format!("{seconds} is no number of seconds: {why}")))?;
    let until = Instant::now() + span;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        std::thread::park_timeout(left);
    }
    Ok(())
}

fn main() -> ExitCode {
    let job = Job::new("hold")
        .option::<f64>("load", Some("0"), "seconds of a map before its device")
        .option::<f64>("device", Some("0"), "seconds of a map with its device")
        .option::<f64>("store", Some("0"), "seconds of a map after it")
        .option::<f64>("reduce", Some("0"), "seconds of a reduce")
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
