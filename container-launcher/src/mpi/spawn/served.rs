//! Spawns of ranks that speak PMIx: their container's server is to know the new group before its ranks start.

use std::path::Path;

use job::exit::Exit;
use job::wire::mpi_event::Event;
use job::wire::{Group, KeyValue, RanksStarted, Refusal, SpawnCommand, SpawnRequest};

use crate::container::OwnContainer;
use crate::life::RankOutbox;
use crate::mpi::Mpi;
use crate::mpi::pmix::PmixServer;
use crate::node_facts;

/// A rank of a program of Open MPI calls it, whose library says where it stands itself, in place of a folder that the
/// program has not named: below `folder`, that means the same place in every container. What `server` has told the rank of
/// this container is not told to processes of another.
pub(in crate::mpi) fn ask_pmix_spawn(
    rank: u32,
    call: u64,
    mut commands: Vec<SpawnCommand>,
    (folder, server): (&Path, &PmixServer),
    outbox: &RankOutbox,
) {
    for command in &mut commands {
        below(&mut command.infos, folder);
        let is_own = |pair: &KeyValue| server.has_suggested(&pair.key, &pair.value);
        command.environment.retain(|pair| !is_own(pair));
    }
    outbox.push_back(Event::Spawn(SpawnRequest {
        rank,
        commands,
        preputs: Vec::new(),
        call,
    }));
}

/// A folder below the job's is named as it is called from there; the job's own is not named.
fn below(infos: &mut Vec<KeyValue>, folder: &Path) {
    infos.retain_mut(|info| {
        let below = match info.key == "wdir" {
            true => Path::new(&info.value).strip_prefix(folder).ok(),
            false => None,
        };
        if let Some(below) = below.map(|below| below.to_string_lossy().into_owned()) {
            info.value = below;
        }
        !info.value.is_empty()
    });
}

impl Mpi {
    /// The PMIx server serves a group.
    pub(in crate::mpi) async fn start_served(
        &mut self,
        group: u32,
        container: &mut OwnContainer<'_>,
    ) {
        match self.unserved.remove(&group) {
            Some(group) if group.parts.is_empty() => {
                let started = RanksStarted {
                    at_us: 0,
                    group: group.group,
                    streams: 0,
                };
                self.outbox.push_back(Event::Started(started));
            }
            Some(group) => self.run_group(group, container).await,
            // It was not to be started everywhere.
            None => {}
        }
    }

    /// The PMIx server cannot serve a group.
    pub(in crate::mpi) fn not_served(&mut self, group: u32, why: &str) {
        if self.unserved.remove(&group).is_some() {
            self.outbox.push_back(Event::Refusal(Refusal {
                sentence: format!(
                    "{}: the PMIx server cannot serve them: {why}",
                    node_facts::hostname()
                ),
                exit_code: i32::from(Exit::Lost.code()),
                group,
            }));
        }
    }
}

/// The application number of each rank of a group, by rank.
pub(super) fn appnums(group: &Group) -> Vec<u32> {
    let commands = group.processes.iter().zip(0_u32..);
    let ranks = commands.flat_map(|(&count, appnum)| {
        std::iter::repeat_n(appnum, usize::try_from(count).unwrap_or(usize::MAX))
    });
    let size = usize::try_from(group.size).unwrap_or(usize::MAX);
    ranks.take(size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_of_a_group_has_the_number_of_its_command() {
        let group = Group {
            size: 5,
            processes: vec![2, 0, 3],
            ..Group::default()
        };
        assert_eq!(appnums(&group), [0, 0, 2, 2, 2]);
    }

    #[test]
    fn a_folder_of_the_job_is_the_same_in_each_container() {
        let named = |folder: &str| {
            let mut infos = vec![KeyValue {
                key: "wdir".to_owned(),
                value: folder.to_owned(),
            }];
            below(&mut infos, Path::new("/container/job"));
            infos.pop().map(|info| info.value)
        };
        assert_eq!(named("/container/job"), None);
        assert_eq!(named("/container/job/sub").as_deref(), Some("sub"));
        assert_eq!(named("/home/alice").as_deref(), Some("/home/alice"));
    }
}
