//! Files as splits: a matter of files and settings alone, never of who works on them.
//!
//! Engines cut what their own formats want cut; what is no format's is text, which any client may cut: a piece
//! that begins inside of a file leaves its first line to the piece before, which reads every line that begins at
//! or before its end.

use std::collections::BTreeMap;

use crate::driver::Listed;
use crate::message::Piece;
use crate::settings::{KNOWN, SPLIT_MAX, SPLIT_PACK};

/// Bytes of input that are worth a reduce, where none are asked for.
const BYTES_A_REDUCE: u64 = 1 << 30;
/// Most reduces of a job.
pub const REDUCES_MAX: u32 = 100_000;

/// A last piece may be longer than the others by this many hundredths, as in Hadoop.
const SLOP: u64 = 110;

/// Endings of names of files that are compressed, as in Hadoop's `CompressionCodecFactory`: they have one piece.
const COMPRESSED: [&str; 6] = [".gz", ".deflate", ".bz2", ".zst", ".lz4", ".snappy"];

/// Whether a file of this name is compressed, so that it cannot be read from its middle.
#[must_use]
pub fn is_compressed(name: &str) -> bool {
    COMPRESSED.iter().any(|ending| ends_with(name, ending))
}

/// Whether `name` ends with `ending`, in capitals or not, as Hadoop takes endings of names.
#[must_use]
pub fn ends_with(name: &str, ending: &str) -> bool {
    let from = name.len().checked_sub(ending.len());
    let tail = from.and_then(|from| name.as_bytes().get(from..));
    tail.is_some_and(|tail| tail.eq_ignore_ascii_case(ending.as_bytes()))
}

/// The splits of `files`, of at most `most` bytes each, where small neighbours in the order of the files share
/// one until it has `pack` bytes. Each file is cut at multiples of its `step`, bytes; compressed ones nowhere.
#[must_use]
pub fn cut(files: &[Listed], most: u64, pack: u64, step: u64) -> Vec<Vec<Piece>> {
    cut_by(files, most, pack, &|name| match is_compressed(name) {
        true => u64::MAX,
        false => step,
    })
}

/// As [`cut`], for readers that may find their way in compressed files, too: `step` says of a name at multiples of how many
/// bytes such a file is cut.
#[must_use]
pub fn cut_by(
    files: &[Listed],
    most: u64,
    pack: u64,
    step: &dyn Fn(&str) -> u64,
) -> Vec<Vec<Piece>> {
    let most = most.max(1);
    let mut splits: Vec<Vec<Piece>> = Vec::new();
    let (mut open, mut bytes) = (Vec::new(), 0_u64);
    for file in files {
        let step = step(&file.path).max(1);
        let mut offset = 0;
        loop {
            let left = file.length.saturating_sub(offset);
            let length = if u128::from(left) * 100 <= u128::from(step) * u128::from(SLOP) {
                left
            } else {
                step
            };
            if bytes > 0 && bytes.saturating_add(length) > most {
                splits.push(std::mem::take(&mut open));
                bytes = 0;
            }
            open.push(Piece {
                name: file.path.clone(),
                offset,
                length,
                size: file.length,
            });
            bytes = bytes.saturating_add(length);
            if bytes >= pack {
                splits.push(std::mem::take(&mut open));
                bytes = 0;
            }
            offset = offset.saturating_add(length);
            if offset >= file.length {
                break;
            }
        }
    }
    if !open.is_empty() {
        splits.push(open);
    }
    splits
}

/// The splits of `files` as text, as `settings` want them: for jobs whose driver makes none.
///
/// # Errors
/// A setting that is no number, in a sentence.
pub fn text(
    files: &[Listed],
    settings: &BTreeMap<String, String>,
) -> Result<Vec<Vec<Piece>>, String> {
    let number = |name: &str| {
        let default = KNOWN.iter().find(|known| known.name == name);
        let given = settings.get(name).filter(|value| !value.is_empty());
        let value = given.map_or_else(|| default.map_or("", |known| known.default), String::as_str);
        let number = value.parse::<u64>().ok();
        number.ok_or_else(|| format!("{name}={value} makes no sense: it is a number of bytes"))
    };
    let (most, pack) = (number(SPLIT_MAX)?, number(SPLIT_PACK)?);
    Ok(cut(files, most, pack, most))
}

