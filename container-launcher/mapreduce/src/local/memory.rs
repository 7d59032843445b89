//! What a job may have in memory: a budget that is printed, and the map outputs that count in it.
//!
//! A task sorts in its arena and merges in as much; its output is handed over as a file without a name, in memory if
//! it is small. Those that have ended stay there up to as much as all arenas together; the others go to the disk.

use std::fs::File;
use std::io::Seek as _;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use gerbil_task::Footprint;

use crate::error::{Context as _, Result};
use crate::settings::Settings;
use crate::sort::scratch::{SMALL, Scratch, Spill};

/// Bytes of a task process beside its arena: the program itself, what it reads and writes in pieces, blocks of
/// spills. What mappers and reducers keep is their own affair.
const PROGRAM: u64 = 16 << 20;
/// Bytes of this process, and of the driver.
const CLIENT: u64 = 16 << 20;

/// What a job may have in memory, bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    slots: u64,
    arena: u64,
    /// Of the output that a task makes.
    output: u64,
    /// Of the outputs of maps that have ended.
    kept: u64,
}

impl Budget {
    pub(super) fn new(slots: usize, settings: &Settings) -> Result<Self> {
        let arena = settings.arena()? as u64;
        let slots = slots as u64;
        Ok(Self {
            slots,
            arena,
            output: arena.min(SMALL),
            kept: slots * arena,
        })
    }

    pub(super) const fn all(self) -> u64 {
        self.slots * self.task() + self.kept + CLIENT
    }

    const fn task(self) -> u64 {
        self.arena + self.output + PROGRAM
    }

    /// In one line, what it is made of.
    pub(super) fn text(self) -> String {
        let [all, task, arena, output, program, kept, client] = [
            self.all(),
            self.task(),
            self.arena,
            self.output,
            PROGRAM,
            self.kept,
            CLIENT,
        ]
        .map(|bytes| bytes >> 20);
        let (slots, s) = (self.slots, if self.slots == 1 { "" } else { "s" });
        format!(
            "memory up to {all} MiB: {slots} task{s} of {task} ({arena} to sort, {output} of output, {program} the \
             program), {kept} of map outputs, {client} this process and its driver"
        )
    }

    /// What is kept of map outputs.
    pub(super) const fn outputs(self) -> Outputs {
        Outputs {
            most: self.kept,
            used: AtomicU64::new(0),
        }
    }
}

/// Map outputs in memory.
#[derive(Debug)]
pub(super) struct Outputs {
    most: u64,
    used: AtomicU64,
}

impl Outputs {
    /// The output that the task of `slot` has left: itself while there is memory for it, or where it is on a disk;
    /// else a copy there.
    pub(super) fn keep(&self, file: OwnedFd, folder: &File, slot: &Footprint) -> Result<Spill> {
        // Files in memory alone have seals.
        if rustix::fs::fcntl_get_seals(&file).is_err() {
            return Ok(Spill::left(file, slot));
        }
        let mut file = File::from(file);
        let bytes = file.metadata().context(|| "map output")?.len();
        let fits = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.most);
        if self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
            .is_ok()
        {
            return Ok(file.into());
        }
        let folder = folder.try_clone().context(|| "the folder for spills")?;
        let scratch = Scratch::new(folder.into(), Some(slot.of_launcher()));
        let mut copy = scratch.on_disk()?;
        file.rewind().context(|| "map output")?;
        copy.append(&mut file, bytes)
            .context(|| "map output, from memory to the disk")?;
        Ok(copy)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::FileExt as _;

    use rustix::fs::{MemfdFlags, fcntl_get_seals, memfd_create};

    use gerbil_task::Footprint;

    use super::{Budget, Spill};
    use crate::settings::{ARENA, Settings};

    #[test]
    fn outputs_go_to_the_disk_when_those_in_memory_are_as_much_as_all_arenas() {
        let mut settings = Settings::default();
        settings.set(ARENA, "1");
        let budget = Budget::new(2, &settings).unwrap();
        assert_eq!(
            budget.text(),
            "memory up to 54 MiB: 2 tasks of 18 (1 to sort, 1 of output, 16 the program), 2 of map outputs, 16 this \
             process and its driver"
        );
        let outputs = budget.outputs();
        // No folder in memory: those have seals, too.
        let folder = File::open("/var/tmp").unwrap();
        let output = |byte: u8| -> OwnedFd {
            let mut file = File::from(memfd_create("output", MemfdFlags::CLOEXEC).unwrap());
            file.write_all(&vec![byte; 700_000]).unwrap();
            file.into()
        };
        let (_page, footprint, _descriptor) = Footprint::create().unwrap();
        let slot = footprint.of(0);
        let kept: Vec<Spill> = (0..4)
            .map(|byte| outputs.keep(output(byte), &folder, &slot).unwrap())
            .collect();
        let in_memory: Vec<bool> = kept
            .iter()
            .map(|file| fcntl_get_seals(file).is_ok())
            .collect();
        assert_eq!(in_memory, [true, true, false, false]);
        assert_eq!((footprint.now(), slot.take()), (1_400_000, 0));
        for (byte, file) in (0_u8..).zip(&kept) {
            let mut content = vec![9; 700_000];
            file.file().read_exact_at(&mut content, 0).unwrap();
            assert!(content.iter().all(|found| *found == byte));
        }
        drop(kept);
        assert_eq!((footprint.now(), footprint.most()), (0, 1_400_000));
    }
}
