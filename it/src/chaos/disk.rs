//! A node whose disk is small and can be filled.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use nix::sys::statvfs::statvfs;

use crate::command::Run;
use crate::{Cluster, Daemon};

/// Bytes of the disk: the files of a job, debug builds included, and some room.
const SIZE: &str = "size=1500m";

/// Tries it.
///
/// # Errors
///
/// There is no folder to try it on, or no such command.
pub fn can_be_mounted() -> Result<bool> {
    let folder = tempfile::tempdir()?;
    let mounted = Run::new(mount(folder.path())).finish()?.code() == 0;
    if mounted {
        Run::new(unmount(folder.path()))
            .finish()?
            .success("umount")?;
    }
    Ok(mounted)
}

fn mount(folder: &Path) -> Command {
    let mut mount = Command::new("mount");
    mount
        .args(["-t", "tmpfs", "-o", SIZE, "gerbil-it"])
        .arg(folder);
    mount
}

fn unmount(folder: &Path) -> Command {
    let mut unmount = Command::new("umount");
    unmount.arg(folder);
    unmount
}

/// How full a disk may be, hundredths, to all NodeManagers that start from now on, and to clients: `now` where it was
/// `before`.
///
/// # Errors
///
/// The settings cannot be changed.
pub fn bears(cluster: &Cluster, before: &str, now: &str) -> Result<()> {
    let folder = cluster.folder().join("daemons");
    let nodes = cluster.nodes().into_iter();
    let nodes = nodes.map(|of| folder.join(format!("{}/conf", Daemon::NodeManager(of.index))));
    for conf in nodes.chain([cluster.conf_dir()]) {
        let path = conf.join("yarn-site.xml");
        let text = fs::read_to_string(&path)?;
        let name = "max-disk-utilization-per-disk-percentage</name>";
        let (begin, rest) = text.split_once(name).context("no such setting")?;
        let (old, new) = (
            format!("<value>{before}</value>"),
            format!("<value>{now}</value>"),
        );
        let rest = rest.replacen(&old, &new, 1);
        fs::write(&path, format!("{begin}{name}{rest}"))?;
    }
    Ok(())
}

/// A NodeManager's folder on a disk of its own, in memory. Its files are gone with it.
#[derive(Debug)]
pub struct SmallDisk {
    folder: PathBuf,
    filling: PathBuf,
}

impl SmallDisk {
    /// Gives `node`, counted from 0, such a disk; its NodeManager is started again on it.
    ///
    /// # Errors
    ///
    /// There is no root to mount it, or the NodeManager does not start.
    pub fn of_node(cluster: &Cluster, node: usize) -> Result<Self> {
        let daemon = Daemon::NodeManager(node);
        let folder = cluster
            .nodes()
            .get(node)
            .context("no such node")?
            .folder
            .clone();
        cluster.stop(daemon)?;
        let mounted = Run::new(mount(&folder))
            .finish()?
            .success("mounting a small disk, which needs root");
        let disk = Self {
            filling: folder.join("filling"),
            folder,
        };
        cluster.start(daemon)?;
        cluster.wait_for_nodes(cluster.nodes().len())?;
        mounted?;
        Ok(disk)
    }

    /// Leaves not one byte.
    ///
    /// # Errors
    ///
    /// It cannot be written for another reason than that it is full.
    pub fn fill(&self) -> Result<()> {
        let mut file = File::create(&self.filling)?;
        let block = vec![1; 1 << 20];
        for piece in [block.as_slice(), &block[..4096]] {
            loop {
                match file.write_all(piece) {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::StorageFull => break,
                    Err(error) => return Err(error).context("filling the disk"),
                }
            }
        }
        Ok(())
    }

    /// Takes so many hundredths of it, with all that is there already.
    ///
    /// # Errors
    ///
    /// It cannot be looked at or written.
    pub fn fill_to(&self, percent: u64) -> Result<()> {
        let found = statvfs(&self.folder)?;
        let bytes = |blocks: u64| blocks.saturating_mul(found.fragment_size());
        let taken = bytes(found.blocks()).saturating_sub(bytes(found.blocks_available()));
        let wanted = bytes(found.blocks()) / 100 * percent;
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(&self.filling)?;
        let block = vec![1; 1 << 20];
        for _ in 0..wanted.saturating_sub(taken) >> 20 {
            file.write_all(&block)?;
        }
        Ok(())
    }

    /// Takes it away again.
    ///
    /// # Errors
    ///
    /// The NodeManager does not start on its old disk.
    pub fn remove(self, cluster: &Cluster) -> Result<()> {
        let nodes = cluster.nodes();
        let node = nodes.iter().find(|node| node.folder == self.folder);
        let daemon = Daemon::NodeManager(node.context("a disk of another cluster")?.index);
        // It could not write its last words.
        drop(fs::remove_file(&self.filling));
        cluster.stop(daemon)?;
        let unmounted = Run::new(unmount(&self.folder)).finish()?;
        ensure!(unmounted.code() == 0, "{}", unmounted.stderr_text());
        cluster.start(daemon)?;
        cluster.wait_for_nodes(nodes.len())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: processes may still be in it. Unmounted already is fine.
        let mut unmount = Command::new("umount");
        unmount.arg("-l").arg(&self.folder);
        drop(Run::new(unmount).finish());
    }
}
