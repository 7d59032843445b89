//! HDFS's NameNode, as far as it tells where files lie.

use std::collections::BTreeMap;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::rpc::Idempotence::Idempotent;
use crate::rpc::{CallError, Channel, Login, Timing};
use crate::wire::hdfs::hdfs_file_status_proto::FileType;
use crate::wire::{Incomplete, hdfs};

const PROTOCOL: &str = "org.apache.hadoop.hdfs.protocol.ClientProtocol";

/// An access control list: among the flags, and among the bits of the permission.
const HAS_LIST: u32 = 1;
const OLD_HAS_LIST: u32 = 1 << 12;

/// To read, among what may be done with a file.
const READ: u32 = 4;
/// The NameNode's exceptions by which it says that a user may not read a file, or that there is none.
const REFUSALS: [&str; 2] = ["AccessControlException", "FileNotFoundException"];
/// Files that the NameNode is asked about at a time.
const ASKED: usize = 16;

/// A machine that stores blocks, as it registered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataNode {
    /// Its name.
    pub host: String,
    /// Its address.
    pub address: String,
}

/// Where files lie.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Locations {
    /// Files that were looked at.
    pub files: usize,
    /// Their bytes, each counted once.
    pub bytes: u64,
    /// Bytes of them that each machine has.
    pub held: BTreeMap<DataNode, u64>,
    /// Not all were looked at, since there are too many.
    pub is_partial: bool,
}

/// A file, and where each part of it lies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileBlocks {
    /// Absolute.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// ms since 1970; 0: not told.
    pub modified_ms: u64,
    /// It has a writer. Its DataNodes have at least the bytes of its last block that the NameNode lists.
    pub is_open: bool,
    /// In the order of the file.
    pub blocks: Vec<Block>,
}

/// A part of a file, and who stores it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    /// Where it begins in the file, bytes.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// As the NameNode orders them.
    pub nodes: Vec<DataNode>,
    /// What its DataNodes are asked for it by; `None`: not everybody may read it so, or it is not simply there.
    pub plain: Option<PlainBlock>,
}

/// A block that is as its file has it, and that DataNodes give to whoever asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlainBlock {
    /// Its block pool.
    pub pool: String,
    /// Its number there.
    pub id: u64,
    /// Its generation stamp.
    pub generation: u64,
    /// Where blocks are given, one for each of its DataNodes.
    pub ports: Vec<u16>,
    /// Their racks; an empty one is not known.
    pub racks: Vec<String>,
}

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

impl FileBlocks {
    /// An entry of the listing of `listed`, which the user who asked may read or not.
    fn of(listed: &str, entry: hdfs::HdfsFileStatusProto, is_readable: bool) -> Self {
        let (path, is_open) = (path_of(listed, &entry), is_open(&entry));
        let is_coded = entry.file_encryption_info.is_some() || entry.ec_policy.is_some();
        let located = entry.locations.unwrap_or_default();
        let is_plain = is_readable
            && !is_coded
            && located.file_encryption_info.is_none()
            && located.ec_policy.is_none();
        let blocks = located.blocks.into_iter();
        Self {
            path,
            size: entry.length,
            modified_ms: entry.modification_time.unwrap_or_default(),
            is_open,
            blocks: blocks.map(|block| Block::of(block, is_plain)).collect(),
        }
    }

    /// Bytes by machine of the part of the file that is `length` bytes from `offset` on.
    #[must_use]
    pub fn held(&self, offset: u64, length: u64) -> BTreeMap<&DataNode, u64> {
        let end = offset.saturating_add(length);
        let mut held = BTreeMap::new();
        for block in &self.blocks {
            let begin = block.offset.max(offset);
            let bytes = (block.offset.saturating_add(block.length).min(end)).saturating_sub(begin);
            if bytes > 0 {
                for node in &block.nodes {
                    let sum: &mut u64 = held.entry(node).or_default();
                    *sum = sum.saturating_add(bytes);
                }
            }
        }
        held
    }
}

/// The path of an entry of the listing of `listed`: that of a file which is itself has no name.
fn path_of(listed: &str, entry: &hdfs::HdfsFileStatusProto) -> String {
    let name = String::from_utf8_lossy(&entry.path);
    match name.is_empty() {
        true => listed.to_owned(),
        false => format!("{}/{name}", listed.trim_end_matches('/')),
    }
}

/// Whether a file has a writer.
fn is_open(entry: &hdfs::HdfsFileStatusProto) -> bool {
    let located = entry.locations.as_ref();
    located.is_some_and(|located| located.under_construction)
}

