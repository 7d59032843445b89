//! HDFS's NameNode, as far as it tells where files lie.

use std::collections::BTreeMap;

use crate::rpc::Idempotence::Idempotent;
use crate::rpc::{CallError, Channel, Login, Timing};
use crate::wire::hdfs::hdfs_file_status_proto::FileType;
use crate::wire::{Incomplete, hdfs};

const PROTOCOL: &str = "org.apache.hadoop.hdfs.protocol.ClientProtocol";

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

/// Speaks for one user to the NameNode, whichever of its addresses is the active one.
#[derive(Debug)]
pub struct NameNodeClient {
    channel: Channel,
}

impl NameNodeClient {
    /// A client that believes to be `user` on a cluster without Kerberos. Connects at the first call.
    /// `addresses` are `host:port`.
    #[must_use]
    pub fn new(addresses: Vec<String>, user: &str) -> Self {
        Self {
            channel: Channel::new(PROTOCOL, addresses, Login::User(user.to_owned())),
        }
    }

    /// Sets the deadlines.
    #[must_use]
    pub fn with_timing(self, timing: Timing) -> Self {
        Self {
            channel: self.channel.with_timing(timing),
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

impl Locations {
    fn add(&mut self, file: hdfs::HdfsFileStatusProto) {
        self.files += 1;
        for block in file.locations.unwrap_or_default().blocks {
            let bytes = block.b.num_bytes();
            self.bytes = self.bytes.saturating_add(bytes);
            for place in block.locs {
                let node = DataNode {
                    host: place.id.host_name,
                    address: place.id.ip_addr,
                };
                let held = self.held.entry(node).or_default();
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
            id: hdfs::DatanodeIdProto {
                ip_addr: format!("10.0.0.{}", host.len()),
                host_name: (*host).to_owned(),
            },
        };
        let block = |(bytes, hosts): &(u64, &[&str])| hdfs::LocatedBlockProto {
            b: hdfs::ExtendedBlockProto {
                num_bytes: Some(*bytes),
                ..hdfs::ExtendedBlockProto::default()
            },
            offset: 0,
            locs: hosts.iter().map(place).collect(),
        };
        hdfs::HdfsFileStatusProto {
            file_type: FileType::IsFile.into(),
            path: name.as_bytes().to_vec().into(),
            length: blocks.iter().map(|(bytes, _)| bytes).sum(),
            locations: Some(hdfs::LocatedBlocksProto {
                file_length: 0,
                blocks: blocks.iter().map(block).collect(),
            }),
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
}
