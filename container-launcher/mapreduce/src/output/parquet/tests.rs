//! What is written is read back, whatever it is, and wherever row groups end.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

use proptest::prelude::*;
use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize};

use super::ParquetOutput;
use crate::datum::{EncodeAs as _, Json};
use crate::output::OutputFormat;
use crate::prelude::*;
use crate::settings::Settings;

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct Row {
    flag: bool,
    tiny: i8,
    byte: u8,
    word: Option<u32>,
    long: i64,
    large: u64,
    float: f32,
    double: Option<f64>,
    text: String,
    bytes: Vec<u8>,
    lists: Vec<Option<Vec<Option<i32>>>>,
    map: Option<BTreeMap<String, Vec<u16>>>,
    kind: Option<Kind>,
    group: Option<Group>,
    groups: Vec<Group>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
enum Kind {
    Plain,
    Html,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct Group {
    id: u64,
    names: Vec<Option<String>>,
}

fn group() -> impl Strategy<Value = Group> {
    (
        any::<u64>(),
        prop::collection::vec(any::<Option<String>>(), 0..3),
    )
        .prop_map(|(id, names)| Group { id, names })
}

fn row() -> impl Strategy<Value = Row> {
    let small = (
        any::<bool>(),
        any::<i8>(),
        any::<u8>(),
        any::<Option<u32>>(),
        any::<i64>(),
        any::<u64>(),
    );
    let floats = (any::<i16>(), prop::option::of(any::<i32>()));
    let lists = prop::collection::vec(
        prop::option::of(prop::collection::vec(any::<Option<i32>>(), 0..3)),
        0..3,
    );
    let map = prop::collection::btree_map(
        any::<String>(),
        prop::collection::vec(any::<u16>(), 0..3),
        0..3,
    );
    let kind = prop::option::of(prop_oneof![Just(Kind::Plain), Just(Kind::Html)]);
    let groups = (
        prop::option::of(group()),
        prop::collection::vec(group(), 0..3),
    );
    (
        small,
        floats,
        any::<String>(),
        any::<Vec<u8>>(),
        lists,
        prop::option::of(map),
        kind,
        groups,
    )
        .prop_map(
            |(small, floats, text, bytes, lists, map, kind, groups)| Row {
                flag: small.0,
                tiny: small.1,
                byte: small.2,
                word: small.3,
                long: small.4,
                large: small.5,
                float: f32::from(floats.0) / 4.0,
                double: floats.1.map(|double| f64::from(double) / 8.0),
                text,
                bytes,
                lists,
                map,
                kind,
                group: groups.0,
                groups: groups.1,
            },
        )
}

/// A file that holds these rows.
fn written<T: Serialize + serde::de::DeserializeOwned + 'static>(
    rows: &[T],
    settings: &[(&str, &str)],
) -> Result<Vec<u8>> {
    let mut given = Settings::default();
    for (name, value) in settings {
        given.set(name, value);
    }
    let file = File::from(memfd_create("parquet", MemfdFlags::CLOEXEC)?);
    let mut writer =
        <ParquetOutput as OutputFormat<(), Json<T>>>::writer(file.try_clone()?, &given)?;
    for row in rows {
        let mut bytes = Vec::new();
        serde_json::to_writer(&mut bytes, row)?;
        writer.write(b"", &bytes)?;
    }
    writer.finish()?;
    let mut bytes = vec![0; usize::try_from(file.metadata()?.len())?];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

struct Rows;

impl Mapper for Rows {
    type Input = Parquet<Row>;
    type Key = u64;
    type Value = Json<Row>;

    fn map(&mut self, number: u64, row: Row, out: &mut Emit<'_, Self>) -> Result<()> {
        out.emit(&number, &Json(row))
    }
}

/// The rows of a file that is cut into splits of so many bytes.
fn read(file: &[u8], split: u64) -> Vec<Row> {
    let job = Job::new("rows").map(|| Rows).reduce(|| Identity);
    let done = job.test().file("f.parquet", file).split_every(split).run();
    let rows = done.unwrap().text();
    let rows = rows.lines().map(|line| {
        let (_, row) = line.split_once('\t').unwrap();
        serde_json::from_str(row).unwrap()
    });
    rows.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn rows_come_back_as_they_went(
        rows in prop::collection::vec(row(), 0..200),
        codec in 0..5_usize,
        split in 500..20_000_u64,
    ) {
        let codec = ["UNCOMPRESSED", "SNAPPY", "GZIP", "LZ4_RAW", "ZSTD"][codec];
        let settings = [("parquet.compression", codec), ("parquet.block.size", "20000")];
        let file = written(&rows, &settings).unwrap();
        prop_assert_eq!(read(&file, split), rows);
    }
}

#[test]
fn a_row_group_has_as_many_bytes_as_asked_for_or_a_few_rows_more() {
    #[derive(Deserialize, Serialize)]
    struct Line {
        text: String,
    }
    let line = || Line {
        text: "x".repeat(1000),
    };
    let lines: Vec<Line> = (0..1000).map(|_| line()).collect();
    let groups = |settings: &[(&str, &str)]| {
        let file = written(&lines, settings).unwrap();
        let length = file[file.len() - 8..].first_chunk::<4>().unwrap();
        let footer = file.len() - 8 - usize::try_from(u32::from_le_bytes(*length)).unwrap();
        let footer = &file[footer..file.len() - 8];
        parquet::file::metadata::ParquetMetaDataReader::decode_metadata(footer)
            .unwrap()
            .num_row_groups()
    };
    assert_eq!(groups(&[]), 1);
    // 192 rows of 1068 bytes.
    assert_eq!(groups(&[("parquet.block.size", "200000")]), 6);
}

#[test]
fn a_schema_of_ones_own_has_dates_and_times() {
    #[derive(Debug, Deserialize, PartialEq, Serialize)]
    struct Visit {
        day: i32,
        at: Option<i64>,
    }
    let schema =
        "message visit { required int32 day (DATE); optional int64 at (TIMESTAMP(MILLIS,true)); }";
    let visit = Visit {
        day: 20_786,
        at: Some(250),
    };
    let file = written(&[visit], &[("parquet.example.schema", schema)]).unwrap();

    struct Texts;
    #[derive(Deserialize)]
    struct Text2 {
        day: String,
        at: String,
    }
    impl Mapper for Texts {
        type Input = Parquet<Text2>;
        type Key = String;
        type Value = String;

        fn map(&mut self, _: u64, row: Text2, out: &mut Emit<'_, Self>) -> Result<()> {
            out.emit(&row.day, &row.at)
        }
    }
    let job = Job::new("texts").map(|| Texts).reduce(|| Identity);
    let done = job.test().file("f", file).run().unwrap();
    assert_eq!(done.text(), "2026-11-29\t1970-01-01T00:00:00.250Z\n");

    let refused = |schema: &str| {
        let visit = Visit { day: 1, at: None };
        let written = written(&[visit], &[("parquet.example.schema", schema)]);
        written.unwrap_err().to_string()
    };
    let words = refused("message visit { required int32 day (DATE); required int64 at; }");
    let wanted = "row 0 of Parquet, column at: nothing is there, and it is not optional";
    assert_eq!(words, wanted);
    let words = refused("message visit { required binary day; optional int64 at; }");
    assert_eq!(
        words,
        "row 0 of Parquet, column day: BINARY is wanted, found 1"
    );
    let words = refused("message visit { required int32 day; }");
    assert_eq!(
        words,
        "row 0 of Parquet, there is no column for the field at"
    );
}

#[test]
fn what_has_no_columns_and_what_is_no_codec_is_said_before_there_is_a_task() {
    let suffix = |settings: &[(&str, &str)]| {
        let mut given = Settings::default();
        for (name, value) in settings {
            given.set(name, value);
        }
        <ParquetOutput as OutputFormat<(), Json<Row>>>::suffix(&given).map_err(|e| e.to_string())
    };
    assert_eq!(suffix(&[]).unwrap(), ".parquet");
    assert_eq!(
        suffix(&[("parquet.compression", "zstd")]).unwrap(),
        ".zstd.parquet"
    );
    let compress = ("mapreduce.output.fileoutputformat.compress", "true");
    let codec = "mapreduce.output.fileoutputformat.compress.codec";
    let snappy = (codec, "org.apache.hadoop.io.compress.SnappyCodec");
    assert_eq!(suffix(&[compress, snappy]).unwrap(), ".snappy.parquet");
    let words = suffix(&[("parquet.compression", "LZO")]).unwrap_err();
    let wanted = "Parquet is not written with LZO: parquet.compression is UNCOMPRESSED, SNAPPY, GZIP, LZ4_RAW or ZSTD";
    assert_eq!(words, wanted);
    let numbers = <ParquetOutput as OutputFormat<(), u64>>::suffix(&Settings::default());
    let words = numbers.unwrap_err().to_string();
    assert_eq!(
        words,
        "u64 is no struct with fields, which rows are made of"
    );
    let mut bytes = Vec::new();
    Json(1_u64).append(&mut bytes).unwrap();
}
