//! Cards that go wrong on order, holders that are killed, clients that break the rules.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod bed;

use bed::{Bed, board};
use fpga_driver::board::fault::Fault;
use fpga_driver::client::{AcceleratorError, AcceleratorReader, AcceleratorWriter};
use fpga_driver::echo::Echo;
use fpga_driver::fixed::Seeded;
use fpga_driver::packet::HEADER_LENGTH;
use fpga_driver::profile::BoardProfile;
use fpga_driver::wire::{self, Reply, Request};
use fpga_driver::{Function, Status};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(20);
const PACKETS: u64 = 24;

fn faulty(orders: &[String]) -> BoardProfile {
    let mut profile = board();
    // Long enough for a machine that has much else to do: what is late by accident is lost twice soon.
    profile.patience = Duration::from_millis(250);
    profile.timing.late_ms = 600;
    profile.faults = orders.iter().map(|order| order.parse().unwrap()).collect();
    profile
}

fn bytes(n: u64) -> Vec<u8> {
    let mut seeded = Seeded(n);
    (0..200 + n * 97)
        .map(|_| seeded.bits().to_le_bytes()[0])
        .collect()
}

/// Sends packets and checks that each comes back, once, in order, with its own bytes.
fn exchange(writer: AcceleratorWriter, reader: &mut AcceleratorReader) {
    let mut writer = writer;
    let sends = std::thread::spawn(move || {
        for n in 0..PACKETS {
            writer.write(&Echo(&bytes(n))).unwrap();
        }
        writer
    });
    for n in 0..PACKETS {
        let (sequence, found): (u64, Vec<u8>) = reader.read(SOON).unwrap();
        assert_eq!(sequence, n);
        assert!(found == bytes(n), "packet {n}");
    }
    drop(sends.join().unwrap());
}

#[test]
fn every_fault_is_survived_without_a_wrong_bit() {
    for fault in Fault::ALL {
        let order = fpga_driver::board::fault::Order {
            fault,
            at: 3,
            every: 0,
        };
        let bed = Bed::start(faulty(&[order.to_string()]));
        let (writer, mut reader) = bed.lease(Function::Echo).open().unwrap();
        let began = Instant::now();
        exchange(writer, &mut reader);
        let (_, boards) = fpga_driver::client::map(&bed.socket).unwrap();
        println!(
            "{order}: {} resets ({:?}), {:?}",
            boards[0].resets,
            boards[0].last_reset,
            began.elapsed()
        );
        assert_eq!(boards[0].off, None);
        assert!(boards[0].resets <= 1, "{order}");
    }
}

/// Packets of one length: a result of the wrong packet has the right size and the right CRC.
#[test]
fn after_a_card_forgot_packets_no_result_is_taken_for_anothers() {
    for order in ["reset@3", "reset@17"] {
        let bed = Bed::start(faulty(&[order.to_owned()]));
        let (mut writer, mut reader) = bed.lease(Function::Echo).open().unwrap();
        let sends = std::thread::spawn(move || {
            for n in 0..40u8 {
                writer.write(&Echo(&[n; 500])).unwrap();
            }
            writer
        });
        for n in 0..40u8 {
            let (_, found): (u64, Vec<u8>) = reader.read(SOON).unwrap();
            assert_eq!(found, [n; 500], "packet {n}");
        }
        drop(sends.join().unwrap());
    }
}

#[test]
fn a_packet_that_is_lost_twice_turns_the_board_off() {
    let bed = Bed::start(faulty(&["lost-result@0+1".into(), "lost-sent@0+1".into()]));
    let (mut writer, mut reader) = bed.lease(Function::Echo).open().unwrap();
    writer.write(&Echo(b"x")).unwrap();
    let answer = reader.read::<Vec<u8>>(SOON).unwrap_err();
    assert!(
        matches!(
            answer,
            AcceleratorError::Packet {
                status: Status::Lost,
                ..
            }
        ),
        "{answer}"
    );
    let end = reader.read::<Vec<u8>>(SOON).unwrap_err().to_string();
    assert!(end.contains("board model:0 is off"), "{end}");
    assert!(end.contains("packet 0 was lost 2 times"), "{end}");
    let refused = fpga_driver::client::Accelerator::lease(&bed.socket, Function::Echo, "x", None);
    assert!(refused.unwrap_err().to_string().contains("or it is off"));
}

#[test]
fn a_card_that_stays_stuck_is_turned_off() {
    let bed = Bed::start(faulty(&[
        "stuck@0+1".into(),
        "lost-sent@0+1".into(),
        "lost-result@0+1".into(),
    ]));
    let (mut writer, mut reader) = bed.lease(Function::Echo).open().unwrap();
    for _ in 0..4 {
        writer.write(&Echo(b"x")).unwrap();
    }
    let answer = reader.read::<Vec<u8>>(SOON).unwrap_err();
    assert!(
        matches!(
            answer,
            AcceleratorError::Packet {
                status: Status::Lost,
                ..
            }
        ),
        "{answer}"
    );
}

/// A client that speaks for itself: its descriptors are at hand.
fn raw(bed: &Bed) -> (OwnedFd, File, OwnedFd) {
    let socket = wire::connect(&bed.socket).unwrap();
    let lease = Request::Lease {
        function: Function::Echo,
        holder: "rogue".into(),
        wait: false,
    };
    wire::send(&socket, &lease, &[]).unwrap();
    hear(&socket);
    wire::send(&socket, &Request::Rings, &[]).unwrap();
    let mut descriptors = hear(&socket).unwrap().1;
    descriptors.truncate(2);
    let doorbell = descriptors.pop().unwrap();
    (socket, File::from(descriptors.pop().unwrap()), doorbell)
}

