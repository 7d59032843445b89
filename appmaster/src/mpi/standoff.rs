//! Jobs that wait for each other: each holds containers on nodes that the other still needs, or has
//! them reserved.
//!
//! Neither can see what the other asks for, but both see what the ResourceManager tells of the
//! other: that it is a job of this kind, that it waits ([`WAITING`]), how old it is and where its
//! containers are. The older one stays; the younger lets go of what it holds as soon as it has seen
//! twice in a row that an older one which waits, too, holds what is missing. Of several jobs in a
//! ring all but the oldest do so. An older one of another queue has to be seen for longer ([`PREEMPTED`]): that queue may have
//! more than its share, and the ResourceManager takes it back for the younger job. What the job's user may not see of other
//! users' jobs is left to the deadline of the gang.

use std::collections::BTreeSet;
use std::time::Duration;

use policy::lifecycle::{LifecycleEvent, LifecyclePhase};
use policy::{Millis, NodeId};
use proto_hadoop::yarn::{
    ApplicationFilter, ApplicationReport, ContainerReport, ContainerState, YarnApplicationState,
};
use proto_hadoop::{ApplicationClient, ApplicationId};
use tokio::time::timeout;

use crate::mpi::Mpi;
use crate::work::Do;

/// From the last grant to the first look, and between two looks: longer than a grant takes to come,
/// so that two looks in a row tell a job that waits from one that is just being served.
const FIRST: Millis = Millis(3_000);
const AGAIN: Millis = Millis(4_000);
/// Between two looks when some have shown nobody: a job may wait for days, and many may wait.
const LATER: Millis = Millis(15_000);
const SOON: u32 = 3;
/// Within this time a ResourceManager that preempts has taken back what a queue has beyond its share: it looks each 3 s,
/// and kills what was asked back 15 s later (`yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill`).
const PREEMPTED: Millis = Millis(30_000);
/// For one look.
const DEADLINE: Duration = Duration::from_secs(4);
/// Applications listed, and older ones that wait whose containers are looked at, the oldest first.
const LISTED: u32 = 1000;
const ASKED: usize = 20;
/// The number of the container that an ApplicationMaster runs in, among those of its attempt.
const MASTER: i64 = 1;

/// The progress that a job shows while it waits for containers, in thousandths, and the least that it
/// shows from then on.
const WAITING: u16 = 0;
const WAITED: u16 = 50;
/// All ranks have ended.
const ENDING: u16 = 950;

/// What YARN is told of a job's progress, in thousandths.
pub(crate) fn progress(phase: &LifecyclePhase) -> u16 {
    match phase {
        LifecyclePhase::WaitingForRoom(_)
        | LifecyclePhase::LetGo(_)
        | LifecyclePhase::WaitingForContainers { .. }
        | LifecyclePhase::WaitingForNodes { .. } => WAITING,
        LifecyclePhase::StartingContainers { .. } => WAITED,
        LifecyclePhase::Running { ended, ranks } => {
            let span = usize::from(ENDING - WAITED);
            let share = ended.saturating_mul(span) / (*ranks).max(1);
            WAITED + u16::try_from(share.min(span)).unwrap_or(0)
        }
        LifecyclePhase::Ending => ENDING,
    }
}

/// Whether that is the progress of a job that waits for containers.
fn waits(progress: f32) -> bool {
    progress < f32::from(WAITED) / 2000.0
}

/// A job that waits, and where it holds containers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rival {
    application: ApplicationId,
    name: String,
    nodes: BTreeSet<NodeId>,
    /// Room is reserved for it somewhere, which nobody else is told.
    reserves: bool,
    /// Its queue is not this job's.
    is_of_other_queue: bool,
}

/// What a look has shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sight {
    /// Older jobs that wait.
    rivals: Vec<Rival>,
    /// Room is reserved for this job.
    reserves: bool,
}

/// Since when a part of the job's containers is there and no more come, and who was seen in the way.
#[derive(Debug, Default)]
pub(crate) struct Standoff {
    look_at: Option<Millis>,
    /// Looks since the last grant.
    looks: u32,
    /// Those whom the last look has shown in the way, and since when each look has.
    suspects: Vec<(ApplicationId, Millis)>,
}

impl Standoff {
    /// The job has come this far.
    pub(crate) fn hear(&mut self, now: Millis, phase: &LifecyclePhase) {
        if matches!(phase, LifecyclePhase::WaitingForNodes { .. }) {
            // The same as before, and who is silent.
            return;
        }
        let is_incomplete = matches!(
            phase,
            LifecyclePhase::WaitingForContainers { granted, wanted } if granted < wanted
        );
        self.suspects.clear();
        self.looks = 0;
        self.look_at = is_incomplete.then(|| now.plus(FIRST));
    }

    pub(crate) const fn due(&self) -> Option<Millis> {
        self.look_at
    }

