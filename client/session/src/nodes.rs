//! What the nodes of a session have.

use std::time::Duration;

use job::element::{Element, ElementKind};
use job::wire;
use serde::Serialize;
use terminal::Foreign;
use terminal::table::{Column, table};
use tokio::time::{Instant, sleep};

use crate::error::SessionError;
use crate::reach::{Reached, answer};
use crate::record::SessionRecord;

/// For libraries of devices to answer that are still being asked.
const SCANNED: Duration = Duration::from_secs(3);
/// Between two looks whether they have.
const LOOK: Duration = Duration::from_millis(100);

/// A node that has a container of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionNode {
    /// Its name.
    pub host: String,
    /// YARN's id of the container.
    pub container: String,
    /// Processes that can run there at the same time.
    pub slots: u32,
    /// Libraries of devices are still being asked, or one that a task has lost is looked for again.
    pub is_scanning: bool,
    /// How many elements of each kind it has.
    pub counts: Vec<Count>,
    /// What the launcher has found and what YARN has granted, where that is not the same.
    pub differences: Vec<String>,
    /// What the launcher has found.
    pub elements: Vec<Element>,
}

/// How many elements of a kind a node has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    /// As tasks need it: `gpu`, `fpga`, or a type of the cluster.
    pub name: String,
    /// Found, and fit for use.
    pub scanned: u64,
    /// Granted by YARN; `None`: the cluster has no such type.
    pub granted: Option<u64>,
    /// Told by the node's attributes; `None`: they tell nothing of it.
    pub attributed: Option<u64>,
    /// Of which tasks may use so many.
    pub used: u64,
}

impl Reached {
    /// Looks.
    ///
    /// # Errors
    ///
    /// It does not answer.
    pub async fn nodes(&mut self, kept: &SessionRecord) -> Result<Vec<SessionNode>, SessionError> {
        let asked = self.client.nodes(wire::NodesRequest {});
        let said = answer(&kept.name, asked).await?;
        Ok(said.nodes.into_iter().map(SessionNode::from).collect())
    }

    /// The memory of the smallest GPU that tasks may use, MiB; `None`: there is none, or none tells of any. Libraries
    /// that are still being asked are waited for, for 3 s.
    ///
    /// # Errors
    ///
    /// It does not answer.
    pub async fn smallest_gpu(
        &mut self,
        kept: &SessionRecord,
    ) -> Result<Option<u64>, SessionError> {
        let until = Instant::now() + SCANNED;
        loop {
            let nodes = self.nodes(kept).await?;
            match nodes.iter().any(|node| node.is_scanning) && Instant::now() < until {
                true => sleep(LOOK).await,
                false => return Ok(smallest_gpu(&nodes)),
            }
        }
    }
}

fn smallest_gpu(nodes: &[SessionNode]) -> Option<u64> {
    let offers = |node: &&SessionNode| {
        let mut counts = node.counts.iter();
        counts.any(|count| count.name == "gpu" && count.used > 0)
    };
    let elements = nodes.iter().filter(offers).flat_map(|node| &node.elements);
    let whole = elements.filter(|of| of.kind == ElementKind::Gpu && of.broken.is_none());
    whole.map(|of| of.memory_mib).filter(|mib| *mib > 0).min()
}

impl From<wire::SessionNode> for SessionNode {
    fn from(said: wire::SessionNode) -> Self {
        let counts = said.counts.into_iter().map(|count| Count {
            name: count.name,
            scanned: count.scanned,
            granted: count.granted,
            attributed: count.attributed,
            used: count.used,
        });
        Self {
            host: said.host,
            container: said.container,
            slots: said.slots,
            is_scanning: said.scanning,
            counts: counts.collect(),
            differences: said.differences,
            elements: said.elements.into_iter().map(Element::from).collect(),
        }
    }
}

/// The nodes in words, line after line.
#[must_use]
pub fn lines(nodes: &[SessionNode]) -> Vec<String> {
    if nodes.is_empty() {
        return vec!["no container of the session is there yet".to_owned()];
    }
    let columns = [
        Column::Left("host"),
        Column::Right("slots"),
        Column::Left("used"),
        Column::Left("found"),
    ];
    let mut rows = Vec::new();
    for node in nodes {
        let mut found: Vec<String> = node.elements.iter().map(words).collect();
        if node.is_scanning {
            found.push("its devices are still being looked for".to_owned());
        }
        if found.is_empty() {
            found.push("nothing".to_owned());
        }
        for (number, what) in found.into_iter().enumerate() {
            let (host, slots, used) = match number {
                0 => (node.host.clone(), node.slots.to_string(), used(node)),
                _ => Default::default(),
            };
            rows.push(vec![host, slots, used, what]);
        }
    }
    let mut lines = table(0, &columns, rows);
    let differences = nodes.iter().flat_map(|node| &node.differences);
    lines.extend(differences.map(|words| Foreign::sentence(words).to_string()));
    lines
}

