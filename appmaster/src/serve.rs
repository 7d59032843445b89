//! The AM's one port: both services, over mutual TLS.

use std::sync::Arc;

use anyhow::Result;
use job::link;
use job::wire::clients_server::ClientsServer;
use job::wire::launchers_server::LaunchersServer;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::transport::Server;

use crate::clients::ClientService;
use crate::console::Console;
use crate::handshake::{self, Bounds};
use crate::heard::HeardSender;
use crate::launchers::LauncherService;
use crate::news::NewsSender;
use crate::peers::Admitted;
use crate::seat::Keys;
use crate::tickets::Tickets;

/// Calls of one peer that may be under way: a launcher has three, a client three.
const CALLS_MAX: u32 = 16;
/// Peers that have just shown their certificates.
const KNOWN_QUEUE: usize = 16;

/// What the services lead to.
pub(crate) struct Doors {
    pub news: NewsSender,
    pub console: Arc<Console>,
    pub tickets: Tickets,
    /// Owns whatever the services start.
    pub tasks: TaskTracker,
    /// Ends the serving.
    pub leaving: CancellationToken,
}

/// Serves launchers and client on `listener` until `doors.leaving`. Launchers are no more than the
/// `processes` of the job.
pub(crate) fn start(
    listener: TcpListener,
    keys: &Keys,
    doors: &Doors,
    processes: u32,
) -> Result<()> {
    let tls = handshake::acceptor(keys)?;
    let launchers = LaunchersServer::new(LauncherService {
        admitted: Admitted::new(&keys.launcher_certificate, "launchers")?,
        tickets: doors.tickets.clone(),
        heard: HeardSender::new(doors.news.clone()),
        console: Arc::clone(&doors.console),
        tasks: doors.tasks.clone(),
    })
    .max_decoding_message_size(link::MESSAGE_MAX)
    .max_encoding_message_size(link::MESSAGE_MAX);
    let clients = ClientsServer::new(ClientService {
        admitted: Admitted::new(&keys.client_certificate, "client")?,
        news: doors.news.clone(),
        console: Arc::clone(&doors.console),
        tasks: doors.tasks.clone(),
    });
    let (known, incoming) = mpsc::channel(KNOWN_QUEUE);
    let window = link::stream_window(processes);
    // Nobody's connection is ended because it does not answer pings: a client may have been stopped with
    // our leave ([`crate::clients`]), and launchers say themselves that they are there ([`crate::orders`]).
    // The kernel finds out when the machine at the other end is gone.
    let serving = Server::builder()
        .max_concurrent_streams(Some(CALLS_MAX))
        .max_frame_size(link::FRAME_MAX)
        .initial_stream_window_size(window)
        .initial_connection_window_size(link::connection_window(window))
        .add_service(launchers)
        .add_service(clients)
        .serve_with_incoming_shutdown(
            ReceiverStream::new(incoming),
            doors.leaving.clone().cancelled_owned(),
        );
    let bounds = Bounds {
        piece: link::piece(processes),
        ..Bounds::default()
    };
    let leaving = doors.leaving.clone();
    doors
        .tasks
        .spawn(handshake::let_in(listener, tls, bounds, known, leaving));
    doors.tasks.spawn(async move {
        if let Err(error) = serving.await {
            tracing::error!("the ApplicationMaster's port: {error}");
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests;
