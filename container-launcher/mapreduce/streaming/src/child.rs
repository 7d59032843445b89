//! Starts a command in its working folder.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use gerbil_mapreduce::{Error, ErrorContext as _, Result};
use gerbil_task::{LAUNCHER_VARIABLE, ROLE_VARIABLE};

use crate::words::words;

/// What a shell exits with where a command is not there, and so does a job.
const NOT_FOUND: u8 = 127;
/// What follows the number in the sentence that says so.
const NOWHERE: &str = "neither in the working folder nor in the PATH of the task, ";

/// Starts `command` in `folder` with these `variables` beside those of this process; all three streams are pipes.
pub(crate) fn start(
    command: &str,
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
    Command::new(&found)
        .args(arguments)
        .current_dir(folder)
        .envs(variables)
        .env("PWD", folder)
        .env_remove(ROLE_VARIABLE)
        .env_remove(LAUNCHER_VARIABLE)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context(|| {
            format!(
                "`{command}`: {} cannot be started on {}",
                found.display(),
                host()
            )
        })
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
    let mut all = path.split(':').filter(|folder| folder.starts_with('/'));
    all.find_map(|folder| {
        let file = Path::new(folder).join(program);
        let status = file.metadata().ok()?;
        (status.is_file() && status.permissions().mode() & 0o111 != 0).then_some(file)
    })
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

    use super::{exit_code, find, start};

    #[test]
    fn a_command_that_is_nowhere_is_named_with_node_and_path_and_has_a_shell_s_exit_code() {
        let folder = tempfile::tempdir().unwrap();
        let path = [("PATH".to_owned(), "/usr/bin:/nowhere".to_owned())];
        let lost = start("no-such x", folder.path(), &BTreeMap::from(path)).unwrap_err();
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
