//! The link of one launcher, from the ApplicationMaster's side.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use job::wire::launcher_event::Event as Told;
use job::wire::launcher_order::Order as Said;
use job::wire::mpi_event::Event;
use job::wire::mpi_order::Order;
use job::wire::{
    EndJob, LauncherHello, Leave, MpiEvent, MpiOrder, RankEnded, RankUsage, Share, Stop,
};
use tokio::sync::{mpsc, watch};

use super::service::{CountedStreams, Talk};
use super::within;

/// The control link of one launcher.
pub struct Link {
    pub hello: LauncherHello,
    pub(super) heard: mpsc::Receiver<Told>,
    /// Heard while something else was waited for.
    pub(super) aside: VecDeque<Told>,
    pub(super) talk: Arc<Talk>,
    pub(super) streams: Arc<watch::Sender<CountedStreams>>,
}

impl Link {
    /// Orders something of the job that the application was started for.
    pub async fn order(&self, order: Order) {
        self.order_of(0, order).await;
    }

    /// Orders something of a job.
    pub async fn order_of(&self, job: u32, order: Order) {
        let order = MpiOrder {
            job,
            order: Some(order),
        };
        self.say(Said::Mpi(order)).await;
    }

    pub async fn say(&self, order: Said) {
        let bytes = order.encoded_len();
        self.talk.said.push(order, bytes);
    }

    /// Ends the present link; the launcher may come by another.
    pub fn hang_up(&self) {
        self.talk.said.close();
    }

    /// What is ordered from now on waits until the launcher has come by another link.
    pub fn has_link(&self) -> bool {
        self.talk.said.is_open()
    }

    /// The next of ranks that is neither a sample nor a remark.
    pub async fn event(&mut self) -> Event {
        match self.told().await {
            Told::Mpi(MpiEvent {
                job: 0,
                event: Some(event),
            }) => event,
            other => panic!("{other:?}"),
        }
    }

    /// The next of the ranks of a job that is neither a sample nor a remark; what else is heard meanwhile
    /// comes later.
    pub async fn event_of(&mut self, job: u32) -> Event {
        let is_of = |told: &Told| matches!(told, Told::Mpi(of) if of.job == job);
        match self.told_that(is_of).await {
            Told::Mpi(MpiEvent {
                event: Some(event), ..
            }) => event,
            other => panic!("{other:?}"),
        }
    }

    /// The next like this that is neither a sample nor a remark; what else is heard meanwhile comes later.
    pub async fn told_that(&mut self, is_it: impl Fn(&Told) -> bool) -> Told {
        let mut others = VecDeque::new();
        loop {
            let told = self.told().await;
            if is_it(&told) {
                others.append(&mut self.aside);
                self.aside = others;
                return told;
            }
            others.push_back(told);
        }
    }

    /// The next that is neither a sample nor a remark.
    pub async fn told(&mut self) -> Told {
        if let Some(told) = self.aside.pop_front() {
            return told;
        }
        loop {
            let told = within(self.heard.recv()).await.unwrap();
            let of_ranks = match &told {
                Told::Mpi(told) => told.event.as_ref(),
                _ => None,
            };
            match of_ranks {
                Some(Event::Usages(_) | Event::Seen(_)) => {}
                Some(Event::Started(started)) => {
                    let begun = started.streams;
                    self.streams.send_modify(|streams| streams.begun += begun);
                    return told;
                }
                _ => return told,
            }
        }
    }

    /// What a launcher that is gone has said to its last word, and nobody has heard.
    pub async fn last_told(&mut self) -> Vec<Told> {
        within(async {
            while self.has_link() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        let mut told: Vec<Told> = self.aside.drain(..).collect();
        while let Ok(next) = self.heard.try_recv() {
            told.push(next);
        }
        told
    }

    /// The next sample of the ranks.
    pub async fn usages(&mut self) -> Vec<RankUsage> {
        loop {
            let told = within(self.heard.recv()).await.unwrap();
            if let Told::Mpi(MpiEvent { event, .. }) = told
                && let Some(Event::Usages(sampled)) = event
            {
                return sampled.usages;
            }
        }
    }

    /// Orders the share and waits until it runs.
    pub async fn run(&mut self, share: Share) {
        self.order(Order::Share(share)).await;
        match self.event().await {
            Event::Started(started) => assert!(started.at_us > 0),
            other => panic!("{other:?}"),
        }
    }

    /// The same for a job.
    pub async fn run_of(&mut self, job: u32, share: Share) {
        self.order_of(job, Order::Share(share)).await;
        match self.event_of(job).await {
            Event::Started(started) => assert!(started.at_us > 0),
            other => panic!("{other:?}"),
        }
    }

    /// Ends a job and waits until it is over.
    pub async fn end_job(&mut self, job: u32) {
        self.say(Said::EndJob(EndJob { job })).await;
        let left = |told: &Told| matches!(told, Told::JobLeft(left) if left.job == job);
        self.told_that(left).await;
    }

    /// The next event, which is the end of a rank; that those that are left wait for one that has ended may be said before.
    pub async fn ended(&mut self) -> RankEnded {
        loop {
            match self.event().await {
                Event::Ended(ended) => return ended,
                Event::Stuck(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    pub async fn stop(&self, grace_ms: u32) {
        self.order(Order::Stop(Stop { grace_ms })).await;
    }

    /// The end of the next rank of a job to end.
    pub async fn ended_of(&mut self, job: u32) -> RankEnded {
        match self.event_of(job).await {
            Event::Ended(ended) => ended,
            other => panic!("{other:?}"),
        }
    }

    pub async fn leave(&self) {
        self.say(Said::Leave(Leave {})).await;
    }
}
