//! Driver and client in one process, over a modelled board: the ways of packets, and of those who
//! break the rules.

use crate::bed::{Bed, board};
use fpga_driver::client::{Accelerator, AcceleratorError, SerializePacket};
use fpga_driver::echo::{Echo, Sink, plain};
use fpga_driver::kmeans::{self, Keyed, MapPacket, Sums};
use fpga_driver::packet::{Field, Header};
use fpga_driver::{Function, Status, bayes};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(20);

#[test]
fn packets_come_back_in_order() {
    let bed = Bed::start(board());
    let (mut writer, mut reader) = bed.lease(Function::Echo).open().unwrap();
    let sender = std::thread::spawn(move || {
        for n in 0..100u32 {
            let bytes = vec![n.to_le_bytes()[0]; usize::try_from(n).unwrap() * 1000];
            assert_eq!(writer.write(&Echo(&bytes)).unwrap(), u64::from(n));
        }
        writer
    });
    for n in 0..100u32 {
        let (sequence, bytes): (u64, Vec<u8>) = reader.read(SOON).unwrap();
        assert_eq!(sequence, u64::from(n));
        assert_eq!(bytes.len(), usize::try_from(n).unwrap() * 1000);
        assert!(bytes.iter().all(|&byte| byte == n.to_le_bytes()[0]));
    }
    drop(sender.join().unwrap());
}

#[test]
fn kmeans_is_bit_exact() {
    let bed = Bed::start(board());
    let (mut writer, mut reader) = bed.lease(Function::KmeansMap).open().unwrap();
    let (d, k) = (128, 16);
    let vectors = kmeans::generate(1, 5000, d, 16);
    let centroids = kmeans::generate(2, k, d, 16);
    let mut all = Sums::zero(k, d);
    let most = MapPacket::most(writer.geometry().block, k, d);
    let mut packets = 0;
    for part in vectors.chunks(most * d) {
        let keys: Vec<u32> = (0..).take(part.len() / d).collect();
        let packet = MapPacket {
            centroids: &centroids,
            pairs: Keyed {
                keys: &keys,
                vectors: part,
            },
            dimension: d,
            combine: true,
        };
        writer.write(&packet).unwrap();
        packets += 1;
    }
    for _ in 0..packets {
        let (_, result): (u64, Vec<u8>) = reader.read(SOON).unwrap();
        all.merge(&Sums::read(&result, d));
    }
    assert_eq!(all, kmeans::assign(&vectors, &centroids, d));
}

#[test]
fn tables_are_each_leases_own() {
    let bed = Bed::start(board());
    let (mut writer, mut reader) = bed.lease(Function::BayesMap).open().unwrap();
    let (mut other, mut others) = bed.lease(Function::BayesMap).open().unwrap();
    let table = bayes::BayesTable::train(&bayes::generate(1, 400, 4, 64, 20), 4, 64);
    let documents = bayes::generate(2, 100, 4, 64, 20);
    let packet = bayes::DocumentsPacket {
        model: 9,
        terms: 64,
        documents: &documents,
    };
    writer
        .write(&bayes::LoadPacket {
            model: 9,
            table: &table,
        })
        .unwrap();
    reader.read::<Vec<u8>>(SOON).unwrap();
    writer.write(&packet).unwrap();
    let (_, bayes::Classes(found)) = reader.read(SOON).unwrap();
    let wanted: Vec<(u32, u32)> = documents
        .iter()
        .map(|it| (it.key, table.classify(&it.terms).unwrap()))
        .collect();
    assert_eq!(found, wanted);

    other.write(&packet).unwrap();
    let refused = others.read::<bayes::Classes>(SOON);
    assert!(
        matches!(
            refused,
            Err(AcceleratorError::Packet {
                status: Status::NoModel,
                ..
            })
        ),
        "{refused:?}"
    );
}

#[test]
fn a_table_that_others_push_out_is_missed_and_loaded_again() {
    let bed = Bed::start(board());
    let (mut writer, mut reader) = bed.lease(Function::BayesMap).open().unwrap();
    let (mut other, mut others) = bed.lease(Function::BayesMap).open().unwrap();
    let table = bayes::BayesTable::train(&bayes::generate(1, 400, 4, 64, 20), 4, 64);
    let load = bayes::LoadPacket {
        model: table.model(),
        table: &table,
    };
    let documents = bayes::generate(2, 100, 4, 64, 20);
    let packet = bayes::DocumentsPacket {
        model: table.model(),
        terms: 64,
        documents: &documents,
    };
    let mut missed = Vec::new();
    for loads in [0, 31, 32] {
        writer.write(&load).unwrap();
        reader.read::<Vec<u8>>(SOON).unwrap();
        for model in 0..loads {
            let model = 1 + model % 9;
            other.write(&bayes::LoadPacket { model, ..load }).unwrap();
            others.read::<Vec<u8>>(SOON).unwrap();
        }
        writer.write(&packet).unwrap();
        missed.push(match reader.read::<bayes::Classes>(SOON) {
            Ok((_, bayes::Classes(found))) => {
                assert_eq!(found.len(), 100);
                false
            }
            Err(AcceleratorError::Packet {
                status: Status::NoModel,
                ..
            }) => true,
            Err(other) => panic!("{other}"),
        });
    }
    assert_eq!(missed, [false, false, true]);
}

