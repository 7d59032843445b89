//! A new output in the place of an old one.
//!
//! The job writes beside the old output, into `_NAME.new`; when it is committed there, with its `_SUCCESS`, the old
//! one goes to the user's trash, as Hadoop's shell puts it there, and the new one gets its name. Where HDFS has no trash
//! (`fs.trash.interval` 0) the old one is beside it as `_NAME.new.old-TIME` meanwhile, and is removed then. So a reader sees all of the old output, nothing, or all of
//! the new one; and a job that fails leaves the old one as it was.
//!
//! It writes there also where nothing has the name: two jobs that may overwrite the same output meet in one folder,
//! whose owner the ApplicationMaster of the second names at once, before any task.
//!
//! A client that is killed between its job's commit and the second rename leaves the new output whole, in `_NAME.new`.
//! The next job that may overwrite `NAME` finishes that first.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use follow::ended::Ended;
use follow::follower::tasks::{JobNews, JobNewsSender};
use storage::{Storage, StorageError, parent};
use tokio::time::{Instant, sleep};

use crate::error::MapReduceError;
use crate::places::{FileSystems, Location};
use crate::trash::{Gone, Trash, is_in, now_ms, put_away};

/// How long another client has for its two renames before it counts as killed.
const SWAP: Duration = Duration::from_secs(5);
/// How often it is looked whether it has done them.
const LOOK: Duration = Duration::from_millis(100);
/// How often an output is put away that another job has put there meanwhile.
const TRIES: u32 = 5;

/// Boxed: both callers have one copy of the code.
type Replaced<'a> = Pin<Box<dyn Future<Output = Result<Option<Gone>, MapReduceError>> + Send + 'a>>;

/// An output that is to take the place of another.
#[derive(Clone, Debug)]
pub struct Overwrite {
    storage: Arc<Storage>,
    old: Location,
    /// Where the job writes.
    new: Location,
    /// The user's, on that file system.
    trash: String,
    kept: Trash,
}

impl Overwrite {
    /// For what is at `old`.
    ///
    /// # Errors
    /// There is no trash for it, or the trash lies in it.
    pub async fn new(places: &FileSystems, old: &Location) -> Result<Self, MapReduceError> {
        let storage = places.storage(&old.address)?;
        let Some(home) = places.home(&old.address) else {
            return Err(MapReduceError::Asked(format!(
                "--overwrite: there is no home folder on the file system of {}, and so no trash; remove it yourself",
                old.url()
            )));
        };
        let trash = format!("{home}/.Trash");
        if is_in(&trash, &old.path) {
            return Err(MapReduceError::Asked(format!(
                "--overwrite: {} cannot go to your trash, which lies in it",
                old.url()
            )));
        }
        let name = old.path.rsplit('/').next().unwrap_or_default();
        let folder = parent(&old.path).trim_end_matches('/');
        let new = Location {
            address: old.address.clone(),
            path: format!("{folder}/_{name}.new"),
        };
        Ok(Self {
            storage,
            old: old.clone(),
            new,
            trash,
            kept: places.trash(&old.address).await,
        })
    }

