//! Checkpoints of the ranks' own making: each rank has a folder, is asked by a signal to write its files
//! there, and says by one more file that they are whole.
//!
//! A rank is asked when every rank of the container answers the signal: one that is still being loaded
//! would be killed by it. And it is asked again when it has said so much of the time before: its word
//! could otherwise be about that one.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use job::data::DONE;
use job::wire::{self, Found, Share};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::files::{look, without_answer};
use crate::node_facts;
use crate::processes::{self, SignalDisposition};

/// Names a rank's folder to it.
const FOLDER_VARIABLE: &str = "GERBIL_CHECKPOINT_DIR";
/// The number of the checkpoint that lies in it when the rank starts.
const RESTORED_VARIABLE: &str = "GERBIL_RESTORED";
/// Between two looks for the ranks' word.
const LOOK: Duration = Duration::from_millis(200);
/// For all ranks to come to answer the signal, and to have written what they were asked for before.
const READY: Duration = Duration::from_secs(60);
/// For all ranks to write their files.
const WRITTEN: Duration = Duration::from_secs(600);
/// Files and folders that one rank may write.
const FILES_MAX: usize = 1000;
/// Files and folders that all ranks of a container may write: they are told of in one message.
const ALL_FILES_MAX: usize = 10_000;

/// The folder of `rank`, relative to the working directory.
fn of(share: &Share, rank: u32) -> String {
    format!("{}/{rank}", share.checkpoint_folder)
}

/// What a rank is told of it; `first` is the number of its group's rank 0: spawned ones have no folder.
pub(crate) fn environment(
    share: &Share,
    folder: &Path,
    rank: u32,
    first: u32,
) -> Vec<(&'static str, String)> {
    if share.checkpoint_folder.is_empty() || first > 0 {
        return Vec::new();
    }
    let own = folder.join(of(share, rank)).display().to_string();
    let mut told = vec![(FOLDER_VARIABLE, own)];
    if share.restored > 0 {
        told.push((RESTORED_VARIABLE, share.restored.to_string()));
    }
    told
}

/// Makes the folders of the share's ranks, empty.
///
/// # Errors
/// The disk is full or broken.
pub(crate) fn prepare(share: &Share, folder: &Path) -> io::Result<()> {
    if share.checkpoint_folder.is_empty() {
        return Ok(());
    }
    for &rank in &share.ranks {
        let own = folder.join(of(share, rank));
        match std::fs::remove_dir_all(&own) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => std::fs::create_dir_all(&own)?,
        }
    }
    Ok(())
}

/// The folders of a container's ranks.
#[derive(Clone, Debug)]
pub(crate) struct Folders {
    top: PathBuf,
    /// By rank, ascending: its folder below `top`.
    ranks: Vec<(u32, String)>,
}

impl Folders {
    pub(crate) fn new(share: &Share, top: &Path) -> Self {
        Self {
            top: top.to_owned(),
            ranks: share.ranks.iter().map(|&r| (r, of(share, r))).collect(),
        }
    }

    /// Those that it has a folder for.
    pub(crate) fn ranks(&self) -> impl Iterator<Item = u32> {
        self.ranks.iter().map(|(rank, _)| *rank)
    }

    fn done(&self, own: &str) -> PathBuf {
        self.top.join(own).join(DONE)
    }

