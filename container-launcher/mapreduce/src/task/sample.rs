//! Keys out of the input, for a driver that says where ranges of keys begin.
//!
//! Some splits are read, evenly chosen, and of each some windows that lie all over it: files are often sorted, and the
//! first records of a split say nothing of the others. What cannot be cut is read from its beginning, up to a bound.

use std::fs::File;
use std::rc::Rc;

use gerbil_task::{MapOrder, Page, Piece};

use super::map::{Share, feed};
use crate::context::{Context, Ground};
use crate::counting::Counting;
use crate::emit::Sink;
use crate::error::{Context as _, Error, Result};
use crate::input::splits::{OpenNamed, one};
use crate::input::{Compression, Granule, InputFormat, Open};
use crate::map::Mapper;
use crate::partition::group;
use crate::settings::Settings;
use crate::sort::digest::split_mix;

/// Splits that are read.
const SPLITS: usize = 10;
/// Pieces that are read of one split.
const PIECES: usize = 100;
/// Windows of a split that is one piece.
const WINDOWS: usize = 10;
/// A window has at least so many bytes.
const WINDOW_MIN: u64 = 64 << 10;
/// Records that are read of a split, all its windows together.
const RECORDS: u64 = 10_000;
/// The same of a split that cannot be cut, and its bytes as they are stored.
const UNCUT: Share = Share {
    records: 1_000_000,
    bytes: 32 << 20,
};
/// Keys that are kept of a split.
const KEYS: usize = 10_000;
/// Bytes that are kept of a key: where a range begins is told to every task.
const KEY: usize = 256;

/// Some keys of all that are emitted, each of them as likely as the others; the same ones on every run.
pub(crate) struct KeySample {
    /// What of a key makes its group.
    group: fn(&[u8]) -> Result<&[u8]>,
    keys: Vec<Vec<u8>>,
    seen: u64,
    state: u64,
}

impl KeySample {
    const fn new(group: fn(&[u8]) -> Result<&[u8]>) -> Self {
        Self {
            group,
            keys: Vec::new(),
            seen: 0,
            state: 0,
        }
    }

    /// Looks at one key more, and keeps it in the place of another, or not.
    pub(crate) fn take(&mut self, key: &[u8]) -> Result<()> {
        let key = (self.group)(key)?;
        let key = key.get(..KEY).unwrap_or(key);
        self.seen += 1;
        if self.keys.len() < KEYS {
            self.keys.push(key.to_vec());
            return Ok(());
        }
        let place = crate::width::size(split_mix(&mut self.state) % self.seen);
        if let Some(kept) = self.keys.get_mut(place) {
            kept.clear();
            kept.extend_from_slice(key);
        }
        Ok(())
    }
}

/// Opens files as the driver's client has them.
struct DriverFiles {
    pieces: Vec<Piece>,
    open: OpenNamed,
}

impl Ground for DriverFiles {
    fn input(&mut self, piece: u32) -> Open {
        match self.pieces.get(piece as usize) {
            Some(piece) => one(&self.open, &piece.name),
            None => Rc::new(|_| Err(Error::new("a piece that is none"))),
        }
    }

    fn source(&mut self, _: u32) -> Result<File> {
        Err(Error::new("a sample has no sources"))
    }

    fn output(&mut self, _: &str) -> Result<File> {
        Err(Error::new("a sample has no output"))
    }

    fn status(&mut self, _: &str) -> Result<()> {
        Ok(())
    }
}

/// What is read of a split, and how much of each window. `cut` is the least that a format's pieces are cut to, none
/// where they stay whole.
fn windows(pieces: &[Piece], cut: Option<u64>) -> (Vec<Piece>, Share) {
    let step = pieces.len().div_ceil(PIECES).max(1);
    let chosen: Vec<&Piece> = pieces.iter().step_by(step).collect();
    let each = WINDOWS.div_ceil(chosen.len().max(1)) as u64;
    let is_whole = |piece: &Piece| cut.is_none() || Compression::of_name(&piece.name).is_some();
    let mut windows = Vec::new();
    for piece in &chosen {
        let least = cut.unwrap_or(1).max(1);
        let long = match is_whole(piece) {
            true => u64::MAX,
            false => piece
                .length
                .div_ceil(each)
                .max(WINDOW_MIN)
                .next_multiple_of(least),
        };
        let mut from = 0;
        while from < piece.length {
            let length = long.min(piece.length - from);
            windows.push(Piece {
                name: piece.name.clone(),
                offset: piece.offset + from,
                length,
                size: piece.size,
            });
            from += length;
        }
    }
    let all = match chosen.iter().any(|piece| is_whole(piece)) {
        true => UNCUT,
        false => Share {
            records: RECORDS,
            bytes: u64::MAX,
        },
    };
    let count = windows.len().max(1) as u64;
    let share = Share {
        records: (all.records / count).max(1),
        bytes: all.bytes / count,
    };
    (windows, share)
}

