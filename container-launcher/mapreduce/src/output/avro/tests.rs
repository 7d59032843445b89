//! What is written is read back, whatever it is, and wherever blocks end.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

use proptest::prelude::*;
use rustix::fs::{MemfdFlags, memfd_create};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::AvroOutput;
use crate::datum::Json;
use crate::output::OutputFormat;
use crate::prelude::*;
use crate::settings::Settings;

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct Record {
    number: u64,
    flag: bool,
    tiny: i8,
    long: Option<i64>,
    float: f32,
    double: f64,
    text: String,
    bytes: Vec<u8>,
    lists: Vec<Option<Vec<i32>>>,
    map: BTreeMap<String, Vec<u16>>,
    kind: Option<Kind>,
    group: Group,
    groups: Vec<Group>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
enum Kind {
    Plain,
    Html,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct Group {
    id: u32,
    names: Vec<Option<String>>,
}

fn group() -> impl Strategy<Value = Group> {
    (
        any::<u32>(),
        prop::collection::vec(any::<Option<String>>(), 0..3),
    )
        .prop_map(|(id, names)| Group { id, names })
}

fn record() -> impl Strategy<Value = Record> {
    let small = (
        any::<bool>(),
        any::<i8>(),
        any::<Option<i64>>(),
        any::<i16>(),
        any::<i32>(),
    );
    let lists = prop::collection::vec(
        prop::option::of(prop::collection::vec(any::<i32>(), 0..3)),
        0..3,
    );
    let some = || prop::collection::vec(any::<u16>(), 0..3);
    let map = prop::collection::btree_map(any::<String>(), some(), 0..3);
    let kind = prop::option::of(prop_oneof![Just(Kind::Plain), Just(Kind::Html)]);
    let groups = (group(), prop::collection::vec(group(), 0..3));
    (
        small,
        any::<String>(),
        any::<Vec<u8>>(),
        lists,
        map,
        kind,
        groups,
    )
        .prop_map(
            |(small, text, bytes, lists, map, kind, (group, groups))| Record {
                number: 0,
                flag: small.0,
                tiny: small.1,
                long: small.2,
                float: f32::from(small.3) / 4.0,
                double: f64::from(small.4) / 8.0,
                text,
                bytes,
                lists,
                map,
                kind,
                group,
                groups,
            },
        )
}

/// A file that holds these records.
fn written<T: Serialize + DeserializeOwned + 'static>(
    records: &[T],
    settings: &[(&str, &str)],
) -> Result<Vec<u8>> {
    let mut given = Settings::default();
    for (name, value) in settings {
        given.set(name, value);
    }
    let file = File::from(memfd_create("avro", MemfdFlags::CLOEXEC)?);
    let mut writer = <AvroOutput as OutputFormat<(), Json<T>>>::writer(file.try_clone()?, &given)?;
    for record in records {
        writer.write(b"", &serde_json::to_vec(record)?)?;
    }
    writer.finish()?;
    let mut bytes = vec![0; usize::try_from(file.metadata()?.len())?];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

struct Records;

impl Mapper for Records {
    type Input = Avro<Record>;
    type Key = u64;
    type Value = Json<Record>;

    fn map(&mut self, (): (), record: Record, out: &mut Emit<'_, Self>) -> Result<()> {
        let number = record.number;
        out.emit(&number, &Json(record))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn records_come_back_as_they_went(
        mut records in prop::collection::vec(record(), 0..200),
        codec in 0..4_usize,
        split in 500..20_000_u64,
    ) {
        for (number, record) in (0..).zip(&mut records) {
            record.number = number;
        }
        let codec = ["null", "deflate", "snappy", "zstandard"][codec];
        let settings = [("avro.output.codec", codec), ("avro.mapred.sync.interval", "2000")];
        let file = written(&records, &settings).unwrap();
        let job = Job::new("records").map(|| Records).reduce(|| Identity);
        let done = job.test().file("f.avro", file).split_every(split).run();
        let read = done.unwrap().text();
        let read = read.lines().map(|line| {
            let (_, record) = line.split_once('\t').unwrap();
            serde_json::from_str::<Record>(record).unwrap()
        });
        prop_assert_eq!(read.collect::<Vec<_>>(), records);
    }
}

#[test]
fn what_avro_does_not_hold_is_refused() {
    #[derive(Deserialize, Serialize)]
    struct Large {
        number: u64,
    }
    let large = Large { number: u64::MAX };
    let words = written(&[large], &[]).unwrap_err().to_string();
    let wanted =
        "a record of Avro, number: long, which has signs, is wanted, found 18446744073709551615";
    assert_eq!(words, wanted);

    #[derive(Deserialize, Serialize)]
    struct Odd {
        #[serde(rename = "two words")]
        number: u64,
    }
    let words = written::<Odd>(&[], &[]).unwrap_err().to_string();
    let of = std::any::type_name::<Odd>();
    assert!(
        words.starts_with(&format!("the schema of {of}: ")),
        "{words}"
    );
    let words = written::<Large>(&[], &[("avro.output.codec", "xz")]).unwrap_err();
    let wanted =
        "Avro is not written with xz: avro.output.codec is null, deflate, snappy or zstandard";
    assert_eq!(words.to_string(), wanted);
}
