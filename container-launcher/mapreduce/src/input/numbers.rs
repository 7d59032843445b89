//! Numbers in place of files: for jobs that make their data, as TeraGen and Pi.

use gerbil_task::Piece;

use super::{Granule, InputFormat, Source};
use crate::error::{Error, Result};
use crate::settings::{MAPS, Settings};

/// The input is one number `N`; mappers are handed 0 to N-1, dealt in rows to `mapreduce.job.maps` maps.
#[derive(Debug)]
pub struct Numbers;

/// The numbers of one split, in order.
#[derive(Debug)]
pub struct Counting {
    next: u64,
    end: u64,
}

impl InputFormat for Numbers {
    type Key<'a> = u64;
    type Value<'a> = ();
    type Reader = Counting;

    const FILES: bool = false;

    fn splits(inputs: &[String], settings: &Settings) -> Result<Vec<Vec<Piece>>> {
        let [count] = inputs else {
            return Err(Error::new(format!(
                "one number is wanted as input, and {} are there",
                inputs.len()
            )));
        };
        let count: u64 = count
            .parse()
            .ok()
            .ok_or_else(|| Error::new(format!("{count:?} is no number of records")))?;
        let maps: u64 = settings.parse::<u64>(MAPS)?.max(1);
        let bounds = |map: u64| {
            u64::try_from(u128::from(count) * u128::from(map) / u128::from(maps)).unwrap_or(count)
        };
        let split = |map: u64| {
            let (offset, end) = (bounds(map), bounds(map + 1));
            vec![Piece {
                name: "numbers".to_owned(),
                offset,
                length: end - offset,
                size: count,
            }]
        };
        Ok((0..maps).map(split).collect())
    }

    fn granule(_: &Settings) -> Result<Granule> {
        Ok(Granule::File)
    }

    fn open(source: Source, _: &Settings) -> Result<Counting> {
        Ok(Counting {
            next: source.offset,
            end: source.end,
        })
    }

    fn position(reader: &Counting) -> u64 {
        reader.next
    }

    #[inline]
    fn next(reader: &mut Counting) -> Result<Option<(u64, ())>> {
        if reader.next >= reader.end {
            return Ok(None);
        }
        reader.next += 1;
        Ok(Some((reader.next - 1, ())))
    }
}
