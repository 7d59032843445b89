//! One map: read, map, collect or write.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use gerbil_task::{MapOrder, Page, Partition, Phase};

use crate::combiner::Combining;
use crate::context::{Context, Counters};
use crate::emit::{Output, Sink, Writers};
use crate::error::{Context as _, Error, Result};
use crate::hot_keys;
use crate::input::{Consumed, InputFormat, Source};
use crate::job::MakePlace;
use crate::map::Mapper;
use crate::order::Order;
use crate::output::WriterOf;
use crate::output::sync::SEED;
use crate::settings::{
    ACC_FALLBACK, ACC_MODULES, ACC_TIMEOUT, CODEC_MAP, COMBINE, COMPRESS_MAP, INPUT_MAPS,
    NEEDS_MAP, NEEDS_REDUCE, SPLIT_MAX, SPLIT_PACK, Settings,
};
use crate::sort::Collector;
use crate::sort::codec::Codec;
use crate::sort::collect::{Sizes, Spare};
use crate::sort::digest::Seeds;
use crate::sort::scratch::{Scratch, Spill};
use crate::task::phases::{self, Sampled, Timed};

/// A map to do, and what it is done with.
pub(crate) struct MapRun<'a> {
    pub(crate) order: &'a MapOrder,
    pub(crate) context: Context,
    pub(crate) scratch: Arc<Scratch>,
    /// The arena of the process's last map.
    pub(crate) spare: &'a mut Spare,
    pub(crate) direct: WriterOf,
}

/// What a map leaves.
pub(crate) struct MapDone {
    pub(crate) counters: Counters,
    pub(crate) output: Option<(Arc<Spill>, Vec<Partition>)>,
}

pub(crate) fn sizes(settings: &Settings) -> Result<Sizes> {
    let codec = if settings.parse_if(COMPRESS_MAP)?.unwrap_or(true) {
        settings.get(CODEC_MAP).unwrap_or("lz4")
    } else {
        "none"
    };
    Ok(Sizes {
        arena: settings.arena()?,
        record_max: settings.record_max()?,
        codec: Codec::of_name(codec)?,
    })
}

pub(crate) fn run_map<M: Mapper>(
    make: &dyn Fn() -> M,
    combining: Option<&Combining>,
    place: &MakePlace,
    keys: Order,
    run: MapRun<'_>,
) -> Result<MapDone> {
    let MapRun {
        order,
        mut context,
        scratch,
        spare,
        direct,
    } = run;
    let settings = context.settings.clone();
    let combines = settings.parse_if::<bool>(COMBINE)?.unwrap_or(true);
    let combining = combining.filter(|_| combines);
    context.split.clone_from(&order.pieces);
    let page = context.page.clone();
    phases::begin();
    page.begin(
        u64::from(order.task),
        order.pieces.iter().map(|piece| piece.length).sum(),
    );
    let mut sink = if order.partitions == 0 {
        Sink::Write(Writers::new(direct, &mut context)?)
    } else {
        let place = place(order.partitions, &settings)?;
        let fold = combining.and_then(Combining::fold);
        let groups = combining.and_then(|combining| combining.groups(&mut context, keys));
        let mut collector = Collector::new(
            order.partitions,
            sizes(&settings)?,
            fold,
            place,
            scratch,
            page.clone(),
        )
        .in_order(keys)
        .seeded(seeds(order, &settings));
        if let Some(groups) = groups {
            collector = collector.combined_by(groups);
        }
        collector.recycle(spare);
        Sink::Collect(Box::new(collector))
    };
    let mut mapper = make();
    let setup = mapper.setup(&mut context);
    setup.and_then(|()| context.counted()).context(|| "setup")?;
    let records = feed(
        &mut mapper,
        order,
        &mut context,
        &mut sink,
        &settings,
        Share::ALL,
    )?;
    page.phase(Phase::Cleanup);
    let cleanup = mapper.cleanup(&mut Output::new(&mut context, &mut sink));
    let cleanup = cleanup.and_then(|()| context.counted());
    cleanup.map_err(|error| match error.record() {
        Some(record) => blamed(error, record, &page, &context.input),
        None => error.context("cleanup"),
    })?;
    context.count_task("MAP_INPUT_RECORDS", records);
    if order.task == 0 {
        hot_keys::count(&settings, &mut context.counting);
    }
    let mut output = None;
    match &mut sink {
        Sink::Write(writers) => {
            page.phase(Phase::Output);
            phases::within(Timed::Write, || writers.finish())?;
            context.count_task("MAP_OUTPUT_RECORDS", writers.records);
        }
        Sink::Collect(collector) => {
            let (file, partitions) = phases::within(Timed::Collect, || collector.finish())?;
            let collected = collector.collected;
            context.counting.absorb(collector.counted());
            context.counted()?;
            collector.recycle(spare);
            context.count_task("MAP_OUTPUT_RECORDS", collected.records);
            context.count_task("MAP_OUTPUT_BYTES", collected.bytes);
            context.count_task("SPILLED_RECORDS", collected.spilled);
            context.counting.add("gerbil", "SPILLS", collected.spills);
            let stored = partitions.iter().map(|partition| partition.length).sum();
            context.count_task("MAP_OUTPUT_MATERIALIZED_BYTES", stored);
            let left = || partitions.iter().map(|partition| partition.records).sum();
            let combined = combining.map(|combining| match combining {
                Combining::Fold(_) => (collected.records, left()),
                Combining::Groups(_) => collected.combined,
            });
            if let Some((taken, emitted)) = combined {
                context.count_task("COMBINE_INPUT_RECORDS", taken);
                context.count_task("COMBINE_OUTPUT_RECORDS", emitted);
            }
            output = Some((file, partitions));
        }
        Sink::Combined(_) | Sink::Keys(_) | Sink::Timed(..) => {}
    }
    page.phase(Phase::Idle);
    let mut counters = context.counting.finish();
    phases::count('m', &mut counters);
    Ok(MapDone { counters, output })
}

