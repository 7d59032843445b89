//! The folder of the container. A NodeManager that is started again and recovers nothing removes it, while the launcher
//! and all that it has started go on: what these come to from then on is nobody's fault but the folder's.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use job::wire::launcher_event::Event;
use job::wire::{MpiEvent, TaskEvent, mpi_event, rank_ended, task_event};
use tokio::sync::Notify;

/// The launcher's own.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Device and number; `None`: the kernel did not say.
    id: Option<(u64, u64)>,
    gone: Notify,
}

impl Folder {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            id: std::fs::metadata(path).ok().map(|of| (of.dev(), of.ino())),
            gone: Notify::new(),
        }
    }

    /// Whether the ApplicationMaster is not to hear of this: it tells of an end that is likely the folder's, which is gone.
    pub(super) fn withholds(&self, event: &Event) -> bool {
        let is_withheld = may_be_for_it(event) && self.is_gone();
        if is_withheld {
            self.gone.notify_one();
        }
        is_withheld
    }

    /// Until something was withheld. May be dropped and called again.
    pub(super) async fn has_gone(&self) {
        self.gone.notified().await;
    }

    fn is_gone(&self) -> bool {
        match std::fs::metadata(&self.path) {
            Ok(there) => self.id.is_some_and(|id| id != (there.dev(), there.ino())),
            Err(error) => error.kind() == ErrorKind::NotFound,
        }
    }
}

/// Whether this tells of something that has come to an end, for which files of the container were needed.
fn may_be_for_it(event: &Event) -> bool {
    match event {
        Event::Task(TaskEvent { event, .. }) => matches!(event, Some(task_event::Event::Ended(_))),
        Event::Mpi(MpiEvent { event, .. }) => match event {
            Some(mpi_event::Event::Refusal(_)) => true,
            Some(mpi_event::Event::Ended(ended)) => ended.how != Some(rank_ended::How::ExitCode(0)),
            Some(mpi_event::Event::Moved(moved)) => !moved.trouble.is_empty(),
            _ => false,
        },
        Event::FilesFetched(fetched) => !fetched.trouble.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use job::wire::{FilesFetched, RankEnded};

    use super::*;

    #[test]
    fn what_failed_in_a_folder_that_is_gone_is_withheld() {
        let around = tempfile::tempdir().unwrap();
        let path = around.path().join("container");
        std::fs::create_dir(&path).unwrap();
        let folder = Folder::new(&path);
        let fetched = |trouble: &str| {
            Event::FilesFetched(FilesFetched {
                trouble: trouble.to_owned(),
                ..FilesFetched::default()
            })
        };
        let rank = |code| {
            Event::Mpi(MpiEvent {
                job: 1,
                event: Some(mpi_event::Event::Ended(RankEnded {
                    how: Some(rank_ended::How::ExitCode(code)),
                    ..RankEnded::default()
                })),
            })
        };
        assert!(!folder.withholds(&fetched("no space")) && !folder.withholds(&rank(1)));
        std::fs::rename(&path, around.path().join("container_DEL_1")).unwrap();
        assert!(folder.withholds(&fetched("no such file")) && folder.withholds(&rank(1)));
        assert!(!folder.withholds(&fetched("")) && !folder.withholds(&rank(0)));
        // Another of the name is not the launcher's.
        std::fs::create_dir(&path).unwrap();
        assert!(folder.withholds(&rank(1)));
    }
}
