//! Connections that lose every packet, as if the cable were cut: no side is told.

use std::collections::BTreeSet;
use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::command::Run;

/// An established connection, as one of its processes sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpConnection {
    /// That process's end.
    pub local: SocketAddrV4,
    /// The other end.
    pub remote: SocketAddrV4,
}

/// The TCP connections of one process.
///
/// # Errors
///
/// It is gone.
pub fn connections(pid: i32) -> Result<Vec<TcpConnection>> {
    let own = format!("/proc/{pid}");
    let mut inodes = BTreeSet::new();
    for entry in fs::read_dir(format!("{own}/fd")).with_context(|| format!("looking at {pid}"))? {
        let Ok(target) = fs::read_link(entry?.path()) else {
            continue;
        };
        let target = target.to_string_lossy();
        if let Some(inode) = target.strip_prefix("socket:[") {
            inodes.insert(inode.trim_end_matches(']').to_owned());
        }
    }
    let table = fs::read_to_string(format!("{own}/net/tcp"))?;
    Ok(table
        .lines()
        .filter_map(|line| connection(line, &inodes))
        .collect())
}

/// One line of `/proc/net/tcp`: number, local, remote, state, …, inode in the tenth column.
fn connection(line: &str, inodes: &BTreeSet<String>) -> Option<TcpConnection> {
    const ESTABLISHED: &str = "01";
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_ours = inodes.contains(*words.get(9)?);
    (*words.get(3)? == ESTABLISHED && is_ours).then_some(())?;
    Some(TcpConnection {
        local: address(words.get(1)?)?,
        remote: address(words.get(2)?)?,
    })
}

/// `0B01007F:1F90`: the address as this machine keeps it in memory.
fn address(text: &str) -> Option<SocketAddrV4> {
    let (host, port) = text.split_once(':')?;
    let host = u32::from_str_radix(host, 16).ok()?;
    let port = u16::from_str_radix(port, 16).ok()?;
    Some(SocketAddrV4::new(Ipv4Addr::from(host.to_ne_bytes()), port))
}

/// Rules of the kernel's packet filter, gone when dropped; and, by its mark, with the cluster.
#[derive(Debug)]
pub struct Cut {
    rules: Vec<Vec<String>>,
    /// Control groups of processes that are cut off.
    groups: Vec<PathBuf>,
}

impl Cut {
    /// Nothing is cut yet.
    ///
    /// # Errors
    ///
    /// The packet filter cannot be had: it needs root and `iptables`.
    pub fn new() -> Result<Self> {
        Run::new(iptables(&["-S".to_owned()]))
            .finish()
            .and_then(|finished| finished.success("iptables -S"))
            .context("cutting the network needs root and iptables: apt-get install iptables")?;
        Ok(Self {
            rules: Vec::new(),
            groups: Vec::new(),
        })
    }

    /// Cuts one connection, both ways. The name of the `cluster`'s folder marks the rules.
    ///
    /// # Errors
    ///
    /// The packet filter refuses.
    pub fn connection(&mut self, cluster: &Path, found: TcpConnection) -> Result<()> {
        for (from, to) in [(found.local, found.remote), (found.remote, found.local)] {
            let (source, sport) = (from.ip().to_string(), from.port().to_string());
            let (destination, dport) = (to.ip().to_string(), to.port().to_string());
            let ends = [
                "-s",
                &source,
                "-d",
                &destination,
                "-p",
                "tcp",
                "--sport",
                &sport,
                "--dport",
                &dport,
            ];
            self.drop_all(cluster, &ends)?;
        }
        Ok(())
    }

    /// Cuts whatever goes to this port. `cluster` as before.
    ///
    /// # Errors
    ///
    /// The packet filter refuses.
    pub fn port(&mut self, cluster: &Path, to: SocketAddrV4) -> Result<()> {
        let (destination, dport) = (to.ip().to_string(), to.port().to_string());
        self.drop_all(
            cluster,
            &["-d", &destination, "-p", "tcp", "--dport", &dport],
        )
    }

