//! Decoders that are given nonsense: an error at worst, and no more memory than a bound allows.

use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;

use gerbil_task::{Page, Piece};
use proptest::prelude::*;
use rustix::fs::{MemfdFlags, memfd_create};

use crate::allocated::largest;
use crate::datum::{EncodeAs, Text};
use crate::input::{Consumed, InputFormat as _, SequenceFile, Source, at_hand};
use crate::output::SequenceFileOutput;
use crate::settings::Settings;
use crate::sort::block::{BlockWriter, HEAD, SortedRun};
use crate::sort::codec::Codec;

/// Longest record here, bytes.
const MOST: usize = 1 << 20;

fn memory(bytes: &[u8]) -> File {
    let mut file = File::from(memfd_create("fuzz", MemfdFlags::CLOEXEC).unwrap());
    file.write_all(bytes).unwrap();
    file
}

fn content(file: &File) -> Vec<u8> {
    use std::os::unix::fs::FileExt as _;
    let mut bytes = vec![0; usize::try_from(file.metadata().unwrap().len()).unwrap()];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

/// Reads a run of blocks to its end, or to what is wrong with it; how many records there were. No more memory is asked
/// for than the longest block may have.
fn records(bytes: &[u8]) -> usize {
    let (count, largest) = largest(|| read_records(bytes));
    assert!(largest <= 2 * MOST, "{largest} bytes at once");
    count
}

fn read_records(bytes: &[u8]) -> usize {
    let mut run = SortedRun::new(Arc::new(memory(bytes).into()), 0, bytes.len() as u64, MOST);
    let mut count = 0;
    while run.advance().unwrap_or(false) {
        assert!(run.key().len() + run.value().len() <= bytes.len().max(MOST));
        count += 1;
    }
    count
}

/// A block around these bytes whose checksum is right.
fn block(raw_length: u32, codec: u8, stored: &[u8]) -> Vec<u8> {
    let mut head = raw_length.to_le_bytes().to_vec();
    head.extend(u32::try_from(stored.len()).unwrap().to_le_bytes());
    head.extend([3, 0, 0, 0, codec, 0, 0, 0]);
    let crc = crc32c::crc32c_append(crc32c::crc32c(&head), stored);
    head.extend(crc.to_le_bytes());
    assert_eq!(head.len(), HEAD);
    head.extend_from_slice(stored);
    head
}

fn blocks(codec: Codec) -> Vec<u8> {
    let file = memory(&[]);
    let (page, _descriptor) = Page::create().unwrap();
    let mut writer = BlockWriter::new(file.try_clone().unwrap().into(), codec, &page).unwrap();
    for n in 0..500_u32 {
        let value = format!("value {} {n}", "again ".repeat(20));
        writer.record(&n.to_be_bytes(), value.as_bytes()).unwrap();
    }
    writer.end_partition().unwrap();
    content(&file)
}

/// What of a SequenceFile is compressed; of [`BLOCK`](KINDS) some forty records at a time.
const KINDS: [&str; 3] = ["NONE", "RECORD", "BLOCK"];

fn sequence_file(kind: &str) -> Vec<u8> {
    let file = memory(&[]);
    let mut settings = Settings::default();
    let name = "mapreduce.output.fileoutputformat.compress";
    settings.set(name, "true");
    settings.set(&format!("{name}.type"), kind);
    settings.set("io.seqfile.compress.blocksize", "40000");
    let mut writer = <SequenceFileOutput as crate::OutputFormat<i64, Text>>::writer(
        file.try_clone().unwrap(),
        &settings,
    )
    .unwrap();
    for n in 0..300_u64 {
        writer
            .write(
                &n.to_be_bytes(),
                format!("{n} {}", "x".repeat(1000)).as_bytes(),
            )
            .unwrap();
    }
    writer.finish().unwrap();
    content(&file)
}

/// Reads a split of a SequenceFile to its end, or to what is wrong with it; memory is asked for as the file grows, and
/// not as its lengths say.
fn read_sequence(bytes: &[u8], offset: u64) -> usize {
    let (count, largest) = largest(|| read_sequence_of(bytes, offset));
    assert!(largest <= 2 * bytes.len() + MOST, "{largest} bytes at once");
    count
}

fn read_sequence_of(bytes: &[u8], offset: u64) -> usize {
    let size = bytes.len() as u64;
    let piece = Piece {
        name: "fuzz".to_owned(),
        offset,
        length: size - offset,
        size,
    };
    let source = Source::new(&at_hand(memory(bytes)), &piece, &Consumed::default()).unwrap();
    let Ok(mut reader) = SequenceFile::<i64, Text>::open(source, &Settings::default()) else {
        return 0;
    };
    let mut count = 0;
    while let Ok(Some(_)) = SequenceFile::<i64, Text>::next(&mut reader) {
        count += 1;
    }
    count
}

/// The records of the splits of a SequenceFile, cut at `cuts`, one after the other.
fn records_of_splits(bytes: &[u8], cuts: &[usize]) -> Vec<(i64, Vec<u8>)> {
    let mut cuts = [cuts, &[0, bytes.len()]].concat();
    cuts.sort_unstable();
    cuts.dedup();
    let mut all = Vec::new();
    for split in cuts.windows(2) {
        let piece = Piece {
            name: "fuzz".to_owned(),
            offset: split[0] as u64,
            length: (split[1] - split[0]) as u64,
            size: bytes.len() as u64,
        };
        let source = Source::new(&at_hand(memory(bytes)), &piece, &Consumed::default()).unwrap();
        let mut reader = SequenceFile::<i64, Text>::open(source, &Settings::default()).unwrap();
        while let Some((key, value)) = SequenceFile::<i64, Text>::next(&mut reader).unwrap() {
            all.push((key, value.to_vec()));
        }
    }
    all
}

/// A SequenceFile whose values are files, as they are.
fn packed(files: &[Vec<u8>]) -> Vec<u8> {
    let file = memory(&[]);
    let mut writer = <SequenceFileOutput as crate::OutputFormat<i64, Text>>::writer(
        file.try_clone().unwrap(),
        &Settings::default(),
    )
    .unwrap();
    for (n, file) in (0..).zip(files) {
        let mut key = Vec::new();
        EncodeAs::<i64>::append(&n, &mut key).unwrap();
        writer.write(&key, file).unwrap();
    }
    writer.finish().unwrap();
    content(&file)
}

#[test]
fn what_is_whole_is_read_whole() {
    assert_eq!(records(&blocks(Codec::None)), 500);
    assert_eq!(records(&blocks(Codec::Lz4)), 500);
    for kind in KINDS {
        assert_eq!(read_sequence(&sequence_file(kind), 0), 300, "{kind}");
    }
}

/// What is behind the last record of a block tells, too: a codec's checksum, and how many records there are.
#[test]
fn a_block_that_ends_otherwise_is_broken() {
    let whole = sequence_file("BLOCK");
    let read = |bytes: &[u8]| {
        let piece = Piece {
            name: "fuzz".to_owned(),
            offset: 0,
            length: bytes.len() as u64,
            size: bytes.len() as u64,
        };
        let source = Source::new(&at_hand(memory(bytes)), &piece, &Consumed::default()).unwrap();
        let mut reader = SequenceFile::<i64, Text>::open(source, &Settings::default()).unwrap();
        loop {
            match SequenceFile::<i64, Text>::next(&mut reader) {
                Ok(Some(_)) => {}
                Ok(None) => return None,
                Err(error) => return Some(error.to_string()),
            }
        }
    };
    assert_eq!(read(&whole), None);
    // The last stream ends with the checksum of zlib.
    let mut changed = whole.clone();
    *changed.last_mut().unwrap() ^= 1;
    let said = read(&changed).unwrap();
    assert!(said.contains("the block at byte "), "{said}");
    // Behind the first sync of the records stands their number.
    let escape = whole.windows(4).position(|four| four == [0xFF; 4]).unwrap();
    let mut fewer = whole;
    assert!((2..100).contains(&fewer[escape + 20]));
    fewer[escape + 20] -= 1;
    let said = read(&fewer).unwrap();
    assert!(said.contains(" of this SequenceFile is broken"), "{said}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn a_block_that_was_changed_is_an_error(at: prop::sample::Index, flip in 1..=255_u8, codec: bool) {
        let mut bytes = blocks(if codec { Codec::Lz4 } else { Codec::None });
        *at.get_mut(&mut bytes) ^= flip;
        prop_assert_eq!(records(&bytes), 0);
    }

    #[test]
    fn a_block_of_nonsense_whose_checksum_is_right_is_survived(
        raw: u32, codec in 0..4_u8, stored in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        let length = u32::try_from(stored.len()).unwrap();
        for raw in [raw, length, length.saturating_mul(3)] {
            records(&block(raw, codec, &stored));
        }
    }

    #[test]
    fn splits_of_a_sequence_file_are_together_the_whole(
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..9), kind in 0..KINDS.len(),
    ) {
        let plain = sequence_file(KINDS[kind]);
        let mut files: Vec<Vec<u8>> = KINDS.iter().map(|kind| sequence_file(kind)).collect();
        files.extend([plain.clone(), plain.clone()]);
        let packed = packed(&files);
        for (bytes, count) in [(&plain, 300), (&packed, files.len())] {
            let cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
            let whole = records_of_splits(bytes, &[]);
            prop_assert_eq!(whole.len(), count);
            prop_assert!(records_of_splits(bytes, &cuts) == whole, "cut at {:?}", cuts);
        }
        let values: Vec<Vec<u8>> = records_of_splits(&packed, &[]).into_iter().map(|(_, value)| value).collect();
        prop_assert!(values == files);
    }

    #[test]
    fn a_sequence_file_that_was_changed_is_survived(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        end: prop::sample::Index, start: prop::sample::Index, kind in 0..KINDS.len(), head: bool,
    ) {
        let mut bytes = sequence_file(KINDS[kind]);
        let most = if head { 150 } else { bytes.len() };
        for (at, byte) in changes {
            bytes[at.index(most)] = byte;
        }
        read_sequence(&bytes, 0);
        bytes.truncate(end.index(bytes.len()).max(1));
        read_sequence(&bytes, 0);
        read_sequence(&bytes, start.index(bytes.len()) as u64);
    }
}
