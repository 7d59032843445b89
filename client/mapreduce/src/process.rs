//! A process of the program in one of its roles.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gerbil_task::{Connection, FrameError, LAUNCHER_VARIABLE, ROLE_VARIABLE};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, waitid,
};
use terminal::{Orphan, ends_with_us};

use crate::error::MapReduceError;

/// For a process to say hello.
pub const HELLO: Duration = Duration::from_secs(30);
/// What is asked where it does not.
pub const FIRST: &str = "is `main()` of the job the first statement of main?";

/// A process in a role, at the head of a group of its own, so that whatever ends this command here ends it in
/// order. The kernel kills it with the thread that has started it, which is therefore to live as long: also where
/// it is no program of jobs, and this command is killed. Dropping it kills the group.
#[derive(Debug)]
pub struct RoleProcess {
    child: Child,
    group: RoleGroup,
    /// What it says and hears.
    pub connection: Connection,
}

impl RoleProcess {
    /// Starts `program` in `role`.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn start(
        program: &Path,
        role: &str,
        words: &[OsString],
        out: Stdio,
        group: &RoleGroup,
    ) -> Result<Self, MapReduceError> {
        let failed = |source| MapReduceError::Start {
            program: program.to_owned(),
            source,
        };
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let mut command = Command::new(program);
        command
            .args(words)
            .env(ROLE_VARIABLE, role)
            .env(LAUNCHER_VARIABLE, std::process::id().to_string())
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(out)
            .process_group(0);
        ends_with_us(&mut command, Orphan::Killed);
        let child = command.spawn().map_err(failed)?;
        group.runs(Pid::from_child(&child));
        Ok(Self {
            child,
            group: group.clone(),
            connection: Connection::new(ours).of_driver(),
        })
    }

    /// How it has ended, if it has. It is not waited for before its group is killed: until then its id is its own.
    pub fn has_ended(&self) -> Option<ExitStatus> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(Pid::from_child(&self.child)), options).ok()??;
        let code = status.exit_status().map(|code| code << 8);
        let core = if status.dumped() { 0x80 } else { 0 };
        let signal = status.terminating_signal().map(|signal| signal | core);
        code.or(signal).map(ExitStatus::from_raw)
    }

    /// How it ended, if it does so within `wait`.
    pub fn ended(&self, wait: Duration) -> Option<ExitStatus> {
        if let Ok(descriptor) = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty()) {
            let wait = Timespec::try_from(wait).ok();
            let mut descriptors = [PollFd::new(&descriptor, PollFlags::IN)];
            // Readable is ended; a signal that came in between only looks earlier.
            let _looked = poll(&mut descriptors, wait.as_ref()).is_ok();
        }
        self.has_ended()
    }
}

impl Drop for RoleProcess {
    fn drop(&mut self) {
        // The group may have members that outlive its head.
        self.group.abandon();
        let _gone = self.child.kill().is_err();
        let _reaped = self.child.wait().is_ok();
    }
}

/// The group of a process that one thread talks to, and another may want to end.
#[derive(Clone, Debug, Default)]
pub struct RoleGroup(Arc<Mutex<GroupState>>);

#[derive(Debug, Default)]
enum GroupState {
    #[default]
    NotYet,
    Runs(Pid),
    /// It is killed, or is to be as soon as it runs. Its id may be another's by now.
    Abandoned,
}

impl RoleGroup {
    fn runs(&self, group: Pid) {
        let mut state = self.lock();
        match *state {
            GroupState::Abandoned => end(group),
            GroupState::NotYet | GroupState::Runs(_) => *state = GroupState::Runs(group),
        }
    }

    /// Nobody waits for it any more.
    pub fn abandon(&self) {
        // Under the lock: it is waited for after this alone, and until then its id is its own.
        let mut state = self.lock();
        if let GroupState::Runs(group) = *state {
            end(group);
        }
        *state = GroupState::Abandoned;
    }

    fn lock(&self) -> MutexGuard<'_, GroupState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn end(group: Pid) {
    let _gone = kill_process_group(group, Signal::KILL).is_err();
}

/// Ends a group when the wait for it ends, however that does.
#[derive(Debug)]
pub struct AbandonsGroup(pub RoleGroup);

impl Drop for AbandonsGroup {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// How a process ended, in words that follow its name.
#[must_use]
pub fn how(status: Option<ExitStatus>) -> String {
    let Some(status) = status else {
        return "has closed its socket".to_owned();
    };
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "has ended".to_owned(),
    }
}

