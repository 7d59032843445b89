//! A job comes to a session.

mod mapreduce;
mod mpi;

use holding::same_build;
use job::wire;
use job::wire::submission::Kind;
use policy::lending::{SlotRequest, Wants};
use policy::schedule::JobProfile;
use policy::schedule::trace::TracedJob;
use policy::{Millis, Resources};
use tonic::Status;

use super::Session;
use crate::jobs::JobEntry;
use crate::slots::LoanTerms;
use crate::work::JobWork;

/// For the client of a job to follow it.
const ATTACH: Millis = Millis(30_000);
/// Jobs that may be there at the same time: each costs some kilobytes here.
const JOBS_MAX: usize = 20_000;
/// Where jobs wait that name no queue.
const DEFAULT_QUEUE: &str = "default";
/// Letters of a job's name.
const NAME_MAX: usize = 256;

/// A job that is taken.
struct TakenJob {
    work: JobWork,
    wants: Wants,
    /// What a process of it takes of its container.
    unit: Resources,
    /// A gang that takes slots of all speeds.
    any_speed: bool,
    /// Its client wants to be told every reason.
    explain: bool,
}

impl Session {
    /// Takes a job; its number, or why not.
    pub(super) fn submit(&mut self, submission: wire::Submission) -> Result<u32, Status> {
        same_build(&submission.build)?;
        let now = self.now();
        if !self.life.is_open() {
            return Err(refused(
                "it is being stopped and takes no further job".into(),
            ));
        }
        if self.jobs.len() >= JOBS_MAX {
            return Err(Status::resource_exhausted(format!(
                "it has {JOBS_MAX} jobs, and takes the next when one of them is over"
            )));
        }
        let policy = &self.plan.policy;
        let mut queue = queue(&submission.queue, policy, self.slots.queues())?;
        let traced = traced(&submission.profile)?;
        let within = Millis(submission.deadline_ms);
        let deadline = deadline(now, within, policy, self.slots.goes_by_deadline())?;
        let (job, attempt) = (self.jobs.next_number(), self.edge.attempt);
        let mut taken = match submission.kind {
            Some(Kind::Mpi(mpi)) => {
                let limits = self.edge.limits();
                mpi::mpi(job, attempt, &self.plan, limits, &mpi)?
            }
            Some(Kind::Mapreduce(mapreduce)) => {
                mapreduce::mapreduce(job, attempt.application, &self.plan, &mapreduce)?
            }
            None => return Err(Status::invalid_argument("a job of no kind")),
        };
        let name: String = submission.name.chars().take(NAME_MAX).collect();
        let mut profile = JobProfile::default();
        if let JobWork::MapReduce(work) = &mut taken.work {
            let [maps, reduces] = work.task_counts();
            let earlier = self.slots.earlier(&name, traced.as_ref());
            let class = earlier.as_ref().and_then(|earlier| earlier.class);
            // An explicit queue stands, and one that the policy does not have is none.
            let class = class.filter(|class| {
                queue == DEFAULT_QUEUE && self.slots.own_speed(class.queue()).is_some()
            });
            if let (Some(class), Some(earlier)) = (class, &earlier) {
                class.queue().clone_into(&mut queue);
                work.notice(earlier.of_queue(class));
            }
            if let Some(sentence) = self.slots.spare_alone(&queue, maps, reduces) {
                work.notice(sentence);
            }
            if let (Some(_), Some(earlier)) = (deadline, earlier) {
                if let Some(sentence) = self.slots.foresee(&earlier, within, maps, reduces) {
                    work.notice(sentence);
                }
                profile = earlier.profile;
            }
        }
        let given = LoanTerms {
            name,
            addresses: submission.addresses,
            files: submission.files,
            request: SlotRequest {
                wants: taken.wants,
                unit: taken.unit,
                user: submission.user,
                queue,
                priority: submission.priority,
                deadline,
                profile,
                any_speed: taken.any_speed,
            },
            explain: taken.explain,
        };
        self.slots.submitted(now, job, given);
        self.life.job_came();
        let console = self.edge.consoles.begin(job);
        let entry = JobEntry::of_session(taken.work, console, now, now.plus(ATTACH));
        self.jobs.insert(job, entry);
        self.begin(job);
        if submission.detached {
            self.detach(job);
        }
        Ok(job.0)
    }
}