fn hear(socket: &OwnedFd) -> Option<(Reply, Vec<OwnedFd>)> {
    let until = Instant::now() + SOON;
    loop {
        match wire::receive(socket) {
            Err(rustix::io::Errno::AGAIN) if Instant::now() < until => {
                std::thread::park_timeout(Duration::from_millis(1));
            }
            other => return other.unwrap_or(None),
        }
    }
}

fn ring(doorbell: &OwnedFd) {
    rustix::io::write(doorbell, &1u64.to_ne_bytes()).ok();
}

#[test]
fn random_bytes_over_the_whole_memory_end_that_lease_alone() {
    let seconds = std::env::var("GERBIL_FUZZ_SECONDS").map_or(3, |it| it.parse().unwrap());
    let bed = Bed::start(board());
    let (mut writer, mut reader) = bed.lease(Function::Echo).open().unwrap();
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut seeded = Seeded(1);
    let (mut leases, mut ended, mut honest) = (0u32, 0u32, 0u64);
    while Instant::now() < until {
        let (socket, memory, doorbell) = raw(&bed);
        leases += 1;
        let length = memory.metadata().unwrap().len();
        for round in 0..40 {
            // Mostly where it hurts: states, verdicts, headers; at times all over.
            let (from, most) = if round % 8 == 7 {
                (0, length)
            } else {
                (0, 4096)
            };
            for _ in 0..8 {
                let at = from + seeded.bits() % (most - 256);
                let size = usize::try_from(1 + seeded.below(255)).unwrap();
                let bytes: Vec<u8> = (0..size)
                    .map(|_| {
                        // Small numbers are states that exist.
                        let byte = seeded.bits().to_le_bytes();
                        if byte[1] & 1 == 0 {
                            byte[0]
                        } else {
                            byte[0] & 3
                        }
                    })
                    .collect();
                memory.write_at(&bytes, at).unwrap();
            }
            // A state that says that a packet is there.
            let index = u64::from(seeded.below(8));
            memory
                .write_at(&2u32.to_le_bytes(), 64 + 4 * index)
                .unwrap();
            ring(&doorbell);
            let sent = writer.write(&Echo(&bytes(honest % 16))).unwrap();
            let (sequence, found): (u64, Vec<u8>) = reader.read(SOON).unwrap();
            assert_eq!(sequence, sent);
            assert!(found == bytes(honest % 16));
            honest += 1;
        }
        if let Ok(Some((Reply::Ended { reason }, _))) = wire::receive(&socket) {
            assert!(reason.contains("broke the rules of its rings"), "{reason}");
            ended += 1;
        }
    }
    println!("{leases} hostile leases, {ended} ended by the driver, {honest} honest packets");
    assert!(ended > 0 && honest > 0);
    drop((writer, reader));
    bed.wait_until_free();
}

#[test]
fn a_header_that_changes_after_the_check_ends_its_lease() {
    let mut profile = board();
    // Slow enough to be overtaken: 1 MiB takes a second.
    profile.timing.link_mb_s = 1;
    let bed = Bed::start(profile);
    let (socket, memory, doorbell) = raw(&bed);
    let geometry = fpga_driver::ring::Geometry::default();
    let header = fpga_driver::packet::Header {
        function: Function::Echo.number(),
        data_address: geometry.input(0) as u64,
        data_length: 200_000,
        result_address: geometry.output(0) as u64,
        result_capacity: geometry.block as u64,
        data_crc: crc32c::crc32c(&vec![0; 200_000]),
        ..fpga_driver::packet::Header::default()
    };
    memory.write_at(&header.encode(), 1024).unwrap();
    memory.write_at(&2u32.to_le_bytes(), 64).unwrap();
    ring(&doorbell);
    let mut state = [0; 4];
    let until = Instant::now() + SOON;
    while state != 3u32.to_le_bytes() {
        assert!(Instant::now() < until, "it is never sent");
        memory.read_exact_at(&mut state, 64).unwrap();
    }
    memory.write_at(&[0xff; HEADER_LENGTH], 1024).unwrap();
    let Some((Reply::Ended { reason }, _)) = hear(&socket) else {
        panic!("the lease goes on");
    };
    assert!(
        reason.contains("header of packet 0 was changed"),
        "{reason}"
    );
    drop(socket);
    bed.wait_until_free();
}

#[test]
fn what_a_client_does_to_its_descriptors_holds_nobody_up() {
    let bed = Bed::start(board());
    let (mut writer, mut reader) = bed.lease(Function::Echo).open().unwrap();
    let (_socket, _memory, doorbell) = raw(&bed);
    // Makes the doorbell blocking and fills it: whoever wrote to it, or read it, could wait for ever.
    rustix::fs::fcntl_setfl(&doorbell, rustix::fs::OFlags::empty()).unwrap();
    rustix::io::write(&doorbell, &(u64::MAX - 1).to_ne_bytes()).unwrap();
    for n in 0..20u64 {
        writer.write(&Echo(b"x")).unwrap();
        assert_eq!(reader.read::<Vec<u8>>(SOON).unwrap().0, n);
    }
    // Its socket is full of replies that it does not read.
    let (socket, _, _) = raw(&bed);
    for _ in 0..2000 {
        if wire::send(&socket, &Request::Map, &[]).is_err() {
            std::thread::yield_now();
        }
    }
    assert!(fpga_driver::client::map(&bed.socket).is_ok());
    // Bytes that are no message end the connection.
    let socket = wire::connect(&bed.socket).unwrap();
    wire::send(&socket, &"nonsense", &[]).unwrap();
    assert!(hear(&socket).is_none());
}
