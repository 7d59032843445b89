//! SequenceFiles of several Writables, as recipes read them.

use std::fs;
use std::path::Path;

use anyhow::Result;

/// Records of each file.
const RECORDS: i32 = 300;
/// Records between two syncs.
const STRETCH: i32 = 25;
/// What is unlikely in a record.
const SYNC: [u8; 16] = *b"\x90sync\xF0of\x80a\xFFfile\xFE";

/// A Writable, and how it holds a number.
struct Kind {
    class: &'static str,
    bytes: fn(i32) -> Vec<u8>,
}

/// Those of keys and of values; each file has one of either.
const PAIRS: [(Kind, Kind); 5] = [
    (
        Kind {
            class: "Text",
            bytes: |n| text(format!("k{}", n * 31 % 40).as_bytes()),
        },
        Kind {
            class: "IntWritable",
            bytes: |n| n.wrapping_mul(-1_640_531_527).to_be_bytes().to_vec(),
        },
    ),
    (
        Kind {
            class: "LongWritable",
            bytes: |n| (i64::from(n - 150) * 3_000_000_007).to_be_bytes().to_vec(),
        },
        Kind {
            class: "DoubleWritable",
            bytes: |n| {
                let value = (f64::from(n) / 7.0).powi(n % 20 - 10);
                value.to_be_bytes().to_vec()
            },
        },
    ),
    (
        Kind {
            class: "BytesWritable",
            bytes: |n| {
                let bytes: Vec<u8> = (0..n % 6)
                    .flat_map(|by| (n * 77 + by).to_le_bytes())
                    .collect();
                let length = u32::try_from(bytes.len()).unwrap_or_default();
                [&length.to_be_bytes(), bytes.as_slice()].concat()
            },
        },
        Kind {
            class: "NullWritable",
            bytes: |_| Vec::new(),
        },
    ),
    (
        Kind {
            class: "BooleanWritable",
            bytes: |n| vec![u8::from(n % 3 == 0)],
        },
        Kind {
            class: "FloatWritable",
            bytes: |n| {
                // Of few digits: older Javas write more than are needed of some.
                let value = f32::from(i16::try_from(n).unwrap_or_default()) - 150.0;
                let by = if n % 2 == 0 { 125_000.0 } else { 0.125 };
                (value * by).to_be_bytes().to_vec()
            },
        },
    ),
    (
        Kind {
            class: "ByteWritable",
            bytes: |n| n.to_le_bytes().into_iter().take(1).collect(),
        },
        Kind {
            class: "Text",
            // Not all of it is UTF-8.
            bytes: |n| {
                let odd = n.wrapping_mul(-1_640_531_527).to_be_bytes();
                let mut bytes = [b"v\xC3\xA9 ", odd.as_slice()].concat();
                bytes.retain(|byte| !b"\r\n".contains(byte));
                text(&bytes)
            },
        },
    ),
];

/// As `Text` writes bytes that are fewer than 128.
fn text(bytes: &[u8]) -> Vec<u8> {
    let length = u8::try_from(bytes.len()).unwrap_or_default();
    [&[length], bytes].concat()
}

/// Writes the files into `folder`.
pub(crate) fn write(folder: &Path) -> Result<()> {
    fs::create_dir(folder)?;
    for (key, value) in &PAIRS {
        let mut file = b"SEQ\x06".to_vec();
        for kind in [key, value] {
            file.extend(text(
                format!("org.apache.hadoop.io.{}", kind.class).as_bytes(),
            ));
        }
        // Without compression and metadata.
        file.extend([0; 6]);
        file.extend(SYNC);
        for number in 0..RECORDS {
            if number % STRETCH == STRETCH - 1 {
                file.extend((-1_i32).to_be_bytes());
                file.extend(SYNC);
            }
            let (key, value) = ((key.bytes)(number), (value.bytes)(number));
            for length in [key.len() + value.len(), key.len()] {
                file.extend(u32::try_from(length)?.to_be_bytes());
            }
            file.extend(key);
            file.extend(value);
        }
        fs::write(folder.join(format!("{}.seq", key.class)), file)?;
    }
    Ok(())
}
