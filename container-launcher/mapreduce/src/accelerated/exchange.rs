//! The packets of an attempt that have no answer yet, on the attempt's own thread.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

use fpga_client::Function;
use fpga_client::client::{DeserializePacket, SerializePacket};
use fpga_client::ring::Geometry;

use super::counted;
use super::leases::{Device, devices};
use super::rules::{Fallback, Rules};
use super::serial::SerialDevice;
use super::table::Table;
use super::traffic::{Ordered, Traffic};
use crate::context::Context;
use crate::error::{Error, Result};

/// Between two looks at what other threads of the task say.
const LOOK: Duration = Duration::from_millis(100);
/// Packets that are ready while the ring is full.
const READY: usize = 2;
/// Counters.
pub(super) const GROUP: &str = "gerbil";
const ON_DEVICES: &str = "DEVICE_PACKETS";
const ON_PROCESSORS: &str = "PROCESSOR_PACKETS";

/// Where packets are computed.
enum Way<P, A> {
    Processor,
    /// One after the other.
    Serial(Vec<SerialDevice>),
    /// With two threads a device.
    Overlap(Vec<Lane<P, A>>),
}

/// The attempt's end of what goes to one device.
struct Lane<P, A> {
    /// Held by this end alone, so that the threads end when it goes.
    packets: Arc<SyncSender<Ordered<P>>>,
    pushed: u64,
    answers: Receiver<Result<A>>,
}

/// A packet without an answer.
struct Sent<P> {
    packet: Arc<P>,
    /// Which of the devices has it.
    lane: usize,
    /// Where its first record is.
    origin: Option<String>,
}

/// Packets, from when they are full until they are answered; in their order.
pub(super) struct Exchange<P, A> {
    function: Function,
    rules: Rules,
    way: Way<P, A>,
    under_way: VecDeque<Sent<P>>,
    /// Packets that may be under way.
    window: usize,
    sent: usize,
}

/// The attempt's devices, before anything goes to them.
pub(super) struct Opened {
    function: Function,
    devices: Vec<Device>,
    rules: Rules,
}

impl Opened {
    /// The attempt's devices of `function`.
    pub(super) fn of((function, count): (Function, u32), context: &mut Context) -> Result<Self> {
        let rules = Rules::of(context.settings())?;
        Ok(Self {
            function,
            devices: devices((function, count), rules, context)?,
            rules,
        })
    }

    /// Bytes that a packet may have, and its result.
    pub(super) fn block(&self) -> usize {
        geometry(&self.devices).block
    }

    /// Whether there is a device.
    pub(super) const fn is_any(&self) -> bool {
        !self.devices.is_empty()
    }
}

fn geometry(devices: &[Device]) -> Geometry {
    let first = devices.first();
    first
        .map(|device| device.writer.geometry())
        .unwrap_or_default()
}

/// The packet that is next.
pub(super) enum Next<P, A> {
    /// A device has answered.
    Answered(Arc<P>, A),
    /// The processor is to.
    Compute(Arc<P>),
}

