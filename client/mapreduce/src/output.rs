//! Whether a job may write its output where it was asked to.

use storage::{Address, Storage};

use crate::error::MapReduceError;
use crate::overwrite::Overwrite;
use crate::places::{FileSystems, Location};

/// What was found where the output of a job is to be.
pub(crate) struct OutputPlace {
    /// The job writes beside it, and its output takes the place of what is there when it is whole.
    pub overwrite: Option<Overwrite>,
    /// There is nothing where the job writes.
    pub is_new: bool,
}

impl OutputPlace {
    /// Looks there: nothing has the name, or a folder that is to be overwritten, and a folder can be made there.
    pub(crate) async fn of(
        output: &Location,
        places: &FileSystems,
        overwrites: bool,
    ) -> Result<Self, MapReduceError> {
        let storage = places.storage(&output.address)?;
        let url = || output.url();
        if output.path == "/" {
            return Err(MapReduceError::OutputIsRoot { url: url() });
        }
        if matches!(output.address, Address::Hdfs { .. }) && output.path.contains(':') {
            return Err(MapReduceError::OutputHasColon { url: url() });
        }
        match storage.stat(&output.path).await? {
            None => {
                check_above(&storage, output).await?;
                // Without a home folder there is no trash, which is not needed yet.
                let beside = overwrites && places.home(&output.address).is_some();
                Ok(Self {
                    overwrite: match beside {
                        true => Some(Overwrite::new(places, output).await?),
                        false => None,
                    },
                    is_new: !beside,
                })
            }
            Some(status) if !status.is_folder => Err(MapReduceError::OutputIsFile { url: url() }),
            Some(_) if overwrites => Ok(Self {
                overwrite: Some(Overwrite::new(places, output).await?),
                is_new: false,
            }),
            Some(_) => Err(MapReduceError::OutputExists { url: url() }),
        }
    }
}

/// What is nearest above an output that is not there is a folder.
async fn check_above(storage: &Storage, output: &Location) -> Result<(), MapReduceError> {
    let mut path = output.path.as_str();
    while let Some((above, _name)) = path.rsplit_once('/') {
        if above.is_empty() {
            break;
        }
        match storage.stat(above).await? {
            None => path = above,
            Some(status) if status.is_folder => break,
            Some(_) => {
                return Err(MapReduceError::OutputBelowFile {
                    url: output.url(),
                    file: output.address.url(above),
                });
            }
        }
    }
    Ok(())
}
