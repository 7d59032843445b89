//! `-du` and `-count`.

use super::entries::{FoundPath, MOST};
use super::files::Shell;
use crate::failure::Failure;

impl Shell<'_> {
    /// Bytes of each entry, or of all of them, without copies: how many HDFS keeps is not asked.
    pub(super) async fn used(&mut self, found: &FoundPath, is_sum: bool) -> Result<(), Failure> {
        let entries = match found.status.is_folder && !is_sum {
            true => found.storage.list(&found.status.path, MOST).await?,
            false => vec![found.status.clone()],
        };
        for entry in entries {
            let size = match entry.is_folder {
                true => {
                    let files = found.storage.walk(&entry.path, MOST).await?;
                    files.iter().map(|file| file.size).sum()
                }
                false => entry.size,
            };
            self.lines
                .push(format!("{size}  {}", found.shown(&entry.path)));
        }
        Ok(())
    }

    /// Folders, itself among them, files, and their bytes without copies.
    pub(super) async fn count(&mut self, found: &FoundPath) -> Result<(), Failure> {
        let (mut folders, mut files, mut bytes) = (0, 0, 0);
        let mut rest = vec![found.status.clone()];
        while let Some(status) = rest.pop() {
            match status.is_folder {
                true => {
                    folders += 1;
                    rest.extend(found.storage.list(&status.path, MOST).await?);
                }
                false => {
                    files += 1;
                    bytes += status.size;
                }
            }
        }
        let shown = found.shown(&found.place.path);
        // In columns, as there.
        self.lines
            .push(format!("{folders:>12} {files:>12} {bytes:>18} {shown}"));
        Ok(())
    }
}
