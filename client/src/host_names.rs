//! Which node a host's name means.
//!
//! The node that registered exactly this name; else the only one whose name is the same in short, as
//! `n1` and `n1.example.org` are; else the one whose address it resolves to. The last asks the name
//! service, for both sides, and only where it has to.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use tokio::net::lookup_host;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

/// For one name; a name service tries several servers.
const LOOK_UP: Duration = Duration::from_secs(5);
/// For all names together.
const LOOK_UP_ALL: Duration = Duration::from_secs(20);
/// Names that are looked up at the same time: each holds a thread.
const AT_ONCE: usize = 64;
/// Names that an error lists.
const LISTED: usize = 3;

/// No node, or not one alone, goes by this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NameError {
    #[error("no node of the cluster goes by the name of {name}")]
    Unknown { name: String },
    #[error("{name} could be any of {}; write one of these names in full", hosts.join(", "))]
    Ambiguous { name: String, hosts: Vec<String> },
}

/// The hosts of a cluster, each as its node registered it.
#[derive(Debug)]
pub(crate) struct Hosts<'a> {
    all: BTreeSet<&'a str>,
    /// By name in lower case, whole.
    whole: BTreeMap<String, Vec<&'a str>>,
    /// By name in lower case, in short.
    short: BTreeMap<String, Vec<&'a str>>,
}

impl<'a> Hosts<'a> {
    pub(crate) fn new(hosts: impl IntoIterator<Item = &'a str>) -> Self {
        let all: BTreeSet<&str> = sort::set(hosts);
        let (mut whole, mut by_short) = (BTreeMap::new(), BTreeMap::new());
        for host in &all {
            let name = host.to_ascii_lowercase();
            if let Some(short) = short(&name) {
                let entry: &mut Vec<&str> = by_short.entry(short.to_owned()).or_default();
                entry.push(host);
            }
            let entry: &mut Vec<&str> = whole.entry(name).or_default();
            entry.push(host);
        }
        Self {
            all,
            whole,
            short: by_short,
        }
    }

    /// The host that each of `names` means, as its node registered it, in the order of `names`.
    pub(crate) async fn find(&self, names: &[&str]) -> Vec<Result<String, NameError>> {
        let mut found: Vec<_> = names.iter().map(|name| self.by_name(name)).collect();
        let unknown = names.iter().zip(&found);
        let unknown: BTreeSet<&str> = unknown
            .filter(|(_, found)| matches!(found, Err(NameError::Unknown { .. })))
            .map(|(name, _)| *name)
            .collect();
        if unknown.is_empty() {
            return found;
        }
        let deadline = Instant::now() + LOOK_UP_ALL;
        let wanted = addresses(unknown, deadline).await;
        if wanted.is_empty() {
            return found;
        }
        let nodes = by_address(addresses(self.all.iter().copied(), deadline).await);
        for (name, found) in names.iter().zip(&mut found) {
            let addresses = wanted.get(*name);
            if let (Err(NameError::Unknown { .. }), Some(addresses)) = (&*found, addresses)
                && let Some(by_address) = with_one_of(name, addresses, &nodes)
            {
                *found = by_address;
            }
        }
        found
    }

    /// Without a name service.
    pub(crate) fn by_name(&self, name: &str) -> Result<String, NameError> {
        if self.all.contains(name) {
            return Ok(name.to_owned());
        }
        let lower = name.to_ascii_lowercase();
        let whole = self.whole.get(&lower);
        // Two whole names that differ only behind the first dot are two hosts.
        let in_short = || {
            let named = self.short.get(short(&lower)?)?;
            let is_short = |name: &str| !name.contains('.');
            let fits = |host: &&&str| is_short(&lower) || is_short(host);
            Some(named.iter().filter(fits).copied().collect::<Vec<&str>>())
        };
        let hosts = whole.cloned().or_else(in_short).unwrap_or_default();
        let unknown = || NameError::Unknown {
            name: name.to_owned(),
        };
        one(name, &hosts).unwrap_or_else(|| Err(unknown()))
    }

    /// The error in one sentence, with names that help. Looks at every host.
    pub(crate) fn sentence(&self, error: &NameError) -> String {
        match error {
            NameError::Unknown { name } => format!("{error}; {}", self.hint(name)),
            NameError::Ambiguous { .. } => error.to_string(),
        }
    }

    /// The names that look most like `name`, or some of those there are.
    fn hint(&self, name: &str) -> String {
        let lower = &name.to_ascii_lowercase();
        let distance = |host: &str| {
            let host = host.to_ascii_lowercase();
            let whole = strsim::damerau_levenshtein(lower, &host);
            match short(&host) {
                Some(short) => whole.min(strsim::damerau_levenshtein(lower, short)),
                None => whole,
            }
        };
        let allowed = (lower.chars().count() / 3).max(1);
        let mut near: Vec<(usize, &str)> = self
            .all
            .iter()
            .map(|host| (distance(host), *host))
            .filter(|(distance, _)| *distance <= allowed)
            .collect();
        near.sort_unstable();
        near.truncate(LISTED);
        let near: Vec<&str> = near.into_iter().map(|(_, host)| host).collect();
        if !near.is_empty() {
            return format!("did you mean {}?", near.join(" or "));
        }
        let some: Vec<&str> = self.all.iter().take(LISTED).copied().collect();
        match self.all.len().saturating_sub(LISTED) {
            _ if some.is_empty() => "it has none".into(),
            0 => format!("there are {}", some.join(", ")),
            more => format!("there are {} and {more} more", some.join(", ")),
        }
    }
}

