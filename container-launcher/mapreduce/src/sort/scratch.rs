//! Files that nobody sees: memory while they are small, else files without a name on the job's disk.
//!
//! A file without a name is gone with the last process that has it open: whatever kills a task or its
//! launcher, nothing is left.

use std::fs::File;
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create, openat, unlinkat};
use rustix::io::Errno;

use crate::error::{Context as _, Result};

/// Up to this many bytes an output stays in memory.
pub(crate) const SMALL: u64 = 16 << 20;

/// Where a task writes what is not its output.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: OwnedFd,
}

impl Scratch {
    pub(crate) const fn new(folder: OwnedFd) -> Self {
        Self { folder }
    }

    /// A new file on the disk: for what is one of many, whatever its length.
    pub(crate) fn on_disk(&self) -> Result<File> {
        self.file(u64::MAX)
    }

    /// A new file, open for reading and writing, for about `bytes`.
    pub(crate) fn file(&self, bytes: u64) -> Result<File> {
        if bytes <= SMALL {
            return Ok(memfd_create("gerbil-spill", MemfdFlags::CLOEXEC)
                .context(|| "memory for map output")?
                .into());
        }
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        match openat(&self.folder, ".", flags | OFlags::TMPFILE, mode) {
            Ok(file) => Ok(file.into()),
            // A file system that knows no nameless files: a name, for a moment.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {
                self.named(flags, mode)
            }
            Err(errno) => Err(errno).context(|| "a file to spill to"),
        }
    }

    fn named(&self, flags: OFlags, mode: Mode) -> Result<File> {
        for number in 0_u32..10_000 {
            let name = format!(".gerbil-{}-{number}", std::process::id());
            match openat(
                &self.folder,
                &name,
                flags | OFlags::CREATE | OFlags::EXCL,
                mode,
            ) {
                Ok(file) => {
                    unlinkat(&self.folder, &name, rustix::fs::AtFlags::empty())?;
                    return Ok(file.into());
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno).context(|| "a file to spill to"),
            }
        }
        Err(crate::Error::new(
            "a file to spill to: ten thousand names are taken",
        ))
    }
}
