//! A piece of a bzip2 file: the blocks that begin in it, and those behind it as far as they are asked for.
//!
//! ```text
//! "BZh" level | 314159265359 CRC data… | 314159265359 CRC data… | 177245385090 CRC of all, up to a whole byte
//! ```
//!
//! Blocks begin at any bit, and say nothing of their length: the next one's 48 bits tell where one ends. Each is decoded by
//! itself, as a stream of one block. Should the 48 bits occur inside of a block's data, which is as likely as to guess
//! them, what is in front of them is no block, and it goes on to the next ones.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use crate::codecs::bzip2;

/// What a block begins with, and what a stream ends with, 48 bits each.
const BLOCK: u64 = 0x3141_5926_5359;
const END: u64 = 0x1772_4538_5090;
const MAGIC_BITS: u64 = 48;
const CRC_BITS: u64 = 32;
/// Bytes of a block, compressed, at the most: 900,000 that cannot be compressed, and what that costs, fit in half of it.
const BLOCK_MAX: u64 = 2 << 20;
/// Bytes that are read at once.
const PIECE: usize = 64 << 10;

/// How many bytes the blocks that begin in a piece hold; none before the first one behind them is reached.
pub(crate) type Owned = Rc<Cell<Option<u64>>>;

/// What is in the blocks of a piece, and behind it.
pub(crate) struct Blocks<R> {
    raw: R,
    /// Bytes of the file from `at` on.
    bytes: Vec<u8>,
    at: u64,
    ended: bool,
    /// Bytes of the file: where the piece begins and ends.
    from: u64,
    to: u64,
    place: BlockPlace,
    block: Vec<u8>,
    taken: usize,
    decoded: u64,
    owned: Owned,
}

/// Bits of the file.
#[derive(Clone, Copy)]
enum BlockPlace {
    /// The piece's first block is to be looked for.
    Begin,
    /// A block begins here.
    Block(u64),
    /// A stream ended with the 48 bits that begin here.
    Behind(u64),
    End,
}

impl<R: Read> Blocks<R> {
    /// Of the bytes `from..to`; `raw` begins with the first of them.
    pub(crate) fn new(raw: R, (from, to): (u64, u64), owned: Owned) -> Self {
        Self {
            raw,
            bytes: Vec::new(),
            at: from,
            ended: false,
            from,
            to,
            place: BlockPlace::Begin,
            block: Vec::new(),
            taken: 0,
            decoded: 0,
            owned,
        }
    }

    /// Decodes the next block; `false`: there is none.
    fn next(&mut self) -> io::Result<bool> {
        loop {
            self.place = match self.place {
                BlockPlace::Begin if self.from == 0 => self.stream(0)?,
                BlockPlace::Begin => self.first()?,
                BlockPlace::Behind(bit) => {
                    let trailer = bit + MAGIC_BITS + CRC_BITS;
                    self.stream(trailer.div_ceil(8))?
                }
                BlockPlace::Block(bit) => {
                    if bit / 8 >= self.to && self.owned.get().is_none() {
                        self.owned.set(Some(self.decoded));
                    }
                    self.place = self.decode(bit)?;
                    self.decoded += self.block.len() as u64;
                    return Ok(true);
                }
                BlockPlace::End => return Ok(false),
            };
        }
    }

    /// The first block of a piece that begins inside of the file. What begins behind the piece is not looked for: a line of
    /// its own would begin in a block of its own.
    fn first(&mut self) -> io::Result<BlockPlace> {
        let mut bit = self.from * 8;
        loop {
            match self.find(bit, self.to * 8)? {
                Some((found, true)) => return Ok(BlockPlace::Block(found)),
                Some((found, false)) => bit = found + 1,
                None => {
                    self.owned.set(Some(0));
                    return Ok(BlockPlace::End);
                }
            }
        }
    }