    /// Takes back what the ranks said of the last checkpoint.
    ///
    /// # Errors
    /// A sentence: a word that stays would be taken for the next one.
    pub(crate) fn clear(&self) -> Result<(), String> {
        for (rank, own) in &self.ranks {
            match std::fs::remove_file(self.done(own)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    let host = node_facts::hostname();
                    return Err(format!(
                        "{host}: the word of rank {rank} stays there: {error}"
                    ));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Waits until all ranks, led by the processes `pids`, can be asked; `owed`: they have been asked
    /// before and not all have said that they are done. `ended` is cancelled when a rank has ended.
    ///
    /// # Errors
    /// Why they cannot, a sentence.
    pub(crate) async fn ready(
        &self,
        pids: &[(u32, i32)],
        order: &wire::Checkpoint,
        owed: bool,
        ended: &CancellationToken,
    ) -> Result<(), String> {
        let host = node_facts::hostname();
        let by = Instant::now() + READY;
        for (rank, own) in &self.ranks {
            let led = pids.iter().find(|(of, _)| of == rank);
            let Some((_, pid)) = led else {
                return Err(format!("{host}: rank {rank} does not run"));
            };
            let mut before = SignalDisposition::None;
            loop {
                let answer = processes::answer(*pid, order.signal);
                // A moment of holding back says nothing.
                let answers = match answer {
                    SignalDisposition::Handler => true,
                    SignalDisposition::HeldBack => before == SignalDisposition::HeldBack,
                    SignalDisposition::None => false,
                };
                before = answer;
                if answers && (!owed || self.done(own).exists()) {
                    break;
                }
                if ended.is_cancelled() {
                    return Err(format!("{host}: a rank has ended meanwhile"));
                }
                if Instant::now() > by {
                    return Err(match answers {
                        true => format!("{host}: rank {rank} still owes the checkpoint before"),
                        false => format!(
                            "{host}: rank {rank} does not answer signal {}, which would kill it; \
                             the program has to handle it, not a script that calls the program",
                            order.signal
                        ),
                    });
                }
                sleep(LOOK).await;
            }
        }
        Ok(())
    }

    /// Waits until every rank has said that its files are whole, and lists them. `ended` is cancelled
    /// when a rank has ended.
    pub(crate) async fn written(self, id: u32, ended: CancellationToken) -> Found {
        let host = node_facts::hostname();
        let by = Instant::now() + WRITTEN;
        for (rank, own) in &self.ranks {
            let done = self.done(own);
            while !done.exists() {
                if ended.is_cancelled() {
                    return without_answer(id, format!("{host}: a rank has ended meanwhile"));
                }
                if Instant::now() > by {
                    let seconds = WRITTEN.as_secs();
                    let trouble =
                        format!("{host}: rank {rank} has not written its files within {seconds} s");
                    return without_answer(id, trouble);
                }
                sleep(LOOK).await;
            }
        }
        let mut paths = Vec::with_capacity(self.ranks.len());
        let mut left_of_all = ALL_FILES_MAX;
        for (_, own) in &self.ranks {
            let most = FILES_MAX.min(left_of_all);
            let mut left = most;
            match look(&self.top, own, &mut left).await {
                Ok(mut found) => {
                    left_of_all -= most - left;
                    found.files.retain(|file| file.inside != DONE);
                    paths.push(found);
                }
                Err(trouble) => return without_answer(id, trouble),
            }
        }
        Found {
            id,
            paths,
            trouble: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    fn share() -> Share {
        Share {
            ranks: vec![2, 5],
            checkpoint_folder: "ck".into(),
            restored: 4,
            ..Share::default()
        }
    }

    #[tokio::test]
    async fn a_checkpoint_is_there_when_every_rank_says_so() {
        let top = tempfile::tempdir().unwrap();
        let share = share();
        prepare(&share, top.path()).unwrap();
        let told = environment(&share, top.path(), 5, 0);
        assert_eq!(told[0].1, top.path().join("ck/5").display().to_string());
        assert_eq!(told[1], (RESTORED_VARIABLE, "4".to_owned()));
        for rank in ["2", "5"] {
            std::fs::write(top.path().join("ck").join(rank).join("state"), rank).unwrap();
        }
        let folders = Folders::new(&share, top.path());
        let ended = CancellationToken::new();
        let mut written = Box::pin(folders.clone().written(3, ended.clone()));
        std::fs::write(top.path().join("ck/2/done"), "").unwrap();
        let early = timeout(LOOK * 2, &mut written).await;
        assert!(early.is_err(), "{early:?}");
        std::fs::write(top.path().join("ck/5/done"), "").unwrap();
        let found = written.await;
        assert_eq!((found.id, found.trouble.as_str()), (3, ""));
        let files: Vec<_> = found
            .paths
            .iter()
            .map(|p| p.files[0].inside.as_str())
            .collect();
        assert_eq!(files, ["state", "state"]);

        folders.clear().unwrap();
        assert!(!top.path().join("ck/2/done").exists());
        ended.cancel();
        let found = folders.written(4, ended).await;
        assert!(found.trouble.contains("has ended"), "{found:?}");
    }

    #[tokio::test]
    async fn ranks_are_asked_when_they_answer_and_owe_nothing() {
        let top = tempfile::tempdir().unwrap();
        prepare(&share(), top.path()).unwrap();
        let folders = Folders::new(&share(), top.path());
        let ended = CancellationToken::new();
        // This very process, which has to answer: for a signal without a handler it is deaf.
        let pid = i32::try_from(std::process::id()).unwrap();
        let pids = [(2, pid), (5, pid)];
        let order = |signal| wire::Checkpoint { id: 1, signal };
        let deaf = order(libc::SIGUSR2);
        let waits = timeout(LOOK * 2, folders.ready(&pids, &deaf, false, &ended)).await;
        assert!(waits.is_err(), "{waits:?}");

        let _handler =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::alarm()).unwrap();
        let heard = order(libc::SIGALRM);
        folders.ready(&pids, &heard, false, &ended).await.unwrap();
        let waits = timeout(LOOK * 2, folders.ready(&pids, &heard, true, &ended)).await;
        assert!(waits.is_err(), "{waits:?}");
        for rank in ["2", "5"] {
            std::fs::write(top.path().join("ck").join(rank).join(DONE), "").unwrap();
        }
        folders.ready(&pids, &heard, true, &ended).await.unwrap();
        ended.cancel();
        let over = folders.ready(&pids, &deaf, false, &ended).await;
        assert!(over.unwrap_err().contains("has ended"));
        let gone = folders.ready(&pids[..1], &heard, false, &ended).await;
        assert!(gone.unwrap_err().contains("rank 5 does not run"));
    }
}