/// Whether a user is sure to be allowed to read a file: DataNodes do not ask. Which groups a user is in only the
/// NameNode knows.
fn is_readable(entry: &hdfs::HdfsFileStatusProto, user: &str) -> bool {
    let allowed = |bits| entry.permission.perm & bits == bits;
    let has_list = entry.flags() & HAS_LIST != 0 || allowed(OLD_HAS_LIST);
    !has_list && (allowed(0o444) || (entry.owner == user && allowed(0o400)))
}

impl Block {
    /// Of a file that is or is not as its blocks are.
    fn of(block: hdfs::LocatedBlockProto, is_plain: bool) -> Self {
        let is_plain = is_plain
            && !block.corrupt
            && block.block_token.identifier.is_empty()
            && block.block_indices.is_none();
        let ports = || {
            let ports = block.locs.iter().map(|place| place.id.xfer_port);
            ports.map(|port| u16::try_from(port).ok()).collect()
        };
        let ports: Option<Vec<u16>> = is_plain.then(ports).flatten();
        let racks = block.locs.iter().map(|place| place.location().to_owned());
        Self {
            offset: block.offset,
            length: block.b.num_bytes(),
            plain: ports.map(|ports| PlainBlock {
                racks: racks.collect(),
                id: block.b.block_id,
                generation: block.b.generation_stamp,
                pool: block.b.pool_id,
                ports,
            }),
            nodes: block.locs.into_iter().map(DataNode::of).collect(),
        }
    }
}

impl DataNode {
    fn of(place: hdfs::DatanodeInfoProto) -> Self {
        Self {
            host: place.id.host_name,
            address: place.id.ip_addr,
        }
    }
}

