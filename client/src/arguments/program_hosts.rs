//! Several programs on one command line, each with hosts of its own.

use std::num::NonZeroU32;

use super::ranks::RankMap;
use crate::hostfile::{Host, HostList, in_order};

/// A program's processes and its hosts.
pub(super) type Placed<'a> = (u32, Option<&'a HostList>);

/// One list and the place in it of each rank, if a program behind the first names hosts; what the first alone names counts
/// for all.
///
/// # Errors
/// One sentence: a program names none.
pub(super) fn together(programs: &[Placed<'_>]) -> Result<Option<(HostList, RankMap)>, String> {
    if programs.iter().skip(1).all(|(_, hosts)| hosts.is_none()) {
        return Ok(None);
    }
    let mut all = HostList {
        words: "the hosts of the programs".to_owned(),
        hosts: Vec::new(),
        notes: Vec::new(),
    };
    let mut nodes = Vec::new();
    for (&(processes, own), number) in programs.iter().zip(1..) {
        let Some(own) = own else {
            return Err(format!(
                "program {number} of the line names no hosts; where one behind the first does, each names its own"
            ));
        };
        all.notes.extend(own.notes.iter().cloned());
        let places = own
            .hosts
            .iter()
            .filter_map(|host| NonZeroU32::new(host.places));
        let shares = in_order(&places.collect::<Vec<_>>(), processes);
        for (host, share) in own.hosts.iter().zip(shares).filter(|(_, share)| *share > 0) {
            let known = all.hosts.iter().position(|known| known.name == host.name);
            let place = known.unwrap_or(all.hosts.len());
            match all.hosts.get_mut(place) {
                Some(known) => known.places = known.places.saturating_add(share),
                None => all.hosts.push(Host {
                    places: share,
                    ..host.clone()
                }),
            }
            let place = u32::try_from(place).unwrap_or(u32::MAX);
            nodes.extend((0..share).map(|_| place));
        }
    }
    Ok(Some((all, RankMap(nodes))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hostfile::inline;

    fn together(programs: &[(u32, &str)]) -> Result<Option<(String, Vec<u32>)>, String> {
        let lists: Vec<(u32, Option<HostList>)> = (programs.iter())
            .map(|(processes, hosts)| (*processes, inline(hosts).ok()))
            .collect();
        let placed: Vec<Placed<'_>> = (lists.iter())
            .map(|(processes, hosts)| (*processes, hosts.as_ref()))
            .collect();
        let found = super::together(&placed)?;
        Ok(found.map(|(list, RankMap(nodes))| {
            let hosts = list
                .hosts
                .iter()
                .map(|host| format!("{}:{}", host.name, host.places));
            (hosts.collect::<Vec<_>>().join(","), nodes)
        }))
    }

    #[test]
    fn each_program_runs_on_its_own_hosts() {
        for (programs, hosts, nodes) in [
            (&[(1, "a"), (1, "b")][..], "a:1,b:1", &[0, 1][..]),
            (&[(1, "a"), (2, "b:2"), (1, "a")], "a:2,b:2", &[0, 1, 1, 0]),
            (&[(3, "a,b"), (2, "b")], "a:2,b:3", &[0, 0, 1, 1, 1]),
            (&[(1, "a,b"), (1, "c")], "a:1,c:1", &[0, 1]),
        ] {
            let found = together(programs).unwrap().unwrap();
            assert_eq!(found, (hosts.to_owned(), nodes.to_vec()), "{programs:?}");
        }
        // As it was: the first one's hosts are those of all.
        assert_eq!(together(&[(1, "a"), (1, "")]).unwrap(), None);
        let refused = together(&[(1, ""), (1, "b")]).unwrap_err();
        assert!(
            refused.starts_with("program 1 of the line names no hosts"),
            "{refused}"
        );
    }
}
