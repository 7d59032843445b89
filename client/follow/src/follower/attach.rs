//! Attaches to an ApplicationMaster.

use std::time::Duration;

use job::wire;
use job::wire::client_order::Order;
use job::wire::clients_client::ClientsClient;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::Channel;

use super::order::order;
use crate::dial::dial;
use crate::keys::ClientKeys;
use crate::lanes::Door;
use crate::streams;

/// For an ApplicationMaster that is reached to take us as its client.
const ATTACH_DEADLINE: Duration = Duration::from_secs(15);

/// Brings the output of an ApplicationMaster in this process.
pub(super) type Beside = oneshot::Receiver<appmaster::Output>;

/// The streams of one client.
pub(super) struct Attached {
    pub client: ClientsClient<Channel>,
    pub orders: mpsc::Sender<wire::ClientOrder>,
    pub events: Streaming<wire::JobEvent>,
    pub output: streams::Output,
    /// Where launchers may bring output that is much.
    pub door: Option<Door>,
    /// Where the ApplicationMaster was found, in words.
    pub place: String,
    /// The job's number there; 0: there is no other.
    pub job: u32,
}

/// To the job of this number, of the ApplicationMaster that listens at `address`.
pub(super) async fn attach(
    address: &str,
    keys: &ClientKeys,
    job: u32,
    beside: Option<Beside>,
) -> anyhow::Result<Attached> {
    let (mut client, local) = dial(address, keys).await?;
    let (orders, outgoing) = mpsc::channel(16);
    let hello = wire::ClientHello {
        build: job::BUILD.into(),
        job,
    };
    order(&orders, Order::Hello(hello)).await;
    let streams = async {
        let events = client.attach(ReceiverStream::new(outgoing)).await?;
        let output: streams::Output = match beside {
            None => Box::pin(
                client
                    .output(wire::OutputRequest { job })
                    .await?
                    .into_inner(),
            ),
            Some(output) => match output.await {
                Ok(output) => Box::pin(output),
                Err(_left) => return Err(tonic::Status::unavailable("it has left")),
            },
        };
        Ok((events.into_inner(), output))
    };
    let (events, output) = timeout(ATTACH_DEADLINE, streams)
        .await
        .map_err(|_late| anyhow::anyhow!("no answer within {} s", ATTACH_DEADLINE.as_secs()))?
        .map_err(|status| anyhow::anyhow!("{}", status.message()))?;
    Ok(Attached {
        client,
        orders,
        events,
        output,
        door: local.map(|local| Door::new(local, keys)).transpose()?,
        // YARN forgets the host of one that is lost.
        place: format!("at {address}"),
        job,
    })
}
