//! What a reduce reads: what maps have left here, and what is brought from other launchers before it begins.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use gerbil_task::{ReduceOrder, Source};
use job::wire::StartTask;

use crate::fetch::{Fetched, Fetcher, Kept, MapOutput};
use crate::process::JobId;

/// Where the sources of a task are, as its order tells.
pub(super) struct Sources {
    job: JobId,
    kept: Kept,
    fetcher: Option<Fetcher>,
    launchers: Vec<String>,
    kept_by: Vec<u32>,
    /// What is brought lies there.
    folder: PathBuf,
}

/// Not everything is there.
#[derive(Debug)]
pub(super) struct Missing {
    pub(super) sentence: String,
    /// Whose outputs could not be had; none: it is no fault of theirs.
    pub(super) maps: Vec<u32>,
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

/// What one launcher has given: a file, and the parts that are in it, by the maps' numbers.
type Brought = (Arc<File>, Vec<Fetched>);

/// A reduce's sources, each with what it is read from.
pub(super) struct Gathered {
    pub(super) order: ReduceOrder,
    pub(super) from: Vec<Origin>,
}

impl Sources {
    /// Of a task of `job`; `fetcher` is there where it has to fetch.
    pub(super) fn new(
        job: JobId,
        kept: Kept,
        fetcher: Option<Fetcher>,
        order: &mut StartTask,
        folder: PathBuf,
    ) -> Self {
        Self {
            job,
            kept,
            fetcher,
            launchers: std::mem::take(&mut order.launchers),
            kept_by: std::mem::take(&mut order.kept_by),
            folder,
        }
    }

    /// Brings what is elsewhere, and finds what is here. Waits for the network and the disk, and ends soon after
    /// it `is_over`.
    pub(super) fn gather(
        &self,
        order: &ReduceOrder,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Gathered, Missing> {
        let brought = self.bring_all(order, is_over)?;
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

    /// One launcher after the other.
    fn bring_all(
        &self,
        order: &ReduceOrder,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Vec<Brought>, Missing> {
        let mut all = Vec::new();
        for (place, address) in (1_u32..).zip(&self.launchers) {
            let theirs = order.sources.iter().zip(&self.kept_by);
            let theirs = theirs.filter(|(_, by)| **by == place);
            let maps: Vec<u32> = theirs.map(|(source, _)| source.map).collect();
            let fault = |sentence: String, accuses: bool| Missing {
                sentence,
                maps: match accuses {
                    true => maps.clone(),
                    false => Vec::new(),
                },
            };
            let fetcher = self.fetcher.as_ref();
            let fetcher = fetcher.ok_or_else(|| fault("it has no keys to fetch".into(), false))?;
            let file = tempfile::tempfile_in(&self.folder).map_err(|error| {
                let folder = self.folder.display();
                fault(
                    format!("no file for what is fetched in {folder}: {error}"),
                    false,
                )
            })?;
            let what = (self.job, order.task, maps.as_slice());
            let brought = fetcher.bring(address, what, (&file, 0), is_over);
            let mut parts = brought.map_err(|error| fault(error.to_string(), error.accuses()))?;
            parts.sort_unstable_by_key(|part| part.map);
            all.push((Arc::new(file), parts));
        }
        Ok(all)
    }
}

/// An output that should be here.
fn missing(map: u32) -> Missing {
    Missing {
        sentence: format!("the output of map {map} is not here"),
        maps: vec![map],
    }
}
