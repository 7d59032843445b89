//! The broker's thread: stands by, takes over, and serves until it is stopped.

use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use gerbil_task::{FromEngine, ToEngine, VERSION};
use policy::read_order::{
    BROKER_ENGINES, ChunkCost, EngineContainer, EngineIx, EnginePlace, ReadBroker, ReadOrder,
    TaskReady,
};
use policy::schedule::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::BrokerSettings;
use crate::lock::{self, Served};
use crate::peer::{Peer, PeerError};

/// Between two tries to take over.
const STANDBY: Duration = Duration::from_millis(100);
/// An engine says hello within this.
const HELLO: Duration = Duration::from_secs(10);
/// Longest name of a job, a GPU or a container, bytes.
const NAME_MAX: usize = 256;
/// Most connections, those that have not said hello included.
const PEERS_MAX: usize = BROKER_ENGINES * 2;
/// Accepted at a time.
const ACCEPTED: usize = 16;

/// An engine that has had a token for too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HungEngine {
    /// Its process, as the kernel numbers it here; 0 where it does not tell.
    pub pid: i32,
    /// Of which of its tasks.
    pub task: u32,
}

/// What the thread tells of.
pub(super) struct Ears<'a> {
    hung: &'a dyn Fn(&HungEngine),
    said: &'a dyn Fn(&str),
}

/// Stands by until this one has the lock, and then serves until `stop` is closed.
pub(super) fn serve(
    settings: &BrokerSettings,
    order: Box<dyn ReadOrder>,
    stop: &UnixStream,
    hung: &dyn Fn(&HungEngine),
    said: &dyn Fn(&str),
) {
    let socket = crate::socket(&settings.folder, &settings.key);
    let mut trouble = None;
    let served = loop {
        match lock::serve(&settings.folder, &settings.key, &socket) {
            Ok(Some(served)) => break served,
            Ok(None) => trouble = None,
            Err(error) => {
                let sentence = format!(
                    "no broker orders the reads of {}: {}: {error}",
                    settings.key,
                    settings.folder.display()
                );
                if trouble.as_ref() != Some(&sentence) {
                    said(&sentence);
                }
                trouble = Some(sentence);
            }
        }
        if waits(stop, STANDBY) {
            return;
        }
    };
    let timeout = u64::try_from(settings.io_timeout.as_nanos()).unwrap_or(u64::MAX);
    let mut run = BrokerRun {
        begin: Instant::now(),
        broker: ReadBroker::new(order, Nanos(timeout)),
        peers: Vec::new(),
        next: 0,
        ears: Ears { hung, said },
        key: Path::new(&settings.key),
    };
    run.serve(&served, stop);
}

/// Whether `stop` was closed within so long.
fn waits(stop: &UnixStream, span: Duration) -> bool {
    let mut polled = [PollFd::new(stop, PollFlags::IN)];
    let ready = poll(&mut polled, timespec(span).as_ref());
    ready.is_ok_and(|ready| ready > 0)
}

fn timespec(span: Duration) -> Option<Timespec> {
    Timespec::try_from(span).ok()
}

/// The state of the thread.
struct BrokerRun<'a> {
    begin: Instant,
    broker: ReadBroker,
    peers: Vec<Peer>,
    next: u64,
    ears: Ears<'a>,
    key: &'a Path,
}

