//! Compressed files, whole and broken.

use std::io::Write as _;

/// Text that compresses to some hundred kilobytes.
fn text() -> Vec<u8> {
    let line = |number: u32| format!("line {}\n", number.wrapping_mul(2_654_435_761));
    (0..30_000)
        .flat_map(|number| line(number).into_bytes())
        .collect()
}

/// More distinct words than 16 MiB of map output hold.
pub fn many_words() -> String {
    (0..400_000_u32)
        .map(|n| {
            let number = u64::from(n) * 2_654_435_761 % 1_000_000_007;
            format!("word {number:055}\n")
        })
        .collect()
}

pub fn gzip() -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    writer.write_all(&text()).unwrap();
    writer.finish().unwrap()
}

pub fn bzip2() -> Vec<u8> {
    let mut writer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    writer.write_all(&text()).unwrap();
    writer.finish().unwrap()
}

/// With the checksum that the command `zstd` writes, too.
pub fn zstd() -> Vec<u8> {
    let mut writer = zstd::Encoder::new(Vec::new(), 1).unwrap();
    writer.include_checksum(true).unwrap();
    writer.write_all(&text()).unwrap();
    writer.finish().unwrap()
}

/// Hadoop's frames around chunks of 64 KiB.
fn framed(compress: fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let mut out = Vec::new();
    for chunk in text().chunks(64 << 10) {
        let stored = compress(chunk);
        out.extend(u32::try_from(chunk.len()).unwrap().to_be_bytes());
        out.extend(u32::try_from(stored.len()).unwrap().to_be_bytes());
        out.extend(stored);
    }
    out
}

pub fn lz4() -> Vec<u8> {
    framed(lz4_flex::block::compress)
}

pub fn snappy() -> Vec<u8> {
    framed(|chunk| snap::raw::Encoder::new().compress_vec(chunk).unwrap())
}

/// A byte in the middle, flipped.
pub fn flipped(mut bytes: Vec<u8>) -> Vec<u8> {
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    bytes
}

/// A byte of the second frame's raw length, flipped. What the frames hold has no checksum: of it, not every change
/// can be found.
pub fn length_flipped(mut bytes: Vec<u8>) -> Vec<u8> {
    let stored = u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
    let second = 8 + usize::try_from(stored).unwrap();
    bytes[second + 1] ^= 0x55;
    bytes
}

pub fn halved(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() / 2);
    bytes
}
