//! NodeManagers that are killed and started again, and recover nothing: they remove the folders of containers whose launchers
//! go on, and no task fails for that as often as it may.

use anyhow::{Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::daemon::Daemon;
use it::mapreduce::is_same;
use it::{victims, wait};

use crate::{alone, files, program, put};

pub const CASES: &[(&str, Case)] = &[(
    "NodeManagers that have forgotten their containers come back under a job",
    forgotten,
)];

/// Maps, a file each, that sleep for 1.5 s.
const MAPS: usize = 24;

fn forgotten(given: &Given) -> Result<()> {
    let slow = format!("{}last\n", "sleep\n".repeat(5));
    let names: Vec<String> = (0..MAPS).map(|number| format!("f{number}")).collect();
    let inputs: Vec<(&str, &str)> = names.iter().map(|name| (&**name, &*slow)).collect();
    put(given, "/forgotten/in", &inputs)?;
    let faulty = program("faulty")?;
    let fixed = ["--memory", "768", "-D", "gerbil.split.pack=1"];
    let job = |out| [&fixed[..], &[&faulty, "/forgotten/in", out]].concat();
    let mut running = alone(given, &job("/forgotten/out"))?.start()?;
    wait::until("maps that run", DEADLINE, || {
        Ok((victims::tasks(&given.cluster)?.len() >= 3).then_some(()))
    })?;
    // The ApplicationMaster's, too: the job begins again where that is lost first.
    let nodes = given.cluster.nodes();
    for node in &nodes {
        given.cluster.kill(Daemon::NodeManager(node.index))?;
    }
    for node in &nodes {
        given.cluster.start(Daemon::NodeManager(node.index))?;
    }
    ensure!(!running.is_over()?, "it has ended before they were back");
    running
        .finish()?
        .success("a job whose NodeManagers have forgotten it")?;
    given.cluster.wait_for_nodes(nodes.len())?;
    alone(given, &job("/forgotten/again"))?
        .finish()?
        .success("the same job")?;
    is_same(
        &files(given, "/forgotten/out")?,
        &files(given, "/forgotten/again")?,
    )
}
