//! Forks and executes one process.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ffi::{CStr, CString, OsStr, OsString, c_char};
use std::fs::File;
use std::io::{PipeReader, PipeWriter};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::ptr::null;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use nix::errno::Errno;
use nix::sched::{CloneFlags, CpuSet, clone, sched_setaffinity};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::resource::{Resource, rlim_t, setrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, getppid, setpgid, setsid};

use crate::open_files;
use crate::yielding::WAITS_VARIABLE;

/// Highest signal number of Linux.
const SIGNAL_MAX: i32 = 64;
/// Takes scripts that do not name their interpreter.
const SHELL: &CStr = c"/bin/sh";
/// Number of a rank's PMI socket: the first behind its standard streams.
const PMI_FD: RawFd = 3;
/// Of a child, until it executes its program, bytes: it calls the kernel alone.
const STACK: usize = 32 * 1024;

/// Everything that a rank is started with.
pub(crate) struct Plan {
    /// Its number in the job.
    pub(crate) rank: u32,
    /// Its number in its `MPI_COMM_WORLD`.
    pub(crate) pmi_rank: u32,
    /// Its place among the ranks of this container.
    pub(crate) local_rank: usize,
    /// Its path; a relative one begins in the launcher's working directory.
    pub(crate) program: PathBuf,
    /// Where it starts; none: where the launcher is. With one the program's path is absolute.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) args: Arc<[String]>,
    /// What all ranks of the program have in common.
    pub(crate) environment: Arc<BTreeMap<OsString, OsString>>,
    /// What is this rank's alone, PMI's variables aside.
    pub(crate) own: Vec<(String, String)>,
    /// Where the shim notes how long the rank waited; none: it has no shim.
    pub(crate) waits: Option<PathBuf>,
    /// The processors that it may run on; none: all of the container's.
    pub(crate) processors: Option<CpuSet>,
    pub(crate) streams: Streams,
    pub(crate) pmi: UnixStream,
}

/// What a rank reads and writes.
pub(crate) enum Streams {
    Pipes {
        /// None: `/dev/null`.
        stdin: Option<PipeReader>,
        stdout: PipeWriter,
        stderr: PipeWriter,
    },
    /// Its own end of a terminal, which is then the one of its session.
    Terminal(OwnedFd),
}

/// Starts it, in a process group of its own, from the thread whose end is to kill it.
///
/// The child shares the launcher's memory until it executes the program, and this thread sleeps as long:
/// a launcher has a hundred times the pages that are touched meanwhile, and a fork would copy the
/// tables of them all for each rank.
///
/// # Errors
///
/// What clone or execve said.
pub(crate) fn execute(plan: Plan) -> std::io::Result<Pid> {
    let program = c_string(plan.program.as_os_str().as_bytes())?;
    let arguments = [&program].into_iter().cloned().map(Ok);
    let arguments = arguments.chain(plan.args.iter().map(|arg| c_string(arg.as_bytes())));
    let arguments: Vec<CString> = arguments.collect::<Result<_, _>>()?;
    let environment = environment(&plan)?;
    let folder = plan.folder.as_ref();
    let folder = folder.map(|folder| c_string(folder.as_os_str().as_bytes()));
    let folder = folder.transpose()?;
    let (ends, terminal) = match plan.streams {
        Streams::Pipes {
            stdin,
            stdout,
            stderr,
        } => {
            let stdin = match stdin {
                Some(pipe) => OwnedFd::from(pipe),
                None => File::open("/dev/null")?.into(),
            };
            ([stdin, stdout.into(), stderr.into()], false)
        }
        Streams::Terminal(end) => ([end.try_clone()?, end.try_clone()?, end], true),
    };
    let child = Child {
        arguments: pointers(&arguments),
        by_shell: pointers(
            [SHELL]
                .into_iter()
                .chain(arguments.iter().map(CString::as_c_str)),
        ),
        environment: pointers(&environment),
        folder: folder.as_ref().map_or(null(), |folder| folder.as_ptr()),
        ends: ends.each_ref().map(|end| end.as_raw_fd()),
        terminal,
        pmi: plan.pmi.as_raw_fd(),
        launcher: Pid::this(),
        processors: plan.processors,
        files: open_files::before(),
    };
    // The rank's ends of its pipes and of the socket are open here until it has its own.
    start(&child)
}

