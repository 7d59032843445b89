//! One reduce: merge, group, reduce, write.

use std::marker::PhantomData;
use std::sync::Arc;

use gerbil_task::{Page, Phase, ReduceOrder};

use crate::context::{Context, Counters};
use crate::datum::{Key, Value};
use crate::emit::{Output, Sink, Writers};
use crate::error::{Context as _, Error, Result};
use crate::order::Order;
use crate::output::WriterOf;
use crate::reduce::{GroupState, Reducer, Values};
use crate::sentence::quoted;
use crate::sort::block::SortedRun;
use crate::sort::combine::Run;
use crate::sort::merge::Merging;
use crate::sort::scratch::Scratch;
use crate::task::phases::{self, Sampled, Timed};

/// A reduce to do, and what it is done with.
pub(crate) struct ReduceRun {
    pub(crate) order: ReduceOrder,
    pub(crate) context: Context,
    pub(crate) scratch: Arc<Scratch>,
    pub(crate) output: WriterOf,
}

/// What makes a group, and in which order they come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grouping {
    /// The first part of a tuple alone.
    pub(crate) by_first: bool,
    pub(crate) order: Order,
}

pub(crate) fn run_reduce<K: Key, V: Value, R: Reducer<K, V>>(
    mut reducer: R,
    grouping: Grouping,
    run: ReduceRun,
) -> Result<Counters> {
    let ReduceRun {
        order,
        mut context,
        scratch,
        output,
    } = run;
    let Grouping {
        by_first,
        order: by,
    } = grouping;
    let page = context.page.clone();
    let expected: u64 = order.sources.iter().map(|source| source.records).sum();
    phases::begin();
    page.begin(u64::from(order.task), expected);
    page.phase(Phase::Sort);
    // An empty part is no run.
    let sources: Vec<_> = (0_u32..)
        .zip(&order.sources)
        .filter(|(_, source)| source.length > 0)
        .collect();
    let merging = Merging {
        order: by,
        budget: context.settings.arena()?,
        record_max: context.settings.record_max()?,
        scratch: Arc::clone(&scratch),
        page: page.clone(),
    };
    let ground = &mut context.ground;
    let open = &mut |at: usize| {
        let (number, source) = sources
            .get(at)
            .ok_or_else(|| Error::new("a source that is none"))?;
        let file = ground.source(*number)?;
        Ok(SortedRun::new(
            Arc::new(file.into()),
            source.offset,
            source.length,
            merging.record_max,
        ))
    };
    let mut merge = phases::within(Timed::Sort, || merging.of(sources.len(), open))?;
    let mut sink = Sink::Write(Writers::new(output, &mut context)?);
    page.phase(Phase::Setup);
    let setup = reducer.setup(&mut context);
    setup.and_then(|()| context.counted()).context(|| "setup")?;
    page.phase(Phase::Reduce);
    let mut out = Output::new(&mut context, &mut sink);
    let (mut groups, mut records) = (0_u64, 0_u64);
    let mut timed = Sampled::some();
    let (mut skipped_groups, mut skipped_records) = (0_u64, 0_u64);
    // What cannot be read is no fault of a group, and none is left out for it.
    let unread = |_: &Error| page.phase(Phase::Sort);
    let mut key = Vec::new();
    let mut more = merge.advance().inspect_err(unread)?;
    while more {
        key.clear();
        key.extend_from_slice(merge.key());
        let length = if by_first {
            K::first_length(&key)?
        } else {
            key.len()
        };
        let group = key.get(..length).unwrap_or_default();
        page.record(0, groups);
        let weight = timed.weight();
        let is_timed = timed.is_due();
        if is_timed {
            out.time(weight);
        }
        let mut values = Values {
            run: Run::Merged(&mut merge),
            group,
            by_first,
            order: by,
            state: GroupState::First,
            records: 0,
            before: Some(records),
            page: &page,
            scratch: Some(&scratch),
            is_broken: false,
            of: PhantomData::<fn(K, V)>,
        };
        let is_skipped = order.skip.binary_search(&groups).is_ok();
        let done = match is_skipped {
            true => Ok(()),
            false => reducer
                .reduce(K::decode(by.key(&key))?, &mut values, &mut out)
                .and_then(|()| out.counted()),
        };
        if is_timed {
            timed.passed();
            out.time_no_more();
        }
        if values.is_broken || done.as_ref().err().is_some_and(Error::is_placed) {
            page.phase(Phase::Sort);
        }
        done.map_err(|error| {
            if let Some(group) = error.record() {
                return blamed(error, group, &page);
            }
            let mut shown = Vec::new();
            let shown = match K::text(by.key(&key), &mut shown) {
                Ok(()) => quoted(&String::from_utf8_lossy(&shown)),
                Err(_) => "?".to_owned(),
            };
            error.context(format!("group {groups}, key {shown}"))
        })?;
        // Values that the reducer did not ask for.
        while values.step().inspect_err(unread)? {}
        more = values.state == GroupState::Next;
        records += values.records;
        if is_skipped {
            skipped_groups += 1;
            skipped_records += values.records;
        }
        groups += 1;
    }
    page.phase(Phase::Cleanup);
    if records != expected {
        return Err(Error::new(format!(
            "{records} records were merged where the maps have {expected}"
        )));
    }
    let cleanup = reducer.cleanup(&mut out);
    let cleanup = cleanup.and_then(|()| out.counted());
    cleanup.map_err(|error| match error.record() {
        Some(group) => blamed(error, group, &page),
        None => error.context("cleanup"),
    })?;
    page.phase(Phase::Output);
    if let Sink::Write(writers) = &mut sink {
        phases::within(Timed::Write, || writers.finish())?;
        context.count_task("REDUCE_OUTPUT_RECORDS", writers.records);
    }
    context.count_task("REDUCE_INPUT_GROUPS", groups - skipped_groups);
    context.count_task("REDUCE_INPUT_RECORDS", records - skipped_records);
    if skipped_groups > 0 {
        context.count_task("REDUCE_SKIPPED_GROUPS", skipped_groups);
        context.count_task("REDUCE_SKIPPED_RECORDS", skipped_records);
    }
    let bytes = order.sources.iter().map(|source| source.length).sum();
    context.count_task("REDUCE_SHUFFLE_BYTES", bytes);
    page.phase(Phase::Idle);
    let mut counters = context.counting.finish();
    phases::count('r', &mut counters);
    Ok(counters)
}

/// The error of a group that the reducer was given before: the page tells of that.
fn blamed(error: Error, (number, at): (u64, u64), page: &Page) -> Error {
    page.record(at, number);
    page.phase(Phase::Reduce);
    error.context(format!("group {number}"))
}
