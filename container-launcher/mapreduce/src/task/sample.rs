//! Keys out of the input, for a driver that says where ranges of keys begin.
//!
//! Some windows are read that lie all over the input: files are often sorted, and the first records of one, or a few places
//! of many, say nothing of the others. What cannot be cut is read from its beginning, up to a bound.

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

/// Windows that are read, about; each of them is opened by itself.
const WINDOWS: usize = 100;
/// A window has at least so many bytes.
const WINDOW_MIN: u64 = 64 << 10;
/// What is read, all windows together.
const CUT: Share = Share {
    records: 100_000,
    bytes: u64::MAX,
};
/// The same where some input cannot be cut, in bytes as they are stored.
const UNCUT: Share = Share {
    records: 1_000_000,
    bytes: 320 << 20,
};
/// Keys that are kept.
const KEYS: usize = 100_000;
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

/// Some of these, evenly chosen.
fn some<T>(all: &[T], most: usize) -> impl Iterator<Item = &T> {
    all.iter().step_by(all.len().div_ceil(most.max(1)).max(1))
}

/// What is read of the splits, and how much of each window. `cut` is the least that a format's pieces are cut to, none
/// where they stay whole.
fn windows(splits: &[Vec<Piece>], cut: Option<u64>) -> (Vec<Piece>, Share) {
    let pieces = WINDOWS.div_ceil(some(splits, WINDOWS).count().max(1));
    let chosen = some(splits, WINDOWS).flat_map(|split| some(split, pieces));
    let chosen: Vec<&Piece> = chosen.collect();
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
        false => CUT,
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
        // Where its records begin, a window does not say.
        _ if M::Input::PLACES => None,
        // A reader of so many lines begins where its piece does, and leaves out no rest of a line.
        Granule::File | Granule::Lines(_) => None,
        Granule::Record(length) => Some(length),
        Granule::Byte | Granule::Line => Some(1),
    };
    let group: fn(&[u8]) -> Result<&[u8]> = match by_first {
        true => |key| group::<M::Key>(key, true),
        false => |key| Ok(key),
    };
    let (pieces, share) = windows(splits, cut);
    let (page, _) = Page::create()?;
    let mut context = Context {
        settings: settings.clone(),
        params: params.clone(),
        counting: Counting::unheard(),
        page,
        ground: Box::new(DriverFiles {
            pieces: pieces.clone(),
            open: Rc::clone(open),
        }),
        stage: 'm',
        number: 0,
        attempt: 0,
        input: String::new(),
        split: Vec::new(),
        beside: None,
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
    Ok(match sink {
        Sink::Keys(sampled) => sampled.keys,
        _ => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use gerbil_task::Piece;

    use super::{CUT, KEY, KEYS, KeySample, UNCUT, WINDOWS, windows};

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
        let split = vec![piece("a", 1000, 20_000_007)];
        let (cut, share) = windows(&[split], Some(100));
        assert_eq!((cut.len(), share.records), (WINDOWS, CUT.records / 100));
        let mut next = 1000;
        for window in &cut {
            assert_eq!((window.offset, (window.offset - 1000) % 100), (next, 0));
            next += window.length;
        }
        assert_eq!(next, 20_001_007);
        // What cannot be cut is one window, of which more is read.
        let zipped = piece("a.gz", 0, 9 << 20);
        for (whole, least) in [(zipped, Some(1)), (piece("a", 0, 9 << 20), None)] {
            let (cut, share) = windows(&[vec![whole.clone()]], least);
            assert_eq!(
                (cut, share.records, share.bytes),
                (vec![whole], UNCUT.records, UNCUT.bytes)
            );
        }
        // A short piece is one window.
        assert_eq!(windows(&[vec![piece("a", 0, 1000)]], Some(1)).0.len(), 1);
        assert!(windows(&[], Some(1)).0.is_empty());
    }

    #[test]
    fn windows_lie_all_over_the_splits() {
        let places = |splits: usize, pieces: usize| {
            let split = |number: usize| -> Vec<Piece> {
                (0..pieces)
                    .map(|_| piece(&number.to_string(), 0, 128 << 20))
                    .collect()
            };
            let splits: Vec<_> = (0..splits).map(split).collect();
            let (windows, share) = windows(&splits, Some(1));
            let mut seen: Vec<usize> = windows
                .iter()
                .map(|window| window.name.parse().unwrap())
                .collect();
            assert!(
                (WINDOWS / 2..=2 * WINDOWS).contains(&windows.len()),
                "{}",
                windows.len()
            );
            assert_eq!(share.records, CUT.records / windows.len() as u64);
            seen.dedup();
            seen
        };
        assert_eq!(places(3, 1), [0, 1, 2]);
        assert_eq!(places(3, 1000), [0, 1, 2]);
        assert_eq!(places(100, 7), (0..100).collect::<Vec<_>>());
        assert_eq!(places(1000, 1), (0..1000).step_by(10).collect::<Vec<_>>());
        assert_eq!(places(150, 1), (0..150).step_by(2).collect::<Vec<_>>());
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
            tenths
                .iter()
                .all(|tenth| (KEYS / 12..KEYS / 8).contains(tenth)),
            "{tenths:?}"
        );
        let mut sample = KeySample::new(|key| Ok(key));
        sample.take(&[7; 10_000]).unwrap();
        assert_eq!(sample.keys, [vec![7; KEY]]);
    }
}