impl<P, A> Exchange<P, A>
where
    P: SerializePacket + Send + Sync + 'static,
    A: DeserializePacket + Send + 'static,
{
    /// With these devices, each of which does `process` and keeps `table`.
    pub(super) fn begin(
        opened: Opened,
        table: Option<Table>,
        process: fn(Traffic<P, A>) -> Result<()>,
        context: &mut Context,
    ) -> Result<Self> {
        let Opened {
            function,
            devices,
            rules,
        } = opened;
        let Geometry { blocks, .. } = geometry(&devices);
        let each = blocks + READY;
        let window = match rules.is_serial {
            true => 1,
            false => each * devices.len().max(1),
        };
        let way = if devices.is_empty() {
            Way::Processor
        } else if rules.is_serial {
            let serial = |device| SerialDevice::new(device, table.clone());
            Way::Serial(devices.into_iter().map(serial).collect())
        } else {
            let lane = |device| {
                let kept = (device, table.clone());
                lane(function, kept, process, (each, rules.answer), context)
            };
            Way::Overlap(devices.into_iter().map(lane).collect::<Result<_>>()?)
        };
        Ok(Self {
            function,
            rules,
            way,
            under_way: VecDeque::new(),
            window,
            sent: 0,
        })
    }

    /// Takes a packet, whose first record is at `origin`.
    pub(super) fn push(&mut self, packet: P, origin: Option<String>) {
        let packet = Arc::new(packet);
        let lanes = match &self.way {
            Way::Processor => 1,
            Way::Serial(devices) => devices.len(),
            Way::Overlap(lanes) => lanes.len(),
        };
        let lane = self.sent.checked_rem(lanes).unwrap_or(0);
        if let Way::Overlap(lanes) = &mut self.way
            && let Some(lane) = lanes.get_mut(lane)
        {
            // A thread that has ended has left its reason with the answers.
            drop(lane.packets.send(Ordered::new(lane.pushed, &packet)));
            lane.pushed += 1;
        }
        self.sent += 1;
        self.under_way.push_back(Sent {
            packet,
            lane,
            origin,
        });
    }

    /// The first packet that is under way, once it can be answered: at once, or with `all`, or where as many are under way
    /// as may be, as soon as that is.
    ///
    /// # Errors
    /// It has no answer.
    pub(super) fn next(&mut self, all: bool, context: &mut Context) -> Result<Option<Next<P, A>>> {
        let Some(first) = self.under_way.front() else {
            return Ok(None);
        };
        let is_due = all || self.under_way.len() >= self.window;
        let answer = match &mut self.way {
            Way::Processor => None,
            Way::Serial(devices) => {
                let device = devices.get_mut(first.lane).ok_or_else(no_lane)?;
                let timeout = self.rules.answer;
                Some(device.exchange(&*first.packet, self.function, timeout, context))
            }
            Way::Overlap(lanes) => {
                let lane = lanes.get(first.lane).ok_or_else(no_lane)?;
                match lane.next(is_due, context)? {
                    Some(answer) => Some(answer),
                    None => return Ok(None),
                }
            }
        };
        let answer = match answer {
            Some(Err(lost)) if lost.is_no_device() && self.rules.fallback == Fallback::Always => {
                self.way = Way::Processor;
                context.status(&format!("{lost}: it goes on on the processor"))?;
                None
            }
            other => other,
        };
        let Some(first) = self.under_way.pop_front() else {
            return Ok(None);
        };
        context.progress();
        match answer {
            None => {
                context.counting.add(GROUP, ON_PROCESSORS, 1);
                Ok(Some(Next::Compute(first.packet)))
            }
            Some(Ok(answer)) => {
                context.counting.add(GROUP, ON_DEVICES, 1);
                Ok(Some(Next::Answered(first.packet, answer)))
            }
            // What a packet's answer says is no fault of the record at hand.
            Some(Err(error)) => Err(match first.origin {
                Some(origin) => error.context(origin),
                None => error,
            }
            .placed()),
        }
    }
}

fn no_lane() -> Error {
    Error::new("a packet is with a device that there is not")
}

/// Starts the threads of a device.
fn lane<P, A>(
    function: Function,
    (device, table): (Device, Option<Table>),
    process: fn(Traffic<P, A>) -> Result<()>,
    (window, timeout): (usize, Duration),
    context: &mut Context,
) -> Result<Lane<P, A>>
where
    P: SerializePacket + Send + Sync + 'static,
    A: DeserializePacket + Send + 'static,
{
    // Those of the attempt, and those that go once more.
    let (packets, to_send) = sync_channel(2 * window);
    let packets = Arc::new(packets);
    // All answers, and why there are no more.
    let (answer, answers) = sync_channel(window + 1);
    let channels = (to_send, Arc::downgrade(&packets), answer.clone());
    let handle = context.handle();
    let traffic = Traffic::new(
        function,
        (device, table),
        channels,
        (window, timeout),
        handle,
    );
    let thread = std::thread::Builder::new().name(function.name().to_owned());
    thread.spawn(move || {
        if let Err(error) = process(traffic) {
            // The attempt is over.
            drop(answer.send(Err(error)));
        }
    })?;
    Ok(Lane {
        packets,
        pushed: 0,
        answers,
    })
}

impl<P, A> Lane<P, A> {
    /// The next answer; without `is_due` only one that is there.
    fn next(&self, is_due: bool, context: &mut Context) -> Result<Option<Result<A>>> {
        let gone = || Error::new("the threads of its device have ended without an answer");
        loop {
            if !is_due {
                return match self.answers.try_recv() {
                    Ok(answer) => Ok(Some(answer)),
                    Err(TryRecvError::Empty) => Ok(None),
                    Err(TryRecvError::Disconnected) => Err(gone()),
                };
            }
            match self.answers.recv_timeout(LOOK) {
                Ok(answer) => return Ok(Some(answer)),
                // What they count and say meanwhile.
                Err(RecvTimeoutError::Timeout) => context.counted()?,
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            }
        }
    }
}

impl<P, A> std::fmt::Debug for Exchange<P, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let under_way = self.under_way.len();
        write!(f, "{under_way} packets for {}", counted(self.function))
    }
}
