//! `gerbil mr`: runs a program of maps and reduces in a session.

mod shown;

use std::process::ExitCode;
use std::sync::Arc;

use ::job::exit::Exit;
use follow::progress::Progress;
use follow::say;
use follow::signals::Signals;
use mapreduce_client::jobs::{Brought, Jobs};
use mapreduce_client::order::Orders;
use mapreduce_client::places::Places;
use mapreduce_client::plan::plan;
use mapreduce_client::serve::Run;
use mapreduce_client::settings::Given;
use mapreduce_client::{Cluster as Hadoops, serve};
use session::{Reached, reach};
use staging::program::locate;

use crate::arguments::session_of_environment;
use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::frame;
use crate::sessions::{folder, is_here};
use crate::subcommands::MapReduceArguments;
use crate::system::system;

use shown::Shown;

/// What is said to who names no session.
const NO_SESSION: &str = "gerbil mr needs a session for now: gerbil session start s starts one, gerbil mr --session s \
                          runs this in it";

/// The whole command.
pub(crate) fn main(given: MapReduceArguments) -> ExitCode {
    frame::main(run(given))
}

async fn run(given: MapReduceArguments) -> Result<u8, Failure> {
    let signals = Signals::listen();
    let mut signals = signals.map_err(system("listen to signals", Exit::Lost))?;
    let name = match given.session {
        Some(name) => Some(name),
        None => session_of_environment().map_err(Failure::Usage)?,
    };
    let name = name.ok_or_else(|| Failure::Usage(NO_SESSION.to_owned()))?;
    let folder = folder()?;
    let kept = folder.find_session(&name)?;
    let cluster = Cluster::find()?;
    is_here(&kept, &cluster)?;
    let Some((program, words)) = given.words.split_first() else {
        return Err(Failure::Usage("gerbil mr wants a program".to_owned()));
    };
    let path = std::env::var_os("PATH");
    let program = locate(program.as_ref(), path.as_deref())?;
    let program = std::path::absolute(program);
    let program = program.map_err(system("find the working folder", Exit::Staging))?;
    let cluster = Arc::new(Hadoops {
        configuration: cluster.configuration,
        user: cluster.user,
    });
    let settings = Given::new(&cluster, &given.settings)?;
    let rm = Arc::new(reach::resource_managers(&kept.owned));
    let reaching = async { Ok::<_, Failure>(Reached::new(&rm, &folder, &kept).await?) };
    let planning = async { Ok(plan(program.clone()).await?) };
    let ready = async { tokio::try_join!(reaching, planning) };
    let (reached, planned) = tokio::select! {
        ready = ready => ready?,
        signal = signals.ending() => return Ok(128u8.saturating_add(signal)),
    };
    let places = Places::new(Arc::clone(&cluster));
    let brought = Brought {
        program: program.clone(),
        ship_libraries: !given.no_ship_libs,
        staging: given.staging,
    };
    let run = Run {
        program,
        words: words.to_vec(),
        settings,
        orders: Arc::new(Orders::new(planned, places)),
        jobs: Arc::new(Jobs::new(cluster, brought, rm, kept, reached)),
    };
    let mut shown = Shown::new(Progress::new(given.quiet), given.quiet);
    let outcome = serve(run, &mut signals, &mut shown).await?;
    shown.clear();
    if !outcome.sentence.is_empty() && !shown.has_said(&outcome.sentence) {
        say(&outcome.sentence);
    }
    Ok(outcome.code)
}
