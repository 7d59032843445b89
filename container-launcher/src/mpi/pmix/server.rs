//! The launcher's hold on a server: starts it, answers it, notices its end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use job::exit::Exit;
use job::wire::mpi_event::Event;
use job::wire::{
    FenceDone, Group, ModexAnswer, ModexRequest, PmixCall, PmixJob, PmixLog, PmixModex,
    PmixModexed, PmixOrder, PmixReady, PmixSpawn, PmixVariables, Refusal, Share, SpawnAnswer,
    pmix_call, pmix_order,
};
use nix::unistd::Pid;
use pmi::{Effect, PmiStage};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::calls::{Calls, Outcome};
use super::names::PAUSE;
use super::socket::{answer, begin, greet, listen};
use super::{libfabric, places, variables};
use crate::cores::Cores;
use crate::mpi::yielding;
use crate::node_facts;
use crate::program::LocalRanks;
use crate::surroundings::Surroundings;

/// How long a server may take until it serves.
const READY_MAX: Duration = Duration::from_secs(10);
/// Answers that wait for a server, which reads them at once: each local rank waits for one at a time. What other
/// containers ask for beyond them is refused.
const QUEUE: usize = 4096;
/// How long a rank waits for what a rank of another container is to tell.
const MODEX_MAX: Duration = Duration::from_secs(120);

/// What is heard of a server.
#[derive(Debug)]
pub(crate) enum Served {
    Call(PmixCall),
    /// What a rank here has told.
    Modexed(PmixModexed),
    /// The look-up of this rank is to be tried again.
    Again(u32),
    /// What the call of this number asks for has not come in time.
    Late(u64),
    /// It serves another group, with these variables.
    Ready(PmixReady),
    /// It cannot serve another group, and why.
    Refused(String),
    /// Another group is not served in time.
    NotReady,
    /// It has ended, or says what makes no sense.
    Gone,
}

/// A server that serves.
pub(crate) struct PmixServer {
    process: Pid,
    /// What its library calls itself.
    version: String,
    /// What it was told of the job's own ranks, and is told of others like it.
    job: PmixJob,
    folder: PathBuf,
    /// The variables of each local rank of a group, in their order.
    variables: BTreeMap<u32, Vec<Vec<(String, String)>>>,
    calls: Calls,
    answers: mpsc::Sender<PmixOrder>,
    told: mpsc::Sender<(u32, Served)>,
    /// They read and write its socket, which ends with them, and the server with that; and some wait for a deadline.
    tasks: JoinSet<()>,
}

