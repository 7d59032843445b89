//! Many jobs for one session, submitted over one connection: a process each would be what is measured.

use std::num::NonZeroU32;
use std::path::Path;

use anyhow::{Context as _, Error, Result};
use job::{Binding, MpiJob, MpiProgram, Universe, Yielding};
use policy::lifecycle::LifecycleLimits;
use policy::{Demand, ResourceTypes, Resources};
use session::reach::resource_managers;
use session::status::Status;
use session::submit::{JobSubmission, Runs};
use session::{Reached, SessionRecord, SessionsFolder};
use storage::Address;

/// A session, as who submits to it sees it.
#[derive(Debug)]
pub struct SessionQueue {
    /// What is needed to use it.
    pub kept: SessionRecord,
    reached: Reached,
}

impl SessionQueue {
    /// The session of this name, of whose user `state` is the folder for what programs remember.
    ///
    /// # Errors
    ///
    /// It cannot be reached; so for all here.
    pub async fn reach(state: &Path, name: &str) -> Result<Self> {
        let folder = SessionsFolder::below(Some(state.to_owned()))?;
        let kept = folder.find_session(&name.parse().map_err(Error::msg)?)?;
        let reached = Reached::new(&resource_managers(&kept.owned), &folder, &kept).await?;
        Ok(Self { kept, reached })
    }

    /// A detached job of a program in `/bin`, which is not staged; its number.
    ///
    /// # Errors
    ///
    /// The session does not take it.
    pub async fn submit(&mut self, program: &str, args: &[&str], processes: u32) -> Result<u32> {
        let mpi = mpi(program, args, processes)?;
        let job = JobSubmission {
            name: program.to_owned(),
            user: "it",
            queue: "default",
            priority: 0,
            deadline: None,
            profile: String::new(),
            runs: Runs::Mpi(&mpi),
            address: &Address::Shared,
            detached: true,
            staged: &[],
        };
        Ok(self.reached.submit(&self.kept, &job).await?)
    }

    /// What the session holds and runs.
    ///
    /// # Errors
    ///
    /// It does not answer.
    pub async fn status(&mut self) -> Result<Status> {
        Ok(self.reached.status(&self.kept).await?)
    }

    /// Ends a job.
    ///
    /// # Errors
    ///
    /// It does not answer, or has no such job.
    pub async fn kill(&mut self, job: u32) -> Result<()> {
        Ok(self.reached.kill(&self.kept, job).await?)
    }
}

fn mpi(program: &str, args: &[&str], processes: u32) -> Result<MpiJob> {
    let processes = NonZeroU32::new(processes).context("a job has a process")?;
    Ok(MpiJob {
        demand: Demand::anywhere(processes, Resources::new(256, 1)),
        types: ResourceTypes::default(),
        limits: LifecycleLimits::default(),
        exclude: Vec::new(),
        explain: false,
        yielding: Yielding::Auto,
        binding: Binding::default(),
        any_speed: false,
        gpus_per_process: None,
        universe: Universe::Unknown,
        programs: vec![MpiProgram {
            processes: processes.get(),
            file: program.to_owned(),
            own_path: Some(format!("/bin/{program}")),
            args: args.iter().map(ToString::to_string).collect(),
            ..MpiProgram::default()
        }],
        stage_out: Vec::new(),
        checkpoints: None,
        input: false,
        terminal: None,
    })
}
