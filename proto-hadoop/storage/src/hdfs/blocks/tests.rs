use std::time::Duration;

use super::data_node::{DataNode, DataNodeFault};
use super::*;

/// The bytes of a block: several packets, and a chunk that is not whole.
fn data() -> Vec<u8> {
    (0..250).collect()
}

fn block(number: u64, nodes: &[&DataNode]) -> LocatedBlock {
    LocatedBlock {
        offset: number * 250,
        length: 250,
        pool: "BP-1".to_owned(),
        id: number,
        generation: 1001,
        nodes: nodes.iter().map(|node| node.node.clone()).collect(),
    }
}

/// That begins with the first DataNode of each block, and does not wait long.
fn blocks(blocks: Vec<LocatedBlock>) -> Blocks {
    Blocks {
        turn: 0,
        limits: Limits {
            connected: Duration::from_secs(10),
            sent: Duration::from_millis(500),
        },
        ..Blocks::new(blocks, DataNodes::default())
    }
}

/// What comes until the end, or until nothing usable does: whether that was the end.
async fn all(mut blocks: Blocks, mut steps: Steps) -> (Vec<u8>, bool) {
    let mut all = Vec::new();
    loop {
        match blocks.next(&mut steps).await {
            Ok(piece) if piece.is_empty() => return (all, true),
            Ok(piece) => all.extend_from_slice(&piece),
            Err(Unusable) => return (all, false),
        }
    }
}

#[tokio::test]
async fn a_part_comes_without_what_surrounds_it() {
    let node = DataNode::start(&data(), DataNodeFault::None).await;
    for (from, end) in [
        (0, 250),
        (1, 249),
        (16, 32),
        (17, 18),
        (100, 250),
        (249, 250),
    ] {
        let steps = Steps::new(from, end);
        let (came, is_whole) = all(blocks(vec![block(0, &[&node])]), steps).await;
        let whole = data();
        let part = &whole[usize::try_from(from).unwrap()..usize::try_from(end).unwrap()];
        assert_eq!((&came[..], is_whole), (part, true), "{from} to {end}");
    }
}

#[tokio::test]
async fn blocks_follow_each_other_and_a_datanode_is_asked_again_over_the_same_connection() {
    let node = DataNode::start(&data(), DataNodeFault::None).await;
    let mut steps = Steps::new(200, 700);
    steps.expected = 260;
    let known = (0..3).map(|number| block(number, &[&node])).collect();
    let (came, is_whole) = all(blocks(known), steps).await;
    let whole = [data(), data(), data()].concat();
    assert_eq!((&came[..], is_whole), (&whole[200..700], true));
    let asked = [(0, 200, 50), (1, 0, 10), (1, 10, 240), (2, 0, 200)];
    assert_eq!((node.asked(), node.taken()), (asked.to_vec(), 1));
}

#[tokio::test]
async fn a_connection_that_was_closed_meanwhile_is_opened_again() {
    let node = DataNode::start(&data(), DataNodeFault::IsAskedOnce).await;
    let known = (0..2).map(|number| block(number, &[&node])).collect();
    let (came, is_whole) = all(blocks(known), Steps::new(0, 500)).await;
    assert_eq!((came, is_whole), ([data(), data()].concat(), true));
    assert_eq!(node.taken(), 2);
}

#[tokio::test]
async fn what_one_datanode_does_not_give_the_next_one_does_from_there_on() {
    let faults = [
        (DataNodeFault::Status(1), 0),
        (DataNodeFault::Kind(1), 0),
        (DataNodeFault::Spoilt(0), 0),
        (DataNodeFault::Spoilt(2), 96),
        (DataNodeFault::Stops(0), 0),
        (DataNodeFault::Stops(3), 144),
        (DataNodeFault::HangsUp(1), 48),
        (DataNodeFault::Long, 0),
    ];
    for (fault, from) in faults {
        let odd = DataNode::start(&data(), fault).await;
        let good = DataNode::start(&data(), DataNodeFault::None).await;
        let known = vec![block(0, &[&odd, &good]), block(1, &[&odd, &good])];
        let (came, is_whole) = all(blocks(known), Steps::new(0, 500)).await;
        assert_eq!(
            (came, is_whole),
            ([data(), data()].concat(), true),
            "{fault:?}"
        );
        // Who gave nothing usable once is not asked for the next block.
        assert_eq!(odd.asked(), [(0, 0, 250)], "{fault:?}");
        let rest = (0, from, 250 - from);
        assert_eq!(good.asked(), [rest, (1, 0, 250)], "{fault:?}");
    }
}

