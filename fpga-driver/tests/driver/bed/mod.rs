//! A driver in this process, with a folder of its own.

use fpga_driver::Function;
use fpga_driver::client::Accelerator;
use fpga_driver::daemon::{Driver, DriverError, DriverOptions, Stop};
use fpga_driver::profile::{BoardProfile, Profile};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A modelled board that takes no time.
pub fn board() -> BoardProfile {
    Profile::model(32).boards.remove(0)
}

/// A driver, and what ends it.
pub struct Bed {
    pub socket: PathBuf,
    _folder: tempfile::TempDir,
    running: Option<(Stop, JoinHandle<()>)>,
}

impl Bed {
    pub fn start(board: BoardProfile) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("fpgad.sock");
        let driver = Self::try_start(board, &socket).unwrap();
        let stop = driver.stopper();
        let thread = std::thread::spawn(move || driver.run().unwrap());
        Self {
            socket,
            _folder: folder,
            running: Some((stop, thread)),
        }
    }

    pub fn try_start(board: BoardProfile, socket: &Path) -> Result<Driver, DriverError> {
        let options = DriverOptions {
            socket: socket.to_owned(),
            allowed: Vec::new(),
            profile: Profile {
                boards: vec![board],
                ..Profile::model(1)
            },
        };
        Driver::start(options, |_warning| {})
    }

    pub fn lease(&self, function: Function) -> Accelerator {
        Accelerator::lease(&self.socket, function, "test", None).unwrap()
    }

    /// Waits until nobody holds a lease; how long it took.
    pub fn wait_until_free(&self) -> Duration {
        let began = Instant::now();
        loop {
            let (devices, boards) = fpga_driver::client::map(&self.socket).unwrap();
            let busy = devices.iter().filter(|it| it.lease.is_some()).count();
            let under_way: usize = boards.iter().map(|it| it.queued).sum();
            if busy == 0 && under_way == 0 {
                return began.elapsed();
            }
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "{devices:?} {boards:?}"
            );
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }

    pub fn stop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            stop.stop();
            thread.join().unwrap();
        }
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.stop();
    }
}
