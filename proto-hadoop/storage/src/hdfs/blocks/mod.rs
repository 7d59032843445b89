//! A file whose blocks are known, read from the DataNodes that have them: nobody else is asked.

#[cfg(test)]
mod data_node;
mod packets;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, UdpSocket};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;

use self::packets::{Connection, Packets};
use super::steps::Steps;
use crate::{BlockNode, LocatedBlock};

/// A DataNode takes a connection within this time, or another one is asked.
const CONNECTED: Duration = Duration::from_secs(3);
/// It answers, and sends something, within this time: what is set for hdfs-native, too.
const SENT: Duration = Duration::from_secs(10);
/// One that took no connection is left out for so long, by all readers; where nobody else has a block, hdfs-native asks.
const LEFT_OUT: Duration = Duration::from_secs(60);

/// So many files were begun in this way: not all of them with the same of the DataNodes that have a block.
static BEGUN: AtomicUsize = AtomicUsize::new(0);

/// A DataNode gives nothing that could be used. Why is not told: somebody else is asked, hdfs-native in the end, and
/// that tells it.
#[derive(Debug)]
pub(super) struct Unusable;

impl<E: std::error::Error> From<E> for Unusable {
    fn from(_error: E) -> Self {
        Self
    }
}

/// What all readers of a file system know of its DataNodes.
#[derive(Clone, Debug, Default)]
pub(super) struct DataNodes {
    /// They are called by their names.
    by_name: bool,
    /// Those that took no connection, and when. The plan of a job names them for as long as it runs, and each of its maps
    /// would wait for them.
    unreached: Arc<Mutex<Vec<(BlockNode, Instant)>>>,
    /// The rack of this machine, once a DataNode of it was seen: the NameNode's order is for the machine that listed the file.
    rack: Arc<OnceLock<String>>,
}

impl DataNodes {
    pub(super) fn new(by_name: bool) -> Self {
        Self {
            by_name,
            ..Self::default()
        }
    }

    fn unreached(&self) -> MutexGuard<'_, Vec<(BlockNode, Instant)>> {
        self.unreached
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn took_none(&self, node: &BlockNode) {
        let mut unreached = self.unreached();
        unreached.retain(|(of, _)| of != node);
        unreached.push((node.clone(), Instant::now()));
    }

    /// Learns from these nodes, if one is of this machine, what its rack is.
    fn learn_rack(&self, nodes: &[BlockNode]) -> &str {
        let known = self.rack.get();
        let found = || {
            let here = |node: &&BlockNode| !node.rack.is_empty() && is_here(&node.address);
            let rack = nodes.iter().find(here)?.rack.clone();
            Some(self.rack.get_or_init(|| rack))
        };
        known.or_else(found).map_or("", String::as_str)
    }

    /// Whether it is not worth a try yet.
    fn is_left_out(&self, node: &BlockNode) -> bool {
        let mut unreached = self.unreached();
        unreached.retain(|(_, since)| since.elapsed() < LEFT_OUT);
        unreached.iter().any(|(of, _)| of == node)
    }
}

/// Blocks of a file.
#[derive(Debug)]
pub(super) struct Blocks {
    /// In the order of the file; some may not be known.
    blocks: Vec<LocatedBlock>,
    data_nodes: DataNodes,
    /// With which of several DataNodes it begins.
    turn: usize,
    /// How long they have.
    limits: Limits,
    /// DataNodes that gave nothing usable: they are not asked again.
    dead: Vec<BlockNode>,
    /// The part of the file under way.
    at: u64,
    end: u64,
    /// What comes of it, and from whom.
    coming: Option<(BlockNode, Packets)>,
    /// One that waits to be asked again.
    idle: Option<(BlockNode, Connection)>,
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    connected: Duration,
    sent: Duration,
}

/// What comes, as soon as it is there, without a type of its own (see `calls`).
pub(super) type Coming<'a, T> = Pin<Box<dyn Future<Output = Result<T, Unusable>> + Send + 'a>>;

impl Blocks {
    pub(super) fn new(blocks: Vec<LocatedBlock>, data_nodes: DataNodes) -> Self {
        let begun = BEGUN.fetch_add(1, Ordering::Relaxed);
        let process = usize::try_from(std::process::id()).unwrap_or_default();
        Self {
            blocks,
            data_nodes,
            turn: process.wrapping_add(begun),
            limits: Limits {
                connected: CONNECTED,
                sent: SENT,
            },
            dead: Vec::new(),
            at: 0,
            end: 0,
            coming: None,
            idle: None,
        }
    }

