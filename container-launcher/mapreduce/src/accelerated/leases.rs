//! The devices of an attempt: those that its launcher has leased for it, or, in a run on this machine alone, those that it
//! leases itself.

use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fpga_client::Function;
use fpga_client::client::{
    Accelerator, AcceleratorError, AcceleratorReader, AcceleratorWriter, DeserializePacket,
    SerializePacket, inherited,
};
use gerbil_task::LEASE_VARIABLE;
use gerbil_task::settings::{NEEDS_MAP, NEEDS_REDUCE};

use super::rules::{Fallback, Rules};
use super::{counted, named, unanswered};
use crate::context::Context;
use crate::error::{Error, Result};

/// Between two signs of life of an attempt that stands in line.
const LOOK: Duration = Duration::from_millis(100);
/// An attempt that stands in line for longer says so.
const SHOWN: Duration = Duration::from_secs(1);

/// Leases that this process was started with and that no stage has taken.
static INHERITED: Mutex<Option<Vec<(Function, Accelerator)>>> = Mutex::new(None);

/// A device, ready for packets.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) writer: AcceleratorWriter,
    pub(super) reader: AcceleratorReader,
}

impl Device {
    pub(super) fn open(lease: Accelerator) -> Result<Self, AcceleratorError> {
        let (writer, reader) = lease.open()?;
        Ok(Self { writer, reader })
    }

    /// Sends a packet and waits for its answer.
    pub(super) fn exchange<P: SerializePacket, A: DeserializePacket>(
        &mut self,
        packet: &P,
        timeout: Duration,
    ) -> Result<A, AcceleratorError> {
        self.writer.write(packet)?;
        self.reader.read(timeout).map(|(_, answer)| answer)
    }
}

/// The attempt's devices of a function; none where it computes on the processor.
///
/// # Errors
/// There is none, and the processor is not to stand in.
pub(super) fn devices(
    (function, count): (Function, u32),
    rules: Rules,
    context: &mut Context,
) -> Result<Vec<Device>> {
    let missing = match leased((function, count), rules, context) {
        Ok(leases) if !leases.is_empty() => {
            let opened: Result<Vec<_>, _> = leases.into_iter().map(Device::open).collect();
            match opened {
                Ok(devices) => return Ok(devices),
                // A lease that its launcher has got and that is over: the attempt has lost it.
                Err(error) => match rules.fallback {
                    Fallback::Always => error,
                    Fallback::Never | Fallback::Start => return Err(unanswered(function, &error)),
                },
            }
        }
        Ok(_) if rules.fallback == Fallback::Never => {
            let counted = counted(function);
            let words = format!("no device of {counted} is leased, and acc.fallback=never");
            return Err(Error::no_device_of(counted, words));
        }
        Ok(_) => return Ok(Vec::new()),
        Err(error) => error,
    };
    let error = unanswered(function, &missing);
    if rules.fallback == Fallback::Never {
        return Err(error);
    }
    // That there is no driver, or that it has no such device, is said once, when the job begins.
    let is_news = matches!(missing, AcceleratorError::TimedOut { .. }) || context.attempt() > 0;
    if is_news {
        context.status(&format!("{error}: it computes on the processor"))?;
    }
    Ok(Vec::new())
}

fn leased(
    (function, count): (Function, u32),
    rules: Rules,
    context: &mut Context,
) -> Result<Vec<Accelerator>, AcceleratorError> {
    let own = taken(function)?;
    let Some(socket) = std::env::var_os(LEASE_VARIABLE).filter(|_| own.is_empty()) else {
        return Ok(own);
    };
    let need = context.setting(match context.stage {
        'm' => NEEDS_MAP,
        _ => NEEDS_REDUCE,
    });
    let count = match need.map(named) {
        None => count,
        Some(Some((of, count))) if of == function => count,
        // Another one, or the processor, is asked for.
        Some(_) => return Ok(Vec::new()),
    };
    in_line(socket.into(), (function, count), rules.wait, context)
}

/// What this process was started with.
fn taken(function: Function) -> Result<Vec<Accelerator>, AcceleratorError> {
    let mut all = INHERITED.lock().unwrap_or_else(PoisonError::into_inner);
    let leases = match all.take() {
        Some(leases) => leases,
        None => inherited()?,
    };
    let (own, others) = leases.into_iter().partition(|(of, _)| *of == function);
    *all = Some(others);
    let own: Vec<(Function, Accelerator)> = own;
    Ok(own.into_iter().map(|(_, lease)| lease).collect())
}

/// Leases from the driver at `socket`, and shows that it waits for others.
fn in_line(
    socket: PathBuf,
    (function, count): (Function, u32),
    wait: Duration,
    context: &mut Context,
) -> Result<Vec<Accelerator>, AcceleratorError> {
    let functions: Vec<Function> = (0..count.max(1)).map(|_| function).collect();
    let holder = format!("process {} {context:?}", std::process::id());
    let (tell, told) = sync_channel(1);
    let leasing = move || {
        // Nobody waits any more: the leases are given back.
        drop(tell.send(Accelerator::lease_all(
            &socket,
            &functions,
            &holder,
            Some(wait),
        )));
    };
    let began = Instant::now();
    let thread = std::thread::Builder::new().name("lease".to_owned());
    thread
        .spawn(leasing)
        .map_err(|error| AcceleratorError::Protocol(format!("no thread: {error}")))?;
    let mut is_shown = false;
    loop {
        match told.recv_timeout(LOOK) {
            Ok(leased) => return leased,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(AcceleratorError::Protocol("no answer".to_owned()));
            }
            Err(RecvTimeoutError::Timeout) => context.progress(),
        }
        if !is_shown && began.elapsed() > SHOWN {
            is_shown = true;
            let words = format!("waits for {}, of which others hold all", counted(function));
            // The next message fails for the same reason.
            drop(context.status(&words));
        }
    }
}
