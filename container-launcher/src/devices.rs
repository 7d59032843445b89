//! Devices of the node that processes have for themselves.
//!
//! A container owns some of a node's devices, those of its lease ([`lease`]) or, where nobody counts them,
//! all ([`pool`]). Each process is granted as many as it is to have and returns them when it ends; those of
//! groups that are spawned are granted what is free then, or see none where too few are. Of graphics
//! processors ([`gpus`]) a process is told by the variable of the maker's own libraries.

pub(crate) mod gpus;
mod lease;
mod pool;

use std::path::PathBuf;

pub(crate) use pool::{Grant, Pool};

/// What devices are, and how a process is told of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceKind {
    /// As sentences call several of them.
    plural: &'static str,
    /// The variable in which a process finds the names of its own, with commas between them.
    variable: &'static str,
    /// What this variable says to a process that has none: an empty list would mean all.
    none: &'static str,
    /// A variable and its value, by which the maker's libraries count devices as the node's files are numbered.
    order: Option<(&'static str, &'static str)>,
}

/// The devices of a node that are of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Devices {
    kind: DeviceKind,
    each: Vec<NodeDevice>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NodeDevice {
    /// As the variable names it.
    name: String,
    /// The file that stands for it on the whole node.
    on_node: PathBuf,
}

impl Devices {
    /// What makes the maker's libraries count devices as [`Devices::keys`] numbers them.
    pub(crate) const fn order(&self) -> Option<(&'static str, &'static str)> {
        self.kind.order
    }

    /// Each as `NAME@KEY`: as its maker's libraries name it, and what the whole node calls it, the name of its file.
    pub(crate) fn keys(&self) -> Vec<String> {
        let key = |device: &NodeDevice| {
            let file = device.on_node.file_name().unwrap_or_default();
            format!("{}@{}", device.name, file.to_string_lossy())
        };
        self.each.iter().map(key).collect()
    }
}

#[cfg(test)]
impl Devices {
    /// GPUs with these names, of files in `folder`.
    fn of(folder: &std::path::Path, names: &[&str]) -> Self {
        let device = |name: &&str| NodeDevice {
            name: (*name).to_owned(),
            on_node: folder.join(name),
        };
        Self {
            kind: gpus::Maker::Nvidia.kind(),
            each: names.iter().map(device).collect(),
        }
    }
}
