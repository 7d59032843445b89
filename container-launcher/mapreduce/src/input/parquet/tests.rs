//! Files of another writer (`tests/fixtures/parquet.py`), which say what they have in them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::sync::atomic::Ordering;

use gerbil_task::Piece;
use proptest::prelude::*;
use rustix::fs::{MemfdFlags, memfd_create};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Any;

use super::Parquet;
use crate::input::{Consumed, InputFormat as _, Source, at_hand};
use crate::settings::Settings;

const TYPES: &[u8] = include_bytes!("../../../tests/fixtures/types.parquet");
const TYPES_ROWS: &str = include_str!("../../../tests/fixtures/types.json");
const ENCODINGS: &[u8] = include_bytes!("../../../tests/fixtures/encodings.parquet");
const ENCODINGS_ROWS: &str = include_str!("../../../tests/fixtures/encodings.json");

#[derive(Debug, Deserialize, Serialize)]
struct Types {
    flag: bool,
    byte: Option<i8>,
    short: Option<i16>,
    int: Option<i32>,
    long: i64,
    ubyte: Option<u8>,
    uint: Option<u32>,
    ulong: Option<u64>,
    float: Option<f32>,
    double: Option<f64>,
    text: Option<String>,
    colour: Option<Colour>,
    bytes: Option<Vec<u8>>,
    fixed: Option<[u8; 16]>,
    small: Option<String>,
    large: Option<String>,
    date: Option<String>,
    millis: Option<String>,
    micros: Option<String>,
    nanos: Option<String>,
    time: Option<String>,
    list: Option<Vec<Option<String>>>,
    lists: Option<Vec<Vec<i32>>>,
    map: Option<BTreeMap<String, i64>>,
    group: Option<Group>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Colour {
    Red,
    Green,
}

#[derive(Debug, Deserialize, Serialize)]
struct Group {
    id: i64,
    names: Vec<Names>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Names {
    first: String,
}

fn file(bytes: &[u8]) -> File {
    let mut file = File::from(memfd_create("parquet", MemfdFlags::CLOEXEC).unwrap());
    file.write_all(bytes).unwrap();
    file
}

/// The rows of `length` bytes from `offset` on, and how many bytes were read for them.
fn part<T: DeserializeOwned + 'static>(
    bytes: &[u8],
    offset: u64,
    length: u64,
) -> Result<(Vec<(u64, T)>, u64), String> {
    let piece = Piece {
        name: "f.parquet".to_owned(),
        offset,
        length,
        size: bytes.len() as u64,
    };
    let consumed = Consumed::default();
    let source = Source::by_places(&at_hand(file(bytes)), &piece, &consumed);
    let mut reader = Parquet::<T>::open(source, &Settings::default()).map_err(|e| e.to_string())?;
    let mut rows = Vec::new();
    while let Some(row) = Parquet::<T>::next(&mut reader).map_err(|e| e.to_string())? {
        rows.push(row);
    }
    Ok((rows, consumed.load(Ordering::Relaxed)))
}

fn rows<T: DeserializeOwned + 'static>(bytes: &[u8]) -> Result<Vec<T>, String> {
    let (rows, _) = part::<T>(bytes, 0, bytes.len() as u64)?;
    for (index, (number, _)) in (0_u64..).zip(&rows) {
        assert_eq!(*number, index);
    }
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

fn lines(text: &str) -> Vec<Any> {
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

#[test]
fn rows_are_what_their_writer_reads_in_them() {
    let read = rows::<Types>(TYPES).unwrap();
    let read: Vec<Any> = read
        .iter()
        .map(|row| serde_json::to_value(row).unwrap())
        .collect();
    for (row, line) in read.iter().zip(lines(TYPES_ROWS)) {
        assert_eq!(*row, line);
    }
    assert_eq!(read.len(), 10);
    // Of any type, with codecs and encodings of each kind.
    assert_eq!(rows::<Any>(ENCODINGS).unwrap(), lines(ENCODINGS_ROWS));
}

#[test]
fn numbers_are_had_of_dates_times_and_decimals_too() {
    #[derive(Debug, Deserialize, PartialEq)]
    struct Numbers {
        small: Option<f64>,
        date: Option<i32>,
        millis: Option<u64>,
        nanos: Option<i64>,
        time: Option<u64>,
    }
    let read = rows::<Numbers>(TYPES).unwrap();
    let last = read.get(8).unwrap();
    let second = 1_796_646_600;
    let wanted = Numbers {
        small: Some(-987.6),
        date: Some(4),
        millis: Some(second * 1000 + 250),
        nanos: None,
        time: Some((12 * 3600 + 38 * 60) * 1_000_000 + 250_000),
    };
    assert_eq!(*last, wanted);
}

#[derive(Debug, Deserialize, PartialEq)]
struct Two {
    plain: u64,
    delta: i64,
}

/// Bytes of the footer and what is behind it.
fn footer_length(bytes: &[u8]) -> u64 {
    let length = bytes[bytes.len() - 8..].first_chunk::<4>().unwrap();
    u64::from(u32::from_le_bytes(*length)) + 8
}

#[test]
fn of_columns_that_nobody_asked_for_no_byte_is_read() {
    let size = ENCODINGS.len() as u64;
    let footer_bytes = footer_length(ENCODINGS);
    let (counted, bytes) = part::<()>(ENCODINGS, 0, size).unwrap();
    assert_eq!((counted.len(), bytes), (100, footer_bytes));
    assert_eq!(counted.last().unwrap().0, 99);

    let (two, bytes) = part::<Two>(ENCODINGS, 0, size).unwrap();
    let last = Two {
        plain: 99,
        delta: 9801,
    };
    assert_eq!(two.last(), Some(&(99, last)));
    let from = ENCODINGS.len() - usize::try_from(footer_bytes).unwrap();
    let metadata = parquet::file::metadata::ParquetMetaDataReader::decode_metadata(
        &ENCODINGS[from..ENCODINGS.len() - 8],
    )
    .unwrap();
    let columns = metadata.row_groups().iter().flat_map(|group| {
        [0, 4].map(|column| u64::try_from(group.column(column).compressed_size()).unwrap())
    });
    assert_eq!(bytes, footer_bytes + columns.sum::<u64>());
    assert!(bytes < size / 2 + footer_bytes, "{bytes} of {size}");
    let (_, all) = part::<Any>(ENCODINGS, 0, size).unwrap();
    // Without the magic in front, and what is between pages and footer.
    assert!(all <= size - 4, "{all} of {size}");
}

proptest! {
    #[test]
    fn each_row_is_of_one_split_however_the_file_is_cut(mut cuts in prop::collection::vec(0..4664_u64, 0..12)) {
        let size = ENCODINGS.len() as u64;
        cuts.extend([0, size]);
        cuts.sort_unstable();
        let mut all = Vec::new();
        for ends in cuts.windows(2) {
            let (rows, _) = part::<Two>(ENCODINGS, ends[0], ends[1] - ends[0]).unwrap();
            all.extend(rows);
        }
        let whole: Vec<_> = (0..100).map(|row| {
            (row, Two { plain: row, delta: i64::try_from(row * row).unwrap() })
        }).collect();
        prop_assert_eq!(all, whole);
    }

    #[test]
    fn a_broken_file_is_an_error_at_worst(at in 0..4664_usize, bits in 1_u8..) {
        let mut bytes = ENCODINGS.to_vec();
        bytes[at] ^= bits;
        drop(rows::<Any>(&bytes));
    }
}

#[test]
fn a_job_reads_rows_wherever_its_splits_are() {
    use crate::prelude::*;

    struct Rows;

    impl Mapper for Rows {
        type Input = Parquet<Two>;
        type Key = u64;
        type Value = i64;

        fn map(&mut self, row: u64, two: Two, out: &mut Emit<'_, Self>) -> Result<()> {
            assert_eq!(row, two.plain);
            out.emit(&row, &two.delta)
        }
    }

    let job = || Job::new("rows").map(|| Rows).reduce(|| Identity).test();
    let done = job().file("f.parquet", ENCODINGS).split_every(700).run();
    let lines = (0..100).map(|row| format!("{row}\t{}\n", row * row));
    assert_eq!(done.unwrap().text(), lines.collect::<String>());
    let packed = job().file("f.parquet.gz", ENCODINGS).run();
    let words = "f.parquet.gz: Gzip files have no places to go to: decompress it first";
    assert_eq!(packed.unwrap_err().to_string(), words);
}

#[test]
fn what_does_not_fit_is_named() {
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "it is never read")]
    struct More {
        plain: u64,
        price: f64,
    }
    let wants = std::any::type_name::<More>();
    let words = rows::<More>(ENCODINGS).unwrap_err();
    let columns = "delta, length, prefix, split, plain, sometimes";
    let wanted = format!("f.parquet has no column price, which {wants} wants: it has {columns}");
    assert_eq!(words, wanted);

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "it is never read")]
    struct Wrong {
        prefix: u64,
    }
    let words = rows::<Wrong>(ENCODINGS).unwrap_err();
    let found = "u64 is wanted, found the text \"/a/long/path/000\"";
    assert_eq!(words, format!("f.parquet, row 0, column prefix: {found}"));

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "it is never read")]
    struct Small {
        plain: u8,
        delta: u8,
    }
    let words = rows::<Small>(ENCODINGS).unwrap_err();
    assert_eq!(
        words,
        "f.parquet, row 16, column delta: u8 is wanted, found 256"
    );

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "it is never read")]
    struct Sure {
        sometimes: i32,
    }
    let words = rows::<Sure>(ENCODINGS).unwrap_err();
    assert_eq!(
        words,
        "f.parquet, row 1, column sometimes: i32 is wanted, found null"
    );

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "it is never read")]
    struct Deep {
        group: Option<Inner>,
    }
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "it is never read")]
    struct Inner {
        names: Vec<Last>,
    }
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "it is never read")]
    struct Last {
        last: String,
    }
    let words = rows::<Deep>(TYPES).unwrap_err();
    assert_eq!(
        words,
        "f.parquet, row 1, column group.names: it has no last"
    );
}

#[test]
fn what_is_no_parquet_says_so() {
    let words = |bytes: &[u8]| rows::<()>(bytes).unwrap_err();
    assert_eq!(words(b""), "f.parquet is no Parquet: it has 0 bytes");
    let text = words(b"some lines of text\n");
    assert_eq!(text, "f.parquet is no Parquet: it does not end with PAR1");
    let cut = words(b"PAR1\xFF\xFF\xFF\xFFPAR1");
    let wanted = "f.parquet is no Parquet: its footer would have 4294967295 bytes";
    assert_eq!(cut, wanted);
    let sealed = words(b"PAR1\0\0\0\0PARE");
    let wanted = "f.parquet: its footer is encrypted, which is not read here";
    assert_eq!(sealed, wanted);
}
