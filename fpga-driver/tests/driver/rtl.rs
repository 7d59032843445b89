//! The simulated cores against the model: the same bits and the same cycles.

use crate::bed::{Bed, board};
use fpga_driver::Function;
use fpga_driver::bayes;
use fpga_driver::board::card::{CardTable, Engine};
use fpga_driver::board::fault::{Fault, FaultOrder};
use fpga_driver::board::model::Model;
use fpga_driver::board::rtl;
use fpga_driver::client::SerializePacket;
use fpga_driver::fixed::Seeded;
use fpga_driver::function::{PacketShape, shape};
use fpga_driver::kmeans::{self, Keyed, MapPacket, ReducePacket, Sums};
use fpga_driver::packet::Header;
use fpga_driver::profile::BoardKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn cores() -> Box<dyn Engine> {
    // Without Verilator these tests fail, and say how to get it.
    rtl::engine("rtl:0").unwrap_or_else(|error| panic!("{error}"))
}

fn pack(packet: &impl SerializePacket) -> (PacketShape, Vec<u8>) {
    let mut block = vec![0; 4 << 20];
    let layout = packet.serialize(&mut block).unwrap();
    block.truncate(layout.length);
    let header = Header {
        data_length: layout.length as u64,
        result_capacity: u64::from(u32::MAX),
        ..layout.header
    };
    (shape(&header).unwrap(), block)
}

fn agree(cores: &mut dyn Engine, packet: &impl SerializePacket, table: Option<&CardTable>) -> u64 {
    let (shape, data) = pack(packet);
    let wanted = Model.run(&shape, &data, table);
    let found = cores.run(&shape, &data, table);
    assert_eq!(found, wanted, "{shape:?}");
    found.map_or(0, |answer| answer.cycles)
}

fn map(cores: &mut dyn Engine, k: usize, d: usize, n: usize, combine: bool, wild: bool) -> u64 {
    let mut vectors = kmeans::generate(7, n, d, 16);
    let mut centroids = kmeans::generate(8, k, d, 16);
    if wild {
        // Numbers of all 32 bits, sums that wrap, and ties.
        let mut seeded = Seeded(9);
        for value in vectors.iter_mut().chain(&mut centroids) {
            *value = i32::from_le_bytes(seeded.bits().to_le_bytes()[..4].try_into().unwrap());
        }
        let first = centroids[..d].to_vec();
        centroids[(k - 1) * d..].copy_from_slice(&first);
    }
    let keys: Vec<u32> = (0..u32::try_from(n).unwrap()).collect();
    let pairs = Keyed {
        keys: &keys,
        vectors: &vectors,
    };
    agree(
        cores,
        &MapPacket {
            centroids: &centroids,
            pairs,
            dimension: d,
            combine,
        },
        None,
    )
}

#[test]
fn kmeans_map_agrees_bit_for_bit() {
    let mut cores = cores();
    for (k, d, n) in [
        (1, 1, 1),
        (1, 3, 2),
        (16, 128, 300),
        (32, 128, 300),
        (32, 4, 50),
        (5, 256, 20),
        (16, 128, 0),
    ] {
        for combine in [false, true] {
            for wild in [false, true] {
                map(cores.as_mut(), k, d, n, combine, wild);
            }
        }
    }
}

#[test]
fn a_vector_takes_as_many_cycles_for_32_centroids_as_for_16() {
    let mut cores = cores();
    let cycles = |cores: &mut dyn Engine, k: usize| {
        map(cores, k, 128, 200, true, false) - map(cores, k, 128, 100, true, false)
    };
    assert_eq!(cycles(cores.as_mut(), 16), 128 * 100);
    assert_eq!(cycles(cores.as_mut(), 32), 128 * 100);
}

#[test]
fn kmeans_reduce_agrees_bit_for_bit() {
    let mut cores = cores();
    let vectors = kmeans::generate(1, 500, 128, 16);
    let centroids = kmeans::generate(2, 32, 128, 16);
    let parts: Vec<Sums> = vectors
        .chunks(100 * 128)
        .map(|part| kmeans::assign(part, &centroids, 128))
        .collect();
    agree(cores.as_mut(), &ReducePacket { partial: &parts }, None);
    // What was left of one packet is not in the next.
    agree(
        cores.as_mut(),
        &ReducePacket {
            partial: &parts[..2],
        },
        None,
    );

    // A cluster that does not exist is noticed, and leaves nothing behind.
    let (shape, mut data) = pack(&ReducePacket { partial: &parts });
    data[..4].copy_from_slice(&32u32.to_le_bytes());
    assert_eq!(
        cores.run(&shape, &data, None),
        Model.run(&shape, &data, None)
    );
    assert!(cores.run(&shape, &data, None).is_err());
    agree(
        cores.as_mut(),
        &ReducePacket {
            partial: &parts[..2],
        },
        None,
    );
}

