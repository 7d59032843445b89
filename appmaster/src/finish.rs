//! After the verdict: everybody is told, and nothing is left behind.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;
use holding::Finished;
use job::exit::diagnostics;
use job::wire;
use policy::lifecycle::{Cause, Event, KillReason, Verdict};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::follow::{ATTACH_DEADLINE, Appmaster, Client};
use crate::news::News;
use crate::run::now_us;
use crate::verdict;

/// How long launchers may take to hand over what their ranks have printed when no client hinders
/// them.
const DRAIN_DEADLINE: Duration = Duration::from_secs(10);
/// The same where YARN ends the job: it kills the launchers too, and none of them comes back.
const DRAIN_AFTER_KILL: Duration = Duration::from_secs(3);
/// How long the client waits for the ResourceManager to take the verdict before it hears it itself.
const TAKEN_SOON: Duration = Duration::from_secs(3);
/// Between two looks at who hinders whom.
const DRAIN_LOOK: Duration = Duration::from_millis(500);

impl Appmaster {
    /// The verdict is out: everybody is told, in this order: the client, the launchers (once all
    /// output is taken), the ResourceManager, the client again.
    pub(crate) async fn finish(
        &mut self,
        verdict: Verdict,
        inbox: &mut mpsc::Receiver<News>,
    ) -> Result<()> {
        self.timing.ended_us = now_us();
        self.checkpoints.pause();
        let verdict = Box::pin(self.deliver(verdict, inbox)).await;
        self.remark_on_silence(&verdict);
        let sentence = self.last_sentence(&verdict).await;
        tracing::info!(
            "verdict: {}",
            if sentence.is_empty() {
                "success"
            } else {
                &sentence
            }
        );
        self.await_client(inbox).await;
        let patience = match verdict.cause {
            Some(Cause::Killed(KillReason::Terminated)) => DRAIN_AFTER_KILL,
            _ => DRAIN_DEADLINE,
        };
        self.drain(patience, inbox).await;
        for (container, _) in self.holding.links() {
            self.holding.leave(container);
        }
        Box::pin(self.checkpoints_over(verdict.cause.is_none(), inbox)).await;

        let words = match verdict.cause {
            None => self.summary(),
            Some(_) => diagnostics(&sentence, verdict::exit_code(&verdict)),
        };
        let status = verdict::final_status(&verdict);
        self.holding.finish(status, words);
        // A ResourceManager that does not answer is given time to, and may use it to end this very
        // process: the client is told before, without the counts of the calls.
        let deaf = matches!(verdict.cause, Some(Cause::ResourceManagerLost { .. }));
        let heard = match deaf {
            true => None,
            false => {
                let soon = timeout(TAKEN_SOON, self.finished(inbox)).await;
                soon.ok()
            }
        };
        let counts = heard.unwrap_or_default();
        let mut last = wire::Verdict {
            exit_code: i32::from(verdict::exit_code(&verdict)),
            state: verdict::final_state(&verdict).into(),
            sentence,
            ranks: self.rank_reports(),
            timing: Some(self.timing),
            asking_allocates: counts.asking,
            allocates: counts.allocates,
            appmaster_memory: Some(verdict::memory()),
            report: String::new(),
            left_files: self.left_files(),
        };
        last.report = self.report(&last, counts);
        while let Some(event) = self.story.outbox.pop() {
            self.tell_client(Some(event)).await;
        }
        self.tell_client(Some(wire::job_event::Event::Verdict(last)))
            .await;
        let unregistered = match heard {
            Some(counts) => counts.unregistered,
            None => self.finished(inbox).await.unregistered,
        };
        Box::pin(self.delivery_over(unregistered)).await;
        // An empty event where the ResourceManager has not taken it: the client need not wait.
        let taken = wire::job_event::Event::Unregistered(wire::Unregistered {});
        self.tell_client(unregistered.then_some(taken)).await;
        // It leaves when its terminal has taken the last byte; a dead one the keep-alive ends.
        while matches!(self.client, Client::Attached(_)) && !self.leaving {
            let news = inbox.recv().await;
            self.hear_late(news).await;
        }
        Ok(())
    }

