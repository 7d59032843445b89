//! The jobs: what they hear, what they want done, and their ranks.

use super::*;

impl Duel {
    pub(super) fn hear(&mut self, job: usize, event: LifecycleEvent) -> Result<()> {
        let actions = self.jobs[job].step(Millis(self.now), event);
        if let Some(at) = self.jobs[job].wakes_at() {
            self.at(at.0, Happening::Wake(job));
        }
        for action in actions {
            self.carry_out(job, action)?;
        }
        Ok(())
    }

    fn carry_out(&mut self, job: usize, action: LifecycleAction) -> Result<()> {
        match action {
            LifecycleAction::TakeSnapshot => {
                // Everything of an earlier gang has had the time to go back.
                if self.jobs[job].gang().has_nothing() {
                    self.holds_nothing(job)?;
                }
                let read = self.now + self.draw(1, 400);
                self.at(read, Happening::Reads(job));
            }
            LifecycleAction::Ask { .. }
            | LifecycleAction::Release { .. }
            | LifecycleAction::Finish(_) => {
                if let LifecycleAction::Ask { placement, .. } = &action
                    && !placement.shares.is_empty()
                {
                    self.askings[job].push(self.now);
                }
                match &action {
                    LifecycleAction::Release { containers, why } => match why {
                        Unused::NotWanted => self.outcome.unwanted += containers.len(),
                        Unused::Incomplete => self.outcome.incomplete += containers.len(),
                        Unused::Forgotten | Unused::Lost | Unused::JobEnds => {}
                    },
                    LifecycleAction::Finish(verdict) => match &verdict.cause {
                        None => self.outcome.succeeded += 1,
                        // A node is lost and it cannot do without.
                        Some(Cause::Impossible(_)) if self.setup.losses > 0 => {}
                        Some(Cause::NotRepeated { why, .. })
                            if matches!(**why, Cause::Impossible(_)) => {}
                        // One loss too many.
                        Some(cause)
                            if cause.is_loss()
                                && self.jobs[job].run_number() > self.setup.limits.run.restarts => {
                        }
                        Some(cause) => bail!("job {job} failed: {cause:?}"),
                    },
                    _ => {}
                }
                let at = self.now + self.draw(1, 60);
                let at = at.max(self.applications[job].orders_until);
                self.applications[job].orders_until = at;
                self.at(at, Happening::Ordered(job, action));
            }
            LifecycleAction::Start(seats) => {
                for seat in seats {
                    let container = seat.container;
                    let there = self.containers.get(&container);
                    ensure!(
                        there.is_none_or(|c| c.job == job),
                        "{container} is of another job"
                    );
                    let answer = match there {
                        Some(_) => {
                            let launcher = DuelLauncher {
                                job,
                                is_linked: true,
                                ranks: Vec::new(),
                            };
                            self.launchers.insert(container.clone(), launcher);
                            LifecycleEvent::Joined(container.clone())
                        }
                        // The node, or its memory of it, is gone.
                        None => LifecycleEvent::StartFailed {
                            container: container.clone(),
                            why: String::new(),
                        },
                    };
                    self.tell(job, answer);
                    self.started[job].insert(container);
                }
            }
            LifecycleAction::Repeat { run, kept, .. } => {
                ensure!(run <= self.setup.limits.run.restarts + 1, "run {run}");
                self.outcome.repeated += 1;
                for container in kept {
                    let launcher = self.launchers.get(&container);
                    ensure!(
                        launcher.is_none_or(|l| l.ranks.is_empty()),
                        "ranks run in {container}, which is kept"
                    );
                }
            }
            LifecycleAction::Begin(seats) => {
                let of_job = self.launchers.values().filter(|l| l.job == job);
                let beside: usize = of_job.map(|launcher| launcher.ranks.len()).sum();
                ensure!(beside == 0, "{beside} ranks of an earlier run");
                for seat in seats {
                    if let Some(launcher) = self.launchers.get_mut(&seat.container) {
                        launcher.ranks = seat.ranks;
                    }
                }
                let done = self.now + self.draw(3_000, 30_000);
                self.at(done, Happening::Done(job, self.jobs[job].run_number()));
            }
            LifecycleAction::Stop { .. } => {
                let of_job = self.launchers.iter().filter(|(_, l)| l.job == job);
                let linked: Vec<ContainerId> = of_job
                    .filter(|(_, launcher)| launcher.is_linked && !launcher.ranks.is_empty())
                    .map(|(container, _)| container.clone())
                    .collect();
                for container in linked {
                    // Some rank can be stuck in its kernel.
                    if self.draw(0, 20) > 0 {
                        let at = self.now + self.draw(1, 1_200);
                        self.at(at, Happening::RanksEnd(container));
                    }
                }
            }
            LifecycleAction::Show(_)
            | LifecycleAction::Silent { .. }
            | LifecycleAction::LeftEarly { .. }
            | LifecycleAction::EndedForOne { .. }
            | LifecycleAction::Probe(_) => {}
        }
        Ok(())
    }

