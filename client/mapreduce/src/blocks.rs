//! Which hosts have what part of the input.

use std::collections::BTreeMap;

use follow::timeout::call_timing;
use gerbil_task::Piece;
use proto_hadoop::{DataNode, FileBlocks, NameNodeClient};
use storage::{Address, parent};

use crate::input::InputFile;
use crate::places::FileSystems;

/// Entries of a folder whose places are asked for at most; those behind them are as good as anywhere.
const MOST: usize = 1_000_000;
/// Hosts that a split names.
const HOSTS: usize = 3;

/// The blocks of files, by the whole names of these.
pub type Blocks = BTreeMap<String, FileBlocks>;

/// Where the files lie, as far as it was told when they were listed, or their file systems tell: a thousand of a folder
/// are told at once. What is not told is no error, since a split may run anywhere.
pub async fn blocks(places: &FileSystems, files: &[InputFile]) -> Blocks {
    let mut folders: BTreeMap<(&Address, &str), Vec<&InputFile>> = BTreeMap::new();
    let mut known = Blocks::new();
    for file in files {
        let place = &file.place;
        if let Some(blocks) = &file.blocks {
            known.insert(place.url(), blocks.clone());
            continue;
        }
        let folder = (&place.address, parent(&place.path));
        folders.entry(folder).or_default().push(file);
    }
    for ((address, folder), wanted) in folders {
        let Some(client) = places.name_node(address) else {
            continue;
        };
        let path = match wanted.as_slice() {
            [one] => &one.place.path,
            _ => folder,
        };
        let Ok(Some(told)) = client.blocks(path, MOST).await else {
            continue;
        };
        let mut told: BTreeMap<String, FileBlocks> = told
            .into_iter()
            .map(|file| (file.path.clone(), file))
            .collect();
        for file in wanted {
            if let Some(blocks) = told.remove(&file.place.path) {
                known.insert(file.place.url(), blocks);
            }
        }
    }
    known
}

/// What asks the NameNodes of a file system; `None`: it has none.
pub(crate) fn name_node(address: &Address) -> Option<NameNodeClient> {
    let Address::Hdfs {
        connect,
        user,
        settings,
        ..
    } = address
    else {
        return None;
    };
    let authority = connect.trim_start_matches("hdfs://");
    let prefix = format!("dfs.namenode.rpc-address.{authority}.");
    let of_service = settings.iter().filter(|(key, _)| key.starts_with(&prefix));
    let mut addresses: Vec<String> = of_service.map(|(_, value)| value.clone()).collect();
    if addresses.is_empty() {
        addresses.push(authority.to_owned());
    }
    let timing = call_timing(addresses.len());
    Some(NameNodeClient::new(addresses, user).with_timing(timing))
}

/// The hosts that have most of these pieces, best first; of those that have as much by name. Each is called by its
/// name and by its address: NodeManagers may have registered by either.
#[must_use]
pub fn hosts(pieces: &[Piece], known: &Blocks) -> Vec<String> {
    let mut held: BTreeMap<&DataNode, u64> = BTreeMap::new();
    for piece in pieces {
        let Some(file) = known.get(&piece.name) else {
            continue;
        };
        for (node, bytes) in file.held(piece.offset, piece.length) {
            let sum = held.entry(node).or_default();
            *sum = sum.saturating_add(bytes);
        }
    }
    let mut held: Vec<(&DataNode, u64)> = held.into_iter().collect();
    sort::by(&mut held, |one, other| {
        other.1.cmp(&one.1).then(one.0.cmp(other.0))
    });
    let best = held.into_iter().take(HOSTS);
    best.flat_map(|(node, _)| names(node)).collect()
}

/// Names under which a machine may be known; what each machine calls itself is none.
fn names(node: &DataNode) -> Vec<String> {
    let mut names = Vec::from([node.host.clone(), node.address.clone()]);
    names.dedup();
    names.retain(|name| !name.is_empty() && name != "localhost");
    names
}

#[cfg(test)]
mod tests {
    use gerbil_task::Piece;
    use proto_hadoop::{Block, DataNode, FileBlocks};

    use super::{Blocks, hosts, names};

    #[test]
    fn the_hosts_with_most_bytes_are_best() {
        let node = |host: &str| DataNode {
            host: host.into(),
            address: String::new(),
        };
        let block = |offset, length, nodes: &[&str]| Block {
            offset,
            length,
            nodes: nodes.iter().map(|host| node(host)).collect(),
            plain: None,
        };
        let file = FileBlocks {
            path: "/f".into(),
            size: 250,
            modified_ms: 0,
            is_open: false,
            blocks: vec![
                block(0, 100, &["a", "b"]),
                block(100, 100, &["c", "b"]),
                block(200, 50, &["d", "e"]),
            ],
        };
        let known = Blocks::from([("f".to_owned(), file)]);
        let piece = |offset, length| Piece {
            name: "f".into(),
            offset,
            length,
            size: 250,
        };
        assert_eq!(hosts(&[piece(0, 100)], &known), ["a", "b"]);
        assert_eq!(hosts(&[piece(50, 150)], &known), ["b", "c", "a"]);
        assert_eq!(
            hosts(&[piece(0, 10), piece(200, 50)], &known),
            ["d", "e", "a"]
        );
        assert!(hosts(&[], &known).is_empty());
    }

    #[test]
    fn a_host_has_its_name_and_its_address() {
        let named = |host: &str, address: &str| {
            names(&DataNode {
                host: host.into(),
                address: address.into(),
            })
        };
        assert_eq!(named("a.b", "10.0.0.1"), ["a.b", "10.0.0.1"]);
        assert_eq!(named("10.0.0.1", "10.0.0.1"), ["10.0.0.1"]);
        assert_eq!(named("localhost", "127.0.0.2"), ["127.0.0.2"]);
    }
}