    /// The stream that begins at this byte, or behind zeros from there on.
    fn stream(&mut self, byte: u64) -> io::Result<BlockPlace> {
        self.forget(byte);
        let mut byte = byte;
        loop {
            match self.byte(byte)? {
                None => return Ok(BlockPlace::End),
                Some(0) if byte > 0 => {
                    byte += 1;
                    self.forget(byte);
                }
                Some(_) => break,
            }
        }
        let mut head = 0;
        for at in byte..byte + 4 {
            head = head << 8 | u64::from(self.byte(at)?.unwrap_or_default());
        }
        let bit = (byte + 4) * 8;
        let is_head = head >> 8 == 0x0042_5A68 && (0x31..=0x39).contains(&(head & 0xFF));
        match self.bits(bit, MAGIC_BITS)? {
            Some(BLOCK) if is_head => Ok(BlockPlace::Block(bit)),
            Some(END) if is_head => Ok(BlockPlace::Behind(bit)),
            Some(_) | None => Err(broken(&format!("at byte {byte} no stream begins"))),
        }
    }

    /// Decodes the block that begins at this bit; what is behind it.
    fn decode(&mut self, bit: u64) -> io::Result<BlockPlace> {
        self.forget(bit / 8);
        let most = bit + BLOCK_MAX * 8;
        let mut from = bit + MAGIC_BITS;
        let mut first = None;
        loop {
            let Some((end, is_block)) = self.find(from, most)? else {
                let cut = || broken(&format!("the block at byte {} has no end", bit / 8));
                return Err(first.unwrap_or_else(cut));
            };
            match self.decode_until(bit, end) {
                Ok(()) if is_block => return Ok(BlockPlace::Block(end)),
                Ok(()) => return Ok(BlockPlace::Behind(end)),
                Err(error) => first = first.or(Some(error)),
            }
            from = end + 1;
        }
    }

    fn decode_until(&mut self, bit: u64, end: u64) -> io::Result<()> {
        let mut stream = b"BZh9".to_vec();
        let shift = u32::try_from(bit % 8).unwrap_or(0);
        let first = crate::width::size(bit / 8 - self.at);
        let long = end - bit;
        let whole = crate::width::size(long / 8);
        let held = self.bytes.get(first..).unwrap_or_default();
        stream.extend(held.windows(2).take(whole).map(|two| shifted(two, shift)));
        // The last bits, the end of the stream, and the CRC of its only block.
        let rest = long % 8;
        let crc = self.bits(bit + MAGIC_BITS, CRC_BITS)?.unwrap_or_default();
        let mut tail = u128::from(self.bits(end - rest, rest)?.unwrap_or_default());
        tail = (tail << MAGIC_BITS | u128::from(END)) << CRC_BITS | u128::from(crc);
        let tail = tail << (128 - MAGIC_BITS - CRC_BITS - rest);
        let bytes = crate::width::size((MAGIC_BITS + CRC_BITS + rest).div_ceil(8));
        stream.extend(tail.to_be_bytes().iter().take(bytes));
        self.block.clear();
        self.taken = 0;
        let reader = bzip2::reader(stream.as_slice());
        let mut reader = reader.map_err(|error| io::Error::other(error.to_string()))?;
        reader.read_to_end(&mut self.block).map(drop)
    }

    /// The next 48 bits from `from` on that begin a block (`true`) or end a stream; none that begins before `most`.
    fn find(&mut self, from: u64, most: u64) -> io::Result<Option<(u64, bool)>> {
        let mut byte = from / 8;
        let mut window = 0_u64;
        loop {
            let Some(next) = self.byte(byte)? else {
                return Ok(None);
            };
            window = window << 8 | u64::from(next);
            byte += 1;
            // The 48 bits end in this byte, or with it.
            for left in (0..8).rev() {
                let Some(bit) = (byte * 8 - left).checked_sub(MAGIC_BITS) else {
                    continue;
                };
                let seen = window >> left & ((1 << MAGIC_BITS) - 1);
                if bit >= from && (seen == BLOCK || seen == END) {
                    return Ok((bit < most).then_some((bit, seen == BLOCK)));
                }
            }
            if byte * 8 > most + MAGIC_BITS {
                return Ok(None);
            }
            if matches!(self.place, BlockPlace::Begin) {
                self.forget(byte.saturating_sub(8).max(self.from));
            }
        }
    }