/// The queue in which a job waits that names this one. The policy has these `queues`; `None`: any.
fn queue(named: &str, policy: &str, queues: Option<Vec<&str>>) -> Result<String, Status> {
    let queue = match named {
        "" => DEFAULT_QUEUE,
        named => named,
    };
    match queues {
        Some(queues) if !queues.contains(&queue) => Err(refused(format!(
            "its policy {policy} has no queue {queue}; there {} {}",
            if queues.len() == 1 { "is" } else { "are" },
            queues.join(", ")
        ))),
        Some(_) | None => Ok(queue.to_owned()),
    }
}

/// The earlier run that a client knows of; none where it says nothing.
fn traced(line: &str) -> Result<Option<TracedJob>, Status> {
    match line {
        "" => Ok(None),
        line => line.parse().map(Some).map_err(senseless),
    }
}

/// When a job wants to be done that names this time from now; 0: whenever.
fn deadline(
    now: Millis,
    within: Millis,
    policy: &str,
    goes_by_it: bool,
) -> Result<Option<Millis>, Status> {
    match (within, goes_by_it) {
        (Millis(0), _) => Ok(None),
        (within, true) => Ok(Some(now.plus(within))),
        (_, false) => Err(refused(format!(
            "its policy {policy} does not go by deadlines (--deadline); one with order=deadline does, such as \
             fifo:order=deadline"
        ))),
    }
}

fn refused(why: String) -> Status {
    Status::failed_precondition(why)
}

fn senseless(error: impl std::fmt::Display) -> Status {
    Status::invalid_argument(format!("a job that makes no sense: {error}"))
}

/// One process has to fit into a container of the session.
fn fits(unit: Resources, container: Resources) -> Result<(), Status> {
    match unit.memory > container.memory {
        true => Err(refused(format!(
            "a process of {} does not fit into one of its containers, which have {}",
            unit.memory, container.memory
        ))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use policy::ResourceTypes;
    use policy::lending::Lending;
    use policy::schedule::of_session;

    use super::*;
    use crate::slots::Slots;

    #[test]
    fn a_job_is_refused_whose_queue_the_policy_does_not_have() {
        let queue_of = |policy: &str, named: &str| {
            let scheduler = of_session(policy).unwrap();
            let slots = Slots::new(Lending::new(scheduler, ResourceTypes::default()), None);
            queue(named, policy, slots.queues()).map_err(|status| status.message().to_owned())
        };
        assert_eq!(queue_of("fifo", "").as_deref(), Ok("default"));
        assert_eq!(queue_of("fifo", "any").as_deref(), Ok("any"));
        let two = "capacity:queue.prod=70,queue.test=30";
        assert_eq!(queue_of(two, "prod").as_deref(), Ok("prod"));
        let why = "its policy capacity:queue.prod=70,queue.test=30 has no queue ad-hoc; \
                   there are default, prod, test";
        assert_eq!(queue_of(two, "ad-hoc").unwrap_err(), why);
    }

    #[test]
    fn a_deadline_is_for_a_policy_that_goes_by_it() {
        let of = |policy: &str, within| {
            let scheduler = of_session(policy).unwrap();
            let lending = Lending::new(scheduler, ResourceTypes::default());
            let slots = Slots::new(lending, None);
            let due = deadline(
                Millis(500),
                Millis(within),
                policy,
                slots.goes_by_deadline(),
            );
            due.map_err(|status| status.message().to_owned())
        };
        assert_eq!(of("fifo", 0), Ok(None));
        assert_eq!(of("dyscale:order=deadline", 0), Ok(None));
        assert_eq!(of("dyscale:order=deadline", 1000), Ok(Some(Millis(1500))));
        assert_eq!(
            of("fifo:order=deadline", u64::MAX),
            Ok(Some(Millis(u64::MAX)))
        );
        let why = of("fair", 1000).unwrap_err();
        assert!(
            why.starts_with("its policy fair does not go by deadlines"),
            "{why}"
        );
    }

    #[test]
    fn a_job_is_refused_whose_process_does_not_fit_into_a_container() {
        let container = Resources::new(2048, 2);
        assert!(fits(Resources::new(2048, 1), container).is_ok());
        let why = fits(Resources::new(2049, 1), container).unwrap_err();
        assert_eq!(
            why.message(),
            "a process of 2049 MiB does not fit into one of its containers, which have 2048 MiB"
        );
    }
}
