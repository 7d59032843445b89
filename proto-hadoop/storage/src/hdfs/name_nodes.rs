//! The NameNodes of a nameservice, and which of them is asked first.
//!
//! hdfs-native goes on to the next NameNode when one refuses the connection or is on standby, and waits without end for one
//! whose machine is off, or whose process is frozen. So there is a client for each order of a nameservice's NameNodes, and
//! the one that is used is the one of which something has answered last.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hdfs_native::{Client, HdfsError};
use tokio::time::timeout;

use super::calls;

/// A NameNode that answers nothing for so long is not the one to begin with, where there is another.
const FIRST: Duration = Duration::from_secs(3);
/// Which NameNodes a nameservice has, by their ids; the address of each; and whether each client shuffles them.
const IDS: &str = "dfs.ha.namenodes.";
const ADDRESS: &str = "dfs.namenode.rpc-address.";
const SHUFFLED: &str = "dfs.client.failover.random.order.";

/// Nameservices of this process of which another NameNode than the first has answered, and in which order that is first:
/// each client of them begins with it.
static ANSWERED: Mutex<Vec<(String, usize)>> = Mutex::new(Vec::new());

/// Clients of one NameNode or nameservice.
#[derive(Debug)]
pub(super) struct NameNodes {
    /// `hdfs://NAMESERVICE`.
    of: String,
    /// One for each order; never empty.
    first: Client,
    others: Vec<Client>,
    /// The one that is used: 0 is the first.
    used: AtomicUsize,
}

impl NameNodes {
    /// Makes each with `client` out of its settings.
    pub(super) fn new(
        of: &str,
        settings: &[(String, String)],
        client: impl Fn(Vec<(String, String)>) -> Result<Client, HdfsError>,
    ) -> Result<Self, HdfsError> {
        let others = (1..count(settings)).map(|turn| client(rotated(settings, turn)));
        Ok(Self {
            first: client(rotated(settings, 0))?,
            others: others.collect::<Result<_, _>>()?,
            used: AtomicUsize::new(answered(of, None)),
            of: of.to_owned(),
        })
    }

    /// The client that is used; where `is_sure` is not known of it, the first of which anything answers from now on.
    pub(super) async fn client(&self, is_sure: bool) -> &Client {
        if !is_sure {
            let used = self.used.load(Ordering::Relaxed);
            let count = self.others.len() + 1;
            for turn in 0..self.others.len() {
                let at = (used + turn) % count;
                let asked = calls::get_file_info(self.at(at), "/");
                if timeout(FIRST, asked).await.is_ok() {
                    return self.begin_with(at);
                }
            }
            // The one that is left is asked in vain, or not.
            return self.begin_with((used + self.others.len()) % count);
        }
        self.used()
    }

    /// The client of which something has answered last.
    pub(super) fn used(&self) -> &Client {
        self.at(self.used.load(Ordering::Relaxed))
    }

    /// Whether another takes over where one fails.
    pub(super) const fn are_several(&self) -> bool {
        !self.others.is_empty()
    }

    fn begin_with(&self, turn: usize) -> &Client {
        if self.used.swap(turn, Ordering::Relaxed) != turn {
            answered(&self.of, Some(turn));
        }
        self.at(turn)
    }

    fn at(&self, turn: usize) -> &Client {
        match turn.checked_sub(1) {
            None => &self.first,
            Some(other) => self.others.get(other).unwrap_or(&self.first),
        }
    }
}

/// In which order of a nameservice's NameNodes the one that answers is first, after `now` is known.
fn answered(of: &str, now: Option<usize>) -> usize {
    let mut all = ANSWERED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(now) = now {
        all.retain(|(before, _)| before != of);
        all.push((of.to_owned(), now));
    }
    let mut of_it = all.iter().filter(|(before, _)| before == of);
    of_it.next().map_or(0, |(_, turn)| *turn)
}

/// How many NameNodes the settings name for their nameservice; 1 where they name none.
fn count(settings: &[(String, String)]) -> usize {
    let ids = settings.iter().filter(|(key, _)| key.starts_with(IDS));
    let counts = ids.map(|(_, ids)| ids.split(',').count());
    counts.max().unwrap_or(1)
}

/// What is said of a nameservice behind its name: where its NameNodes are; nothing of a single one.
pub(super) fn addresses(settings: &[(String, String)]) -> String {
    let named = settings.iter();
    let named = named.filter(|(key, _)| key.starts_with(ADDRESS));
    let named: Vec<&str> = named.map(|(_, address)| address.as_str()).collect();
    match named.is_empty() {
        true => String::new(),
        false => format!(" (its NameNodes: {})", named.join(", ")),
    }
}

/// The settings with another NameNode first.
fn rotated(settings: &[(String, String)], turn: usize) -> Vec<(String, String)> {
    let of = |(key, value): &(String, String)| {
        let value = match () {
            () if key.starts_with(IDS) => {
                let mut ids: Vec<&str> = value.split(',').collect();
                let turn = turn % ids.len().max(1);
                ids.rotate_left(turn);
                ids.join(",")
            }
            () if key.starts_with(SHUFFLED) => "false".to_owned(),
            () => value.clone(),
        };
        (key.clone(), value)
    };
    settings.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_namenode_is_first_in_one_order() {
        let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let settings = [
            set("dfs.replication", "2"),
            set("dfs.ha.namenodes.ns", "a,b,c"),
            set("dfs.client.failover.random.order.ns", "true"),
        ];
        assert_eq!(count(&settings), 3);
        let orders: Vec<String> = (0..3)
            .filter_map(|turn| Some(rotated(&settings, turn).get(1)?.1.clone()))
            .collect();
        assert_eq!(orders, ["a,b,c", "b,c,a", "c,a,b"]);
        let named = [
            set("dfs.namenode.rpc-address.ns.a", "a:8020"),
            set("dfs.namenode.rpc-address.ns.b", "b:8020"),
        ];
        assert_eq!(addresses(&named), " (its NameNodes: a:8020, b:8020)");
        assert_eq!(addresses(&settings), "");
        let unchanged = rotated(&settings, 1);
        assert_eq!(unchanged.first(), settings.first());
        assert_eq!(unchanged.get(2).unwrap().1, "false");
        assert_eq!(count(&[set("dfs.replication", "2")]), 1);
    }
}
