//! From what was typed and what Hadoop's settings say to a job with nothing left open.

mod deployment;
mod error;
mod placement;
mod program;
mod streams;

use std::path::Path;

use crate::arguments::Arguments;
use crate::cluster::Cluster;
use crate::data::Data;

pub(crate) use deployment::{DeploymentPlan, am_expiry_ms, missed_after};
pub(crate) use error::PlanError;
pub(crate) use placement::{PlacementPlan, node_names, step_mib};
pub(crate) use program::ProgramPlan;
pub(crate) use streams::StreamPlan;

/// A job with nothing left open.
pub(crate) struct Plan {
    /// What a process takes, and where it may go.
    pub placement: PlacementPlan,
    /// Where input comes from and output goes.
    pub streams: StreamPlan,
    /// What runs, and when it ends.
    pub program: ProgramPlan,
    /// What the job is to YARN.
    pub deployment: DeploymentPlan,
    /// What moves between the cluster's file system and the nodes.
    pub data: Data,
    /// What the user should know of what was typed, a sentence each.
    pub notes: Vec<String>,
}

impl Plan {
    /// Decides everything.
    pub(crate) fn new(mut given: Arguments, cluster: &Cluster) -> Result<Self, PlanError> {
        let is_local = given.local.local.is_some();
        let mut notes = Vec::new();
        let program = ProgramPlan::new(&mut given, &mut notes)?;
        let placement = PlacementPlan::new(&given, cluster, &program.name)?;
        let streams = StreamPlan::new(&given, cluster)?;
        let near = &given.placement.near;
        let data = Data::new(&given.data, near, given.staging.as_deref(), cluster)?;
        if !is_local {
            notes.extend(data.notes.iter().cloned());
        }
        Ok(Self {
            deployment: DeploymentPlan::new(given, cluster, &program.name)?,
            placement,
            streams,
            program,
            data,
            notes,
        })
    }
}

/// The last part of the first program's name.
fn short(program: &Path) -> String {
    let name = program.file_name().unwrap_or(program.as_os_str());
    name.to_string_lossy().into_owned()
}
