//! The working folder of a command: its own, with links to the job's files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use gerbil_mapreduce::{ErrorContext as _, Result};

use crate::plan::Brought;

/// A folder that is removed with all that is in it.
#[derive(Debug)]
pub(crate) struct OwnFolder {
    path: PathBuf,
}

impl OwnFolder {
    /// A new folder.
    ///
    /// # Errors
    /// It is there, or cannot be made.
    pub(crate) fn create(path: PathBuf) -> Result<Self> {
        fs::create_dir(&path).context(|| format!("the working folder {}", path.display()))?;
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn link(&self, to: &Path, name: &str) -> Result<()> {
        symlink(to, self.path.join(name)).context(|| format!("the link {name} to {}", to.display()))
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        // What stays goes with the job's folder.
        drop(fs::remove_dir_all(&self.path));
    }
}

/// The folder of a job that runs on this machine alone, with its files: of the process that runs it, `pid`.
pub(crate) fn of_job(pid: u32) -> PathBuf {
    std::env::temp_dir().join(format!("gerbil-streaming-{pid}"))
}

/// Makes it.
pub(crate) fn make_of_job(pid: u32, files: &[Brought]) -> Result<OwnFolder> {
    let folder = OwnFolder::create(of_job(pid))?;
    for file in files {
        let path = std::path::absolute(&file.path).context(|| file.path.clone())?;
        match path.is_dir() {
            true => folder.link(&path, &file.link)?,
            // A copy: that it may be run is changed where it is not so.
            false => fs::copy(&path, folder.path.join(&file.link))
                .map(drop)
                .context(|| file.path.clone())?,
        }
    }
    Ok(folder)
}

/// The folder of a task's command, inside of the job's.
pub(crate) fn make_of_task(job: &Path, name: &str, links: &[String]) -> Result<OwnFolder> {
    let folder = OwnFolder::create(job.join(name))?;
    for link in links {
        folder.link(&job.join(link), link)?;
    }
    Ok(folder)
}
