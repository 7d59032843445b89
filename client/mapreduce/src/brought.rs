//! Files that a job brings to its tasks: looked at with its order, fetched from their file system when it is submitted.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use gerbil_task::BroughtFile;
use staging::{Shipped, StageError, link};
use tempfile::TempDir;
use tokio::fs;

use crate::error::MapReduceError;
use crate::open::take;
use crate::places::{FileSystems, Location};

/// What of a job is brought along, beside its program.
#[derive(Clone, Debug, Default)]
pub struct BroughtFiles {
    /// Files, then archives, that are here.
    pub shipped: [Vec<Shipped>; 2],
    /// Those that are still elsewhere, with their names and whether they are archives.
    far: Vec<(Location, String, bool)>,
    /// Where those lie that were fetched.
    _fetched: Option<Arc<TempDir>>,
}

impl BroughtFiles {
    /// Those of a submission.
    ///
    /// # Errors
    /// One has no name that nodes could give it, or is not there.
    pub async fn of(files: &[BroughtFile], places: &FileSystems) -> Result<Self, MapReduceError> {
        let mut brought = Self::default();
        for file in files {
            let path = PathBuf::from(&file.path);
            let name = file.name.clone();
            if let Some(why) = link::refusal(&name) {
                return Err(StageError::NoLink { path, name, why }.into());
            }
            if !file.here {
                let place = places.find(&file.path)?;
                brought.far.push((place, name, file.unpack));
                continue;
            }
            let there = fs::metadata(&path).await;
            if there.is_err_and(|error| error.kind() == ErrorKind::NotFound) {
                return Err(StageError::NoFile { path }.into());
            }
            brought.add(Shipped { path, name }, file.unpack);
        }
        Ok(brought)
    }

    /// The same, with all of them here.
    ///
    /// # Errors
    /// One cannot be read where it lies, or there is no room for it here.
    pub async fn fetched(mut self, places: &FileSystems) -> Result<Self, MapReduceError> {
        if self.far.is_empty() {
            return Ok(self);
        }
        let folder = TempDir::new().map_err(|source| MapReduceError::System {
            doing: "make a folder for the job's files",
            source,
        })?;
        for (number, (place, name, unpack)) in std::mem::take(&mut self.far).into_iter().enumerate()
        {
            // An archive is known by the ending of its own name.
            let file_name = place.path.rsplit('/').next().unwrap_or_default();
            let path = folder.path().join(number.to_string()).join(file_name);
            take(places, &place, &path).await?;
            self.add(Shipped { path, name }, unpack);
        }
        self._fetched = Some(Arc::new(folder));
        Ok(self)
    }

    fn add(&mut self, file: Shipped, unpack: bool) {
        let [files, archives] = &mut self.shipped;
        if unpack { archives } else { files }.push(file);
    }
}
