//! `fpgad pays`: K-means of text on the processor alone, and with a board.
//!
//! Both read the same lines, and both make packets' worth of vectors of them. The processor's version assigns them by
//! itself. The other one makes packets, and sends them over true rings to a true driver, whose card swallows them: it takes
//! the time that a card of 200 MHz with a link of 1000 MB/s would, the longer of the two a packet, since such a card
//! receives a packet while it computes another. So this machine does what a host does, and nothing of what a card does.

use super::host::{DIMENSION, lines};
use super::{Server, rate};
use crate::command::{CONFIG, CommandFailure, SOFTWARE, UNAVAILABLE, failed, say};
use fpga_driver::board::card::Engine;
use fpga_driver::board::model::Model;
use fpga_driver::client::{Accelerator, AcceleratorError, SerializePacket};
use fpga_driver::echo::plain;
use fpga_driver::function::shape;
use fpga_driver::kmeans::{self, Keyed, MapPacket, Sums, normalise, parse_line};
use fpga_driver::packet::Header;
use fpga_driver::ring::Geometry;
use fpga_driver::{Function, Status};
use std::hint::black_box;
use std::time::{Duration, Instant};

const CLOCK_MHZ: u64 = 200;
const LINK_MB_S: u64 = 1000;
const PATIENCE: Duration = Duration::from_secs(20);

/// What all threads are given.
struct Given<'a> {
    lines: &'a [Vec<u8>],
    centroids: &'a [i32],
    /// Vectors of a packet.
    most: usize,
    time: Duration,
}

/// Measures each number of centroids with each number of threads.
pub fn run(centroids: &[u16], threads: &[u8], seconds: f64) -> Result<(), CommandFailure> {
    let time = Duration::try_from_secs_f64(seconds).map_err(failed(CONFIG))?;
    let lines = lines();
    say("centroids  threads  processor, ns a vector  board, ns a vector  of which the card, ns");
    for &k in centroids {
        let own = kmeans::generate(2, k.into(), DIMENSION, 16);
        let given = Given {
            lines: &lines,
            centroids: &own,
            most: MapPacket::most(Geometry::default().block, k.into(), DIMENSION),
            time,
        };
        let card = given.card().map_err(failed(SOFTWARE))?;
        for &threads in threads {
            let processor =
                given.together(vec![(); threads.into()], |given, ()| given.compute())?;
            let board = given.board(threads, card)?;
            let vectors = given.most as u64;
            let each = u64::try_from(card.as_nanos()).unwrap_or(u64::MAX) / vectors.max(1);
            say(&format!(
                "{k:>9}  {threads:>7}  {processor:>22.0}  {board:>18.0}  {each:>21}"
            ));
        }
    }
    Ok(())
}

