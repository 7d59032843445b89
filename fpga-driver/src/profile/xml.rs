//! What YARN must be told of a profile: countable resources, one for each function.
//!
//! `resource-types.xml` is the same on all nodes, `node-resources.xml` each node's own.  CapacityScheduler
//! needs `DominantResourceCalculator` beside them.

use super::Profile;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Both files, each below a comment with its name.
pub fn print(profile: &Profile) -> String {
    let mut counts = BTreeMap::new();
    for board in &profile.boards {
        for (function, count) in &board.functions {
            *counts.entry(function.name()).or_insert(0) += count;
        }
    }
    let types: Vec<String> = counts.keys().map(|name| format!("acc/{name}")).collect();
    let mut node = Vec::new();
    if let Some(memory) = profile.node.memory_mib {
        node.push((
            "yarn.nodemanager.resource.memory-mb".to_owned(),
            memory.to_string(),
        ));
    }
    if let Some(vcores) = profile.node.vcores {
        node.push((
            "yarn.nodemanager.resource.cpu-vcores".to_owned(),
            vcores.to_string(),
        ));
    }
    for (name, count) in &counts {
        let key = format!("yarn.nodemanager.resource-type.acc/{name}");
        node.push((key, count.to_string()));
    }
    let types = [("yarn.resource-types".to_owned(), types.join(","))];
    format!(
        "{}\n{}",
        file("resource-types.xml", &types),
        file("node-resources.xml", &node).trim_end()
    )
}

/// Names and numbers are a profile's own: nothing in them has to be escaped.
fn file(name: &str, properties: &[(String, String)]) -> String {
    let mut text = format!("<!-- {name} -->\n<configuration>\n");
    for (key, value) in properties {
        // Writing to a string cannot fail.
        writeln!(
            text,
            "  <property>\n    <name>{key}</name>\n    <value>{value}</value>\n  </property>"
        )
        .ok();
    }
    text.push_str("</configuration>\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn functions_of_all_boards_are_counted() {
        let text = "[node]\nvcores = 8\nmemory_mib = 16384\n[[board]]\nkind = \"model\"\nfunctions = { kmeans-map = 2, kmeans-reduce = 1 }\n[[board]]\nkind = \"model\"\nfunctions = { kmeans-map = 3 }\n";
        let profile = Profile::parse(text, Path::new("fpga.toml")).unwrap();
        let wanted = "<!-- resource-types.xml -->
<configuration>
  <property>
    <name>yarn.resource-types</name>
    <value>acc/kmeans-map,acc/kmeans-reduce</value>
  </property>
</configuration>

<!-- node-resources.xml -->
<configuration>
  <property>
    <name>yarn.nodemanager.resource.memory-mb</name>
    <value>16384</value>
  </property>
  <property>
    <name>yarn.nodemanager.resource.cpu-vcores</name>
    <value>8</value>
  </property>
  <property>
    <name>yarn.nodemanager.resource-type.acc/kmeans-map</name>
    <value>5</value>
  </property>
  <property>
    <name>yarn.nodemanager.resource-type.acc/kmeans-reduce</name>
    <value>1</value>
  </property>
</configuration>";
        assert_eq!(print(&profile), wanted);
    }
}
