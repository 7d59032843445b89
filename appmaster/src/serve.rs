//! The AM's one port: both services, over mutual TLS.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use job::link;
use job::wire::clients_server::ClientsServer;
use job::wire::launchers_server::LaunchersServer;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};

use crate::clients::ClientService;
use crate::console::Console;
use crate::launchers::{LauncherService, Tickets};
use crate::news::NewsSender;
use crate::peers::Admitted;
use crate::seat::Keys;

/// A peer that connects and says nothing is dropped after this.
const HANDSHAKE_DEADLINE: Duration = Duration::from_secs(10);

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

/// Serves launchers and client on `listener` until `doors.leaving`.
pub(crate) fn start(listener: TcpListener, keys: &Keys, doors: &Doors) -> Result<()> {
    let tls = ServerTlsConfig::new()
        .identity(Identity::from_pem(&keys.certificate, &keys.key))
        .client_ca_root(Certificate::from_pem(&keys.authority))
        .timeout(HANDSHAKE_DEADLINE);
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
    let serving = Server::builder()
        .tls_config(tls)
        .context("cannot use the job's certificate")?
        .http2_keepalive_interval(Some(link::KEEPALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(link::KEEPALIVE_TIMEOUT))
        .initial_stream_window_size(link::STREAM_WINDOW)
        .initial_connection_window_size(link::CONNECTION_WINDOW)
        .add_service(launchers)
        .add_service(clients)
        .serve_with_incoming_shutdown(
            TcpIncoming::from(listener).with_nodelay(Some(true)),
            doors.leaving.clone().cancelled_owned(),
        );
    doors.tasks.spawn(async move {
        if let Err(error) = serving.await {
            tracing::error!("the ApplicationMaster's port: {error}");
        }
    });
    Ok(())
}
