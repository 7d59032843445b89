//! A driver that may have little: descriptors, memory, large files, locked pages.

use fpga_driver::Function;
use fpga_driver::client::{self, Accelerator, AcceleratorReader, AcceleratorWriter};
use fpga_driver::echo::Echo;
use rustix::process::{Pid, Resource, Rlimit};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const FPGAD: &str = env!("CARGO_BIN_EXE_fpgad");
const SOON: Duration = Duration::from_secs(20);
const PROFILE: &str = "[[board]]\nkind = \"model\"\nfunctions = { echo = 8 }\nlink_mb_s = 0\nclock_mhz = 0\nblocks = 4\nblock_kib = 64\n";

/// A driver below these limits of a shell's `ulimit`.
struct Limited {
    driver: Child,
    socket: PathBuf,
    _folder: tempfile::TempDir,
}

impl Limited {
    fn start(limits: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let profile = folder.path().join("fpga.toml");
        std::fs::write(&profile, PROFILE).unwrap();
        let socket = folder.path().join("fpgad.sock");
        let script = format!("{limits}; exec \"$@\"");
        let driver = Command::new("sh")
            .args(["-c", &script, "sh", FPGAD, "serve", "--fpgad"])
            .arg(&socket)
            .arg("--profile")
            .arg(&profile)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let until = Instant::now() + SOON;
        while client::map(&socket).is_err() {
            assert!(Instant::now() < until, "the driver does not answer");
            std::thread::park_timeout(Duration::from_millis(5));
        }
        Self {
            driver,
            socket,
            _folder: folder,
        }
    }

    fn lease(&self) -> Result<Accelerator, String> {
        Accelerator::lease(&self.socket, Function::Echo, "test", None)
            .map_err(|error| error.to_string())
    }

    /// A packet goes there and back.
    fn works(&self) {
        echo(&mut self.lease().unwrap().open().unwrap());
    }

    fn works_again(&self) {
        let until = Instant::now() + SOON;
        while let Err(error) = self.lease() {
            assert!(
                Instant::now() < until,
                "the driver does not recover: {error}"
            );
            std::thread::park_timeout(Duration::from_millis(5));
        }
        self.works();
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.driver.id()).unwrap()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{name}", self.pid())).unwrap()
    }

    /// Processor time, in ticks of 10 ms.
    fn ticks(&self) -> u64 {
        let stat = self.read("stat");
        let words = stat.rsplit(')').next().unwrap().split(' ');
        words
            .skip(12)
            .take(2)
            .map(|it| it.parse::<u64>().unwrap())
            .sum()
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        self.driver.kill().unwrap();
        self.driver.wait().unwrap();
    }
}

fn echo((writer, reader): &mut (AcceleratorWriter, AcceleratorReader)) {
    writer.write(&Echo(b"x")).unwrap();
    assert_eq!(reader.read::<Vec<u8>>(SOON).unwrap().1, b"x");
}

#[test]
fn without_descriptors_a_lease_is_refused() {
    let place = Limited::start("ulimit -n 24");
    let mut held = Vec::new();
    let refused = loop {
        match place.lease() {
            Ok(lease) => held.push(lease),
            Err(error) => break error,
        }
    };
    assert!(refused.contains("(ulimit -n)"), "{refused}");
    assert!(!held.is_empty());
    drop(held);
    place.works_again();
}

#[test]
fn without_descriptors_whoever_knocks_is_told_and_the_driver_rests() {
    let place = Limited::start("ulimit -n 24");
    let mut guests = Vec::new();
    let refused = loop {
        let guest = fpga_driver::wire::connect(&place.socket).unwrap();
        match client::map(&place.socket) {
            Ok(_) => guests.push(guest),
            Err(error) => break error.to_string(),
        }
        assert!(guests.len() < 24);
    };
    assert!(refused.contains("no descriptor left"), "{refused}");
    let before = place.ticks();
    std::thread::park_timeout(Duration::from_secs(1));
    let used = place.ticks() - before;
    assert!(
        used < 30,
        "{used} ticks of 10 ms in a second with nothing to do"
    );
    drop(guests);
    place.works_again();
}

#[test]
fn rings_larger_than_files_may_be_are_refused() {
    let place = Limited::start("ulimit -f 64");
    let refused = place.lease().unwrap_err();
    assert!(refused.contains("(ulimit -f)"), "{refused}");
    assert!(client::map(&place.socket).is_ok(), "the driver goes on");
}

#[test]
fn without_address_space_a_lease_is_refused() {
    let place = Limited::start("true");
    // A packet passes both threads of the board: they have begun, and have their stacks.  Its lease is
    // held, since rings that the driver gives back would make room below the limit.
    let mut held = place.lease().unwrap().open().unwrap();
    echo(&mut held);
    let status = place.read("status");
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let kib = size
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse::<u64>()
        .unwrap();
    let limit = |current| {
        let limit = Rlimit {
            current,
            maximum: None,
        };
        rustix::process::prlimit(Pid::from_raw(place.pid()), Resource::As, limit).unwrap();
    };
    // Less than one lease's rings, which take 516 KiB.
    limit(Some((kib << 10) + (256 << 10)));
    let refused = place.lease().unwrap_err();
    assert!(refused.contains("bytes of memory to share"), "{refused}");
    echo(&mut held);
    limit(None);
    place.works_again();
}

/// No page is locked: cards read copies that the driver makes.
#[test]
fn no_memory_has_to_be_locked() {
    Limited::start("ulimit -l 0").works();
}
