//! After the verdict: everybody is told, and nothing is left behind.

use std::time::Duration;

use anyhow::Result;
use job::exit::diagnostics;
use job::wire;
use job::wire::launcher_order::Order as ToLauncher;
use policy::lifecycle::Verdict;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

use crate::follow::{ATTACH_DEADLINE, Appmaster, Client};
use crate::news::News;
use crate::resource_manager::{Counts, Order};
use crate::run::now_us;
use crate::verdict;

/// How long the client may take to say good-bye after the last event.
const GOODBYE_DEADLINE: Duration = Duration::from_secs(5);
/// How long launchers may take to hand over what their ranks have printed when no client hinders
/// them.
const DRAIN_DEADLINE: Duration = Duration::from_secs(10);

impl Appmaster {
    /// The verdict is out: everybody is told, in this order: the client, the launchers (once all
    /// output is taken), the ResourceManager, the client again.
    pub(crate) async fn finish(
        &mut self,
        verdict: Verdict,
        inbox: &mut mpsc::Receiver<News>,
    ) -> Result<()> {
        self.timing.ended_us = now_us();
        let sentence = verdict::sentence(&verdict);
        tracing::info!(
            "verdict: {}",
            if sentence.is_empty() {
                "success"
            } else {
                &sentence
            }
        );
        self.await_client(inbox).await;
        self.drain(inbox).await;
        self.order_all(&ToLauncher::Leave(wire::Leave {})).await;

        let (done, counts) = oneshot::channel();
        self.order_rm(Order::Finish {
            status: verdict::final_status(&verdict),
            diagnostics: diagnostics(&sentence, verdict::exit_code(&verdict)),
            done,
        })
        .await;
        let counts: Counts = counts.await.unwrap_or_default();
        let last = wire::Verdict {
            exit_code: i32::from(verdict::exit_code(&verdict)),
            state: verdict::final_state(&verdict).into(),
            sentence,
            ranks: self.rank_reports(),
            timing: Some(self.timing),
            asking_allocates: counts.asking,
            allocates: counts.allocates,
            appmaster_memory: Some(verdict::memory()),
        };
        self.tell_client(wire::job_event::Event::Verdict(last))
            .await;
        self.tell_client(wire::job_event::Event::Unregistered(wire::Unregistered {}))
            .await;
        let goodbye = async {
            while matches!(self.client, Client::Attached(_)) {
                match inbox.recv().await {
                    Some(News::ClientLeft) | None => self.client = Client::Gone,
                    Some(_) => {}
                }
            }
        };
        let _left = timeout(GOODBYE_DEADLINE, goodbye).await.is_ok();
        Ok(())
    }

    /// A job can be over before its client has found us.
    async fn await_client(&mut self, inbox: &mut mpsc::Receiver<News>) {
        let by = self.began + ATTACH_DEADLINE;
        while matches!(self.client, Client::Awaited) {
            tokio::select! {
                news = inbox.recv() => self.hear_late(news),
                () = sleep_until(by) => self.go_on_alone(),
            }
        }
    }

    /// Waits until every launcher that is still there has handed over its output. As long as a
    /// client takes it, however slowly, this may last.
    async fn drain(&mut self, inbox: &mut mpsc::Receiver<News>) {
        let mut by = Instant::now() + DRAIN_DEADLINE;
        // A rank's end can be known before the stream of its output is.
        while self.outputs_opened < self.outputs_due.min(self.links.len()) {
            tokio::select! {
                news = inbox.recv() => self.hear_late(news),
                () = sleep_until(by) => break,
            }
        }
        self.console.close();
        while !self.console.is_drained() {
            if matches!(self.client, Client::Attached(_)) {
                by = Instant::now() + DRAIN_DEADLINE;
            }
            tokio::select! {
                news = inbox.recv() => self.hear_late(news),
                () = sleep_until(by) => {
                    if !matches!(self.client, Client::Attached(_)) {
                        return;
                    }
                }
            }
        }
    }

    /// News after the verdict.
    fn hear_late(&mut self, news: Option<News>) {
        match news {
            Some(News::ClientAttached(events)) => self.client = Client::Attached(events),
            Some(News::ClientLeft) | None => self.client = Client::Gone,
            Some(News::OutputOpened) => self.outputs_opened += 1,
            Some(News::LauncherLeft(container)) => {
                self.links.remove(&container);
            }
            Some(_) => {}
        }
    }

    fn rank_reports(&self) -> Vec<wire::RankReport> {
        let seats = self.seats.iter();
        let mut reports: Vec<wire::RankReport> = seats
            .flat_map(|seat| {
                seat.ranks.iter().map(|rank| wire::RankReport {
                    rank: rank.0,
                    host: seat.host.clone(),
                    end: self.reports.get(rank).copied(),
                })
            })
            .collect();
        reports.sort_by_key(|report| report.rank);
        reports
    }

    async fn tell_client(&mut self, event: wire::job_event::Event) {
        if let Client::Attached(events) = &self.client {
            let event = wire::JobEvent { event: Some(event) };
            if events.send(Ok(event)).await.is_err() {
                self.client = Client::Gone;
            }
        }
    }
}
