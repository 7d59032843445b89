//! Cards that go wrong on order, holders that are killed, clients that break the rules.

use crate::bed::{Bed, board};
use fpga_driver::board::fault::Fault;
use fpga_driver::client::{AcceleratorError, AcceleratorReader, AcceleratorWriter};
use fpga_driver::echo::Echo;
use fpga_driver::fixed::Seeded;
use fpga_driver::packet::{HEADER_LENGTH, LOAD, types};
use fpga_driver::profile::BoardProfile;
use fpga_driver::wire::{self, Reply, Request};
use fpga_driver::{Function, Status};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
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
        let order = fpga_driver::board::fault::FaultOrder {
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

/// A card that resets itself now and then loses, each time, up to three packets and those that were
/// brought to it before that was noticed: no packet may be lost twice only for having been beside others.
#[test]
fn a_card_that_resets_itself_again_and_again_loses_nothing() {
    for order in ["reset@4+7", "reset@3+11", "reset@5+6", "reset@0+13"] {
        let mut profile = faulty(&[order.to_owned()]);
        profile.patience = Duration::from_millis(100);
        let bed = Bed::start(profile);
        let (mut writer, mut reader) = bed.lease(Function::Echo).open().unwrap();
        let sends = std::thread::spawn(move || {
            for n in 0..80u8 {
                if writer.write(&Echo(&[n; 500])).is_err() {
                    break;
                }
            }
            writer
        });
        for n in 0..80u8 {
            let (_, found): (u64, Vec<u8>) = reader
                .read(SOON)
                .unwrap_or_else(|error| panic!("{order}: {error}"));
            assert_eq!(found, [n; 500], "{order}: packet {n}");
        }
        drop(sends.join().unwrap());
        let (_, boards) = fpga_driver::client::map(&bed.socket).unwrap();
        println!("{order}: {} resets", boards[0].resets);
        assert!(boards[0].resets > 3, "{order}");
    }
}

/// A lease whose packet is lost by the card until it ends; its last words.
fn loses(bed: &Bed) -> String {
    let (mut writer, mut reader) = bed.lease(Function::Echo).open().unwrap();
    for _ in 0..4 {
        writer.write(&Echo(b"x")).unwrap();
    }
    loop {
        match reader.read::<Vec<u8>>(SOON).unwrap_err() {
            AcceleratorError::Packet {
                status: Status::Lost,
                ..
            } => {}
            AcceleratorError::Ended { reason } => return reason,
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_packet_that_is_lost_twice_ends_its_lease_and_the_third_turns_the_board_off() {
    let silent = ["lost-result@0+1", "lost-sent@0+1"];
    let stuck = ["stuck@0+1", "lost-sent@0+1", "lost-result@0+1"];
    for orders in [&silent[..], &stuck[..]] {
        let orders: Vec<String> = orders.iter().map(|&it| it.to_owned()).collect();
        let bed = Bed::start(faulty(&orders));
        for lost in 1..=2 {
            let end = loses(&bed);
            assert!(end.contains("board model:0 lost packet 0 2 times"), "{end}");
            let (_, boards) = fpga_driver::client::map(&bed.socket).unwrap();
            assert_eq!((boards[0].lost_by, &boards[0].off), (lost, &None));
        }
        let end = loses(&bed);
        assert!(end.contains("board model:0 is off"), "{end}");
        assert!(end.contains("packet 0 was lost 2 times"), "{end}");
        let refused =
            fpga_driver::client::Accelerator::lease(&bed.socket, Function::Echo, "x", None);
        assert!(refused.unwrap_err().to_string().contains("or it is off"));
    }
}

/// Packets of others are answered between those that the card loses: it is not the card.
#[test]
fn leases_that_lose_packets_here_and_there_leave_the_board_on() {
    // Of each five packets on the card two are lost: the first try of a packet and its second.
    let orders = [
        "lost-sent@1+5",
        "lost-result@1+5",
        "lost-sent@2+5",
        "lost-result@2+5",
    ];
    let bed = Bed::start(faulty(&orders.map(str::to_owned)));
    for _ in 0..4 {
        let (mut writer, mut reader) = bed.lease(Function::Echo).open().unwrap();
        for answered in 0.. {
            let sent = writer.write(&Echo(b"x"));
            match sent.and_then(|_| reader.read::<Vec<u8>>(SOON)) {
                Ok(_) => assert!(answered < 10, "no packet is lost"),
                Err(_) => break,
            }
        }
    }
    let (_, boards) = fpga_driver::client::map(&bed.socket).unwrap();
    assert_eq!(boards[0].off, None);
    assert!(boards[0].resets >= 8, "{boards:?}");
}

/// A client that speaks for itself: its descriptors are at hand.
struct Rogue {
    socket: OwnedFd,
    memory: File,
    doorbell: OwnedFd,
    bell: OwnedFd,
}

fn raw(bed: &Bed) -> Rogue {
    raw_of(bed, Function::Echo)
}

fn raw_of(bed: &Bed, function: Function) -> Rogue {
    let socket = wire::connect(&bed.socket).unwrap();
    let lease = Request::Lease {
        function,
        holder: "rogue".into(),
        wait: false,
    };
    wire::send(&socket, &lease, &[]).unwrap();
    hear(&socket);
    wire::send(&socket, &Request::Rings, &[]).unwrap();
    let descriptors = hear(&socket).unwrap().1;
    let [memory, doorbell, bell] = <[OwnedFd; 3]>::try_from(descriptors).unwrap();
    Rogue {
        socket,
        memory: File::from(memory),
        doorbell,
        bell,
    }
}

impl Rogue {
    /// Queues packet `number` with `length` bytes of whatever lies in its block.
    fn queue(&self, number: u64, length: u64) {
        let header = fpga_driver::packet::Header {
            function: Function::Echo.number(),
            ..fpga_driver::packet::Header::default()
        };
        self.queue_as(number, length, header);
    }

    /// The same with this header, whose addresses, lengths and checksum are filled in.
    fn queue_as(&self, number: u64, length: u64, header: fpga_driver::packet::Header) {
        let geometry = fpga_driver::ring::Geometry::default();
        let index = geometry.index(number);
        let mut data = vec![0; usize::try_from(length).unwrap()];
        self.memory
            .read_exact_at(&mut data, geometry.input(index) as u64)
            .unwrap();
        let header = fpga_driver::packet::Header {
            sequence: number,
            data_address: geometry.input(index) as u64,
            data_length: length,
            result_address: geometry.output(index) as u64,
            result_capacity: geometry.block as u64,
            data_crc: crc32c::crc32c(&data),
            ..header
        };
        let at = 1024 + HEADER_LENGTH * index;
        self.memory.write_at(&header.encode(), at as u64).unwrap();
        self.set_state(index, 2);
        self.ring();
    }

    /// The word of an input block: 2 is Queued.
    fn set_state(&self, index: usize, state: u32) {
        let at = 64 + 4 * index as u64;
        self.memory.write_at(&state.to_le_bytes(), at).unwrap();
    }

    fn state(&self, index: usize) -> u32 {
        self.word(64 + 4 * index as u64)
    }

    /// What became of a packet of the first round.
    fn status(&self, number: u64) -> Status {
        let until = Instant::now() + SOON;
        // Ready.
        while self.word(128 + 4 * number) != 2 {
            assert!(Instant::now() < until, "packet {number} is never answered");
            std::thread::park_timeout(Duration::from_millis(1));
        }
        let verdict = 256 + 32 * number;
        Status::of(self.word(verdict + 16), self.word(verdict + 20))
    }

    fn word(&self, at: u64) -> u32 {
        let mut word = [0; 4];
        self.memory.read_exact_at(&mut word, at).unwrap();
        u32::from_le_bytes(word)
    }

    fn ring(&self) {
        rustix::io::write(&self.doorbell, &1u64.to_ne_bytes()).ok();
    }
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

/// Where a client that means harm writes: mostly where it hurts, at times all over.
fn vandalise(rogue: &Rogue, seeded: &mut Seeded, everywhere: bool) {
    let length = rogue.memory.metadata().unwrap().len();
    let most = if everywhere { length } else { 4096 };
    for _ in 0..8 {
        let at = seeded.bits() % (most - 256);
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
        rogue.memory.write_at(&bytes, at).unwrap();
    }
}

#[test]
fn random_bytes_over_the_whole_memory_end_that_lease_alone() {
    // A minute where everything is checked, else long enough to notice what is broken.
    let standard = if std::env::var_os("CI").is_some() {
        60
    } else {
        3
    };
    let seconds = std::env::var("GERBIL_FUZZ_SECONDS").map_or(standard, |it| it.parse().unwrap());
    let mut profile = board();
    // Packets fly for some time, and are overtaken by what is written over them.
    profile.timing.link_mb_s = 500;
    let bed = Bed::start(profile);
    let (mut writer, mut reader) = bed.lease(Function::Echo).open().unwrap();
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut seeded = Seeded(1);
    let (mut leases, mut ended, mut honest, mut flown) = (0u32, 0u32, 0u64, 0u64);
    while Instant::now() < until {
        let rogue = raw(&bed);
        leases += 1;
        // Some begin as good clients do, with packets that are right.
        let right = u64::from(seeded.below(7));
        for number in 0..right {
            rogue.queue(number, u64::from(seeded.below(200_000)));
        }
        flown += right;
        for round in 0..40 {
            vandalise(&rogue, &mut seeded, round % 8 == 7);
            // A state that says that a packet is there.
            let index = usize::try_from(seeded.below(8)).unwrap();
            rogue.set_state(index, 2);
            rogue.ring();
            let sent = writer.write(&Echo(&bytes(honest % 16))).unwrap();
            let (sequence, found): (u64, Vec<u8>) = reader.read(SOON).unwrap();
            assert_eq!(sequence, sent);
            assert!(found == bytes(honest % 16));
            honest += 1;
        }
        if let Ok(Some((Reply::Ended { reason }, _))) = wire::receive(&rogue.socket) {
            assert!(reason.contains("broke the rules of its rings"), "{reason}");
            ended += 1;
        }
    }
    println!(
        "{leases} hostile leases with {flown} right packets first, {ended} ended by the driver, {honest} honest packets"
    );
    assert!(ended > 0 && honest > 0);
    let (_, boards) = fpga_driver::client::map(&bed.socket).unwrap();
    assert_eq!((boards[0].resets, &boards[0].off), (0, &None));
    drop((writer, reader));
    bed.wait_until_free();
}

#[test]
fn a_header_that_changes_after_the_check_ends_its_lease() {
    let mut profile = board();
    // Slow enough to be overtaken: 1 MiB takes a second.
    profile.timing.link_mb_s = 1;
    let bed = Bed::start(profile);
    let rogue = raw(&bed);
    rogue.queue(0, 200_000);
    let until = Instant::now() + SOON;
    while rogue.state(0) != 3 {
        assert!(Instant::now() < until, "it is never sent");
    }
    rogue.memory.write_at(&[0xff; HEADER_LENGTH], 1024).unwrap();
    let Some((Reply::Ended { reason }, _)) = hear(&rogue.socket) else {
        panic!("the lease goes on");
    };
    assert!(
        reason.contains("header of packet 0 was changed"),
        "{reason}"
    );
    drop(rogue);
    bed.wait_until_free();
}

#[test]
fn what_a_client_does_to_its_descriptors_holds_nobody_up() {
    let bed = Bed::start(board());
    let (mut writer, mut reader) = bed.lease(Function::Echo).open().unwrap();
    let rogue = raw(&bed);
    // What it is woken by is full and blocking: its own end says nothing about the driver's.
    rustix::fs::fcntl_setfl(&rogue.bell, rustix::fs::OFlags::empty()).unwrap();
    let other_end = rustix::fs::open(
        format!("/proc/self/fd/{}", rogue.bell.as_raw_fd()),
        rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK,
        rustix::fs::Mode::empty(),
    )
    .unwrap();
    while rustix::io::write(&other_end, &[1; 4096]).is_ok() {}
    while rustix::io::write(&other_end, &[1]).is_ok() {}
    // And the driver has something to tell it: this packet's header is none.
    rogue.memory.write_at(&[0xff; HEADER_LENGTH], 1024).unwrap();
    rogue.set_state(0, 2);
    // Makes the doorbell blocking and fills it: whoever wrote to it, or read it, could wait for ever.
    rustix::fs::fcntl_setfl(&rogue.doorbell, rustix::fs::OFlags::empty()).unwrap();
    rustix::io::write(&rogue.doorbell, &(u64::MAX - 1).to_ne_bytes()).unwrap();
    let until = Instant::now() + SOON;
    while rogue.state(0) != 0 {
        assert!(Instant::now() < until, "its packet is never answered");
    }
    for n in 0..20u64 {
        writer.write(&Echo(b"x")).unwrap();
        assert_eq!(reader.read::<Vec<u8>>(SOON).unwrap().0, n);
    }
    // Its socket is full of replies that it does not read.
    let silent = raw(&bed);
    for _ in 0..2000 {
        if wire::send(&silent.socket, &Request::Map, &[]).is_err() {
            std::thread::yield_now();
        }
    }
    assert!(fpga_driver::client::map(&bed.socket).is_ok());
}

/// Why a request was refused.
fn refusal(socket: &OwnedFd) -> String {
    match hear(socket) {
        Some((Reply::Refused { reason }, _)) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_that_nobody_knows_is_answered_with_a_sentence() {
    let bed = Bed::start(board());
    let socket = wire::connect(&bed.socket).unwrap();
    let lease = |function: &str| serde_json::json!({"lease": {"function": function, "holder": "x", "wait": false}});
    let unknown: [(serde_json::Value, &str); 4] = [
        (lease("no-such"), "`no-such`, expected one of `echo`"),
        ("nonsense".into(), "`nonsense`, expected one of `lease`"),
        (serde_json::json!({"lease": {}}), "missing field"),
        (7.into(), "invalid type"),
    ];
    for (request, fault) in unknown {
        wire::send(&socket, &request, &[]).unwrap();
        let reason = refusal(&socket);
        assert!(
            reason.starts_with("this fpgad does not know such a request: ")
                && reason.contains(fault),
            "{reason}"
        );
    }
    // It repeats the words of the client, but not without end.
    wire::send(&socket, &lease(&"x".repeat(100_000)), &[]).unwrap();
    assert!(refusal(&socket).len() < 1000);
    // The connection goes on.
    wire::send(&socket, &lease("echo"), &[]).unwrap();
    assert!(matches!(hear(&socket), Some((Reply::Granted { .. }, _))));
    // What is no JSON ends it.
    rustix::io::write(&socket, b"{\"lease\":").unwrap();
    let reason = refusal(&socket);
    assert!(reason.contains("not one JSON message"), "{reason}");
    assert!(hear(&socket).is_none());
    bed.wait_until_free();
}

/// A client that does not judge its own packets.
#[test]
fn packets_that_ask_for_too_much_work_are_refused_by_the_driver_too() {
    let bed = Bed::start(board());
    let rogue = raw_of(&bed, Function::KmeansMap);
    let k = 131_072;
    let vectors = fpga_driver::packet::Header {
        function: Function::KmeansMap.number(),
        centroids: k,
        pairs: 65_536,
        pair_offset: k * 4,
        dimension: 1,
        bytes_per_dimension: 4,
        centroid_type: types::Q1_22,
        key_type: types::U32,
        value_type: types::Q1_22,
        ..fpga_driver::packet::Header::default()
    };
    rogue.queue_as(0, 1 << 20, vectors);
    let status = rogue.status(0);
    assert_eq!(status, Status::TooMuchWork(8590));
    let said = status.to_string();
    assert!(
        said.contains("8590 million steps") && said.contains("at most 268435456"),
        "{said}"
    );

    // Documents do not name their classes: those of the table count.
    let rogue = raw_of(&bed, Function::BayesMap);
    let table = fpga_driver::packet::Header {
        function: Function::BayesMap.number(),
        centroids: k,
        dimension: 1,
        bytes_per_dimension: 4,
        centroid_type: types::Q8_24,
        flags: LOAD,
        model: 1,
        ..fpga_driver::packet::Header::default()
    };
    let empty = fpga_driver::packet::Header {
        function: Function::BayesMap.number(),
        pairs: 131_072,
        dimension: 1,
        bytes_per_dimension: 4,
        key_type: types::U32,
        value_type: types::U32,
        model: 1,
        ..fpga_driver::packet::Header::default()
    };
    rogue.queue_as(0, 1 << 20, table);
    assert_eq!(rogue.status(0), Status::Done);
    rogue.queue_as(1, 1 << 20, empty);
    assert_eq!(rogue.status(1), Status::TooMuchWork(17_180));
}
