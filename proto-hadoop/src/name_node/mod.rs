//! HDFS's NameNode, as far as it tells where files lie.

mod blocks;
mod locations;

pub use blocks::{Block, DataNode, FileBlocks, PlainBlock};
use blocks::{is_open, is_readable, path_of};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
pub use locations::Locations;

use crate::rpc::Idempotence::Idempotent;
use crate::rpc::{CallError, Channel, Login, Timing};
use crate::wire::hdfs::hdfs_file_status_proto::FileType;
use crate::wire::{Incomplete, hdfs};

const PROTOCOL: &str = "org.apache.hadoop.hdfs.protocol.ClientProtocol";

/// To read, among what may be done with a file.
const READ: u32 = 4;
/// The NameNode's exceptions by which it says that a user may not read a file, or that there is none.
const REFUSALS: [&str; 2] = ["AccessControlException", "FileNotFoundException"];
/// Files that the NameNode is asked about at a time.
const ASKED: usize = 16;

/// What a listing has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListingEntry {
    /// A file; or a link, of which no blocks are told.
    File(FileBlocks),
    /// A folder, its absolute path.
    Folder(String),
}

/// Speaks for one user to the NameNode, whichever of its addresses is the active one.
#[derive(Debug)]
pub struct NameNodeClient {
    channel: Channel,
    user: String,
}

impl NameNodeClient {
    /// A client that believes to be `user` on a cluster without Kerberos. Connects at the first call.
    /// `addresses` are `host:port`.
    #[must_use]
    pub fn new(addresses: Vec<String>, user: &str) -> Self {
        Self {
            channel: Channel::new(PROTOCOL, addresses, Login::User(user.to_owned())),
            user: user.to_owned(),
        }
    }

    /// Sets the deadlines.
    #[must_use]
    pub fn with_timing(self, timing: Timing) -> Self {
        Self {
            channel: self.channel.with_timing(timing),
            ..self
        }
    }

    /// Where a file lies, or all files below a folder: at most `most` entries are looked at. `None`:
    /// there is nothing of that name.
    ///
    /// # Errors
    /// The server's own exception, or what went wrong on the way.
    pub async fn locations(&self, path: &str, most: usize) -> Result<Option<Locations>, CallError> {
        let mut found = Locations::default();
        let mut folders = vec![path.to_owned()];
        let mut seen = 0;
        while let Some(folder) = folders.pop() {
            let mut after = bytes::Bytes::new();
            loop {
                let listing = self.listing(&folder, after).await?;
                let Some(listing) = listing else {
                    // One that goes while the others are looked at is no loss.
                    match folder == path && seen == 0 {
                        true => return Ok(None),
                        false => break,
                    }
                };
                let last = listing.partial_listing.last();
                after = last.map(|entry| entry.path.clone()).unwrap_or_default();
                for entry in listing.partial_listing {
                    seen += 1;
                    if seen > most {
                        found.is_partial = true;
                        return Ok(Some(found));
                    }
                    match entry.file_type() {
                        FileType::IsDir => {
                            let name = String::from_utf8_lossy(&entry.path);
                            folders.push(format!("{}/{name}", folder.trim_end_matches('/')));
                        }
                        FileType::IsFile => found.add(entry),
                        FileType::IsSymlink => {}
                    }
                }
                if listing.remaining_entries == 0 || after.is_empty() {
                    break;
                }
            }
        }
        Ok(Some(found))
    }

    /// The blocks of a file, or of each file of a folder, though not of those in folders below it: at most
    /// `most` entries are looked at, a thousand by one call. `None`: there is nothing of that name.
    ///
    /// # Errors
    /// The server's own exception, or what went wrong on the way.
    pub async fn blocks(
        &self,
        path: &str,
        most: usize,
    ) -> Result<Option<Vec<FileBlocks>>, CallError> {
        let listed = self.list(path, most).await?;
        let files = |entry| match entry {
            ListingEntry::File(file) => Some(file),
            ListingEntry::Folder(_) => None,
        };
        Ok(listed.map(|all| all.into_iter().filter_map(files).collect()))
    }