    /// What a look has shown: the job that this one must make way for, if there is one.
    fn seen(
        &mut self,
        now: Millis,
        rivals: Vec<Rival>,
        missing: &BTreeSet<NodeId>,
    ) -> Option<Rival> {
        // Where room is reserved cannot be seen: it may be anywhere.
        let holds = |rival: &Rival| rival.reserves || !rival.nodes.is_disjoint(missing);
        let rivals: Vec<Rival> = rivals.into_iter().filter(holds).collect();
        let since = |rival: &Rival| {
            let before = self.suspects.iter();
            let mut since = before.filter(|(of, _)| *of == rival.application);
            since.next().map(|(_, since)| *since)
        };
        let seen_for_long = |rival: &&Rival| {
            let needed = match rival.is_of_other_queue {
                true => PREEMPTED,
                false => Millis(0),
            };
            since(rival).is_some_and(|since| since.plus(needed) <= now)
        };
        let in_the_way = rivals.iter().find(seen_for_long).cloned();
        let suspects = rivals.iter();
        let suspects = suspects.map(|rival| (rival.application, since(rival).unwrap_or(now)));
        self.suspects = suspects.collect();
        self.looks = self.looks.saturating_add(1);
        self.look_at = Some(
            now.plus(match self.looks <= SOON || !self.suspects.is_empty() {
                true => AGAIN,
                false => LATER,
            }),
        );
        in_the_way
    }
}

/// The jobs that wait and are older than `own`, and whether room is reserved for that; nothing, where the
/// ResourceManager takes too long to say.
pub(crate) async fn sight(cluster: &ApplicationClient, own: ApplicationId, holds: bool) -> Sight {
    let looked = timeout(DEADLINE, look(cluster, own, holds)).await;
    looked.unwrap_or_default()
}

async fn look(cluster: &ApplicationClient, own: ApplicationId, holds: bool) -> Sight {
    // Who has nothing is in nobody's way, and many may wait: the others are listed only where room is reserved.
    if !holds {
        match cluster.report(&own).await {
            Ok(report) if report.usage.reserved_containers > 0 => {}
            Ok(_nothing) => return Sight::default(),
            Err(error) => {
                tracing::warn!("getApplicationReport: {error}");
                return Sight::default();
            }
        }
    }
    let filter = ApplicationFilter {
        states: vec![YarnApplicationState::Running],
        types: vec![job::APPLICATION_TYPE.into()],
        limit: Some(LISTED),
        ..ApplicationFilter::default()
    };
    let reports = match cluster.applications(&filter).await {
        Ok(reports) => reports,
        Err(error) => {
            tracing::warn!("getApplications: {error}");
            return Sight::default();
        }
    };
    let ours = reports.iter().find(|report| report.id == own);
    let queue = ours.map(|report| report.queue.clone());
    let mut sight = Sight {
        reserves: ours.is_some_and(|report| report.usage.reserved_containers > 0),
        rivals: Vec::new(),
    };
    if !holds && !sight.reserves {
        return sight;
    }
    for report in older_that_wait(reports.into(), own) {
        let Some(attempt) = report.current_attempt else {
            continue;
        };
        match cluster.containers(&attempt).await {
            Ok(containers) => sight.rivals.push(Rival {
                application: report.id,
                name: report.name,
                nodes: held(&containers),
                reserves: report.usage.reserved_containers > 0,
                is_of_other_queue: queue.as_ref().is_some_and(|own| *own != report.queue),
            }),
            Err(error) => tracing::debug!("getContainers of {attempt}: {error}"),
        }
    }
    sight
}

fn older_that_wait(
    mut reports: Vec<ApplicationReport>,
    own: ApplicationId,
) -> Vec<ApplicationReport> {
    reports.retain(|report| report.id < own && waits(report.progress));
    sort::by_key(&mut reports, |report| report.id);
    reports.truncate(ASKED);
    reports
}

/// Where containers are, an ApplicationMaster's own aside.
fn held(containers: &[ContainerReport]) -> BTreeSet<NodeId> {
    /// Above it ids carry the epoch of the ResourceManager.
    const NUMBER: i64 = (1 << 40) - 1;
    let holding = containers.iter().filter(|container| {
        container.state != ContainerState::Complete && container.id.id & NUMBER != MASTER
    });
    let nodes = holding.filter_map(|container| container.node.as_ref());
    nodes.map(|node| NodeId(node.to_string())).collect()
}

impl Mpi {
    /// Who waits as well is looked for.
    pub(crate) fn look_for_rivals(&mut self) {
        // Until the answer is there.
        self.standoff.look_at = None;
        let holds = self.held_of_incomplete().is_some_and(|held| held > 0);
        self.todo.push(Do::LookForRivals { holds });
    }

