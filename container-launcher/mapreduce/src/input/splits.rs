//! Files as splits: a matter of files and settings alone, never of who works on them.

use std::fs::File;

use gerbil_task::Piece;

use super::paths::InputFile;
use super::{Compression, Granule, Source};
use crate::error::{Context as _, Result};
use crate::settings::{SPLIT_MAX, SPLIT_PACK, Settings};

/// A last piece may be longer than the others by this many hundredths, as in Hadoop.
const SLOP: u64 = 110;

/// The splits of `files`.
pub(crate) fn splits(
    files: &[InputFile],
    granule: Granule,
    settings: &Settings,
) -> Result<Vec<Vec<Piece>>> {
    let most: u64 = settings.parse::<u64>(SPLIT_MAX)?.max(1);
    if let Granule::Lines(lines) = granule {
        return by_lines(files, lines.max(1), settings);
    }
    let pack: u64 = settings.parse(SPLIT_PACK)?;
    let mut splits: Vec<Vec<Piece>> = Vec::new();
    let (mut open, mut bytes) = (Vec::new(), 0);
    for file in files {
        let name = file.path.display().to_string();
        let whole = granule == Granule::File || Compression::of_name(&name).is_some();
        let step = match granule {
            _ if whole => u64::MAX,
            Granule::Record(length) => (most / length).max(1).saturating_mul(length),
            _ => most,
        };
        let mut offset = 0;
        loop {
            let left = file.size - offset;
            let length = if u128::from(left) * 100 <= u128::from(step) * u128::from(SLOP) {
                left
            } else {
                step
            };
            if bytes > 0 && bytes + length > most {
                splits.push(std::mem::take(&mut open));
                bytes = 0;
            }
            open.push(Piece {
                name: name.clone(),
                offset,
                length,
                size: file.size,
            });
            bytes += length;
            // Neighbours in the order of the files share a split until it is worth one.
            if bytes >= pack {
                splits.push(std::mem::take(&mut open));
                bytes = 0;
            }
            offset += length;
            if offset >= file.size {
                break;
            }
        }
    }
    if !open.is_empty() {
        splits.push(open);
    }
    Ok(splits)
}

/// So many lines a split: the files are read to find where lines begin.
fn by_lines(files: &[InputFile], lines: u64, settings: &Settings) -> Result<Vec<Vec<Piece>>> {
    let mut splits = Vec::new();
    for file in files {
        let name = file.path.display().to_string();
        let whole = Piece {
            name: name.clone(),
            offset: 0,
            length: file.size,
            size: file.size,
        };
        if Compression::of_name(&name).is_some() {
            splits.push(vec![whole]);
            continue;
        }
        let opened = File::open(&file.path).context(|| name.clone())?;
        let source = Source::new(opened, &whole, &super::Consumed::default())?;
        let mut reader = super::lines::LineReader::new(source, settings)?;
        let (mut from, mut count) = (0, 0);
        while reader.next()?.is_some() {
            count += 1;
            if count == lines {
                let to = reader.position();
                splits.push(vec![Piece {
                    name: name.clone(),
                    offset: from,
                    length: to - from,
                    size: file.size,
                }]);
                (from, count) = (to, 0);
            }
        }
        if count > 0 {
            splits.push(vec![Piece {
                name,
                offset: from,
                length: file.size - from,
                size: file.size,
            }]);
        }
    }
    Ok(splits)
}

#[cfg(test)]
mod tests {
    use super::{Granule, InputFile, splits};
    use crate::settings::{SPLIT_MAX, SPLIT_PACK, Settings};

    fn cut(sizes: &[u64], granule: Granule, most: &str, pack: &str) -> Vec<Vec<(u64, u64)>> {
        let files: Vec<InputFile> = sizes
            .iter()
            .enumerate()
            .map(|(at, &size)| InputFile {
                path: format!("{at}").into(),
                size,
            })
            .collect();
        let mut settings = Settings::default();
        settings.set(SPLIT_MAX, most);
        settings.set(SPLIT_PACK, pack);
        let splits = splits(&files, granule, &settings).unwrap();
        splits
            .iter()
            .map(|pieces| {
                pieces
                    .iter()
                    .map(|piece| (piece.offset, piece.length))
                    .collect()
            })
            .collect()
    }

    #[test]
    fn large_files_are_cut_and_small_ones_packed() {
        assert_eq!(
            cut(&[250], Granule::Byte, "100", "50"),
            [[(0, 100)], [(100, 100)], [(200, 50)]]
        );
        assert_eq!(
            cut(&[210], Granule::Byte, "100", "50"),
            [[(0, 100)], [(100, 110)]]
        );
        assert_eq!(
            cut(&[20, 20, 20, 5], Granule::Byte, "100", "50"),
            vec![vec![(0, 20), (0, 20), (0, 20)], vec![(0, 5)]]
        );
        assert_eq!(
            cut(&[250], Granule::Record(30), "100", "50"),
            [[(0, 90)], [(90, 90)], [(180, 70)]]
        );
        assert_eq!(cut(&[250], Granule::File, "100", "50"), [[(0, 250)]]);
        assert_eq!(cut(&[0], Granule::Byte, "100", "50"), [[(0, 0)]]);
        assert_eq!(
            cut(&vec![1; 10_000], Granule::Byte, "100000", "5000").len(),
            2
        );
        assert!(cut(&[], Granule::Byte, "100", "50").is_empty());
    }
}
