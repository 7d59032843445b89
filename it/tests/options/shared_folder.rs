//! Staging in a folder that every node has mounted, on a cluster without HDFS.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Result, ensure};

use it::bed::{Case, Given, text_of};

pub const CASES: &[(&str, Case)] = &[
    ("staging in a folder: --staging file:", shared_folder),
    ("no file system that the nodes share", no_shared_file_system),
    ("a staging folder that is closed to others", closed_folder),
];

/// Name and modification time of every file below `folder`.
fn files(folder: &Path) -> Result<Vec<(String, SystemTime)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(files(&entry.path())?);
        } else {
            found.push((text_of(&entry.path())?, entry.metadata()?.modified()?));
        }
    }
    found.sort();
    Ok(found)
}

fn shared_folder(given: &Given) -> Result<()> {
    let folder = given.folder.join("shared");
    fs::create_dir_all(&folder)?;
    fs::set_permissions(&folder, Permissions::from_mode(0o755))?;
    let staging = format!("file:{}", folder.display());
    cpi(given, &["--staging", &staging])?;
    let first = files(&folder)?;
    let cache = text_of(&folder.join("cache"))?;
    // This binary, the program, its libraries; and nothing of the job itself.
    ensure!(
        first.len() == 3 && first.iter().all(|(name, _)| name.starts_with(&cache)),
        "{first:?}"
    );
    cpi(given, &["--staging", &staging])?;
    let second = files(&folder)?;
    ensure!(first == second, "{first:?} became {second:?}");
    Ok(())
}

fn refused(given: &Given, arguments: &[&str], code: i32, words: &[&str]) -> Result<()> {
    let before = given.applications()?.len();
    given.fails(arguments, code, words)?;
    ensure!(given.applications()?.len() == before, "it was submitted");
    Ok(())
}

fn no_shared_file_system(given: &Given) -> Result<()> {
    let conf = text_of(&given.cluster.conf_dir())?;
    let words = ["fs.defaultFS is file:///", "--staging", &conf];
    refused(given, &["-n", "1", "true"], 78, &words)
}

fn closed_folder(given: &Given) -> Result<()> {
    let folder = given.folder.join("closed");
    fs::create_dir_all(folder.join("below"))?;
    fs::set_permissions(&folder, Permissions::from_mode(0o750))?;
    for staging in [folder.clone(), folder.join("below")] {
        let staging = format!("file:{}", staging.display());
        let words = ["mode 0750", "chmod o+x", &staging["file:".len()..]];
        refused(
            given,
            &["--staging", &staging, "-n", "1", "true"],
            74,
            &words,
        )?;
    }
    Ok(())
}

/// Eight ranks of cpi, with further options.
fn cpi(given: &Given, options: &[&str]) -> Result<()> {
    let program = given.example("cpi")?;
    let mut line = options.to_vec();
    line.extend(["-n", "8", &program]);
    let stdout = given.succeeds(&line)?.stdout_text();
    ensure!(
        stdout.contains("pi is about 3.14159265358")
            && stdout.matches(" of 8 runs on ").count() == 8,
        "{stdout}"
    );
    Ok(())
}
