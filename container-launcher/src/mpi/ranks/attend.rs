//! Starts the tasks that serve ranks which have been forked.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use job::wire::Stream;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Ranks;
use super::fork::Forked;
use crate::forward::{Pump, Way};
use crate::input;
use crate::lane::Lanes;
use crate::mpi::peer::RankSocket;
use crate::mpi::socket::{self, RankMessage};
use crate::mpi::traffic::Traffic;
use crate::process::streams::Outer;
use crate::process::{Process, Processes};
use crate::terminal;

/// Texts of others that wait for their turn on a stream.
const SAID: usize = 16;

/// What serves ranks.
pub(crate) struct Attendants<'a> {
    /// What they print and read.
    pub(crate) traffic: &'a mut Traffic,
    pub(crate) lanes: &'a Lanes,
    /// Where lines of PMI go. They are read on the caller's own thread.
    pub(crate) heard: &'a mpsc::Sender<(u32, RankMessage)>,
}

impl Forked {
    /// Starts the tasks that serve them.
    ///
    /// # Errors
    ///
    /// When the descriptors cannot be watched.
    pub(crate) fn attend(self, by: Attendants<'_>) -> std::io::Result<Ranks> {
        let Attendants {
            traffic,
            lanes,
            heard,
        } = by;
        let chunks = traffic.chunks();
        let Traffic {
            carriers,
            calls,
            pass,
            tasks,
            ..
        } = traffic;
        let mut processes = Processes::new(self.kills);
        let mut peers = BTreeMap::new();
        let mut said = BTreeMap::new();
        let mut terminal = None;
        let mut streams = 0_u32;
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
                let heard = ends.pmi.is_none().then(|| {
                    let (say, heard) = mpsc::channel(SAID);
                    said.insert((rank, stream), say);
                    heard
                });
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
                    said: heard,
                    run: self.run,
                    lanes: lanes.clone(),
                    way: Way::common(),
                };
                tasks.spawn_on(pump.run(), carriers);
                streams = streams.saturating_add(1);
            }
            if let Some(pipe) = input {
                let end = if live { terminal::END_OF_INPUT } else { &[] };
                tasks.spawn_on(
                    input::feed(calls.clone(), pass.clone(), self.run, pipe, end),
                    carriers,
                );
            }
            drop(there);
            processes.add(rank, Process::new(ends.pid, gone, ends.grants));
            let peer = match ends.pmi {
                Some(pmi) => {
                    pmi.set_nonblocking(true)?;
                    let (from, to) = tokio::net::UnixStream::from_std(pmi)?.into_split();
                    let (replies, queued) = mpsc::channel(socket::QUEUE);
                    tasks.spawn(socket::listen(rank, from, heard.clone()));
                    tasks.spawn(socket::answer(to, queued));
                    RankSocket::new(replies, ends.waits)
                }
                None => RankSocket::absent(ends.waits),
            };
            peers.insert(rank, peer);
        }
        Ok(Ranks {
            processes,
            peers,
            said,
            terminal,
            streams,
            _crowd: self.crowd.map(|crowd| crowd.watch(carriers)),
        })
    }
}
