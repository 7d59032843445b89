//! What a reduce reads: what maps have left here, and what is brought from other launchers before it begins.

use std::fs::File;
use std::sync::Arc;

use gerbil_task::{ReduceOrder, Source};
use job::wire::StartTask;

use crate::disks::Room;
use crate::process::JobId;
use crate::shuffle::{Brought, Fetcher, From, Gather, MapOutput, MapOutputs, Missing, Waiting};

/// Where the sources of a task are, as its order tells.
pub(super) struct Sources {
    job: JobId,
    kept: MapOutputs,
    fetcher: Option<Fetcher>,
    /// Launchers that are fetched from at the same time.
    copies: usize,
    launchers: Vec<String>,
    kept_by: Vec<u32>,
    /// What is brought lies there.
    room: Room,
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
}

impl Sources {
    /// Of a task of `job`; `fetcher` is there where it has to fetch, from so many at a time.
    pub(super) fn new(
        job: JobId,
        kept: MapOutputs,
        (fetcher, copies): (Option<Fetcher>, usize),
        order: &mut StartTask,
        room: Room,
    ) -> Self {
        Self {
            job,
            kept,
            fetcher,
            copies,
            launchers: std::mem::take(&mut order.launchers),
            kept_by: std::mem::take(&mut order.kept_by),
            room,
        }
    }

    /// Brings what is elsewhere, and finds what is here. Waits for the network and the disk, and ends soon after
    /// it is over.
    pub(super) fn gather(
        &self,
        order: &ReduceOrder,
        waiting: Waiting<'_>,
    ) -> Result<Gathered, Missing> {
        let brought = self.bring(order, waiting)?;
        let mut gathered = Gathered {
            order: ReduceOrder {
                sources: Vec::with_capacity(order.sources.len()),
                ..order.clone()
            },
            from: Vec::with_capacity(order.sources.len()),
        };
        for source in &order.sources {
            let found = brought.iter().find_map(|(file, parts)| {
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

    fn bring(&self, order: &ReduceOrder, waiting: Waiting<'_>) -> Result<Vec<Brought>, Missing> {
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

/// An output that should be here.
fn missing(map: u32) -> Missing {
    Missing {
        sentence: format!("the output of map {map} is not here"),
        maps: vec![map],
    }
}
