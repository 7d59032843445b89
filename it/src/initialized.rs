//! The program `initialized`, whose ranks note the moments in which they are past `MPI_Init`, and in which they
//! begin, and what it takes to start it fairly on nodes that share a machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::command::Run;
use crate::mpi::Mpich;

/// Copies what is installed, once for each node.
pub fn copies(mpich: &Mpich, folder: &Path, nodes: usize) -> Result<Vec<PathBuf>> {
    let installed = mpich.libraries()?;
    let copy = |node: usize| {
        let copy = folder.join(format!("libraries-{node}"));
        let mut command = Command::new("cp");
        command.arg("--archive").arg(&installed).arg(&copy);
        Run::new(command).finish()?.success("copying the library")?;
        Ok(copy)
    };
    (0..nodes).map(copy).collect()
}

/// The last moments that ranks have noted, seconds since 1970.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    /// When the last one was past `MPI_Init`.
    pub initialized: f64,
    /// When the last one had begun.
    pub begun: f64,
}

/// The last moments that `ranks` ranks have noted.
pub fn last(stamps: &Path, ranks: usize) -> Result<Moments> {
    let (mut seen, mut last) = (
        0,
        Moments {
            initialized: f64::MIN,
            begun: f64::MIN,
        },
    );
    for found in std::fs::read_dir(stamps)? {
        let text = std::fs::read_to_string(found?.path())?;
        let (initialized, begun) = text.trim().split_once(' ').context("two moments")?;
        last.initialized = last.initialized.max(initialized.parse()?);
        last.begun = last.begun.max(begun.parse()?);
        seen += 1;
    }
    ensure!(seen == ranks, "{seen} ranks of {ranks} began");
    Ok(last)
}
