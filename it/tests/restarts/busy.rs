//! A ResourceManager that turns calls away because more wait than it may hold: jobs wait, and lose
//! nothing.

use std::time::Duration;

use anyhow::{Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::hollow::one_by_one;
use it::settings::File;
use it::{Builder, wait};
use proto_hadoop::yarn::{AllocateRequest, ApplicationFilter};
use proto_hadoop::{ApplicationClient, ApplicationId, ApplicationMasterClient, Timing};
use tokio::task::JoinSet;

use it::booked::StartedJob;

pub const CASES: &[(&str, Case)] = &[(
    "busy: jobs wait, begin and end under a ResourceManager that turns calls away",
    survives,
)];

/// Callers at once, at each of the two ports.
const CALLERS: usize = 24;
/// Turned away before a job is judged to have met it.
const MET: u64 = 2000;

/// One call may be carried out and one wait, at the port of clients and at that of ApplicationMasters;
/// all further are refused.
pub fn turns_away(builder: Builder) -> Builder {
    let one = |name: &str| format!("yarn.resourcemanager.{name}thread-count");
    builder
        .set(File::Yarn, &one("client."), "1")
        .set(File::Yarn, &one("scheduler.client."), "1")
        .set(File::Core, "ipc.server.handler.queue.size", "1")
        .set(File::Core, "ipc.8030.backoff.enable", "true")
        .set(File::Core, "ipc.8032.backoff.enable", "true")
}

fn survives(given: &Given) -> Result<()> {
    let whole = ["-o", "false", "--mem-per-proc", "6g"];
    let first = StartedJob::running(given, "busy-first", 2, &whole)?;
    let mut second = StartedJob::start(given, "busy-second", 2, &whole)?;
    second.running.wait_for_stderr("waiting: ")?;

    let load = Load::begin(given)?;
    let turned_away =
        |port| -> Result<u64> { Ok(given.cluster.resource_manager().calls(port)?.turned_away) };
    wait::until("calls turned away at both ports", DEADLINE, || {
        let met = turned_away(8030)? >= MET && turned_away(8032)? >= MET;
        Ok(met.then_some(()))
    })?;
    // One that is submitted meanwhile, one that ends, one that waits and may then begin.
    let third = StartedJob::start(given, "busy-third", 1, &[])?;
    first.let_go(1)?;
    second.wait_for_runs(1)?;
    second.let_go(1)?;
    third.wait_for_runs(1)?;
    third.let_go(1)?;
    load.end()?;
    let met = met_by_jobs(given)?;
    ensure!(met, "no ApplicationMaster of a job was turned away");
    given.is_clean()
}

/// Whether an ApplicationMaster has written of it.
fn met_by_jobs(given: &Given) -> Result<bool> {
    for path in given.cluster.container_logs() {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if text.contains("too busy") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Clients and ApplicationMasters of somebody else, who call as often as they can.
struct Load {
    runtime: tokio::runtime::Runtime,
    callers: JoinSet<()>,
    rm: ApplicationClient,
    /// Of the one who calls as an ApplicationMaster.
    id: ApplicationId,
}

impl Load {
    fn begin(given: &Given) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let cluster = &given.cluster;
        let (clients, masters) = (
            vec![cluster.resource_manager_address()],
            vec![cluster.scheduler_address()],
        );
        let user = cluster.user().to_owned();
        // Jobs call meanwhile, and one call is all that may wait.
        let rm =
            ApplicationClient::new(clients.clone(), &user).with_timing(Timing::patient(DEADLINE));
        let (id, token) = runtime.block_on(one_by_one::submitted(&rm))?;
        let mut callers = JoinSet::new();
        for _ in 0..CALLERS {
            let client = ApplicationClient::new(clients.clone(), &user);
            let filter = ApplicationFilter::default();
            callers.spawn_on(
                async move {
                    loop {
                        let _refused = client.applications(&filter).await;
                    }
                },
                runtime.handle(),
            );
            // Of an attempt that has not registered: refused, when its turn comes.
            let master = ApplicationMasterClient::new(masters.clone(), token.clone());
            callers.spawn_on(
                async move {
                    loop {
                        let _refused = master.allocate(AllocateRequest::default()).await;
                    }
                },
                runtime.handle(),
            );
        }
        Ok(Self {
            runtime,
            callers,
            rm,
            id,
        })
    }

    fn end(mut self) -> Result<()> {
        self.callers.abort_all();
        // What they have sent still waits for its turn at the server, and this call like any other.
        let killed = wait::until("the application of the load is killed", DEADLINE, || {
            Ok(self.runtime.block_on(self.rm.kill(&self.id, None)).ok())
        });
        self.runtime.shutdown_timeout(Duration::from_secs(5));
        killed.map(|_is_over| ())
    }
}
