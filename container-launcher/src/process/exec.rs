//! Forks and executes one process.

use std::convert::Infallible;
use std::ffi::{CStr, CString, c_char};
use std::fs::File;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::ptr::null;
use std::sync::atomic::{AtomicI32, Ordering};

use nix::errno::Errno;
use nix::sched::{CloneFlags, CpuSet, clone, sched_setaffinity};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::resource::{Resource, rlim_t, setrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, getppid, setpgid, setsid};
use rustix::io::fcntl_dupfd_cloexec;

use super::start::ProcessStart;
use super::streams::ProcessStreams;
use crate::open_files;

/// Highest signal number of Linux.
const SIGNAL_MAX: i32 = 64;
/// Takes scripts that do not name their interpreter.
const SHELL: &CStr = c"/bin/sh";
/// Number of the first descriptor that a process may inherit: the one behind its standard streams.
pub(crate) const INHERITED_FD: RawFd = 3;
/// Of a child, until it executes its program, bytes: it calls the kernel alone.
const STACK: usize = 32 * 1024;

/// Starts it, in a process group of its own, from the thread whose end is to kill it.
///
/// The child shares the launcher's memory until it executes the program, and this thread sleeps as long:
/// a launcher has a hundred times the pages that are touched meanwhile, and a fork would copy the
/// tables of them all for each rank.
///
/// # Errors
///
/// What clone or execve said.
pub(crate) fn execute(start: ProcessStart) -> std::io::Result<Pid> {
    let command = &start.command;
    let program = c_string(command.program.as_os_str().as_bytes())?;
    let arguments = [&program].into_iter().cloned().map(Ok);
    let arguments = arguments.chain(command.args.iter().map(|arg| c_string(arg.as_bytes())));
    let arguments: Vec<CString> = arguments.collect::<Result<_, _>>()?;
    let environment = start.environment().into_iter();
    let environment = environment
        .map(|(name, value)| c_string([name.as_bytes(), b"=", value.as_bytes()].concat()));
    let environment: Vec<CString> = environment.collect::<Result<_, _>>()?;
    let folder = c_string(command.folder.as_os_str().as_bytes())?;
    let (ends, terminal) = match start.streams {
        ProcessStreams::Plain {
            stdin,
            stdout,
            stderr,
        } => {
            let stdin = match stdin {
                Some(stdin) => stdin,
                None => File::open("/dev/null")?.into(),
            };
            ([stdin, stdout, stderr], false)
        }
        ProcessStreams::Terminal(end) => ([end.try_clone()?, end.try_clone()?, end], true),
    };
    // None has the number that another is to have.
    let behind = start
        .inherited
        .iter()
        .fold(INHERITED_FD, |behind, _| behind.saturating_add(1));
    let inherited = start.inherited.iter();
    let inherited = inherited.map(|descriptor| fcntl_dupfd_cloexec(descriptor, behind));
    let inherited: Vec<OwnedFd> = inherited.collect::<Result<_, _>>()?;
    let child = Child {
        arguments: pointers(&arguments),
        by_shell: pointers(
            [SHELL]
                .into_iter()
                .chain(arguments.iter().map(CString::as_c_str)),
        ),
        environment: pointers(&environment),
        folder: folder.as_ptr(),
        ends: ends.each_ref().map(|end| end.as_raw_fd()),
        terminal,
        inherited: inherited
            .iter()
            .map(|descriptor| descriptor.as_raw_fd())
            .collect(),
        launcher: Pid::this(),
        processors: start.processors,
        files: open_files::before(),
    };
    // The process's ends of its pipes and what it inherits are open here until it has its own.
    clone_and_run(&child)
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
    folder: *const c_char,
    /// Its standard input, output and error, none of which has a number below 3 here.
    ends: [RawFd; 3],
    terminal: bool,
    /// All behind the numbers that they are to have.
    inherited: Vec<RawFd>,
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
fn clone_and_run(child: &Child) -> std::io::Result<Pid> {
    // The child writes it, if it writes anything.
    let failed = AtomicI32::new(0);
    let mut stack = vec![0; STACK];
    let run = || {
        // SAFETY: this is the child of a clone, and what `child` points to lives as long as this call.
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
            // It is no process of a job, and nobody else knows of it.
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
        for (number, &descriptor) in (INHERITED_FD..).zip(&self.inherited) {
            // SAFETY: as above; the descriptor is open as long as the child needs it.
            Errno::result(unsafe { libc::dup2(descriptor, number) })?;
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
        // SAFETY: a string that ends with a null.
        Errno::result(unsafe { libc::chdir(self.folder) })?;
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
    use std::os::unix::net::UnixStream;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use nix::sys::wait::WaitStatus;

    use super::super::Id;
    use super::super::start::ProgramCommand;
    use super::*;
    use job::JobId;

    /// What a script says that is started in `folder`, and how it ends.
    fn said(file: &Path, folder: &Path) -> std::io::Result<(String, WaitStatus)> {
        let (mut reader, stdout) = std::io::pipe()?;
        let (_errors, stderr) = std::io::pipe()?;
        let (_pmi, pmi) = UnixStream::pair()?;
        let environment = [("A", "common"), ("B", "common"), ("PMI_RANK", "9")];
        let environment = environment.map(|(name, value)| (name.into(), value.into()));
        let id = Id {
            job: JobId::OF_APPLICATION,
            number: 3,
        };
        let command = ProgramCommand {
            program: file.to_owned(),
            folder: folder.to_owned(),
            args: vec!["one".to_owned(), String::new()],
            environment: environment.into(),
            ..ProgramCommand::default()
        };
        let streams = ProcessStreams::Plain {
            stdin: None,
            stdout: stdout.into(),
            stderr: stderr.into(),
        };
        let start = ProcessStart::new(id, &Arc::new(command), streams)
            .set([("B", "own"), ("PMI_RANK", "2"), ("SOCKET", "3")])
            .inherit(pmi);
        let pid = execute(start)?;
        let mut text = String::new();
        reader.read_to_string(&mut text)?;
        Ok((text, waitpid(pid, None)?))
    }

    fn script(folder: &Path, first: &str, mode: u32) -> PathBuf {
        let file = folder.join("script");
        let rest = "echo $# $1 $A $B $PMI_RANK; pwd; cat; [ -S /dev/fd/$SOCKET ] && exit 7\n";
        std::fs::write(&file, format!("{first}{rest}")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        file
    }

    #[test]
    fn a_process_has_its_own_on_top_of_what_all_have() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().canonicalize().unwrap();
        let file = script(folder.path(), "#!/bin/sh\n", 0o700);
        let (text, status) = said(&file, &here).unwrap();
        assert_eq!(text, format!("2 one common own 2\n{}\n", here.display()));
        assert!(matches!(status, WaitStatus::Exited(_, 7)), "{status:?}");
        // Without an interpreter's name a shell takes it.
        let file = script(folder.path(), "", 0o700);
        let (text, _) = said(&file, &here).unwrap();
        assert!(text.starts_with("2 one common own 2\n"), "{text}");
    }

    #[test]
    fn what_cannot_be_executed_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        let why = |file: &Path, folder: &Path| {
            let error = said(file, folder).unwrap_err();
            error.raw_os_error()
        };
        let missing = folder.path().join("missing");
        assert_eq!(why(&missing, here), Some(libc::ENOENT));
        let plain = script(folder.path(), "#!/bin/sh\n", 0o600);
        assert_eq!(why(&plain, here), Some(libc::EACCES));
        let good = script(folder.path(), "#!/bin/sh\n", 0o700);
        assert_eq!(why(&good, &missing), Some(libc::ENOENT));
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
        let (_, status) = said(&file, folder.path()).unwrap();
        assert!(
            matches!(status, WaitStatus::Signaled(_, Signal::SIGTERM, _)),
            "{status:?}"
        );
        // And the launcher still holds them back.
        assert!(SigSet::thread_get_mask().unwrap().contains(Signal::SIGTERM));
        held.thread_unblock().unwrap();
    }
}
