//! What happens to a job, and how it is undone.

use std::net::SocketAddrV4;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use nix::sys::signal::Signal;

use super::disk::{self, SmallDisk};
use super::network::{Cut, TcpConnection, connections};
use super::scene::{Scene, node_of};
use crate::bed::Given;
use crate::process::signal_by_id;
use crate::{Cluster, Daemon};

/// Where AMs call the ResourceManager.
const SCHEDULER: u16 = 8030;

/// The node whose disk is filled: the last, on which the last two ranks run.
const SMALL: usize = super::NODES - 1;

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing does: what the others are compared with.
    Nothing,
    /// `kill -9` of `gerbil-run`.
    KillClient,
    /// `kill -9` of the AM.
    KillMaster,
    /// `kill -9` of both.
    KillClientAndMaster,
    /// `kill -9` of a launcher.
    KillLauncher,
    /// `kill -9` of a rank.
    KillRank,
    /// `kill -9` of a NodeManager that runs a launcher and not the AM.
    KillNodeManager,
    /// `kill -9` of the NodeManager that runs the AM.
    KillNodeManagerOfMaster,
    /// `kill -9` of the ResourceManager, which comes back after some seconds.
    RestartResourceManager,
    /// `kill -9` of the ResourceManager, which does not come back while the job lasts.
    KillResourceManager,
    /// The same when the job is about to end well; it comes back afterwards.
    KillResourceManagerAtEnd,
    /// The network between client and AM, for a time or for ever.
    ClientFromMaster(Option<Duration>),
    /// The network between client and launcher, on a connection that one rank's output has for itself.
    ClientFromLane(Option<Duration>),
    /// The network between the AM and a launcher.
    MasterFromLauncher(Option<Duration>),
    /// The network between the AM and the ResourceManager.
    MasterFromResourceManager(Option<Duration>),
    /// SIGSTOP of the AM.
    StopMaster,
    /// One node's disk has been full from before the job's start.
    DiskFull,
    /// One node's disk becomes full while a rank writes to it.
    DiskFullMeanwhile,
}

/// What only root may use, and not in every container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing of the kind.
    Nothing,
    /// The kernel's packet filter.
    PacketFilter,
    /// A disk of its own.
    Mount,
}

impl Needs {
    /// Whether this machine lets us.
    #[must_use]
    pub fn are_met(self) -> bool {
        match self {
            Self::Nothing => true,
            Self::PacketFilter => Cut::new().is_ok(),
            Self::Mount => disk::can_be_mounted().unwrap_or(false),
        }
    }
}

/// What has to be put right after a case.
#[derive(Debug)]
pub enum Harm {
    /// Packets that are dropped.
    Cut(Cut),
    /// A daemon that does not run.
    Down(Daemon),
    /// A node with a disk of its own.
    Disk(SmallDisk),
}

impl Harm {
    /// Puts it right.
    ///
    /// # Errors
    ///
    /// It cannot be: the cluster is of no further use.
    pub fn undo(self, cluster: &Cluster) -> Result<()> {
        match self {
            Self::Cut(mut cut) => cut.heal(),
            Self::Down(daemon) => {
                cluster.start(daemon)?;
                cluster.wait_for_nodes(cluster.nodes().len())
            }
            Self::Disk(disk) => disk.remove(cluster),
        }
    }
}

impl Fault {
    /// How long it lasts, where it passes by itself.
    #[must_use]
    pub fn lasts(self) -> Option<Duration> {
        match self {
            // To start takes it some seconds.
            Self::RestartResourceManager => Some(Duration::ZERO),
            Self::ClientFromMaster(lasts)
            | Self::ClientFromLane(lasts)
            | Self::MasterFromLauncher(lasts)
            | Self::MasterFromResourceManager(lasts) => lasts,
            _ => None,
        }
    }

    /// Whether it may come while the job is still being started. Connections are cut when all are
    /// there; a job whose client goes away before it has found the AM is meant to run without one.
    #[must_use]
    pub fn may_come_early(self) -> bool {
        matches!(self, Self::KillMaster | Self::KillLauncher | Self::KillRank)
    }

