//! Files of the user's that grow while a job runs.

use bytes::Bytes;
use hdfs_native::WriteOptions;
use hdfs_native::file::FileWriter;

use super::{ANSWER, Hdfs, StageError, WRITING};

/// As an umask of 022 leaves them: they are the user's, not ours.
const FOLDER_MODE: u32 = 0o755;
/// See [`FOLDER_MODE`].
const FILE_MODE: u32 = 0o644;

/// A file that is open for writing.
pub struct Growing {
    path: String,
    writer: FileWriter,
}

impl Hdfs {
    /// Makes a folder and those above it.
    ///
    /// # Errors
    ///
    /// What the NameNode says.
    pub async fn make_folder(&self, path: &str) -> Result<(), StageError> {
        let call = self.client.mkdirs(path, FOLDER_MODE, true);
        self.within(ANSWER, "making", path, call).await
    }

    /// Begins a file anew.
    ///
    /// # Errors
    ///
    /// What the NameNode says.
    pub async fn begin(&self, path: &str) -> Result<Growing, StageError> {
        let options = WriteOptions::default()
            .permission(FILE_MODE)
            .overwrite(true);
        let call = self.client.create(path, options);
        let writer = self.within(ANSWER, WRITING, path, call).await?;
        let path = path.to_owned();
        Ok(Growing { path, writer })
    }

    /// Opens a file again that was closed.
    ///
    /// # Errors
    ///
    /// What the NameNode says.
    pub async fn go_on(&self, path: &str) -> Result<Growing, StageError> {
        let call = self.client.append(path);
        let writer = self.within(ANSWER, WRITING, path, call).await?;
        let path = path.to_owned();
        Ok(Growing { path, writer })
    }

    /// Writes at the end of a file.
    ///
    /// # Errors
    ///
    /// What NameNode and DataNodes say.
    pub async fn grow(&self, file: &mut Growing, piece: Bytes) -> Result<(), StageError> {
        let Growing { path, writer } = file;
        let call = Box::pin(writer.write_bytes(piece));
        self.writing(path, call).await.map(drop)
    }

    /// Ends the writing. All of it is there then.
    ///
    /// # Errors
    ///
    /// What NameNode and DataNodes say.
    pub async fn end(&self, mut file: Growing) -> Result<(), StageError> {
        let call = Box::pin(file.writer.close());
        self.writing(&file.path, call).await
    }
}
