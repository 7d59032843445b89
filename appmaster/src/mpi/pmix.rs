//! What the PMIx servers of a job's containers tell each other, which only they can read.

use std::collections::{BTreeMap, BTreeSet};

use job::wire;
use policy::ContainerId;
use policy::lifecycle::Seat;
use prost::bytes::Bytes;
use thiserror::Error;

/// Most that all fences which are open may hold, bytes.
const BYTES_MAX: usize = 64 << 20;
/// Most that may be open at once: a rank is in one, or in few if it waits for none of them.
const OPEN_MAX: usize = 4096;
const MIB: usize = 1 << 20;

/// Why a fence cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FenceError {
    TooLarge(TooLarge),
    Confused(Confused),
}

/// The ranks want to tell each other too much.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("MPI_Init: {mib} MiB of addresses; the limit is {} MiB", BYTES_MAX / MIB)]
pub(crate) struct TooLarge {
    /// How much it would be, rounded up.
    mib: usize,
}

/// A launcher said what cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum Confused {
    #[error("it entered a fence in which none of its ranks is")]
    Stranger,
    #[error("it entered a fence twice")]
    Twice,
    #[error("more than {OPEN_MAX} fences are open at once")]
    Many,
}

/// The fences of a group that wait for containers, by their ranks; none: all.
#[derive(Debug, Default)]
pub(crate) struct Fences {
    open: BTreeMap<Vec<u32>, BTreeMap<ContainerId, Bytes>>,
    bytes: usize,
}

impl Fences {
    /// A container is in a fence of `ranks`, which are in the containers `members`. Once all are: what each has told,
    /// in the order of `members`.
    ///
    /// # Errors
    ///
    /// See [`FenceError`].
    pub(crate) fn on(
        &mut self,
        container: &ContainerId,
        ranks: &[u32],
        data: Bytes,
        members: &[ContainerId],
    ) -> Result<Option<Vec<Bytes>>, FenceError> {
        let confused = |confused| Err(FenceError::Confused(confused));
        if !members.contains(container) {
            return confused(Confused::Stranger);
        }
        let bytes = self.bytes.saturating_add(data.len());
        if bytes > BYTES_MAX {
            let mib = bytes.div_ceil(MIB);
            return Err(FenceError::TooLarge(TooLarge { mib }));
        }
        let is_new = !self.open.contains_key(ranks);
        if is_new && self.open.len() >= OPEN_MAX {
            return confused(Confused::Many);
        }
        let told = self.open.entry(ranks.to_vec()).or_default();
        if told.contains_key(container) {
            return confused(Confused::Twice);
        }
        told.insert(container.clone(), data);
        self.bytes = bytes;
        if !members.iter().all(|member| told.contains_key(member)) {
            return Ok(None);
        }
        let mut told = self.open.remove(ranks).unwrap_or_default();
        let all: Vec<Bytes> = members
            .iter()
            .filter_map(|member| told.remove(member))
            .collect();
        let gone = all.iter().map(Bytes::len).fold(0, usize::saturating_add);
        self.bytes = self.bytes.saturating_sub(gone);
        Ok(Some(all))
    }
}

/// The containers of a run as PMIx knows them: nodes, each with a name that no other has.
pub(crate) fn nodes(seats: &[Seat]) -> Vec<wire::PmixNode> {
    let mut taken: BTreeSet<String> = sort::set(seats.iter().map(|seat| seat.host.clone()));
    let mut last: BTreeMap<&str, u32> = BTreeMap::new();
    let mut nodes = Vec::with_capacity(seats.len());
    for seat in seats {
        let name = match last.get_mut(&*seat.host) {
            None => {
                last.insert(&seat.host, 1);
                seat.host.clone()
            }
            Some(number) => loop {
                *number = number.saturating_add(1);
                let name = format!("{}_{number}", seat.host);
                if taken.insert(name.clone()) {
                    break name;
                }
            },
        };
        let ranks = seat.ranks.iter().map(|rank| rank.0).collect();
        nodes.push(wire::PmixNode { name, ranks });
    }
    nodes
}

