//! The connection to the ApplicationMaster.

use std::io::ErrorKind;
use std::time::Duration;

use job::secrets::APPMASTER_NAME;
use job::transport;
use job::wire::launchers_client::LaunchersClient;
use thiserror::Error;
use tokio::time::Instant;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use crate::launcher_context::LauncherKeys;

/// One attempt, name look-up and TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// All attempts. The AM listened before it asked YARN for this container; what is left to wait for
/// is a network that stumbles.
const DIAL_DEADLINE: Duration = Duration::from_secs(30);
/// Between two attempts.
const DIAL_PAUSE: Duration = Duration::from_millis(500);
/// One attempt to reach an AM that was there before: the next may come through.
const AGAIN_TIMEOUT: Duration = Duration::from_secs(4);

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
    #[error("cannot reach the ApplicationMaster at {address} again: {cause}")]
    Failed {
        address: String,
        nobody_there: bool,
        cause: String,
    },
}

impl DialError {
    /// Whether nobody listens at the address, on a machine that is there.
    pub(crate) const fn is_nobody_there(&self) -> bool {
        matches!(
            self,
            Self::Failed {
                nobody_there: true,
                ..
            }
        )
    }
}

/// Connects, with the keys of `place`.
pub(crate) async fn dial(place: &LauncherKeys) -> Result<LaunchersClient<Channel>, DialError> {
    let address = &place.context.appmaster;
    let endpoint = endpoint(place).map_err(|source| DialError::Address {
        address: address.clone(),
        source,
    })?;
    let deadline = Instant::now() + DIAL_DEADLINE;
    loop {
        let cause = match tokio::time::timeout(CONNECT_TIMEOUT, endpoint.connect()).await {
            Ok(Ok(channel)) => {
                return Ok(client(channel));
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

/// Tries once more, at an AM that was there before, until then at most.
pub(crate) async fn once(
    place: &LauncherKeys,
    until: Instant,
) -> Result<LaunchersClient<Channel>, DialError> {
    let address = &place.context.appmaster;
    let endpoint = endpoint(place).map_err(|source| DialError::Address {
        address: address.clone(),
        source,
    })?;
    let until = until.min(Instant::now() + AGAIN_TIMEOUT);
    match tokio::time::timeout_at(until, endpoint.connect()).await {
        Ok(Ok(channel)) => Ok(client(channel)),
        Ok(Err(error)) => Err(DialError::Failed {
            address: address.clone(),
            nobody_there: is_refused(&error),
            cause: chain(&error),
        }),
        Err(_) => Err(DialError::Failed {
            address: address.clone(),
            nobody_there: false,
            cause: "no answer".to_owned(),
        }),
    }
}

fn client(channel: Channel) -> LaunchersClient<Channel> {
    LaunchersClient::new(channel)
        .max_decoding_message_size(transport::MESSAGE_MAX)
        .max_encoding_message_size(transport::MESSAGE_MAX)
}

/// Whether the machine is there and nobody listens.
fn is_refused(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let error_of_io = error.downcast_ref::<std::io::Error>();
        if error_of_io.is_some_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
            return true;
        }
        cause = error.source();
    }
    false
}

fn endpoint(place: &LauncherKeys) -> Result<Endpoint, tonic::transport::Error> {
    let tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(&place.authority))
        .identity(Identity::from_pem(&place.certificate, &place.key))
        .domain_name(APPMASTER_NAME);
    Ok(
        Endpoint::from_shared(format!("https://{}", place.context.appmaster))?
            .tls_config(tls)?
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .max_frame_size(transport::FRAME_MAX)
            .initial_stream_window_size(transport::STREAM_WINDOW)
            .initial_connection_window_size(transport::connection_window(transport::STREAM_WINDOW)),
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