/// Keys that the mapper makes of some records of some splits, or the first parts of these keys.
pub(crate) fn sample<M: Mapper>(
    make: &dyn Fn() -> M,
    by_first: bool,
    splits: &[Vec<Piece>],
    settings: &Settings,
    params: &serde_json::Value,
    open: &OpenNamed,
) -> Result<Vec<Vec<u8>>> {
    let cut = match M::Input::granule(settings)? {
        _ if !M::Input::FILES => None,
        Granule::File => None,
        Granule::Record(length) => Some(length),
        Granule::Byte | Granule::Lines(_) => Some(1),
    };
    let group: fn(&[u8]) -> Result<&[u8]> = match by_first {
        true => |key| group::<M::Key>(key, true),
        false => |key| Ok(key),
    };
    let step = splits.len().div_ceil(SPLITS).max(1);
    let mut keys = Vec::new();
    for pieces in splits.iter().step_by(step) {
        let (pieces, share) = windows(pieces, cut);
        let (page, _) = Page::create()?;
        let mut context = Context {
            settings: settings.clone(),
            params: params.clone(),
            counting: Counting::default(),
            page,
            ground: Box::new(DriverFiles {
                pieces: pieces.clone(),
                open: Rc::clone(open),
            }),
            stage: 'm',
            number: 0,
            attempt: 0,
            input: String::new(),
        };
        let order = MapOrder {
            task: 0,
            attempt: 0,
            partitions: 1,
            pieces,
            skip: Vec::new(),
        };
        let mut sink = Sink::Keys(KeySample::new(group));
        let mut mapper = make();
        let sampled = mapper.setup(&mut context).and_then(|()| {
            feed(
                &mut mapper,
                &order,
                &mut context,
                &mut sink,
                settings,
                share,
            )
        });
        sampled.context(|| "sampling the input")?;
        if let Sink::Keys(sampled) = sink {
            keys.extend(sampled.keys);
        }
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use gerbil_task::Piece;

    use super::{KEY, KEYS, KeySample, RECORDS, UNCUT, windows};

    fn piece(name: &str, offset: u64, length: u64) -> Piece {
        Piece {
            name: name.to_owned(),
            offset,
            length,
            size: offset + length,
        }
    }

    #[test]
    fn windows_lie_all_over_a_split_and_are_cut_where_pieces_may_be() {
        let split = [piece("a", 1000, 10_000_007)];
        let (cut, share) = windows(&split, Some(100));
        assert_eq!((cut.len(), share.records), (10, RECORDS / 10));
        let mut next = 1000;
        for window in &cut {
            assert_eq!((window.offset, (window.offset - 1000) % 100), (next, 0));
            next += window.length;
        }
        assert_eq!(next, 10_001_007);
        // What cannot be cut is one window, of which more is read.
        for (whole, least) in [
            (piece("a.gz", 0, 9 << 20), Some(1)),
            (piece("a", 0, 9 << 20), None),
        ] {
            let (cut, share) = windows(std::slice::from_ref(&whole), least);
            assert_eq!(
                (cut, share.records, share.bytes),
                (vec![whole], UNCUT.records, UNCUT.bytes)
            );
        }
        // A short piece is one window, and many of them are some.
        assert_eq!(windows(&[piece("a", 0, 1000)], Some(1)).0.len(), 1);
        let many: Vec<Piece> = (0..950).map(|_| piece("a", 0, 5)).collect();
        let (some, share) = windows(&many, Some(1));
        assert_eq!((some.len(), share.records), (95, RECORDS / 95));
    }

    #[test]
    fn of_many_keys_some_are_kept_wherever_they_came() {
        let mut sample = KeySample::new(|key| Ok(key));
        let all = 1_000_000_u32;
        for number in 0..all {
            sample.take(&number.to_be_bytes()).unwrap();
        }
        assert_eq!(sample.keys.len(), KEYS);
        let mut tenths = [0; 10];
        for key in &sample.keys {
            let number = u32::from_be_bytes(key.as_slice().try_into().unwrap());
            tenths[(number / (all / 10)) as usize] += 1;
        }
        assert!(
            tenths.iter().all(|tenth| (800..1200).contains(tenth)),
            "{tenths:?}"
        );
        let mut sample = KeySample::new(|key| Ok(key));
        sample.take(&[7; 10_000]).unwrap();
        assert_eq!(sample.keys, [vec![7; KEY]]);
    }
}
