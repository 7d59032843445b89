//! What takes its time and is waited for beside everything else: files that are looked for and moved,
//! ranks that are to save themselves.

use std::path::PathBuf;

use job::exit::Exit;
use job::wire::mpi_event::Event;
use job::wire::{Checkpoint, CompareFiles, Find, Move, Moved, Refusal, Share};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::checkpoint::{self, Folders};
use super::compare::compare;
use crate::files;

/// How many such words may be on their way.
const WAITS: usize = 4;

/// What came of one.
#[derive(Debug)]
pub(crate) enum TransferDone {
    /// The AM is told.
    Say(Event),
    /// The ranks of this share can start.
    Start(Box<Share>),
    /// The ranks can be asked for this checkpoint.
    Ask(Checkpoint),
}

/// Those under way.
#[derive(Debug)]
pub(crate) struct Transfers {
    folder: PathBuf,
    folders: Option<Folders>,
    /// Cancelled when a rank has ended.
    rank_ended: CancellationToken,
    /// A share waits for its files.
    restoring: bool,
    /// The checkpoint that the ranks were asked for and that they have not all written.
    owed: Option<u32>,
    tasks: JoinSet<TransferDone>,
    /// Copies that wait for their file system say so once.
    waits: (mpsc::Sender<Moved>, mpsc::Receiver<Moved>),
}

impl Transfers {
    /// Of files below `folder`.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            folders: None,
            rank_ended: CancellationToken::new(),
            restoring: false,
            owed: None,
            tasks: JoinSet::new(),
            waits: mpsc::channel(WAITS),
        }
    }

    /// The next that is done; never while there is none. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> TransferDone {
        loop {
            let done = tokio::select! {
                Some(waits) = self.waits.1.recv() => {
                    return TransferDone::Say(Event::Moved(waits));
                }
                done = self.tasks.join_next() => done,
            };
            match done {
                Some(Ok(done)) => {
                    let of_share = matches!(
                        done,
                        TransferDone::Start(_) | TransferDone::Say(Event::Refusal(_))
                    );
                    if of_share && !std::mem::take(&mut self.restoring) {
                        // It was stopped in the moment in which it was ready, and that has been told.
                        continue;
                    }
                    if let TransferDone::Say(Event::Found(found)) = &done
                        && found.trouble.is_empty()
                    {
                        self.owed = self.owed.filter(|owed| *owed != found.id);
                    }
                    return done;
                }
                // Ended by us.
                Some(Err(_)) => {}
                None => return std::future::pending().await,
            }
        }
    }

    /// Brings what the ranks of `share` begin with; they start when it is there.
    pub(crate) fn restore(&mut self, mut share: Box<Share>) {
        self.folders = Some(Folders::new(&share, &self.folder));
        self.rank_ended = CancellationToken::new();
        self.restoring = true;
        self.owed = None;
        let folder = self.folder.clone();
        self.tasks.spawn(async move {
            let refused = |sentence| {
                TransferDone::Say(Event::Refusal(Refusal {
                    sentence,
                    exit_code: i32::from(Exit::Staging.code()),
                    group: 0,
                }))
            };
            if let Err(error) = checkpoint::prepare(&share, &folder) {
                let host = crate::node_facts::hostname();
                return refused(format!("{host}: no folder for checkpoints: {error}"));
            }
            if let Some(order) = share.restore.take() {
                let moved = files::carry(&folder, order, |_| {}).await;
                if !moved.trouble.is_empty() {
                    return refused(format!("the checkpoint is not restored: {}", moved.trouble));
                }
            }
            TransferDone::Start(share)
        });
    }

    /// A share waits for its files.
    pub(crate) const fn is_restoring(&self) -> bool {
        self.restoring
    }

    pub(crate) fn compare(&mut self, order: CompareFiles) {
        let compared = async move { TransferDone::Say(Event::Compared(compare(order).await)) };
        self.tasks.spawn(compared);
    }

    pub(crate) fn find(&mut self, order: Find) {
        let folder = self.folder.clone();
        let found =
            async move { TransferDone::Say(Event::Found(files::find(&folder, order).await)) };
        self.tasks.spawn(found);
    }

    pub(crate) fn carry(&mut self, order: Move) {
        let (folder, waits) = (self.folder.clone(), self.waits.0.clone());
        self.tasks.spawn(async move {
            // One that finds no room is not the first to say it.
            let waits = |said| drop(waits.try_send(said));
            TransferDone::Say(Event::Moved(files::carry(&folder, order, waits).await))
        });
    }

    /// The ranks, led by the processes `pids`, are to be asked for a checkpoint as soon as they can be.
    pub(crate) fn checkpoint(&mut self, order: Checkpoint, pids: Vec<(u32, i32)>) {
        let (folders, ended) = (self.folders.clone(), self.rank_ended.clone());
        let owed = self.owed.is_some();
        self.tasks.spawn(async move {
            let ready = match folders {
                Some(folders) => folders.ready(&pids, &order, owed, &ended).await,
                None => Err(format!("{}: no rank runs", crate::node_facts::hostname())),
            };
            match ready {
                Ok(()) => TransferDone::Ask(order),
                Err(trouble) => {
                    TransferDone::Say(Event::Found(files::without_answer(order.id, trouble)))
                }
            }
        });
    }

    /// The ranks that are to be asked now; their answer is waited for.
    pub(crate) fn asked(&mut self, id: u32) -> Vec<u32> {
        let ended = self.rank_ended.clone();
        let Some(folders) = self.folders.clone() else {
            return Vec::new();
        };
        if let Err(trouble) = folders.clear() {
            let found =
                async move { TransferDone::Say(Event::Found(files::without_answer(id, trouble))) };
            self.tasks.spawn(found);
            return Vec::new();
        }
        self.owed = Some(id);
        let ranks = folders.ranks().collect();
        let written =
            async move { TransferDone::Say(Event::Found(folders.written(id, ended).await)) };
        self.tasks.spawn(written);
        ranks
    }

    /// A rank has ended.
    pub(crate) fn rank_ended(&self) {
        self.rank_ended.cancel();
    }

    /// The job ends: nothing of this is wanted any more. An event is due where ranks were still to
    /// start.
    pub(crate) fn stop(&mut self) -> Option<Event> {
        self.tasks.abort_all();
        std::mem::take(&mut self.restoring).then(|| {
            Event::Refusal(Refusal {
                sentence: "the job ended before its ranks had started".into(),
                exit_code: i32::from(Exit::Killed.code()),
                group: 0,
            })
        })
    }
}
