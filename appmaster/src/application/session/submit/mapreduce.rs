//! A MapReduce job of a session: one task of it has to fit.

use std::collections::BTreeMap;

use gerbil_task::settings::{
    ACC_TASKS, DISK_FULLNESS, LOCAL_DISK, LOCAL_DISKS, TasksPerNode, tasks_per_node,
};
use job::JobId;
use job::{MapReduceJob, SessionPlan, StageTerms};
use policy::Resources;
use policy::lending::{self, PerNode, Wants};
use proto_hadoop::ApplicationId;
use tonic::Status;

use super::{TakenJob, fits, senseless};
use crate::mapreduce::{Folder, MapReduce};
use crate::work::JobWork;

/// The MapReduce job that `json` describes, or why the session does not take it.
pub(super) fn mapreduce(
    job: JobId,
    application: ApplicationId,
    plan: &SessionPlan,
    json: &[u8],
) -> Result<TakenJob, Status> {
    let mut description: MapReduceJob = serde_json::from_slice(json).map_err(senseless)?;
    holds_together(&description).map_err(senseless)?;
    let [mut map, mut reduce] =
        [&description.map, &description.reduce].map(|terms| of_slot(terms, plan));
    let per_node = description.settings.get(ACC_TASKS);
    let per_node = tasks_per_node(per_node.map(String::as_str)).map_err(senseless)?;
    let per_node = per_node.map(|of| match of {
        TasksPerNode::Most(most) => PerNode::Most(most),
        TasksPerNode::Auto => PerNode::Boards,
    });
    (map.per_node, reduce.per_node) = (per_node, per_node);
    (description.map.unit, description.reduce.unit) = (map.unit, reduce.unit);
    let unit = match description.reduces {
        0 => {
            reduce.needs.clear();
            map.unit
        }
        _ => Resources {
            memory: map.unit.memory.max(reduce.unit.memory),
            ..map.unit
        },
    };
    of_disks(&mut description.settings, plan);
    fits(unit, plan.slot.times(plan.slots.get()))?;
    let (explain, node_failures) = (description.explain, description.node_failures);
    let text = Folder::job(application, job.0);
    let advice = advice(&description, plan);
    let mut work = MapReduce::new(description, &text);
    if let Some(advice) = advice {
        work.notice(advice);
    }
    Ok(TakenJob {
        any_speed: false,
        explain,
        wants: Wants::Tasks {
            map,
            reduce,
            node_failures,
        },
        work: JobWork::MapReduce(Box::new(work)),
        unit,
    })
}

/// For whom the session's policy is, where the job wants to be told every reason.
fn advice(description: &MapReduceJob, plan: &SessionPlan) -> Option<String> {
    let is_shared = !plan.is_owned && !plan.ends_with_job;
    if !description.explain || !is_shared {
        return None;
    }
    let reduce = (description.reduces > 0).then_some(&description.reduce);
    let stages = std::iter::once(&description.map).chain(reduce);
    let mut devices: Vec<String> = Vec::new();
    for need in stages.flat_map(|stage| &stage.needs) {
        if !devices.contains(&need.name) {
            devices.push(need.name.clone());
        }
    }
    if devices.is_empty() {
        return None;
    }
    sentences::policy_for_devices(&plan.policy, &devices)
}

/// What tasks may have of disks, as the session was started, unless the job says something else.
fn of_disks(settings: &mut BTreeMap<String, String>, plan: &SessionPlan) {
    if !settings.contains_key(LOCAL_DISK) && !plan.local_disks.is_empty() {
        let nodes = plan.local_disks.iter();
        let nodes: Vec<String> = nodes.map(|(host, mib)| format!("{host}={mib}")).collect();
        let given = settings.entry(LOCAL_DISKS.to_owned());
        given.or_insert_with(|| nodes.join(","));
    }
    let terms = [
        (LOCAL_DISK, plan.local_disk),
        (DISK_FULLNESS, plan.disk_percent.into()),
    ];
    for (name, value) in terms {
        let given = settings.entry(name.to_owned());
        given.or_insert_with(|| value.to_string());
    }
}

/// What holds for tasks of a session with such slots.
fn of_slot(terms: &StageTerms, plan: &SessionPlan) -> lending::StageTerms {
    lending::StageTerms {
        unit: Resources {
            memory: match terms.unit.memory.0 {
                0 => plan.slot.memory,
                _ => terms.unit.memory,
            },
            ..plan.slot
        },
        needs: terms.needs.clone(),
        speculative: terms.speculative,
        per_node: None,
    }
}

/// Whether every file is on a file system that the description has.
fn holds_together(description: &MapReduceJob) -> Result<(), String> {
    let has =
        |address: u32| usize::try_from(address).is_ok_and(|at| at < description.addresses.len());
    if !has(description.output.address) {
        return Err("its output is on no file system of its own".into());
    }
    for (number, split) in description.splits.iter().enumerate() {
        let files = split.files.len();
        if files != 0 && files != split.pieces.len() {
            let pieces = split.pieces.len();
            return Err(format!(
                "split {number} has {pieces} pieces and {files} files"
            ));
        }
        if !split.files.iter().all(|file| has(file.address)) {
            return Err(format!("split {number} is on no file system of its own"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use gerbil_task::Piece;
    use job::{BlockPlaces, FileAt, MpiProgram, Split};
    use storage::Address;

    use super::*;

    #[test]
    fn files_are_on_the_job_s_own_file_systems() {
        let file = |address| FileAt {
            address,
            path: "/in".into(),
            modified_ms: 0,
        };
        let piece = Piece {
            name: "file:/in".into(),
            offset: 0,
            length: 1,
            size: 1,
        };
        let terms = StageTerms {
            unit: Resources::default(),
            needs: Vec::new(),
            attempts: 4,
            speculative: true,
        };
        let good = MapReduceJob {
            program: MpiProgram::default(),
            plan: String::new(),
            job: "words".into(),
            settings: Default::default(),
            params: serde_json::Value::Null,
            addresses: vec![Address::Shared],
            splits: vec![Split {
                pieces: vec![piece],
                files: vec![file(0)],
                ..Split::default()
            }],
            block_places: BlockPlaces::default(),
            reduces: 0,
            output: file(0),
            map: terms.clone(),
            reduce: terms,
            history: None,
            node_failures: 3,
            skip_max: 0,
            skip_groups: 0,
            explain: false,
            wait_for_nodes: false,
            output_is_new: false,
        };
        assert_eq!(holds_together(&good), Ok(()));
        let mut bad = good.clone();
        bad.output.address = 1;
        assert!(holds_together(&bad).is_err());
        let mut bad = good.clone();
        bad.splits[0].files[0].address = 1;
        assert!(holds_together(&bad).unwrap_err().contains("split 0"));
        let mut bad = good;
        bad.splits[0].files.push(file(0));
        assert!(holds_together(&bad).unwrap_err().contains("2 files"));
    }
}
