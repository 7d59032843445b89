//! Where input comes from and output goes.

use std::io;
use std::path::Path;
use std::sync::Arc;

use follow::Layout;
use follow::pattern::Pattern;
use follow::streams::StandardInput;
use nix::unistd::{AccessFlags, access};

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
            && let Err(source) = readable(path)
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

/// Looks at a file that rank 0 is to read. A pipe is not opened before that: whoever writes into it would find its
/// reader gone.
fn readable(path: &Path) -> io::Result<()> {
    let there = std::fs::metadata(path)?;
    if there.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    match there.is_file() {
        true => std::fs::File::open(path).map(drop),
        false => Ok(access(path, AccessFlags::R_OK)?),
    }
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn a_pipe_is_looked_at_without_being_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        // An open would wait for a writer.
        readable(&pipe).unwrap();
        readable(Path::new("/dev/null")).unwrap();
        for no_input in [folder.path(), Path::new("/no/such/file")] {
            assert!(readable(no_input).is_err(), "{no_input:?}");
        }
    }
}
