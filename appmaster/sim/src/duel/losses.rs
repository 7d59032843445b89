//! What is lost, and what is taken.

use super::*;

impl Duel {
    /// Some launcher whose ranks run.
    pub(super) fn draw_busy(&mut self) -> Option<ContainerId> {
        let busy = self.launchers.iter().filter(|(_, l)| !l.ranks.is_empty());
        let mut busy: Vec<ContainerId> = busy.map(|(container, _)| container.clone()).collect();
        let last = u64::try_from(busy.len().checked_sub(1)?).ok()?;
        let chosen = usize::try_from(self.draw(0, last)).ok()?;
        Some(busy.swap_remove(chosen))
    }

    /// The launcher goes at once, with its ranks. Those of the others may fail for it before anybody
    /// else knows.
    pub(super) fn preempt(&mut self) {
        let Some(container) = self.draw_busy() else {
            return;
        };
        let Some(launcher) = self.launchers.remove(&container) else {
            return;
        };
        let job = launcher.job;
        self.containers.remove(&container);
        if self.draw(0, 1) == 1 {
            let of_job = self.launchers.values_mut().filter(|l| l.job == job);
            let reset: Vec<Rank> = of_job.flat_map(|l| std::mem::take(&mut l.ranks)).collect();
            for rank in reset {
                let at = self.now + self.draw(1, 50);
                let failed = ended(rank.0, End::Code(1), PmiStage::Initialized);
                self.at(at, Happening::Told(job, failed));
            }
        }
        self.tell_by_link(job, 300, 350, LifecycleEvent::LinkLost(container.clone()));
        let taken = LifecycleEvent::ContainerEnded {
            container,
            status: -102,
            diagnostics: String::new(),
        };
        self.tell(job, taken);
    }

    /// A launcher and its master do not hear each other any more. Each notices within the lease; YARN
    /// may hear of the launcher's end, or not.
    pub(super) fn cut(&mut self) {
        let Some(container) = self.draw_busy() else {
            return;
        };
        let Some(launcher) = self.launchers.get_mut(&container) else {
            return;
        };
        launcher.is_linked = false;
        let job = launcher.job;
        let ends = self.now + self.draw(0, 15_000);
        self.at(ends, Happening::LauncherEnds(container.clone()));
        if self.draw(0, 1) == 1 {
            let ended = LifecycleEvent::ContainerEnded {
                container: container.clone(),
                status: 70,
                diagnostics: String::new(),
            };
            self.at(ends + 1_000, Happening::Told(job, ended));
        }
        self.tell_by_link(job, 300, 15_000, LifecycleEvent::LinkLost(container));
    }

    /// All that the attempt held goes, and nothing that was on its way to or from it arrives. The
    /// next one registers a moment later.
    pub(super) fn kill_master(&mut self, job: usize) {
        if self.jobs[job].is_over() {
            return;
        }
        self.outcome.attempts += 1;
        self.agenda.retain(|what| {
            !matches!(what, Happening::Told(of, _) | Happening::Ordered(of, _) | Happening::Reads(of)
                | Happening::Wake(of) | Happening::Done(of, _) if *of == job)
        });
        self.containers.retain(|_, container| container.job != job);
        self.launchers.retain(|_, launcher| launcher.job != job);
        self.started[job].clear();
        self.applications[job] = DuelApplication::default();
        let demand = self.jobs[job].gang().demand().clone();
        let next = MpiMachine::new(demand, self.setup.limits, self.seeds[job] ^ 1);
        self.jobs[job] = next.placed_by(self.place);
        let registers = self.now + self.draw(1_000, 3_000);
        self.at(registers, Happening::Told(job, LifecycleEvent::Registered));
    }

    pub(super) fn lose(&mut self, node: usize) {
        self.nodes[node] = DuelNode {
            up: false,
            reserved: None,
        };
        let on_it = self.containers.iter().filter(|(_, c)| c.node == node);
        let lost: Vec<(ContainerId, usize)> = on_it.map(|(id, c)| (id.clone(), c.job)).collect();
        // Sometimes it is the NodeManager alone, and the launchers run on.
        let launchers_too = self.draw(0, 3) > 0;
        for (container, job) in lost {
            self.containers.remove(&container);
            if launchers_too && self.launchers.remove(&container).is_some() {
                self.tell_by_link(
                    job,
                    300,
                    15_000,
                    LifecycleEvent::LinkLost(container.clone()),
                );
            }
            let ended = LifecycleEvent::ContainerEnded {
                container,
                status: -100,
                diagnostics: String::new(),
            };
            self.tell(job, ended);
        }
        let back = self.now + self.draw(1_000, 60_000);
        self.at(back, Happening::NodeBack(node));
    }
}