/// Shows with each read that the map gets on: a format may look for the beginning of a record for long.
struct Watched {
    reader: Box<dyn Read>,
    page: Page,
}

impl Read for Watched {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = phases::within(Timed::Read, || self.reader.read(into));
        self.page.alive();
        read
    }
}

/// Bytes of input after which progress is shown, however few records they are.
const SHOWN: u64 = 1 << 20;

/// Settings that make no seeds: a job of the same input writes the same bytes on another machine and in another run. The driver
/// draws a seed of syncs for each run. Free memory decides whether map output is compressed. A GPU's memory bounds how long splits
/// are, and so how many each input has, and the split itself is in the seeds. Whether a cluster has accelerators decides what stages need.
const UNSEEDED: [&str; 10] = [
    SEED,
    INPUT_MAPS,
    COMPRESS_MAP,
    SPLIT_MAX,
    SPLIT_PACK,
    NEEDS_MAP,
    NEEDS_REDUCE,
    ACC_FALLBACK,
    ACC_MODULES,
    ACC_TIMEOUT,
];

/// Seeds of a task, which its attempts have in common: of the settings, and of the split to the last byte of its files' lengths.
/// Keys that collide under them are of use in this task alone. An author of input who knows settings, split and program of the
/// job can compute them: they are no secret.
fn seeds(order: &MapOrder, settings: &Settings) -> Seeds {
    let pieces = order.pieces.iter().flat_map(|piece| {
        let numbers = [piece.offset, piece.length, piece.size].map(u64::to_le_bytes);
        [piece.name.clone().into_bytes(), numbers.concat()]
    });
    let given = settings.given().iter();
    let settings = given
        .filter(|(name, _)| !UNSEEDED.contains(&name.as_str()))
        .flat_map(|(name, value)| [name.clone().into_bytes(), value.clone().into_bytes()]);
    let parts: Vec<Vec<u8>> = settings.chain(pieces).collect();
    Seeds::of(parts.iter().map(Vec::as_slice))
}

/// How much of each piece of a split is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub(super) records: u64,
    /// Bytes as they are stored; the record that goes beyond them is the last.
    pub(super) bytes: u64,
}

impl Share {
    const ALL: Self = Self {
        records: u64::MAX,
        bytes: u64::MAX,
    };
}

