//! How fast the output of a command comes, and what the processes of its job hold meanwhile.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::memory::Resident;
use crate::process::{self, ChildStreams};

/// Between two looks at the memory.
const LOOK: Duration = Duration::from_millis(50);
const BYTES_PER_MIB: usize = 1 << 20;

/// One run: its throughput and what it held.
#[derive(Debug)]
pub struct Flow {
    /// From the first bytes to the last.
    pub mib_per_second: f64,
    /// Of the processes of the job, the command's own included.
    pub resident: Resident,
}

/// Runs `command` and reads all that it writes, after a pause of `still` behind the first bytes.
pub fn flow(command: &Command, folder: &Path, mib: usize, still: Duration) -> Result<Flow> {
    let streams = ChildStreams {
        stdin: Stdio::null(),
        stdout: Stdio::piped(),
        stderr: Stdio::inherit(),
    };
    let mut child = process::spawn(command, streams)?;
    let read = read(&mut child, folder, still);
    if read.is_err() {
        process::destroy(&mut child)?;
    }
    let (bytes, span, resident) = read?;
    let status = child.wait()?;
    ensure!(status.success(), "{command:?}: {status}");
    let wanted = mib * BYTES_PER_MIB;
    ensure!(bytes == wanted, "{bytes} of {wanted} bytes came");
    Ok(Flow {
        mib_per_second: (bytes as f64 / BYTES_PER_MIB as f64) / span.as_secs_f64(),
        resident,
    })
}

fn read(child: &mut Child, folder: &Path, still: Duration) -> Result<(usize, Duration, Resident)> {
    let pid = child.id();
    let mut pipe = child.stdout.take().context("no pipe")?;
    let (over, resident) = (AtomicBool::new(false), Mutex::new(Resident::default()));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                if let Ok(mut resident) = resident.lock() {
                    resident.look(pid, folder);
                }
                std::thread::park_timeout(LOOK);
            }
        });
        let read = drain(&mut pipe, still);
        over.store(true, Ordering::Relaxed);
        read
    })
    .map(|(bytes, span)| (bytes, span, resident.into_inner().unwrap_or_default()))
}

/// How many bytes came, and in which time.
fn drain(pipe: &mut impl Read, still: Duration) -> Result<(usize, Duration)> {
    let mut buffer = vec![0; 1 << 18];
    let mut bytes = pipe.read(&mut buffer)?;
    let begin = Instant::now();
    if !still.is_zero() {
        std::thread::park_timeout(still);
    }
    loop {
        match pipe.read(&mut buffer)? {
            0 => return Ok((bytes, begin.elapsed())),
            more => bytes += more,
        }
    }
}