#[test]
fn a_bad_packet_is_answered_with_its_field_and_others_go_on() {
    let bed = Bed::start(board());
    let (mut writer, mut reader) = bed.lease(Function::Echo).open().unwrap();
    type Change = fn(&mut Header);
    let wrong: [(Change, Field); 4] = [
        (
            |header| header.function = Function::Sink.number(),
            Field::Function,
        ),
        (|header| header.flags = 2, Field::Flags),
        (|header| header.model = 3, Field::Model),
        (|header| header.pairs = 1, Field::Pairs),
    ];
    for (change, field) in wrong {
        let mut layout = plain(Function::Echo, 64);
        change(&mut layout.header);
        writer.block(None).unwrap().send(&layout).unwrap();
        let result = reader.result(Some(SOON)).unwrap();
        assert_eq!(result.verdict.status, Status::Bad(field));
        assert!(result.is_empty());
    }
    writer.write(&Echo(b"still here")).unwrap();
    let (sequence, bytes): (u64, Vec<u8>) = reader.read(SOON).unwrap();
    assert_eq!((sequence, bytes.as_slice()), (4, b"still here".as_slice()));
}

#[test]
fn a_reader_that_never_reads_fills_its_own_ring_only() {
    let bed = Bed::start(board());
    let (mut idle, _unread) = bed.lease(Function::Echo).open().unwrap();
    // One ring of results and one of packets; the next block does not come free.
    for _ in 0..16 {
        idle.write(&Echo(b"x")).unwrap();
    }
    let full = idle.block(Some(Duration::from_millis(100)));
    assert!(matches!(full, Err(AcceleratorError::TimedOut { .. })));
    drop(full);

    let (mut writer, mut reader) = bed.lease(Function::Echo).open().unwrap();
    for n in 0..50u64 {
        writer.write(&Echo(b"y")).unwrap();
        assert_eq!(reader.read::<Vec<u8>>(SOON).unwrap().0, n);
    }
    // Once it reads, it goes on.
    let mut late = _unread;
    for n in 0..16u64 {
        assert_eq!(late.read::<Vec<u8>>(SOON).unwrap().0, n);
    }
    idle.write(&Echo(b"z")).unwrap();
    assert_eq!(late.read::<Vec<u8>>(SOON).unwrap().0, 16);
}

#[test]
fn leases_never_exceed_devices_and_whoever_waits_is_served() {
    let mut profile = board();
    profile.functions = [(Function::Echo, 2)].into();
    let bed = Bed::start(profile);
    let first = bed.lease(Function::Echo);
    let second = bed.lease(Function::Echo);
    let refused = Accelerator::lease(&bed.socket, Function::Echo, "third", None).unwrap_err();
    assert!(
        refused.to_string().contains("all virtual devices for echo"),
        "{refused}"
    );
    let none = Accelerator::lease(&bed.socket, Function::Sink, "third", None).unwrap_err();
    assert!(
        none.to_string()
            .contains("no board of this node computes sink"),
        "{none}"
    );

    let socket = bed.socket.clone();
    let waits = std::thread::spawn(move || {
        Accelerator::lease(&socket, Function::Echo, "fourth", Some(SOON)).unwrap()
    });
    drop(first);
    let third = waits.join().unwrap();
    assert_eq!(third.granted().unwrap().device, "echo#0");
    assert_eq!(second.granted().unwrap().device, "echo#1");
    let (devices, _) = fpga_driver::client::map(&bed.socket).unwrap();
    let holders: Vec<String> = devices
        .into_iter()
        .map(|it| it.lease.unwrap().holder)
        .collect();
    assert_eq!(holders, ["fourth", "test"]);
}

#[test]
fn a_lease_is_inherited_with_its_socket() {
    let bed = Bed::start(board());
    let socket = bed.lease(Function::Sink).into_socket();
    let copy = socket.try_clone().unwrap();
    drop(socket);
    let (mut writer, mut reader) = Accelerator::inherit(copy).open().unwrap();
    writer.write(&Sink(b"123456789")).unwrap();
    let (_, answer): (u64, Vec<u8>) = reader.read(SOON).unwrap();
    assert_eq!(answer[..8], 9u64.to_le_bytes());
    assert_eq!(answer[8..], 0xe306_9283u64.to_le_bytes());
    drop((writer, reader));
    bed.wait_until_free();
}