impl PmixServer {
    /// Starts the server of a share, whose files are in `files`; none: nobody wants one. Its calls are told to `told`
    /// under the number of the group that they are of.
    ///
    /// # Errors
    ///
    /// The refusal to send.
    pub(crate) async fn start(
        share: &Share,
        programs: &[LocalRanks<'_>],
        files: &Path,
        environment: BTreeMap<OsString, OsString>,
        around: &Surroundings,
        told: &mpsc::Sender<(u32, Served)>,
    ) -> Result<Option<Self>, Refusal> {
        let Some(job) = places::of(share, programs, files)? else {
            return Ok(None);
        };
        let library = job.library.clone();
        let refuse = |exit: Exit, why: String| Refusal {
            sentence: format!("{}: {library}: {why}", node_facts::hostname()),
            exit_code: i32::from(exit.code()),
            group: 0,
        };
        let folder = PathBuf::from(&job.folder);
        let calls = Calls::of(&job);
        let lost = |error: std::io::Error| {
            refuse(
                Exit::Lost,
                format!("its PMIx server does not start: {error}"),
            )
        };
        std::fs::create_dir_all(&folder).map_err(lost)?;
        let (process, mut socket) = begin(environment, around).map_err(lost)?;
        let ready = timeout(READY_MAX, greet(&mut socket, job.clone())).await;
        let ready = match ready {
            Ok(Ok(Ok(ready))) => ready,
            Ok(Ok(Err(why))) => return Err(refuse(Exit::NotFound, why)),
            Ok(Err(_)) => {
                let why =
                    "its PMIx server has ended before it served; the container's log has its words";
                return Err(refuse(Exit::Lost, why.to_owned()));
            }
            Err(_) => {
                let why = format!(
                    "its PMIx server does not serve after {} s",
                    READY_MAX.as_secs()
                );
                return Err(refuse(Exit::Lost, why));
            }
        };
        let (from, to) = socket.into_split();
        let (answers, queued) = mpsc::channel(QUEUE);
        let mut tasks = JoinSet::new();
        tasks.spawn(listen(from, told.clone()));
        tasks.spawn(answer(to, queued));
        Ok(Some(Self {
            process,
            // Behind it in brackets are the standards that it keeps.
            version: match ready.version.split_once(" (") {
                Some((release, _)) => release.to_owned(),
                None => ready.version.clone(),
            },
            job,
            folder,
            variables: [(0, variables_of(ready))].into(),
            calls,
            answers,
            told: told.clone(),
            tasks,
        }))
    }

    pub(crate) fn stage(&self, group: u32, rank: u32) -> PmiStage {
        self.calls.stage(group, rank)
    }

    /// Has it serve a spawned group, too. What comes of it is told as [`Served`].
    ///
    /// # Errors
    ///
    /// It does not read what it is told.
    pub(crate) fn add(&mut self, group: &Group, appnums: Vec<u32>) -> Result<(), Refusal> {
        let job = PmixJob {
            name_space: group.kvs_name.clone(),
            nodes: group.nodes.clone(),
            here: group.node,
            appnums,
            group: group.group,
            first: group.first,
            parent_name_space: match group.parent_kvs_name.as_str() {
                "" => self.job.name_space.clone(),
                name => name.to_owned(),
            },
            parent_rank: group.parent_rank,
            ..self.job.clone()
        };
        self.calls.add(&job);
        let order = PmixOrder {
            order: Some(pmix_order::Order::Job(job)),
        };
        if self.answers.try_send(order).is_err() {
            return Err(Refusal {
                group: group.group,
                ..does_not_read()
            });
        }
        let (told, number) = (self.told.clone(), group.group);
        self.tasks.spawn(async move {
            sleep(READY_MAX).await;
            drop(told.send((number, Served::NotReady)).await);
        });
        Ok(())
    }

    /// It serves a group, whose ranks find it by these.
    pub(crate) fn serves(&mut self, ready: PmixReady) {
        self.variables.insert(ready.group, variables_of(ready));
    }

    /// All ranks of a group that were here have ended, or none begins.
    pub(crate) fn forget(&mut self, group: u32) {
        self.variables.remove(&group);
    }

    /// All ranks of a group have ended, wherever they ran: no rank asks for it any more.
    pub(crate) fn remove(&mut self, group: u32) {
        self.forget(group);
        self.calls.remove(group);
        let order = PmixOrder {
            order: Some(pmix_order::Order::Over(group)),
        };
        // One that does not read keeps what it has.
        self.answers.try_send(order).ok();
    }

    pub(crate) fn process(&self) -> Pid {
        self.process
    }

    /// What its library calls itself.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// By which the local rank of this number in a group finds it.
    pub(crate) fn variables(&self, group: u32, local: usize) -> &[(String, String)] {
        let of = self.variables.get(&group);
        of.and_then(|of| of.get(local)).map_or(&[], Vec::as_slice)
    }

    /// What the ranks of a share, which have this environment, are told where the user has said nothing else.
    pub(crate) fn suggested(
        &self,
        share: &Share,
        cross_memory: bool,
        environment: &BTreeMap<OsString, OsString>,
    ) -> Vec<(&'static str, String)> {
        // They give up their core while they wait.
        let yields = yielding::applies(
            share.yielding(),
            share.ranks.len(),
            Cores::usable_of(&share.cpus),
        );
        let library = Path::new(&self.job.library);
        let without = libfabric::is_useless(library, environment, Path::new("/"));
        let mut variables = variables::suggested(&self.folder, cross_memory, yields);
        variables.extend(without.then(|| (libfabric::CLOSED.0, libfabric::CLOSED.1.to_owned())));
        variables
    }

    /// Whether a rank here has this variable of those.
    pub(crate) fn has_suggested(&self, name: &str, value: &str) -> bool {
        (name, value) == libfabric::CLOSED || variables::is_suggested(&self.folder, name, value)
    }

    /// Hears a call; what is to be done about it.
    pub(crate) fn on(&mut self, call: PmixCall) -> Wants {
        while self.tasks.try_join_next().is_some() {}
        if let Some(pmix_call::Call::Modex(_)) = call.call {
            let (told, number) = (self.told.clone(), call.number);
            self.tasks.spawn(async move {
                sleep(MODEX_MAX).await;
                drop(told.send((0, Served::Late(number))).await);
            });
        }
        let outcome = self.calls.on(call);
        self.carry_out(outcome)
    }

    /// The job's name service has answered a rank.
    pub(crate) fn name_answered(
        &mut self,
        group: u32,
        rank: u32,
        outcome: Result<&str, &str>,
    ) -> Wants {
        let outcome = self.calls.name_answered(group, rank, outcome);
        self.carry_out(outcome)
    }

    /// A look-up is tried again.
    pub(crate) fn ask_again(&mut self, group: u32, rank: u32) -> Wants {
        let outcome = self.calls.ask_again(group, rank);
        self.carry_out(outcome)
    }

    /// What a rank wanted to be started runs, or does not.
    pub(crate) fn spawned(&mut self, answer: SpawnAnswer) -> Wants {
        let is_there = answer.refusal.is_empty();
        let name = is_there.then_some(answer.kvs_name);
        self.carry_out(Calls::spawned(answer.call, name))
    }

    /// A piece of what all containers have told in a fence has come.
    pub(crate) fn fence_done(&mut self, piece: FenceDone) -> Wants {
        let outcome = self.calls.fence_done(piece);
        self.carry_out(outcome)
    }

    /// What a rank of another container has told has come; none: it has not come in time.
    pub(crate) fn modexed(&mut self, call: u64, told: Option<ModexAnswer>) -> Wants {
        let outcome = self.calls.modexed(call, told);
        self.carry_out(outcome)
    }

    /// Whether what a rank said to the user is on its way.
    pub(crate) fn said(&mut self, call: u64, is_said: bool) -> Wants {
        self.carry_out(Calls::said(call, is_said))
    }

    /// Another container wants what a rank here has told; where that cannot be had, the answer.
    pub(crate) fn asked(&mut self, request: ModexRequest) -> Option<Event> {
        let (group, rank) = (request.group, request.rank);
        let number = self.calls.asking(request);
        let modex = PmixModex {
            number,
            rank,
            group,
        };
        let order = PmixOrder {
            order: Some(pmix_order::Order::Modex(modex)),
        };
        match self.answers.try_send(order) {
            Ok(()) => None,
            Err(_) => self.found(PmixModexed {
                number,
                failed: true,
                ..PmixModexed::default()
            }),
        }
    }

    /// What a rank here has told; the answer for whom it is.
    pub(crate) fn found(&mut self, told: PmixModexed) -> Option<Event> {
        self.calls.found(told)
    }

    fn carry_out(&mut self, outcome: Outcome) -> Wants {
        let mut event = outcome.event;
        if let Some(rank) = outcome.again {
            let (told, group) = (self.told.clone(), outcome.group);
            self.tasks.spawn(async move {
                sleep(PAUSE).await;
                drop(told.send((group, Served::Again(rank))).await);
            });
        }
        if let Some(answer) = outcome.answer {
            let order = PmixOrder {
                order: Some(pmix_order::Order::Answer(answer)),
            };
            match self.answers.try_send(order) {
                // One that is gone is told of by itself.
                Ok(()) | Err(TrySendError::Closed(_)) => {}
                // The rank would wait for ever.
                Err(TrySendError::Full(_)) => event = Some(Event::Refusal(does_not_read())),
            }
        }
        Wants {
            group: outcome.group,
            effects: outcome.effects,
            event,
            logged: outcome.logged,
            spawn: outcome.spawn,
        }
    }
}

fn variables_of(ready: PmixReady) -> Vec<Vec<(String, String)>> {
    let of_rank = |rank: PmixVariables| {
        let pairs = rank.variables.into_iter();
        pairs.map(|pair| (pair.key, pair.value)).collect()
    };
    ready.ranks.into_iter().map(of_rank).collect()
}

fn does_not_read() -> Refusal {
    Refusal {
        sentence: format!(
            "{}: its PMIx server has left {QUEUE} answers unread",
            node_facts::hostname()
        ),
        exit_code: i32::from(Exit::Lost.code()),
        group: 0,
    }
}

/// What the launcher's loop is to do.
pub(crate) struct Wants {
    /// Whose ranks are named.
    pub(crate) group: u32,
    pub(crate) effects: Vec<Effect>,
    /// What the ApplicationMaster is told.
    pub(crate) event: Option<Event>,
    /// What a rank says to the user, by the call that is answered when it is said.
    pub(crate) logged: Option<(u64, PmixLog)>,
    /// Which rank wants which processes to be started, by the call that is answered when they run.
    pub(crate) spawn: Option<(u64, PmixSpawn)>,
}

impl Drop for PmixServer {
    fn drop(&mut self) {
        // What was shared by processes that were killed.
        std::fs::remove_dir_all(&self.folder).ok();
    }
}
