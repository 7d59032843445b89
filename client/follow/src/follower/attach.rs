//! Attaches to an ApplicationMaster.

use std::time::Duration;

use job::wire;
use job::wire::client_order::Order;
use job::wire::clients_client::ClientsClient;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Code, Status, Streaming};

use super::order::order;
use crate::dial::{Dialled, dial};
use crate::keys::ClientKeys;
use crate::lanes::Door;
use crate::streams;

/// For an ApplicationMaster that is reached to take us as its client.
const ATTACH_DEADLINE: Duration = Duration::from_secs(15);

/// As what we come to an ApplicationMaster.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Coming {
    /// The job's number there; 0: there is no other.
    pub job: u32,
    /// The job does not end with us.
    pub watches: bool,
    /// Who watches gives its standard input.
    pub input: bool,
}

impl Coming {
    /// The job ends with us.
    pub(super) const fn to_follow(job: u32) -> Self {
        Self {
            job,
            watches: false,
            input: false,
        }
    }
}

/// The ApplicationMaster does not take us.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub(crate) struct Refused {
    /// Which kind of refusal.
    pub code: Code,
    /// In its words.
    why: String,
}

impl From<Status> for Refused {
    fn from(status: Status) -> Self {
        Self {
            code: status.code(),
            why: status.message().to_owned(),
        }
    }
}

/// Brings the output of an ApplicationMaster in this process.
pub(super) type Beside = oneshot::Receiver<appmaster::OutputReceiver>;

/// The streams of one client.
pub(super) struct Attached {
    pub client: ClientsClient<Channel>,
    pub orders: mpsc::Sender<wire::ClientOrder>,
    pub events: Streaming<wire::JobEvent>,
    pub output: streams::OutputChunks,
    /// Where launchers may bring output that is much.
    pub door: Option<Door>,
    /// Where the ApplicationMaster was found, in words.
    pub place: String,
    /// The job's number there; 0: there is no other.
    pub job: u32,
}

/// To a job of the ApplicationMaster that listens at `address`.
pub(super) async fn attach(
    address: &str,
    keys: &ClientKeys,
    coming: Coming,
    beside: Option<Beside>,
) -> anyhow::Result<Attached> {
    attach_over(dial(address, keys).await?, keys, coming, beside).await
}

/// To a job of the ApplicationMaster that has been dialled.
pub(super) async fn attach_over(
    dialled: Dialled,
    keys: &ClientKeys,
    coming: Coming,
    beside: Option<Beside>,
) -> anyhow::Result<Attached> {
    let Dialled {
        mut client,
        address,
        local,
    } = dialled;
    let (orders, outgoing) = mpsc::channel(16);
    let job = coming.job;
    let hello = wire::ClientHello {
        build: job::BUILD.into(),
        job,
        watches: coming.watches,
        input: coming.input,
        owns: false,
    };
    order(&orders, Order::Hello(hello)).await;
    let streams = async {
        let events = client.attach(ReceiverStream::new(outgoing)).await?;
        let output: streams::OutputChunks = match beside {
            None => Box::pin(
                client
                    .output(wire::OutputRequest {
                        job,
                        ..wire::OutputRequest::default()
                    })
                    .await?
                    .into_inner(),
            ),
            Some(output) => match output.await {
                Ok(output) => Box::pin(output),
                Err(_left) => return Err(Status::unavailable("it has left")),
            },
        };
        Ok((events.into_inner(), output))
    };
    let (events, output) = timeout(ATTACH_DEADLINE, streams)
        .await
        .map_err(|_late| anyhow::anyhow!("no answer within {} s", ATTACH_DEADLINE.as_secs()))?
        .map_err(Refused::from)?;
    Ok(Attached {
        client,
        orders,
        events,
        output,
        // What a detached job prints goes by its ApplicationMaster, which keeps it.
        door: local
            .filter(|_| !coming.watches)
            .map(|local| Door::new(local, keys))
            .transpose()?,
        // YARN forgets the host of one that is lost.
        place: format!("at {address}"),
        job,
    })
}
