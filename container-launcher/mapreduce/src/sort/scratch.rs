//! Files that nobody sees: memory while they are small, else files without a name on the job's disk.
//!
//! A file without a name is gone with the last process that has it open: whatever kills a task or its
//! launcher, nothing is left.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use gerbil_task::Footprint;
use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create, openat, unlinkat};
use rustix::io::Errno;

use crate::error::{Context as _, Result};

/// Up to this many bytes an output stays in memory.
pub(crate) const SMALL: u64 = 16 << 20;

/// A file without a name. What one process writes to it on a disk is counted until it is closed.
#[derive(Debug)]
pub(crate) struct Spill {
    file: File,
    /// Behind the file: it is closed before it is counted no more.
    counted: CountedFile,
}

/// What of a footprint is a file's.
#[derive(Debug, Default)]
struct CountedFile {
    footprint: Option<Footprint>,
    bytes: AtomicU64,
}

impl CountedFile {
    fn grow(&mut self, bytes: u64) {
        if let Some(footprint) = &self.footprint {
            footprint.grow(bytes);
            *self.bytes.get_mut() += bytes;
        }
    }
}

impl Drop for CountedFile {
    fn drop(&mut self) {
        if let Some(footprint) = &self.footprint {
            footprint.shrink(*self.bytes.get_mut());
        }
    }
}

impl From<File> for Spill {
    /// A file that somebody else counts, or nobody.
    fn from(file: File) -> Self {
        Self {
            file,
            counted: CountedFile::default(),
        }
    }
}

impl Spill {
    /// What the task of `slot` has left, which is its launcher's from now on.
    pub(crate) fn left(file: OwnedFd, slot: &Footprint) -> Self {
        Self {
            file: file.into(),
            counted: CountedFile {
                bytes: AtomicU64::new(slot.take()),
                footprint: Some(slot.of_launcher()),
            },
        }
    }

    pub(crate) const fn file(&self) -> &File {
        &self.file
    }

    /// Appends all of another file, of so many bytes, as the kernel does it.
    pub(crate) fn append(&mut self, from: &mut File, bytes: u64) -> io::Result<u64> {
        self.counted.grow(bytes);
        io::copy(from, &mut self.file)
    }

    /// What was written to it is the launcher's from now on: it stays counted, and not here.
    pub(crate) fn hand_over(&self) {
        self.counted.bytes.store(0, Ordering::Relaxed);
    }
}

impl Write for Spill {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.counted.grow(bytes.len() as u64);
        self.file.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Spill {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Where a task writes what is not its output.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: OwnedFd,
    footprint: Option<Footprint>,
}

impl Scratch {
    /// Files on the disk of `folder`, counted in the footprint.
    pub(crate) const fn new(folder: OwnedFd, footprint: Option<Footprint>) -> Self {
        Self { folder, footprint }
    }

    /// A new file on the disk: for what is one of many, whatever its length.
    pub(crate) fn on_disk(&self) -> Result<Spill> {
        Ok(Spill {
            file: self.nameless()?,
            counted: CountedFile {
                footprint: self.footprint.clone(),
                bytes: AtomicU64::new(0),
            },
        })
    }

    /// A new file, open for reading and writing, for about `bytes`.
    pub(crate) fn file(&self, bytes: u64) -> Result<Spill> {
        if bytes > SMALL {
            return self.on_disk();
        }
        let memory = memfd_create("gerbil-spill", MemfdFlags::CLOEXEC)
            .context(|| "memory for map output")?;
        Ok(File::from(memory).into())
    }

    fn nameless(&self) -> Result<File> {
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