    /// The ranks of the job return, if all of them are there; by then nothing but what it runs in
    /// belongs to it.
    pub(super) fn done(&mut self, job: usize, run: u32) -> Result<()> {
        if self.jobs[job].run_number() != run || !self.jobs[job].run().is_running() {
            return Ok(());
        }
        let started = &self.started[job];
        let of_job = self.containers.iter().filter(|(_, c)| c.job == job);
        for (id, _) in of_job {
            ensure!(started.contains(id), "{id} was kept beside {started:?}");
        }
        let requests = &self.applications[job].requests;
        ensure!(requests.is_empty(), "asks for {requests:?} still");
        let processes = self.jobs[job].gang().demand().processes.get();
        let mut launchers = self.launchers.values_mut();
        let linked = |l: &&mut DuelLauncher| l.job == job && l.is_linked;
        let ranks: Vec<Rank> = launchers
            .by_ref()
            .filter(linked)
            .flat_map(|launcher| std::mem::take(&mut launcher.ranks))
            .collect();
        if ranks.len() < processes as usize {
            // Those that are left wait for the others for ever; put them back where they were.
            let mut left = ranks.into_iter();
            for launcher in self.launchers.values_mut().filter(|l| l.job == job) {
                if launcher.is_linked {
                    launcher.ranks.extend(left.by_ref().take(1));
                }
            }
            return Ok(());
        }
        for rank in 0..processes {
            self.hear(job, ended(rank, End::Code(0), PmiStage::Finalized))?;
        }
        Ok(())
    }

    /// The ranks of a container are ended, and its master is told if it can be.
    pub(super) fn ranks_end(&mut self, container: &ContainerId) -> Result<()> {
        let Some(launcher) = self.launchers.get_mut(container) else {
            return Ok(());
        };
        let (job, ranks) = (launcher.job, std::mem::take(&mut launcher.ranks));
        if launcher.is_linked {
            for rank in ranks {
                self.hear(job, ended(rank.0, End::Signal(15), PmiStage::Silent))?;
            }
        }
        Ok(())
    }

    /// Nothing belongs to the job but what is on its way to it and back.
    fn holds_nothing(&self, job: usize) -> Result<()> {
        let on_its_way: BTreeSet<&ContainerId> = self
            .agenda
            .pending()
            .flat_map(|what| match what {
                Happening::Told(to, LifecycleEvent::Granted(grant)) if *to == job => {
                    vec![&grant.container]
                }
                Happening::Ordered(from, LifecycleAction::Release { containers, .. })
                    if *from == job =>
                {
                    containers.iter().collect()
                }
                _ => Vec::new(),
            })
            .collect();
        let mut held = self.containers.iter().filter(|(_, c)| c.job == job);
        let kept = held.find(|(id, _)| !on_its_way.contains(id));
        ensure!(kept.is_none(), "looks anew and keeps {kept:?}");
        Ok(())
    }
}