    /// Whether it is more than one job's.
    #[must_use]
    pub fn is_of_the_cluster(self) -> bool {
        !matches!(
            self,
            Self::Nothing
                | Self::KillClient
                | Self::KillMaster
                | Self::KillClientAndMaster
                | Self::KillLauncher
                | Self::KillRank
                | Self::StopMaster
                | Self::ClientFromMaster(_)
                | Self::ClientFromLane(_)
                | Self::MasterFromLauncher(_)
        )
    }

    /// Whether the job is to end while it lasts.
    #[must_use]
    pub fn lasts_beyond_the_end(self) -> bool {
        self == Self::KillResourceManagerAtEnd
    }

    /// Whether it is over with the process that it has struck, so that another takes its place.
    #[must_use]
    pub fn ends_with_its_victim(self) -> bool {
        matches!(
            self,
            Self::MasterFromResourceManager(None) | Self::MasterFromLauncher(None)
        )
    }

    /// What of this machine's it takes.
    #[must_use]
    pub fn needs(self) -> Needs {
        match self {
            Self::ClientFromMaster(_)
            | Self::ClientFromLane(_)
            | Self::MasterFromLauncher(_)
            | Self::MasterFromResourceManager(_) => Needs::PacketFilter,
            Self::DiskFull | Self::DiskFullMeanwhile => Needs::Mount,
            _ => Needs::Nothing,
        }
    }

