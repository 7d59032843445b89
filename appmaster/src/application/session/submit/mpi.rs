//! An MPI job of a session: its processes have to fit into it, all at once.

use job::JobId;
use job::MpiJob;
use policy::lending::Wants;
use policy::{Demand, Mode, Resources};
use tonic::Status;

use super::super::Session;
use super::{TakenJob, fits, refused, senseless};
use crate::queued::Queued;
use crate::run::now_us;
use crate::work::JobWork;

impl Session {
    /// The MPI job that `json` describes, or why the session does not take it.
    pub(super) fn mpi(&self, job: JobId, json: &[u8]) -> Result<TakenJob, Status> {
        let plan = &self.plan;
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
            work: JobWork::Queued(Box::new(Queued {
                job,
                attempt: self.edge.attempt,
                limits: self.edge.holding.cluster().limits().clone(),
                began_us: now_us(),
                is_detached: false,
                description: mpi,
            })),
            wants: Wants::Gang(processes),
            unit,
        })
    }
}
