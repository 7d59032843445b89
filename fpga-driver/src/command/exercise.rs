//! `fpgad exercise`.

use super::{CONFIG, CommandFailure, UNAVAILABLE, failed};
use fpga_driver::Function;
use fpga_driver::client::Accelerator;
use fpga_driver::echo::plain;
use fpga_driver::fixed::Seeded;
use std::path::Path;
use std::time::Duration;

/// Sends packets of any length until the process is killed, and reads what comes back.
pub fn run(socket: &Path, function: Function) -> Result<(), CommandFailure> {
    if !matches!(function, Function::Echo | Function::Sink) {
        return Err(CommandFailure {
            code: CONFIG,
            message: format!("{function} cannot be exercised: echo and sink can"),
        });
    }
    let holder = format!("exercise {}", std::process::id());
    let (mut writer, mut reader) =
        Accelerator::lease(socket, function, &holder, Some(Duration::from_secs(60)))
            .and_then(Accelerator::open)
            .map_err(failed(UNAVAILABLE))?;
    let block = u32::try_from(writer.geometry().block).unwrap_or(u32::MAX);
    let mut seeded = Seeded(std::process::id().into());
    let mut under_way = 0usize;
    loop {
        while under_way < writer.geometry().blocks {
            let length = usize::try_from(seeded.below(block)).unwrap_or(0);
            let free = writer.block(None).map_err(failed(UNAVAILABLE))?;
            free.send(&plain(function, length))
                .map_err(failed(UNAVAILABLE))?;
            under_way += 1;
        }
        drop(reader.result(None).map_err(failed(UNAVAILABLE))?);
        under_way -= 1;
    }
}
