//! A launcher whose ranks are nothing: it speaks a launcher's part over the job's own TLS and gRPC,
//! with the keys and the ticket of its container, takes its share, says that the ranks run, and
//! reports their ends.
//!
//! What the ranks would do follows from the name of their program, so that a job asks for it like any
//! other; see [`PROGRAMS`]. A signal that would end a process ends them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, anyhow, bail};
use credentials::Credentials;
use job::pass::Pass;
use job::resumable::{Message, Resumable};
use job::secrets;
use job::sequence::Bounds;
use job::transport;
use job::wire;
use job::wire::launcher_event::Event as Told;
use job::wire::launcher_order::Order as Said;
use job::wire::launchers_client::LaunchersClient;
use job::wire::mpi_event::Event;
use job::wire::mpi_order::Order;
use job::wire::rank_ended::How;
use job::wire::{
    Fence, KeyValue, LauncherEvent, LauncherHello, LauncherOrder, MpiEvent, MpiOrder, NodeFacts,
    OutputChunk, PmiSeen, PmiStage, Program, RankEnded, RankUsage, RankUsages, RanksStarted, Share,
};
use mini::node_manager::{Accepted, Life, StandIn};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep, sleep_until, timeout};
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Request;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

/// Programs that hollow ranks know, each a shell script that does about the same on a real node; any
/// other ends at once, with 0. The first argument is for how many seconds they run, the second, of
/// `exchange`, how many barriers they enter first.
pub const PROGRAMS: [(&str, &str); 3] = [
    // Asleep: nothing is sent but the keep-alive.
    ("idle", "exec sleep \"$1\""),
    // Using a processor: what they use is told once a second.
    ("busy", "exec sleep \"$1\""),
    // MPI programs: each barrier takes a value of each rank to all others.
    ("exchange", "exec sleep \"$1\""),
];

/// Token of an ApplicationMaster.
const APPLICATION_MASTER: &str = "YARN_AM_RM_TOKEN";
/// All attempts to connect.
const DIAL: Duration = Duration::from_secs(30);
const DIAL_PAUSE: Duration = Duration::from_millis(500);
/// For an answer to hello, and for the last output to be taken.
const ANSWER: Duration = Duration::from_secs(30);
/// Chunks that wait for the connection.
const SENDING: usize = 8;
/// Events that do.
const BOUNDS: Bounds = Bounds {
    count: 1 << 16,
    bytes: usize::MAX,
};
/// Between two accounts of what ranks use.
const SAMPLE: Duration = Duration::from_secs(1);
/// Exit code of a launcher that lost its ApplicationMaster, as the real one has it.
const LOST: i32 = 70;
/// Bytes of a value that a rank puts, about what MPICH's business cards take.
const CARD: usize = 64;

/// All hollow launchers of a fleet.
#[derive(Debug, Default)]
pub struct Launchers {
    links: bool,
    joined: AtomicU64,
    left: AtomicU64,
    trouble: Mutex<Option<String>>,
}

impl Launchers {
    pub(super) fn new(links: bool) -> Self {
        Self {
            links,
            ..Self::default()
        }
    }

    /// How many have said hello so far.
    #[must_use]
    pub fn joined(&self) -> u64 {
        self.joined.load(Ordering::Relaxed)
    }

    /// How many have left in order.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    fn complain(&self, words: String) {
        let trouble = self.trouble.lock();
        *trouble.unwrap_or_else(PoisonError::into_inner) = Some(words);
    }

    /// What the last one that failed complained of.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        let trouble = self.trouble.lock();
        trouble.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Writes [`PROGRAMS`] into `folder`; the path of the one called `name`.
