//! `fpgad` as a process of its own: started by whoever needs it, killed, and its holders killed.

use fpga_driver::Function;
use fpga_driver::client::{self, Accelerator, address};
use fpga_driver::echo::Echo;
use fpga_driver::fixed::Seeded;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const FPGAD: &str = env!("CARGO_BIN_EXE_fpgad");
const SOON: Duration = Duration::from_secs(20);
const PROFILE: &str = "[[board]]\nkind = \"model\"\nfunctions = { echo = 8 }\nlink_mb_s = 0\nclock_mhz = 0\nblocks = 4\nblock_kib = 64\n";

/// A driver in a folder of its own; whoever started it, it ends with this.
struct DriverFolder {
    folder: tempfile::TempDir,
    socket: PathBuf,
    profile: PathBuf,
}

impl DriverFolder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let profile = folder.path().join("fpga.toml");
        std::fs::write(&profile, PROFILE).unwrap();
        Self {
            socket: folder.path().join("fpgad.sock"),
            profile,
            folder,
        }
    }

    fn start(&self) {
        address::connect_or_start(&self.socket, Path::new(FPGAD), Some(&self.profile)).unwrap();
    }

    /// The process that listens: whose command line names the socket.
    fn driver(&self) -> Option<i32> {
        std::fs::read_dir("/proc").unwrap().find_map(|entry| {
            let path = entry.unwrap().path();
            let line = std::fs::read(path.join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).into_owned();
            let serves = line.contains("\0serve\0") && line.contains(self.socket.to_str()?);
            serves.then(|| path.file_name()?.to_str()?.parse().ok())?
        })
    }

    fn kill_driver(&self) {
        if let Some(pid) = self.driver() {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
    }

    fn holder(&self) -> Child {
        Command::new(FPGAD)
            .args(["exercise", "--function", "echo", "--fpgad"])
            .arg(&self.socket)
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }
}

impl Drop for DriverFolder {
    fn drop(&mut self) {
        self.kill_driver();
    }
}

#[test]
fn whoever_needs_the_driver_starts_it_and_its_end_is_survived() {
    let place = DriverFolder::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| place.start());
        }
    });
    let first = place.driver().unwrap();
    let lease = Accelerator::lease(&place.socket, Function::Echo, "test", None).unwrap();
    let (mut writer, mut reader) = lease.open().unwrap();
    writer.write(&Echo(b"x")).unwrap();
    assert_eq!(reader.read::<Vec<u8>>(SOON).unwrap().1, b"x");

    place.kill_driver();
    let end = reader.read::<Vec<u8>>(SOON).unwrap_err().to_string();
    assert!(end.contains("fpgad has closed the connection"), "{end}");
    let until = Instant::now() + SOON;
    while client::map(&place.socket).is_ok() {
        assert!(Instant::now() < until);
    }
    place.start();
    assert_ne!(place.driver().unwrap(), first);
    Accelerator::lease(&place.socket, Function::Echo, "test", None).unwrap();
}

