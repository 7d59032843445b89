//! Prints the PTX that NVRTC makes of a file of kernels, where there need be no GPU: ptx FILE.
//!
//! `LD_LIBRARY_PATH` leads to `libnvrtc.so.13` where that is in no usual place.

use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    match made() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(writeln!(std::io::stderr(), "ptx: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn made() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args_os().nth(1).ok_or("say FILE")?;
    let ptx = gerbil_gpu::ptx(&std::fs::read_to_string(file)?)?;
    Ok(std::io::stdout().write_all(ptx.as_bytes())?)
}
