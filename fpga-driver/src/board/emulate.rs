//! A folder with the device files of Xilinx's driver, over any board: for trying [`super::xdma`]
//! without a card.
//!
//! | file            | is                                                                     |
//! |-----------------|------------------------------------------------------------------------|
//! | `xdma0_h2c_0`   | the card's memory, a file: written at addresses of the card             |
//! | `xdma0_c2h_0`   | the same file by another name                                          |
//! | `xdma0_user`    | the registers, a file that both sides map                              |
//! | `xdma0_events_0`| a FIFO: four bytes an interrupt                                        |
//!
//! A file cannot notice a write: one thread looks at doorbell, acknowledgement and command, and puts
//! them to zero when it has acted; so a driver that reads them back knows.

use super::xdma::{Registers, WINDOW, file};
use super::{Board, BoardError, RESULT, Register, addresses, slot_of};
use crate::packet::{HEADER_LENGTH, Header};
use rustix::fs::{Mode, OFlags};
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often registers are looked at.
const LOOK: Duration = Duration::from_micros(20);
/// No packet of a driver is longer.
const LONGEST: u64 = 64 << 20;

/// An emulated card; it is there until this is dropped.
#[derive(Debug)]
pub struct Emulator {
    shared: Arc<EmulatedCard>,
    threads: Vec<JoinHandle<()>>,
    folder: PathBuf,
}

#[derive(Debug)]
struct EmulatedCard {
    card: Box<dyn Board>,
    registers: Registers,
    memory: OwnedFd,
    events: OwnedFd,
    /// Slots of the packets on the card, in the order of their doorbells.
    order: Mutex<VecDeque<usize>>,
    stop: AtomicBool,
}

impl Emulator {
    /// Makes the files in a folder, and serves them.
    ///
    /// # Errors
    ///
    /// A file cannot be made.
    pub fn start(folder: &Path, card: Box<dyn Board>) -> Result<Self, BoardError> {
        let path = folder.join("xdma0");
        let failed = |what, kind: &str| {
            let path = file(&path, kind).display().to_string();
            move |errno: rustix::io::Errno| BoardError::Device {
                what,
                path,
                source: errno.into(),
            }
        };
        let open = |kind: &str, flags| {
            rustix::fs::open(
                file(&path, kind),
                flags | OFlags::RDWR | OFlags::CLOEXEC,
                Mode::RUSR | Mode::WUSR,
            )
            .map_err(failed("cannot make", kind))
        };
        for kind in ["h2c_0", "c2h_0", "user", "events_0"] {
            // What an earlier emulator left; where nothing is, making it says what is wrong.
            drop(std::fs::remove_file(file(&path, kind)));
        }
        let memory = open("h2c_0", OFlags::CREATE)?;
        rustix::fs::link(file(&path, "h2c_0"), file(&path, "c2h_0"))
            .map_err(failed("cannot make", "c2h_0"))?;
        let user = open("user", OFlags::CREATE)?;
        rustix::fs::ftruncate(&user, WINDOW as u64).map_err(failed("cannot make", "user"))?;
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            file(&path, "events_0"),
            Mode::RUSR | Mode::WUSR,
        )
        .map_err(failed("cannot make", "events_0"))?;
        let shared = Arc::new(EmulatedCard {
            registers: Registers::map(&user).map_err(failed("cannot map", "user"))?,
            events: open("events_0", OFlags::NONBLOCK)?,
            memory,
            card,
            order: Mutex::default(),
            stop: AtomicBool::new(false),
        });
        for register in [Register::Id, Register::Version, Register::Functions] {
            shared
                .registers
                .write(register, shared.card.read(register)?);
        }
        let mut emulator = Self {
            shared,
            threads: Vec::new(),
            folder: folder.to_owned(),
        };
        for (name, work) in [
            ("registers", EmulatedCard::watch as fn(&EmulatedCard)),
            ("interrupts", EmulatedCard::interrupt),
        ] {
            let shared = Arc::clone(&emulator.shared);
            let thread = std::thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || work(&shared))
                .map_err(|source| BoardError::Device {
                    what: "no thread for",
                    path: folder.display().to_string(),
                    source,
                })?;
            emulator.threads.push(thread);
        }
        Ok(emulator)
    }

    /// What the names of the files begin with.
    pub fn path(&self) -> PathBuf {
        self.folder.join("xdma0")
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.card.wake();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so.
            drop(thread.join());
        }
    }
}