    /// Where the job writes.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.new.path
    }

    /// Refuses a job that reads what is to be put away; `path`: of a file of its input, on the same file system.
    ///
    /// # Errors
    /// The job reads it: the file lies in the folder that is to be put away.
    pub fn spares(&self, path: &str) -> Result<(), MapReduceError> {
        match is_in(path, &self.old.path) {
            false => Ok(()),
            true => Err(MapReduceError::Asked(format!(
                "--overwrite: the job reads {}, which is in its own output",
                self.old.address.url(path)
            ))),
        }
    }

    /// What the end of the job comes to: where it has succeeded, its output has its place.
    pub async fn conclude(&self, mut ended: Ended, told: &JobNewsSender) -> Ended {
        if ended.code != 0 {
            return ended;
        }
        match self.replace().await {
            Ok(Some(gone)) => {
                let (became, why) = match (gone, self.kept) {
                    (Gone::Removed, _) => (
                        "removed".to_owned(),
                        ": HDFS keeps no trash (fs.trash.interval is 0)",
                    ),
                    (Gone::To(url), Trash::NeverEmptied) => {
                        (url, " now; nobody empties that folder but you")
                    }
                    (Gone::To(url), _) => (url, " now"),
                };
                let sentence = format!("the output that was there before is {became}{why}");
                told.tell(JobNews::Notice(sentence)).await;
            }
            Ok(None) => {}
            Err(error) => {
                ended.code = error.exit().code();
                ended.sentence = format!(
                    "the output is complete, and in {}: it could not take the place of {}: {error}",
                    self.new.url(),
                    self.old.url()
                );
            }
        }
        ended
    }

    /// Finishes what a run before has left undone, which was cut off when its output was complete: that gets its name.
    /// What was done, a sentence.
    ///
    /// # Errors
    /// Something is in the way that is not the output of a job; as [`Storage::rename`].
    pub async fn finish_earlier(&self) -> Result<Option<String>, MapReduceError> {
        let limit = Instant::now() + SWAP;
        while self.storage.stat(&self.new.path).await?.is_some() {
            if Instant::now() < limit {
                // Its client may be just about to rename it.
                sleep(LOOK).await;
                continue;
            }
            let success = format!("{}/_SUCCESS", self.new.path);
            if self.storage.stat(&success).await?.is_none() {
                return Err(MapReduceError::Asked(format!(
                    "--overwrite: {} is in the way and has no _SUCCESS, so that it is not the whole output of a job: \
                     rename it, or remove it",
                    self.new.url()
                )));
            }
            let _gone = self.replace().await?;
            return Ok(Some(format!(
                "a run before was cut off when its output was complete: {} is {} now",
                self.new.url(),
                self.old.url()
            )));
        }
        Ok(None)
    }

    /// The new one gets the name. What has become of the old one, if there was one.
    ///
    /// The old one is put away only when the new one has found the name taken, and comes back where the new one is gone
    /// meanwhile: another client has given it the name, and what has that is no old output.
    #[inline(never)]
    fn replace(&self) -> Replaced<'_> {
        Box::pin(async move {
            let mut aside = None;
            for _ in 0..TRIES {
                match self.storage.rename(&self.new.path, &self.old.path).await {
                    Ok(()) => {
                        return match aside {
                            Some(aside) => self.let_go(aside).await.map(Some),
                            None => Ok(None),
                        };
                    }
                    // Or another job, which may overwrite it as well, has ended in between: its output makes place, too.
                    Err(StorageError::Exists { .. }) => {
                        if let Some(before) = aside.take() {
                            self.let_go(before).await?;
                        }
                        aside = self.put_aside().await?;
                    }
                    Err(error) => {
                        if let Some(aside) = aside {
                            self.storage.rename(&aside, &self.old.path).await?;
                        }
                        return Err(error.into());
                    }
                }
            }
            Err(MapReduceError::Asked(format!(
                "{} is made anew again and again",
                self.old.url()
            )))
        })
    }

    /// Where the old output is now: in the trash, or beside its place, where there is none. `None`: there was nothing.
    async fn put_aside(&self) -> Result<Option<String>, MapReduceError> {
        match self.kept {
            Trash::Off => {
                let aside = format!("{}.old-{}", self.new.path, now_ms());
                match self.storage.rename(&self.old.path, &aside).await {
                    Ok(()) => Ok(Some(aside)),
                    Err(_) if self.storage.stat(&self.old.path).await?.is_none() => Ok(None),
                    Err(error) => Err(error.into()),
                }
            }
            Trash::Emptied | Trash::NeverEmptied => {
                put_away(&self.storage, &self.trash, &self.old).await
            }
        }
    }

    /// What becomes of an old output that is aside.
    async fn let_go(&self, aside: String) -> Result<Gone, MapReduceError> {
        match self.kept {
            Trash::Off => {
                self.storage.remove(&aside).await?;
                Ok(Gone::Removed)
            }
            Trash::Emptied | Trash::NeverEmptied => Ok(Gone::To(self.old.address.url(&aside))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;

    use storage::{Address, Storage};

    use super::Overwrite;
    use crate::places::Location;
    use crate::trash::{Gone, Trash};

    fn overwrite(folder: &Path, kept: Trash) -> Overwrite {
        let at = |name: &str| Location {
            address: Address::Shared,
            path: format!("{}/{name}", folder.display()),
        };
        Overwrite {
            storage: Arc::new(Storage::open(&Address::Shared).unwrap()),
            old: at("out"),
            new: at("_out.new"),
            trash: at("trash").path,
            kept,
        }
    }

    fn outputs(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<String> = names
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name != "trash")
            .collect();
        names.sort();
        names
    }

    /// A client that slept while another one finished what it had left.
    #[tokio::test]
    async fn an_output_that_has_its_name_already_is_no_old_one() {
        for kept in [Trash::Off, Trash::NeverEmptied] {
            let folder = tempfile::tempdir().unwrap();
            let make = |name: &str, text: &str| {
                let path = folder.path().join(name);
                fs::create_dir(&path).unwrap();
                fs::write(path.join("part"), text).unwrap();
            };
            let read = || fs::read_to_string(folder.path().join("out/part")).unwrap();
            let overwrite = overwrite(folder.path(), kept);
            make("out", "old");
            make("_out.new", "new");
            let gone = overwrite.replace().await.unwrap();
            assert!(
                matches!(
                    (kept, gone),
                    (Trash::Off, Some(Gone::Removed)) | (Trash::NeverEmptied, Some(Gone::To(_)))
                ),
                "{kept:?}"
            );
            assert_eq!(
                (read().as_str(), outputs(folder.path())),
                ("new", vec!["out".to_owned()])
            );
            // There is no new one any more.
            assert!(overwrite.replace().await.is_err());
            assert_eq!(
                (read().as_str(), outputs(folder.path())),
                ("new", vec!["out".to_owned()])
            );
        }
    }
}
