//! The connection to the ApplicationMaster.

use std::time::Duration;

use job::link;
use job::secrets::APPMASTER_NAME;
use job::wire::launchers_client::LaunchersClient;
use thiserror::Error;
use tokio::time::Instant;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use crate::seat::Place;

/// One attempt, name look-up and TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// All attempts. The AM listened before it asked YARN for this container; what is left to wait for
/// is a network that stumbles.
const DIAL_DEADLINE: Duration = Duration::from_secs(30);
/// Between two attempts.
const DIAL_PAUSE: Duration = Duration::from_millis(500);

/// The AM cannot be reached.
#[derive(Debug, Error)]
pub(crate) enum DialError {
    #[error("the ApplicationMaster's address {address:?} makes no sense: {source}")]
    Address {
        address: String,
        source: tonic::transport::Error,
    },
    #[error(
        "cannot reach the ApplicationMaster at {address} within {} s: {cause}; is its port open \
         between the nodes (--am-ports holds it in a range)?", DIAL_DEADLINE.as_secs()
    )]
    Unreachable { address: String, cause: String },
}

/// Connects, with the keys of `place`.
pub(crate) async fn dial(place: &Place) -> Result<LaunchersClient<Channel>, DialError> {
    let address = &place.seat.appmaster;
    let endpoint = endpoint(place).map_err(|source| DialError::Address {
        address: address.clone(),
        source,
    })?;
    let deadline = Instant::now() + DIAL_DEADLINE;
    loop {
        let cause = match tokio::time::timeout(CONNECT_TIMEOUT, endpoint.connect()).await {
            Ok(Ok(channel)) => {
                return Ok(LaunchersClient::new(channel)
                    .max_decoding_message_size(link::MESSAGE_MAX)
                    .max_encoding_message_size(link::MESSAGE_MAX));
            }
            Ok(Err(error)) => chain(&error),
            Err(_) => format!("no answer in {} s", CONNECT_TIMEOUT.as_secs()),
        };
        if Instant::now() + DIAL_PAUSE > deadline {
            return Err(DialError::Unreachable {
                address: address.clone(),
                cause,
            });
        }
        tokio::time::sleep(DIAL_PAUSE).await;
    }
}

fn endpoint(place: &Place) -> Result<Endpoint, tonic::transport::Error> {
    let tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(&place.authority))
        .identity(Identity::from_pem(&place.certificate, &place.key))
        .domain_name(APPMASTER_NAME);
    Ok(
        Endpoint::from_shared(format!("https://{}", place.seat.appmaster))?
            .tls_config(tls)?
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .max_frame_size(link::FRAME_MAX)
            .initial_stream_window_size(link::STREAM_WINDOW)
            .initial_connection_window_size(link::connection_window(link::STREAM_WINDOW))
            .http2_keep_alive_interval(link::KEEPALIVE_INTERVAL)
            .keep_alive_timeout(link::KEEPALIVE_TIMEOUT)
            .keep_alive_while_idle(true),
    )
}

/// An error with its causes: tonic's own words are "transport error" alone.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
