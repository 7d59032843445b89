//! What happens before a packet is sent: parsing and assembling; and the simulated cores.

use super::rate;
use fpga_driver::board::card::Engine;
use fpga_driver::board::rtl;
use fpga_driver::client::SerializePacket;
use fpga_driver::function::shape;
use fpga_driver::kmeans::{self, Keyed, MapPacket, Parser};
use fpga_driver::packet::Header;
use std::hint::black_box;
use std::time::{Duration, Instant};

pub const DIMENSION: usize = 128;
const LINES: usize = 4000;
const BLOCK: usize = 1 << 20;
/// Times that a packet is simulated; the best one counts.
const TIMES: usize = 5;

/// Lines of 128 numbers.
pub fn lines() -> Vec<Vec<u8>> {
    let vectors = kmeans::generate(1, LINES, DIMENSION, 16);
    vectors
        .chunks_exact(DIMENSION)
        .map(|vector| {
            let words: Vec<String> = vector
                .iter()
                .map(|&value| format!("{:.6}", fpga_driver::fixed::from_q22(value)))
                .collect();
            words.join(" ").into_bytes()
        })
        .collect()
}

/// Text of 128 numbers a line to packed vectors of length 1, MB of text a second, one core.
pub fn parse(time: Duration) -> f64 {
    let lines = lines();
    let mut parser = Parser::new("bench", DIMENSION);
    let mut packed = Vec::with_capacity(LINES * DIMENSION);
    let mut bytes = 0;
    let began = Instant::now();
    while began.elapsed() < time {
        packed.clear();
        for line in &lines {
            // Every line is a vector: it was made of one.
            drop(parser.line(line, &mut packed));
            bytes += line.len() + 1;
        }
        black_box(&packed);
    }
    rate(bytes, began.elapsed())
}

/// Packed vectors to packets with header and checksum, MB of packets a second, one core.
pub fn assemble(time: Duration) -> f64 {
    let centroids = kmeans::generate(2, 16, DIMENSION, 16);
    let most = MapPacket::most(BLOCK, 16, DIMENSION);
    let vectors = kmeans::generate(1, most, DIMENSION, 16);
    let keys: Vec<u32> = (0..).take(most).collect();
    let packet = MapPacket {
        centroids: &centroids,
        pairs: Keyed {
            keys: &keys,
            vectors: &vectors,
        },
        dimension: DIMENSION,
        combine: true,
    };
    // As many blocks as a ring has.
    let mut ring = vec![vec![0; BLOCK]; 8];
    let mut bytes = 0;
    let began = Instant::now();
    while began.elapsed() < time {
        for block in &mut ring {
            if let Ok(layout) = packet.serialize(block) {
                let header = Header {
                    data_crc: crc32c::crc32c(&block[..layout.length]),
                    ..layout.header
                };
                black_box(header.encode());
                bytes += layout.length;
            }
        }
    }
    rate(bytes, began.elapsed())
}

/// Cycles a vector, and how fast the simulated cores compute.
pub fn simulation() -> String {
    let Ok(mut cores) = rtl::engine("rtl:0") else {
        return rtl::MISSING.to_owned();
    };
    let mut said = Vec::new();
    for k in [16, 32] {
        match simulate(cores.as_mut(), k) {
            Ok(line) => said.push(line),
            Err(error) => said.push(format!("k = {k}: error {error}")),
        }
    }
    said.join("\n")
}

fn simulate(cores: &mut dyn Engine, k: usize) -> Result<String, u32> {
    let centroids = kmeans::generate(2, k, DIMENSION, 16);
    let vectors = kmeans::generate(1, 2000, DIMENSION, 16);
    let keys: Vec<u32> = (0..2000).collect();
    let mut run = |count: usize| -> Result<(u64, usize, Duration), u32> {
        let packet = MapPacket {
            centroids: &centroids,
            pairs: Keyed {
                keys: &keys[..count],
                vectors: &vectors[..count * DIMENSION],
            },
            dimension: DIMENSION,
            combine: true,
        };
        let mut block = vec![0; BLOCK * 2];
        let layout = packet.serialize(&mut block).map_err(|_needed| 0u32)?;
        let header = Header {
            data_length: layout.length as u64,
            result_capacity: BLOCK as u64,
            ..layout.header
        };
        let shape = shape(&header).map_err(|_field| 0u32)?;
        let (mut cycles, mut time) = (0, Duration::MAX);
        for _ in 0..TIMES {
            let began = Instant::now();
            cycles = cores.run(&shape, &block[..layout.length], None)?.cycles;
            time = time.min(began.elapsed());
        }
        Ok((cycles, layout.length, time))
    };
    let (few, _, _) = run(1000)?;
    let (many, bytes, time) = run(2000)?;
    let each = (many - few) / 1000;
    let mega = rate(usize::try_from(many).unwrap_or(0), time);
    Ok(format!(
        "rtl, k = {k}: {each} cycles a vector; simulated at {mega:.1} M cycles/s, {:.0} MB/s",
        rate(bytes, time)
    ))
}
