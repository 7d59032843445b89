//! What a device is, and how long it takes to open it, to compile for it, and to copy to it: device [NAME].
//!
//! ```text
//! cargo run --release -p gerbil-gpu --example device -- 0
//! Tesla T4 of CUDA
//! opened 0.214 s, compiled 0.310 s, again 0.290 s
//! to the device 5.9 GB/s, back 5.1 GB/s, memory of 256 MiB
//! ```

use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use gerbil_gpu::Device;

/// What is copied, numbers of 4 bytes.
const NUMBERS: usize = 64 << 20;

const SOURCE: &str = r"
KERNEL(twice)(GLOBAL uint *numbers, uint count) {
    if (THREAD < count) numbers[THREAD] *= 2;
}
";

fn main() -> ExitCode {
    match measured() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(writeln!(std::io::stderr(), "device: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn measured() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "0".to_owned());
    let mut out = std::io::stdout();
    let (opened, device) = timed(|| Device::open(&name, true))?;
    writeln!(out, "{device:?}")?;
    let (compiled, _program) = timed(|| device.compile(SOURCE))?;
    let (again, _program) = timed(|| device.compile(SOURCE))?;
    let [opened, compiled, again] = [opened, compiled, again].map(|time| time.as_secs_f64());
    writeln!(
        out,
        "opened {opened:.3} s, compiled {compiled:.3} s, again {again:.3} s"
    )?;
    let numbers: Vec<u32> = (0..).take(NUMBERS).collect();
    // The first copy pays for what is made once.
    drop(device.upload(&numbers)?);
    let (there, buffer) = timed(|| device.upload(&numbers))?;
    let (back, copied) = timed(|| device.download(&buffer))?;
    if copied != numbers {
        return Err("what came back is not what was sent".into());
    }
    let bytes = u32::try_from(size_of_val(numbers.as_slice()))?;
    let [there, back] = [there, back].map(|time| f64::from(bytes) / 1e9 / time.as_secs_f64());
    writeln!(
        out,
        "to the device {there:.1} GB/s, back {back:.1} GB/s, memory of {} MiB",
        bytes >> 20
    )?;
    Ok(())
}

/// How long `run` takes, and what it gives.
fn timed<T, E>(run: impl FnOnce() -> Result<T, E>) -> Result<(Duration, T), E> {
    let began = Instant::now();
    let given = run()?;
    Ok((began.elapsed(), given))
}
