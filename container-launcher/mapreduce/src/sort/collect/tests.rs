use std::sync::Arc;

use gerbil_task::Page;

use super::{Collector, Sizes};
use crate::sort::block::SortedRun;
use crate::sort::codec::Codec;
use crate::sort::scratch::Scratch;

const ARENA: usize = 1 << 20;

/// A collector that deals by the first byte of the key.
fn collector(partitions: u32) -> Collector {
    let (page, _descriptor) = Page::create().unwrap();
    let folder = std::fs::File::open(std::env::temp_dir()).unwrap();
    let scratch = Arc::new(Scratch::new(folder.into(), None));
    let sizes = Sizes {
        arena: ARENA,
        record_max: ARENA / 4,
        codec: Codec::None,
    };
    let place = Box::new(|key: &[u8]| Ok(u32::from(key[0])));
    Collector::new(partitions, sizes, None, place, scratch, page)
}

/// Bytes of arena and entries that are set aside; the arena is set aside as a whole, and written to as it is filled.
fn set_aside(collector: &Collector) -> usize {
    collector.arena.capacity() + collector.entries.set_aside()
}

#[test]
fn memory_is_the_same_in_whichever_order_partitions_come() {
    let mut most = Vec::new();
    for is_sorted in [false, true] {
        let mut collector = collector(20);
        let mut here = 0;
        for number in 0..200_000_u32 {
            let partition = match is_sorted {
                true => number / 10_000,
                false => number % 20,
            };
            let partition = u8::try_from(partition).unwrap();
            collector
                .emit(&[partition, number.to_le_bytes()[0]], b"")
                .unwrap();
            here = here.max(set_aside(&collector));
        }
        assert!(collector.collected.spills > 5);
        let (file, partitions) = collector.finish().unwrap();
        for (partition, place) in (0_u8..).zip(&partitions) {
            assert_eq!(place.records, 10_000);
            let mut run = SortedRun::new(Arc::clone(&file), place.offset, place.length, ARENA);
            let mut before = Vec::new();
            while run.advance().unwrap() {
                assert!(run.key()[0] == partition && run.key() >= before.as_slice());
                before = run.key().to_vec();
            }
        }
        most.push(here);
    }
    assert_eq!(most[0], most[1]);
    assert!(most[0] <= 2 * ARENA, "{most:?}");
}

/// Long records need the arena, and short ones entries: what the one kind has taken is given back for the other.
#[test]
fn memory_is_that_of_one_arena_whatever_the_records_before() {
    let mut collector = collector(2);
    let long = vec![1; 50_000];
    let mut most = 0;
    for round in 0..6 {
        for number in 0..60_000_u32 {
            match round % 2 {
                0 if number % 1000 == 0 => collector.emit(&long, b"").unwrap(),
                0 => {}
                _ => collector.emit(&[0, number.to_le_bytes()[0]], b"").unwrap(),
            }
            let (bytes, entries) = collector.touched;
            let bytes = bytes.max(collector.arena.len());
            let entries = entries.max(collector.entries.len());
            most = most.max(bytes + entries * collector.entries.each());
        }
    }
    assert!(collector.collected.spills > 10);
    assert!(most <= ARENA + ARENA / 8, "{most}");
    assert!(most > ARENA * 3 / 4, "{most}");
}