/// What such an end makes this command return, as a shell says it.
#[must_use]
pub fn code(status: ExitStatus) -> u8 {
    let signal = status.signal().map(|signal| 128_i32.saturating_add(signal));
    let code = status.code().or(signal).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

/// Why a process is none of a job, which has not said hello.
#[must_use]
pub fn no_hello(program: &Path, error: &FrameError) -> MapReduceError {
    let why = match error {
        FrameError::Closed => format!("ended before it said hello: {FIRST}"),
        FrameError::Silent => format!("said nothing for {} s: {FIRST}", HELLO.as_secs()),
        other => format!("said no hello: {other}"),
    };
    MapReduceError::NoJob {
        program: program.to_owned(),
        why,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;
    use std::time::Instant;

    use super::*;

    /// For a process to begin or to end on a busy machine.
    const SOON: Duration = Duration::from_secs(60);

    /// A program that is none of jobs, and what it writes down: its own id and that of one that it has started.
    fn no_job(folder: &Path) -> (PathBuf, PathBuf) {
        let (program, ids) = (folder.join("notjob.sh"), folder.join("ids"));
        let script = format!(
            "#!/bin/sh\nsleep 1000 & echo $$ $! > {0}.new; mv {0}.new {0}; wait\n",
            ids.display()
        );
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        (program, ids)
    }

    fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            if let Some(found) = found() {
                return found;
            }
            assert!(begin.elapsed() < SOON, "{what}");
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }

    fn ids(path: &Path) -> Vec<u32> {
        let text = until("it begins", || std::fs::read_to_string(path).ok());
        text.split_whitespace()
            .map(|id| id.parse().unwrap())
            .collect()
    }

    /// Neither there nor waiting to be reaped.
    fn is_gone(id: u32) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        status
            .rsplit(')')
            .next()
            .is_none_or(|rest| rest.is_empty() || rest.starts_with(" Z"))
    }

    #[test]
    fn what_is_not_waited_for_any_more_ends_with_all_that_it_has_started() {
        let folder = tempfile::tempdir().unwrap();
        let (program, path) = no_job(folder.path());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap();
        let ids = runtime.block_on(async {
            let begun = tokio::task::spawn_blocking(move || ids(&path));
            tokio::select! {
                planned = crate::plan::plan(program, Vec::new()) => panic!("{planned:?}"),
                begun = begun => begun.unwrap(),
            }
        });
        assert_eq!(ids.len(), 2);
        until("they end", || {
            ids.iter().all(|id| is_gone(*id)).then_some(())
        });
    }

    #[test]
    fn one_that_runs_late_ends_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (program, _) = no_job(folder.path());
        let group = RoleGroup::default();
        group.abandon();
        let late = RoleProcess::start(&program, "plan", &[], Stdio::null(), &group).unwrap();
        let ended = late.ended(SOON).unwrap();
        assert_eq!(ended.signal(), Some(9));
    }

    /// Its id would be free for another process, whose group would be killed then.
    #[test]
    fn how_it_ended_is_seen_and_its_id_stays_its_own_until_its_group_is_killed() {
        for (script, code, signal, core) in [
            ("exit 7", Some(7), None, false),
            ("kill -9 $$", None, Some(9), false),
            ("ulimit -c 0; kill -11 $$", None, Some(11), false),
        ] {
            let (shell, group) = (Path::new("/bin/sh"), RoleGroup::default());
            let words = ["-c".into(), script.into()];
            let process = RoleProcess::start(shell, "plan", &words, Stdio::null(), &group).unwrap();
            let id = process.child.id();
            for _again in 0..2 {
                let ended = process.ended(SOON).unwrap();
                assert_eq!(ended.code(), code, "{script}");
                assert_eq!(ended.signal(), signal, "{script}");
                assert_eq!(ended.core_dumped(), core, "{script}");
            }
            let there = || Path::new(&format!("/proc/{id}/stat")).exists();
            assert!(there(), "{script}");
            drop(process);
            assert!(!there(), "{script}");
        }
    }

    /// As when this command is killed: nothing is dropped.
    #[test]
    fn it_ends_with_the_thread_that_has_started_it() {
        let folder = tempfile::tempdir().unwrap();
        let (program, path) = no_job(folder.path());
        let starter = std::thread::spawn(move || {
            let group = RoleGroup::default();
            let started = RoleProcess::start(&program, "plan", &[], Stdio::null(), &group);
            std::mem::forget(started.unwrap());
            ids(&path)
        });
        let ids = starter.join().unwrap();
        until("it ends", || is_gone(ids[0]).then_some(()));
        // What it has started is not the kernel's affair.
        let rest = Pid::from_raw(i32::try_from(ids[0]).unwrap()).unwrap();
        end(rest);
    }
}
