//! A format's files as splits.

use std::rc::Rc;

use gerbil_task::{Listed, Piece, splits::cut_by};

use super::{Compression, Consumed, Granule, Open, Opened, Source};
use crate::error::{Context as _, Result};
use crate::settings::{SPLIT_MAX, SPLIT_PACK, Settings};

/// Opens the file of that name, from some byte on.
pub(crate) type OpenNamed = Rc<dyn Fn(&str, u64) -> Result<Opened>>;

/// What opens the file `name` alone.
pub(crate) fn one(named: &OpenNamed, name: &str) -> Open {
    let (named, name) = (Rc::clone(named), name.to_owned());
    Rc::new(move |from| named(&name, from))
}

/// The splits of `files`, which are read only where they are cut at lines.
pub(crate) fn splits(
    files: &[Listed],
    granule: Granule,
    settings: &Settings,
    open: &OpenNamed,
) -> Result<Vec<Vec<Piece>>> {
    for file in files {
        if let Some(compression) = Compression::of_name(&file.path) {
            compression.there().context(|| file.path.clone())?;
        }
    }
    let most: u64 = settings.parse::<u64>(SPLIT_MAX)?.max(1);
    let step = match granule {
        Granule::Lines(lines) => return by_lines(files, lines.max(1), settings, open),
        Granule::File => u64::MAX,
        Granule::Record(length) => (most / length.max(1)).max(1).saturating_mul(length),
        Granule::Byte | Granule::Line => most,
    };
    let step_of = |name: &str| match Compression::of_name(name) {
        Some(compression) if granule != Granule::Line || !compression.has_blocks() => u64::MAX,
        Some(_) | None => step,
    };
    Ok(cut_by(files, most, settings.parse(SPLIT_PACK)?, &step_of))
}

/// So many lines a split: the files are read to find where lines begin.
fn by_lines(
    files: &[Listed],
    lines: u64,
    settings: &Settings,
    open: &OpenNamed,
) -> Result<Vec<Vec<Piece>>> {
    let mut splits = Vec::new();
    for file in files {
        let piece = |offset, length| Piece {
            name: file.path.clone(),
            offset,
            length,
            size: file.length,
        };
        let whole = piece(0, file.length);
        if Compression::of_name(&file.path).is_some() {
            splits.push(vec![whole]);
            continue;
        }
        let source = Source::new(&one(open, &file.path), &whole, &Consumed::default())?;
        let mut reader = super::lines::LineReader::new(source, settings)?;
        let (mut from, mut count) = (0, 0);
        while reader.next()?.is_some() {
            count += 1;
            if count == lines {
                let to = reader.position();
                splits.push(vec![piece(from, to - from)]);
                (from, count) = (to, 0);
            }
        }
        if count > 0 {
            splits.push(vec![piece(from, file.length - from)]);
        }
    }
    Ok(splits)
}
