//! How output gets into place: version 1 of Hadoop's `FileOutputCommitter`.
//!
//! `OUT/_temporary/0/_temporary/ATTEMPT` while an attempt runs → `OUT/_temporary/0/TASK` when it has ended
//! well → `OUT` when all have → `_SUCCESS`. An output folder that holds nothing but `_temporary` is one that
//! was left when a machine died: it counts as absent, unless a living job has its lock.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use gerbil_task::OutputOf;
use rustix::fs::{FlockOperation, flock};

use crate::error::{Context as _, Error, Result};

/// The output of one job.
#[derive(Debug)]
pub(crate) struct Committer {
    output: PathBuf,
    /// What has its place already.
    placed: Vec<PathBuf>,
    lock: Option<File>,
}

fn at<'a>(path: &'a Path) -> impl FnOnce() -> String + use<'a> {
    move || path.display().to_string()
}

/// A new file in the folder of an attempt at the task `of`.
pub(crate) fn create(folder: &Path, of: OutputOf, name: &str) -> Result<File> {
    of.check(name).map_err(Error::new)?;
    fs::create_dir_all(folder).context(at(folder))?;
    let path = folder.join(name);
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .context(at(&path))
}

impl Committer {
    /// Makes `output`, which must not be there.
    pub(crate) fn begin(output: &Path) -> Result<Self> {
        let temporary = output.join("_temporary");
        if let Some(file) = output.ancestors().find(|path| path.is_file()) {
            return Err(Error::new(match file == output {
                true => format!(
                    "{}: the output is a folder, and a file has this name: name another, or remove it",
                    file.display()
                ),
                false => format!(
                    "the output {} cannot be made: {} is a file",
                    output.display(),
                    file.display()
                ),
            }));
        }
        match fs::create_dir(output) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::create_dir_all(output).context(at(output))?
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let entries = fs::read_dir(output).context(at(output))?;
                let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
                if names.is_empty() || names.iter().any(|name| name != "_temporary") {
                    let words = format!(
                        "the output {} is there already: name another, or remove it",
                        output.display()
                    );
                    return Err(Error::new(words));
                }
            }
            Err(error) => return Err(error).context(at(output)),
        }
        fs::create_dir_all(&temporary).context(at(&temporary))?;
        let owner = temporary.join(".owner");
        let lock = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(false)
            .open(&owner)
            .context(at(&owner))?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(Error::new(format!(
                "another job is writing to {}",
                output.display()
            )));
        }
        let zero = temporary.join("0");
        if zero.exists() {
            fs::remove_dir_all(&zero).context(at(&zero))?;
        }
        fs::create_dir_all(zero.join("_temporary")).context(at(&zero))?;
        Ok(Self {
            output: output.to_owned(),
            placed: Vec::new(),
            lock: Some(lock),
        })
    }

    /// The folder of an attempt.
    pub(crate) fn attempt(&self, attempt: &str) -> PathBuf {
        self.output.join("_temporary/0/_temporary").join(attempt)
    }

    /// A new file of an attempt at the task `of`.
    pub(crate) fn create(&self, attempt: &str, of: OutputOf, name: &str) -> Result<File> {
        create(&self.attempt(attempt), of, name)
    }

    /// An attempt has ended well: its files are the task's. How many bytes they have; none: it has written no files.
    pub(crate) fn commit_task(&self, attempt: &str, task: &str) -> Result<Option<u64>> {
        let from = self.attempt(attempt);
        let to = self.output.join("_temporary/0").join(task);
        match fs::rename(&from, &to) {
            Err(error) if error.kind() == ErrorKind::NotFound && !from.exists() => return Ok(None),
            // A map that is done again: what it has left now counts.
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {
                fs::remove_dir_all(&to).context(at(&to))?;
                fs::rename(&from, &to).context(at(&to))?;
            }
            other => other.context(at(&to))?,
        }
        let mut bytes = 0;
        for file in fs::read_dir(&to).context(at(&to))? {
            let about = file.and_then(|file| file.metadata()).context(at(&to))?;
            bytes += about.len();
        }
        Ok(Some(bytes))
    }

    /// An attempt has failed.
    pub(crate) fn abort_task(&self, attempt: &str) {
        // What cannot be removed now goes with the job.
        drop(fs::remove_dir_all(self.attempt(attempt)));
    }

    /// All tasks have ended well: their files get their places, and `_SUCCESS` is written.
    pub(crate) fn commit(&mut self) -> Result<()> {
        let zero = self.output.join("_temporary/0");
        for task in fs::read_dir(&zero).context(at(&zero))? {
            let task = task.context(at(&zero))?;
            if task.file_name() == "_temporary" {
                continue;
            }
            for file in fs::read_dir(task.path()).context(at(&zero))? {
                let file = file.context(at(&zero))?;
                let to = self.output.join(file.file_name());
                fs::rename(file.path(), &to).context(at(&to))?;
                self.placed.push(to);
            }
        }
        // Before anything is removed: a machine that dies here leaves too much, and not whole output that
        // nobody can tell from half of it.
        let temporary = self.output.join("_temporary");
        let marker = temporary.join("_SUCCESS");
        File::create(&marker).context(at(&marker))?;
        let success = self.output.join("_SUCCESS");
        fs::rename(&marker, &success).context(at(&success))?;
        drop(fs::remove_dir_all(&temporary));
        self.lock = None;
        Ok(())
    }

    /// The job has failed: nothing is left of it.
    pub(crate) fn abort(&mut self) {
        drop(fs::remove_dir_all(self.output.join("_temporary")));
        self.lock = None;
        for file in self.placed.drain(..) {
            drop(fs::remove_file(file));
        }
        // Only if nobody else has put something there.
        drop(fs::remove_dir(&self.output));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use gerbil_task::OutputOf;

    use super::Committer;

    #[test]
    fn files_appear_when_the_job_is_committed_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("deep/out");
        let mut committer = Committer::begin(&out).unwrap();
        let first = OutputOf {
            is_map: false,
            task: 0,
            feeds_reduces: false,
        };
        committer
            .create("attempt_0", first, "part-r-00000")
            .unwrap()
            .write_all(b"x")
            .unwrap();
        committer
            .create("attempt_1", first, "part-r-00000")
            .unwrap();
        for odd in ["../x", "part-m-00000", "part-r-00001", "part"] {
            assert!(committer.create("attempt_0", first, odd).is_err(), "{odd}");
        }
        committer.abort_task("attempt_1");
        let written = committer.commit_task("attempt_0", "task_0").unwrap();
        assert_eq!(written, Some(1));
        assert_eq!(committer.commit_task("attempt_2", "task_2").unwrap(), None);
        assert!(!out.join("part-r-00000").exists());
        assert!(
            Committer::begin(&out)
                .unwrap_err()
                .to_string()
                .contains("another job")
        );
        committer.commit().unwrap();
        let mut names: Vec<_> = fs::read_dir(&out)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["_SUCCESS", "part-r-00000"]);
        assert!(
            Committer::begin(&out)
                .unwrap_err()
                .to_string()
                .contains("is there already")
        );
    }

    #[test]
    fn a_folder_that_a_dead_job_left_counts_as_absent() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        fs::create_dir_all(out.join("_temporary/0/task_0")).unwrap();
        fs::write(out.join("_temporary/0/task_0/part-r-00009"), "old").unwrap();
        let mut committer = Committer::begin(&out).unwrap();
        committer.commit().unwrap();
        assert!(!out.join("part-r-00009").exists());
        assert!(out.join("_SUCCESS").exists());
        let other = folder.path().join("other");
        Committer::begin(&other).unwrap().abort();
        assert!(!other.exists());
    }
}