impl Given<'_> {
    fn packet<'a>(&'a self, keys: &'a [u32], vectors: &'a [i32]) -> MapPacket<'a> {
        MapPacket {
            centroids: self.centroids,
            pairs: Keyed { keys, vectors },
            dimension: DIMENSION,
            combine: true,
        }
    }

    /// Hands packets' worth of vectors to `take`, until time is up: how many vectors.
    fn vectors<E>(&self, mut take: impl FnMut(&[i32]) -> Result<(), E>) -> Result<usize, E> {
        let began = Instant::now();
        let mut floats = vec![0.0; DIMENSION];
        let mut vectors = Vec::with_capacity(self.most * DIMENSION);
        let mut done = 0;
        for line in self.lines.iter().cycle() {
            // Every line is a vector: it was made of one.
            drop(parse_line(line, &mut floats).and_then(|()| normalise(&floats, &mut vectors)));
            if vectors.len() < self.most * DIMENSION {
                continue;
            }
            take(&vectors)?;
            vectors.clear();
            done += self.most;
            if began.elapsed() >= self.time {
                break;
            }
        }
        Ok(done)
    }

    /// How long the modelled card works on a full packet, whose answer is compared with the processor's.
    fn card(&self) -> Result<Duration, String> {
        let vectors = kmeans::generate(1, self.most, DIMENSION, 16);
        let keys = vec![0; self.most];
        let mut block = vec![0; Geometry::default().block];
        let packet = self.packet(&keys, &vectors);
        let layout = packet.serialize(&mut block).map_err(|it| it.to_string())?;
        let header = Header {
            data_length: layout.length as u64,
            result_capacity: block.len() as u64,
            ..layout.header
        };
        let shape = shape(&header).map_err(|_field| "a header that makes no sense")?;
        let answer = Model.run(&shape, &block[..layout.length], None);
        let answer = answer.map_err(|code| format!("the card's error {code}"))?;
        let sums = kmeans::assign(&vectors, self.centroids, DIMENSION);
        if Sums::read(&answer.result, DIMENSION) != sums {
            return Err("the card and the processor differ".to_owned());
        }
        let core = Duration::from_nanos(answer.cycles * 1000 / CLOCK_MHZ);
        let link = Duration::from_nanos(layout.length as u64 * 1000 / LINK_MB_S);
        Ok(core.max(link))
    }

    /// By the processor alone.
    fn compute(&self) -> Result<usize, AcceleratorError> {
        let mut sums = Sums::zero(self.centroids.len() / DIMENSION, DIMENSION);
        let done = self.vectors(|vectors| {
            sums.merge(&kmeans::assign(vectors, self.centroids, DIMENSION));
            Ok(())
        });
        black_box(&sums);
        done
    }

    /// Nanoseconds a vector, with a device of the same board for each thread.
    fn board(&self, threads: u8, card: Duration) -> Result<f64, CommandFailure> {
        let server = Server::start(&format!(
            "[[board]]\nkind = \"model\"\nfunctions = {{ sink = {threads} }}\nlink_mb_s = 0\nclock_mhz = 0\nns = {}\n",
            card.as_nanos()
        ))?;
        let lease = |_| Accelerator::lease(&server.socket, Function::Sink, "pays", None);
        let leases: Result<Vec<_>, _> = (0..threads).map(lease).collect();
        self.together(leases.map_err(failed(UNAVAILABLE))?, Self::send)
    }

    fn send(&self, lease: Accelerator) -> Result<usize, AcceleratorError> {
        let (mut writer, mut reader) = lease.open()?;
        let keys = vec![0; self.most];
        let (mut sent, mut answered) = (0, 0);
        let mut answer = || {
            answered += 1;
            let result = reader.result(Some(PATIENCE))?;
            match result.verdict.status {
                Status::Done => Ok(answered),
                status => Err(AcceleratorError::Packet {
                    sequence: result.verdict.sequence,
                    status,
                }),
            }
        };
        let blocks = writer.geometry().blocks;
        let done = self.vectors(|vectors| {
            if sent >= blocks {
                answer()?;
            }
            let mut block = writer.block(Some(PATIENCE))?;
            let length = self.packet(&keys, vectors).serialize(&mut block)?.length;
            block.send(&plain(Function::Sink, length))?;
            sent += 1;
            Ok::<(), AcceleratorError>(())
        })?;
        while sent > 0 && answer()? < sent {}
        Ok(done)
    }

    /// Does it on a thread for each of `own`, all at once: nanoseconds a vector.
    fn together<T: Send>(
        &self,
        own: Vec<T>,
        act: impl Fn(&Self, T) -> Result<usize, AcceleratorError> + Sync,
    ) -> Result<f64, CommandFailure> {
        let began = Instant::now();
        let done: Result<Vec<usize>, CommandFailure> = std::thread::scope(|scope| {
            let threads: Vec<_> = (own.into_iter())
                .map(|own| scope.spawn(|| act(self, own)))
                .collect();
            let ends = threads.into_iter().map(|thread| {
                let done = thread.join();
                let done = done.map_err(|_panicked| failed(SOFTWARE)("a thread panicked"))?;
                done.map_err(failed(SOFTWARE))
            });
            ends.collect()
        });
        // Millions of vectors a second.
        Ok(1e3 / rate(done?.iter().sum(), began.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (k × d + (vectors + 2) × max(d, k) + k × (d + 1)) cycles of 5 ns, which are longer than a block on the link.
    #[test]
    fn a_card_takes_the_time_of_its_cycles() {
        for (k, most, cycles) in [(16, 2016, 262_416), (256, 1778, 521_472)] {
            let centroids = kmeans::generate(2, k, DIMENSION, 16);
            let given = Given {
                lines: &[],
                centroids: &centroids,
                most: MapPacket::most(Geometry::default().block, k, DIMENSION),
                time: Duration::ZERO,
            };
            assert_eq!(given.most, most);
            assert_eq!(given.card(), Ok(Duration::from_nanos(cycles * 5)));
        }
    }
}
