//! The connection to the ApplicationMaster.

use std::time::Duration;

use anyhow::{Context, Result};
use job::link;
use job::secrets::APPMASTER_NAME;
use job::wire::clients_client::ClientsClient;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use crate::keys::Keys;

/// For the TCP connection, and for the TLS handshake after it.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);
const HANDSHAKE_DEADLINE: Duration = Duration::from_secs(10);

/// Dials `host:port`.
pub(crate) async fn dial(address: &str, keys: &Keys) -> Result<ClientsClient<Channel>> {
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
        .tcp_nodelay(true)
        .http2_keep_alive_interval(link::KEEPALIVE_INTERVAL)
        .keep_alive_timeout(link::KEEPALIVE_TIMEOUT)
        .keep_alive_while_idle(true)
        .max_frame_size(link::FRAME_MAX)
        .initial_stream_window_size(link::STREAM_WINDOW)
        .initial_connection_window_size(link::connection_window(link::STREAM_WINDOW));
    let client = ClientsClient::new(endpoint.connect().await?);
    Ok(client.max_decoding_message_size(link::MESSAGE_MAX))
}
