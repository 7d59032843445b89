//! `-rm` and `-rmdir`.

use mapreduce_client::trash::Gone;
use storage::StorageError;

use super::entries::FoundPath;
use super::files::Shell;
use crate::failure::Failure;

impl Shell<'_> {
    /// To the trash, unless it `is_final`.
    pub(super) async fn remove(
        &mut self,
        found: &FoundPath,
        is_final: bool,
    ) -> Result<(), Failure> {
        let shown = found.shown(&found.place.path);
        let gone = match is_final {
            true => {
                let was_there = found.storage.remove_found(&found.place.path).await?;
                was_there.then_some(Gone::Removed)
            }
            false => self.places.discard(&found.place).await?,
        };
        match gone {
            Some(Gone::To(url)) => self
                .lines
                .push(format!("Moved: '{shown}' to trash at: {url}")),
            Some(Gone::Removed) => self.lines.push(format!("Deleted {shown}")),
            None => self.failed("rm", &shown, "No such file or directory"),
        }
        Ok(())
    }

    /// A folder that has nothing in it.
    pub(super) async fn remove_folder(&mut self, found: &FoundPath) -> Result<(), Failure> {
        let shown = found.shown(&found.place.path);
        if !found.status.is_folder {
            self.failed("rmdir", &shown, "Is not a directory");
            return Ok(());
        }
        match found.storage.remove_empty(&found.place.path).await {
            Ok(true) => {}
            Ok(false) => self.failed("rmdir", &shown, "No such file or directory"),
            Err(StorageError::Exists { .. }) => {
                self.failed("rmdir", &shown, "Directory is not empty");
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}
