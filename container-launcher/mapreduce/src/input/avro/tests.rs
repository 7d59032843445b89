//! Files of another writer (`tests/fixtures/avro.py`), which says what it has in them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;

use gerbil_task::Piece;
use proptest::prelude::*;
use rustix::fs::{MemfdFlags, memfd_create};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Any;

use super::Avro;
use crate::input::{Consumed, InputFormat as _, Source, at_hand};
use crate::settings::Settings;

const RECORDS: &[u8] = include_bytes!("../../../tests/fixtures/records.avro");
const RECORDS_LINES: &str = include_str!("../../../tests/fixtures/records.json");
const COUNTS: [&[u8]; 4] = [
    include_bytes!("../../../tests/fixtures/counts-null.avro"),
    include_bytes!("../../../tests/fixtures/counts-snappy.avro"),
    include_bytes!("../../../tests/fixtures/counts-zstandard.avro"),
    include_bytes!("../../../tests/fixtures/counts-bzip2.avro"),
];

#[derive(Debug, Deserialize, Serialize)]
struct Types {
    flag: bool,
    int: i32,
    long: Option<u64>,
    float: f32,
    double: Option<f64>,
    text: Option<String>,
    bytes: Vec<u8>,
    fixed: [u8; 4],
    colour: Colour,
    date: String,
    millis: String,
    micros: Option<String>,
    time: String,
    uuid: String,
    list: Vec<Option<String>>,
    map: BTreeMap<String, i64>,
    group: Group,
    again: Vec<u8>,
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
    next: Option<Box<Self>>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Count {
    number: u64,
    square: i64,
}

/// The records of `length` bytes from `offset` on.
fn part<T: DeserializeOwned + 'static>(
    bytes: &[u8],
    offset: u64,
    length: u64,
) -> Result<Vec<T>, String> {
    let mut file = File::from(memfd_create("avro", MemfdFlags::CLOEXEC).unwrap());
    file.write_all(bytes).unwrap();
    let piece = Piece {
        name: "f.avro".to_owned(),
        offset,
        length,
        size: bytes.len() as u64,
    };
    let source = Source::new(&at_hand(file), &piece, &Consumed::default()).unwrap();
    let mut reader = Avro::<T>::open(source, &Settings::default()).map_err(|e| e.to_string())?;
    let mut records = Vec::new();
    while let Some(((), record)) = Avro::<T>::next(&mut reader).map_err(|e| e.to_string())? {
        records.push(record);
    }
    Ok(records)
}

fn records<T: DeserializeOwned + 'static>(bytes: &[u8]) -> Result<Vec<T>, String> {
    part(bytes, 0, bytes.len() as u64)
}

fn counts() -> Vec<Count> {
    let count = |number: u64| Count {
        number,
        square: i64::try_from(number * number).unwrap(),
    };
    (0..100).map(count).collect()
}

#[test]
fn records_are_what_their_writer_reads_in_them() {
    let read = records::<Types>(RECORDS).unwrap();
    let read = read
        .iter()
        .map(|record| serde_json::to_value(record).unwrap());
    let lines = RECORDS_LINES.lines().map(serde_json::from_str);
    let lines: Vec<Any> = lines.collect::<Result<_, _>>().unwrap();
    assert_eq!(read.collect::<Vec<_>>(), lines);
    for file in COUNTS {
        assert_eq!(records::<Count>(file).unwrap(), counts());
        assert_eq!(records::<()>(file).unwrap().len(), 100);
        let any = records::<Any>(file).unwrap();
        assert_eq!(any.last().unwrap()["text"], "x");
    }
}

proptest! {
    #[test]
    fn each_record_is_of_one_split_however_the_file_is_cut(
        file in 0..COUNTS.len(),
        mut cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let file = COUNTS[file];
        let mut cuts: Vec<u64> = cuts.drain(..).map(|cut| cut.index(file.len()) as u64).collect();
        cuts.extend([0, file.len() as u64]);
        cuts.sort_unstable();
        let mut all = Vec::new();
        for ends in cuts.windows(2) {
            all.extend(part::<Count>(file, ends[0], ends[1] - ends[0]).unwrap());
        }
        prop_assert_eq!(all, counts());
    }

    #[test]
    fn a_broken_file_is_an_error_at_worst(
        file in 0..COUNTS.len(),
        at in any::<prop::sample::Index>(),
        bits in 1_u8..,
    ) {
        let mut bytes = COUNTS[file].to_vec();
        let at = at.index(bytes.len());
        bytes[at] ^= bits;
        drop(records::<Any>(&bytes));
        drop(records::<Any>(&bytes[..at]));
    }
}

#[test]
fn what_does_not_fit_is_named() {
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "it is never read")]
    struct More {
        number: u64,
        price: f64,
    }
    let wants = std::any::type_name::<More>();
    let words = records::<More>(COUNTS[0]).unwrap_err();
    let wanted =
        format!("f.avro has no field price, which {wants} wants: it has number, square, text");
    assert_eq!(words, wanted);

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "it is never read")]
    struct Small {
        square: u8,
    }
    let words = records::<Small>(COUNTS[0]).unwrap_err();
    let ends = ", field square: u8 is wanted, found 256";
    assert!(words.starts_with("f.avro, record "), "{words}");
    assert!(words.ends_with(ends), "{words}");
}

#[test]
fn what_is_no_avro_says_so() {
    let words = |bytes: &[u8]| records::<()>(bytes).unwrap_err();
    let text = words(b"some lines of text\n");
    assert_eq!(text, "f.avro is no Avro: it does not begin with Obj 1");
    let cut = words(&RECORDS[..40]);
    assert_eq!(cut, "f.avro: the header of this Avro is cut off");
    let cut = words(&RECORDS[..RECORDS.len() - 20]);
    assert!(
        cut.ends_with("of this Avro is broken: it is cut off"),
        "{cut}"
    );
    let sync = words(&RECORDS[..RECORDS.len() - 1]);
    assert!(
        sync.ends_with("it does not end with the file's sync"),
        "{sync}"
    );
    let other = String::from_utf8_lossy(COUNTS[0]).replace("\u{8}null", "\u{8}lzma");
    let words = words(other.as_bytes());
    assert_eq!(
        words,
        "f.avro: its blocks are compressed with lzma, which is not read here"
    );
}
