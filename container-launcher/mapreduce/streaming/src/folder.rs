//! The working folder of a command: its own, with links to the job's files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use gerbil_mapreduce::{ErrorContext as _, Result};
use tempfile::TempDir;

use crate::archive::Packed;
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

/// The folder of a job that runs on this machine alone, with what it brings along; nobody can foretell its name.
#[derive(Debug)]
pub(crate) struct JobFolder(TempDir);

impl JobFolder {
    /// Makes it.
    ///
    /// # Errors
    /// There is no room for it, or something that is brought cannot be read or unpacked.
    pub(crate) fn new(files: &[Brought], archives: &[Brought]) -> Result<Self> {
        let below = std::path::absolute(std::env::temp_dir())?;
        let folder = tempfile::Builder::new()
            .prefix("gerbil-streaming-")
            .tempdir_in(&below)
            .context(|| format!("a folder for the job in {}", below.display()))?;
        let folder = Self(folder);
        for file in files {
            let path = std::path::absolute(&file.path).context(|| file.path.clone())?;
            folder.bring(&path, &file.link)?;
        }
        for archive in archives {
            let path = std::path::absolute(&archive.path).context(|| archive.path.clone())?;
            match Packed::of(&archive.path) {
                Some(packed) => packed.unpack(&path, &folder.path().join(&archive.link))?,
                // As a NodeManager leaves it.
                None => folder.bring(&path, &archive.link)?,
            }
        }
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    fn bring(&self, path: &Path, link: &str) -> Result<()> {
        let to = self.path().join(link);
        match path.is_dir() {
            true => symlink(path, &to),
            // A copy: that it may be run is changed where it is not so.
            false => fs::copy(path, &to).map(drop),
        }
        .context(|| path.display().to_string())
    }
}

/// The folder of a task's command, inside of the job's.
pub(crate) fn make_of_task(job: &Path, name: &str, links: &[String]) -> Result<OwnFolder> {
    let folder = OwnFolder::create(job.join(name))?;
    for link in links {
        folder.link(&job.join(link), link)?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::JobFolder;
    use crate::plan::Brought;

    #[test]
    fn a_job_has_a_folder_that_nobody_can_foretell_with_its_archives_unpacked() {
        let here = tempfile::tempdir().unwrap();
        fs::write(here.path().join("dict.txt"), "words").unwrap();
        let packed = here.path().join("d.tgz");
        let mut tar = Command::new("tar");
        let tar = tar.arg("-czf").arg(&packed).arg("dict.txt");
        assert!(tar.current_dir(here.path()).status().unwrap().success());
        let brought = |name: &str, link: &str| Brought {
            path: here.path().join(name).to_string_lossy().into_owned(),
            link: link.to_owned(),
        };
        let files = [
            brought("dict.txt", "plain"),
            brought("d.tgz", "as-it-is.tgz"),
        ];
        let archives = [brought("d.tgz", "d"), brought("dict.txt", "no-archive")];
        let folders = [(); 2].map(|()| JobFolder::new(&files, &archives).unwrap());
        assert_ne!(folders[0].path(), folders[1].path());
        for (name, wanted) in [
            ("plain", "words"),
            ("d/dict.txt", "words"),
            ("no-archive", "words"),
        ] {
            let text = fs::read_to_string(folders[0].path().join(name)).unwrap();
            assert_eq!(text, wanted, "{name}");
        }
        assert!(folders[0].path().join("as-it-is.tgz").is_file());
        let odd = [brought("nothing.zip", "z")];
        let refused = JobFolder::new(&[], &odd).unwrap_err().to_string();
        assert!(refused.contains("nothing.zip is not unpacked"), "{refused}");
        let path = folders[0].path().to_owned();
        drop(folders);
        assert!(!path.exists());
    }
}
