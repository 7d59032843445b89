//! One job in mode `all` on nodes of slow cores, and with all of its processes on one of them.
//!
//! The nodes of the cluster are one machine, where one node could use what all of them have. So each
//! node gets two slow cores ([`SlowCores`]), which together are less than the machine has: then a node
//! is full when its own cores are, and the machine never is.

use anyhow::{Context as _, Result, ensure};
use it::cluster::Size;
use it::cores::{Controller, SlowCores};
use it::{Cluster, bed};

use crate::programs::{Programs, READY, settle};
use crate::say;

/// Of the cluster.
pub(crate) const NODES: u32 = 8;
/// Of a node; as many processes have room there.
pub(crate) const CORES: u32 = 2;
/// Of a processor, each core: 0.8 processors in all.
pub(crate) const THOUSANDTHS: u64 = 50;
/// The smallest container.
const UNIT_MIB: u64 = 1024;
const PROGRAM: &str = "pi_mc";

/// One job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TakenTime {
    /// Seconds from the end of `MPI_Init` to the result, as the program tells.
    pub(crate) computing: f64,
    /// Seconds from the last process's start to the last one's end.
    pub(crate) execution: f64,
    /// Seconds of the whole command.
    pub(crate) whole: f64,
    /// Nodes that are said to be degraded.
    pub(crate) degraded: usize,
}

/// One job in both modes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OneNodeRow {
    pub(crate) processes: u32,
    pub(crate) samples: u64,
    pub(crate) all: TakenTime,
    pub(crate) none: TakenTime,
}

impl OneNodeRow {
    pub(crate) fn slowdown(&self) -> f64 {
        self.none.computing / self.all.computing
    }

    /// With `MPI_Init` and `MPI_Finalize`.
    pub(crate) fn slowdown_of_execution(&self) -> f64 {
        self.none.execution / self.all.execution
    }

    /// What the one node's cores let expect.
    pub(crate) fn processes_per_core(&self) -> f64 {
        f64::from(self.processes) / f64::from(CORES)
    }
}

/// The cluster goes first: then nothing runs on the cores any more.
pub(crate) struct Bench {
    pub(crate) cluster: Cluster,
    cores: SlowCores,
    programs: Programs,
    one: String,
}

impl Bench {
    pub(crate) fn new() -> Result<Self> {
        let controller = Controller::find()?;
        let programs = Programs::compile_with(PROGRAM, "slow_core")?;
        let node = Size {
            memory_mib: u64::from(CORES) * UNIT_MIB,
            vcores: CORES,
        };
        let cluster = Cluster::builder()
            .sizes(&[node; NODES as usize])
            .deadline(READY)
            .start()?;
        let hosts: Vec<String> = cluster
            .nodes()
            .iter()
            .map(|node| node.host.to_string())
            .collect();
        let cores = SlowCores::make(&controller, &hosts, CORES, THOUSANDTHS)?;
        let one = hosts.into_iter().next().context("no node")?;
        let bench = Self {
            cluster,
            cores,
            programs,
            one,
        };
        // Files are on every node.
        bench.run("all", NODES * CORES, 1000)?;
        Ok(bench)
    }

    fn run(&self, mode: &str, processes: u32, samples: u64) -> Result<TakenTime> {
        let list = self.cluster.folder().join("one-node");
        std::fs::write(&list, format!("{}:{processes}\n", self.one))?;
        let (list, count) = (bed::text_of(&list)?, processes.to_string());
        let mut options = vec!["--deploy-mode", "client", "-r", mode];
        match mode {
            "none" => options.extend(["-f", &list]),
            _ => options.extend(["-n", &count]),
        }
        let cores = self.cores.options();
        options.extend(cores.iter().map(String::as_str));
        let samples = samples.to_string();
        settle(&self.cluster)?;
        let (finished, report) =
            self.programs
                .gerbil_said(&self.cluster, &options, PROGRAM, &[&samples])?;
        let nodes = &report.placement.as_ref().context("no placement")?.nodes;
        let counts: Vec<u32> = nodes.iter().map(|node| node.processes).collect();
        ensure!(
            is_as_meant(mode, processes, &counts),
            "mode {mode} placed {processes} processes as {counts:?}"
        );
        let said = finished.stdout_text();
        let at = &report.phases;
        Ok(TakenTime {
            computing: told(&said).with_context(|| format!("the program said {said:?}"))?,
            execution: (at.ended_us - at.processes_started_us) as f64 / 1e6,
            whole: finished.wall.as_secs_f64(),
            degraded: report.degraded.len(),
        })
    }

    pub(crate) fn both(&self, processes: u32, samples: u64) -> Result<OneNodeRow> {
        let row = OneNodeRow {
            processes,
            samples,
            all: self.run("all", processes, samples)?,
            none: self.run("none", processes, samples)?,
        };
        say(&format!(
            "{processes} x {samples} samples: all {:.1} s, none {:.1} s, {:.2} times",
            row.all.computing,
            row.none.computing,
            row.slowdown()
        ))?;
        Ok(row)
    }
}

/// All on one node, or nowhere more than there are cores.
fn is_as_meant(mode: &str, processes: u32, counts: &[u32]) -> bool {
    match mode {
        "none" => counts == [processes],
        _ => counts.iter().all(|&count| count <= CORES),
    }
}

/// Seconds, of "16 x 4000000 samples took 4.813811 s".
fn told(said: &str) -> Option<f64> {
    let line = said.lines().find(|line| line.contains(" samples took "))?;
    line.split_whitespace().rev().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_was_placed_otherwise_is_no_measurement() {
        assert!(is_as_meant("none", 4, &[4]) && is_as_meant("all", 4, &[2, 2]));
        assert!(!is_as_meant("none", 4, &[2, 2]) && !is_as_meant("all", 4, &[3, 1]));
    }

    #[test]
    fn the_programs_own_time_is_read() {
        let said =
            "pi is about 3.141592653590, off by 1.0e-13\n16 x 4000000 samples took 4.813811 s\n";
        assert_eq!(told(said), Some(4.813_811));
        assert_eq!(told("pi is about 3"), None);
    }

    #[test]
    fn on_one_node_a_job_is_as_slow_as_its_cores_are_few() {
        let taken = |computing| TakenTime {
            computing,
            execution: computing + 1.0,
            whole: computing + 2.0,
            degraded: 0,
        };
        let row = OneNodeRow {
            processes: 16,
            samples: 1,
            all: taken(4.0),
            none: taken(32.0),
        };
        assert!((row.slowdown() - row.processes_per_core()).abs() < 1e-9);
        assert!((row.slowdown_of_execution() - 6.6).abs() < 1e-9);
    }
}
