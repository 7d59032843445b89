//! Ranks that do not speak to their process manager: whether they should.
//!
//! Most such programs know nothing of MPI. One that has loaded an MPI library and stays silent does not
//! know that it is part of a job. The first looks come soon, because a short program is over soon, and
//! each later one after a longer time.

use std::time::Duration;

use job::exit::Exit;
use job::wire::Refusal;
use job::wire::mpi_event::Event;
use nix::sys::signal::Signal;
use pmi::PmiStage;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Mpi;
use super::library::{self, Loaded};
use crate::container::OwnContainer;
use crate::node_facts;
use crate::nursery::Whom;

/// Until the first look.
const FIRST: Duration = Duration::from_millis(60);
/// No look after one that would come later than this.
const LAST: Duration = Duration::from_secs(20);
/// Ranks that are looked at: the others run the same program.
const RANKS: usize = 3;

/// Looks at silent ranks.
#[derive(Debug, Default)]
pub(crate) struct Silent {
    next: Option<Instant>,
    /// Until the look behind the next.
    pause: Duration,
    looking: JoinSet<Option<Loaded>>,
    /// What was found in one.
    found: Option<Loaded>,
}

/// What is to be done.
pub(crate) enum Due {
    Look,
    Found(Loaded),
}

impl Silent {
    /// Ranks have begun.
    pub(super) fn begin(&mut self) {
        *self = Self {
            next: Some(Instant::now() + FIRST),
            pause: FIRST,
            ..Self::default()
        };
    }

    /// There is nothing to look for any more.
    fn end(&mut self) {
        self.next = None;
        self.looking.abort_all();
    }

    /// The library that was found, by its path; empty: none.
    pub(super) fn library(&self) -> &str {
        self.found.as_ref().map_or("", |found| &found.path)
    }

    /// Until something is to be done. May be dropped and called again.
    pub(super) async fn next(&mut self) -> Due {
        loop {
            tokio::select! {
                Some(looked) = self.looking.join_next(), if !self.looking.is_empty() => {
                    if let Ok(Some(loaded)) = looked {
                        return Due::Found(loaded);
                    }
                }
                () = super::until(self.next), if self.looking.is_empty() => {
                    self.pause = self.pause.saturating_mul(3) / 2;
                    let next = Instant::now() + self.pause;
                    self.next = (self.pause < LAST).then_some(next);
                    return Due::Look;
                }
            }
        }
    }
}

impl Mpi {
    pub(super) async fn on_silent(&mut self, due: Due, container: &mut OwnContainer<'_>) {
        match due {
            Due::Look => self.look_at_silent(),
            Due::Found(loaded) => self.loaded(loaded, container).await,
        }
    }

    /// Looks at some of the job's own ranks that live and have not spoken.
    fn look_at_silent(&mut self) {
        let Some(world) = self.worlds.get(&0) else {
            return;
        };
        let alive = world.ranks.processes.alive();
        let pids: Vec<i32> = alive
            .filter(|(rank, _)| world.stage(self.pmix.as_deref(), *rank) == PmiStage::Silent)
            .map(|(_, pid)| pid)
            .take(RANKS)
            .collect();
        if pids.is_empty() {
            self.silent.end();
            return;
        }
        // The kernel may let a reader wait for a process that maps a file of a slow disk.
        let look = move || pids.into_iter().find_map(library::of);
        self.silent.looking.spawn_blocking(look);
    }

    /// A silent rank has loaded an MPI library: it may be on its way into `MPI_Init`, save where that
    /// leads to another process manager.
    async fn loaded(&mut self, loaded: Loaded, container: &mut OwnContainer<'_>) {
        let size = self.share.as_ref().map_or(0, |share| share.size);
        let is_alone = loaded.is_open_mpi && self.pmix.is_none();
        let refused = is_alone && size > 1 && !self.stopping;
        let path = loaded.path.clone();
        self.silent.end();
        self.silent.found = Some(loaded);
        if !refused {
            return;
        }
        let named = library::pmix_of(&path);
        let named = named.map_or_else(String::new, |found| format!(": {}", found.display()));
        self.outbox.push_back(Event::Refusal(Refusal {
            sentence: format!(
                "{}: the program has loaded Open MPI ({path}) and runs alone: each of the {size} processes would be a \
                 job of its own; give --pmix LIBPMIX, the libpmix.so.2 of that Open MPI{named}",
                node_facts::hostname()
            ),
            exit_code: i32::from(Exit::Impossible.code()),
            group: 0,
        }));
        let all = Whom::Job(self.job);
        container.nursery.signal(all, Signal::SIGKILL).await;
    }
}
