//! Starts a command in its working folder.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use gerbil_mapreduce::{Error, ErrorContext as _, Result};
use gerbil_task::{LAUNCHER_VARIABLE, ROLE_VARIABLE};
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

use crate::here::in_path;
use crate::words::words;

/// What a shell exits with where a command is not there, and so does a job.
const NOT_FOUND: u8 = 127;
/// What follows the number in the sentence that says so.
const NOWHERE: &str = "neither in the working folder nor in the PATH of the task, ";

/// Starts `command` in `folder` with these `variables` beside those of this process, and with `input`; its output and its
/// complaints are pipes. It does not outlive the thread that starts it.
pub(crate) fn start(
    command: &str,
    input: Stdio,
    folder: &Path,
    variables: &BTreeMap<String, String>,
) -> Result<Child> {
    let words = words(command);
    let Some((program, arguments)) = words.split_first() else {
        return Err(Error::new("the command is empty"));
    };
    let own = std::env::var("PATH").ok();
    let path = variables.get("PATH").cloned().or(own).unwrap_or_default();
    let Some(found) = find(program, folder, &path) else {
        return Err(Error::new(format!(
            "`{command}`: there is no {program} on {} ({NOT_FOUND}), {NOWHERE}{path}: bring it with -files, or name it as it \
             is called there",
            host()
        )));
    };
    // A script that came without the permission is run all the same, as Hadoop does.
    if found.starts_with(folder) {
        make_executable(&found);
    }
    let mut child = Command::new(&found);
    child
        .args(arguments)
        .current_dir(folder)
        .envs(variables)
        .env("PWD", folder)
        .env_remove(ROLE_VARIABLE)
        .env_remove(LAUNCHER_VARIABLE)
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    ends_with_us(&mut child);
    child.spawn().context(|| {
        format!(
            "`{command}`: {} cannot be started on {}",
            found.display(),
            host()
        )
    })
}

/// Has the kernel kill what `command` starts when its task is killed.
fn ends_with_us(command: &mut Command) {
    let parent = getpid();
    let with_parent = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        match getppid() == Some(parent) {
            true => Ok(()),
            // It has ended in between.
            false => Err(io::ErrorKind::BrokenPipe.into()),
        }
    };
    #[expect(
        unsafe_code,
        reason = "what runs between fork and exec has no safe face"
    )]
    // SAFETY: two system calls; nothing is allocated, locked or shared.
    unsafe {
        command.pre_exec(with_parent)
    };
}

/// What the process of a job exits with that has failed with this sentence; none: as any job that fails.
///
/// A sentence is all that comes from a task through its launcher and ApplicationMaster.
#[must_use]
pub fn exit_code(sentence: &str) -> Option<u8> {
    let said = format!(" ({NOT_FOUND}), {NOWHERE}");
    sentence.contains(&said).then_some(NOT_FOUND)
}

/// The file that `program` names: as it is where it begins with a slash, else in the working folder or where PATH says.
fn find(program: &str, folder: &Path, path: &str) -> Option<PathBuf> {
    let own = folder.join(program);
    if own.is_file() {
        return Some(own);
    }
    if program.contains('/') {
        return None;
    }
    in_path(program, path)
}

/// Lets a file be run by those who may read it.
fn make_executable(file: &Path) {
    let Ok(status) = file.metadata() else {
        return;
    };
    let mut permissions = status.permissions();
    let mode = permissions.mode();
    if mode & 0o111 != 0 {
        return;
    }
    permissions.set_mode(mode | (mode & 0o444) >> 2);
    // Of somebody else it may not be: starting it says so.
    drop(std::fs::set_permissions(file, permissions));
}

/// What this machine is called.
fn host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use std::collections::BTreeMap;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Stdio;

    use super::{exit_code, find, start};

    #[test]
    fn a_command_that_is_nowhere_is_named_with_node_and_path_and_has_a_shell_s_exit_code() {
        let folder = tempfile::tempdir().unwrap();
        let path = [("PATH".to_owned(), "/usr/bin:/nowhere".to_owned())];
        let lost = start(
            "no-such x",
            Stdio::null(),
            folder.path(),
            &BTreeMap::from(path),
        )
        .unwrap_err();
        let said = lost.to_string();
        let host = super::host();
        for part in [
            "`no-such x`",
            &format!("there is no no-such on {host}"),
            "/usr/bin:/nowhere: bring it",
        ] {
            assert!(said.contains(part), "{said}");
        }
        assert_eq!(
            exit_code(&format!("s1.1 streaming: map 0: {said}")),
            Some(127)
        );
        assert_eq!(exit_code("`cat` ended with exit code 127"), None);
    }

    #[test]
    fn a_command_does_not_outlive_who_has_started_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let task = std::thread::spawn(move || {
            start("sleep 1000", Stdio::null(), &path, &BTreeMap::new()).unwrap()
        });
        let ended = task.join().unwrap().wait().unwrap();
        assert_eq!(ended.signal(), Some(9));
    }

    #[test]
    fn a_program_is_looked_for_in_its_folder_and_then_in_path() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("true");
        let path = "relative:/nowhere:/usr/bin:/bin";
        let found = find("true", folder.path(), path).unwrap();
        assert!(
            found.starts_with("/usr/bin") || found.starts_with("/bin"),
            "{found:?}"
        );
        std::fs::write(&own, "#!/bin/sh\n").unwrap();
        assert_eq!(find("true", folder.path(), path), Some(own.clone()));
        assert!(find("./true", folder.path(), path).is_some());
        assert_eq!(
            find("/bin/sh", folder.path(), ""),
            Some(Path::new("/bin/sh").to_owned())
        );
        assert_eq!(find("no-such-program", folder.path(), path), None);
        assert_eq!(find("./no-such-program", folder.path(), path), None);
    }
}