    /// Asks for the first of these parts; whether there is one.
    #[inline(never)]
    pub(super) fn begin<'a>(&'a mut self, steps: &'a mut Steps) -> Coming<'a, bool> {
        Box::pin(async {
            let there_is_one = self.step(steps);
            if there_is_one {
                self.ask().await?;
            }
            Ok(there_is_one)
        })
    }

    /// The next piece; an empty one is the file's end.
    #[inline(never)]
    pub(super) fn next<'a>(&'a mut self, steps: &'a mut Steps) -> Coming<'a, Bytes> {
        Box::pin(async {
            loop {
                if let Some((node, packets)) = &mut self.coming {
                    match packets.next().await {
                        Ok(piece) if !piece.is_empty() => {
                            self.at += piece.len() as u64;
                            return Ok(piece);
                        }
                        Ok(_) => self.finish().await,
                        Err(Unusable) => {
                            self.dead.push(node.clone());
                            self.coming = None;
                        }
                    }
                }
                if self.at >= self.end && !self.step(steps) {
                    return Ok(Bytes::new());
                }
                self.ask().await?;
            }
        })
    }

    /// Takes the next part; whether there is one.
    fn step(&mut self, steps: &mut Steps) -> bool {
        let part = steps.next();
        if let Some((begin, length)) = part {
            self.at = begin;
            self.end = begin.saturating_add(length);
        }
        part.is_some()
    }

    /// Asks for the part from the byte reached on, as far as one block has it.
    async fn ask(&mut self) -> Result<(), Unusable> {
        let at = self.at;
        let has = |block: &&LocatedBlock| (block.offset..block_end(block)).contains(&at);
        let block = self.blocks.iter().find(has).ok_or(Unusable)?;
        let end = block_end(block).min(self.end) - block.offset;
        let idle = self.idle.take();
        if let Some((node, connection)) = idle.filter(|(node, _)| block.nodes.contains(node)) {
            // It may have been closed by now.
            if let Ok(packets) = connection.ask(block, at - block.offset, end).await {
                self.coming = Some((node, packets));
                return Ok(());
            }
        }
        let rack = self.data_nodes.learn_rack(&block.nodes);
        for node in in_turn(&block.nodes, rack, self.turn) {
            if self.dead.contains(node) || self.data_nodes.is_left_out(node) {
                continue;
            }
            let host = match self.data_nodes.by_name {
                true => &node.host,
                false => &node.address,
            };
            // An IPv6 address has colons of its own.
            let address = match host.contains(':') {
                true => format!("[{host}]:{}", node.port),
                false => format!("{host}:{}", node.port),
            };
            let asked = match Connection::open(&address, self.limits).await {
                Ok(connection) => connection.ask(block, at - block.offset, end).await,
                Err(Unusable) => {
                    self.data_nodes.took_none(node);
                    Err(Unusable)
                }
            };
            match asked {
                Ok(packets) => {
                    self.coming = Some((node.clone(), packets));
                    return Ok(());
                }
                Err(Unusable) => self.dead.push(node.clone()),
            }
        }
        Err(Unusable)
    }

    /// All that was asked for has come.
    async fn finish(&mut self) {
        if let Some((node, packets)) = self.coming.take() {
            let finished = packets.finish().await;
            self.idle = finished.ok().map(|connection| (node, connection));
        }
    }
}

const fn block_end(block: &LocatedBlock) -> u64 {
    block.offset.saturating_add(block.length)
}

/// Who is asked, in this order: who is on this machine, who is in its `rack`, if that is known, then the others; each of
/// them from a certain one on.
fn in_turn<'a>(nodes: &'a [BlockNode], rack: &str, turn: usize) -> Vec<&'a BlockNode> {
    let first = turn.checked_rem(nodes.len()).unwrap_or_default();
    let (before, behind) = nodes.split_at(first);
    let (mut order, others): (Vec<_>, Vec<_>) =
        (behind.iter().chain(before)).partition(|node| is_here(&node.address));
    let is_near = |node: &&BlockNode| !rack.is_empty() && node.rack == rack;
    let (near, far): (Vec<_>, Vec<_>) = others.into_iter().partition(is_near);
    order.extend(near);
    order.extend(far);
    order
}

/// Whether an address is one of this machine: those of others cannot be listened at.
fn is_here(address: &str) -> bool {
    let parsed = address.parse::<IpAddr>();
    parsed.is_ok_and(|address| UdpSocket::bind((address, 0)).is_ok())
}
