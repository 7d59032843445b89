//! The examples, as they are, over a modelled and over a simulated card: each fails where a bit of the
//! accelerator's answer is not the processor's.

#[allow(dead_code, reason = "a program's main, beside what it does")]
#[path = "../../examples/spherical_kmeans.rs"]
mod kmeans;
#[allow(dead_code, reason = "a program's main, beside what it does")]
#[path = "../../examples/naive_bayes.rs"]
mod naive_bayes;

use crate::bed::{Bed, board};
use fpga_driver::profile::{BoardKind, BoardProfile};

fn boards() -> [BoardProfile; 2] {
    let mut simulated = board();
    simulated.kind = BoardKind::Rtl;
    simulated.name = "rtl:0".to_owned();
    [board(), simulated]
}

#[test]
fn kmeans_has_the_processors_bits() {
    for board in boards() {
        let bed = Bed::start(board);
        let mut said = Vec::new();
        kmeans::run(&bed.socket, &mut said).unwrap();
        let said = String::from_utf8(said).unwrap();
        assert_eq!(said.lines().count(), 5, "{said}");
        assert!(said.starts_with("round 1: bit for bit"), "{said}");
    }
}

#[test]
fn naive_bayes_has_the_processors_bits_and_loads_its_table_once() {
    for board in boards() {
        let bed = Bed::start(board);
        let mut said = Vec::new();
        naive_bayes::run(&bed.socket, &mut said).unwrap();
        let said = String::from_utf8(said).unwrap();
        assert!(
            said.contains("8000 of 8000 as the processor says"),
            "{said}"
        );
        assert!(said.contains("the table was loaded 1 times"), "{said}");
    }
}
