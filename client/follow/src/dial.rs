//! The connection to the ApplicationMaster.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context, Result};
use hyper_util::rt::TokioIo;
use job::secrets::APPMASTER_NAME;
use job::wire::clients_client::ClientsClient;
use job::{LargeReads, transport};
use tokio::net::TcpStream;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity, Uri};
use tower::service_fn;

use crate::keys::ClientKeys;

/// For the TCP connection, and for the TLS handshake after it.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);
const HANDSHAKE_DEADLINE: Duration = Duration::from_secs(10);

/// A connection to an ApplicationMaster. Its clones are the same.
#[derive(Clone, Debug)]
pub struct Dialled {
    /// By which it is called.
    pub client: ClientsClient<Channel>,
    /// Where it is, `host:port`.
    pub address: String,
    /// From which address it was dialled.
    pub local: Option<IpAddr>,
}

/// Dials `host:port`.
///
/// # Errors
///
/// Nobody listens there, or nobody with the keys of this application's ApplicationMaster.
pub async fn dial(address: &str, keys: &ClientKeys) -> Result<Dialled> {
    let tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(&keys.authority))
        .identity(Identity::from_pem(
            &keys.client.certificate,
            &keys.client.key,
        ))
        .domain_name(APPMASTER_NAME)
        .timeout(HANDSHAKE_DEADLINE);
    let endpoint = Endpoint::from_shared(format!("https://{address}"))
        .with_context(|| format!("{address} is no address"))?
        .tls_config(tls)?
        .connect_timeout(CONNECT_DEADLINE)
        .http2_keep_alive_interval(transport::KEEPALIVE_INTERVAL)
        .keep_alive_timeout(transport::KEEPALIVE_TIMEOUT)
        .keep_alive_while_idle(true)
        .max_frame_size(transport::FRAME_MAX)
        .initial_stream_window_size(transport::STREAM_WINDOW)
        .initial_connection_window_size(transport::connection_window(transport::STREAM_WINDOW));
    let local = Arc::new(OnceLock::new());
    let connector = {
        let local = Arc::clone(&local);
        service_fn(move |to| connect(to, Arc::clone(&local)))
    };
    let channel = endpoint.connect_with_connector(connector).await?;
    let client = ClientsClient::new(channel);
    Ok(Dialled {
        client: client.max_decoding_message_size(transport::MESSAGE_MAX),
        address: address.to_owned(),
        local: local.get().copied(),
    })
}

/// The connection below TLS.
async fn connect(to: Uri, local: Arc<OnceLock<IpAddr>>) -> std::io::Result<TokioIo<LargeReads>> {
    let host = to.host().unwrap_or_default();
    // As a part of an address an IPv6 address stands in brackets.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((host, to.port_u16().unwrap_or_default())).await?;
    let own = stream.local_addr()?.ip();
    stream.set_nodelay(true)?;
    local.get_or_init(|| own);
    Ok(TokioIo::new(LargeReads::new(stream, transport::piece(1))))
}
