//! SCHEMA.md shows what is written: each of its JSON blocks is what the types make of it.

use std::collections::BTreeSet;

use job::MapReduceReport;
use job::explain::Explained;
use job::report::Report;
use serde::Serialize;
use serde::de::DeserializeOwned;

const PAGE: &str = include_str!("../SCHEMA.md");

/// The JSON blocks of the page, in order.
fn blocks() -> Vec<&'static str> {
    let behind = PAGE.split("```json\n").skip(1);
    behind
        .map(|text| text.split("```").next().unwrap_or(text))
        .collect()
}

/// Reads `block` and writes it again: nothing may be lost, added or called otherwise.
#[cfg(test)]
fn same<T: Serialize + DeserializeOwned>(block: &str) -> T {
    let value: T = serde_json::from_str(block).unwrap_or_else(|e| panic!("{e} in {block}"));
    let shown: serde_json::Value = serde_json::from_str(block).unwrap();
    let written = serde_json::to_value(&value).unwrap();
    assert_eq!(shown, written, "{block}");
    value
}

#[test]
fn every_block_is_what_is_written() {
    let (mapreduce, report, events) = {
        let mut blocks = blocks();
        (blocks.pop().unwrap(), blocks.pop().unwrap(), blocks)
    };
    let mapreduce: MapReduceReport = same(mapreduce);
    assert!(mapreduce.jobs.iter().any(|job| job.tasks.is_some()));
    let mut kinds = BTreeSet::new();
    for block in &events {
        kinds.insert(match same::<Explained>(block) {
            Explained::Submitted(_) => "submitted",
            Explained::ProcessManager(_) => "process-manager",
            Explained::Snapshot(_) => "snapshot",
            Explained::Placed(_) => "placed",
            Explained::NotPlaced(_) => "not-placed",
            Explained::Asked(_) => "asked",
            Explained::Granted(_) => "granted",
            Explained::Missing(_) => "missing",
            Explained::Released(_) => "released",
            Explained::DryRun(_) => "dry-run",
            Explained::WaitsForSlots(_) => "waits-for-slots",
            Explained::TaskPlaced(_) => "task-placed",
            Explained::TaskEnded(_) => "task-ended",
            Explained::HomeMoved(_) => "home-moved",
        });
    }
    // A new kind needs a line above, which is then missed here.
    assert_eq!(
        kinds.len(),
        14,
        "not all kinds of events are shown: {kinds:?}"
    );
    let report: Report = same(report);
    assert!(report.placement.is_some() && !report.grants.is_empty());
    assert!(!report.ranks.is_empty() && !report.degraded.is_empty());
}

#[test]
fn every_field_is_explained() {
    fn fields(value: &serde_json::Value, found: &mut BTreeSet<String>) {
        match value {
            serde_json::Value::Object(members) => {
                for (name, member) in members {
                    found.insert(name.clone());
                    fields(member, found);
                }
            }
            serde_json::Value::Array(items) => items.iter().for_each(|item| fields(item, found)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    for block in blocks() {
        fields(&serde_json::from_str(block).unwrap(), &mut found);
    }
    let prose: String = PAGE.split("```").step_by(2).collect();
    for field in found {
        assert!(
            prose.contains(&format!("`{field}`")),
            "{field} is not explained"
        );
    }
}