/// `None` where `hosts` is empty.
fn one(name: &str, hosts: &[&str]) -> Option<Result<String, NameError>> {
    match hosts {
        [] => None,
        [host] => Some(Ok((*host).to_owned())),
        several => Some(Err(NameError::Ambiguous {
            name: name.to_owned(),
            hosts: several
                .iter()
                .take(LISTED)
                .map(ToString::to_string)
                .collect(),
        })),
    }
}

/// A name up to its first dot; an address has none.
fn short(name: &str) -> Option<&str> {
    if name.parse::<IpAddr>().is_ok() {
        return None;
    }
    name.split('.').next().filter(|short| !short.is_empty())
}

/// The hosts of each address.
fn by_address(found: BTreeMap<String, BTreeSet<IpAddr>>) -> BTreeMap<IpAddr, BTreeSet<String>> {
    let mut hosts: BTreeMap<IpAddr, BTreeSet<String>> = BTreeMap::new();
    for (host, addresses) in found {
        for address in addresses {
            hosts.entry(address).or_default().insert(host.clone());
        }
    }
    hosts
}

/// The node that has one of `addresses`.
fn with_one_of(
    name: &str,
    addresses: &BTreeSet<IpAddr>,
    nodes: &BTreeMap<IpAddr, BTreeSet<String>>,
) -> Option<Result<String, NameError>> {
    let nodes = addresses.iter().filter_map(|address| nodes.get(address));
    let hosts: BTreeSet<&str> = sort::set(nodes.flatten().map(String::as_str));
    one(name, &hosts.into_iter().collect::<Vec<_>>())
}

/// The addresses of those of `names` that have any, as far as they come by `deadline`.
async fn addresses<'n>(
    names: impl IntoIterator<Item = &'n str>,
    deadline: Instant,
) -> BTreeMap<String, BTreeSet<IpAddr>> {
    let mut names = names.into_iter();
    let mut running = JoinSet::new();
    let mut found = BTreeMap::new();
    loop {
        while running.len() < AT_ONCE {
            let Some(name) = names.next() else { break };
            running.spawn(address(name.to_owned()));
        }
        match timeout_at(deadline, running.join_next()).await {
            Ok(Some(Ok((name, addresses)))) if !addresses.is_empty() => {
                found.insert(name, addresses);
            }
            Ok(Some(Ok(_) | Err(_))) => {}
            Ok(None) | Err(_) => return found,
        }
    }
}

async fn address(name: String) -> (String, BTreeSet<IpAddr>) {
    let found = match timeout(LOOK_UP, lookup_host((name.as_str(), 0))).await {
        Ok(Ok(found)) => found.map(|address| address.ip()).collect(),
        Ok(Err(_)) | Err(_) => BTreeSet::new(),
    };
    (name, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts() -> Hosts<'static> {
        Hosts::new([
            "n1.a.example",
            "n2.a.example",
            "n2.b.example",
            "N3",
            "gpu-node-1",
            "10.0.0.1",
        ])
    }

    #[test]
    fn a_name_means_the_node_that_has_it() {
        let hosts = hosts();
        for (name, host) in [
            ("n1.a.example", "n1.a.example"),
            ("n1", "n1.a.example"),
            ("N1", "n1.a.example"),
            ("n3", "N3"),
            ("n3.c.example", "N3"),
            ("n2.b.example", "n2.b.example"),
            ("10.0.0.1", "10.0.0.1"),
        ] {
            assert_eq!(hosts.by_name(name), Ok(host.to_owned()), "{name}");
        }
        let ambiguous = hosts.by_name("n2").unwrap_err().to_string();
        assert_eq!(
            ambiguous,
            "n2 could be any of n2.a.example, n2.b.example; write one of these names in full"
        );
        assert!(hosts.by_name("n1.z.example").is_err());
        assert!(hosts.by_name("10").is_err());
    }

    #[test]
    fn an_unknown_name_is_told_its_neighbours() {
        let hosts = hosts();
        let hint = |name: &str| hosts.sentence(&hosts.by_name(name).unwrap_err());
        assert!(hint("gpu-node-2").ends_with("did you mean gpu-node-1?"));
        assert!(hint("n4").contains("did you mean N3 or n1.a.example or n2.a.example?"));
        assert!(
            hint("something-else").ends_with("there are 10.0.0.1, N3, gpu-node-1 and 3 more"),
            "{}",
            hint("something-else")
        );
        let none = Hosts::new([]);
        let sentence = none.sentence(&none.by_name("a").unwrap_err());
        assert!(sentence.ends_with("it has none"), "{sentence}");
    }

    #[tokio::test]
    async fn the_last_way_is_the_address() {
        let hosts = Hosts::new(["127.0.0.1", "n1"]);
        let found = hosts.find(&["localhost", "n1", "no-such.invalid"]).await;
        assert_eq!(found[0], Ok("127.0.0.1".to_owned()));
        assert_eq!(found[1], Ok("n1".to_owned()));
        assert!(matches!(found[2], Err(NameError::Unknown { .. })));
        let two = Hosts::new(["127.0.0.1", "::1", "localhost.localdomain"]);
        assert!(two.find(&["127.0.0.1"]).await[0].is_ok());
    }

    #[test]
    fn two_nodes_on_one_address_are_told_apart_by_name_only() {
        let address: BTreeSet<IpAddr> = ["10.0.0.1".parse().unwrap()].into();
        let nodes = [("a", &address), ("b", &address)]
            .map(|(host, addresses)| (host.to_owned(), addresses.clone()));
        let answer = with_one_of("x", &address, &by_address(nodes.into())).unwrap();
        assert!(matches!(answer, Err(NameError::Ambiguous { .. })));
    }
}