/// What tasks may use of a node: `1 gpu`.
fn used(node: &SessionNode) -> String {
    let used = node.counts.iter().filter(|count| count.used > 0);
    let used: Vec<String> = used
        .map(|count| format!("{} {}", count.used, count.name))
        .collect();
    match used.as_slice() {
        [] => "-".to_owned(),
        used => used.join(", "),
    }
}

/// One line for what was found: `2 gpu nvidia H100 81559 MiB, CUDA 13.0; by /dev/nvidia0, libcuda.so.1`.
#[must_use]
pub fn words(element: &Element) -> String {
    let mut words = format!("{} {}", element.count, element.kind);
    for word in [&element.maker, &element.model] {
        if !word.is_empty() {
            words = format!("{words} {word}");
        }
    }
    if element.memory_mib > 0 {
        words = format!("{words} {} MiB", element.memory_mib);
    }
    if !element.driver.is_empty() {
        words = format!("{words}, {}", element.driver);
    }
    if let Some(why) = &element.broken {
        words = format!("{words}, broken: {why}");
    }
    match element.evidence.as_slice() {
        [] => words,
        evidence => format!("{words}; by {}", evidence.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(count: u32, broken: Option<&str>) -> Element {
        Element {
            maker: "nvidia".into(),
            model: "H100".into(),
            memory_mib: 81_559,
            count,
            driver: "CUDA 13.0".into(),
            evidence: vec!["/dev/nvidia0".into(), "libcuda.so.1".into()],
            broken: broken.map(Into::into),
            ..Element::none_of(ElementKind::Gpu)
        }
    }

    fn node(host: &str, elements: Vec<Element>, used: u64) -> SessionNode {
        SessionNode {
            host: host.into(),
            container: "c".into(),
            slots: 4,
            is_scanning: false,
            counts: vec![Count {
                name: "gpu".into(),
                scanned: 2,
                granted: Some(1),
                attributed: None,
                used,
            }],
            differences: Vec::new(),
            elements,
        }
    }

    #[test]
    fn the_smallest_gpu_is_one_that_tasks_may_use() {
        let small = |broken| Element {
            memory_mib: 256,
            ..gpu(1, broken)
        };
        let unknown = Element {
            memory_mib: 0,
            ..gpu(1, None)
        };
        let nodes = [
            node("n1", vec![gpu(2, None), unknown], 1),
            node("n2", vec![small(Some("signal 11 in cuInit"))], 1),
            node("n3", vec![small(None)], 0),
        ];
        assert_eq!(smallest_gpu(&nodes), Some(81_559));
        assert_eq!(smallest_gpu(&[node("n3", vec![small(None)], 2)]), Some(256));
        assert_eq!(smallest_gpu(&nodes[2..]), None);
    }

    #[test]
    fn a_node_is_told_with_what_it_has_and_by_what_that_is_known() {
        let differs = "n1: 2 gpu found, YARN has granted 1: 1 used (--elements both)";
        let nodes = [
            SessionNode {
                differences: vec![differs.into()],
                ..node("n1", vec![gpu(2, None)], 1)
            },
            node("n2", vec![gpu(1, Some("signal 11 in cuInit"))], 0),
            node("n3", Vec::new(), 0),
        ];
        let wanted = format!(
            "\
host  slots  used   found
n1        4  1 gpu  2 gpu nvidia H100 81559 MiB, CUDA 13.0; by /dev/nvidia0,
                    libcuda.so.1
n2        4  -      1 gpu nvidia H100 81559 MiB, CUDA 13.0, broken: signal 11 in cuInit;
                    by /dev/nvidia0, libcuda.so.1
n3        4  -      nothing
{differs}"
        );
        assert_eq!(lines(&nodes).join("\n"), wanted);
        let json = serde_json::to_value(&nodes[0]).unwrap();
        assert_eq!(json["counts"][0]["granted"], 1);
        assert_eq!(json["elements"][0]["kind"], "gpu");
    }
}
