//! What ranks learn of their job: sizes, who is where, and each rank's place.

use crate::attribute::{Attribute, Value};

/// A node of the job; to PMIx, one container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// A name that no other node of the job has.
    pub name: String,
    /// Its ranks, ascending.
    pub ranks: Vec<u32>,
}

/// A group of ranks with one `MPI_COMM_WORLD`: a job's own, or those of a spawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobData {
    /// A name that no other group of this user's jobs has at the same time.
    pub namespace: String,
    /// 0: the job's own ranks.
    pub group: u32,
    /// Number in the job of its rank 0.
    pub first: u32,
    /// Processes that it may become, those included that it spawns.
    pub universe: u32,
    /// All nodes, which have all ranks from 0 on.
    pub nodes: Vec<Node>,
    /// Which of them this is; there is no such node where it has none of the ranks.
    pub here: usize,
    /// Which program of the job each rank runs, by rank.
    pub programs: Vec<u32>,
    /// More ranks here than cores.
    pub is_crowded: bool,
    /// Of what was spawned: the group of the rank that has done it, and what it is there.
    pub parent: Option<(String, u32)>,
}

impl JobData {
    /// How many ranks it has.
    pub(crate) fn size(&self) -> u32 {
        let ranks = self.nodes.iter().map(|node| node.ranks.len());
        count(ranks.sum())
    }

    /// The ranks that this server serves.
    pub(crate) fn local(&self) -> &[u32] {
        self.nodes.get(self.here).map_or(&[], |node| &node.ranks)
    }

    /// What this node is called.
    pub(crate) fn name(&self) -> &str {
        self.nodes.get(self.here).map_or("", |node| &node.name)
    }

    /// Names of all nodes, as the library wants them for its map.
    pub(crate) fn node_list(&self) -> String {
        let names = self.nodes.iter().map(|node| node.name.as_str());
        names.collect::<Vec<_>>().join(",")
    }

    /// The ranks of each node, as the library wants them for its map.
    pub(crate) fn rank_lists(&self) -> String {
        let lists = self.nodes.iter().map(|node| list(&node.ranks));
        lists.collect::<Vec<_>>().join(";")
    }

    /// Of the whole job; the maps are [`Self::node_list`] and [`Self::rank_lists`] in the library's own spelling.
    pub(crate) fn attributes(&self, node_map: String, rank_map: String) -> Vec<Attribute> {
        let (size, local) = (self.size(), self.local());
        let here = count(local.len());
        let mut attributes = vec![
            Attribute::text("pmix.jobid", self.namespace.clone()),
            Attribute::number("pmix.univ.size", self.universe.max(size)),
            Attribute::number("pmix.max.size", self.universe.max(size)),
            Attribute::number("pmix.job.size", size),
            Attribute::number("pmix.job.napps", self.program_count()),
            Attribute::number("pmix.num.nodes", count(self.nodes.len())),
            Attribute::number("pmix.local.size", here),
            Attribute::number("pmix.node.size", here),
            Attribute::new("pmix.ndosub", Value::Flag(self.is_crowded)),
            Attribute::new("pmix.spawned", Value::Flag(self.group > 0)),
            Attribute::text("pmix.nmap", node_map),
            Attribute::text("pmix.pmap", rank_map),
        ];
        // Open MPI follows an empty list into nothing.
        if let Some(leader) = local.first() {
            attributes.push(Attribute::text("pmix.lpeers", list(local)));
            attributes.push(Attribute::new("pmix.lldr", Value::Rank(*leader)));
        }
        attributes.extend(self.apps());
        for (number, node) in (0..).zip(&self.nodes) {
            for (local_rank, &rank) in (0..).zip(&node.ranks) {
                let place = self.of_rank(rank, number, node, local_rank);
                attributes.push(Attribute::new("pmix.pdata", Value::Array(place)));
            }
        }
        attributes
    }

    fn of_rank(&self, rank: u32, number: u32, node: &Node, local_rank: u16) -> Vec<Attribute> {
        let program = self.program_of(rank);
        let mut place = vec![
            // The first says whose these are.
            Attribute::new("pmix.rank", Value::Rank(rank)),
            Attribute::new("pmix.grank", Value::Rank(rank)),
            Attribute::new(
                "pmix.apprank",
                Value::Rank(rank.saturating_sub(self.leader(program))),
            ),
            Attribute::number("pmix.appnum", program),
            Attribute::new("pmix.lrank", Value::Short(local_rank)),
            Attribute::new("pmix.nrank", Value::Short(local_rank)),
            Attribute::number("pmix.nodeid", number),
            Attribute::text("pmix.hname", node.name.clone()),
        ];
        // MPICH knows by it what was spawned. Of the whole group the library would not find it.
        if let Some((namespace, rank)) = &self.parent {
            let parent = Value::Proc(namespace.clone(), *rank);
            place.push(Attribute::new("pmix.parent", parent));
        }
        place
    }

