//! Whether more wants to run on the machine than it has cores, whoever started it.
//!
//! The kernel counts what is runnable on the whole machine, containers or not: the fourth field of
//! `/proc/loadavg`. Ranks that wait busily are, and so those of other containers and other jobs: launchers
//! of one machine need not ask each other, each sees the same number. What a launcher makes of it is a
//! byte in memory that its ranks have mapped ([`crate::mpi::yielding`]), by a path that leads through this
//! process: nothing of it lies in a folder.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::{SysconfVar, sysconf};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Names the byte to the ranks.
pub(crate) const VARIABLE: &str = "GERBIL_CROWDED";
const LOAD: &str = "/proc/loadavg";

/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// Looks in a row that show more than there are cores before it is believed: something always starts.
const TO_BEGIN: u32 = 2;
/// Looks in a row that show no more before that is believed: who yields may sleep a little.
const TO_END: u32 = 20;

/// The byte, 1 while the machine is crowded.
#[derive(Debug)]
pub(crate) struct Crowd {
    byte: File,
    opinion: Opinion,
}

impl Crowd {
    /// `None` where the kernel does not say, or has no such memory.
    pub(crate) fn new() -> Option<Self> {
        runnable()?;
        let byte = memfd_create("gerbil-crowded", MFdFlags::MFD_CLOEXEC).ok()?;
        let crowd = Self {
            byte: File::from(byte),
            opinion: Opinion::default(),
        };
        crowd.byte.write_all_at(&[0], 0).ok()?;
        Some(crowd)
    }

    /// Where the ranks find it.
    pub(crate) fn path(&self) -> PathBuf {
        let fd = self.byte.as_raw_fd();
        format!("/proc/{}/fd/{fd}", std::process::id()).into()
    }

    /// Keeps it true until the answer is dropped.
    pub(crate) fn watch(mut self, on: &Handle) -> JoinSet<()> {
        let mut watching = JoinSet::new();
        let cores = cores();
        watching.spawn_on(
            async move {
                loop {
                    let was = self.opinion.is_crowded;
                    let runnable = runnable().unwrap_or(0);
                    if self.opinion.look(runnable > cores) != was {
                        // Memory of our own takes a byte.
                        let byte = [u8::from(self.opinion.is_crowded)];
                        let _written = self.byte.write_all_at(&byte, 0).is_ok();
                    }
                    sleep(LOOK).await;
                }
            },
            on,
        );
        watching
    }
}

/// Whether the machine has more to run now, `more` added, than cores.
pub(crate) fn is_now(more: usize) -> bool {
    let more = u64::try_from(more).unwrap_or(u64::MAX);
    runnable().is_some_and(|runnable| runnable.saturating_add(more) > cores())
}

/// What a row of looks amounts to.
#[derive(Clone, Copy, Debug, Default)]
struct Opinion {
    is_crowded: bool,
    /// Looks in a row that say the contrary.
    contrary: u32,
}

impl Opinion {
    /// One more look; the opinion after it.
    const fn look(&mut self, crowded: bool) -> bool {
        if crowded == self.is_crowded {
            self.contrary = 0;
            return self.is_crowded;
        }
        self.contrary = self.contrary.saturating_add(1);
        let enough = if crowded { TO_BEGIN } else { TO_END };
        if self.contrary >= enough {
            self.is_crowded = crowded;
            self.contrary = 0;
        }
        self.is_crowded
    }
}

/// Cores of the machine that are switched on, whatever this process may use; a machine that does not tell
/// is never crowded.
fn cores() -> u64 {
    let cores = sysconf(SysconfVar::_NPROCESSORS_ONLN).ok().flatten();
    cores
        .and_then(|cores| u64::try_from(cores).ok())
        .unwrap_or(u64::MAX)
}

/// Threads of the machine that run or could, this one aside.
fn runnable() -> Option<u64> {
    in_load(&std::fs::read_to_string(LOAD).ok()?)
}

/// Of `0.20 0.18 0.12 3/80 11206` the 3, less the reader.
fn in_load(text: &str) -> Option<u64> {
    let (running, _all) = text.split_whitespace().nth(3)?.split_once('/')?;
    running.parse::<u64>().ok()?.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_counts_what_could_run() {
        assert_eq!(in_load("0.20 0.18 0.12 3/80 11206\n"), Some(2));
        assert_eq!(in_load("0.20 0.18 0.12 1/80 11206\n"), Some(0));
        // A sandbox that does not tell.
        assert_eq!(in_load("0.00 0.00 0.00 0/0 0\n"), None);
        assert_eq!(in_load(""), None);
    }

    #[test]
    fn it_is_soon_believed_and_slowly_forgotten() {
        let mut opinion = Opinion::default();
        let mut after = |looks: &[bool]| looks.iter().fold(false, |_, look| opinion.look(*look));
        assert!(!after(&[true, false, true]));
        assert!(after(&[true]));
        assert!(after(&[false; 19]));
        assert!(after(&[true, false]));
        assert!(!after(&[false; 19]));
        assert!(!after(&[false, true]));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_byte_follows_the_machine() {
        let Some(crowd) = Crowd::new() else { return };
        let path = crowd.path();
        assert_eq!(std::fs::read(&path).unwrap(), [0]);
        let stop = std::sync::atomic::AtomicBool::new(false);
        let threads = usize::try_from(cores()).unwrap() + 2;
        let watching = crowd.watch(&Handle::current());
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            let seen = tokio::task::block_in_place(|| {
                let by = std::time::Instant::now() + Duration::from_secs(10);
                while std::fs::read(&path).unwrap() == [0] && std::time::Instant::now() < by {
                    std::thread::yield_now();
                }
                std::fs::read(&path).unwrap()
            });
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(seen, [1]);
        });
        drop(watching);
    }
}
