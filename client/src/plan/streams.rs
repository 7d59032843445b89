//! Where input comes from and output goes.

use std::sync::Arc;

use follow::Layout;
use follow::pattern::Pattern;
use follow::streams::StandardInput;

use super::PlanError;
use crate::arguments::{Arguments, CopyTo};
use crate::cluster::Cluster;

/// Where input comes from and output goes.
pub(crate) struct StreamPlan {
    /// Where output goes.
    pub layout: Layout,
    /// What rank 0 reads.
    pub input: StandardInput,
    /// Rank 0 has a terminal.
    pub terminal: Option<job::Terminal>,
    /// The ApplicationMaster tells what it asks for and what comes.
    pub explain: bool,
}

impl StreamPlan {
    pub(super) fn new(given: &Arguments, cluster: &Cluster) -> Result<Self, PlanError> {
        let streams = &given.streams;
        let (copy, hdfs_copy) = match &streams.output {
            None => (None, None),
            Some(CopyTo::Here(folder)) => (Some(folder.clone()), None),
            Some(CopyTo::Hdfs(url)) => (None, Some(Arc::new(cluster.folder(url)?))),
        };
        let layout = Layout {
            label: match streams.label {
                true => Some(Pattern::label()),
                false => streams.prepend_pattern.clone(),
            },
            files: [
                streams.outfile_pattern.clone(),
                streams.errfile_pattern.clone(),
            ],
            copy,
            hdfs_copy,
            only: streams.output_from.or(streams.pty.then_some(0)),
        };
        let input = streams.input.clone().unwrap_or_default();
        if let StandardInput::File(path) = &input
            && let Err(source) = std::fs::File::open(path)
        {
            let path = path.clone();
            return Err(PlanError::Input { path, source });
        }
        Ok(Self {
            layout,
            input,
            terminal: streams.pty.then(terminal::described),
            explain: given.reporting.explain.is_some(),
        })
    }
}
