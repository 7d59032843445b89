//! Nodes that lack what tasks need, in sentences.

use policy::elements::{Count, ElementNeed, Trust};
use policy::lending::Lack;
use policy::schedule::Stage;

/// Nodes that a sentence names.
const NAMED: usize = 8;

/// Why a job can never run, and what to do.
#[must_use]
pub fn lack(lack: &Lack) -> String {
    let (stage, setting) = match lack.stage {
        Stage::Map => ("map", "needs.map"),
        Stage::Reduce | Stage::Gang => ("reduce", "needs.reduce"),
    };
    format!(
        "{stage} needs {}; {}; hold containers where one is, say -D {setting}=cpu if it needs none, or wait with \
         --wait-for-nodes",
        needs(lack),
        nowhere(lack)
    )
}

/// What every [`on_processors`] ends with.
const ON_PROCESSORS: &str = ": the processor computes it";

/// That a job goes on without what no node has.
#[must_use]
pub fn on_processors(lack: &Lack) -> String {
    let stage = match lack.stage {
        Stage::Map => "map",
        Stage::Reduce | Stage::Gang => "reduce",
    };
    format!(
        "{stage} needs {}; {}{ON_PROCESSORS}",
        needs(lack),
        nowhere(lack)
    )
}

/// Of an [`on_processors`] which stage needs what, without why it has none: each job of a loop says that anew.
#[must_use]
pub fn is_on_processors(sentence: &str) -> Option<&str> {
    let (needs, _) = sentence.strip_suffix(ON_PROCESSORS)?.split_once("; ")?;
    Some(needs)
}

/// What a job waits for that nobody has yet.
#[must_use]
pub fn waits_for_element(lack: &Lack) -> String {
    format!("waits for a node with {}: {}", needs(lack), nowhere(lack))
}

/// That not all who count the elements `name` of a node come to the same number, and which one is used.
#[must_use]
pub fn elements_differ(host: &str, name: &str, count: Count, trust: Trust) -> String {
    let others = [
        count
            .granted
            .map(|count| format!(", YARN has granted {count}")),
        count
            .attributed
            .map(|count| format!(", the node's attributes say {count}")),
    ];
    format!(
        "{host}: {} {name} found{}: {} used (--elements {})",
        count.scanned,
        others.into_iter().flatten().collect::<String>(),
        count.used(trust),
        match trust {
            Trust::Scan => "scan",
            Trust::Yarn => "yarn",
            Trust::Both => "both",
        }
    )
}

fn needs(lack: &Lack) -> String {
    let needs: Vec<String> = lack.needs.iter().map(in_words).collect();
    needs.join(" and ")
}

/// `gpu`, `2 acc/kmeans-map`.
pub(crate) fn in_words(need: &ElementNeed) -> String {
    match need.count {
        1 => need.name.clone(),
        count => format!("{count} {}", need.name),
    }
}

fn nowhere(lack: &Lack) -> String {
    let one = match lack.needs.as_slice() {
        [need] if need.count == 1 => "have one",
        [need] => &format!("have {}", need.count),
        _ => "have them",
    };
    let named = lack.nodes.iter().take(NAMED);
    let mut named: Vec<String> = named.map(|(host, why)| format!("{host}: {why}")).collect();
    let more = lack.nodes.len().saturating_sub(NAMED);
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    match named.as_slice() {
        [] => "there is no node yet".to_owned(),
        named => format!(
            "0 of {} nodes {one} ({})",
            lack.nodes.len(),
            named.join("; ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_for_each_node() {
        let node = |number: u32| (format!("node{number}"), "no device".to_owned());
        let mut of = Lack {
            stage: Stage::Map,
            needs: vec![ElementNeed::one("gpu")],
            nodes: vec![node(1), ("node2".into(), "libcuda.so.1 missing".into())],
        };
        assert_eq!(
            lack(&of),
            "map needs gpu; 0 of 2 nodes have one (node1: no device; node2: libcuda.so.1 missing); hold containers \
             where one is, say -D needs.map=cpu if it needs none, or wait with --wait-for-nodes"
        );
        of.needs = vec!["acc/kmeans-map".parse().unwrap()];
        let goes_on = on_processors(&of);
        assert_eq!(
            goes_on,
            "map needs acc/kmeans-map; 0 of 2 nodes have one (node1: no device; node2: libcuda.so.1 missing): the \
             processor computes it"
        );
        assert_eq!(is_on_processors(&goes_on), Some("map needs acc/kmeans-map"));
        assert_eq!(is_on_processors(&lack(&of)), None);
        of.needs = vec!["acc/kmeans-map=3".parse().unwrap()];
        assert!(
            lack(&of)
                .starts_with("map needs 3 acc/kmeans-map; 0 of 2 nodes have 3 (node1: no device; ")
        );
        of.needs = vec![ElementNeed::one("gpu"), ElementNeed::one("fpga")];
        of.nodes = (0..10).map(node).collect();
        let said = waits_for_element(&of);
        assert!(
            said.starts_with(
                "waits for a node with gpu and fpga: 0 of 10 nodes have them (node0: no device;"
            ) && said.ends_with("node7: no device; and 2 more)"),
            "{said}"
        );
    }
}
