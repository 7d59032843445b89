//! Spherical K-means on the node's accelerators: seeded vectors, `kmeans-map` with COMBINE for each
//! part of them, `kmeans-reduce` for a round's sums, and the processor's own rounds beside them, which
//! must have the same bits.
//!
//! `cargo run --release -p fpga-driver --example spherical_kmeans -- /tmp/gerbil-1000/fpgad.sock`

use fpga_driver::Function;
use fpga_driver::client::{Accelerator, address};
use fpga_driver::kmeans::{self, Keyed, MapPacket, ReducePacket, Sums};
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

const DIMENSION: usize = 128;
const K: usize = 16;
const VECTORS: usize = 20_000;
const ROUNDS: usize = 5;
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn Error>> {
    let socket = std::env::args_os()
        .nth(1)
        .map_or_else(address::default_socket, PathBuf::from);
    run(&socket, &mut std::io::stdout())
}

/// What the program does, with the driver at this socket; fails where a bit differs.
pub fn run(socket: &Path, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let lease =
        |function| Accelerator::lease(socket, function, "example kmeans", Some(PATIENCE))?.open();
    let (mut map, mut mapped) = lease(Function::KmeansMap)?;
    let (mut reduce, mut reduced) = lease(Function::KmeansReduce)?;

    let vectors = kmeans::generate(1, VECTORS, DIMENSION, 16);
    let keys: Vec<u32> = (0..).take(VECTORS).collect();
    let mut centroids = vectors[..K * DIMENSION].to_vec();
    let part = MapPacket::most(map.geometry().block, K, DIMENSION);
    for round in 1..=ROUNDS {
        let mut partial = Vec::new();
        let mut under_way = 0;
        let parts = keys.chunks(part).zip(vectors.chunks(part * DIMENSION));
        for (keys, vectors) in parts {
            if under_way == map.geometry().blocks {
                let (_, result): (u64, Vec<u8>) = mapped.read(PATIENCE)?;
                partial.push(Sums::read(&result, DIMENSION));
                under_way -= 1;
            }
            map.write(&MapPacket {
                centroids: &centroids,
                pairs: Keyed { keys, vectors },
                dimension: DIMENSION,
                combine: true,
            })?;
            under_way += 1;
        }
        for _ in 0..under_way {
            let (_, result): (u64, Vec<u8>) = mapped.read(PATIENCE)?;
            partial.push(Sums::read(&result, DIMENSION));
        }
        reduce.write(&ReducePacket { partial: &partial })?;
        let (_, result): (u64, Vec<u8>) = reduced.read(PATIENCE)?;
        let sums = Sums::read(&result, DIMENSION);
        if sums != kmeans::assign(&vectors, &centroids, DIMENSION) {
            return Err(
                format!("round {round}: the accelerator's sums are not the processor's").into(),
            );
        }
        centroids = kmeans::next_centroids(&sums, &centroids);
        let counts: Vec<u64> = sums.rows().map(|(count, _)| count).collect();
        writeln!(
            out,
            "round {round}: bit for bit; vectors of each cluster: {counts:?}"
        )?;
    }
    Ok(())
}
