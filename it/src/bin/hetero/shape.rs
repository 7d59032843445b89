//! What YARN counts on the nodes of a cluster, and what boards they have.

/// NodeManagers.
pub(crate) const NODES: usize = 2;
/// Devices of each board for maps, and so the most tasks that compute on it at a time, where boards are alike.
pub(crate) const DEVICES: usize = 24;
/// Those of them for maps of K-means.
pub(crate) const MAPS: &str = "kmeans-map";
/// Of a packet: some of them come of each split.
const BLOCK_KIB: u64 = 256;

/// What a cluster counts and runs.
#[derive(Clone, Copy)]
pub(crate) struct BenchShape {
    /// Functions with their devices, as YARN counts them on the first node and on the second; boards' profiles have the same.
    pub(crate) types: &'static [(&'static str, [usize; NODES])],
    /// Hadoop's own MapReduce runs there, too.
    pub(crate) has_hadoop: bool,
}

impl BenchShape {
    /// K-means alone, on nodes that are alike.
    pub(crate) const ALIKE: Self = Self {
        types: &[(MAPS, [DEVICES; NODES]), ("kmeans-reduce", [1; NODES])],
        has_hadoop: false,
    };
    /// Two functions of unlike boards.
    pub(crate) const UNLIKE: Self = Self {
        types: &[
            (MAPS, [20, 2]),
            ("kmeans-reduce", [2, 1]),
            ("bayes-map", [2, 1]),
        ],
        has_hadoop: true,
    };

    /// Devices of a function, on both nodes.
    pub(crate) fn devices(self, function: &str) -> usize {
        let of_it = self.types.iter().filter(|(name, _)| *name == function);
        of_it.flat_map(|(_, counts)| counts).sum()
    }

    /// What the profile of a node's board says of its functions.
    pub(crate) fn profile(self, node: usize) -> String {
        let functions = self.types.iter();
        let functions = functions.filter_map(|(name, counts)| Some((name, counts.get(node)?)));
        let functions: Vec<String> = functions
            .map(|(name, count)| format!("{name} = {count}"))
            .collect();
        format!(
            "functions = {{ {} }}\nblock_kib = {BLOCK_KIB}",
            functions.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_have_what_yarn_counts_on_their_nodes() {
        assert_eq!(
            BenchShape::UNLIKE.profile(1),
            "functions = { kmeans-map = 2, kmeans-reduce = 1, bayes-map = 1 }\nblock_kib = 256"
        );
        assert_eq!(BenchShape::UNLIKE.devices(MAPS), 22);
        assert_eq!(BenchShape::ALIKE.devices(MAPS), NODES * DEVICES);
    }
}
