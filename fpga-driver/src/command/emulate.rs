//! `fpgad xdma-emu`.

use super::{CONFIG, CommandFailure, UNAVAILABLE, failed, say};
use fpga_driver::board::emulate::Emulator;
use fpga_driver::profile::{BoardKind, Profile};
use std::path::Path;

/// Serves a folder until the process is killed.
pub fn run(folder: &Path, board: &str) -> Result<(), CommandFailure> {
    let mut profile = Profile::model(1).boards.remove(0);
    profile.kind = match board {
        "model" => BoardKind::Model,
        "rtl" => BoardKind::Rtl,
        other => {
            return Err(CommandFailure {
                code: CONFIG,
                message: format!("{other:?} cannot be emulated: it is model or rtl"),
            });
        }
    };
    let card = fpga_driver::board::open(&profile).map_err(failed(UNAVAILABLE))?;
    std::fs::create_dir_all(folder).map_err(failed(UNAVAILABLE))?;
    let emulator = Emulator::start(folder, card).map_err(failed(UNAVAILABLE))?;
    say(&format!("serving {}_*", emulator.path().display()));
    loop {
        std::thread::park();
    }
}