/// What a rank finds in its environment.
fn environment(plan: &Plan) -> std::io::Result<Vec<CString>> {
    let mut all: BTreeMap<&OsStr, Cow<'_, OsStr>> = plan
        .environment
        .iter()
        .map(|(name, value)| (name.as_os_str(), Cow::from(value)))
        .collect();
    for (name, value) in &plan.own {
        all.insert(name.as_ref(), OsStr::new(value).into());
    }
    for (name, number) in [
        ("PMI_FD", PMI_FD.to_string()),
        ("PMI_RANK", plan.pmi_rank.to_string()),
        ("MPI_LOCALRANKID", plan.local_rank.to_string()),
    ] {
        all.insert(name.as_ref(), OsString::from(number).into());
    }
    if let Some(file) = &plan.waits {
        all.insert(WAITS_VARIABLE.as_ref(), file.as_os_str().into());
    }
    let line = |(name, value): (&OsStr, Cow<'_, OsStr>)| {
        c_string([name.as_bytes(), b"=", value.as_bytes()].concat())
    };
    all.into_iter().map(line).collect()
}

fn c_string(bytes: impl Into<Vec<u8>>) -> std::io::Result<CString> {
    Ok(CString::new(bytes)?)
}

/// As execve takes them, with a null at the end. They point into `strings`.
fn pointers<'a, S: AsRef<CStr> + 'a + ?Sized>(
    strings: impl IntoIterator<Item = &'a S>,
) -> Vec<*const c_char> {
    let pointers = strings.into_iter().map(|string| string.as_ref().as_ptr());
    pointers.chain([null()]).collect()
}

/// All that a child needs, made before it is there: it may not allocate.
struct Child {
    /// The program's path is the first.
    arguments: Vec<*const c_char>,
    /// The same for a shell, which takes what the kernel does not know how to execute.
    by_shell: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    /// Null: where the launcher is.
    folder: *const c_char,
    /// Its standard input, output and error, none of which has a number below 3 here.
    ends: [RawFd; 3],
    terminal: bool,
    pmi: RawFd,
    launcher: Pid,
    processors: Option<CpuSet>,
    /// How many files it may have open, soft and hard.
    files: Option<(rlim_t, rlim_t)>,
}

/// Clones this process, and returns when the child executes its program or is gone.
#[expect(
    unsafe_code,
    reason = "no library starts a child that shares memory and dies with its parent"
)]
fn start(child: &Child) -> std::io::Result<Pid> {
    // The child writes it, if it writes anything.
    let failed = AtomicI32::new(0);
    let mut stack = vec![0; STACK];
    let run = || {
        // SAFETY: this is the child of a clone, and what `child` points to lives as long as `start`.
        let Err(errno) = unsafe { child.run() };
        failed.store(errno as i32, Ordering::Relaxed);
        1
    };
    // In the child no handler of the launcher's may run: it would write into the launcher's memory.
    let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    // SAFETY: the child has a stack of its own and makes system calls alone, until it executes a program
    // or exits; this thread, which owns all that it uses, does not run before that.
    let cloned = unsafe {
        clone(
            Box::new(run),
            &mut stack,
            CloneFlags::CLONE_VM | CloneFlags::CLONE_VFORK,
            Some(libc::SIGCHLD),
        )
    };
    before.thread_set_mask()?;
    let pid = cloned?;
    match failed.into_inner() {
        0 => Ok(pid),
        errno => {
            // It is no rank, and nobody else knows of it.
            waitpid(pid, None).ok();
            Err(std::io::Error::from_raw_os_error(errno))
        }
    }
}

