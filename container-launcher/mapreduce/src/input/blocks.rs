//! Text in blocks of whole lines: what goes on to another process needs no look at each line.

use super::lines::LineReader;
use super::{Granule, InputFormat, Source};
use crate::error::Result;
use crate::settings::Settings;

/// Bytes after which lines that are read one by one make a block.
const BLOCK: usize = 64 << 10;

/// Text: the key is the offset of a block of lines, the value those lines, each of which ends with LF, however it did in the
/// file. Lines, and pieces of files, begin and end as those of [`TextLines`](super::TextLines).
#[derive(Debug)]
pub struct LineBlocks;

/// Reads blocks of lines.
#[derive(Debug)]
pub struct BlockReader {
    lines: LineReader,
    /// Of lines that were read one by one.
    block: Vec<u8>,
    /// Lines of the last block.
    count: u64,
}

impl InputFormat for LineBlocks {
    type Key<'a> = u64;
    type Value<'a> = &'a [u8];
    type Reader = BlockReader;

    fn granule(_: &Settings) -> Result<Granule> {
        Ok(Granule::Line)
    }

    fn open(source: Source, settings: &Settings) -> Result<BlockReader> {
        Ok(BlockReader {
            lines: LineReader::new(source, settings)?,
            block: Vec::new(),
            count: 0,
        })
    }

    fn position(reader: &BlockReader) -> u64 {
        reader.lines.position()
    }

    fn records(reader: &BlockReader) -> u64 {
        reader.count
    }

    fn next(reader: &mut BlockReader) -> Result<Option<(u64, &[u8])>> {
        let at = reader.lines.position();
        reader.block.clear();
        reader.count = 0;
        if let Some((from, to)) = reader.lines.whole()? {
            let lines = reader.lines.held(from, to);
            reader.count = memchr::memchr_iter(b'\n', lines).count() as u64;
            return Ok(Some((at, lines)));
        }
        while reader.block.len() < BLOCK
            && let Some((_, line)) = reader.lines.next()?
        {
            reader.block.extend_from_slice(line);
            reader.block.push(b'\n');
            reader.count += 1;
            // Behind the first line of a file there may be nothing but whole ones.
            if at == 0 {
                break;
            }
        }
        Ok((reader.count > 0).then_some((at, reader.block.as_slice())))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::LineBlocks;
    use crate::input::{InputFormat, Source, TextLines};
    use crate::settings::Settings;

    fn piece(text: &[u8], offset: usize, end: usize) -> Source {
        let mut source = Source::in_memory("t", text[offset..].to_vec());
        source.offset = offset as u64;
        source.end = end as u64;
        source
    }

    fn blocks(text: &[u8], offset: usize, end: usize) -> (Vec<u8>, u64) {
        let settings = Settings::default();
        let mut reader = LineBlocks::open(piece(text, offset, end), &settings).unwrap();
        let (mut all, mut count) = (Vec::new(), 0);
        while let Some((_, block)) = LineBlocks::next(&mut reader).unwrap() {
            all.extend_from_slice(block);
            count += LineBlocks::records(&reader);
        }
        (all, count)
    }

    fn lines(text: &[u8], offset: usize, end: usize) -> (Vec<u8>, u64) {
        let settings = Settings::default();
        let mut reader = TextLines::open(piece(text, offset, end), &settings).unwrap();
        let (mut all, mut count) = (Vec::new(), 0);
        while let Some((_, line)) = TextLines::next(&mut reader).unwrap() {
            all.extend_from_slice(line);
            all.push(b'\n');
            count += 1;
        }
        (all, count)
    }

    proptest! {
        #[test]
        fn blocks_hold_the_lines_wherever_the_file_is_cut(
            text in prop::collection::vec(prop::sample::select(b"aaab\n\n\r".to_vec()), 0..60), cut in 0_usize..60
        ) {
            let cut = cut.min(text.len());
            prop_assert_eq!(blocks(&text, 0, cut), lines(&text, 0, cut));
            prop_assert_eq!(blocks(&text, cut, text.len()), lines(&text, cut, text.len()));
        }
    }

    #[test]
    fn large_texts_come_in_few_blocks() {
        let text: Vec<u8> = (0..200_000)
            .flat_map(|n| format!("line {n}\n").into_bytes())
            .collect();
        let settings = Settings::default();
        let mut reader = LineBlocks::open(piece(&text, 0, text.len()), &settings).unwrap();
        let (mut all, mut blocks) = (Vec::new(), 0);
        while let Some((_, block)) = LineBlocks::next(&mut reader).unwrap() {
            all.extend_from_slice(block);
            blocks += 1;
        }
        assert!(all == text && blocks < 30, "{blocks}");
    }
}
