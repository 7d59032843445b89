//! What a case puts into HDFS, and what it compares the output with.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use super::{Files, with_hdfs};
use crate::Run;
use crate::bed::{DEADLINE, Given, text_of};

/// Puts files into a folder of HDFS, and into one of this machine, whose path is the answer.
///
/// # Errors
///
/// As [`with_hdfs`].
pub fn put(given: &Given, folder: &str, files: &[(&str, &str)]) -> Result<String> {
    let here = given.folder.join("put");
    drop(fs::remove_dir_all(&here));
    fs::create_dir(&here)?;
    for (name, text) in files {
        fs::write(here.join(name), text)?;
    }
    with_hdfs(&given.cluster, async |hdfs| {
        hdfs.make_folder(folder).await?;
        for (name, text) in files {
            let path = format!("{folder}/{name}");
            hdfs.write(&path, text.as_bytes().to_vec()).await?;
        }
        Ok(())
    })?;
    text_of(&here)
}

/// What lies in a folder of this machine.
///
/// # Errors
///
/// It is not there, or has something else than files.
pub fn read(folder: &Path) -> Result<Files> {
    let mut files = Files::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        files.insert(name, fs::read(entry.path())?);
    }
    Ok(files)
}

/// What `program` makes by itself on this machine, in `out` below the case's folder.
///
/// # Errors
///
/// It failed.
pub fn local(given: &Given, program: &str, arguments: &[&str], out: &str) -> Result<Files> {
    let out = given.folder.join(out);
    drop(fs::remove_dir_all(&out));
    let mut command = Command::new(program);
    command
        .args(["--local", "--quiet"])
        .args(arguments)
        .arg(&out);
    Run::new(command)
        .deadline(DEADLINE)
        .finish()?
        .success("a local run")?;
    read(&out)
}

/// Both have the same files, `_SUCCESS` among them.
///
/// # Errors
///
/// They have not.
pub fn is_same(ours: &Files, theirs: &Files) -> Result<()> {
    let names = |files: &Files| files.keys().cloned().collect::<Vec<_>>();
    ensure!(
        names(ours) == names(theirs),
        "{:?} {:?}",
        names(ours),
        names(theirs)
    );
    for (name, bytes) in ours {
        ensure!(theirs.get(name) == Some(bytes), "{name} differs");
    }
    ensure!(ours.contains_key("_SUCCESS"), "{:?}", names(ours));
    Ok(())
}

/// Words that repeat, lines without any, and one at the end of a file without an end.
#[must_use]
pub fn text(seed: u32) -> String {
    let mut text = String::new();
    let mut state = seed;
    for line in 0..4000 {
        for _ in 0..line % 9 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text.push_str(&format!("w{} ", (state >> 16) % 700));
        }
        text.push('\n');
    }
    text + "last"
}