///
/// # Errors
///
/// There is no such one, or it cannot be written.
pub fn program(name: &str, folder: &Path) -> Result<PathBuf> {
    let known = PROGRAMS.iter().find(|(known, _)| *known == name);
    let (_, script) = known.with_context(|| format!("{name}: hollow ranks do not know it"))?;
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n"))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

/// Decides what lives in a container, for the launchers of one fleet.
pub(super) struct InPlace(pub(super) Arc<Launchers>);

impl StandIn for InPlace {
    fn stand_in(&self, accepted: &Accepted<'_>) -> Option<Life> {
        let held = &accepted.launch.tokens;
        if held
            .tokens
            .values()
            .any(|token| token.kind == APPLICATION_MASTER)
        {
            return None;
        }
        let launchers = Arc::clone(&self.0);
        Some(match LauncherKeys::read(held).filter(|_| launchers.links) {
            Some(place) => Box::pin(async move {
                match Box::pin(live(&place, &launchers)).await {
                    Ok(()) => {
                        launchers.left.fetch_add(1, Ordering::Relaxed);
                        0
                    }
                    Err(error) => {
                        launchers.complain(format!("{}: {error:#}", place.context.container));
                        LOST
                    }
                }
            }),
            None => Box::pin(std::future::pending()),
        })
    }
}

/// What a launcher's credentials tell it. The keys are not printable.
struct LauncherKeys {
    context: job::LauncherContext,
    authority: Vec<u8>,
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl LauncherKeys {
    fn read(held: &Credentials) -> Option<Self> {
        let secret = |alias| held.secret(alias).map(<[u8]>::to_vec);
        Some(Self {
            context: serde_json::from_slice(held.secret(secrets::CONTEXT)?).ok()?,
            authority: secret(secrets::AUTHORITY)?,
            certificate: secret(secrets::CERTIFICATE)?,
            key: secret(secrets::KEY)?,
        })
    }

    fn endpoint(&self) -> Result<Endpoint> {
        let tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(&self.authority))
            .identity(Identity::from_pem(&self.certificate, &self.key))
            .domain_name(secrets::APPMASTER_NAME);
        Ok(
            Endpoint::from_shared(format!("https://{}", self.context.appmaster))?
                .tls_config(tls)?
                .connect_timeout(DIAL)
                .tcp_nodelay(true)
                .initial_stream_window_size(transport::STREAM_WINDOW)
                .initial_connection_window_size(transport::connection_window(
                    transport::STREAM_WINDOW,
                )),
        )
    }

    async fn dial(&self) -> Result<LaunchersClient<Channel>> {
        let endpoint = self.endpoint()?;
        let deadline = Instant::now() + DIAL;
        loop {
            match timeout(DIAL, endpoint.connect()).await {
                Ok(Ok(channel)) => {
                    return Ok(LaunchersClient::new(channel)
                        .max_decoding_message_size(transport::MESSAGE_MAX)
                        .max_encoding_message_size(transport::MESSAGE_MAX));
                }
                Ok(Err(error)) if Instant::now() + DIAL_PAUSE > deadline => {
                    return Err(anyhow!(error).context("dialling the ApplicationMaster"));
                }
                Err(_) => bail!("no connection to the ApplicationMaster in {DIAL:?}"),
                Ok(Err(_)) => sleep(DIAL_PAUSE).await,
            }
        }
    }

    fn hello(&self) -> LauncherEvent {
        event(Told::Hello(LauncherHello {
            build: job::BUILD.to_owned(),
            container: self.context.container.clone(),
            ticket: self.context.ticket.clone(),
            // As many cores as anybody wants: hollow ranks never wait for one.
            node: Some(NodeFacts::default()),
            // The container is as good a name: nobody else has its ticket.
            life: b"hollow".to_vec(),
        }))
    }
}

/// Without a number: it greets.
fn event(event: Told) -> LauncherEvent {
    LauncherEvent {
        event: Some(event),
        ..LauncherEvent::default()
    }
}

fn numbered(message: Message<Told>) -> LauncherEvent {
    LauncherEvent {
        number: message.number,
        taken: message.taken,
        clock: message.clock,
        event: message.what,
    }
}

/// The ranks of one share.
struct Ranks {
    ranks: Vec<u32>,
    busy: bool,
    ends_at: Instant,
    /// Barriers that are still to be entered.
    barriers: u32,
    sample_at: Instant,
    began: Instant,
}

impl Ranks {
    fn start(share: &Share) -> Self {
        let program = share.ranks.first().and_then(|&first| of(share, first));
        let name = program.map_or("", |program| program.file.as_str());
        let argument = |index: usize| program.and_then(|program| program.args.get(index));
        let known = PROGRAMS.iter().any(|(known, _)| *known == name);
        let seconds = argument(0).and_then(|text| text.parse().ok());
        let seconds = seconds.filter(|_| known).unwrap_or(0.0);
        let barriers = argument(1).and_then(|text| text.parse().ok());
        let now = Instant::now();
        Self {
            ranks: share.ranks.clone(),
            busy: name == "busy",
            ends_at: now + Duration::try_from_secs_f64(seconds).unwrap_or_default(),
            barriers: barriers.filter(|_| name == "exchange").unwrap_or(0),
            sample_at: now + SAMPLE,
            began: now,
        }
    }

    fn fence(&self) -> Event {
        let puts = self.ranks.iter().map(|rank| KeyValue {
            key: format!("card-{}-{rank}", self.barriers),
            value: "x".repeat(CARD),
        });
        Event::Fence(Fence {
            puts: puts.collect(),
            ..Fence::default()
        })
    }

    fn usages(&self) -> Event {
        let at_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let usages = self.ranks.iter().map(|&rank| RankUsage {
            rank,
            at_ms,
            resident_kib: 10_000,
            virtual_kib: 100_000,
            cpu_ms: at_ms,
        });
        Event::Usages(RankUsages {
            usages: usages.collect(),
        })
    }

    fn ends(&mut self, how: How, stopped: bool, pmi: PmiStage) -> Vec<Event> {
        let ranks = std::mem::take(&mut self.ranks).into_iter();
        let end = |rank| {
            Event::Ended(RankEnded {
                rank,
                pmi: pmi.into(),
                max_rss_kib: 10_000,
                cpu_us: 1000,
                stopped,
                how: Some(how),
                ..RankEnded::default()
            })
        };
        ranks.map(end).collect()
    }
}

/// The program of a rank: they share the ranks out in order.
fn of(share: &Share, rank: u32) -> Option<&Program> {
    let mut first = 0_u32;
    share.programs.iter().find(|program| {
        first = first.saturating_add(program.processes);
        rank < first
    })
}

/// From hello to the order to leave.
async fn live(place: &LauncherKeys, launchers: &Launchers) -> Result<()> {
    let mut client = place.dial().await?;
    // On one link all its life.
    let said = Resumable::new(BOUNDS);
    let events = tokio_stream::once(place.hello()).chain(said.open(false).map(numbered));
    let join = timeout(ANSWER, client.join(events));
    let mut orders = join.await.context("no answer to hello")??.into_inner();
    launchers.joined.fetch_add(1, Ordering::Relaxed);
    let mut ranks: Option<Ranks> = None;
    // Open all its life, as the real one's.
    let (_chunks, queued) = mpsc::channel::<OutputChunk>(SENDING);
    let mut output = Request::new(ReceiverStream::new(queued));
    let pass = Pass {
        container: place.context.container.clone(),
        ticket: place.context.ticket.clone(),
        job: 0,
    };
    pass.show(&mut output);
    let mut carrier = client.clone();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let Ok(answer) = carrier.output(output).await else {
            return;
        };
        let mut taken = answer.into_inner();
        while let Ok(Some(_)) = taken.message().await {}
    });
    let mut alive = interval(transport::ALIVE);
    loop {
        let news = tokio::select! {
            order = orders.message() => match taken(order?, &said)? {
                None => Vec::new(),
                Some(Said::Leave(_)) => return Ok(()),
                Some(Said::Mpi(MpiOrder { order: None, .. })) => Vec::new(),
                Some(Said::Mpi(MpiOrder {
                    order: Some(order), ..
                })) => match order {
                Order::Share(share) => {
                    let started = Ranks::start(&share);
                    let mut news = vec![Event::Started(RanksStarted {
                        at_us: now_us(),
                        // They print nothing, and so none is to end.
                        ..RanksStarted::default()
                    })];
                    if started.barriers > 0 {
                        news.extend([Event::PmiSeen(PmiSeen { group: 0 }), started.fence()]);
                    }
                    ranks = Some(started);
                    news
                }
                // It runs none of them.
                Order::Compare(wire::CompareFiles { run, files }) => {
                    let same = files.iter().map(|_| wire::FileCompared::default());
                    vec![Event::Compared(wire::FilesCompared { run, files: same.collect() })]
                }
                Order::FenceDone(_) => match &mut ranks {
                    Some(ranks) if ranks.barriers > 1 => {
                        ranks.barriers -= 1;
                        vec![ranks.fence()]
                    }
                    _ => Vec::new(),
                },
                Order::Stop(_) => ended(&mut ranks, How::Signal(15), true),
                Order::Signal(told) if matches!(told.signal, 2 | 9 | 15) => {
                    ended(&mut ranks, How::Signal(told.signal), false)
                }
                Order::Signal(_) | Order::WindowSize(_) | Order::Door(_) => Vec::new(),
                Order::Name(_) | Order::Spawned(_) | Order::Group(_) | Order::EndGroup(_) => {
                    bail!("no rank asked for a name or for more ranks")
                }
                Order::Modex(_) | Order::Modexed(_) => bail!("no rank speaks PMIx"),
                Order::Find(_) | Order::Move(_) | Order::Checkpoint(_) => {
                    bail!("no rank has files")
                }
                },
                Some(
                    Said::Task(_) | Said::FetchFiles(_) | Said::EndJob(_) | Said::TryPeers(_),
                ) => bail!("there is one job, and it has ranks and no files"),
            },
            () = until(ranks.as_ref().map(|ranks| ranks.ends_at)) => {
                ended(&mut ranks, How::ExitCode(0), false)
            }
            () = until(ranks.as_ref().filter(|ranks| ranks.busy).map(|ranks| ranks.sample_at)) => {
                ranks.as_mut().map_or_else(Vec::new, |ranks| {
                    ranks.sample_at += SAMPLE;
                    vec![ranks.usages()]
                })
            }
            _ = alive.tick() => {
                said.remind(1);
                Vec::new()
            }
            Some(()) = joined(&mut tasks), if !tasks.is_empty() => Vec::new(),
        };
        for event in news {
            let event = Some(event);
            let news = Told::Mpi(MpiEvent { job: 0, event });
            let bytes = news.encoded_len();
            said.push(news, bytes);
        }
    }
}

