//! `fpgad check`.

use super::{CONFIG, CommandFailure, SOFTWARE, UNAVAILABLE, failed, say};
use fpga_driver::board::check;
use fpga_driver::profile::{BoardKind, Profile};
use std::path::PathBuf;

/// Proves a board, step by step, and ends at the first that fails.
pub fn run(name: &str) -> Result<(), CommandFailure> {
    let mut profile = Profile::model(1).boards.remove(0);
    (profile.kind, profile.path) = match name.split_once(':') {
        None if name == "model" => (BoardKind::Model, None),
        None if name == "rtl" => (BoardKind::Rtl, None),
        Some(("xdma", rest)) if rest.bytes().all(|it| it.is_ascii_digit()) => (
            BoardKind::Xdma,
            Some(PathBuf::from(format!("/dev/xdma{rest}"))),
        ),
        Some(("xdma", path)) => (BoardKind::Xdma, Some(PathBuf::from(path))),
        _ => {
            return Err(CommandFailure {
                code: CONFIG,
                message: format!("{name:?} is no board: it is model, rtl, xdma:N or xdma:PATH"),
            });
        }
    };
    profile.name = name.to_owned();
    let board = fpga_driver::daemon::open_alone(&profile).map_err(failed(UNAVAILABLE))?;
    check::prove(board.0.as_ref(), say).map_err(failed(SOFTWARE))
}