impl Child {
    /// Becomes the program.
    ///
    /// # Safety
    ///
    /// Only in a child that may share this memory, with all pointers valid.
    #[expect(
        unsafe_code,
        reason = "what a rank inherits is set between clone and exec"
    )]
    unsafe fn run(&self) -> Result<Infallible, Errno> {
        set_pdeathsig(Signal::SIGKILL)?;
        // A launcher that died before the line above leaves the child without that signal.
        if getppid() != self.launcher {
            return Err(Errno::ESRCH);
        }
        // Caught signals are reset by exec, ignored ones are not: YARN's daemons may have been started
        // with some ignored. Numbers that cannot be set do not matter.
        for number in 1..=SIGNAL_MAX {
            // SAFETY: the default installs no handler, and the child's dispositions are its own.
            unsafe { libc::signal(number, libc::SIG_DFL) };
        }
        sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
        for (number, &end) in (0..).zip(&self.ends) {
            // SAFETY: both are numbers of descriptors, and the child's table is its own.
            Errno::result(unsafe { libc::dup2(end, number) })?;
        }
        // The launcher may have more files open than the program may have: the number is a low one. What
        // had it before is closed by exec in any case.
        match self.pmi {
            PMI_FD => {
                // SAFETY: as above; the socket is open as long as the child needs it.
                Errno::result(unsafe { libc::fcntl(self.pmi, libc::F_SETFD, 0) })?;
            }
            pmi => {
                // SAFETY: as above.
                Errno::result(unsafe { libc::dup2(pmi, PMI_FD) })?;
            }
        }
        if let Some((soft, hard)) = self.files {
            setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?;
        }
        if self.terminal {
            // Whoever begins a session begins a process group with it.
            setsid()?;
            // SAFETY: standard input is the terminal; it has no session yet.
            Errno::result(unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) })?;
        } else {
            setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
        }
        if let Some(processors) = &self.processors {
            sched_setaffinity(Pid::from_raw(0), processors)?;
        }
        if !self.folder.is_null() {
            // SAFETY: a string that ends with a null.
            Errno::result(unsafe { libc::chdir(self.folder) })?;
        }
        let environment = self.environment.as_ptr();
        for arguments in [&self.arguments, &self.by_shell] {
            let Some(&program) = arguments.first() else {
                return Err(Errno::EINVAL);
            };
            // SAFETY: strings that end with a null, and lists of them that do.
            unsafe { libc::execve(program, arguments.as_ptr(), environment) };
            // A script that does not name its interpreter.
            if Errno::last() != Errno::ENOEXEC {
                break;
            }
        }
        Err(Errno::last())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use nix::sys::wait::WaitStatus;

    use super::*;

    /// What a script says that is started in `folder`, and how it ends.
    fn said(file: &Path, folder: Option<&Path>) -> std::io::Result<(String, WaitStatus)> {
        let (mut reader, stdout) = std::io::pipe()?;
        let (_errors, stderr) = std::io::pipe()?;
        let (_pmi, pmi) = UnixStream::pair()?;
        let environment = [("A", "common"), ("B", "common"), ("PMI_RANK", "9")];
        let environment = environment.map(|(name, value)| (name.into(), value.into()));
        let pid = execute(Plan {
            rank: 3,
            pmi_rank: 2,
            local_rank: 1,
            program: file.to_owned(),
            folder: folder.map(Path::to_owned),
            args: Arc::new(["one".to_owned(), String::new()]),
            environment: Arc::new(environment.into()),
            own: vec![("B".to_owned(), "own".to_owned())],
            waits: None,
            processors: None,
            streams: Streams::Pipes {
                stdin: None,
                stdout,
                stderr,
            },
            pmi,
        })?;
        let mut text = String::new();
        reader.read_to_string(&mut text)?;
        Ok((text, waitpid(pid, None)?))
    }

    fn script(folder: &Path, first: &str, mode: u32) -> PathBuf {
        let file = folder.join("script");
        let rest = "echo $# $1 $A $B $PMI_RANK $MPI_LOCALRANKID; pwd; cat; [ -S /dev/fd/$PMI_FD ] && exit 7\n";
        std::fs::write(&file, format!("{first}{rest}")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        file
    }

    #[test]
    fn a_rank_has_its_own_on_top_of_what_all_have() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().canonicalize().unwrap();
        let file = script(folder.path(), "#!/bin/sh\n", 0o700);
        let (text, status) = said(&file, Some(&here)).unwrap();
        assert_eq!(text, format!("2 one common own 2 1\n{}\n", here.display()));
        assert!(matches!(status, WaitStatus::Exited(_, 7)), "{status:?}");
        // Without an interpreter's name a shell takes it.
        let file = script(folder.path(), "", 0o700);
        let (text, _) = said(&file, None).unwrap();
        assert!(text.starts_with("2 one common own 2 1\n"), "{text}");
    }

    #[test]
    fn what_cannot_be_executed_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let why = |file: &Path, folder: Option<&Path>| {
            let error = said(file, folder).unwrap_err();
            error.raw_os_error()
        };
        let missing = folder.path().join("missing");
        assert_eq!(why(&missing, None), Some(libc::ENOENT));
        let plain = script(folder.path(), "#!/bin/sh\n", 0o600);
        assert_eq!(why(&plain, None), Some(libc::EACCES));
        let good = script(folder.path(), "#!/bin/sh\n", 0o700);
        assert_eq!(why(&good, Some(&missing)), Some(libc::ENOENT));
        // Not even one that only waits to be reaped.
        let children = std::fs::read_to_string("/proc/thread-self/children");
        assert_eq!(children.unwrap_or_default(), "");
    }

    #[test]
    fn signals_that_the_launcher_holds_back_reach_the_rank() {
        let folder = tempfile::tempdir().unwrap();
        let file = script(folder.path(), "#!/bin/sh\nkill -TERM $$\n", 0o700);
        let mut held = SigSet::empty();
        held.add(Signal::SIGTERM);
        held.thread_block().unwrap();
        let (_, status) = said(&file, None).unwrap();
        assert!(
            matches!(status, WaitStatus::Signaled(_, Signal::SIGTERM, _)),
            "{status:?}"
        );
        // And the launcher still holds them back.
        assert!(SigSet::thread_get_mask().unwrap().contains(Signal::SIGTERM));
        held.thread_unblock().unwrap();
    }
}