impl Locations {
    fn add(&mut self, file: hdfs::HdfsFileStatusProto) {
        self.files += 1;
        for block in file.locations.unwrap_or_default().blocks {
            let bytes = block.b.num_bytes();
            self.bytes = self.bytes.saturating_add(bytes);
            for place in block.locs {
                let held = self.held.entry(DataNode::of(place)).or_default();
                *held = held.saturating_add(bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::peers;

    fn file(name: &str, blocks: &[(u64, &[&str])]) -> hdfs::HdfsFileStatusProto {
        let place = |host: &&str| hdfs::DatanodeInfoProto {
            location: Some(format!("/rack-of-{host}")),
            id: hdfs::DatanodeIdProto {
                ip_addr: format!("10.0.0.{}", host.len()),
                host_name: (*host).to_owned(),
                xfer_port: 9866,
            },
        };
        let block = |(bytes, hosts): &(u64, &[&str])| hdfs::LocatedBlockProto {
            b: hdfs::ExtendedBlockProto {
                pool_id: "BP-1".to_owned(),
                block_id: 7,
                generation_stamp: 1001,
                num_bytes: Some(*bytes),
            },
            locs: hosts.iter().map(place).collect(),
            ..hdfs::LocatedBlockProto::default()
        };
        hdfs::HdfsFileStatusProto {
            file_type: FileType::IsFile.into(),
            path: name.as_bytes().to_vec().into(),
            length: blocks.iter().map(|(bytes, _)| bytes).sum(),
            permission: hdfs::FsPermissionProto { perm: 0o640 },
            owner: "alice".to_owned(),
            locations: Some(hdfs::LocatedBlocksProto {
                blocks: blocks.iter().map(block).collect(),
                ..hdfs::LocatedBlocksProto::default()
            }),
            ..hdfs::HdfsFileStatusProto::default()
        }
    }

    fn folder(name: &str) -> hdfs::HdfsFileStatusProto {
        hdfs::HdfsFileStatusProto {
            file_type: FileType::IsDir.into(),
            path: name.as_bytes().to_vec().into(),
            ..hdfs::HdfsFileStatusProto::default()
        }
    }

    #[tokio::test]
    async fn blocks_are_counted_through_folders_and_pages() {
        let (listener, address) = peers::listen().await;
        let server = async {
            let mut peer = peers::accept(&listener).await;
            let mut call = peer.first_call().await;
            let answers = [
                (
                    "/d",
                    "",
                    vec![file("a", &[(5, &["n1", "n22"]), (3, &["n22"])])],
                    1,
                ),
                ("/d", "a", vec![folder("sub")], 0),
                ("/d/sub", "", vec![file("b", &[(2, &["n1"])])], 0),
            ];
            for (index, (path, after, entries, remaining)) in answers.into_iter().enumerate() {
                if index > 0 {
                    call = peer.call().await.unwrap();
                }
                let request: hdfs::GetListingRequestProto =
                    prost::Message::decode(call.parameter.clone()).unwrap();
                assert_eq!((request.src.as_str(), request.need_location), (path, true));
                assert_eq!(request.start_after, after.as_bytes());
                let listing = hdfs::DirectoryListingProto {
                    partial_listing: entries,
                    remaining_entries: remaining,
                };
                let answer = hdfs::GetListingResponseProto {
                    dir_list: Some(listing),
                };
                peer.answer(call.id, &answer).await;
            }
            let call = peer.call().await.unwrap();
            peer.answer(call.id, &hdfs::GetListingResponseProto { dir_list: None })
                .await;
        };
        let client = NameNodeClient::new(vec![address], "alice");
        let asked = async {
            let found = client.locations("/d", 10).await.unwrap().unwrap();
            assert_eq!((found.files, found.bytes, found.is_partial), (2, 10, false));
            let held: Vec<_> = found
                .held
                .iter()
                .map(|(n, b)| (n.host.as_str(), *b))
                .collect();
            assert_eq!(held, [("n1", 7), ("n22", 8)]);
            assert_eq!(client.locations("/none", 10).await.unwrap(), None);
        };
        tokio::join!(server, asked);
    }

    #[tokio::test]
    async fn blocks_of_a_file_and_of_the_files_of_a_folder() {
        let (listener, address) = peers::listen().await;
        let two: &[(u64, &[&str])] = &[(5, &["n1", "n22"]), (3, &["n22"])];
        let server = async {
            let mut peer = peers::accept(&listener).await;
            let mut call = peer.first_call().await;
            let mut itself = file("", two);
            if let Some(blocks) = &mut itself.locations {
                blocks.blocks[1].offset = 5;
            }
            let answers = [
                ("/d/a", "", vec![itself], 0),
                ("/d", "", vec![file("a", two)], 1),
                ("/d", "a", vec![folder("sub"), file("b", &[])], 0),
            ];
            for (index, (path, after, entries, remaining)) in answers.into_iter().enumerate() {
                if index > 0 {
                    call = peer.call().await.unwrap();
                }
                let request: hdfs::GetListingRequestProto =
                    prost::Message::decode(call.parameter.clone()).unwrap();
                assert_eq!((request.src.as_str(), request.need_location), (path, true));
                assert_eq!(request.start_after, after.as_bytes());
                let listing = hdfs::DirectoryListingProto {
                    partial_listing: entries,
                    remaining_entries: remaining,
                };
                let answer = hdfs::GetListingResponseProto {
                    dir_list: Some(listing),
                };
                peer.answer(call.id, &answer).await;
            }
            let call = peer.call().await.unwrap();
            peer.answer(call.id, &hdfs::GetListingResponseProto { dir_list: None })
                .await;
        };
        let client = NameNodeClient::new(vec![address], "alice");
        let asked = async {
            let found = client.blocks("/d/a", 10).await.unwrap().unwrap();
            let [file] = &found[..] else {
                panic!("{found:?}");
            };
            assert_eq!((file.path.as_str(), file.size), ("/d/a", 8));
            assert_eq!(file.blocks[0].nodes.len(), 2);
            let held = |offset, length| -> Vec<(String, u64)> {
                let held = file.held(offset, length).into_iter();
                held.map(|(node, bytes)| (node.host.clone(), bytes))
                    .collect()
            };
            let all = [("n1".to_owned(), 4), ("n22".to_owned(), 6)];
            assert_eq!(held(1, 6), all);
            assert_eq!(held(5, u64::MAX), [("n22".to_owned(), 3)]);
            assert_eq!(held(8, 1), []);
            let found = client.blocks("/d/", 10).await.unwrap().unwrap();
            let names: Vec<_> = found
                .iter()
                .map(|file| (file.path.as_str(), file.size))
                .collect();
            assert_eq!(names, [("/d/a", 8), ("/d/b", 0)]);
            assert_eq!(client.blocks("/none", 10).await.unwrap(), None);
        };
        tokio::join!(server, asked);
    }

    #[test]
    fn a_block_is_plain_unless_anything_of_it_or_its_file_is_not() {
        let plain = |change: fn(&mut hdfs::HdfsFileStatusProto)| {
            let mut entry = file("f", &[(5, &["n1", "n22"])]);
            change(&mut entry);
            let is_readable = is_readable(&entry, "alice");
            let file = FileBlocks::of("/d", entry, is_readable);
            file.blocks.into_iter().next().unwrap().plain
        };
        let whole = PlainBlock {
            pool: "BP-1".to_owned(),
            id: 7,
            generation: 1001,
            ports: vec![9866, 9866],
            racks: vec!["/rack-of-n1".to_owned(), "/rack-of-n22".to_owned()],
        };
        assert_eq!(plain(|_| ()), Some(whole));
        // What was flushed to it is there.
        assert!(plain(|entry| located(entry).under_construction = true).is_some());
        let other: fn(&mut hdfs::HdfsFileStatusProto) = |entry| {
            entry.owner = "bob".to_owned();
            entry.permission.perm = 0o1444;
        };
        assert!(plain(other).is_some());
        let changes: [fn(&mut hdfs::HdfsFileStatusProto); 11] = [
            |entry| entry.owner = "bob".to_owned(),
            |entry| entry.permission.perm = 0o244,
            |entry| entry.permission.perm |= 1 << 12,
            |entry| entry.flags = Some(1),
            |entry| entry.file_encryption_info = Some(bytes::Bytes::new()),
            |entry| entry.ec_policy = Some(bytes::Bytes::new()),
            |entry| located(entry).ec_policy = Some(bytes::Bytes::new()),
            |entry| located(entry).blocks[0].corrupt = true,
            |entry| located(entry).blocks[0].block_token.identifier = "t".into(),
            |entry| located(entry).blocks[0].block_indices = Some(bytes::Bytes::new()),
            |entry| located(entry).blocks[0].locs[1].id.xfer_port = 1 << 16,
        ];
        for change in changes {
            assert_eq!(plain(change), None);
        }
    }

    /// DataNodes would give it to any user.
    #[tokio::test]
    async fn a_file_with_a_writer_is_read_by_whom_the_namenode_lets_read_it() {
        let (listener, address) = peers::listen().await;
        let server = async {
            let mut peer = peers::accept(&listener).await;
            let call = peer.first_call().await;
            let of_bob = |name: &str, is_open: bool| {
                let mut entry = file(name, &[(5, &["n1"])]);
                entry.owner = "bob".to_owned();
                located(&mut entry).under_construction = is_open;
                entry
            };
            let listing = hdfs::DirectoryListingProto {
                partial_listing: vec![
                    of_bob("closed", false),
                    of_bob("granted", true),
                    of_bob("kept", true),
                    of_bob("gone", true),
                ],
                remaining_entries: 0,
            };
            let answer = hdfs::GetListingResponseProto {
                dir_list: Some(listing),
            };
            peer.answer(call.id, &answer).await;
            // All are asked about before one is answered.
            let mut calls = Vec::new();
            for path in ["/d/granted", "/d/kept", "/d/gone"] {
                let call = peer.call().await.unwrap();
                assert_eq!(call.method, "checkAccess");
                let request: hdfs::CheckAccessRequestProto =
                    prost::Message::decode(call.parameter.clone()).unwrap();
                assert_eq!((request.path.as_str(), request.mode), (path, 4));
                calls.push(call.id);
            }
            for (id, class) in calls.into_iter().rev().zip([
                "java.io.FileNotFoundException",
                "org.apache.hadoop.security.AccessControlException",
                "",
            ]) {
                match class {
                    "" => peer.answer(id, &hdfs::CheckAccessResponseProto {}).await,
                    class => peer.error(id, class, "Permission denied").await,
                }
            }
            // No answer to that is no refusal.
            let call = peer.call().await.unwrap();
            let listing = hdfs::DirectoryListingProto {
                partial_listing: vec![of_bob("unknown", true)],
                remaining_entries: 0,
            };
            let answer = hdfs::GetListingResponseProto {
                dir_list: Some(listing),
            };
            peer.answer(call.id, &answer).await;
            let call = peer.call().await.unwrap();
            let class = "org.apache.hadoop.ipc.RpcNoSuchMethodException";
            peer.error(call.id, class, "Unknown method").await;
        };
        let client = NameNodeClient::new(vec![address], "alice");
        let asked = async {
            let found = client.blocks("/d", 10).await.unwrap().unwrap();
            let found: Vec<_> = found
                .iter()
                .map(|file| {
                    (
                        file.path.as_str(),
                        file.is_open,
                        file.blocks[0].plain.is_some(),
                    )
                })
                .collect();
            let expected = [
                ("/d/closed", false, false),
                ("/d/granted", true, true),
                ("/d/kept", true, false),
                ("/d/gone", true, false),
            ];
            assert_eq!(found, expected);
            let error = client.blocks("/d", 10).await.unwrap_err();
            assert!(error.is("RpcNoSuchMethodException"), "{error}");
        };
        tokio::join!(server, asked);
    }

    fn located(entry: &mut hdfs::HdfsFileStatusProto) -> &mut hdfs::LocatedBlocksProto {
        entry.locations.as_mut().unwrap()
    }
}
