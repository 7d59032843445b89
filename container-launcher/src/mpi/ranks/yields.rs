//! Whether ranks that are about to start yield, and through what.

use std::path::{Path, PathBuf};

use job::wire::{self, Share};

use crate::cores::Cores;
use crate::mpi::crowd::{self, Crowd};
use crate::mpi::environment::Yielding;
use crate::mpi::yielding::{self, Shim};
use crate::say;

/// What was found for the ranks of a share.
pub(super) struct Yields {
    always: bool,
    shim: Option<Shim>,
    /// Where they yield only while the machine is crowded.
    pub(super) crowd: Option<Crowd>,
    /// The path of its byte.
    byte: Option<PathBuf>,
    ranks: usize,
}

impl Yields {
    pub(super) fn of(share: &Share, folder: &Path) -> Self {
        let ranks = share.ranks.len();
        let always = yielding::applies(share.yielding(), ranks, Cores::usable_of(&share.cpus));
        let crowd = match share.yielding() {
            wire::Yielding::Auto if !always => Crowd::new(),
            wire::Yielding::Auto | wire::Yielding::Always | wire::Yielding::Never => None,
        };
        let wanted = always || crowd.is_some();
        Self {
            always,
            shim: wanted.then(|| shim(folder)).flatten(),
            byte: crowd.as_ref().map(Crowd::path),
            crowd,
            ranks,
        }
    }

    /// What their environment is to say of it.
    pub(super) fn told(&self) -> Yielding<'_> {
        match (&self.shim, &self.byte) {
            (Some(shim), Some(byte)) => Yielding::Crowded(shim, byte, crowd::is_now(self.ranks)),
            (shim, None) if self.always => Yielding::Yes(shim.as_ref()),
            _ => Yielding::No,
        }
    }

    /// Where one rank notes how long it waited.
    pub(super) fn waits(&self, rank: u32) -> Option<PathBuf> {
        self.shim.as_ref().map(|shim| shim.waits(rank))
    }
}

/// The shim where it can be had: without it the job is slow, not wrong.
fn shim(folder: &Path) -> Option<Shim> {
    match Shim::write(folder) {
        Ok(shim) => Some(shim),
        Err(error) => {
            say(&format!(
                "MPICH cannot be made to yield where ranks outnumber cores: the shim cannot be put \
                 into {}: {error}",
                folder.display()
            ));
            None
        }
    }
}
