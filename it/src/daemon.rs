//! The daemons of a cluster.

use std::fmt;

/// One daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Daemon {
    /// Where two ResourceManagers agree who is the active one.
    ZooKeeper,
    /// YARN's master.
    ResourceManager,
    /// The second of two, of which one is active.
    SecondResourceManager,
    /// HDFS's master.
    NameNode,
    /// The one that stores HDFS's blocks.
    DataNode,
    /// One on a node, counted from 0, in its stead.
    DataNodeOf(usize),
    /// The NodeManager of a node, counted from 0.
    NodeManager(usize),
}

impl Daemon {
    /// The class that Java starts.
    #[must_use]
    pub fn class(self) -> &'static str {
        match self {
            Self::ZooKeeper => "org.apache.zookeeper.server.ZooKeeperServerMain",
            Self::ResourceManager | Self::SecondResourceManager => {
                "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"
            }
            Self::NameNode => "org.apache.hadoop.hdfs.server.namenode.NameNode",
            Self::DataNode | Self::DataNodeOf(_) => {
                "org.apache.hadoop.hdfs.server.datanode.DataNode"
            }
            Self::NodeManager(_) => "org.apache.hadoop.yarn.server.nodemanager.NodeManager",
        }
    }

    /// Whether it belongs to HDFS.
    #[must_use]
    pub fn is_hdfs(self) -> bool {
        matches!(self, Self::NameNode | Self::DataNode | Self::DataNodeOf(_))
    }
}

/// `zk`, `rm`, `rm2`, `nn`, `dn` or `dn1`, `dn2`, …, `nm1`, `nm2`, …: also the name of its folder.
impl fmt::Display for Daemon {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZooKeeper => formatter.write_str("zk"),
            Self::ResourceManager => formatter.write_str("rm"),
            Self::SecondResourceManager => formatter.write_str("rm2"),
            Self::NameNode => formatter.write_str("nn"),
            Self::DataNode => formatter.write_str("dn"),
            Self::DataNodeOf(index) => write!(formatter, "dn{}", index + 1),
            Self::NodeManager(index) => write!(formatter, "nm{}", index + 1),
        }
    }
}