#[tokio::test]
async fn who_refuses_connections_is_passed_over() {
    let good = DataNode::start(&data(), DataNodeFault::None).await;
    let mut known = block(0, &[&good, &good]);
    // Nobody listens there any more.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    known.nodes[0].port = listener.local_addr().unwrap().port();
    drop(listener);
    let (came, is_whole) = all(blocks(vec![known]), Steps::new(0, 250)).await;
    assert_eq!((came, is_whole), (data(), true));
}

#[tokio::test]
async fn where_nobody_has_a_block_it_ends_at_the_byte_reached() {
    let node = DataNode::start(&data(), DataNodeFault::Spoilt(1)).await;
    let (came, is_whole) = all(blocks(vec![block(0, &[&node])]), Steps::new(0, 250)).await;
    assert_eq!((&came[..], is_whole), (&data()[..48], false));
    let node = DataNode::start(&data(), DataNodeFault::None).await;
    // The second block is not known.
    let (came, is_whole) = all(blocks(vec![block(0, &[&node])]), Steps::new(0, 251)).await;
    assert_eq!((came, is_whole), (data(), false));
}

#[test]
fn who_is_on_this_machine_is_asked_first_and_the_others_in_turns() {
    let node = |address: &str| BlockNode {
        host: String::new(),
        address: address.to_owned(),
        port: 9866,
        rack: String::new(),
    };
    // Reserved addresses are nobody's.
    let nodes = ["240.0.0.1", "240.0.0.2", "127.0.0.1", "240.0.0.3", "x"].map(node);
    let order = |turn| -> Vec<&str> {
        in_turn(&nodes, "", turn)
            .into_iter()
            .map(|node| node.address.as_str())
            .collect()
    };
    let from = |first: [&'static str; 5]| first.to_vec();
    assert_eq!(
        order(0),
        from(["127.0.0.1", "240.0.0.1", "240.0.0.2", "240.0.0.3", "x"])
    );
    assert_eq!(
        order(6),
        from(["127.0.0.1", "240.0.0.2", "240.0.0.3", "x", "240.0.0.1"])
    );
    assert!(in_turn(&[], "", 5).is_empty());
}

/// Between racks there is less of the network than in one.
#[test]
fn who_is_in_the_same_rack_is_asked_before_others() {
    let node = |(address, rack): (&str, &str)| BlockNode {
        host: String::new(),
        address: address.to_owned(),
        port: 9866,
        rack: rack.to_owned(),
    };
    let near = ["240.0.0.1", "240.0.0.2", "240.0.0.3", "240.0.0.4"];
    let nodes: Vec<BlockNode> = near
        .into_iter()
        .zip(["/a", "/b", "/a", "/b"])
        .map(node)
        .collect();
    let data_nodes = DataNodes::default();
    let order = |data_nodes: &DataNodes, turn| -> Vec<String> {
        let rack = data_nodes.learn_rack(&nodes);
        let order = in_turn(&nodes, rack, turn).into_iter();
        order.map(|node| node.address[8..].to_owned()).collect()
    };
    // Not known yet.
    assert_eq!(order(&data_nodes, 1), ["2", "3", "4", "1"]);
    // A block that is here tells it, to all readers of the file system.
    let here = [node(("240.0.0.9", "/a")), node(("127.0.0.1", "/b"))];
    assert_eq!(data_nodes.clone().learn_rack(&here), "/b");
    assert_eq!(order(&data_nodes, 0), ["2", "4", "1", "3"]);
    assert_eq!(order(&data_nodes, 2), ["4", "2", "3", "1"]);
}

/// Of a file system whose NameNode does not run.
fn without_name_node(settings: &[(&str, &str)]) -> crate::Storage {
    let connect = "hdfs://127.0.0.1:1".to_owned();
    let settings = settings.iter();
    let settings = settings.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    crate::Storage::open(&crate::Address::Hdfs {
        origin: connect.clone(),
        connect,
        user: "alice".to_owned(),
        settings: settings.collect(),
    })
    .unwrap()
}

/// Of a job's thousand maps each third would wait for it.
#[tokio::test]
async fn who_took_no_connection_is_left_out_by_the_next_reader_too() {
    let node = DataNode::start(&data(), DataNodeFault::None).await;
    // Nobody listens there, and then somebody does.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let mut known = block(0, &[&node, &node]);
    known.nodes[0].port = address.port();
    let data_nodes = DataNodes::default();
    let reader = || Blocks {
        data_nodes: data_nodes.clone(),
        ..blocks(vec![known.clone()])
    };
    assert_eq!(all(reader(), Steps::new(0, 250)).await, (data(), true));
    assert!(data_nodes.is_left_out(&known.nodes[0]));
    assert!(!data_nodes.is_left_out(&known.nodes[1]));
    let back = std::net::TcpListener::bind(address).unwrap();
    back.set_nonblocking(true).unwrap();
    assert_eq!(all(reader(), Steps::new(0, 250)).await, (data(), true));
    assert!(back.accept().is_err(), "it was asked again");
    assert_eq!(node.taken(), 2);
}

#[tokio::test]
async fn a_known_file_is_read_while_no_namenode_runs() {
    let node = DataNode::start(&data(), DataNodeFault::None).await;
    let mut named = block(1, &[&node]);
    let known = crate::Known {
        size: 500,
        modified_ms: 7,
        blocks: vec![block(0, &[&node]), named.clone()],
    };
    let storage = without_name_node(&[]);
    let reader = storage.read_known("/f", (10, 20), known.clone()).await;
    let mut reader = reader.unwrap();
    assert_eq!(reader.size(), 500);
    let mut came = Vec::new();
    loop {
        let piece = reader.next().await.unwrap();
        if piece.is_empty() {
            break;
        }
        came.extend_from_slice(&piece);
    }
    assert_eq!(came, [&data()[10..], &data()].concat());
    // By its name, where that is wanted.
    named.offset = 0;
    named.nodes[0].address = "240.0.0.1".to_owned();
    let known = crate::Known {
        size: 250,
        modified_ms: 0,
        blocks: vec![named],
    };
    let storage = without_name_node(&[("dfs.client.use.datanode.hostname", " true")]);
    let mut reader = storage.read_known("/f", (0, 250), known).await.unwrap();
    assert_eq!(reader.next().await.unwrap(), data()[..48]);
}

#[tokio::test]
async fn where_data_is_protected_or_nothing_is_known_the_namenode_is_asked() {
    let node = DataNode::start(&data(), DataNodeFault::None).await;
    let known = |blocks| crate::Known {
        size: 250,
        modified_ms: 0,
        blocks,
    };
    let cases = [
        (Some(("dfs.encrypt.data.transfer", "true")), true),
        (Some(("dfs.data.transfer.protection", "privacy")), true),
        (None, false),
    ];
    for (setting, is_known) in cases {
        let storage = without_name_node(setting.as_slice());
        let blocks = is_known.then(|| block(0, &[&node])).into_iter().collect();
        let opened = storage.read_known("/f", (0, 250), known(blocks));
        // It does not answer, however long it is waited for.
        let opened = tokio::time::timeout(Duration::from_millis(200), opened).await;
        assert!(!matches!(opened, Ok(Ok(_))), "{setting:?}");
    }
    assert_eq!(node.taken(), 0);
}
