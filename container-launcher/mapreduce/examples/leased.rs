//! Each map exchanges packets with the devices that its launcher has leased for it, and tells how many came back as they
//! were.
//!
//! ```text
//! gerbil mr -D needs.map=acc/echo=2 ./leased --packets 50 --rest 0.1 MAPS OUT
//! ```
//!
//! It rests between two packets, so that leases may be looked at (`gerbil fpga ps`), and lost.

use std::time::{Duration, Instant};

use fpga_client::Function;
use fpga_client::client::{AcceleratorError, inherited};
use fpga_client::echo::Echo;
use gerbil_mapreduce::prelude::*;

/// For the answer to a packet.
const ANSWER: Duration = Duration::from_secs(30);

struct Leased;

impl Mapper for Leased {
    type Input = Numbers;
    type Key = u64;
    type Value = u64;

    fn map(&mut self, map: u64, (): (), out: &mut Emit<'_, Self>) -> Result<()> {
        let (packets, rest) = (out.option("packets")?, out.option("rest")?);
        let rest = Duration::try_from_secs_f64(rest).map_err(|why| Error::new(why.to_string()))?;
        let mut same = 0;
        let mut devices = Vec::new();
        for (function, accelerator) in inherited().map_err(no_device)? {
            if function != Function::Echo {
                return Err(Error::new(format!("a device of {function}, not of echo")));
            }
            devices.push(accelerator.open().map_err(no_device)?);
        }
        if devices.is_empty() {
            return Err(Error::no_device_of("acc/echo", "no device is leased"));
        }
        for number in 0..packets {
            for (writer, reader) in &mut devices {
                let words = format!("map {map}, packet {number}").into_bytes();
                let sent = writer.write(&Echo(&words)).map_err(no_device)?;
                let (answered, bytes): (u64, Vec<u8>) = reader.read(ANSWER).map_err(no_device)?;
                same += u64::from(answered == sent && bytes == words);
            }
            out.progress();
            let until = Instant::now() + rest;
            while let Some(left) = until.checked_duration_since(Instant::now()) {
                std::thread::park_timeout(left);
            }
        }
        out.emit(&map, &same)
    }
}

struct Packets;

impl Reducer<u64, u64> for Packets {
    type Key = u64;
    type Value = u64;

    fn reduce(
        &mut self,
        map: u64,
        counts: &mut Values<'_, u64, u64>,
        out: &mut Output<'_, u64, u64>,
    ) -> Result<()> {
        let mut sum = 0;
        while let Some(count) = counts.next()? {
            sum += count;
        }
        out.emit(&map, &sum)
    }
}

fn no_device(error: AcceleratorError) -> Error {
    Error::no_device_of("acc/echo", error.to_string())
}

fn main() -> ExitCode {
    let job = Job::new("leased")
        .option::<u64>(
            "packets",
            Some("10"),
            "packets of a map to each of its devices",
        )
        .option::<f64>("rest", Some("0"), "seconds after each packet")
        .needs("map", "acc/echo")
        .set("mapreduce.job.reduces", "1")
        .map(|| Leased)
        .reduce(|| Packets);
    App::new("leased")
        .job(job)
        .drive(|run| {
            let (maps, output) = (run.inputs().join(","), run.output().to_owned());
            let submit = run.job("leased").input(&maps).output(&output);
            submit.set("mapreduce.job.maps", &maps).wait().map(drop)
        })
        .main()
}
