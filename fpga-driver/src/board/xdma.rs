//! A card behind Xilinx's DMA driver (Xilinx/dma_ip_drivers, XDMA): four device files of one card.
//!
//! | file           | used by                                                                        |
//! |----------------|--------------------------------------------------------------------------------|
//! | `…_h2c_0`      | the sender: data, then header, written to the card's memory at their addresses |
//! | `…_c2h_0`      | the receiver: the result, read from its address                                |
//! | `…_user`       | both: the registers, mapped                                                    |
//! | `…_events_0`   | the receiver: reads of exactly 4 bytes, which give and clear the interrupts    |
//!
//! The driver lets one thread use a channel at a time, which is what sender and receiver do.

use super::{Board, BoardError, REGISTERS, Register, addresses};
use crate::packet::HEADER_LENGTH;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

/// Bytes that are mapped of the registers' window.
pub(super) const WINDOW: usize = 4096;
/// How long a card may take to look at doorbell, acknowledgement or command.
const STROBE: std::time::Duration = std::time::Duration::from_secs(2);
/// Results are read in pieces of this many bytes.
const PIECE: usize = 256 << 10;

/// The device file of this kind, as `/dev/xdma0_user`.
pub fn file(path: &Path, kind: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("_");
    name.push(kind);
    name.into()
}

/// Registers that are mapped from a file.
#[derive(Debug)]
pub(super) struct Registers(NonNull<u8>);

#[expect(
    unsafe_code,
    reason = "a mapping belongs to the process, not to a thread"
)]
// SAFETY: the mapping lives as long as the value; single words are read and written.
unsafe impl Send for Registers {}
#[expect(
    unsafe_code,
    reason = "a mapping belongs to the process, not to a thread"
)]
// SAFETY: as above.
unsafe impl Sync for Registers {}

impl Registers {
    #[expect(unsafe_code, reason = "mmap has no safe face")]
    pub(super) fn map(file: &OwnedFd) -> Result<Self, rustix::io::Errno> {
        // SAFETY: a new mapping wherever the kernel likes touches no other.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                WINDOW,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                file,
                0,
            )
        }?;
        NonNull::new(base.cast())
            .map(Self)
            .ok_or(rustix::io::Errno::NOMEM)
    }

    fn at(&self, register: Register) -> *mut u32 {
        let offset = usize::try_from(register as u32).unwrap_or(0);
        debug_assert!(offset < REGISTERS);
        self.0.as_ptr().wrapping_add(offset).cast()
    }

    #[expect(unsafe_code, reason = "a register of a device")]
    pub(super) fn read(&self, register: Register) -> u32 {
        // SAFETY: inside the mapping and aligned; devices want whole words, each exactly once.
        u32::from_le(unsafe { self.at(register).read_volatile() })
    }

    #[expect(unsafe_code, reason = "a register of a device")]
    pub(super) fn write(&self, register: Register, value: u32) {
        // SAFETY: as above.
        unsafe { self.at(register).write_volatile(value.to_le()) }
    }

    /// The register as a word that two processes share: for the emulated card alone.
    #[expect(unsafe_code, reason = "a word that two processes share")]
    pub(super) fn word(&self, register: Register) -> &std::sync::atomic::AtomicU32 {
        // SAFETY: inside the mapping and aligned.
        unsafe { std::sync::atomic::AtomicU32::from_ptr(self.at(register)) }
    }
}

impl Drop for Registers {
    #[expect(unsafe_code, reason = "munmap has no safe face")]
    fn drop(&mut self) {
        // SAFETY: our own mapping, to which no reference outlives the value.  It cannot fail.
        unsafe { rustix::mm::munmap(self.0.as_ptr().cast(), WINDOW) }.ok();
    }
}

/// A card behind Xilinx's driver, or the folder that `fpgad xdma-emu` serves.
#[derive(Debug)]
pub struct Xdma {
    path: PathBuf,
    to_card: OwnedFd,
    from_card: OwnedFd,
    events: OwnedFd,
    registers: Registers,
    bell: OwnedFd,
}