    /// So many bits, 64 at the most; none where the file ends before.
    fn bits(&mut self, from: u64, count: u64) -> io::Result<Option<u64>> {
        let mut found = 0_u128;
        let last = (from + count).div_ceil(8);
        for at in from / 8..last {
            let Some(byte) = self.byte(at)? else {
                return Ok(None);
            };
            found = found << 8 | u128::from(byte);
        }
        let found = found >> (last * 8 - from - count) & ((1_u128 << count) - 1);
        Ok(u64::try_from(found).ok())
    }

    /// A byte of the file.
    fn byte(&mut self, at: u64) -> io::Result<Option<u8>> {
        let index = crate::width::size(at.saturating_sub(self.at));
        while self.bytes.len() <= index && !self.ended {
            let filled = self.bytes.len();
            self.bytes.resize(filled + PIECE, 0);
            let read = self
                .raw
                .read(self.bytes.get_mut(filled..).unwrap_or_default());
            self.bytes
                .truncate(filled + read.as_ref().map_or(0, |read| *read));
            match read {
                Ok(0) => self.ended = true,
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                Ok(_) | Err(_) => {}
            }
        }
        Ok(self.bytes.get(index).copied())
    }

    /// Bytes before this one are not asked for again.
    fn forget(&mut self, before: u64) {
        let many = crate::width::size(before.saturating_sub(self.at));
        // Not for a few of them each time.
        if many >= PIECE.min(self.bytes.len()) && many > 0 {
            let many = many.min(self.bytes.len());
            self.bytes.drain(..many);
            self.at += many as u64;
        }
    }
}

impl<R: Read> Read for Blocks<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        while self.taken == self.block.len() {
            if !self.next()? {
                return Ok(0);
            }
        }
        let left = self.block.get(self.taken..).unwrap_or_default();
        let many = left.len().min(into.len());
        if let (Some(into), Some(left)) = (into.get_mut(..many), left.get(..many)) {
            into.copy_from_slice(left);
        }
        self.taken += many;
        Ok(many)
    }
}

/// The first byte of two that begin so many bits before it.
fn shifted(two: &[u8], shift: u32) -> u8 {
    let two = two
        .iter()
        .fold(0_u16, |all, byte| all << 8 | u16::from(*byte));
    let [byte, _] = (two << shift).to_be_bytes();
    byte
}