async fn joined(tasks: &mut JoinSet<()>) -> Option<()> {
    tasks.join_next().await.map(|_ended| ())
}

/// The order of a message, if it has one.
fn taken(order: Option<LauncherOrder>, said: &Resumable<Told>) -> Result<Option<Said>> {
    let order = order.context("the ApplicationMaster closed the link")?;
    said.acknowledge(order.taken)?;
    said.took(order.number, 0);
    Ok(order.order)
}

/// All ranks end in this way, if any run.
fn ended(ranks: &mut Option<Ranks>, how: How, stopped: bool) -> Vec<Event> {
    let Some(mut ranks) = ranks.take() else {
        return Vec::new();
    };
    let pmi = match ranks.barriers {
        0 => PmiStage::Silent,
        _ => PmiStage::Finalized,
    };
    ranks.ends(how, stopped, pmi)
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_do_what_their_program_is_called() {
        let program = |file: &str, processes, args: &[&str]| Program {
            file: file.to_owned(),
            processes,
            args: args.iter().map(ToString::to_string).collect(),
            ..Program::default()
        };
        let share = |ranks: &[u32]| Share {
            size: 6,
            ranks: ranks.to_vec(),
            programs: vec![
                program("exchange", 2, &["3", "5"]),
                program("busy", 2, &["7"]),
                program("cpi", 2, &["9"]),
            ],
            ..Share::default()
        };
        let seconds = |ranks: &Ranks| (ranks.ends_at - ranks.began).as_secs();
        let first = Ranks::start(&share(&[0, 1]));
        assert_eq!((seconds(&first), first.barriers, first.busy), (3, 5, false));
        let second = Ranks::start(&share(&[2, 3]));
        assert_eq!(
            (seconds(&second), second.barriers, second.busy),
            (7, 0, true)
        );
        let third = Ranks::start(&share(&[4]));
        assert_eq!((seconds(&third), third.barriers, third.busy), (0, 0, false));
        let mut running = Some(first);
        let ends = ended(&mut running, How::Signal(15), true);
        assert_eq!(ends.len(), 2);
        assert!(running.is_none());
    }
}
