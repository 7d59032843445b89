//! The service that launchers call: one control link and one call for all output a container.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use job::pass::Pass;
use job::wire;
use job::wire::launchers_server::Launchers;
use policy::ContainerId;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::task::TaskTracker;
use tonic::{Request, Response, Status, Streaming};

use crate::console::Console;
use crate::news::{News, NewsSender, tell};
use crate::peers::{Admitted, same_build};

/// A peer that has connected must say who it is within this time.
const HELLO_DEADLINE: Duration = Duration::from_secs(10);
/// Letters of a container's id: what is longer is none, and is not repeated in any log.
const CONTAINER_MAX: usize = 256;
/// Orders that may wait for one launcher. It reads them at once; a full queue is a lost launcher.
const ORDER_QUEUE: usize = 64;

/// By container, what its launcher must show. Filled before the container is started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tickets(Arc<Mutex<BTreeMap<ContainerId, Ticket>>>);

/// One of them.
#[derive(Debug)]
struct Ticket {
    bytes: Vec<u8>,
    /// Its launcher has come.
    has_joined: bool,
    /// It brings its output.
    has_output: bool,
}

impl Tickets {
    pub(crate) fn issue(&self, container: ContainerId, ticket: Vec<u8>) {
        let ticket = Ticket {
            bytes: ticket,
            has_joined: false,
            has_output: false,
        };
        self.lock().insert(container, ticket);
    }

    /// Whoever shows it now comes too late.
    pub(crate) fn revoke(&self, container: &ContainerId) {
        self.lock().remove(container);
    }

    /// A ticket is good for one launcher: a second one cannot come in the first one's name.
    fn redeem(&self, container: &ContainerId, shown: &[u8]) -> bool {
        let mut tickets = self.lock();
        let ticket = tickets.get_mut(container).filter(|t| t.bytes == shown);
        ticket.is_some_and(|ticket| !std::mem::replace(&mut ticket.has_joined, true))
    }

    /// Whether it is shown by the launcher that has joined with it.
    fn is_there(&self, container: &ContainerId, shown: &[u8]) -> bool {
        let tickets = self.lock();
        let ticket = tickets.get(container).filter(|t| t.bytes == shown);
        ticket.is_some_and(|ticket| ticket.has_joined)
    }