    /// What a folder has, by name, and where each file of it lies; of a file that one itself: at most `most` entries
    /// are looked at, a thousand by one call. `None`: there is nothing of that name.
    ///
    /// # Errors
    /// The server's own exception, or what went wrong on the way.
    pub async fn list(
        &self,
        path: &str,
        most: usize,
    ) -> Result<Option<Vec<ListingEntry>>, CallError> {
        let path = match path.trim_end_matches('/') {
            "" => "/",
            path => path,
        };
        let (mut found, mut after) = (Vec::new(), bytes::Bytes::new());
        while let Some(listing) = self.listing(path, after).await? {
            let last = listing.partial_listing.last();
            after = last.map(|entry| entry.path.clone()).unwrap_or_default();
            let left = most.saturating_sub(found.len());
            let is_cut = listing.partial_listing.len() > left;
            let entries = listing.partial_listing.into_iter().take(left);
            let entries = stream::iter(entries).map(|entry| self.entry(path, entry));
            found.append(&mut entries.buffered(ASKED).try_collect().await?);
            if is_cut {
                return Ok(Some(found));
            }
            if listing.remaining_entries == 0 || after.is_empty() {
                return Ok(Some(found));
            }
        }
        // A folder that goes while it is listed is gone.
        Ok(None)
    }

    /// After how many minutes the NameNode empties the trash; 0: never.
    ///
    /// # Errors
    /// The server's own exception, or what went wrong on the way.
    pub async fn trash_minutes(&self) -> Result<u64, CallError> {
        let request = hdfs::GetServerDefaultsRequestProto {};
        let minutes = |answer: hdfs::GetServerDefaultsResponseProto| {
            Ok::<_, Incomplete>(answer.server_defaults.trash_interval())
        };
        self.channel
            .call("getServerDefaults", Idempotent, &request, minutes)
            .await
    }

    /// An entry of the listing of `listed`, as [`Self::list`] tells it.
    async fn entry(
        &self,
        listed: &str,
        entry: hdfs::HdfsFileStatusProto,
    ) -> Result<ListingEntry, CallError> {
        let is_folder = entry.file_type() == FileType::IsDir;
        let is_readable = is_readable(&entry, &self.user)
            || (is_open(&entry) && self.may_read(listed, &entry).await?);
        let file = FileBlocks::of(listed, entry, is_readable);
        Ok(match is_folder {
            true => ListingEntry::Folder(file.path),
            false => ListingEntry::File(file),
        })
    }

    /// Whether the NameNode lets the user read an entry of the listing of `listed`. It is asked about files with a writer
    /// alone: a reader opens others at the NameNode, which refuses it there, and reads these from their DataNodes, which
    /// refuse no user.
    async fn may_read(
        &self,
        listed: &str,
        entry: &hdfs::HdfsFileStatusProto,
    ) -> Result<bool, CallError> {
        let request = hdfs::CheckAccessRequestProto {
            path: path_of(listed, entry),
            mode: READ,
        };
        let plain = |_: hdfs::CheckAccessResponseProto| Ok::<_, Incomplete>(());
        let called = self
            .channel
            .call("checkAccess", Idempotent, &request, plain);
        match called.await {
            Ok(()) => Ok(true),
            // It may not; or the file has gone since it was listed.
            Err(error @ CallError::Remote { .. })
                if REFUSALS.iter().any(|class| error.is(class)) =>
            {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    async fn listing(
        &self,
        path: &str,
        after: bytes::Bytes,
    ) -> Result<Option<hdfs::DirectoryListingProto>, CallError> {
        let request = hdfs::GetListingRequestProto {
            src: path.to_owned(),
            start_after: after,
            need_location: true,
        };
        let plain = |answer: hdfs::GetListingResponseProto| Ok::<_, Incomplete>(answer.dir_list);
        self.channel
            .call("getListing", Idempotent, &request, plain)
            .await
    }
}

#[cfg(test)]
mod tests;
