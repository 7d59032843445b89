//! The service that launchers call: one control link and one output stream a container.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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
pub(crate) struct Tickets(Arc<Mutex<BTreeMap<ContainerId, Vec<u8>>>>);

impl Tickets {
    pub(crate) fn issue(&self, container: ContainerId, ticket: Vec<u8>) {
        self.lock().insert(container, ticket);
    }

    /// Whoever shows it now comes too late.
    pub(crate) fn revoke(&self, container: &ContainerId) {
        self.lock().remove(container);
    }

    /// A ticket is good for one call: a second launcher cannot come in the first one's name.
    fn redeem(&self, container: &ContainerId, shown: &[u8]) -> bool {
        let mut tickets = self.lock();
        let good = tickets.get(container).is_some_and(|t| t == shown);
        if good {
            tickets.remove(container);
        }
        good
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<ContainerId, Vec<u8>>> {
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
        let Some(console) = self.console.output() else {
            return Err(Status::failed_precondition("the job is over"));
        };
        tell(&self.news, News::OutputOpened).await?;
        let mut chunks = request.into_inner();
        let mut lanes = self.console.lanes();
        let result = loop {
            match chunks.message().await {
                Ok(Some(chunk)) if chunk.data.len() > job::CHUNK_MAX => {
                    break Err(Status::invalid_argument("a piece of output is too long"));
                }
                Ok(Some(chunk)) => {
                    lanes.hear(&chunk);
                    // The taker is gone: read on, so that the ranks can end.
                    let _taken = console.send(chunk).await.is_ok();
                }
                Ok(None) => break Ok(Response::new(wire::OutputTaken {})),
                Err(status) => break Err(status),
            }
        };
        drop(lanes);
        drop(console);
        tell(&self.news, News::OutputTaken).await?;
        result
    }

    async fn input(
        &self,
        request: Request<wire::InputRequest>,
    ) -> Result<Response<Self::InputStream>, Status> {
        self.admitted.check(&request)?;
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
