//! A session that ends with this process: its ApplicationMaster hears now and then that we are there.

use std::time::Duration;

use job::wire;
use job::wire::client_order::Order;
use job::wire::clients_client::ClientsClient;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use tonic::transport::Channel;

use super::mirror::stay_alive;
use super::order::order;
use super::tasks::JobControl;

/// For an ApplicationMaster that is reached to take us.
const ANSWER: Duration = Duration::from_secs(15);

/// Dropping it ends the session.
#[derive(Debug)]
pub struct SessionGuard {
    beside: JoinSet<()>,
}

impl SessionGuard {
    /// Owns the session at the other end of `client`. Of what is wished its pauses are told.
    ///
    /// # Errors
    ///
    /// It does not answer, or was not started for this.
    pub async fn begin(
        client: &mut ClientsClient<Channel>,
        wishes: watch::Receiver<JobControl>,
    ) -> Result<Self, Status> {
        let (orders, outgoing) = mpsc::channel(16);
        let hello = wire::ClientHello {
            build: job::BUILD.into(),
            owns: true,
            ..wire::ClientHello::default()
        };
        order(&orders, Order::Hello(hello)).await;
        let attached = timeout(ANSWER, client.attach(ReceiverStream::new(outgoing))).await;
        let late = || Status::deadline_exceeded(format!("no answer within {} s", ANSWER.as_secs()));
        let mut events = attached.unwrap_or_else(|_late| Err(late()))?.into_inner();
        let mut beside = JoinSet::new();
        beside.spawn(stay_alive(orders.clone()));
        beside.spawn(async move {
            // Nothing is said on this stream; it is open as long as the session lasts.
            while let Ok(Some(_)) = events.message().await {}
        });
        beside.spawn(tell_pauses(orders, wishes));
        Ok(Self { beside })
    }

    /// Lets go of it.
    pub async fn end(mut self) {
        self.beside.shutdown().await;
    }
}

async fn tell_pauses(
    orders: mpsc::Sender<wire::ClientOrder>,
    mut wishes: watch::Receiver<JobControl>,
) {
    let mut is_paused = false;
    while wishes.changed().await.is_ok() {
        let pauses = *wishes.borrow_and_update() == JobControl::Pause;
        if pauses != is_paused {
            is_paused = pauses;
            let said = match pauses {
                true => Order::Pause(wire::Pause {}),
                false => Order::Resume(wire::Resume {}),
            };
            order(&orders, said).await;
        }
    }
}
