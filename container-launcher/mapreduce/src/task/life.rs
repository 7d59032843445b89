//! Signs of life: whatever a user's code asks of the engine within one record or one group is one, so that neither is
//! taken for a task that hangs, however many emits and values it has.

use std::sync::Arc;

use gerbil_task::Page;

use crate::partition::hashed;
use crate::prelude::*;
use crate::sort::Collector;
use crate::sort::block::{BlockWriter, SortedRun};
use crate::sort::codec::Codec;
use crate::sort::collect::Sizes;
use crate::sort::merge::Merging;
use crate::sort::scratch::Scratch;

/// What `work` gives, which must have shown life.
fn alive<T>(page: &Page, work: impl FnOnce() -> T) -> T {
    let before = page.read();
    let done = work();
    assert_ne!(page.read(), before, "that was no sign of life");
    done
}

struct Emits;

impl Mapper for Emits {
    type Input = TextLines;
    type Key = Text;
    type Value = u64;

    fn map(&mut self, _: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let page = out.page.clone();
        for _ in 0..3 {
            alive(&page, || out.emit(line, &1))?;
            alive(&page, || out.count("group", "counter", 1));
            alive(&page, || out.status("half way"))?;
            alive(&page, || out.progress());
        }
        Ok(())
    }
}

struct Takes;

impl Reducer<Text, u64> for Takes {
    type Key = Text;
    type Value = u64;

    fn reduce(
        &mut self,
        key: &[u8],
        values: &mut Values<'_, Text, u64>,
        out: &mut Output<'_, Text, u64>,
    ) -> Result<()> {
        let page = out.page.clone();
        alive(&page, || values.next().map(drop))?;
        alive(&page, || values.next_pair().map(drop))?;
        alive(&page, || out.emit(key, &1))?;
        alive(&page, || out.emit_to("side", key, &1))?;
        alive(&page, || out.pass(key, &[0; 8]))?;
        let mut before = page.read();
        values.fold((), |(), _| {
            assert_ne!(page.read(), before, "a value is no sign of life");
            before = page.read();
            Ok(())
        })?;
        // How far the reduce is grows within a group, too.
        let seen = page.read();
        assert!(
            seen.done.is_multiple_of(6) && seen.done > 0 && seen.total == 12,
            "{seen:?}"
        );
        Ok(())
    }
}

#[test]
fn what_a_mapper_and_a_reducer_ask_for_is_a_sign_of_life() {
    let job = Job::new("life").map(|| Emits).reduce(|| Takes);
    let done = job.test().input("a\nb\na\nb\n").run().unwrap();
    assert_eq!(done.counter("group", "counter"), 12);
    let written = Job::new("life").map(|| Emits).map_only();
    written.test().input("a\n").reduces(0).run().unwrap();
}

fn scratch() -> Arc<Scratch> {
    let folder = std::fs::File::open(std::env::temp_dir()).unwrap();
    Arc::new(Scratch::new(folder.into(), None))
}

/// A combiner may take any time for each two values, wherever they are folded: as they are emitted, which is a sign of life
/// by itself, when they are spilled, and when spills are merged.
#[test]
fn every_fold_is_a_sign_of_life() {
    let (page, _descriptor) = Page::create().unwrap();
    let sizes = Sizes {
        arena: 1 << 20,
        record_max: 1 << 18,
        codec: Codec::None,
    };
    let (watched, mut before) = (page.clone(), page.read());
    let fold = move |left: &[u8], _: &[u8], out: &mut Vec<u8>| {
        assert_ne!(watched.read(), before, "a fold is no sign of life");
        before = watched.read();
        out.extend_from_slice(left);
        Ok(())
    };
    let place = hashed::<Text>(1, false);
    let emitted = page.clone();
    let mut collector = Collector::new(1, sizes, Some(Box::new(fold)), place, scratch(), page);
    // More keys than the table has room for, so that the same ones come to the arena, and to spills, again and again.
    for number in 0..60_000_u32 {
        let key = format!(
            "a key that is longer than a slot has room for {}",
            number % 15_000
        );
        emitted.alive();
        collector
            .emit(key.as_bytes(), b"a value of its own")
            .unwrap();
    }
    let (_, partitions) = collector.finish().unwrap();
    assert!(collector.collected.spills > 1);
    assert_eq!(partitions[0].records, 15_000);
}

/// Sorting, spilling and merging may take longer than any record: each block that is written is a sign of life.
#[test]
fn every_block_is_a_sign_of_life() {
    let (page, _descriptor) = Page::create().unwrap();
    let mut writer = BlockWriter::new(scratch().on_disk().unwrap(), Codec::None, &page).unwrap();
    let begun = page.read().stamp;
    for number in 0..40_u32 {
        writer.record(&number.to_be_bytes(), &[7; 100_000]).unwrap();
    }
    writer.end_partition().unwrap();
    let blocks = page.read().stamp - begun;
    assert!((10..=40).contains(&blocks), "{blocks}");
    let (file, partitions) = writer.finish();
    let file = Arc::new(file);
    let merging = Merging {
        order: Order::Sorted,
        budget: 1 << 20,
        record_max: 1 << 18,
        scratch: scratch(),
        page: page.clone(),
    };
    let before = page.read().stamp;
    let length = partitions[0].length;
    let runs = merging.of(9, &mut |_| {
        Ok(SortedRun::new(Arc::clone(&file), 0, length, 1 << 18))
    });
    drop(runs.unwrap());
    // Nine runs are too many for one merge here: what is merged first is written.
    assert!(page.read().stamp - before >= 9 * blocks / 2, "{blocks}");
}
