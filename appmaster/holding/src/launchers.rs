//! The service that launchers call: a control link each, and for each job one call for all output and one
//! for input.

use std::sync::Arc;
use std::time::Duration;

use job::pass::Pass;
use job::resumable::{Message, Messages, Resumable};
use job::sequence::Bounds;
use job::wire;
use job::wire::launchers_server::Launchers;
use policy::ContainerId;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_stream::StreamExt as _;
use tokio_stream::adapters::Map;
use tokio_util::task::TaskTracker;
use tonic::{Request, Response, Status, Streaming};

use crate::container_event::{ContainerEvent, ContainerEventSender};
use crate::orders::{FRESH_QUEUE, Fresh, OrderStream, Orders, attend};
use crate::peers::{Admitted, same_build};
use crate::streams::Streams;
use crate::tickets::{LauncherOutput, Redeemed, Tickets};

/// A peer that has connected must say who it is within this time.
const HELLO_DEADLINE: Duration = Duration::from_secs(10);
/// Letters of a container's id: what is longer is none, and is not repeated in any log.
const CONTAINER_MAX: usize = 256;
/// Letters, too, of what a launcher calls itself by.
const LIFE_MAX: usize = 64;
/// Chunks of input that the launcher that reads it has not taken yet.
const INPUT_BOUNDS: Bounds = Bounds {
    count: 8,
    bytes: 256 * 1024,
};
/// The other way there is nothing but acknowledgements.
const NOTHING: Bounds = Bounds { count: 1, bytes: 1 };

/// The service.
#[derive(Debug)]
pub(crate) struct LauncherService {
    pub admitted: Admitted,
    pub tickets: Tickets,
    pub heard: ContainerEventSender,
    pub streams: Arc<dyn Streams>,
    pub tasks: TaskTracker,
}

#[tonic::async_trait]
impl Launchers for LauncherService {
    type JoinStream = OrderStream;
    type OutputStream = Map<Messages<()>, fn(Message<()>) -> Result<wire::OutputTaken, Status>>;
    type InputStream = Map<
        Messages<wire::InputChunk>,
        fn(Message<wire::InputChunk>) -> Result<wire::InputChunk, Status>,
    >;