/// How many reduces so many bytes of input are worth: one a GiB, from 1 to 1000.
#[must_use]
pub fn reduces(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(BYTES_A_REDUCE).clamp(1, 1000)).unwrap_or(1000)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Listed, Piece, SPLIT_MAX, SPLIT_PACK, cut, reduces, text};

    fn files(sizes: &[u64]) -> Vec<Listed> {
        let listed = |(at, &length)| Listed {
            path: format!("{at}"),
            length,
        };
        sizes.iter().enumerate().map(listed).collect()
    }

    fn places(splits: &[Vec<Piece>]) -> Vec<Vec<(u64, u64)>> {
        let place = |piece: &Piece| (piece.offset, piece.length);
        let of = |pieces: &Vec<Piece>| pieces.iter().map(place).collect();
        splits.iter().map(of).collect()
    }

    fn places_of(sizes: &[u64], step: u64) -> Vec<Vec<(u64, u64)>> {
        places(&cut(&files(sizes), 100, 50, step))
    }

    #[test]
    fn large_files_are_cut_and_small_ones_packed() {
        assert_eq!(
            places_of(&[250], 100),
            [[(0, 100)], [(100, 100)], [(200, 50)]]
        );
        assert_eq!(places_of(&[210], 100), [[(0, 100)], [(100, 110)]]);
        assert_eq!(
            places_of(&[20, 20, 20, 5], 100),
            vec![vec![(0, 20), (0, 20), (0, 20)], vec![(0, 5)]]
        );
        assert_eq!(places_of(&[250], 90), [[(0, 90)], [(90, 90)], [(180, 70)]]);
        assert_eq!(places_of(&[250], u64::MAX), [[(0, 250)]]);
        assert_eq!(places_of(&[0], 100), [[(0, 0)]]);
        assert!(places_of(&[], 100).is_empty());
        assert_eq!(cut(&files(&[1; 10_000]), 100_000, 5000, 1).len(), 2);
    }

    #[test]
    fn text_is_cut_as_settings_say_and_compressed_files_are_not() {
        let mut files = files(&[250, 250]);
        files[1].path = "x.gz".to_owned();
        let mut settings = BTreeMap::new();
        assert_eq!(
            places(&text(&files, &settings).unwrap()),
            [[(0, 250), (0, 250)]]
        );
        settings.insert(SPLIT_MAX.to_owned(), "100".to_owned());
        settings.insert(SPLIT_PACK.to_owned(), "1".to_owned());
        assert_eq!(
            places(&text(&files, &settings).unwrap()),
            [[(0, 100)], [(100, 100)], [(200, 50)], [(0, 250)]]
        );
        settings.insert(SPLIT_MAX.to_owned(), "much".to_owned());
        let error = text(&files, &settings).unwrap_err();
        assert!(error.contains("maxsize=much makes no sense"), "{error}");
    }

    #[test]
    fn a_reduce_a_gib() {
        let gib = 1 << 30;
        assert_eq!(
            [0, 1, gib, gib + 1, u64::MAX].map(reduces),
            [1, 1, 1, 2, 1000]
        );
    }

    proptest::proptest! {
        #[test]
        fn each_byte_is_in_one_piece(
            sizes in proptest::collection::vec(0_u64..500, 0..20), most in 0_u64..200, pack in 0_u64..200, step in 0_u64..200,
        ) {
            let files = files(&sizes);
            let mut pieces = cut(&files, most, pack, step).into_iter().flatten();
            for file in &files {
                let mut at = 0;
                loop {
                    let piece = pieces.next().unwrap();
                    proptest::prop_assert_eq!((&piece.name, piece.offset, piece.size), (&file.path, at, file.length));
                    at += piece.length;
                    if at == file.length {
                        break;
                    }
                }
            }
            proptest::prop_assert_eq!(pieces.next(), None);
        }
    }
}
