//! Dials the ApplicationMaster and says hello.

use std::time::Duration;

use job::resumable::{Message, Resumable};
use job::wire::launcher_event::Event;
use job::wire::launchers_client::LaunchersClient;
use job::wire::{LauncherEvent, LauncherHello, LauncherOrder};
use tokio::time::{Instant, timeout_at};
use tokio_stream::StreamExt as _;
use tonic::transport::Channel;
use tonic::{Code, Status, Streaming};

use crate::dial::{self, DialError};
use crate::launcher_context::LauncherKeys;
use crate::node_facts;
use crate::surroundings::Surroundings;

/// The AM answers hello at once.
const HELLO_TIMEOUT: Duration = Duration::from_secs(30);

/// A link.
pub(super) struct Joined {
    pub client: LaunchersClient<Channel>,
    pub orders: Streaming<LauncherOrder>,
}

/// Why there is no link.
pub(super) enum Refused {
    Dial(DialError),
    /// The AM does not want this launcher.
    Final(String),
    /// It may be otherwise the next time.
    ForNow(String),
}

/// Dials and says hello: for the first time, or (`again`) once more, until then.
pub(super) async fn join(
    place: &LauncherKeys,
    around: &Surroundings,
    said: &Resumable<Event>,
    again: Option<Instant>,
) -> Result<Joined, Refused> {
    let mut client = match again {
        None => dial::dial(place).await,
        Some(until) => dial::once(place, until).await,
    }
    .map_err(Refused::Dial)?;
    let hello = LauncherEvent {
        taken: said.taken(),
        event: Some(Event::Hello(LauncherHello {
            build: job::BUILD.to_owned(),
            container: place.context.container.clone(),
            ticket: place.context.ticket.clone(),
            node: Some(node_facts::read(place.context.scan.as_ref(), around)),
            life: place.life.to_vec(),
        })),
        ..LauncherEvent::default()
    };
    let events = tokio_stream::once(hello).chain(said.open(false).map(event));
    let by = Instant::now() + HELLO_TIMEOUT;
    let by = again.map_or(by, |until| by.min(until));
    let orders = match timeout_at(by, client.join(events)).await {
        Ok(Ok(answer)) => answer.into_inner(),
        Ok(Err(status)) if is_final(&status) => return Err(Refused::Final(words(&status))),
        Ok(Err(status)) => return Err(Refused::ForNow(words(&status))),
        Err(_) => {
            let seconds = HELLO_TIMEOUT.as_secs();
            return Err(Refused::ForNow(format!(
                "no answer to hello in {seconds} s"
            )));
        }
    };
    Ok(Joined { client, orders })
}

fn event(message: Message<Event>) -> LauncherEvent {
    LauncherEvent {
        number: message.number,
        taken: message.taken,
        clock: message.clock,
        event: message.what,
    }
}

/// Whether the same call would be refused again.
pub(crate) fn is_final(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::PermissionDenied | Code::FailedPrecondition | Code::InvalidArgument
    )
}

/// What a status says, or the transport's error beneath it.
pub(crate) fn words(status: &Status) -> String {
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