    /// Cuts what would be a new connection to this port, from whomever. `cluster` as before.
    ///
    /// # Errors
    ///
    /// The packet filter refuses.
    pub fn dials(&mut self, cluster: &Path, to: SocketAddrV4) -> Result<()> {
        let dport = to.port().to_string();
        self.drop_all(cluster, &["-p", "tcp", "--dport", &dport, "--syn"])
    }

    /// Cuts the way from one process to a host, for whatever it dials from now on. `cluster` as before.
    ///
    /// # Errors
    ///
    /// The packet filter refuses, or there are no control groups of version 2 by which it knows a process.
    pub fn way(&mut self, cluster: &Path, from: i32, to: Ipv4Addr) -> Result<()> {
        let name = cluster.file_name().context("a cluster without a folder")?;
        let name = format!("{}-{from}", name.to_string_lossy());
        let group = groups()?.join(&name);
        fs::create_dir(&group).with_context(|| format!("making {}", group.display()))?;
        self.groups.push(group.clone());
        fs::write(group.join("cgroup.procs"), from.to_string())
            .with_context(|| format!("{from} into {}", group.display()))?;
        let to = to.to_string();
        let packets = ["-d", &to, "-p", "tcp", "-m", "cgroup", "--path", &name];
        self.drop_in("OUTPUT", cluster, &packets)
    }

    fn drop_all(&mut self, cluster: &Path, packets: &[&str]) -> Result<()> {
        self.drop_in("INPUT", cluster, packets)
    }

    fn drop_in(&mut self, chain: &str, cluster: &Path, packets: &[&str]) -> Result<()> {
        let mark = cluster.file_name().context("a cluster without a folder")?;
        let mark = mark.to_string_lossy();
        let mut rule = vec![chain];
        rule.extend(packets);
        rule.extend(["-m", "comment", "--comment", &mark, "-j", "DROP"]);
        let rule: Vec<String> = rule.into_iter().map(str::to_owned).collect();
        let mut insert = vec!["-I".to_owned()];
        insert.extend(rule.clone());
        Run::new(iptables(&insert))
            .finish()?
            .success("iptables -I")?;
        self.rules.push(rule);
        Ok(())
    }

    /// Lets everything through again.
    ///
    /// # Errors
    ///
    /// The packet filter refuses.
    pub fn heal(&mut self) -> Result<()> {
        for rule in std::mem::take(&mut self.rules) {
            let mut delete = vec!["-D".to_owned()];
            delete.extend(rule);
            Run::new(iptables(&delete))
                .finish()?
                .success("iptables -D")?;
        }
        for group in std::mem::take(&mut self.groups) {
            // One whose processes have not ended stays, and does nothing.
            drop(fs::remove_dir(group));
        }
        Ok(())
    }
}

impl Drop for Cut {
    fn drop(&mut self) {
        // The warden finds what stays.
        drop(self.heal());
    }
}

/// Where control groups of version 2 are.
fn groups() -> Result<PathBuf> {
    let mounts = fs::read_to_string("/proc/mounts")?;
    let mut mounts = mounts.lines().map(|line| line.split(' '));
    let found = mounts.find_map(|mut words| {
        let at = words.nth(1)?;
        (words.next()? == "cgroup2").then(|| PathBuf::from(at))
    });
    found.context("no control groups of version 2 are mounted")
}

fn iptables(arguments: &[String]) -> Command {
    let mut command = Command::new("iptables");
    command.arg("-w").args(arguments);
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_connections_of_a_process_are_found() {
        let listener = TcpListener::bind("127.9.8.7:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        let all = connections(own).unwrap();
        let local = stream.local_addr().unwrap().to_string();
        let remote = stream.peer_addr().unwrap().to_string();
        let is_it = |found: &&TcpConnection| {
            found.local.to_string() == local && found.remote.to_string() == remote
        };
        assert_eq!(all.iter().filter(is_it).count(), 1, "{all:?}");
    }
}