fn broken(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read as _, Write as _};
    use std::process::{Command, Stdio};

    use bzip2::Compression;
    use bzip2::write::BzEncoder;
    use gerbil_task::Piece;
    use proptest::prelude::*;

    use crate::error::Result;
    use crate::input::{Consumed, InputFormat, Source, TextLines, at_hand};
    use crate::settings::{DELIMITER, Settings};

    fn stream(text: &[u8]) -> Vec<u8> {
        let mut writer = BzEncoder::new(Vec::new(), Compression::fast());
        writer.write_all(text).unwrap();
        writer.finish().unwrap()
    }

    /// Lines whose text hardly repeats, so that blocks of 100 kB are nearly as long when they are compressed.
    fn text(lines: u64) -> Vec<u8> {
        let mut state = 7;
        let mut line = |number| {
            let word = crate::sort::digest::split_mix(&mut state);
            format!(
                "{number} {}\n",
                format!("{word:x}").repeat(usize::try_from(number % 5).unwrap())
            )
        };
        (0..lines)
            .flat_map(|number| line(number).into_bytes())
            .collect()
    }

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    /// The lines of the piece, and what went wrong.
    fn lines(
        stored: &File,
        (offset, length): (u64, u64),
        settings: &Settings,
    ) -> Result<Vec<Vec<u8>>> {
        let piece = Piece {
            name: "t.bz2".to_owned(),
            offset,
            length,
            size: stored.metadata().unwrap().len(),
        };
        let open = at_hand(stored.try_clone().unwrap());
        let source = Source::new(&open, &piece, &Consumed::default())?;
        let mut reader = TextLines::open(source, settings)?;
        let mut all = Vec::new();
        while let Some((_, line)) = TextLines::next(&mut reader)? {
            all.push(line.to_vec());
        }
        Ok(all)
    }

    /// Those of all pieces of at most so many bytes.
    fn all_lines(stored: &[u8], most: u64, settings: &Settings) -> Vec<Vec<u8>> {
        let stored = file(stored);
        let size = stored.metadata().unwrap().len();
        let from = (0..size).step_by(usize::try_from(most).unwrap());
        from.flat_map(|from| lines(&stored, (from, most.min(size - from)), settings).unwrap())
            .collect()
    }

    fn by(text: &[u8], delimiter: u8) -> Vec<Vec<u8>> {
        let text = text.strip_suffix(&[delimiter]).unwrap_or(text);
        let lines = text.split(|byte| *byte == delimiter);
        lines.map(<[u8]>::to_vec).collect()
    }

    #[test]
    fn blocks_that_begin_at_any_bit_are_read_once_each() {
        let text = text(20_000);
        let stored = stream(&text);
        assert!(stored.len() > 250_000, "{}", stored.len());
        let size = stored.len() as u64;
        let settings = Settings::default();
        for most in [size - 1, size / 2, 100_000, 61_003, 20_011] {
            assert!(
                all_lines(&stored, most, &settings) == by(&text, b'\n'),
                "{most}"
            );
        }
        // A delimiter that lies across blocks.
        let mut settings = Settings::default();
        settings.set(DELIMITER, "7");
        assert!(all_lines(&stored, 50_000, &settings) == by(&text, b'7'));
    }

    #[test]
    fn what_bzip2_itself_has_written_is_read() {
        let text = text(40_000);
        let mut child = Command::new("bzip2");
        let mut child = child
            .arg("-1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut to, written) = (child.stdin.take().unwrap(), text.clone());
        let writer = std::thread::spawn(move || to.write_all(&written).unwrap());
        let mut stored = Vec::new();
        child
            .stdout
            .take()
            .unwrap()
            .read_to_end(&mut stored)
            .unwrap();
        writer.join().unwrap();
        assert!(child.wait().unwrap().success());
        assert!(all_lines(&stored, 90_000, &Settings::default()) == by(&text, b'\n'));
    }

    #[test]
    fn what_is_broken_is_told() {
        let text = text(20_000);
        let mut stored = stream(&text);
        let settings = Settings::default();
        let size = stored.len() as u64;
        let cut = file(&stored[..stored.len() - 20_000]);
        let error = lines(&cut, (200_000, size - 220_000), &settings).unwrap_err();
        let words = error.to_string();
        assert!(
            words.contains("t.bz2") && words.contains("has no end"),
            "{words}"
        );
        stored[150_000] ^= 1;
        let error = lines(&file(&stored), (100, size - 100), &settings).unwrap_err();
        assert!(
            error.to_string().contains("Bzip2 data of t.bz2 are broken"),
            "{error}"
        );
        let mut odd = stream(b"a\n");
        odd.extend_from_slice(b"\0\0odd");
        let size = odd.len() as u64;
        let error = lines(&file(&odd), (0, size - 1), &settings).unwrap_err();
        assert!(error.to_string().contains("no stream begins"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Small streams behind each other, as `pbzip2` writes them, some of them empty, some with zeros behind them.
        #[test]
        fn each_line_is_read_once_wherever_the_file_is_cut(
            parts in prop::collection::vec(("[a-c\n]{0,12}", 0_usize..3), 1..8), most in 1_u64..120
        ) {
            let (mut text, mut stored) = (String::new(), Vec::new());
            for (part, zeros) in &parts {
                text.push_str(part);
                stored.extend(stream(part.as_bytes()));
                stored.extend(vec![0; *zeros]);
            }
            let expected = match text.is_empty() {
                true => Vec::new(),
                false => by(text.as_bytes(), b'\n'),
            };
            prop_assert_eq!(all_lines(&stored, most, &Settings::default()), expected);
        }
    }
}