    /// Until the ResourceManager has taken the verdict, or will not.
    async fn finished(&mut self, inbox: &mut mpsc::Receiver<News>) -> Finished {
        loop {
            if let Some(finished) = self.finished {
                return finished;
            }
            let news = inbox.recv().await;
            self.hear_late(news).await;
        }
    }

    /// A job can be over before its client has found us.
    async fn await_client(&mut self, inbox: &mut mpsc::Receiver<News>) {
        let by = self.began + ATTACH_DEADLINE;
        while matches!(self.client, Client::Awaited) && !self.leaving {
            tokio::select! {
                news = inbox.recv() => self.hear_late(news).await,
                () = sleep_until(by) => self.go_on_alone(),
            }
        }
    }

    /// Waits until every stream of every launcher has ended, and the client has been handed all of it. As
    /// long as a client takes it, however slowly, this may last; a launcher that brings nothing more
    /// and does not end its streams is waited for no longer than `patience`.
    async fn drain(&mut self, patience: Duration, inbox: &mut mpsc::Receiver<News>) {
        let mut by = Instant::now() + patience;
        let run = self.job.run_number();
        while !self.console.is_drained() && !self.hasty {
            let streams = |id| self.streams.get(id).copied().unwrap_or_default();
            let links = self.holding.links();
            let streams = links.map(|(id, _)| (id.clone(), streams(id))).collect();
            if self.console.has_all(run, &streams) {
                self.console.close();
            }
            let followed = matches!(self.client, Client::Attached(_) | Client::Absent);
            if followed && (self.console.is_closed() || self.console.is_backed_up()) {
                by = Instant::now() + patience;
            } else if !followed || Instant::now() > by {
                break;
            }
            tokio::select! {
                news = inbox.recv() => self.hear_late(news).await,
                () = self.console.an_end() => {}
                () = sleep(DRAIN_LOOK) => {}
            }
        }
        self.console.close();
    }

    /// News after the verdict.
    pub(crate) async fn hear_late(&mut self, news: Option<News>) {
        match news {
            Some(News::ClientAttached { events, admitted }) => {
                let _heard = admitted.send(self.attach(events)).is_ok();
            }
            Some(News::ClientKill(_)) => self.hasty = true,
            Some(News::ClientLeft) | None => self.client = Client::Gone,
            Some(News::Holding(heard)) => self.told_late(heard),
            // Whoever ends this very process does not wait for terminals.
            Some(News::Machine(Event::KillRequested(_))) => {
                self.hasty = true;
                self.leaving = true;
            }
            Some(_) => {}
        }
    }

    /// Of a success, one line for YARN's pages.
    fn summary(&self) -> String {
        let seats = self.seats.all();
        let ranks: usize = seats.iter().map(|seat| seat.ranks.len()).sum();
        let hosts: BTreeSet<&str> = seats.iter().map(|seat| seat.host.as_str()).collect();
        verdict::summary(
            ranks,
            hosts.len(),
            self.timing.ended_us.saturating_sub(self.timing.started_us),
        )
    }

    fn rank_reports(&self) -> Vec<wire::RankReport> {
        let seats = self.seats.all().iter();
        let mut reports: Vec<wire::RankReport> = seats
            .flat_map(|seat| {
                seat.ranks.iter().map(|rank| {
                    let (group, group_rank) = self.groups.of(&self.firsts, rank.0);
                    wire::RankReport {
                        rank: rank.0,
                        host: seat.host.clone(),
                        end: self.reports.get(rank).cloned(),
                        group,
                        group_rank,
                        container_exit: self.exits.of(&seat.container),
                    }
                })
            })
            .collect();
        reports.sort_by_key(|report| report.rank);
        reports
    }

    async fn tell_client(&mut self, event: Option<wire::job_event::Event>) {
        if let Client::Attached(events) = &self.client {
            let event = wire::JobEvent { event };
            if events.send(Ok(event)).await.is_err() {
                self.client = Client::Gone;
            }
        }
    }
}