    async fn join(
        &self,
        request: Request<Streaming<wire::LauncherEvent>>,
    ) -> Result<Response<Self::JoinStream>, Status> {
        self.admitted.check(&request)?;
        let mut events = request.into_inner();
        let first = match timeout(HELLO_DEADLINE, events.message()).await {
            Ok(Ok(first)) => first.unwrap_or_default(),
            Ok(Err(status)) => return Err(status),
            Err(_late) => return Err(Status::deadline_exceeded("no hello within 10 s")),
        };
        let Some(wire::launcher_event::Event::Hello(hello)) = first.event else {
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
        let (links, fresh) = mpsc::channel(FRESH_QUEUE);
        let redeemed = match hello.life.len() {
            1..=LIFE_MAX => {
                let (ticket, life) = (&hello.ticket, &hello.life);
                self.tickets.redeem(&container, ticket, life, links.clone())
            }
            _ => None,
        };
        let links = match redeemed {
            None => {
                tracing::warn!("refused a launcher that claims to be {container}");
                return Err(Status::permission_denied(format!(
                    "{container} is not expected, or has come before"
                )));
            }
            Some(Redeemed::First) => {
                let orders = Orders::new();
                let joined = ContainerEvent::Joined {
                    container: container.clone(),
                    orders: orders.clone(),
                    node: hello.node.unwrap_or_default(),
                };
                // The ticket is used up: the loop hears of it, however long that takes, and whatever becomes of this
                // call meanwhile.
                let (container, heard) = (container.clone(), self.heard.clone());
                self.tasks.spawn(async move {
                    if heard.send(joined).await.is_ok() {
                        attend(container, orders, fresh, heard).await;
                    }
                });
                links
            }
            Some(Redeemed::Again(links)) => {
                tracing::info!("{container} has dialled again");
                links
            }
        };
        let (answer, answered) = oneshot::channel();
        let taken = first.taken;
        let fresh = Fresh {
            events: Box::pin(events),
            taken,
            answer,
        };
        let lost = || Status::permission_denied(format!("{container} was taken for lost"));
        links.send(fresh).await.map_err(|_gone| lost())?;
        let orders = answered.await.map_err(|_gone| lost())??;
        Ok(Response::new(orders))
    }

    async fn output(
        &self,
        request: Request<Streaming<wire::OutputChunk>>,
    ) -> Result<Response<Self::OutputStream>, Status> {
        self.admitted.check(&request)?;
        let (container, job) = joined(&request, &self.tickets)?;
        let open = || Arc::clone(&self.streams).open(container.clone(), job);
        let Some(output) = self.tickets.output(&container, job, open) else {
            return Err(Status::failed_precondition("the job is over"));
        };
        let taken = Resumable::new(NOTHING);
        // It sends from the first that we say we have not.
        taken.took(output.lock().await.taken(), 0);
        let answer = taken.open(true).map(said as fn(_) -> _);
        self.tasks.spawn(bring(request.into_inner(), output, taken));
        Ok(Response::new(answer))
    }

    async fn input(
        &self,
        request: Request<Streaming<wire::InputRequest>>,
    ) -> Result<Response<Self::InputStream>, Status> {
        self.admitted.check(&request)?;
        let (container, job) = joined(&request, &self.tickets)?;
        let mut requests = request.into_inner();
        let Ok(Ok(Some(first))) = timeout(HELLO_DEADLINE, requests.message()).await else {
            return Err(Status::invalid_argument("no request for input came"));
        };
        let begin = || {
            let input = Resumable::new(INPUT_BOUNDS);
            self.tasks
                .spawn(feed(self.streams.take_input(job)?, input.clone()));
            Some(input)
        };
        let Some(input) = self.tickets.input(&container, job, first.run, begin) else {
            return Err(Status::failed_precondition(
                "standard input is taken already",
            ));
        };
        let chunks = input.chunks.open(false).map(numbered as fn(_) -> _);
        let resumed = input.chunks.resume(first.taken);
        resumed.map_err(|error| Status::failed_precondition(error.to_string()))?;
        self.tasks.spawn(async move {
            while let Ok(Some(request)) = requests.message().await {
                if request.closed {
                    input.chunks.finish();
                }
                if input.chunks.acknowledge(request.taken).is_err() {
                    break;
                }
            }
        });
        Ok(Response::new(chunks))
    }
}

/// How far a launcher's output is taken, as it hears it.
fn said(message: Message<()>) -> Result<wire::OutputTaken, Status> {
    let taken = message.taken;
    Ok(wire::OutputTaken { taken })
}

/// Takes what comes by one call. It ends with the call, and not with the output.
async fn bring(
    mut chunks: Streaming<wire::OutputChunk>,
    output: LauncherOutput,
    taken: Resumable<()>,
) {
    // Those of a call that has been replaced are let go with it.
    while let Ok(Some(mut chunk)) = chunks.message().await {
        if chunk.data.len() > job::CHUNK_MAX {
            tracing::warn!("a launcher sent a piece of output that is too long");
            break;
        }
        let (number, bytes) = (std::mem::take(&mut chunk.number), chunk.data.len());
        let mut bringing = output.lock().await;
        if bringing.is_new(number) {
            bringing.take(number, chunk).await;
        }
        drop(bringing);
        taken.took(number, bytes);
    }
    taken.close();
}

fn numbered(message: Message<wire::InputChunk>) -> Result<wire::InputChunk, Status> {
    Ok(wire::InputChunk {
        number: message.number,
        ..message.what.unwrap_or_default()
    })
}

/// Hands on what the client gives, as the launcher takes it.
async fn feed(mut chunks: mpsc::Receiver<wire::InputChunk>, input: Resumable<wire::InputChunk>) {
    loop {
        input.room().await;
        // Its reader has closed it.
        if input.is_finished() {
            return;
        }
        match chunks.recv().await {
            Some(chunk) => {
                let bytes = chunk.data.len();
                input.push(chunk, bytes);
            }
            None => return input.finish(),
        }
    }
}

/// The container whose launcher calls, which shows with the call that it is the one that has joined; and
/// the job that it calls for.
///
/// # Errors
/// `PermissionDenied` for everybody else.
fn joined<T>(request: &Request<T>, tickets: &Tickets) -> Result<(ContainerId, u32), Status> {
    let pass = Pass::shown(request.metadata());
    let shown = pass.map(|pass| (ContainerId(pass.container), pass.ticket, pass.job));
    match shown {
        Some((container, ticket, job)) if tickets.is_there(&container, &ticket) => {
            Ok((container, job))
        }
        _ => {
            tracing::warn!(peer = ?request.remote_addr(), "refused a call of no launcher that has joined");
            Err(Status::permission_denied(
                "only a launcher that has joined may call this",
            ))
        }
    }
}
