//! What whoever has listed a file tells those who read it, so that they need not ask the NameNode.

use std::fmt;
use std::str::FromStr;

/// What is known of a file that is to be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Bytes.
    pub size: u64,
    /// When it was modified last, ms since 1970; 0: not known.
    pub modified_ms: u64,
    /// In the order of the file; not all of them need be known.
    pub blocks: Vec<LocatedBlock>,
}

/// A block that DataNodes give to whoever asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocatedBlock {
    /// Where it begins in its file, bytes.
    pub offset: u64,
    /// Bytes of it that the file has.
    pub length: u64,
    /// Its block pool.
    pub pool: String,
    /// Its number there.
    pub id: u64,
    /// Its generation stamp.
    pub generation: u64,
    /// Those that have it.
    pub nodes: Vec<BlockNode>,
}

/// A DataNode, as it registered, and its rack: "n1.example/10.0.0.1:9866/rack-1".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockNode {
    /// Its name.
    pub host: String,
    /// Its IP address.
    pub address: String,
    /// Where it gives and takes blocks.
    pub port: u16,
    /// Its rack, from a slash on; an empty one is not known.
    pub rack: String,
}

impl fmt::Display for BlockNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/{}:{}{}",
            self.host, self.address, self.port, self.rack
        )
    }
}

/// What was to be a DataNode is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no DataNode")]
pub struct NoBlockNode;

impl FromStr for BlockNode {
    type Err = NoBlockNode;

    fn from_str(text: &str) -> Result<Self, NoBlockNode> {
        let parts = || {
            let (host, rest) = text.split_once('/')?;
            let (rest, rack) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let (address, port) = rest.rsplit_once(':')?;
            Some(Self {
                host: host.to_owned(),
                address: address.to_owned(),
                port: port.parse().ok()?,
                rack: rack.to_owned(),
            })
        };
        parts().ok_or(NoBlockNode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datanode_is_read_as_it_is_written() {
        for (text, address, rack) in [
            ("n1.example/10.0.0.1:9866", "10.0.0.1", ""),
            ("n1/fe80::1:9866", "fe80::1", ""),
            ("n1/10.0.0.1:9866/default-rack", "10.0.0.1", "/default-rack"),
            ("n1/fe80::1:9866/dc:1/rack 2", "fe80::1", "/dc:1/rack 2"),
        ] {
            let node: BlockNode = text.parse().unwrap();
            assert_eq!((node.address.as_str(), node.port), (address, 9866));
            assert_eq!(node.rack, rack);
            assert_eq!(node.to_string(), text);
        }
        for text in [
            "",
            "n1",
            "n1/10.0.0.1",
            "n1/10.0.0.1:99999",
            "10.0.0.1:9866",
        ] {
            assert_eq!(text.parse::<BlockNode>(), Err(NoBlockNode), "{text}");
        }
    }
}
