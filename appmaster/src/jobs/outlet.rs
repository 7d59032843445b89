//! Events for the clients of jobs, each as soon as its client's stream has a place for it.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use job::{JobId, wire};
use tokio::sync::mpsc::OwnedPermit;
use tonic::Status;

use super::Jobs;
use crate::client_events::Outbox;
use crate::work::{JobEvent, WorkEvent};

/// A place for one event in a client's stream; `None`: the stream has ended.
pub(crate) type Outlet = Option<OwnedPermit<Result<wire::JobEvent, Status>>>;

impl Jobs {
    /// A place for the next event that a client is to be told; never, while there is none.
    pub(crate) async fn outlet(&self) -> (JobId, Outlet) {
        let waiting = self.agenda.telling();
        let waiting = waiting.filter_map(|job| Some((job, self.get(job)?.client()?.clone())));
        let places = waiting
            .map(|(job, events)| boxed(async move { (job, events.reserve_owned().await.ok()) }));
        first(places.collect()).await
    }

    /// Puts the next event into its place. What the job hears where its client takes no more.
    pub(crate) fn post(&mut self, job: JobId, place: Outlet) -> Option<WorkEvent> {
        let Some(place) = place else {
            return Some(WorkEvent::Every(JobEvent::ClientDeaf));
        };
        let outbox = self.get_mut(job).and_then(|entry| entry.outbox());
        if let Some(event) = outbox.and_then(Outbox::next) {
            let _stream = place.send(Ok(event));
        }
        None
    }
}

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

fn boxed<'a, T>(future: impl Future<Output = T> + Send + 'a) -> Boxed<'a, T> {
    Box::pin(future)
}

/// What the first of them brings that is done; of none, nothing ever.
async fn first<T>(mut all: Vec<Boxed<'_, T>>) -> T {
    poll_fn(|context| {
        let done = all
            .iter_mut()
            .find_map(|one| match one.as_mut().poll(context) {
                Poll::Ready(done) => Some(done),
                Poll::Pending => None,
            });
        done.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}
