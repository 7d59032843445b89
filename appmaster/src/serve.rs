//! The AM's one port: both services, over mutual TLS.

use std::io;
use std::sync::Arc;

use anyhow::Result;
use job::link;
use job::wire::clients_server::ClientsServer;
use job::wire::launchers_server::LaunchersServer;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::transport::Server;

use crate::clients::ClientService;
use crate::console::Console;
use crate::handshake::{self, Bounds, Known};
use crate::launchers::{LauncherService, Tickets};
use crate::news::NewsSender;
use crate::peers::Admitted;
use crate::seat::Keys;

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
        news: doors.news.clone(),
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
    let server = || {
        Server::builder()
            .max_concurrent_streams(Some(CALLS_MAX))
            .max_frame_size(link::FRAME_MAX)
            .initial_stream_window_size(window)
            .initial_connection_window_size(link::connection_window(window))
    };
    // A client that is stopped answers no pings, and may have been stopped with our leave
    // ([`crate::clients`]): no connection of it is ended for that.
    let (to_clients, of_clients) = mpsc::channel(KNOWN_QUEUE);
    let client = CertificateDer::from_pem_slice(&keys.client_certificate)?;
    let serving_clients = server()
        .add_service(clients.clone())
        .add_service(launchers.clone())
        .serve_with_incoming_shutdown(
            ReceiverStream::new(of_clients),
            doors.leaving.clone().cancelled_owned(),
        );
    let (to_others, of_others) = mpsc::channel(KNOWN_QUEUE);
    let serving = server()
        .http2_keepalive_interval(Some(link::KEEPALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(link::KEEPALIVE_TIMEOUT))
        .add_service(launchers)
        .add_service(clients)
        .serve_with_incoming_shutdown(
            ReceiverStream::new(of_others),
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
    doors
        .tasks
        .spawn(sort(incoming, client, to_clients, to_others));
    doors.tasks.spawn(async move {
        let (clients, others) = tokio::join!(serving_clients, serving);
        for ended in [clients, others] {
            if let Err(error) = ended {
                tracing::error!("the ApplicationMaster's port: {error}");
            }
        }
    });
    Ok(())
}

/// Hands each peer to the server for its kind, by the certificate that it has shown.
async fn sort(
    mut known: mpsc::Receiver<io::Result<Known>>,
    client: CertificateDer<'static>,
    to_clients: mpsc::Sender<io::Result<Known>>,
    to_others: mpsc::Sender<io::Result<Known>>,
) {
    while let Some(peer) = known.recv().await {
        let is_client = peer.as_ref().is_ok_and(|peer| {
            let shown = peer.get_ref().1.peer_certificates();
            shown.is_some_and(|chain| chain.first() == Some(&client))
        });
        let to = if is_client { &to_clients } else { &to_others };
        if to.send(peer).await.is_err() {
            // Nobody serves them any more.
            return;
        }
    }
}

#[cfg(test)]
mod tests;
