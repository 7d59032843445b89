//! How much of the disk a job has had at most for what is not its output, looked at now and then.
//!
//! Those files have no names: who has them open is asked, this process and its tasks.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use super::descent;

/// How often, and how much longer than it takes.
const OFTEN: Duration = Duration::from_millis(100);
const SHARE: u32 = 50;
/// Bytes of a block, as the kernel counts.
const BLOCK: u64 = 512;

/// The most that was seen.
pub(super) struct Spills {
    device: Option<u64>,
    next: Instant,
    pub(super) most: u64,
}

impl Spills {
    /// Of files on the disk of `folder`.
    pub(super) fn new(folder: &File) -> Self {
        Self {
            device: folder.metadata().ok().map(|about| about.dev()),
            next: Instant::now(),
            most: 0,
        }
    }

    /// Looks, if it is time to.
    pub(super) fn look(&mut self) {
        let began = Instant::now();
        let Some(device) = self.device.filter(|_| began >= self.next) else {
            return;
        };
        let this = std::process::id();
        let started = descent::of(this)
            .into_iter()
            .map(|(pid, _)| pid.unsigned_abs());
        let mut seen = BTreeSet::new();
        let mut bytes = 0;
        for pid in started.chain([this]) {
            let files = fs::read_dir(format!("/proc/{pid}/fd"));
            for file in files.into_iter().flatten().flatten() {
                bytes += of(&file.path(), device, &mut seen);
            }
        }
        self.most = self.most.max(bytes);
        self.next = began + OFTEN.max(began.elapsed() * SHARE);
    }
}

/// Bytes of a file without a name on this device that was not seen before.
fn of(descriptor: &Path, device: u64, seen: &mut BTreeSet<u64>) -> u64 {
    match fs::metadata(descriptor) {
        Ok(about)
            if about.is_file()
                && about.nlink() == 0
                && about.dev() == device
                && seen.insert(about.ino()) =>
        {
            about.blocks() * BLOCK
        }
        _ => 0,
    }
}
