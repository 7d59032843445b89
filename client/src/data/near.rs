//! `--near`: which nodes have how much of the files that the processes will read.

use std::collections::BTreeMap;

use follow::timeout::call_timing;
use proto_hadoop::{DataNode, NameNodeClient};
use storage::Address;
use terminal::say;

use super::{DataError, Located, locate};
use crate::cluster::Cluster;
use crate::host_names::Hosts;

const OPTION: &str = "--near";
/// Files and folders of one name that are looked at; the blocks of some tell enough of all.
const ENTRIES_MAX: usize = 100_000;

/// What the processes are to be near.
#[derive(Clone, Debug)]
pub(crate) struct Near {
    places: Vec<Located>,
}

impl Near {
    /// Finds the places. Asks nobody.
    pub(crate) fn new(urls: &[String], cluster: &Cluster) -> Result<Option<Self>, DataError> {
        let places = urls.iter().map(|url| {
            let located = locate(OPTION, url, cluster)?;
            match located.address {
                Address::Hdfs { .. } => Ok(located),
                Address::Shared => Err(DataError::NotOnHdfs { url: url.clone() }),
            }
        });
        let places: Vec<Located> = places.collect::<Result<Vec<_>, DataError>>()?;
        Ok((!places.is_empty()).then_some(Self { places }))
    }

    /// Asks the NameNodes, and finds the nodes among `hosts`.
    pub(crate) async fn find<'a>(
        &self,
        hosts: impl Iterator<Item = &'a str>,
    ) -> Result<policy::Near, DataError> {
        let mut held: BTreeMap<DataNode, u64> = BTreeMap::new();
        for place in &self.places {
            let url = place.url();
            let (addresses, user) = name_nodes(&place.address);
            let timing = call_timing(addresses.len());
            let client = NameNodeClient::new(addresses, user).with_timing(timing);
            let found = client.locations(&place.path, ENTRIES_MAX).await;
            let found = found.map_err(|source| DataError::NameNode {
                url: url.clone(),
                source: Box::new(source),
            })?;
            let found = found.ok_or_else(|| DataError::NothingNear { url: url.clone() })?;
            if found.is_partial {
                say(format!(
                    "{OPTION}: {url} has very many files, of which the first {} were looked at",
                    found.files
                ));
            }
            for (node, bytes) in found.held {
                let sum = held.entry(node).or_default();
                *sum = sum.saturating_add(bytes);
            }
        }
        let of: Vec<String> = self.places.iter().map(Located::url).collect();
        let of = of.join(" and ");
        let hosts = Hosts::new(hosts);
        let near = policy::Near {
            held: by_node(&held, &hosts).await,
            of,
        };
        if near.held.is_empty() {
            let why = match held.len() {
                0 => "it is empty".to_owned(),
                _ => {
                    let nodes: Vec<&str> =
                        held.keys().take(3).map(|node| node.host.as_str()).collect();
                    format!(
                        "it lies on {}, none of which is a node of YARN",
                        nodes.join(", ")
                    )
                }
            };
            say(format!("{OPTION} {} changes nothing: {why}", near.of));
        }
        Ok(near)
    }
}

/// The nodes that run on machines which store blocks: by name, else by address.
async fn by_node(held: &BTreeMap<DataNode, u64>, hosts: &Hosts<'_>) -> BTreeMap<String, u64> {
    let names: Vec<&str> = held.keys().map(|node| node.host.as_str()).collect();
    let found = hosts.find(&names).await;
    let mut near: BTreeMap<String, u64> = BTreeMap::new();
    for ((node, bytes), found) in held.iter().zip(found) {
        if let Ok(host) = found.or_else(|_| hosts.by_name(&node.address)) {
            let sum = near.entry(host).or_default();
            *sum = sum.saturating_add(*bytes);
        }
    }
    near
}

/// The NameNodes of a file system, and who asks.
fn name_nodes(address: &Address) -> (Vec<String>, &str) {
    let Address::Hdfs {
        connect,
        user,
        settings,
        ..
    } = address
    else {
        return (Vec::new(), "");
    };
    let authority = connect.trim_start_matches("hdfs://");
    let prefix = format!("dfs.namenode.rpc-address.{authority}.");
    let of_service = settings.iter().filter(|(key, _)| key.starts_with(&prefix));
    let mut addresses: Vec<String> = of_service.map(|(_, value)| value.clone()).collect();
    if addresses.is_empty() {
        addresses.push(authority.to_owned());
    }
    (addresses, user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_has_several_name_nodes() {
        let address = |connect: &str| Address::Hdfs {
            connect: connect.into(),
            origin: connect.into(),
            user: "alice".into(),
            settings: vec![
                ("dfs.ha.namenodes.ns".into(), "a,b".into()),
                ("dfs.namenode.rpc-address.ns.a".into(), "h1:8020".into()),
                ("dfs.namenode.rpc-address.ns.b".into(), "h2:8020".into()),
            ],
        };
        let service = address("hdfs://ns");
        let both = vec!["h1:8020".to_owned(), "h2:8020".to_owned()];
        assert_eq!(name_nodes(&service), (both, "alice"));
        assert_eq!(name_nodes(&address("hdfs://h3:9000")).0, ["h3:9000"]);
    }

    #[tokio::test]
    async fn a_machine_is_a_node_by_its_name_or_its_address() {
        let node = |host: &str, address: &str| DataNode {
            host: host.into(),
            address: address.into(),
        };
        let held = BTreeMap::from([
            (node("n1.example.org", "10.0.0.1"), 5),
            (node("10.0.0.2.invalid", "10.0.0.2"), 7),
            (node("elsewhere.invalid", "10.0.0.3"), 9),
        ]);
        let hosts = Hosts::new(["n1", "10.0.0.2"]);
        let near = by_node(&held, &hosts).await;
        assert_eq!(
            near,
            BTreeMap::from([("n1".into(), 5), ("10.0.0.2".into(), 7)])
        );
    }
}