#[test]
fn killed_holders_leave_nothing_behind() {
    let kills = std::env::var("GERBIL_KILLS").map_or(60, |it| it.parse().unwrap());
    let place = DriverFolder::new();
    place.start();
    let leases = || {
        let (devices, boards) = client::map(&place.socket).unwrap();
        let held: Vec<i32> = devices
            .iter()
            .filter_map(|it| Some(it.lease.as_ref()?.pid))
            .collect();
        (held, boards[0].queued)
    };
    let mut seeded = Seeded(3);
    let mut holders: Vec<Child> = (0..4).map(|_| place.holder()).collect();
    let mut slowest = Duration::ZERO;
    for _ in 0..kills {
        let until = Instant::now() + SOON;
        while leases().0.len() < 4 {
            assert!(Instant::now() < until, "holders do not get their leases");
            std::thread::park_timeout(Duration::from_millis(2));
        }
        let at = usize::try_from(seeded.below(4)).unwrap();
        let mut victim = holders.swap_remove(at);
        let pid = i32::try_from(victim.id()).unwrap();
        victim.kill().unwrap();
        victim.wait().unwrap();
        let killed = Instant::now();
        while leases().0.contains(&pid) {
            assert!(
                killed.elapsed() < SOON,
                "the lease of a killed holder lives on"
            );
        }
        slowest = slowest.max(killed.elapsed());
        holders.push(place.holder());
    }
    for mut holder in holders {
        holder.kill().unwrap();
        holder.wait().unwrap();
    }
    let until = Instant::now() + SOON;
    while leases() != (Vec::new(), 0) {
        assert!(Instant::now() < until, "{:?}", leases());
    }
    // Every device is there, and works.
    let all: Vec<Accelerator> = (0..8)
        .map(|_| Accelerator::lease(&place.socket, Function::Echo, "test", None).unwrap())
        .collect();
    for lease in all {
        let (mut writer, mut reader) = lease.open().unwrap();
        writer.write(&Echo(b"ok")).unwrap();
        assert_eq!(reader.read::<Vec<u8>>(SOON).unwrap(), (0, b"ok".to_vec()));
    }
    let pid = place.driver().unwrap();
    let mapped = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let rings = mapped
        .lines()
        .filter(|line| line.contains("gerbil-fpga"))
        .count();
    println!(
        "{kills} holders killed; the slowest lease was free after {slowest:?}; {rings} rings still mapped"
    );
    assert!(rings <= 8, "{rings} rings are still mapped");
}

#[test]
fn what_is_wrong_is_one_sentence() {
    let place = DriverFolder::new();
    let run = |arguments: &[&str]| {
        let done = Command::new(FPGAD)
            .args(arguments)
            .args(["--fpgad", place.socket.to_str().unwrap()])
            .args(["--profile", place.profile.to_str().unwrap()])
            .output()
            .unwrap();
        let said =
            String::from_utf8(done.stdout).unwrap() + &String::from_utf8(done.stderr).unwrap();
        (done.status.code(), said)
    };
    let (code, said) = run(&["check", "stray"]);
    assert_eq!(code, Some(64));
    assert!(said.contains("unexpected argument 'stray'"), "{said}");
    let (code, said) = run(&["ps"]);
    assert_eq!(code, Some(69));
    assert!(said.contains("no fpgad answers at"), "{said}");
    let (code, said) = run(&["check", "--board", "xdma:9"]);
    assert_eq!(code, Some(69));
    assert!(said.contains("/dev/xdma9_user"), "{said}");
    let (code, said) = run(&["profile", "--xml"]);
    assert_eq!(code, Some(0));
    assert!(
        said.contains("<name>yarn.nodemanager.resource-type.acc/echo</name>"),
        "{said}"
    );
    let (code, said) = run(&["check", "--board", "model"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("kmeans-map: 1000 vectors of 128, 16 centroids: as the processor says"),
        "{said}"
    );

    std::fs::write(
        &place.profile,
        "[[board]]\nkind = \"model\"\nfunctions = { kmeans = 1 }\n",
    )
    .unwrap();
    let (code, said) = run(&["serve"]);
    assert_eq!(code, Some(78));
    assert!(said.contains("\"kmeans\" is no function"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// What C programs link: Cargo leaves it beside the tests, under a name of its own; the newest is ours.
fn library() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let made = |path: &PathBuf| path.metadata().unwrap().modified().unwrap();
    std::fs::read_dir(tests.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with("libfpga_driver-") && name.ends_with(".a")
        })
        .max_by_key(made)
        .expect("cargo builds libfpga_driver.a beside the tests")
}

#[test]
fn a_c_program_uses_the_header() {
    let place = DriverFolder::new();
    place.start();
    let program = place.folder.path().join("echo");
    let library = library();
    let built = Command::new("cc")
        .args([
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Iinclude",
            "tests/echo.c",
        ])
        .arg(&library)
        .args(["-lstdc++", "-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program)
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let ran = Command::new(&program).arg(&place.socket).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(
        ran.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    assert_eq!(said, "5 packets echoed; a bad one has status 1\n");
}
