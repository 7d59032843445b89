//! A job's program on its way to where the nodes fetch it, and what is shown meanwhile.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use follow::progress::Progress;
use job::exit::Exit;
use staging::stage;
use terminal::signals::Signals;
use tokio::time::sleep;

use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::plan::Plan;
use crate::system::system;

/// Between two looks at how much is uploaded.
const UPLOADING: Duration = Duration::from_millis(250);

/// Until `ready`, whose uploads are shown meanwhile, or until a signal ends it (`Break`).
pub(crate) async fn staging_meanwhile<T>(
    mut ready: impl Future<Output = Result<T, Failure>> + Unpin,
    progress: &mut Progress,
    moved: &staging::Moved,
    signals: &mut Signals,
) -> Result<ControlFlow<u8, T>, Failure> {
    loop {
        tokio::select! {
            ready = &mut ready => return ready.map(ControlFlow::Continue),
            signal = signals.ending() => {
                progress.clear();
                return Ok(ControlFlow::Break(signal));
            }
            () = sleep(UPLOADING) => progress.uploading(
                moved.done.load(Ordering::Relaxed),
                moved.all.load(Ordering::Relaxed),
            ),
        }
    }
}

/// What is brought to the nodes beside this binary; by default nothing.
#[derive(Debug, Default)]
pub(crate) struct BroughtFiles {
    programs: Vec<staging::NamedProgram>,
    venv: Option<PathBuf>,
    processes: u32,
    ship_libraries: bool,
    place: staging::in_place::ProgramPlace,
    manager: staging::ProcessManager,
    shipped: [Vec<staging::Shipped>; 2],
}

impl From<&Plan> for BroughtFiles {
    fn from(plan: &Plan) -> Self {
        let executables = plan.program.executables.iter();
        Self {
            programs: executables
                .map(|program| staging::NamedProgram {
                    name: program.file.clone(),
                    first_in: program.first_in.clone(),
                })
                .collect(),
            venv: plan.program.venv.clone(),
            processes: plan.placement.wanted.processes.get(),
            ship_libraries: plan.program.ship_libraries,
            place: plan.program.place,
            manager: plan.program.manager.clone(),
            shipped: plan.program.shipped.clone(),
        }
    }
}

/// Brings this binary, and what comes with it, to where the nodes find it: below the folder `root`, as `--staging`
/// names it.
pub(crate) async fn staged(
    brought: BroughtFiles,
    root: Option<String>,
    cluster: &Cluster,
    moved: Arc<staging::Moved>,
) -> Result<staging::StagedFiles, Failure> {
    let own_binary = std::env::current_exe();
    let own_binary = own_binary.map_err(system("find my own file", Exit::Staging))?;
    let files = cluster.configuration.files().first();
    let request = staging::StagingRequest {
        own_binary,
        stages_own: true,
        programs: brought.programs,
        venv: brought.venv,
        processes: brought.processes,
        ship_libraries: brought.ship_libraries,
        place: brought.place,
        manager: brought.manager,
        shipped: brought.shipped,
        root,
        hadoop: &|key| cluster.configuration.get(key).ok().flatten(),
        environment: &|name| std::env::var_os(name),
        user: cluster.user.clone(),
        conf_dir: files.and_then(|file| file.parent()).map(Into::into),
        nodes_are_ours: cluster.configuration.nodes_are_ours(),
        moved,
    };
    Ok(stage(request).await?)
}