    /// What that look has shown.
    pub(crate) fn rivals_seen(&mut self, sight: Sight) -> Vec<policy::lifecycle::LifecycleAction> {
        if self.held_of_incomplete().is_none() {
            return Vec::new();
        }
        let wanted = self.story.wanted().into_iter();
        let wanted = wanted.filter(|wanted| !wanted.stands_in);
        let missing = wanted.map(|wanted| wanted.node).collect();
        let now = self.now;
        match self.standoff.seen(now, sight.rivals, &missing) {
            None => Vec::new(),
            Some(rival) => self.step(LifecycleEvent::Blocked {
                by: format!("{} ({})", rival.application, rival.name),
            }),
        }
    }

    /// Containers that are there, while others are missing; as the client was last shown.
    fn held_of_incomplete(&self) -> Option<u32> {
        use job::wire::phase::Kind;
        let phase = &self.phase;
        let waits = phase.kind() == Kind::WaitingForContainers && phase.done < phase.wanted;
        waits.then_some(phase.done)
    }
}

#[cfg(test)]
mod tests {
    use policy::gang::NoRoom;

    use super::*;

    fn id(number: i32) -> ApplicationId {
        ApplicationId {
            cluster_timestamp: 1,
            id: number,
        }
    }

    fn node(host: &str) -> NodeId {
        NodeId(format!("{host}:1"))
    }

    fn rival(number: i32, hosts: &[&str]) -> Rival {
        Rival {
            application: id(number),
            name: "other".into(),
            nodes: hosts.iter().copied().map(node).collect(),
            reserves: false,
            is_of_other_queue: false,
        }
    }

    #[test]
    fn who_holds_what_is_missing_is_made_way_for_when_seen_twice() {
        let half = LifecyclePhase::WaitingForContainers {
            granted: 1,
            wanted: 2,
        };
        let mut standoff = Standoff::default();
        standoff.hear(Millis(0), &half);
        assert_eq!(standoff.due(), Some(Millis(3_000)));
        let missing = BTreeSet::from([node("b")]);
        let mut seen = |at, rivals: &[Rival]| standoff.seen(Millis(at), rivals.to_vec(), &missing);
        assert_eq!(seen(3_100, &[rival(1, &["a"])]), None, "nothing of ours");
        assert_eq!(
            seen(7_100, &[rival(1, &["a", "b"])]),
            None,
            "for the first time"
        );
        assert_eq!(seen(11_100, &[rival(2, &["b"])]), None, "another one");
        let again = seen(14_100, &[rival(3, &["b"]), rival(2, &["b"])]);
        assert_eq!(again.map(|rival| rival.application), Some(id(2)));
        assert_eq!(standoff.due(), Some(Millis(18_100)));

        // Something comes: that is no standoff.
        standoff.hear(Millis(15_000), &half);
        assert_eq!(
            standoff.seen(Millis(18_000), vec![rival(2, &["b"])], &missing),
            None
        );
        // Where room is reserved for another nobody tells.
        let reserving = || Rival {
            reserves: true,
            ..rival(4, &["a"])
        };
        assert_eq!(
            standoff.seen(Millis(22_000), vec![reserving()], &missing),
            None
        );
        let again = standoff.seen(Millis(26_000), vec![reserving()], &missing);
        assert_eq!(again, Some(reserving()));
        for over in [
            LifecyclePhase::WaitingForContainers {
                granted: 2,
                wanted: 2,
            },
            LifecyclePhase::StartingContainers {
                joined: 0,
                wanted: 2,
            },
        ] {
            standoff.hear(Millis(20_000), &over);
            assert_eq!(standoff.due(), None);
        }
    }

    #[test]
    fn an_older_job_of_another_queue_is_made_way_for_when_no_preemption_has_helped() {
        let mut standoff = Standoff::default();
        let half = LifecyclePhase::WaitingForContainers {
            granted: 1,
            wanted: 2,
        };
        standoff.hear(Millis(0), &half);
        let missing = BTreeSet::from([node("b")]);
        let other = Rival {
            is_of_other_queue: true,
            ..rival(1, &["b"])
        };
        for at in (3..=31).step_by(4) {
            let seen = standoff.seen(Millis(at * 1000), vec![other.clone()], &missing);
            assert_eq!(seen, None, "after {at} s");
        }
        let seen = standoff.seen(Millis(35_000), vec![other.clone()], &missing);
        assert_eq!(seen, Some(other));
    }

    #[test]
    fn only_what_waits_shows_no_progress() {
        let running = |ended, ranks| progress(&LifecyclePhase::Running { ended, ranks });
        let shown = |phase: &LifecyclePhase| f32::from(progress(phase)) / 1000.0;
        assert!(waits(shown(&LifecyclePhase::WaitingForRoom(
            NoRoom::Unseen(String::new())
        ))));
        assert!(!waits(f32::from(running(0, 100_000)) / 1000.0));
        let all = [running(0, 8), running(1, 8), running(7, 8), running(8, 8)];
        assert_eq!(all, [50, 162, 837, ENDING]);
        assert_eq!(running(usize::MAX, 1), ENDING);
    }
}
