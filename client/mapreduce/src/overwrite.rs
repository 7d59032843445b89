//! A new output in the place of an old one.
//!
//! The job writes beside the old output, into `_NAME.new`; when it is committed there, with its `_SUCCESS`, the old
//! one goes to the user's trash, as Hadoop's shell puts it there, or is removed where HDFS has no trash
//! (`fs.trash.interval` 0), and the new one gets its name. So whoever reads the output sees all of the old one, nothing, or all of the new one; and a job that fails leaves the old one as it was.
//! A command that is cut off between the two renames leaves the new one where it is, which the next one says.

use std::sync::Arc;

use follow::ended::Ended;
use follow::follower::tasks::JobNews;
use storage::{Storage, parent};
use tokio::sync::mpsc;

use crate::error::MapReduceError;
use crate::places::{FileSystems, Location};
use crate::trash::{Gone, Trash, is_in, put_away};

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
    /// It is no folder that could be put away; a new one is beside it already.
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
        if storage.stat(&new.path).await?.is_some() {
            return Err(MapReduceError::Asked(format!(
                "--overwrite: {} is there, the output of a run that was cut off before it took the place of {}: \
                 rename it, or remove it",
                new.url(),
                old.url()
            )));
        }
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
    pub async fn conclude(
        &self,
        mut ended: Ended,
        job: u32,
        told: mpsc::Sender<(u32, JobNews)>,
    ) -> Ended {
        if ended.code != 0 {
            return ended;
        }
        match self.replace().await {
            Ok(Some(gone)) => {
                let sentence = match (gone, self.kept) {
                    (Gone::Removed, _) => {
                        "the output that was there before is removed: HDFS keeps no trash (fs.trash.interval is 0)"
                            .to_owned()
                    }
                    (Gone::To(url), Trash::NeverEmptied) => {
                        format!("the output that was there before is {url} now; nobody empties that folder but you")
                    }
                    (Gone::To(url), _) => format!("the output that was there before is {url} now"),
                };
                // Whoever shows it may have gone.
                let _shown = told.send((job, JobNews::Notice(sentence))).await.is_ok();
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

    /// What has become of the old one, if it was still there.
    async fn replace(&self) -> Result<Option<Gone>, MapReduceError> {
        let gone = match self.kept {
            Trash::Off => {
                let was_there = self.storage.remove_found(&self.old.path).await?;
                was_there.then_some(Gone::Removed)
            }
            Trash::Emptied | Trash::NeverEmptied => {
                let put = put_away(&self.storage, &self.trash, &self.old).await?;
                put.map(Gone::To)
            }
        };
        self.storage.rename(&self.new.path, &self.old.path).await?;
        Ok(gone)
    }
}
