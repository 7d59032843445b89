//! The working folder of a command: its own, with links to the job's files.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use gerbil_mapreduce::{ErrorContext as _, Result};
use rustix::fs::{FlockOperation, flock};
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

/// How folders of jobs are called, before letters that nobody can foretell.
const PREFIX: &str = "gerbil-streaming-";
/// The file in a folder that its job has locked as long as it lives.
const OWNER: &str = ".gerbil-owner";
/// A folder without that file is one that is being made, unless it is older.
const MAKING: Duration = Duration::from_secs(24 * 3600);

/// Whoever has the lock is not waited for.
const TRY: FlockOperation = FlockOperation::NonBlockingLockExclusive;

/// The folder of a job that runs on this machine alone, with what it brings along; nobody can foretell its name. What a
/// job has left that was killed goes when the next one begins.
#[derive(Debug)]
pub(crate) struct JobFolder {
    folder: TempDir,
    /// Locked; after the folder, which goes first.
    _owner: File,
}

impl JobFolder {
    /// Makes it.
    ///
    /// # Errors
    /// There is no room for it, or something that is brought cannot be read or unpacked.
    pub(crate) fn new(files: &[Brought], archives: &[Brought]) -> Result<Self> {
        let below = std::path::absolute(std::env::temp_dir())?;
        remove_dead(&below);
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(&below)
            .context(|| format!("a folder for the job in {}", below.display()))?;
        let owner = own(folder.path()).context(|| folder.path().display().to_string())?;
        let folder = Self {
            folder,
            _owner: owner,
        };
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
        self.folder.path()
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

/// Locks a folder; the lock ends with the process that has the file. In it is the host: on a folder that several have
/// mounted the others may not see the lock.
fn own(folder: &Path) -> io::Result<File> {
    // It has its name when it is locked.
    let new = folder.join(".gerbil-owner.new");
    let mut owner = File::create_new(&new)?;
    owner.write_all(rustix::system::uname().nodename().to_bytes())?;
    flock(&owner, TRY)?;
    fs::rename(&new, folder.join(OWNER))?;
    Ok(owner)
}

/// Removes this user's folders whose jobs are dead. What cannot be looked at or removed stays.
fn remove_dead(below: &Path) {
    for entry in fs::read_dir(below).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry
                .metadata()
                .is_ok_and(|about| is_folder_of_ours(&about));
        let path = entry.path();
        if is_ours && is_dead(&path) {
            drop(fs::remove_dir_all(path));
        }
    }
}

fn is_folder_of_ours(about: &Metadata) -> bool {
    about.is_dir() && about.uid() == rustix::process::geteuid().as_raw()
}

/// An owner is no longer than the name of a host may be.
fn is_of_this_host(owner: &File) -> bool {
    let mut host = Vec::new();
    let read = owner.take(256).read_to_end(&mut host);
    read.is_ok() && host == rustix::system::uname().nodename().to_bytes()
}

fn is_dead(folder: &Path) -> bool {
    match File::open(folder.join(OWNER)) {
        Ok(owner) => is_of_this_host(&owner) && flock(&owner, TRY).is_ok(),
        Err(_) => {
            let made = fs::metadata(folder).and_then(|about| about.modified());
            made.is_ok_and(|made| {
                let age = SystemTime::now().duration_since(made);
                age.is_ok_and(|age| age > MAKING)
            })
        }
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
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;
    use std::process::Command;
    use std::time::SystemTime;

    use super::{JobFolder, MAKING, OWNER, own, remove_dead};
    use crate::plan::Brought;

    #[test]
    fn what_dead_jobs_have_left_goes_and_living_ones_keep_theirs() {
        let here = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let path = here.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let (dead, living) = (folder("gerbil-streaming-a"), folder("gerbil-streaming-b"));
        drop(own(&dead).unwrap());
        let _owner = own(&living).unwrap();
        let elsewhere = folder("gerbil-streaming-f");
        drop(own(&elsewhere).unwrap());
        fs::write(elsewhere.join(OWNER), "another host").unwrap();
        let being_made = folder("gerbil-streaming-c");
        let old = folder("gerbil-streaming-d");
        let long_ago = SystemTime::now() - 2 * MAKING;
        File::open(&old).unwrap().set_modified(long_ago).unwrap();
        let other = folder("gerbil-other");
        symlink(&other, here.path().join("gerbil-streaming-e")).unwrap();

        remove_dead(here.path());
        assert!(!dead.exists() && !old.exists());
        assert!(living.exists() && being_made.exists() && other.exists());
        assert!(elsewhere.exists());
    }

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
