//! The board behind Xilinx's driver, over the folder that stands for it.

use crate::bed::{Bed, board};
use fpga_driver::Function;
use fpga_driver::board::card::{Card, CardTiming};
use fpga_driver::board::check;
use fpga_driver::board::emulate::Emulator;
use fpga_driver::board::model::Model;
use fpga_driver::board::xdma::Xdma;
use fpga_driver::echo::Echo;
use fpga_driver::profile::{BoardKind, BoardProfile};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

fn card(orders: &[&str]) -> (tempfile::TempDir, Emulator, BoardProfile) {
    let folder = tempfile::tempdir().unwrap();
    let orders = orders.iter().map(|order| order.parse().unwrap()).collect();
    let timing = CardTiming {
        late_ms: 300,
        ..CardTiming::default()
    };
    let model = Card::new(Box::new(Model), timing, orders);
    let emulator = Emulator::start(folder.path(), Box::new(model)).unwrap();
    let mut profile = board();
    profile.kind = BoardKind::Xdma;
    profile.name = "xdma:0".to_owned();
    profile.path = Some(emulator.path());
    profile.patience = Duration::from_millis(500);
    (folder, emulator, profile)
}

#[test]
fn a_card_is_proved_through_its_device_files() {
    let (_folder, emulator, _) = card(&[]);
    let board = Xdma::open(&emulator.path()).unwrap();
    let mut steps = Vec::new();
    check::prove(&board, |step| steps.push(step.to_owned())).unwrap();
    println!("{}", steps.join("\n"));
    assert!(steps[0].contains("kmeans-map"), "{steps:?}");
    assert!(
        steps.iter().any(|step| step.contains("the same bits")),
        "{steps:?}"
    );
}

#[test]
fn packets_go_through_device_files_and_survive_a_lost_interrupt() {
    let (_folder, _emulator, profile) = card(&["lost-result@5"]);
    let bed = Bed::start(profile);
    let (mut writer, mut reader) = bed.lease(Function::Echo).open().unwrap();
    let sends = std::thread::spawn(move || {
        for n in 0..30u8 {
            writer.write(&Echo(&vec![n; 20_000])).unwrap();
        }
        writer
    });
    for n in 0..30u8 {
        let (_, found): (u64, Vec<u8>) = reader.read(SOON).unwrap();
        assert!(found == vec![n; 20_000], "packet {n}");
    }
    drop(sends.join().unwrap());
    let beside = bed.socket.with_file_name("other.sock");
    let (_, boards) = fpga_driver::client::map(&bed.socket).unwrap();
    assert!(boards[0].resets <= 1, "{boards:?}");
    drop(beside);
}

#[test]
fn files_that_are_no_card_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let said = Xdma::open(&folder.path().join("xdma3"))
        .unwrap_err()
        .to_string();
    assert!(said.contains("xdma3_user"), "{said}");
}
