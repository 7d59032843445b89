//! Waits for its turn at a device of this node, as a task does before it computes there, notes which it has, and
//! keeps it until a file is there: turn NAME LOG END.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use gerbil_mapreduce::{Devices, Error, Result};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(writeln!(std::io::stderr(), "turn: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, log, end] = words.as_slice() else {
        return Err(Error::new("say NAME LOG END"));
    };
    let devices = Devices::here()?.ok_or_else(|| {
        Error::new("GERBIL_DEVICES names no device; GERBIL_DEVICES=0@gpu0 is one, number 0")
    })?;
    let turn = devices.turn(|| ())?;
    let mut log = OpenOptions::new().append(true).create(true).open(log)?;
    writeln!(log, "{name} {}", turn.device())?;
    while !Path::new(end).exists() {
        std::thread::park_timeout(Duration::from_millis(1));
    }
    Ok(())
}