    /// The same, of one that brings its output and did not before.
    fn opens_output(&self, container: &ContainerId, shown: &[u8]) -> bool {
        self.is_there(container, shown)
            && (self.lock().get_mut(container))
                .is_some_and(|ticket| !std::mem::replace(&mut ticket.has_output, true))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<ContainerId, Ticket>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The service.
#[derive(Debug)]
pub(crate) struct LauncherService {
    pub admitted: Admitted,
    pub tickets: Tickets,
    pub news: NewsSender,
    pub console: Arc<Console>,
    pub tasks: TaskTracker,
}

#[tonic::async_trait]
impl Launchers for LauncherService {
    type JoinStream = ReceiverStream<Result<wire::LauncherOrder, Status>>;
    type InputStream = ReceiverStream<Result<wire::InputChunk, Status>>;

    async fn join(
        &self,
        request: Request<Streaming<wire::LauncherEvent>>,
    ) -> Result<Response<Self::JoinStream>, Status> {
        self.admitted.check(&request)?;
        let mut events = request.into_inner();
        let hello = match timeout(HELLO_DEADLINE, events.message()).await {
            Ok(Ok(Some(first))) => first.event,
            Ok(Ok(None)) => None,
            Ok(Err(status)) => return Err(status),
            Err(_late) => return Err(Status::deadline_exceeded("no hello within 10 s")),
        };
        let Some(wire::launcher_event::Event::Hello(hello)) = hello else {
            return Err(Status::invalid_argument(
                "the first message must be a hello",
            ));
        };
        same_build(&hello.build)?;
        if hello.container.len() > CONTAINER_MAX {
            tracing::warn!("refused a launcher whose container has no possible name");
            return Err(Status::invalid_argument("no container has such a long id"));
        }
        let container = ContainerId(hello.container);
        if !self.tickets.redeem(&container, &hello.ticket) {
            tracing::warn!("refused a launcher that claims to be {container}");
            return Err(Status::permission_denied(format!(
                "{container} is not expected, or has come before"
            )));
        }
        let (orders, outgoing) = mpsc::channel(ORDER_QUEUE);
        let joined = News::LauncherJoined {
            container: container.clone(),
            orders,
            node: hello.node.unwrap_or_default(),
        };
        tell(&self.news, joined).await?;
        self.tasks
            .spawn(listen(events, container, self.news.clone()));
        Ok(Response::new(ReceiverStream::new(outgoing)))
    }

    async fn output(
        &self,
        request: Request<Streaming<wire::OutputChunk>>,
    ) -> Result<Response<wire::OutputTaken>, Status> {
        self.admitted.check(&request)?;
        let opens = |container: &_, ticket: &[u8]| self.tickets.opens_output(container, ticket);
        let container = joined(&request, opens)?;
        let Some(mut bringing) = self.console.open(container) else {
            return Err(Status::failed_precondition("the job is over"));
        };
        let mut chunks = request.into_inner();
        loop {
            match chunks.message().await? {
                Some(chunk) if chunk.data.len() > job::CHUNK_MAX => {
                    return Err(Status::invalid_argument("a piece of output is too long"));
                }
                Some(chunk) => bringing.take(chunk).await,
                None => return Ok(Response::new(wire::OutputTaken {})),
            }
        }
    }

    async fn input(
        &self,
        request: Request<wire::InputRequest>,
    ) -> Result<Response<Self::InputStream>, Status> {
        self.admitted.check(&request)?;
        joined(&request, |container, ticket| {
            self.tickets.is_there(container, ticket)
        })?;
        let Some(mut chunks) = self.console.take_input() else {
            return Err(Status::failed_precondition(
                "standard input is taken already",
            ));
        };
        let (to_launcher, outgoing) = mpsc::channel(1);
        self.tasks.spawn(async move {
            while let Some(chunk) = chunks.recv().await {
                if to_launcher.send(Ok(chunk)).await.is_err() {
                    break;
                }
            }
        });
        Ok(Response::new(ReceiverStream::new(outgoing)))
    }
}

/// The container whose launcher calls, which shows with the call that it is the one that has joined.
///
/// # Errors
/// `PermissionDenied` for everybody else.
fn joined<T>(
    request: &Request<T>,
    is_good: impl FnOnce(&ContainerId, &[u8]) -> bool,
) -> Result<ContainerId, Status> {
    let pass = Pass::shown(request.metadata());
    let shown = pass.map(|pass| (ContainerId(pass.container), pass.ticket));
    match shown {
        Some((container, ticket)) if is_good(&container, &ticket) => Ok(container),
        _ => {
            tracing::warn!(peer = ?request.remote_addr(), "refused a call of no launcher that has joined");
            Err(Status::permission_denied(
                "only a launcher that has joined may call this, and once",
            ))
        }
    }
}

/// Reads a launcher's control link until it ends.
async fn listen(
    mut events: Streaming<wire::LauncherEvent>,
    container: ContainerId,
    news: NewsSender,
) {
    loop {
        match events.next().await {
            Some(Ok(wire::LauncherEvent { event: Some(event) })) => {
                let said = News::LauncherSaid {
                    container: container.clone(),
                    event,
                };
                if news.send(said).await.is_err() {
                    return;
                }
            }
            Some(Ok(wire::LauncherEvent { event: None })) => {}
            Some(Err(status)) => {
                tracing::info!("link to {container}: {}", status.message());
                break;
            }
            None => break,
        }
    }
    let _heard = news.send(News::LauncherLeft(container)).await.is_ok();
}
