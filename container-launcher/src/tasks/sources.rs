//! What a reduce reads: what maps have left here, and what is brought from other launchers before it begins.

use std::fs::File;
use std::sync::Arc;

use gerbil_task::{ReduceOrder, Source};
use job::JobId;
use job::wire::StartTask;

use crate::disks::Room;
use crate::shuffle::{
    Copies, Fetched, FetchedParts, Fetcher, From, Gather, MapOutput, MapOutputs, Missing, Waiting,
};

/// Where the sources of a task are, as its order tells.
pub(super) struct Sources {
    job: JobId,
    kept: MapOutputs,
    fetcher: Option<Fetcher>,
    /// Launchers that are fetched from at the same time.
    copies: usize,
    launchers: Vec<String>,
    kept_by: Vec<u32>,
    /// Of each source, the process that has left it.
    outputs: Vec<u32>,
    /// What is brought lies there.
    room: Room,
    /// What was gathered before.
    ahead: Copies,
}

/// What a source is read from.
pub(super) enum Origin {
    /// What a map has left here.
    Kept(Arc<MapOutput>),
    /// What was brought.
    Brought(Arc<File>),
}

impl Origin {
    pub(super) fn file(&self) -> &File {
        match self {
            Self::Kept(output) => &output.file,
            Self::Brought(file) => file,
        }
    }
}

/// A reduce's sources, each with what it is read from.
pub(super) struct Gathered {
    pub(super) order: ReduceOrder,
    pub(super) from: Vec<Origin>,
    /// Bytes of it that were gathered before.
    pub(super) ahead: u64,
}

impl Sources {
    /// Of a task of `job`; `fetcher` is there where it has to fetch, from so many at a time.
    pub(super) fn new(
        job: JobId,
        kept: MapOutputs,
        (fetcher, copies): (Option<Fetcher>, usize),
        order: &mut StartTask,
        room: Room,
        ahead: Copies,
    ) -> Self {
        Self {
            job,
            kept,
            fetcher,
            copies,
            launchers: std::mem::take(&mut order.launchers),
            kept_by: std::mem::take(&mut order.kept_by),
            outputs: std::mem::take(&mut order.outputs),
            room,
            ahead,
        }
    }

    /// Brings what is elsewhere, and finds what is here. Waits for the network and the disk, and ends soon after
    /// it is over.
    pub(super) fn gather(
        &self,
        order: &ReduceOrder,
        waiting: Waiting<'_>,
    ) -> Result<Gathered, Missing> {
        let ahead = self.gathered_ahead(order);
        let brought = match self.bring(order, &ahead, waiting) {
            // It may be that there is no room: what nobody reads makes some.
            Err(missing)
                if missing.maps.is_empty()
                    && !(waiting.is_over)()
                    && self.ahead.close(Some(order.task)) =>
            {
                crate::say(&format!(
                    "what was gathered ahead goes: {}",
                    missing.sentence
                ));
                self.bring(order, &ahead, waiting)?
            }
            brought => brought?,
        };
        let mut gathered = Gathered {
            order: ReduceOrder {
                sources: Vec::with_capacity(order.sources.len()),
                ..order.clone()
            },
            from: Vec::with_capacity(order.sources.len()),
            ahead: ahead
                .iter()
                .fold(0, |sum, (_, parts)| sum.saturating_add(bytes(parts))),
        };
        for source in &order.sources {
            let found = ahead.iter().chain(&brought).find_map(|(file, parts)| {
                let place = parts.binary_search_by_key(&source.map, |part| part.map);
                Some((file, parts.get(place.ok()?)?))
            });
            let (known, from) = match found {
                Some((file, part)) => (
                    (part.offset, part.length, part.records),
                    Origin::Brought(Arc::clone(file)),
                ),
                None => {
                    let output = self.kept.get(self.job, source.map);
                    let output = output.ok_or_else(|| missing(source.map))?;
                    let part = output.part(order.task);
                    let part = part.ok_or_else(|| missing(source.map))?;
                    (
                        (part.offset, part.length, part.records),
                        Origin::Kept(output),
                    )
                }
            };
            let (offset, length, records) = known;
            gathered.order.sources.push(Source {
                map: source.map,
                offset,
                length,
                records,
            });
            gathered.from.push(from);
        }
        Ok(gathered)
    }

    /// What lies here already of what is elsewhere.
    fn gathered_ahead(&self, order: &ReduceOrder) -> Vec<FetchedParts> {
        let mut all: Vec<FetchedParts> = Vec::new();
        let outputs = self.kept_by.iter().zip(&self.outputs);
        for (source, (kept_by, output)) in order.sources.iter().zip(outputs) {
            let copy = match kept_by {
                0 => None,
                _ => self.ahead.get(order.task, source.map, *output),
            };
            let Some(copy) = copy else {
                continue;
            };
            match all
                .iter_mut()
                .find(|(file, _)| Arc::ptr_eq(file, &copy.file))
            {
                Some((_, parts)) => parts.push(copy.part),
                None => all.push((copy.file, vec![copy.part])),
            }
        }
        for (_, parts) in &mut all {
            parts.sort_unstable_by_key(|part| part.map);
        }
        all
    }

    /// Brings what is elsewhere, but for what was gathered `ahead`.
    fn bring(
        &self,
        order: &ReduceOrder,
        ahead: &[FetchedParts],
        waiting: Waiting<'_>,
    ) -> Result<Vec<FetchedParts>, Missing> {
        let mut from: Vec<From<'_>> = (self.launchers.iter())
            .map(|address| From {
                address,
                maps: Vec::new(),
            })
            .collect();
        for (source, by) in order.sources.iter().zip(&self.kept_by) {
            let index = usize::try_from(*by).ok().and_then(|by| by.checked_sub(1));
            if let Some(one) = index.and_then(|index| from.get_mut(index)) {
                one.maps.push(source.map);
            }
        }
        let is_here = |map: &u32| {
            let mut all = ahead.iter();
            all.any(|(_, parts)| parts.binary_search_by_key(map, |part| part.map).is_ok())
        };
        for one in &mut from {
            one.maps.retain(|map| !is_here(map));
        }
        from.retain(|one| !one.maps.is_empty());
        if from.is_empty() {
            return Ok(Vec::new());
        }
        let fetcher = self.fetcher.as_ref().ok_or_else(|| Missing {
            sentence: "it has no keys to fetch".to_owned(),
            maps: Vec::new(),
        })?;
        let gather = Gather {
            fetcher,
            job: self.job,
            partition: order.task,
            room: &self.room,
            copies: self.copies,
        };
        gather.bring(&from, waiting)
    }
}

fn bytes(parts: &[Fetched]) -> u64 {
    parts
        .iter()
        .fold(0, |sum, part| sum.saturating_add(part.length))
}

/// An output that should be here.
fn missing(map: u32) -> Missing {
    Missing {
        sentence: format!("the output of map {map} is not here"),
        maps: vec![map],
    }
}
