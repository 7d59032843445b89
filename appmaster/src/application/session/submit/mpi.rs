//! An MPI job of a session: its processes have to fit into it, all at once.

use holding::ClusterLimits;
use job::JobId;
use job::{MpiJob, SessionPlan};
use policy::lending::Wants;
use policy::{Demand, Mode, Resources};
use proto_hadoop::AppAttemptId;
use tonic::Status;

use super::{TakenJob, fits, refused, senseless};
use crate::queued::Queued;
use crate::run::now_us;
use crate::work::JobWork;

/// The MPI job that `json` describes, or why the session does not take it.
pub(super) fn mpi(
    job: JobId,
    attempt: AppAttemptId,
    plan: &SessionPlan,
    limits: &ClusterLimits,
    json: &[u8],
) -> Result<TakenJob, Status> {
    let mut mpi: MpiJob = serde_json::from_slice(json).map_err(senseless)?;
    // Thousands may wait.
    mpi.programs.shrink_to_fit();
    if mpi.checkpoints.is_some() || !mpi.stage_out.is_empty() {
        return Err(refused(
            "jobs of a session have neither checkpoints nor results that are staged out".into(),
        ));
    }
    let unit = Resources {
        memory: match mpi.demand.memory_is_explicit {
            true => mpi.demand.unit.memory,
            false => plan.slot.memory,
        },
        ..plan.slot
    };
    let processes = mpi.processes();
    let container = plan.slot.times(plan.slots.get());
    fits(unit, container)?;
    let slots = plan.slots.get().saturating_mul(plan.most.get());
    let by_memory = container.memory.0 / unit.memory.0.max(1);
    let by_memory = u32::try_from(by_memory).unwrap_or(u32::MAX);
    let most = by_memory
        .min(plan.slots.get())
        .saturating_mul(plan.most.get());
    if processes > most {
        let memory = unit.memory;
        return Err(refused(sentences::too_many_processes(
            processes, memory, slots, most,
        )));
    }
    let demand = Demand {
        memory_is_explicit: true,
        oversubscribe: false,
        ..Demand::anywhere(mpi.demand.processes, unit)
    };
    mpi.demand = Demand {
        mode: Mode::All,
        numbering: mpi.demand.numbering.clone(),
        ..demand
    };
    // The slots that it has are those that there are; with one lost it waits for as many again.
    mpi.limits.run.anew = true;
    Ok(TakenJob {
        explain: mpi.explain,
        any_speed: mpi.any_speed,
        work: JobWork::Queued(Box::new(Queued {
            job,
            attempt,
            limits: limits.clone(),
            began_us: now_us(),
            is_detached: false,
            description: mpi,
        })),
        wants: Wants::Gang(processes),
        unit,
    })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use job::{Binding, Universe, Yielding};
    use policy::lifecycle::LifecycleLimits;
    use policy::{Counted, MiB, ResourceTypes};

    use super::*;
    use crate::containers;

    /// A job of so many processes, of so much memory where it says any.
    fn job(processes: u32, memory: Option<u64>) -> MpiJob {
        let unit = Resources::new(memory.unwrap_or(0), 1);
        MpiJob {
            demand: Demand {
                memory_is_explicit: memory.is_some(),
                ..Demand::anywhere(NonZeroU32::new(processes).unwrap(), unit)
            },
            types: ResourceTypes::default(),
            limits: LifecycleLimits::default(),
            exclude: Vec::new(),
            explain: false,
            yielding: Yielding::Auto,
            binding: Binding::default(),
            any_speed: false,
            gpus_per_process: None,
            universe: Universe::Unknown,
            programs: Vec::new(),
            stage_out: Vec::new(),
            checkpoints: None,
            input: true,
            terminal: None,
        }
    }

    /// By a session of 3 containers with 2 slots of 512 MiB each.
    fn taken(job: &MpiJob) -> Result<TakenJob, String> {
        let limits = ClusterLimits {
            types: ResourceTypes::default(),
            maximum: Resources::new(4096, 4),
            counted: Counted::Memory,
            step: MiB(512),
        };
        let attempt = "appattempt_1_0007_000001".parse().unwrap();
        let json = serde_json::to_vec(job).unwrap();
        let taken = mpi(JobId(1), attempt, &containers::plan(3), &limits, &json);
        taken.map_err(|refusal| refusal.message().to_owned())
    }

    #[test]
    fn a_job_has_a_slot_for_each_process_or_is_refused() {
        let taken_job = taken(&job(6, None)).ok().unwrap();
        assert_eq!(taken_job.wants, Wants::Gang(6));
        assert_eq!(taken_job.unit, Resources::new(512, 1));
        let refused = |job: &MpiJob| taken(job).err().unwrap();
        let why = refused(&job(7, None));
        assert!(why.contains("7 processes of 512 MiB"), "{why}");
        // With twice the memory each takes the room of two.
        let why = refused(&job(4, Some(1024)));
        assert!(why.contains("4 processes of 1024 MiB"), "{why}");
        let why = refused(&job(1, Some(1025)));
        assert!(why.contains("a process of 1025 MiB does not fit"), "{why}");
    }
}
