//! Dials the ApplicationMaster and says hello.

use std::sync::Arc;
use std::time::Duration;

use job::wire::launcher_event::Event;
use job::wire::launchers_client::LaunchersClient;
use job::wire::{LauncherEvent, LauncherHello, LauncherOrder};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

use super::LifeError;
use crate::dial;
use crate::node_facts;
use crate::seat::Place;

/// The AM answers hello at once.
const HELLO_TIMEOUT: Duration = Duration::from_secs(30);
/// Events handed to the connection; those that wait before it are bounded by the ranks: a fence, an
/// abort and an end of each.
const SENDING: usize = 8;

pub(super) struct Joined {
    pub client: LaunchersClient<Channel>,
    pub events: mpsc::Sender<LauncherEvent>,
    pub orders: Streaming<LauncherOrder>,
}

/// Dials and says hello.
pub(super) async fn join(place: Arc<Place>) -> Result<Joined, LifeError> {
    let mut client = dial::dial(&place).await?;
    let refused = |cause| LifeError::Refused {
        address: place.seat.appmaster.clone(),
        cause,
    };
    let (events, sending) = mpsc::channel(SENDING);
    let hello = LauncherHello {
        build: job::BUILD.to_owned(),
        container: place.seat.container.clone(),
        ticket: place.seat.ticket.clone(),
        node: Some(node_facts::read()),
    };
    let hello = LauncherEvent {
        event: Some(Event::Hello(hello)),
    };
    // The queue is new and has room.
    drop(events.try_send(hello));
    let join = client.join(ReceiverStream::new(sending));
    let orders = match tokio::time::timeout(HELLO_TIMEOUT, join).await {
        Ok(Ok(answer)) => answer.into_inner(),
        Ok(Err(status)) => return Err(refused(words(&status))),
        Err(_) => {
            let seconds = HELLO_TIMEOUT.as_secs();
            return Err(refused(format!("no answer to hello in {seconds} s")));
        }
    };
    Ok(Joined {
        client,
        events,
        orders,
    })
}

/// What a status says, or the transport's error beneath it.
pub(super) fn words(status: &Status) -> String {
    let said = match std::error::Error::source(status) {
        Some(source) => format!("{}: {}", status.message(), dial::chain(source)),
        None => status.message().to_owned(),
    };
    // What TLS calls a process that died; its own words are a lecture.
    match said.contains("close_notify") {
        true => "the connection ended without a farewell".to_owned(),
        false => said,
    }
}
