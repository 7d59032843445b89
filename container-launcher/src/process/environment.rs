//! The environment of a process: the container's own, and what its program is given.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use job::wire::Program;

use crate::launcher_context::FILE_VARIABLE;
use crate::sweep::{JOB_VARIABLE, MARK_VARIABLE};

/// Another process manager's variables would lead MPI astray.
const OTHER_MANAGERS: [&str; 2] = ["PMI_", "PMIX_"];
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// What all processes of `program` have in common. Of `suggested` the user's own variables are the better;
/// what is `inherited` comes last.
pub(crate) fn of(
    inherited: impl Iterator<Item = (OsString, OsString)>,
    suggested: impl IntoIterator<Item = (&'static str, String)>,
    program: &Program,
    container: &str,
    folder: &Path,
) -> BTreeMap<OsString, OsString> {
    let mut environment: BTreeMap<OsString, OsString> = inherited
        .filter(|(name, _)| {
            let name = name.to_string_lossy();
            // The credentials hold the keys of the job.
            name != FILE_VARIABLE
                // Of whatever this launcher was started by.
                && name != JOB_VARIABLE
                && !OTHER_MANAGERS.iter().any(|other| name.starts_with(other))
        })
        .collect();
    for (name, value) in suggested {
        environment.insert(name.into(), value.into());
    }
    if !program.folder.is_empty() {
        environment.insert("PWD".into(), folder.join(&program.folder).into());
    }
    for pair in &program.environment {
        environment.insert(pair.key.clone().into(), pair.value.clone().into());
    }
    let mut libraries = folder.to_path_buf();
    if !program.library_folder.is_empty() {
        libraries.push(&program.library_folder);
        let mut path = libraries.clone().into_os_string();
        if let Some(old) = environment.get(OsStr::new(LIBRARY_PATH))
            && !old.is_empty()
        {
            path.push(":");
            path.push(old);
        }
        environment.insert(LIBRARY_PATH.into(), path);
    }
    let given = |name: &str| program.environment.iter().any(|pair| pair.key == name);
    for pair in &program.library_variables {
        if !given(&pair.key) {
            let place = match (pair.value.as_str(), pair.value.strip_prefix("./")) {
                ("", _) => libraries.clone(),
                (_, Some(beside)) => folder.join(beside),
                // Libraries that were not brought along lie at a path of their own.
                (place, None) => libraries.join(place),
            };
            environment.insert(pair.key.clone().into(), place.into());
        }
    }
    environment.insert(MARK_VARIABLE.into(), container.into());
    environment
}