    /// Of each program of the job.
    fn apps(&self) -> impl Iterator<Item = Attribute> {
        (0..self.program_count()).map(|program| {
            let size = self.programs.iter().filter(|&&of| of == program).count();
            let about = vec![
                Attribute::number("pmix.appnum", program),
                Attribute::number("pmix.app.size", count(size)),
                Attribute::new("pmix.aldr", Value::Rank(self.leader(program))),
            ];
            Attribute::new("pmix.app.arr", Value::Array(about))
        })
    }

    fn program_of(&self, rank: u32) -> u32 {
        let at = usize::try_from(rank).ok();
        let program = at.and_then(|at| self.programs.get(at));
        program.copied().unwrap_or_default()
    }

    fn program_count(&self) -> u32 {
        self.programs
            .iter()
            .max()
            .map_or(1, |last| last.saturating_add(1))
    }

    /// The first rank that runs a program.
    fn leader(&self, program: u32) -> u32 {
        count(
            self.programs
                .iter()
                .position(|&of| of == program)
                .unwrap_or_default(),
        )
    }
}

/// Ranks with commas between them.
fn list(ranks: &[u32]) -> String {
    let ranks = ranks.iter().map(u32::to_string);
    ranks.collect::<Vec<_>>().join(",")
}

fn count(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> JobData {
        let node = |name: &str, ranks: &[u32]| Node {
            name: name.to_owned(),
            ranks: ranks.to_vec(),
        };
        JobData {
            namespace: "job".to_owned(),
            group: 0,
            first: 0,
            universe: 0,
            nodes: vec![node("a", &[0, 2]), node("b", &[1])],
            here: 0,
            programs: vec![0, 0, 1],
            is_crowded: true,
            parent: None,
        }
    }

    fn value<'a>(attributes: &'a [Attribute], key: &str) -> Option<&'a Value> {
        let found = attributes.iter().find(|attribute| attribute.key == key);
        found.map(|attribute| &attribute.value)
    }

    #[test]
    fn a_job_is_told_with_its_places() {
        let job = job();
        assert_eq!(job.node_list(), "a,b");
        assert_eq!(job.rank_lists(), "0,2;1");
        let told = job.attributes("nodes".to_owned(), "ranks".to_owned());
        for (key, number) in [
            ("pmix.univ.size", 3),
            ("pmix.job.size", 3),
            ("pmix.job.napps", 2),
            ("pmix.num.nodes", 2),
            ("pmix.local.size", 2),
        ] {
            assert_eq!(value(&told, key), Some(&Value::Number(number)), "{key}");
        }
        assert_eq!(
            value(&told, "pmix.lpeers"),
            Some(&Value::Text("0,2".to_owned()))
        );
        assert_eq!(
            value(&told, "pmix.nmap"),
            Some(&Value::Text("nodes".to_owned()))
        );
        assert_eq!(value(&told, "pmix.ndosub"), Some(&Value::Flag(true)));
    }

    #[test]
    fn a_node_without_ranks_of_a_group_is_told_of_no_peers() {
        let job = JobData {
            group: 1,
            here: usize::MAX,
            ..job()
        };
        let told = job.attributes(String::new(), String::new());
        assert_eq!(value(&told, "pmix.local.size"), Some(&Value::Number(0)));
        assert_eq!(value(&told, "pmix.lpeers"), None);
        assert_eq!(value(&told, "pmix.lldr"), None);
        assert_eq!(value(&told, "pmix.spawned"), Some(&Value::Flag(true)));
    }

    #[test]
    fn each_rank_has_its_place_in_its_node_and_its_program() {
        let job = JobData {
            parent: Some(("parents".to_owned(), 2)),
            ..job()
        };
        let told = job.attributes(String::new(), String::new());
        let places: Vec<&Vec<Attribute>> = told
            .iter()
            .filter(|attribute| attribute.key == "pmix.pdata")
            .filter_map(|attribute| match &attribute.value {
                Value::Array(place) => Some(place),
                _ => None,
            })
            .collect();
        assert_eq!(places.len(), 3);
        let second = places[1];
        assert_eq!(second[0], Attribute::new("pmix.rank", Value::Rank(2)));
        assert_eq!(value(second, "pmix.apprank"), Some(&Value::Rank(0)));
        assert_eq!(value(second, "pmix.appnum"), Some(&Value::Number(1)));
        assert_eq!(value(second, "pmix.lrank"), Some(&Value::Short(1)));
        assert_eq!(value(second, "pmix.nodeid"), Some(&Value::Number(0)));
        let parent = Value::Proc("parents".to_owned(), 2);
        assert_eq!(value(second, "pmix.parent"), Some(&parent));
        assert_eq!(
            value(places[2], "pmix.hname"),
            Some(&Value::Text("b".to_owned()))
        );
    }
}
