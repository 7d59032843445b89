//! The program `initialized`, whose ranks note the moment in which they are past `MPI_Init`, and what it
//! takes to start it fairly on nodes that share a machine.

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

/// The last moment that `ranks` ranks have noted.
pub fn last(stamps: &Path, ranks: usize) -> Result<f64> {
    let mut moments = Vec::new();
    for found in std::fs::read_dir(stamps)? {
        let text = std::fs::read_to_string(found?.path())?;
        moments.push(text.trim().parse::<f64>().context("a moment")?);
    }
    ensure!(
        moments.len() == ranks,
        "{} ranks of {ranks} began",
        moments.len()
    );
    Ok(moments.into_iter().fold(f64::MIN, f64::max))
}