#[cfg(test)]
mod tests {
    use policy::{NodeId, Rank, Resources};

    use super::*;

    fn id(name: &str) -> ContainerId {
        ContainerId(name.into())
    }

    fn bytes(of: &[&'static str]) -> Vec<Bytes> {
        of.iter()
            .map(|text| Bytes::from_static(text.as_bytes()))
            .collect()
    }

    #[test]
    fn a_fence_is_over_when_all_its_containers_are_in_it() {
        let (a, b, c) = (id("a"), id("b"), id("c"));
        let members = [a.clone(), b.clone(), c.clone()];
        let mut fences = Fences::default();
        let mut enter = |container: &ContainerId, ranks: &[u32], text: &'static str| {
            let members = match ranks {
                [] => &members[..],
                _ => &members[..2],
            };
            fences.on(
                container,
                ranks,
                Bytes::from_static(text.as_bytes()),
                members,
            )
        };
        assert_eq!(enter(&c, &[], "3"), Ok(None));
        assert_eq!(enter(&a, &[], "1"), Ok(None));
        // Others meet in the meantime.
        assert_eq!(enter(&b, &[0, 2], "y"), Ok(None));
        assert_eq!(enter(&a, &[0, 2], "x"), Ok(Some(bytes(&["x", "y"]))));
        assert_eq!(enter(&b, &[], "2"), Ok(Some(bytes(&["1", "2", "3"]))));
        // And the next.
        assert_eq!(enter(&b, &[], ""), Ok(None));
        let twice = FenceError::Confused(Confused::Twice);
        assert_eq!(enter(&b, &[], ""), Err(twice));
        let stranger = FenceError::Confused(Confused::Stranger);
        assert_eq!(enter(&c, &[0, 2], ""), Err(stranger));
    }

    #[test]
    fn what_is_told_has_a_bound_over_all_that_is_open_and_says_so() {
        let members = [id("a"), id("b")];
        let mut fences = Fences::default();
        let most = Bytes::from(vec![0; 40 * MIB]);
        assert_eq!(
            fences.on(&members[0], &[], most.clone(), &members),
            Ok(None)
        );
        let error = fences.on(&members[1], &[], most.clone(), &members);
        let Err(FenceError::TooLarge(error)) = error else {
            panic!("{error:?}");
        };
        let sentence = "MPI_Init: 80 MiB of addresses; the limit is 64 MiB";
        assert_eq!(error.to_string(), sentence);
        // What has gone to all is held no more.
        let done = fences.on(&members[1], &[], Bytes::new(), &members);
        assert!(done.unwrap().is_some());
        assert_eq!(fences.on(&members[1], &[], most, &members), Ok(None));
    }

    #[test]
    fn containers_of_one_host_have_names_of_their_own() {
        let seat = |host: &str, rank: u32| Seat {
            container: id(&rank.to_string()),
            node: NodeId(host.into()),
            host: host.into(),
            ranks: vec![Rank(rank)],
            resources: Resources::default(),
        };
        let hosts = ["n1", "n2", "n1", "n1_3", "n1"];
        let seats: Vec<Seat> = hosts
            .iter()
            .zip(0..)
            .map(|(host, rank)| seat(host, rank))
            .collect();
        let nodes = nodes(&seats);
        let told: Vec<(&str, &[u32])> = nodes
            .iter()
            .map(|node| (node.name.as_str(), &*node.ranks))
            .collect();
        let own: [(&str, &[u32]); 5] = [
            ("n1", &[0]),
            ("n2", &[1]),
            ("n1_2", &[2]),
            ("n1_3", &[3]),
            ("n1_4", &[4]),
        ];
        assert_eq!(told, own);
    }
}