impl Xdma {
    /// Opens the four files whose names begin with `path`, as `/dev/xdma0`.
    ///
    /// # Errors
    ///
    /// One of them cannot be opened or mapped.
    pub fn open(path: &Path) -> Result<Self, BoardError> {
        let open = |kind, flags| {
            let path = file(path, kind);
            rustix::fs::open(&path, flags | OFlags::CLOEXEC, Mode::empty())
                .map_err(|errno| failed("cannot open", &path, errno))
        };
        let user = open("user", OFlags::RDWR)?;
        let registers = Registers::map(&user)
            .map_err(|errno| failed("cannot map", &file(path, "user"), errno))?;
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Self {
            path: path.to_owned(),
            to_card: open("h2c_0", OFlags::WRONLY)?,
            from_card: open("c2h_0", OFlags::RDONLY)?,
            events: open("events_0", OFlags::RDONLY | OFlags::NONBLOCK)?,
            registers,
            bell: rustix::event::eventfd(0, flags)
                .map_err(|errno| failed("cannot wait for", path, errno))?,
        })
    }

    fn write_all(&self, mut bytes: &[u8], mut address: u64) -> Result<(), BoardError> {
        while !bytes.is_empty() {
            match rustix::io::pwrite(&self.to_card, bytes, address) {
                Ok(0) => {
                    return Err(self.failed("no room behind", "h2c_0", rustix::io::Errno::NOSPC));
                }
                Ok(written) => {
                    bytes = &bytes[written..];
                    address += written as u64;
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(self.failed("cannot write to", "h2c_0", errno)),
            }
        }
        Ok(())
    }

    fn failed(&self, what: &'static str, kind: &str, errno: rustix::io::Errno) -> BoardError {
        failed(what, &file(&self.path, kind), errno)
    }
}

fn failed(what: &'static str, path: &Path, errno: rustix::io::Errno) -> BoardError {
    BoardError::Device {
        what,
        path: path.display().to_string(),
        source: errno.into(),
    }
}

impl Board for Xdma {
    fn read(&self, register: Register) -> Result<u32, BoardError> {
        Ok(self.registers.read(register))
    }

    fn write(&self, register: Register, value: u32) -> Result<(), BoardError> {
        self.registers.write(register, value);
        if !matches!(
            register,
            Register::Doorbell | Register::Acknowledge | Register::Command
        ) {
            return Ok(());
        }
        // These read as zero.  Reading one lets what was written before it arrive at the card, and an
        // emulated card shows in this way that it has looked.
        let until = Instant::now() + STROBE;
        while self.registers.read(register) != 0 {
            if Instant::now() > until {
                let errno = rustix::io::Errno::TIMEDOUT;
                return Err(self.failed("the card takes nothing from", "user", errno));
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    fn wait(&self, until: Option<Instant>) -> Result<bool, BoardError> {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let mut polled = [
            PollFd::new(&self.events, PollFlags::IN),
            PollFd::new(&self.bell, PollFlags::IN),
        ];
        match rustix::event::poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(self.failed("cannot wait for", "events_0", errno)),
        }
        let [events, bell] = polled.map(|it| it.revents());
        if bell.contains(PollFlags::IN) {
            rustix::io::read(self.bell.as_fd(), &mut [0; 8]).ok();
        }
        if !events.contains(PollFlags::IN) {
            if events.intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL) {
                return Err(self.failed("gone:", "events_0", rustix::io::Errno::IO));
            }
            return Ok(false);
        }
        // The driver takes reads of exactly 4 bytes.
        match rustix::io::read(&self.events, &mut [0; 4]) {
            Ok(4) => Ok(true),
            Ok(_) => Err(self.failed("gone:", "events_0", rustix::io::Errno::IO)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(false),
            Err(errno) => Err(self.failed("cannot read", "events_0", errno)),
        }
    }

    fn wake(&self) {
        rustix::io::write(&self.bell, &1u64.to_ne_bytes()).ok();
    }

    fn place(
        &self,
        slot: usize,
        header: &[u8; HEADER_LENGTH],
        data: &Arc<Vec<u8>>,
    ) -> Result<(), BoardError> {
        let at = addresses(slot);
        self.write_all(data, at.data)?;
        self.write_all(header, at.header)
    }

    fn collect(
        &self,
        slot: usize,
        length: usize,
        into: &mut dyn FnMut(&[u8]),
    ) -> Result<(), BoardError> {
        let mut address = addresses(slot).result;
        let mut piece = vec![0; length.min(PIECE)];
        let mut left = length;
        while left > 0 {
            let wanted = left.min(PIECE);
            match rustix::io::pread(&self.from_card, &mut piece[..wanted], address) {
                // A card that gives less has said a wrong length; the caller counts.
                Ok(0) => return Ok(()),
                Ok(read) => {
                    into(&piece[..read]);
                    address += read as u64;
                    left -= read;
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(self.failed("cannot read from", "c2h_0", errno)),
            }
        }
        Ok(())
    }
}