/// Gives the mapper the records of the split, of each piece its share. Returns how many there were.
pub(super) fn feed<M: Mapper>(
    mapper: &mut M,
    order: &MapOrder,
    context: &mut Context,
    sink: &mut Sink,
    settings: &Settings,
    share: Share,
) -> Result<u64> {
    let page = context.page.clone();
    let consumed = Consumed::default();
    let mut out = Output::new(context, sink);
    let (mut number, mut records) = (0_u64, 0_u64);
    let mut skipped = 0_u64;
    let mut shown = 0_u64;
    let mut looks = Sampled::some();
    page.phase(Phase::Map);
    for (index, piece) in (0_u32..).zip(&order.pieces) {
        page.piece(u64::from(index));
        out.input.clone_from(&piece.name);
        // What cannot be read is no fault of a record, and none is left out for it.
        let unread = |_: &Error| page.phase(Phase::Fetch);
        let mut source = match M::Input::FILES {
            false => Source::without_file(piece),
            true if M::Input::PLACES => {
                Source::by_places(&out.ground.input(index), piece, &consumed)
            }
            true => Source::new(&out.ground.input(index), piece, &consumed).inspect_err(unread)?,
        };
        source.reader = Box::new(Watched {
            reader: source.reader,
            page: page.clone(),
        });
        let mut reader = M::Input::open(source, settings).inspect_err(unread)?;
        let (last, before) = (
            number.saturating_add(share.records),
            consumed.load(Ordering::Relaxed),
        );
        while number < last && consumed.load(Ordering::Relaxed) - before <= share.bytes {
            let at = M::Input::position(&reader);
            page.record(at, number);
            let from = if looks.is_due() {
                out.time(looks.weight());
                Some(phases::worked())
            } else {
                None
            };
            let found = M::Input::next(&mut reader).inspect_err(unread);
            let found = found.inspect(|_| {
                if let Some(from) = &from {
                    looks.took(Timed::Read, from);
                }
            });
            let Some((key, value)) = found? else {
                out.time_no_more();
                break;
            };
            if order.skip.binary_search(&number).is_ok() {
                skipped += 1;
                number += 1;
                out.time_no_more();
                continue;
            }
            let mapped = mapper.map(key, value, &mut out);
            if from.is_some() {
                out.time_no_more();
            }
            records += M::Input::records(&reader);
            mapped.and_then(|()| out.counted()).map_err(|error| {
                if let Some(record) = error.record() {
                    return blamed(error, record, &page, &piece.name);
                }
                if error.is_placed() {
                    // None is left out for what another one has done.
                    page.phase(Phase::Fetch);
                    return error;
                }
                error.context(format!("{}, record {number} at byte {at}", piece.name))
            })?;
            number += 1;
            let read = consumed.load(Ordering::Relaxed);
            if number % 256 == 0 || read - shown >= SHOWN {
                shown = read;
                page.done(if M::Input::FILES { read } else { number });
            }
        }
    }
    page.done(order.pieces.iter().map(|piece| piece.length).sum());
    if skipped > 0 {
        out.count_task("MAP_SKIPPED_RECORDS", skipped);
    }
    let read = consumed.load(Ordering::Relaxed);
    out.counting.add(
        "org.apache.hadoop.mapreduce.lib.input.FileInputFormatCounter",
        "BYTES_READ",
        read,
    );
    Ok(records)
}

/// The error of a record that the mapper was given before: the page tells of that.
fn blamed(error: Error, (number, at): (u64, u64), page: &Page, file: &str) -> Error {
    page.record(at, number);
    page.phase(Phase::Map);
    error.context(format!("{file}, record {number} at byte {at}"))
}

#[cfg(test)]
mod tests {
    use gerbil_task::{MapOrder, Piece};

    use super::{CODEC_MAP, Seeds, Settings, UNSEEDED, seeds};

    fn seeds_of(given: &[(&str, &str)], length: u64) -> Seeds {
        let mut settings = Settings::default();
        for (name, value) in given {
            settings.set(name, value);
        }
        let piece = Piece {
            name: "input".to_owned(),
            offset: 0,
            length,
            size: 1000,
        };
        let order = MapOrder {
            task: 0,
            attempt: 0,
            partitions: 2,
            pieces: vec![piece],
            skip: Vec::new(),
        };
        seeds(&order, &settings)
    }

    #[test]
    fn what_a_machine_or_a_run_adds_to_the_settings_changes_no_seeds() {
        let plain = seeds_of(&[], 100);
        for name in UNSEEDED {
            for value in ["false", "7"] {
                assert_eq!(seeds_of(&[(name, value)], 100), plain, "{name}={value}");
            }
        }
        assert_ne!(seeds_of(&[(CODEC_MAP, "zstd")], 100), plain);
        assert_ne!(seeds_of(&[("job.option", "7")], 100), plain);
        assert_ne!(seeds_of(&[], 101), plain);
    }
}
