//! `fpgad serve`.

use super::{CONFIG, CommandFailure, UNAVAILABLE, complain, failed};
use fpga_driver::client::address::{self, Reach};
use fpga_driver::daemon::{Driver, DriverOptions};
use fpga_driver::profile::Profile;
use std::path::{Path, PathBuf};

/// Serves until the process is killed: the kernel closes what is open, and clients see the end.
pub fn run(socket: PathBuf, profile: &Path, allowed: Vec<u32>) -> Result<(), CommandFailure> {
    let profile = Profile::read(profile).map_err(failed(CONFIG))?;
    let reach = if allowed.is_empty() {
        Reach::Own
    } else {
        Reach::Others
    };
    address::prepare_folder(&socket, reach).map_err(failed(UNAVAILABLE))?;
    let options = DriverOptions {
        socket,
        allowed,
        profile,
    };
    let driver = Driver::start(options, complain).map_err(failed(UNAVAILABLE))?;
    driver.run().map_err(failed(UNAVAILABLE))
}