impl BrokerRun<'_> {
    fn serve(&mut self, served: &Served, stop: &UnixStream) {
        loop {
            let mut polled = vec![
                PollFd::new(stop, PollFlags::IN),
                PollFd::new(&served.listener, PollFlags::IN),
            ];
            polled.extend(self.peers.iter().map(|peer| {
                let flags = match peer.is_behind() {
                    true => PollFlags::IN | PollFlags::OUT,
                    false => PollFlags::IN,
                };
                PollFd::from_borrowed_fd(peer.stream.as_fd(), flags)
            }));
            let span = self.due().and_then(timespec);
            // Interrupted: everything is looked at once more.
            let ready = poll(&mut polled, span.as_ref()).is_ok();
            let ready: Vec<bool> = polled
                .iter()
                .map(|polled| ready && !polled.revents().is_empty())
                .collect();
            drop(polled);
            let (ends, accepts) = (ready.first(), ready.get(1));
            if ends == Some(&true) {
                return;
            }
            let heard: Vec<EngineIx> = self
                .peers
                .iter()
                .zip(ready.iter().skip(2))
                .filter_map(|(peer, ready)| ready.then_some(peer.engine))
                .collect();
            for engine in heard {
                if let Err(error) = self.hear(engine) {
                    self.part(engine, &error);
                }
                self.grant();
            }
            if accepts == Some(&true) {
                self.accept(served);
            }
            self.end_late();
            self.grant();
        }
    }

    fn now(&self) -> Nanos {
        Nanos(u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// How long until something is late.
    fn due(&self) -> Option<Duration> {
        let token = self.broker.due();
        let token = token.map(|due| Duration::from_nanos(due.since(self.now()).0));
        let now = Instant::now();
        let hellos = self.peers.iter().filter_map(|peer| peer.hello_by);
        let hello = hellos.map(|by| by.saturating_duration_since(now)).min();
        token.into_iter().chain(hello).min()
    }

    fn accept(&mut self, served: &Served) {
        for _ in 0..ACCEPTED {
            let Ok((stream, _)) = served.listener.accept() else {
                return;
            };
            // Whoever is one too many finds its connection closed.
            if self.peers.len() >= PEERS_MAX {
                continue;
            }
            let engine = EngineIx(self.next);
            self.next = self.next.saturating_add(1);
            if let Ok(peer) = Peer::new(engine, stream, Instant::now() + HELLO) {
                self.peers.push(peer);
            }
        }
    }

    fn hear(&mut self, engine: EngineIx) -> Result<(), String> {
        let Some(peer) = self.peers.iter_mut().find(|peer| peer.engine == engine) else {
            return Ok(());
        };
        let messages = peer.hear().and_then(|messages| {
            peer.send()?;
            Ok(messages)
        });
        let messages = messages.map_err(|error| match error {
            PeerError::Closed => String::new(),
            error => error.to_string(),
        })?;
        for message in messages {
            self.take(engine, message)?;
        }
        Ok(())
    }

    fn take(&mut self, engine: EngineIx, message: FromEngine) -> Result<(), String> {
        let now = self.now();
        let taken = match message {
            FromEngine::Hello {
                version,
                job,
                gpu,
                container,
            } => return self.hello(engine, version, [job, gpu, container]),
            FromEngine::Ready {
                task,
                chunk,
                bytes,
                priority,
            } => {
                let ready = TaskReady {
                    task,
                    chunk,
                    bytes,
                    priority: u8::try_from(priority).unwrap_or(u8::MAX),
                };
                self.broker.ready(engine, &ready)
            }
            FromEngine::Read { task } => self.broker.read(now, engine, task),
            FromEngine::Done {
                task,
                bytes,
                io,
                h2d,
                kernel,
                d2h,
            } => {
                let cost = ChunkCost {
                    bytes,
                    io: Nanos(io),
                    transfer: Nanos(h2d.saturating_add(d2h)),
                    kernel: Nanos(kernel),
                };
                self.broker.done(now, engine, task, &cost)
            }
            FromEngine::Ended { task } => self.broker.ended(engine, task),
            _ => return Err("a message that a broker does not know".to_owned()),
        };
        taken.map_err(|error| error.to_string())
    }

    fn hello(
        &mut self,
        engine: EngineIx,
        version: u32,
        [job, gpu, container]: [String; 3],
    ) -> Result<(), String> {
        if version != VERSION {
            return Err(format!(
                "it speaks version {version} of the task protocol, and this broker {VERSION}: build both of one release"
            ));
        }
        if [&job, &gpu, &container]
            .iter()
            .any(|name| name.len() > NAME_MAX)
        {
            return Err(format!("a name of more than {NAME_MAX} bytes"));
        }
        let mut peers = self.peers.iter_mut();
        let Some(peer) = peers.find(|peer| peer.engine == engine) else {
            return Ok(());
        };
        if peer.hello_by.take().is_none() {
            return Err("it has said hello twice".to_owned());
        }
        let container = match container.as_str() {
            "" | "shared" => EngineContainer::Shared,
            "own" => EngineContainer::Own,
            _ => EngineContainer::Named(container),
        };
        let place = EnginePlace {
            job,
            gpu,
            container,
        };
        let joined = self.broker.join(engine, place);
        joined.map_err(|error| error.to_string())?;
        let welcome = ToEngine::Welcome { version: VERSION };
        peer.tell(&welcome).map_err(|error| error.to_string())
    }

    /// Tells engines of their tokens. One that cannot be told is gone, and another has its token.
    fn grant(&mut self) {
        loop {
            let now = self.now();
            let grants = self.broker.grants(now);
            if grants.is_empty() {
                return;
            }
            for grant in grants {
                let mut peers = self.peers.iter_mut();
                let peer = peers.find(|peer| peer.engine == grant.engine);
                let read = ToEngine::Read {
                    task: grant.task,
                    chunks: 1,
                };
                let told = peer.map(|peer| peer.tell(&read));
                if let Some(Err(error)) = told {
                    self.part(grant.engine, &error.to_string());
                }
            }
        }
    }

    fn end_late(&mut self) {
        let now = self.now();
        let overdue: Vec<_> = self.broker.overdue(now).collect();
        for grant in overdue {
            let mut peers = self.peers.iter();
            let peer = peers.find(|peer| peer.engine == grant.engine);
            (self.ears.hung)(&HungEngine {
                pid: peer.map_or(0, |peer| peer.pid),
                task: grant.task,
            });
            self.part(
                grant.engine,
                &format!("it has read a chunk of task {} for too long", grant.task),
            );
        }
        let now = Instant::now();
        let is_late = |peer: &&Peer| peer.hello_by.is_some_and(|by| by <= now);
        let silent: Vec<EngineIx> = self
            .peers
            .iter()
            .filter(is_late)
            .map(|peer| peer.engine)
            .collect();
        for engine in silent {
            self.part(engine, &format!("no hello within {} s", HELLO.as_secs()));
        }
    }

    /// Parts with an engine. Without a sentence it is gone already.
    fn part(&mut self, engine: EngineIx, sentence: &str) {
        self.broker.leave(engine);
        let Some(at) = self.peers.iter().position(|peer| peer.engine == engine) else {
            return;
        };
        let mut peer = self.peers.swap_remove(at);
        if sentence.is_empty() {
            return;
        }
        (self.ears.said)(&format!(
            "the read broker of {} parts with process {}: {sentence}",
            self.key.display(),
            peer.pid
        ));
        // It may not read this either.
        drop(peer.tell(&ToEngine::Refused {
            sentence: sentence.to_owned(),
        }));
    }
}