#[test]
fn the_end_of_the_driver_is_noticed_at_once() {
    let mut bed = Bed::start(board());
    let (_writer, mut reader) = bed.lease(Function::Echo).open().unwrap();
    let waits = std::thread::spawn(move || reader.read::<Vec<u8>>(SOON).unwrap_err());
    let began = Instant::now();
    bed.stop();
    let said = waits.join().unwrap();
    assert!(matches!(said, AcceleratorError::Ended { .. }), "{said}");
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn two_drivers_do_not_share_a_socket_or_a_board() {
    let bed = Bed::start(board());
    let said = Bed::try_start(board(), &bed.socket)
        .unwrap_err()
        .to_string();
    assert!(said.starts_with("another fpgad listens at"), "{said}");
    let beside = bed.socket.with_file_name("other.sock");
    let said = Bed::try_start(board(), &beside).unwrap_err().to_string();
    assert!(said.contains("model:0 is held by another fpgad"), "{said}");
}

#[test]
fn a_packet_that_does_not_fit_is_refused_here() {
    let bed = Bed::start(board());
    let (mut writer, mut reader) = bed.lease(Function::Echo).open().unwrap();
    let large = vec![0; writer.geometry().block + 1];
    let said = writer.write(&Echo(&large)).unwrap_err();
    assert!(matches!(said, AcceleratorError::TooLarge { .. }), "{said}");
    // The block that was not sent is there again.
    assert_eq!(writer.write(&Echo(b"ok")).unwrap(), 0);
    assert_eq!(reader.read::<Vec<u8>>(SOON).unwrap().1, b"ok");
    assert!(Echo(b"x").serialize(&mut []).is_err());
}

#[test]
fn a_packet_that_asks_for_too_much_work_is_refused_here() {
    let bed = Bed::start(board());
    let (mut writer, mut reader) = bed.lease(Function::KmeansMap).open().unwrap();
    let (centroids, vectors) = (vec![1; 131_072], vec![1; 65_536]);
    let keys: Vec<u32> = (0..65_536).collect();
    let mut packet = MapPacket {
        centroids: &centroids,
        pairs: Keyed {
            keys: &keys,
            vectors: &vectors,
        },
        dimension: 1,
        combine: false,
    };
    let said = writer.write(&packet).unwrap_err();
    assert!(matches!(said, AcceleratorError::TooMuchWork(_)), "{said}");
    let said = said.to_string();
    assert!(
        said.contains("131072 centroids x 65536 vectors x dimension 1 are 8589934592 steps")
            && said.contains("at most 268435456"),
        "{said}"
    );
    // Fewer pairs, in the block that was not sent.
    let most = MapPacket::most(writer.geometry().block, centroids.len(), 1).min(16);
    packet.pairs = Keyed {
        keys: &keys[..most],
        vectors: &vectors[..most],
    };
    assert_eq!(writer.write(&packet).unwrap(), 0);
    let (_, kmeans::Assignments(found)) = reader.read(SOON).unwrap();
    assert_eq!(found.len(), most);
}

/// Documents do not name their classes: the writer remembers those of the table that it sent.
#[test]
fn documents_that_ask_for_too_much_work_are_refused_here() {
    let bed = Bed::start(board());
    let lease = bed.lease(Function::BayesMap);
    let table = bayes::BayesTable {
        classes: 100_000,
        logs: vec![0; 200_000],
    };
    let documents = vec![
        bayes::Document {
            key: 1,
            terms: vec![0; 9],
        };
        1000
    ];
    let load = bayes::LoadPacket {
        model: 9,
        table: &table,
    };
    let packet = bayes::DocumentsPacket {
        model: 9,
        terms: 1,
        documents: &documents,
    };
    let (mut writer, mut reader) = lease.open().unwrap();
    writer.write(&load).unwrap();
    reader.read::<Vec<u8>>(SOON).unwrap();
    let said = writer.write(&packet).unwrap_err().to_string();
    assert!(
        said.contains("(1000 documents + 9000 terms) x 100000 classes are 1000000000 steps"),
        "{said}"
    );
}

/// Two who each want both devices, one after the other has one: neither holds what the other waits for.
#[test]
fn who_wants_several_devices_holds_none_while_it_waits() {
    let mut profile = board();
    profile.functions = [(Function::Echo, 2)].into();
    let bed = Bed::start(profile);
    let both = [Function::Echo, Function::Echo];
    let lease_both = |wait| Accelerator::lease_all(&bed.socket, &both, "both", wait);
    let one = bed.lease(Function::Echo);
    let refused = lease_both(None).unwrap_err().to_string();
    assert!(refused.contains("not all of these"), "{refused}");
    let three = [Function::Echo; 3];
    let refused = Accelerator::lease_all(&bed.socket, &three, "all", Some(SOON)).unwrap_err();
    assert!(
        refused.to_string().contains("3 virtual devices for echo are asked for at the same time, and the boards that are on have 2"),
        "{refused}"
    );
    std::thread::scope(|scope| {
        let waiting = [(); 4].map(|()| {
            scope.spawn(|| {
                let leases = lease_both(Some(SOON)).unwrap();
                assert_eq!(leases.len(), 2);
                for lease in leases {
                    let (mut writer, mut reader) = lease.open().unwrap();
                    writer.write(&Echo(b"x")).unwrap();
                    assert_eq!(reader.read::<Vec<u8>>(SOON).unwrap().1, b"x");
                }
            })
        });
        drop(one);
        for thread in waiting {
            thread.join().unwrap();
        }
    });
    bed.wait_until_free();
}
