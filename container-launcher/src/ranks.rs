//! The ranks of this container, from their start to the report of their end.

use std::collections::BTreeMap;
use std::io::{PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use job::exit::End;
use job::wire::launcher_event::Event;
use job::wire::launchers_client::LaunchersClient;
use job::wire::{OutOfMemory, PmiStage, Program, RankEnded, Share, Stream, Terminal, WindowSize};
use pmi::{NodeServer, Stage};
use tokio::net::unix::pipe;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

use crate::binding;
use crate::checkpoint;
use crate::cores::Cores;
use crate::environment::{self, Yielding};
use crate::input;
use crate::lane::Lanes;
use crate::nursery::{Ended, Nursery};
use crate::out_of_memory::Kills;
use crate::output::{self, Origin, Pump, Way};
use crate::pmi_socket::{self, Heard};
use crate::program::Run;
use crate::say;
use crate::spawn::{Plan, Streams};
use crate::terminal;
use crate::yielding::{self, Shim};

/// After a rank's end its last PMI lines are waited for, so that an abort is told before the end;
/// not longer, because a process it left behind may hold the socket open.
const LAST_WORDS_MAX: Duration = Duration::from_millis(500);

/// The launcher's ends of a rank's pipes and socket.
struct Ends {
    rank: u32,
    outer: Outer,
    pmi: UnixStream,
    waits: Option<PathBuf>,
    /// What its standard error begins with.
    before: Vec<u8>,
}

/// Where a rank's input comes from and its output goes.
enum Outer {
    Pipes {
        stdin: Option<PipeWriter>,
        stdout: PipeReader,
        stderr: PipeReader,
    },
    /// What it writes is all of one stream.
    Terminal(OwnedFd),
}

/// What is known of one rank.
struct Rank {
    replies: mpsc::Sender<String>,
    /// Tells the output tasks that it is gone.
    gone: CancellationToken,
    pmi_closed: bool,
    ended: Option<(Ended, Instant)>,
    /// It ended when it was to.
    stopped: bool,
    reported: bool,
    aborted: bool,
    /// Where it notes how long it waited.
    waits: Option<PathBuf>,
}

/// All ranks of the share.
pub(crate) struct Ranks {
    /// Before the first of them ran.
    kills: Kills,
    /// Number of their group's rank 0.
    first: u32,
    ranks: BTreeMap<u32, Rank>,
    /// That of rank 0.
    terminal: Option<OwnedFd>,
}

/// Forks the ranks of a share, which are called by their numbers in the job; `first` is that of their
/// group's rank 0, and `gpus` the variable that names each one's devices.
///
/// # Errors
///
/// The first that could not be started; those before it may run.
pub(crate) async fn fork(
    share: &Share,
    programs: &[Run<'_>],
    container: &str,
    folder: &Path,
    nursery: &Nursery,
    first: u32,
    gpus: Vec<Option<(String, String)>>,
) -> std::io::Result<Forked> {
    let yields = yielding::applies(share.yielding(), share.ranks.len(), Cores::usable());
    let shim = if yields { shim(folder) } else { None };
    let yielding = match yields {
        true => Yielding::Yes(shim.as_ref()),
        false => Yielding::No,
    };
    let cross_memory = environment::may_read_across_processes();
    let kills = Kills::so_far();
    let binding = share.binding.unwrap_or_default();
    let sets = binding::sets(&binding);
    let mut gpus = gpus.into_iter();
    let mut ends = Vec::new();
    let programs = programs.iter().flat_map(|run| {
        let mut common = environment::common(
            std::env::vars_os(),
            share,
            run.program,
            container,
            folder,
            cross_memory,
            yielding,
        );
        if first > 0 {
            common.insert("PMI_SPAWNED".into(), "1".into());
        }
        let (common, args) = (Arc::new(common), Arc::from(run.program.args.clone()));
        let with = move |&rank| (rank, run.program, Arc::clone(&common), Arc::clone(&args));
        run.ranks.iter().map(with)
    });
    for (local_rank, (rank, program, environment, args)) in programs.enumerate() {
        let pmi_rank = rank.saturating_sub(first);
        let terminal = share.terminal.as_ref().filter(|_| rank == 0);
        let (streams, outer) = match terminal {
            Some(terminal) => on_terminal(terminal)?,
            None => on_pipes(rank == 0 && share.input)?,
        };
        let waits = shim.as_ref().map(|shim| shim.waits(rank));
        let (pmi, rank_pmi) = UnixStream::pair()?;
        let processors = sets
            .get(local_rank.checked_rem(sets.len()).unwrap_or(0))
            .copied();
        let told = || {
            let where_to = binding::told(processors.as_ref());
            format!("rank {rank} on {}: {where_to}\n", share.host).into_bytes()
        };
        let before = binding.report.then(told).unwrap_or_default();
        let mut own = environment::of_rank(pmi_rank, local_rank, program);
        let given = |name: &str| program.environment.iter().any(|pair| pair.key == name);
        let kind = terminal.map(|terminal| ("TERM".to_owned(), terminal.name.clone()));
        own.extend(kind.filter(|(name, _)| !given(name)));
        own.extend(gpus.next().flatten().filter(|(name, _)| !given(name)));
        if first == 0 {
            own.extend(checkpoint::environment(share, folder, rank));
        }
        let plan = Plan {
            rank,
            pmi_rank,
            local_rank,
            program: path(program, folder),
            folder: (!program.folder.is_empty()).then(|| folder.join(&program.folder)),
            args,
            environment,
            own,
            waits: waits.clone(),
            processors,
            streams,
            pmi: rank_pmi,
        };
        nursery.spawn(plan).await?;
        ends.push(Ends {
            rank,
            outer,
            pmi,
            waits,
            before,
        });
    }
    let origin = Origin {
        host: share.host.clone(),
        node: share.node,
    };
    Ok(Forked {
        kills,
        first,
        ends,
        origin,
        run: share.run,
    })
}

fn on_pipes(input: bool) -> std::io::Result<(Streams, Outer)> {
    let (rank_stdin, stdin) = match input {
        true => {
            let (reader, writer) = std::io::pipe()?;
            (Some(reader), Some(writer))
        }
        false => (None, None),
    };
    let (stdout, rank_stdout) = std::io::pipe()?;
    let (stderr, rank_stderr) = std::io::pipe()?;
    let streams = Streams::Pipes {
        stdin: rank_stdin,
        stdout: rank_stdout,
        stderr: rank_stderr,
    };
    let outer = Outer::Pipes {
        stdin,
        stdout,
        stderr,
    };
    Ok((streams, outer))
}

fn on_terminal(terminal: &Terminal) -> std::io::Result<(Streams, Outer)> {
    let (own, ranks) = terminal::open(terminal.size.unwrap_or_default())?;
    Ok((Streams::Terminal(ranks), Outer::Terminal(own)))
}

/// How a program is called: as its first argument shows it, short where it starts beside its file.
fn path(program: &Program, folder: &Path) -> PathBuf {
    match program.folder.is_empty() {
        true => Path::new(".").join(&program.file),
        false => folder.join(&program.file),
    }
}

/// The shim where it can be had: without it the job is slow, not wrong.
fn shim(folder: &Path) -> Option<Shim> {
    match Shim::write(folder) {
        Ok(shim) => Some(shim),
        Err(error) => {
            say(&format!(
                "ranks outnumber cores and MPICH cannot be made to yield: the shim cannot be put \
                 into {}: {error}",
                folder.display()
            ));
            None
        }
    }
}

/// Ranks that run but are not yet listened to.
pub(crate) struct Forked {
    kills: Kills,
    first: u32,
    ends: Vec<Ends>,
    origin: Origin,
    run: u32,
}

/// What serves ranks.
pub(crate) struct Attendants<'a> {
    /// They carry what the ranks print and read.
    pub(crate) carriers: &'a Handle,
    pub(crate) client: &'a LaunchersClient<Channel>,
    pub(crate) lanes: &'a Lanes,
    /// Where lines of PMI go. They are read on the caller's own thread.
    pub(crate) heard: &'a mpsc::Sender<(u32, Heard)>,
    pub(crate) tasks: &'a mut JoinSet<()>,
}

impl Forked {
    /// Starts the tasks that serve them.
    ///
    /// # Errors
    ///
    /// When the descriptors cannot be watched.
    pub(crate) fn attend(self, by: Attendants<'_>) -> std::io::Result<Ranks> {
        let Attendants {
            carriers,
            client,
            lanes,
            heard,
            tasks,
        } = by;
        let (chunks, queued) = mpsc::channel(output::QUEUE);
        tasks.spawn_on(output::carry(client.clone(), queued), carriers);
        let mut ranks = BTreeMap::new();
        let mut terminal = None;
        for ends in self.ends {
            let rank = ends.rank;
            let gone = CancellationToken::new();
            // The pipes are watched where they are read.
            let there = carriers.enter();
            let (input, outputs, live) = match ends.outer {
                Outer::Pipes {
                    stdin,
                    stdout,
                    stderr,
                } => {
                    let outputs = vec![
                        (Stream::Stdout, OwnedFd::from(stdout), Vec::new()),
                        (Stream::Stderr, OwnedFd::from(stderr), ends.before),
                    ];
                    let stdin = stdin.map(|stdin| pipe::Sender::from_owned_fd(stdin.into()));
                    (stdin.transpose()?, outputs, false)
                }
                Outer::Terminal(own) => {
                    let input = pipe::Sender::from_owned_fd_unchecked(own.try_clone()?)?;
                    let output = (Stream::Stdout, own.try_clone()?, ends.before);
                    terminal = Some(own);
                    (Some(input), vec![output], true)
                }
            };
            for (stream, pipe, before) in outputs {
                let pump = Pump {
                    rank,
                    stream,
                    pipe: match live {
                        true => pipe::Receiver::from_owned_fd_unchecked(pipe)?,
                        false => pipe::Receiver::from_owned_fd(pipe)?,
                    },
                    live,
                    chunks: chunks.clone(),
                    ended: gone.clone(),
                    origin: Some(self.origin.clone()),
                    before,
                    run: self.run,
                    lanes: lanes.clone(),
                    way: Way::common(),
                };
                tasks.spawn_on(pump.run(), carriers);
            }
            if let Some(pipe) = input {
                let end = if live { terminal::END_OF_INPUT } else { &[] };
                tasks.spawn_on(input::feed(client.clone(), pipe, end), carriers);
            }
            drop(there);
            ends.pmi.set_nonblocking(true)?;
            let (from, to) = tokio::net::UnixStream::from_std(ends.pmi)?.into_split();
            let (replies, queued) = mpsc::channel(pmi_socket::QUEUE);
            tasks.spawn(pmi_socket::listen(rank, from, heard.clone()));
            tasks.spawn(pmi_socket::answer(to, queued));
            ranks.insert(
                rank,
                Rank {
                    replies,
                    gone,
                    pmi_closed: false,
                    ended: None,
                    stopped: false,
                    reported: false,
                    aborted: false,
                    waits: ends.waits,
                },
            );
        }
        Ok(Ranks {
            kills: self.kills,
            first: self.first,
            ranks,
            terminal,
        })
    }
}

impl Ranks {
    /// The terminal that rank 0 may have here has another size.
    pub(crate) fn resize(&self, size: WindowSize) {
        if let Some(terminal) = &self.terminal {
            terminal::resize(terminal, size);
        }
    }

    /// Queues an answer. False: the rank does not read its answers.
    pub(crate) fn reply(&self, rank: u32, line: String) -> bool {
        match self.ranks.get(&rank) {
            Some(state) => !matches!(
                state.replies.try_send(line),
                Err(mpsc::error::TrySendError::Full(_))
            ),
            None => true,
        }
    }

    /// Notes that a rank asked to end the job. False: it did so before.
    pub(crate) fn abort(&mut self, rank: u32) -> bool {
        self.ranks
            .get_mut(&rank)
            .is_some_and(|state| !std::mem::replace(&mut state.aborted, true))
    }

    /// Nothing more will be heard of a rank.
    pub(crate) fn closed(&mut self, rank: u32) {
        if let Some(state) = self.ranks.get_mut(&rank) {
            state.pmi_closed = true;
        }
    }

    /// Notes who was reaped, and whether that was after the order to stop.
    pub(crate) fn ended(&mut self, ended: &[Ended], stopped: bool) {
        for &end in ended {
            if let Some(state) = self.ranks.get_mut(&end.rank) {
                state.gone.cancel();
                state.stopped = stopped;
                state.ended = Some((end, Instant::now() + LAST_WORDS_MAX));
            }
        }
    }

    /// All are gone, and it was told.
    pub(crate) fn all_reported(&self) -> bool {
        self.ranks.values().all(|state| state.reported)
    }

    /// How many still run.
    pub(crate) fn alive(&self) -> usize {
        let alive = self.ranks.values().filter(|state| state.ended.is_none());
        alive.count()
    }

    /// Their numbers.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.ranks.keys().copied()
    }

    pub(crate) fn has(&self, rank: u32) -> bool {
        self.ranks.contains_key(&rank)
    }

    /// All are gone and reaped.
    pub(crate) fn all_ended(&self) -> bool {
        self.ranks.values().all(|state| state.ended.is_some())
    }

    /// When the next end is to be reported even if its last words are missing.
    pub(crate) fn next_report(&self) -> Option<Instant> {
        self.ranks
            .values()
            .filter(|state| !state.reported)
            .filter_map(|state| state.ended.as_ref().map(|(_, at)| *at))
            .min()
    }

    /// The reports that are due.
    pub(crate) fn reports(&mut self, node: &NodeServer) -> Vec<Event> {
        let now = Instant::now();
        let mut reports = Vec::new();
        for (&rank, state) in &mut self.ranks {
            let Some((ended, at)) = state.ended else {
                continue;
            };
            if state.reported || !(state.pmi_closed || now >= at) {
                continue;
            }
            state.reported = true;
            let stage = match node.stage(rank.saturating_sub(self.first)) {
                Stage::Silent => PmiStage::Silent,
                Stage::Initialized => PmiStage::Initialized,
                Stage::Finalized => PmiStage::Finalized,
            };
            let out_of_memory = match ended.end {
                End::Signal(9) => Kills::so_far().since(self.kills),
                _ => OutOfMemory::No,
            };
            reports.push(Event::Ended(RankEnded {
                rank,
                how: Some(ended.end.into()),
                pmi: stage.into(),
                max_rss_kib: ended.max_rss_kib,
                cpu_us: ended.cpu_us,
                out_of_memory: out_of_memory.into(),
                stopped: state.stopped,
                waiting_share: state
                    .waits
                    .as_deref()
                    .and_then(|file| yielding::waiting_share(file, ended.life)),
            }));
        }
        reports
    }
}
