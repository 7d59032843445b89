use std::sync::Arc;

use gerbil_task::Page;

use super::{Collector, Fold, RecordPlace, Sizes};
use crate::error::Result;
use crate::order::Order;
use crate::sort::block::SortedRun;
use crate::sort::codec::Codec;
use crate::sort::scratch::Scratch;

const ARENA: usize = 1 << 20;

/// A collector that deals by the first byte of the key.
fn collector(partitions: u32) -> Collector {
    collector_with(partitions, None)
}

fn collector_with(partitions: u32, fold: Option<Box<dyn Fold>>) -> Collector {
    let (page, _descriptor) = Page::create().unwrap();
    let folder = std::fs::File::open(std::env::temp_dir()).unwrap();
    let scratch = Arc::new(Scratch::new(folder.into(), None));
    let sizes = Sizes {
        arena: ARENA,
        record_max: ARENA / 4,
        codec: Codec::None,
    };
    let place = RecordPlace::by_key(|key| Ok(u32::from(key[0])));
    Collector::new(partitions, sizes, fold, place, scratch, page)
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

/// Entries are dealt into other memory than they came in, and all of it counts as taken.
#[test]
fn memory_is_that_of_one_arena_with_several_reduces() {
    let mut collector = collector(3);
    let long = vec![1; 50_000];
    let mut most = 0;
    for round in 0..6 {
        for number in 0..60_000_u32 {
            let [a, b, ..] = number.to_le_bytes();
            match round % 2 {
                0 if number % 1000 == 0 => collector.emit(&long, b"").unwrap(),
                0 => {}
                _ => {
                    let place = u8::try_from(number % 3).unwrap();
                    collector.emit(&[place, a, b], b"").unwrap();
                }
            }
            let bytes = collector.touched.0.max(collector.arena.len());
            most = most.max(bytes + collector.entries.set_aside());
        }
    }
    assert!(collector.collected.spills > 10);
    assert!(most <= ARENA * 3 / 2, "{most}");
    assert!(most > ARENA * 3 / 4, "{most}");
}

/// Where the values of one key are folded.
#[derive(Clone, Copy, Debug)]
enum Where {
    /// As they are emitted.
    Table,
    /// When the arena is spilled.
    Spill,
    /// When spills are merged.
    Merge,
}

/// Emits values of a third of `all` bytes each, of one long key, which are appended to each other; what the reduce reads of it.
fn combined(place: Where, order: Order, key: &[u8], all: usize) -> Result<Vec<u8>> {
    let append = |left: &[u8], right: &[u8], out: &mut Vec<u8>| {
        // Values of other keys do not grow.
        out.extend_from_slice(left);
        if left.len() > 8 {
            out.extend_from_slice(right);
        }
        Ok(())
    };
    let mut collector = collector_with(2, Some(Box::new(append))).in_order(order);
    let mut number = 0_u64;
    let mut others = |collector: &mut Collector, count: usize, length: usize| -> Result<()> {
        for _ in 0..count {
            number += 1;
            let key = [[0].as_slice(), &number.to_be_bytes()].concat();
            collector.emit(&key, &vec![7; length])?;
        }
        Ok(())
    };
    for length in [all / 3, all / 3, all - all / 3 * 2] {
        collector.emit(key, &vec![8; length])?;
        match place {
            Where::Table => {}
            // Enough to empty the table; and enough to empty the arena.
            Where::Spill => others(&mut collector, 2_500, 8)?,
            Where::Merge => others(&mut collector, 60, 20_000)?,
        }
    }
    let (file, partitions) = collector.finish()?;
    let spills = collector.collected.spills;
    assert_eq!(spills > 2, matches!(place, Where::Merge), "{spills} spills");
    let place = partitions[1];
    assert_eq!(place.records, 1);
    let mut run = SortedRun::new(file, place.offset, place.length, ARENA / 4);
    assert!(run.advance()?);
    assert_eq!(order.key(run.key()), key);
    Ok(run.value().to_vec())
}

/// What the combiner makes is a record like others: what may be stored can be read, and what cannot be read is refused
/// where it is made.
#[test]
fn a_combined_record_may_have_what_a_record_may_have_and_no_byte_more() {
    for place in [Where::Table, Where::Spill, Where::Merge] {
        for order in [Order::Sorted, Order::Grouped] {
            for key_length in [1, 9, 20_000, 130_000] {
                let key = vec![1; key_length];
                let most = ARENA / 4 - key_length - order.ahead();
                for all in [most - 1, most] {
                    let value = combined(place, order, &key, all).unwrap();
                    assert_eq!(value.len(), all, "{place:?}, {order:?}");
                }
                let error = combined(place, order, &key, most + 1)
                    .unwrap_err()
                    .to_string();
                assert!(
                    error.starts_with(&format!(
                        "the combiner made a value of {} bytes of two with",
                        most + 1
                    )) && error.contains(": raise gerbil.record.max"),
                    "{place:?}, {order:?}: {error}"
                );
            }
        }
    }
}
