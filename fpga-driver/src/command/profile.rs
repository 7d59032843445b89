//! `fpgad profile`.

use super::{CONFIG, CommandFailure, failed, say};
use fpga_driver::profile::{Profile, xml};
use std::path::Path;

/// Checks the profile, and prints what YARN must be told of it.
pub fn run(path: &Path, as_xml: bool) -> Result<(), CommandFailure> {
    let profile = Profile::read(path).map_err(failed(CONFIG))?;
    if as_xml {
        say(&xml::print(&profile));
        return Ok(());
    }
    for board in &profile.boards {
        for (function, count) in &board.functions {
            say(&format!("{}: {function} x {count}", board.name));
        }
    }
    Ok(())
}