impl EmulatedCard {
    /// Looks at what the driver writes.
    fn watch(&self) {
        while !self.stop.load(Ordering::Acquire) {
            let mut idle = true;
            for register in [Register::Command, Register::Acknowledge, Register::Doorbell] {
                let word = self.registers.word(register);
                let value = word.load(Ordering::SeqCst);
                if value == 0 {
                    continue;
                }
                idle = false;
                // A card that cannot be reached says nothing more, which its driver notices.
                drop(self.act(register, value));
                self.show_state();
                word.store(0, Ordering::SeqCst);
            }
            if idle {
                self.show_state();
                std::thread::park_timeout(LOOK);
            }
        }
    }

    fn act(&self, register: Register, value: u32) -> Result<(), BoardError> {
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        match register {
            Register::Doorbell => {
                let low = self.registers.read(Register::HeaderAddress);
                let high = self.registers.read(Register::HeaderAddressHigh);
                let address = u64::from(low) | u64::from(high) << 32;
                let Some(slot) = slot_of(address) else {
                    return Ok(());
                };
                let mut header = [0; HEADER_LENGTH];
                self.pull(&mut header, address);
                let data = Header::decode(&header)
                    .ok()
                    .filter(|header| header.data_length <= LONGEST)
                    .and_then(|header| {
                        let length = usize::try_from(header.data_length).ok()?;
                        let mut data = vec![0; length];
                        self.pull(&mut data, header.data_address);
                        Some(data)
                    });
                self.card
                    .place(slot, &header, &Arc::new(data.unwrap_or_default()))?;
                order.push_back(slot);
                for copied in [
                    Register::HeaderAddress,
                    Register::HeaderAddressHigh,
                    Register::HeaderLength,
                ] {
                    self.card.write(copied, self.registers.read(copied))?;
                }
            }
            Register::Acknowledge => {
                let irq = self.registers.word(Register::Irq);
                irq.fetch_and(!value, Ordering::SeqCst);
            }
            _ => {
                order.clear();
                self.registers.write(Register::Irq, 0);
            }
        }
        self.card.write(register, value)
    }

    /// The card's DMA from the host: here from a file, whose end reads as zeros.
    fn pull(&self, mut into: &mut [u8], mut address: u64) {
        while let Ok(read @ 1..) = rustix::io::pread(&self.memory, &mut *into, address) {
            address += read as u64;
            into = &mut into[read..];
        }
    }

    fn push(&self, mut bytes: &[u8], mut address: u64) {
        while let Ok(written @ 1..) = rustix::io::pwrite(&self.memory, bytes, address) {
            address += written as u64;
            bytes = &bytes[written..];
        }
    }

    fn show_state(&self) {
        if let Ok(state) = self.card.read(Register::State) {
            self.registers.write(Register::State, state);
        }
    }

    /// Hands the card's interrupts on.
    fn interrupt(&self) {
        while !self.stop.load(Ordering::Acquire) {
            match self.card.wait(None) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(_gone) => return,
            }
            if self.show_interrupt().is_err() {
                return;
            }
            // A full FIFO has an interrupt in it already.
            rustix::io::write(&self.events, &1u32.to_le_bytes()).ok();
        }
    }

    fn show_interrupt(&self) -> Result<(), BoardError> {
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        let irq = self.card.read(Register::Irq)?;
        let shown = self.registers.read(Register::Irq);
        if irq & RESULT != 0
            && shown & RESULT == 0
            && let Some(slot) = order.pop_front()
        {
            for copied in [
                Register::ResultLength,
                Register::Error,
                Register::Cycles,
                Register::ResultCrc,
                Register::ResultSequence,
                Register::Model,
                Register::ModelHigh,
            ] {
                self.registers.write(copied, self.card.read(copied)?);
            }
            let length = self.card.read(Register::ResultLength)?;
            let length = usize::try_from(length).unwrap_or(0);
            let mut at = addresses(slot).result;
            self.card.collect(slot, length, &mut |bytes| {
                self.push(bytes, at);
                at += bytes.len() as u64;
            })?;
        }
        self.registers
            .word(Register::Irq)
            .fetch_or(irq, Ordering::SeqCst);
        Ok(())
    }
}