    /// Further arguments of the job's program.
    #[must_use]
    pub fn program_arguments(self) -> &'static [&'static str] {
        match self {
            Self::DiskFullMeanwhile => &["write"],
            Self::ClientFromLane(_) => &["print"],
            _ => &[],
        }
    }

    /// What has to be so before the job starts.
    ///
    /// # Errors
    ///
    /// It cannot be done on this machine; the message says what is missing.
    pub fn prepare(self, given: &Given) -> Result<Vec<Harm>> {
        match self {
            Self::DiskFull => {
                let disk = SmallDisk::of_node(&given.cluster, SMALL)?;
                disk.fill()?;
                Ok(vec![Harm::Disk(disk)])
            }
            Self::DiskFullMeanwhile => {
                Ok(vec![Harm::Disk(SmallDisk::of_node(&given.cluster, SMALL)?)])
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Lets it happen; what has to be put right afterwards is added to `harms`, which holds what was
    /// prepared.
    ///
    /// # Errors
    ///
    /// It cannot be done on this machine, or the job was over before.
    pub fn strike(self, scene: &mut Scene<'_>, harms: &mut Vec<Harm>) -> Result<()> {
        match self {
            Self::Nothing => Ok(()),
            Self::DiskFull => {
                scene.struck = host(scene.cluster(), SMALL);
                Ok(())
            }
            Self::DiskFullMeanwhile => {
                scene.struck = host(scene.cluster(), SMALL);
                for harm in harms {
                    if let Harm::Disk(disk) = harm {
                        disk.fill()?;
                    }
                }
                Ok(())
            }
            Self::KillClient => {
                // Before it has submitted anything there is no job.
                scene.report()?;
                scene.running.signal(Signal::SIGKILL)
            }
            Self::KillMaster => signal_by_id(scene.master()?.pid, Signal::SIGKILL),
            Self::KillClientAndMaster => {
                let master = scene.master()?.pid;
                scene.running.signal(Signal::SIGKILL)?;
                signal_by_id(master, Signal::SIGKILL)
            }
            Self::StopMaster => signal_by_id(scene.master()?.pid, Signal::SIGSTOP),
            Self::KillLauncher => signal_by_id(scene.launcher()?.pid, Signal::SIGKILL),
            Self::KillRank => signal_by_id(scene.rank()?.pid, Signal::SIGKILL),
            Self::KillNodeManager => {
                let master = node_of(&scene.master()?).context("an AM without a node")?;
                let launchers = scene.launchers()?;
                let hosts: Vec<String> = launchers.iter().filter_map(node_of).collect();
                let nodes = scene.cluster().nodes();
                let others: Vec<usize> = nodes
                    .iter()
                    .filter(|node| {
                        let host = node.host.to_string();
                        host != master && hosts.contains(&host)
                    })
                    .map(|node| node.index)
                    .collect();
                let victim = *scene
                    .dice
                    .pick(&others)
                    .context("no launcher on a node without the AM")?;
                scene.struck = host(scene.cluster(), victim);
                down(scene, harms, Daemon::NodeManager(victim))
            }
            Self::KillNodeManagerOfMaster => {
                let master = scene.master()?;
                scene.strike_node_of(&master);
                let nodes = scene.cluster().nodes();
                let victim = nodes
                    .iter()
                    .find(|node| Some(node.host.to_string()) == scene.struck);
                down(
                    scene,
                    harms,
                    Daemon::NodeManager(victim.context("no such node")?.index),
                )
            }
            Self::KillResourceManager
            | Self::KillResourceManagerAtEnd
            | Self::RestartResourceManager => down(scene, harms, Daemon::ResourceManager),
            Self::ClientFromMaster(_) => {
                let master = scene.master_address()?;
                let client = i32::try_from(scene.running.id())?;
                cut_from(scene, harms, client, master)
            }
            Self::ClientFromLane(_) => {
                let master = scene.master_address()?;
                let lanes = scene.lanes(master.port())?;
                cut(scene, harms, lanes)
            }
            Self::MasterFromLauncher(_) => {
                let master = scene.master_address()?;
                let launcher = scene.launcher()?.pid;
                scene.victim = Some(launcher);
                cut_from(scene, harms, launcher, master)?;
                // It would dial again.
                let mut cut = Cut::new()?;
                cut.dials(scene.cluster().folder(), master)?;
                harms.push(Harm::Cut(cut));
                Ok(())
            }
            Self::MasterFromResourceManager(_) => {
                let pid = scene.master()?.pid;
                scene.victim = Some(pid);
                let manager: SocketAddrV4 = scene.cluster().resource_manager_address().parse()?;
                let folder = scene.cluster().folder();
                let mut cut = Cut::new()?;
                // New connections too: no other AM is there, and none else calls that port.
                cut.port(folder, SocketAddrV4::new(*manager.ip(), SCHEDULER))?;
                for found in to(pid, *manager.ip())? {
                    cut.connection(folder, found)?;
                }
                harms.push(Harm::Cut(cut));
                Ok(())
            }
        }
    }
}

fn host(cluster: &Cluster, node: usize) -> Option<String> {
    let nodes = cluster.nodes();
    nodes.get(node).map(|node| node.host.to_string())
}

fn down(scene: &Scene<'_>, harms: &mut Vec<Harm>, daemon: Daemon) -> Result<()> {
    scene.cluster().kill(daemon)?;
    harms.push(Harm::Down(daemon));
    Ok(())
}

/// Cuts what `pid` has open to the AM, which listens on all addresses.
fn cut_from(
    scene: &Scene<'_>,
    harms: &mut Vec<Harm>,
    pid: i32,
    master: SocketAddrV4,
) -> Result<()> {
    let all = connections(pid)?.into_iter();
    let all: Vec<TcpConnection> = all
        .filter(|found| found.remote.port() == master.port())
        .collect();
    ensure!(!all.is_empty(), "{pid} has no connection to {master}");
    cut(scene, harms, all)
}

fn cut(scene: &Scene<'_>, harms: &mut Vec<Harm>, all: Vec<TcpConnection>) -> Result<()> {
    let mut cut = Cut::new()?;
    for found in all {
        cut.connection(scene.cluster().folder(), found)?;
    }
    harms.push(Harm::Cut(cut));
    Ok(())
}

fn to(pid: i32, address: std::net::Ipv4Addr) -> Result<Vec<TcpConnection>> {
    let all = connections(pid)?.into_iter();
    Ok(all.filter(|found| *found.remote.ip() == address).collect())
}
