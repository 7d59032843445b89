//! Who is compared, and the commands by which each starts the same ranks.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use it::cluster::Size;
use it::settings::File;
use it::{Cluster, OpenMpi, Run, gerbil, wait};

use crate::DEADLINE;
use crate::nodes::{NODES, StockNodes};

/// Of a rank, MiB.
const MEMORY_MIB: u64 = 256;
/// The daemons finish their own work after a job.
const SETTLE: Duration = Duration::from_secs(1);
const SESSION: &str = "bench";
/// Ranks outnumber the cores on all nodes of one machine together: all give up their core while they wait.
pub(crate) const YIELDS: [&str; 3] = ["--mca", "mpi_yield_when_idle", "1"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    Mpirun,
    Session,
    Application,
}

pub(crate) const PEERS: [Peer; 3] = [Peer::Mpirun, Peer::Session, Peer::Application];

/// What each peer has taken, or given, in the order of [`PEERS`].
pub(crate) type OfPeers<T> = [T; PEERS.len()];

pub(crate) struct Bench {
    pub(crate) cluster: Cluster,
    pub(crate) open: OpenMpi,
    nodes: StockNodes,
    /// Of programs and files, as long as this lives.
    pub(crate) folder: tempfile::TempDir,
}

impl Bench {
    /// A cluster with room for a session of as many slots, and for an application of as many ranks beside it.
    pub(crate) fn start(ranks: usize) -> Result<Self> {
        let each = ranks.div_ceil(NODES);
        let size = Size {
            memory_mib: 2 * each as u64 * MEMORY_MIB + 2048,
            vcores: u32::try_from(2 * each)? + 1,
        };
        let folder = tempfile::tempdir()?;
        let open = OpenMpi::install()?;
        Ok(Self {
            cluster: Cluster::builder()
                .sizes(&[size; NODES])
                .set(
                    File::Yarn,
                    "yarn.scheduler.maximum-allocation-vcores",
                    size.vcores.to_string(),
                )
                .start()?,
            nodes: StockNodes::new(&open, folder.path())?,
            open,
            folder,
        })
    }

    /// What `measure` finds while there is a session with a slot for each of so many ranks, as many in each of its
    /// containers: it places jobs itself, and a job that fills it is where it is wanted.
    pub(crate) fn in_session<T>(
        &self,
        ranks: usize,
        containers: usize,
        measure: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let slots = ranks.div_ceil(containers).to_string();
        let (containers, memory) = (containers.to_string(), MEMORY_MIB.to_string());
        let start = ["start", SESSION, "--containers", &containers];
        let size = ["--slots-per-container", &slots, "--memory", &memory];
        self.session(&[start, size].concat())?;
        let measured = measure();
        self.session(&["stop", SESSION, "--now"])?;
        measured
    }

    fn session(&self, words: &[&str]) -> Result<()> {
        let words = [&["session"], words].concat();
        let command = gerbil::gerbil(self.folder.path(), &self.cluster.conf_dir(), &words)?;
        let run = Run::new(command).deadline(DEADLINE);
        run.finish()?.success("gerbil session")?;
        Ok(())
    }

    /// A program under it/programs, compiled with Open MPI.
    pub(crate) fn program(&self, name: &str) -> Result<PathBuf> {
        self.open.program(name, self.folder.path())
    }

    /// The command by which a peer starts so many ranks, `each` on a node, with these options of `gerbil-run`'s;
    /// further ones that all know, and the program, follow.
    pub(crate) fn command(
        &self,
        peer: Peer,
        ranks: usize,
        each: usize,
        more: &[&str],
    ) -> Result<Command> {
        let memory = format!("{MEMORY_MIB}m");
        Ok(match peer {
            Peer::Mpirun => self.nodes.mpirun(ranks, each),
            Peer::Session | Peer::Application => {
                let (ranks, each) = (ranks.to_string(), each.to_string());
                let own: &[&str] = match peer {
                    Peer::Session => &["--session", SESSION],
                    Peer::Mpirun | Peer::Application => &["--mem-per-proc", &memory, "-ppn", &each],
                };
                let line = [own, &["-n", &ranks], more].concat();
                gerbil::command(&self.cluster.conf_dir(), line)?
            }
        })
    }

    /// What was measured of each peer by turns, in rounds: who goes first changes, and one round before warms caches.
    pub(crate) fn rounds<T: Copy + Default>(
        &self,
        rounds: usize,
        mut measure: impl FnMut(Peer) -> Result<T>,
    ) -> Result<Vec<OfPeers<T>>> {
        let containers = self.containers()?;
        let mut all = Vec::new();
        for round in 0..=rounds {
            let mut of = [T::default(); PEERS.len()];
            for step in 0..PEERS.len() {
                let place = (round + step) % PEERS.len();
                of[place] = measure(PEERS[place])?;
                if PEERS[place] == Peer::Application {
                    self.settle(containers)?;
                }
            }
            if round > 0 {
                all.push(of);
            }
        }
        Ok(all)
    }

    /// Until no more containers run than so many, and nobody cleans up behind others.
    fn settle(&self, containers: usize) -> Result<()> {
        wait::until("the application's containers to end", DEADLINE, || {
            Ok((self.containers()? <= containers).then_some(()))
        })?;
        wait::pause(SETTLE);
        Ok(())
    }

    fn containers(&self) -> Result<usize> {
        let processes = self.cluster.container_processes()?.into_iter();
        let containers: BTreeSet<String> = processes.filter_map(|found| found.container).collect();
        Ok(containers.len())
    }
}
