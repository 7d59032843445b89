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
