//! The way to the card and back, through a driver of its own process.

use super::{Server, rate};
use crate::command::{CommandFailure, SOFTWARE, UNAVAILABLE, failed, say};
use fpga_driver::client::{Accelerator, AcceleratorError, AcceleratorReader, AcceleratorWriter};
use fpga_driver::echo::plain;
use fpga_driver::{Function, Status};
use std::time::{Duration, Instant};

const FAST: &str = "[[board]]\nkind = \"model\"\nfunctions = { echo = 2, sink = 2 }\nlink_mb_s = 0\nclock_mhz = 0\n";
const LINK: &str = "[[board]]\nkind = \"model\"\nfunctions = { sink = 2 }\nlink_mb_s = 1000\n";
const PATIENCE: Duration = Duration::from_secs(10);

fn open(
    server: &Server,
    function: Function,
) -> Result<(AcceleratorWriter, AcceleratorReader), CommandFailure> {
    Accelerator::lease(&server.socket, function, "bench", None)
        .and_then(Accelerator::open)
        .map_err(failed(UNAVAILABLE))
}

/// Sends whole blocks as fast as they come free; the data lies there from the first time on, so that
/// the rings are measured and not who fills them.  Checksums are computed, on both sides.
fn stream(profile: &str, function: Function, time: Duration) -> Result<f64, CommandFailure> {
    let server = Server::start(profile)?;
    let (mut writer, mut reader) = open(&server, function)?;
    let block = writer.geometry().block;
    let until = Instant::now() + time;
    let sends = std::thread::spawn(move || -> Result<usize, AcceleratorError> {
        let mut sent = 0;
        while Instant::now() < until {
            writer
                .block(Some(PATIENCE))?
                .send(&plain(function, block))?;
            sent += 1;
        }
        Ok(sent)
    });
    let began = Instant::now();
    let (mut read, mut last) = (0, Duration::ZERO);
    loop {
        // Whether all has been sent is asked before the ring is found empty.
        let over = sends.is_finished();
        match reader.result(Some(Duration::from_millis(50))) {
            Ok(result) if result.verdict.status == Status::Done => read += 1,
            Ok(result) => return Err(failed(SOFTWARE)(result.verdict.status)),
            Err(AcceleratorError::TimedOut { .. }) if over => break,
            Err(AcceleratorError::TimedOut { .. }) => {}
            Err(error) => return Err(failed(SOFTWARE)(error)),
        }
        last = began.elapsed();
    }
    let sent = sends
        .join()
        .map_err(|_panicked| failed(SOFTWARE)("the writer panicked"))?
        .map_err(failed(SOFTWARE))?;
    if sent != read {
        return Err(failed(SOFTWARE)(format!(
            "{sent} packets sent, {read} answered"
        )));
    }
    Ok(rate(block * read, last))
}

/// The rings alone: the card swallows.
pub fn rings(time: Duration) -> Result<f64, CommandFailure> {
    stream(FAST, Function::Sink, time)
}

/// There and back.
pub fn echo(time: Duration) -> Result<f64, CommandFailure> {
    stream(FAST, Function::Echo, time)
}

/// Over a modelled link of the paper's 1000 MB/s.
pub fn link(time: Duration) -> Result<f64, CommandFailure> {
    stream(LINK, Function::Sink, time)
}

/// Median and 99th of 100 of an exchange without data.
pub fn latency() -> Result<[Duration; 2], CommandFailure> {
    let server = Server::start(FAST)?;
    let (mut writer, mut reader) = open(&server, Function::Echo)?;
    let mut times = Vec::new();
    for _ in 0..5000 {
        let began = Instant::now();
        writer
            .block(Some(PATIENCE))
            .and_then(|block| block.send(&plain(Function::Echo, 0)))
            .map_err(failed(SOFTWARE))?;
        drop(reader.result(Some(PATIENCE)).map_err(failed(SOFTWARE))?);
        times.push(began.elapsed());
    }
    times.sort_unstable();
    Ok([times[times.len() / 2], times[times.len() * 99 / 100]])
}

/// What a driver takes that has worked and has nothing to do.
pub fn rest() -> Result<(), CommandFailure> {
    let server = Server::start(FAST)?;
    let (mut writer, mut reader) = open(&server, Function::Echo)?;
    let block = writer.geometry().block;
    for _ in 0..64 {
        writer
            .block(Some(PATIENCE))
            .and_then(|free| free.send(&plain(Function::Echo, block)))
            .map_err(failed(SOFTWARE))?;
        drop(reader.result(Some(PATIENCE)).map_err(failed(SOFTWARE))?);
    }
    let process = format!("/proc/{}", server.child.id());
    let read = |name: &str| {
        std::fs::read_to_string(format!("{process}/{name}")).map_err(failed(UNAVAILABLE))
    };
    let status = read("status")?;
    let kib = |key: &str| -> u64 {
        status
            .lines()
            .find_map(|line| line.strip_prefix(key))
            .and_then(|rest| {
                rest.trim_start_matches(':')
                    .trim()
                    .split(' ')
                    .next()?
                    .parse()
                    .ok()
            })
            .unwrap_or(0)
    };
    // utime and stime, the 14th and 15th word; the second may hold blanks, but ends with a bracket.
    let ticks = |stat: &str| -> u64 {
        let words = stat.rsplit(')').next().unwrap_or("").split(' ');
        words
            .skip(12)
            .take(2)
            .filter_map(|it| it.parse::<u64>().ok())
            .sum()
    };
    let before = ticks(&read("stat")?);
    std::thread::park_timeout(Duration::from_secs(3));
    let used = ticks(&read("stat")?).saturating_sub(before);
    say(&format!(
        "driver at rest: {} KiB resident beside {} KiB of rings; {used} ticks of 10 ms in 3 s",
        kib("RssAnon") + kib("RssFile"),
        kib("RssShmem")
    ));
    Ok(())
}
