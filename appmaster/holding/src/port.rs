//! The application's one port: launchers, and whom its owner serves, over mutual TLS.

use std::sync::Arc;

use anyhow::Result;
use job::transport;
use job::wire::launchers_server::LaunchersServer;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::service::Routes;
use tonic::transport::Server;

use crate::address::BoundPort;
use crate::container_event::ContainerEventSender;
use crate::handshake::{self, StrangerBounds};
use crate::keys::Keys;
use crate::launchers::LauncherService;
use crate::peers::Admitted;
use crate::streams::Streams;
use crate::tickets::Tickets;

/// Calls of one peer that may be under way; a client has three.
const CALLS_MAX: u32 = transport::calls(transport::JOBS_MAX);
/// Peers that have just shown their certificates.
const KNOWN_QUEUE: usize = 16;

/// What the port leads to.
#[derive(Debug)]
pub struct Doors {
    /// Who hears of launchers.
    pub heard: ContainerEventSender,
    /// Where their output and input go.
    pub streams: Arc<dyn Streams>,
    /// What else is served. Each service looks itself who calls ([`Admitted`]).
    pub others: Routes,
    /// Owns whatever the services start.
    pub tasks: TaskTracker,
    /// Ends the serving.
    pub leaving: CancellationToken,
}

/// The port, open.
#[derive(Debug)]
pub struct Port {
    pub(crate) host: String,
    pub(crate) number: u16,
    /// `host:port`, where launchers find it.
    pub(crate) address: String,
    pub(crate) tickets: Tickets,
    pub(crate) heard: ContainerEventSender,
    pub(crate) tasks: TaskTracker,
}

impl Port {
    /// Serves at `place` until `doors.leaving`. Peers are no more than about `peers`.
    ///
    /// # Errors
    /// The keys make no sense.
    pub fn open(place: BoundPort, keys: &Keys, doors: Doors, peers: u32) -> Result<Self> {
        let address = place.address();
        let BoundPort {
            listener,
            host,
            port,
        } = place;
        let Doors {
            heard,
            streams,
            others,
            tasks,
            leaving,
        } = doors;
        let tickets = Tickets::default();
        let tls = handshake::acceptor(keys)?;
        let launchers = LaunchersServer::new(LauncherService {
            admitted: Admitted::new(&keys.launcher_certificate, "launchers")?,
            tickets: tickets.clone(),
            heard: heard.clone(),
            streams,
            tasks: tasks.clone(),
        })
        .max_decoding_message_size(transport::MESSAGE_MAX)
        .max_encoding_message_size(transport::MESSAGE_MAX);
        let (known, incoming) = mpsc::channel(KNOWN_QUEUE);
        let window = transport::stream_window(peers);
        // Nobody's connection is ended because it does not answer pings: a client may have been stopped
        // with our leave, and launchers say themselves that they are there ([`crate::orders`]). The kernel
        // finds out when the machine at the other end is gone.
        let serving = Server::builder()
            .max_concurrent_streams(Some(CALLS_MAX))
            .max_frame_size(transport::FRAME_MAX)
            .initial_stream_window_size(window)
            .initial_connection_window_size(transport::connection_window(window))
            .add_routes(others.add_service(launchers))
            .serve_with_incoming_shutdown(
                ReceiverStream::new(incoming),
                leaving.clone().cancelled_owned(),
            );
        let bounds = StrangerBounds {
            piece: transport::piece(peers),
            ..StrangerBounds::default()
        };
        tasks.spawn(handshake::let_in(listener, tls, bounds, known, leaving));
        tasks.spawn(async move {
            if let Err(error) = serving.await {
                tracing::error!("the ApplicationMaster's port: {error}");
            }
        });
        Ok(Self {
            host,
            number: port,
            address,
            tickets,
            heard,
            tasks,
        })
    }
}

#[cfg(test)]
mod tests;