#[test]
fn bayes_agrees_bit_for_bit() {
    let mut cores = cores();
    for (classes, terms) in [(16, 1000), (3, 64), (1, 1)] {
        let seen = bayes::generate(1, 400, classes, terms, 30);
        let wide = |n: u32| usize::try_from(n).unwrap();
        let table = bayes::BayesTable::train(&seen, wide(classes), wide(terms));
        let (shape, data) = pack(&bayes::LoadPacket {
            model: 1,
            table: &table,
        });
        let loaded = CardTable {
            shape,
            data: Arc::new(data),
        };
        let mut documents = bayes::generate(2, 200, classes, terms, 30);
        documents.push(bayes::Document {
            key: 5,
            terms: Vec::new(),
        });
        let packet = bayes::DocumentsPacket {
            model: 1,
            terms: wide(terms),
            documents: &documents,
        };
        agree(cores.as_mut(), &packet, Some(&loaded));
        documents[7].terms.push(terms);
        let packet = bayes::DocumentsPacket {
            model: 1,
            terms: wide(terms),
            documents: &documents,
        };
        agree(cores.as_mut(), &packet, Some(&loaded));
    }
}

/// Vectors of all 32 bits, a packet's worth at a time, GERBIL_RTL_VECTORS of them.
#[test]
fn many_random_vectors_agree_bit_for_bit() {
    let wanted = std::env::var("GERBIL_RTL_VECTORS").map_or(4000, |it| it.parse().unwrap());
    let mut cores = cores();
    let mut seeded = Seeded(11);
    let mut random = |count: usize| -> Vec<i32> {
        (0..count)
            .map(|_| i32::from_le_bytes(seeded.bits().to_le_bytes()[..4].try_into().unwrap()))
            .collect()
    };
    let began = Instant::now();
    let mut done = 0;
    while done < wanted {
        let (k, n) = (if done % 4000 == 0 { 16 } else { 32 }, 2000);
        let (vectors, centroids) = (random(n * 128), random(k * 128));
        let keys: Vec<u32> = (0..2000).collect();
        let packet = MapPacket {
            centroids: &centroids,
            pairs: Keyed {
                keys: &keys,
                vectors: &vectors,
            },
            dimension: 128,
            combine: done % 8000 < 4000,
        };
        agree(cores.as_mut(), &packet, None);
        done += n;
    }
    println!(
        "{done} random vectors, bit for bit, in {:?}",
        began.elapsed()
    );
}

#[test]
fn simulated_cards_survive_every_fault_through_the_driver() {
    let (d, k) = (128, 16);
    let vectors = kmeans::generate(1, 1200, d, 16);
    let centroids = kmeans::generate(2, k, d, 16);
    let keys: Vec<u32> = (0..200).collect();
    let wanted = kmeans::assign(&vectors, &centroids, d);
    for fault in Fault::ALL {
        let mut profile = board();
        profile.kind = BoardKind::Rtl;
        profile.name = "rtl:0".to_owned();
        profile.patience = Duration::from_millis(400);
        profile.timing.late_ms = 600;
        profile.faults = vec![FaultOrder {
            fault,
            at: 2,
            every: 0,
        }];
        let bed = Bed::start(profile);
        let (mut writer, mut reader) = bed.lease(Function::KmeansMap).open().unwrap();
        for part in vectors.chunks(200 * d) {
            let pairs = Keyed {
                keys: &keys,
                vectors: part,
            };
            writer
                .write(&MapPacket {
                    centroids: &centroids,
                    pairs,
                    dimension: d,
                    combine: true,
                })
                .unwrap();
        }
        let mut sums = Sums::zero(k, d);
        for _ in 0..6 {
            let (_, result): (u64, Vec<u8>) = reader.read(Duration::from_secs(20)).unwrap();
            sums.merge(&Sums::read(&result, d));
        }
        assert_eq!(sums, wanted, "{fault:?}");
    }
}
