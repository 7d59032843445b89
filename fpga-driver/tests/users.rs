//! Other users, which root alone can become. They run copies of the program, and a copy that a child of another test's
//! thread still holds open for writing cannot be run: so these are a program of their own, and one at a time.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Trial};

const FPGAD: &str = env!("CARGO_BIN_EXE_fpgad");
const SOON: Duration = Duration::from_secs(20);
const PROFILE: &str =
    "[[board]]\nkind = \"model\"\nfunctions = { echo = 8 }\nblocks = 4\nblock_kib = 64\n";

/// A folder that everybody can enter, with the program and a profile in it.
struct SharedFolder {
    folder: tempfile::TempDir,
    program: PathBuf,
    drivers: Vec<Child>,
    /// A program that another thread's child still holds open for writing cannot be run.
    _alone: MutexGuard<'static, ()>,
}

static ALONE: Mutex<()> = Mutex::new(());

impl SharedFolder {
    fn new() -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        // Other users' drivers make their sockets here.
        open_to(folder.path(), 0o1777);
        let program = folder.path().join("fpgad");
        std::fs::copy(FPGAD, &program).unwrap();
        open_to(&program, 0o755);
        std::fs::write(folder.path().join("fpga.toml"), PROFILE).unwrap();
        open_to(&folder.path().join("fpga.toml"), 0o644);
        Self {
            folder,
            program,
            drivers: Vec::new(),
            _alone: alone,
        }
    }

    /// The program as this user.
    fn run_as(&self, uid: u32) -> Command {
        let mut command = Command::new(&self.program);
        command
            .uid(uid)
            .gid(uid)
            .current_dir("/")
            .stdin(Stdio::null());
        command
    }

    fn serve(&mut self, uid: u32, socket: &Path, more: &[&str]) {
        let driver = self
            .run_as(uid)
            .args(["serve", "--fpgad"])
            .arg(socket)
            .arg("--profile")
            .arg(self.folder.path().join("fpga.toml"))
            .args(more)
            .spawn()
            .unwrap();
        self.drivers.push(driver);
        let until = Instant::now() + SOON;
        while fpga_driver::client::map(socket).is_err() {
            assert!(Instant::now() < until, "the driver does not answer");
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }

    /// What `fpgad ps` says to this user.
    fn ps(&self, uid: u32, socket: Option<&Path>) -> (Option<i32>, String) {
        let mut command = self.run_as(uid);
        command.arg("ps");
        if let Some(socket) = socket {
            command.arg("--fpgad").arg(socket);
        }
        let done = command.output().unwrap();
        let said = [done.stdout, done.stderr].concat();
        (done.status.code(), String::from_utf8(said).unwrap())
    }
}

impl Drop for SharedFolder {
    fn drop(&mut self) {
        for driver in &mut self.drivers {
            driver.kill().unwrap();
            driver.wait().unwrap();
        }
    }
}

fn open_to(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials: [(&str, fn()); 3] = [
        (
            "only_whom_the_driver_allows_comes_in",
            only_whom_the_driver_allows_comes_in,
        ),
        (
            "a_folder_that_is_not_ones_own_is_not_used",
            a_folder_that_is_not_ones_own_is_not_used,
        ),
        (
            "a_driver_that_somebody_else_put_where_ones_own_should_be_is_not_used",
            a_driver_that_somebody_else_put_where_ones_own_should_be_is_not_used,
        ),
    ];
    // Who is not root has left them out, and is told so by their number.
    let is_left_out = !rustix::process::geteuid().is_root();
    let trials = trials.map(|(name, run)| {
        let trial = Trial::test(name, move || {
            run();
            Ok(())
        });
        trial.with_ignored_flag(is_left_out)
    });
    libtest_mimic::run(&arguments, trials.into()).exit_code()
}

fn only_whom_the_driver_allows_comes_in() {
    let mut place = SharedFolder::new();
    // The driver makes the folder.
    let socket = place.folder.path().join("own/fpgad.sock");
    place.serve(41_000, &socket, &[]);
    assert_eq!(place.ps(41_000, Some(&socket)).0, Some(0));
    assert_eq!(place.ps(0, Some(&socket)).0, Some(0), "root is let in");
    let (code, said) = place.ps(41_001, Some(&socket));
    assert_eq!(code, Some(69));
    assert!(said.contains("Permission denied"), "{said}");

    let socket = place.folder.path().join("shared/fpgad.sock");
    place.serve(41_000, &socket, &["--allow-uid", "41001"]);
    let (code, said) = place.ps(41_001, Some(&socket));
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = place.ps(41_002, Some(&socket));
    assert_eq!(code, Some(69));
    assert!(
        said.contains("user 41002 may not use this fpgad, which is user 41000's: start it with --allow-uid 41002"),
        "{said}"
    );
}

fn a_folder_that_is_not_ones_own_is_not_used() {
    let place = SharedFolder::new();
    let try_in = |folder: &Path, more: &[&str]| {
        let done = place
            .run_as(41_000)
            .args(["serve", "--fpgad"])
            .arg(folder.join("fpgad.sock"))
            .arg("--profile")
            .arg(place.folder.path().join("fpga.toml"))
            .args(more)
            .output()
            .unwrap();
        assert_eq!(done.status.code(), Some(69));
        String::from_utf8(done.stderr).unwrap()
    };
    let make = |name: &str, uid: u32, mode: u32| {
        let folder = place.folder.path().join(name);
        std::fs::DirBuilder::new()
            .mode(mode)
            .create(&folder)
            .unwrap();
        open_to(&folder, mode);
        std::os::unix::fs::chown(&folder, Some(uid), Some(uid)).unwrap();
        folder
    };
    let said = try_in(&make("anothers", 41_001, 0o777), &[]);
    assert!(said.contains("it belongs to another user"), "{said}");
    let said = try_in(&make("open", 41_000, 0o777), &[]);
    assert!(said.contains("others may write to it"), "{said}");
    let said = try_in(&make("closed", 41_000, 0o700), &["--allow-uid", "41001"]);
    assert!(
        said.contains("the users of --allow-uid cannot reach"),
        "{said}"
    );
    let file = place.folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let said = try_in(&file, &[]);
    assert!(said.contains("it is no folder"), "{said}");
}

/// `/tmp/gerbil-UID` can be made by anybody before its user comes.
fn a_driver_that_somebody_else_put_where_ones_own_should_be_is_not_used() {
    // A user of this run alone: its name in /tmp is nobody else's.
    let victim = 1_000_000 + std::process::id();
    let mut place = SharedFolder::new();
    let socket = PathBuf::from(format!("/tmp/gerbil-{victim}/fpgad.sock"));
    let allow = victim.to_string();
    place.serve(41_003, &socket, &["--allow-uid", &allow]);
    let (code, said) = place.ps(victim, None);
    std::fs::remove_dir_all(socket.parent().unwrap()).unwrap();
    assert_eq!(code, Some(69), "{said}");
    assert!(
        said.contains("is run by user 41003, who is neither you nor root: it is not used"),
        "{said}"
    );
}
