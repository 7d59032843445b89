//! Text, line by line, as Hadoop's `TextInputFormat` and `NLineInputFormat`.
//!
//! A line ends with LF, CR LF or CR, or with what `textinputformat.record.delimiter` says. A piece that
//! begins inside of a file leaves its first line to the piece before, which reads every line that begins at
//! or before its end, or behind a delimiter that begins before it: so each line is read once, wherever files
//! are cut. A byte order mark of UTF-8 at the front of a file is no part of its first line, whose offset is 0
//! all the same.
//!
//! A line that is longer than a record may be fails its task. Where `mapreduce.input.linerecordreader.line.maxlength` is
//! set, lines that take as many bytes or more, with their ends, are left out, as Hadoop does; the task's log says how many.
//!
//! Of bzip2 the bytes of a piece are those of the blocks that begin in it, and places in it are counted from where the piece
//! begins in the file: what the blocks before hold is not known.
//!
//! A delimiter that may overlap itself, such as two line feeds where there are three, is found from where a reader begins:
//! two pieces may see it at two places, and what lies at their border is read twice, as Hadoop does.

use std::io::{Read, Write as _};

use super::bzip2_blocks::Owned;
use super::{Granule, InputFormat, Source, columnar};
use crate::error::{Context as _, Error, Result};
use crate::settings::{DELIMITER, LINE_MAX, LINES, Settings};

/// Text: the key is the line's offset, the value the line without its end.
///
/// With a `textinputformat.record.delimiter` that may overlap itself, such as two line feeds in a text that has three in a
/// row, a record at the border of two splits may be read twice, as Hadoop does: choose one that does not, or splits that
/// are files.
#[derive(Debug)]
pub struct TextLines;

/// Text, `mapreduce.input.lineinputformat.linespermap` lines a split.
#[derive(Debug)]
pub struct NLines;

/// The byte order mark of UTF-8.
const MARK: &[u8] = b"\xEF\xBB\xBF";
/// Bytes that are read at once.
const PIECE: usize = 256 << 10;

/// Reads lines out of a piece.
pub struct LineReader {
    reader: Box<dyn Read>,
    name: String,
    buffer: Vec<u8>,
    start: usize,
    filled: usize,
    ended: bool,
    /// Where `start` is in the file.
    position: u64,
    /// A line that begins behind it is of another piece.
    end: u64,
    /// What tells where the piece ends, and how far behind it a line may begin.
    owned: Option<(Owned, u64)>,
    longest: usize,
    /// Lines that are as long are left out, rather than refused: how many so far.
    left_out: Option<u64>,
    delimiter: Option<Vec<u8>>,
}

/// A line that was taken.
enum Taken {
    /// Where it lies in the buffer.
    Line(usize, usize),
    /// It is too long, and left out.
    LeftOut,
    /// The file has ended.
    End,
}

impl Drop for LineReader {
    fn drop(&mut self) {
        if let Some(left_out @ 1..) = self.left_out {
            // The task's log; nothing is done where that cannot be written.
            drop(writeln!(
                std::io::stderr().lock(),
                "{}: lines that take {} bytes or more with their ends ({LINE_MAX}) are left out: {left_out}",
                self.name,
                self.longest
            ));
        }
    }
}

impl std::fmt::Debug for LineReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "lines of {} at {}", self.name, self.position)
    }
}

impl LineReader {
    pub(crate) fn new(source: Source, settings: &Settings) -> Result<Self> {
        let set = settings.parse_if(LINE_MAX)?;
        let longest = set.map_or_else(|| settings.record_max(), Ok)?;
        let delimiter = settings.get(DELIMITER).map(|text| text.as_bytes().to_vec());
        // Whoever begins in the middle of a delimiter does not see it: the line behind it is of the piece before.
        let split = delimiter.as_ref().map_or(1, Vec::len).saturating_sub(1);
        let mut lines = Self {
            reader: source.reader,
            name: source.name,
            buffer: vec![0; PIECE],
            start: 0,
            filled: 0,
            ended: false,
            position: source.offset,
            end: source.end.saturating_add(split as u64),
            owned: source
                .owned
                .map(|owned| (owned, source.offset + split as u64)),
            longest,
            left_out: set.map(|_bytes| 0),
            delimiter,
        };
        if source.offset > 0 {
            lines.skip()?;
        }
        Ok(lines)
    }

    pub(crate) const fn position(&self) -> u64 {
        self.position
    }

    /// The next line of the piece, with its offset.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<(u64, &[u8])>> {
        loop {
            let at = self.position;
            if at > self.end {
                return Ok(None);
            }
            match self.line()? {
                Taken::Line(from, to) if at == 0 => return self.first(from, to),
                Taken::Line(from, to) => {
                    return Ok(self.buffer.get(from..to).map(|line| (at, line)));
                }
                Taken::LeftOut => {}
                Taken::End => return Ok(None),
            }
        }
    }

    /// The first line of the file: what follows a mark, unless there is nothing else in the file.
    #[cold]
    fn first(&self, from: usize, to: usize) -> Result<Option<(u64, &[u8])>> {
        columnar::begins_as_text(&self.name, self.held(from, self.filled))?;
        let Some(line) = self.buffer.get(from..to) else {
            return Ok(None);
        };
        Ok(match line.strip_prefix(MARK) {
            Some([]) if self.position == MARK.len() as u64 => None,
            Some(rest) => Some((0, rest)),
            None => Some((0, line)),
        })
    }

    /// The lines of the piece that are in memory, up to the end of the last whole one; they end with LF, each of them. None:
    /// they are read one by one, since some end otherwise, or a mark, a delimiter or a limit is to be looked for.
    pub(super) fn whole(&mut self) -> Result<Option<(usize, usize)>> {
        let plain = self.delimiter.is_none() && self.longest >= PIECE && self.position > 0;
        if !plain || self.position > self.end {
            return Ok(None);
        }
        let length = loop {
            let held = self.held(self.start, self.filled);
            let length = ends_within(held, self.end - self.position);
            let looked_at = held.get(..length.unwrap_or(held.len()));
            if looked_at.is_none_or(|lines| memchr::memchr(b'\r', lines).is_some()) {
                return Ok(None);
            }
            match length {
                Some(length) if self.left_out.is_some() && length >= self.longest => {
                    return Ok(None);
                }
                Some(length) => break length,
                None if self.ended || held.len() > self.longest => return Ok(None),
                None => self.fill()?,
            }
        };
        let from = self.start;
        self.start += length;
        self.position += length as u64;
        Ok(Some((from, from + length)))
    }

    /// What lies in the buffer there.
    pub(super) fn held(&self, from: usize, to: usize) -> &[u8] {
        self.buffer.get(from..to).unwrap_or_default()
    }

    /// Takes a line.
    #[inline]
    fn line(&mut self) -> Result<Taken> {
        let mut searched = self.start;
        loop {
            if let Some((to, next)) = self.find(searched) {
                let from = self.start;
                if self.is_too_long(to - from, next - from) {
                    return self.too_long();
                }
                self.position += (next - from) as u64;
                self.start = next;
                return Ok(Taken::Line(from, to));
            }
            let (from, to) = (self.start, self.filled);
            let kept = to - from;
            if self.is_too_long(kept, kept) {
                return self.too_long();
            }
            if self.ended {
                self.start = to;
                self.position += kept as u64;
                return Ok(match kept {
                    0 => Taken::End,
                    _ => Taken::Line(from, to),
                });
            }
            // What was searched may end in the middle of a delimiter, or between CR and LF.
            let overlap = self.delimiter.as_ref().map_or(1, Vec::len);
            self.fill()?;
            searched = self.start + kept.saturating_sub(overlap);
        }
    }

    /// A line of so many bytes, which takes so many with its end.
    #[inline]
    fn is_too_long(&self, line: usize, whole: usize) -> bool {
        match self.left_out {
            Some(_) => whole >= self.longest.saturating_add(self.mark()) && whole > 0,
            None => line > self.longest,
        }
    }

    /// Bytes of a mark that the line begins with, if it is the file's first.
    fn mark(&self) -> usize {
        let is_marked = self.position == 0 && self.held(self.start, self.filled).starts_with(MARK);
        match is_marked {
            true => MARK.len(),
            false => 0,
        }
    }

    #[cold]
    fn too_long(&mut self) -> Result<Taken> {
        let Some(left_out) = &mut self.left_out else {
            return Err(Error::new(format!(
                "{}: the line at byte {} is longer than {} bytes: raise {LINE_MAX}",
                self.name, self.position, self.longest
            )));
        };
        *left_out += 1;
        self.skip()?;
        Ok(Taken::LeftOut)
    }

    /// Leaves out the rest of a line, however long it is: whoever has its beginning reads it, and says so where it is
    /// too long. Reads no further than to the end of the piece, behind which no line of it begins.
    fn skip(&mut self) -> Result<()> {
        // What was searched may end in the middle of a delimiter, or between CR and LF.
        let overlap = self.delimiter.as_ref().map_or(1, Vec::len);
        loop {
            let found = self.find(self.start).map(|(_, next)| next);
            let next = found.unwrap_or(self.filled);
            let left = (next - self.start) as u64;
            if found.is_some() || self.ended || self.position + left > self.end {
                self.start = next;
                self.position += left;
                return Ok(());
            }
            let searched = (next - self.start).saturating_sub(overlap);
            self.start += searched;
            self.position += searched as u64;
            self.fill()?;
        }
    }

    /// The end of the line and the beginning of the next one, looking from `from` on.
    #[inline]
    fn find(&self, from: usize) -> Option<(usize, usize)> {
        let searched = self.buffer.get(from..self.filled)?;
        if let Some(delimiter) = &self.delimiter {
            let at = from + memchr::memmem::find(searched, delimiter)?;
            return Some((at, at + delimiter.len()));
        }
        let at = from + memchr::memchr2(b'\n', b'\r', searched)?;
        if self.buffer.get(at) == Some(&b'\n') {
            return Some((at, at + 1));
        }
        // A CR at the end of what was read may have its LF still to come.
        if at + 1 == self.filled {
            return self.ended.then_some((at, at + 1));
        }
        Some((
            at,
            if self.buffer.get(at + 1) == Some(&b'\n') {
                at + 2
            } else {
                at + 1
            },
        ))
    }

    fn fill(&mut self) -> Result<()> {
        self.buffer.copy_within(self.start..self.filled, 0);
        self.filled -= self.start;
        self.start = 0;
        if self.filled * 2 > self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        loop {
            match self.reader.read(&mut self.buffer[self.filled..]) {
                Ok(read) => {
                    self.ended = read == 0;
                    self.filled += read;
                    // It is told before a byte behind it comes.
                    if let Some((owned, behind)) = &self.owned
                        && let Some(bytes) = owned.get()
                    {
                        self.end = bytes.saturating_add(*behind);
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error).context(|| format!("reading {}", self.name)),
            }
            return Ok(());
        }
    }
}

/// How many bytes the whole lines take of those that are `held` and begin at byte `last` or before; none: there is none.
fn ends_within(held: &[u8], last: u64) -> Option<usize> {
    let last = crate::width::size(last);
    if let Some(beyond) = held.get(last..)
        && let Some(at) = memchr::memchr(b'\n', beyond)
    {
        return Some(last + at + 1);
    }
    memchr::memrchr(b'\n', held).map(|at| at + 1)
}

impl InputFormat for TextLines {
    type Key<'a> = u64;
    type Value<'a> = &'a [u8];
    type Reader = LineReader;

    fn granule(_: &Settings) -> Result<Granule> {
        Ok(Granule::Line)
    }

    fn takes(name: &str) -> Result<()> {
        columnar::is_text(name)
    }

    fn open(source: Source, settings: &Settings) -> Result<LineReader> {
        LineReader::new(source, settings)
    }

    fn position(reader: &LineReader) -> u64 {
        reader.position()
    }

    #[inline]
    fn next(reader: &mut LineReader) -> Result<Option<(u64, &[u8])>> {
        reader.next()
    }
}

impl InputFormat for NLines {
    type Key<'a> = u64;
    type Value<'a> = &'a [u8];
    type Reader = LineReader;

    fn granule(settings: &Settings) -> Result<Granule> {
        Ok(Granule::Lines(settings.parse(LINES)?))
    }

    fn takes(name: &str) -> Result<()> {
        columnar::is_text(name)
    }

    fn open(mut source: Source, settings: &Settings) -> Result<LineReader> {
        // Cut at beginnings of lines: none is another piece's.
        let (offset, end) = (source.offset, source.end);
        source.offset = 0;
        let mut lines = LineReader::new(source, settings)?;
        lines.position = offset;
        lines.end = end.saturating_sub(1);
        Ok(lines)
    }

    fn position(reader: &LineReader) -> u64 {
        reader.position()
    }

    fn next(reader: &mut LineReader) -> Result<Option<(u64, &[u8])>> {
        reader.next()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{InputFormat as _, LINE_MAX, PIECE, TextLines};
    use crate::input::Source;
    use crate::settings::{RECORD_MAX, Settings};

    /// All lines of a piece of the text.
    fn piece(
        text: &[u8],
        offset: usize,
        end: usize,
        settings: &Settings,
    ) -> crate::Result<Vec<(u64, Vec<u8>)>> {
        let mut source = Source::in_memory("t", text[offset..].to_vec());
        source.offset = offset as u64;
        source.end = end as u64;
        let mut reader = TextLines::open(source, settings)?;
        let mut lines = Vec::new();
        while let Some((at, line)) = reader.next()? {
            lines.push((at, line.to_vec()));
        }
        Ok(lines)
    }

    fn read(text: &[u8], offset: usize, end: usize, settings: &Settings) -> Vec<(u64, Vec<u8>)> {
        piece(text, offset, end, settings).unwrap()
    }

    proptest! {
        #[test]
        fn each_line_is_read_once_wherever_the_file_is_cut(
            text in prop::collection::vec(prop::sample::select(b"ab\r\n".to_vec()), 0..40), cut in 0_usize..40,
            ends_with_two in any::<bool>()
        ) {
            let mut settings = Settings::default();
            if ends_with_two {
                settings.set(super::DELIMITER, "ab");
            }
            let cut = cut.min(text.len());
            let whole = read(&text, 0, text.len(), &settings);
            let mut parts = read(&text, 0, cut, &settings);
            if cut > 0 && cut < text.len() {
                parts.extend(read(&text, cut, text.len(), &settings));
                prop_assert_eq!(parts, whole);
            }
        }
    }

    #[test]
    fn ends_of_lines_and_delimiters() {
        let settings = Settings::default();
        let lines = |text: &[u8], settings: &Settings| {
            read(text, 0, text.len(), settings)
                .into_iter()
                .map(|(_, line)| line)
                .collect::<Vec<_>>()
        };
        assert_eq!(lines(b"a\nb\r\nc\rd", &settings), [b"a", b"b", b"c", b"d"]);
        assert_eq!(lines(b"\n\n", &settings), [b"", b""]);
        let long = [b"x".repeat(1 << 20), b"\r\n".to_vec(), b"y".to_vec()].concat();
        assert_eq!(
            lines(&long, &settings),
            [b"x".repeat(1 << 20), b"y".to_vec()]
        );
        let mut other = Settings::default();
        other.set(super::DELIMITER, "||");
        assert_eq!(
            lines(b"a\n||b|c||", &other),
            [b"a\n".to_vec(), b"b|c".to_vec()]
        );
    }

    #[test]
    fn a_mark_at_the_front_of_a_file_is_no_text() {
        let settings = Settings::default();
        let of = |text: &[u8]| read(text, 0, text.len(), &settings);
        let marked = "\u{feff}a\n\u{feff}b\n".as_bytes();
        assert_eq!(
            of(marked),
            [(0, b"a".to_vec()), (5, "\u{feff}b".into())],
            "only at the front"
        );
        assert_eq!(
            of("\u{feff}\nb".as_bytes()),
            [(0, vec![]), (4, b"b".to_vec())]
        );
        assert_eq!(of("\u{feff}".as_bytes()), []);
        assert_eq!(of(b"\xEF\xBB"), [(0, b"\xEF\xBB".to_vec())]);
        // Whoever begins in the first line leaves all of it to the piece before.
        assert_eq!(read(marked, 0, 2, &settings), [(0, b"a".to_vec())]);
        assert_eq!(
            read(marked, 2, marked.len(), &settings),
            [(5, "\u{feff}b".into())]
        );
    }

    #[test]
    fn a_line_that_is_too_long_is_named_by_the_piece_in_which_it_begins() {
        let mut settings = Settings::default();
        let most = 600_000;
        settings.set(RECORD_MAX, &most.to_string());
        for length in [most, most + 1] {
            for end in ["\nlast\n", ""] {
                let text = ["ok\n", &"x".repeat(length), end].concat();
                let read = piece(text.as_bytes(), 0, 9, &settings);
                match length > most {
                    true => assert_eq!(
                        read.unwrap_err().to_string(),
                        format!(
                            "t: the line at byte 3 is longer than {most} bytes: raise {LINE_MAX}"
                        )
                    ),
                    false => assert_eq!(read.unwrap().len(), 2),
                }
            }
        }
        let text = ["ok\n", &"x".repeat(most + 1), "\nlast\n"].concat();
        assert_eq!(
            piece(text.as_bytes(), 10, 2 * PIECE, &settings).unwrap(),
            []
        );
    }

    /// Hadoop takes a line whose bytes, with its end, are fewer than what is set.
    #[test]
    fn lines_that_are_longer_than_is_set_are_left_out() {
        let line = |bytes: usize| "x".repeat(bytes);
        for longest in [10, 1000, PIECE + 7, 3 * PIECE] {
            let mut settings = Settings::default();
            settings.set(LINE_MAX, &longest.to_string());
            let too_long = [longest - 1, longest, 5 * PIECE];
            let mut lines = vec![line(0), line(longest - 2)];
            for length in too_long {
                lines.extend([line(length), line(3)]);
            }
            let text = lines.join("\n") + "\n";
            let mut expected = Vec::new();
            let mut at = 0;
            for line in &lines {
                if line.len() + 1 < longest {
                    expected.push((at, line.clone().into_bytes()));
                }
                at += line.len() as u64 + 1;
            }
            assert_eq!(
                piece(text.as_bytes(), 0, text.len(), &settings).unwrap(),
                expected
            );
            // However it is cut.
            for step in [text.len() / 3 + 1, text.len() / 7 + 1] {
                let mut read = Vec::new();
                for from in (0..text.len()).step_by(step) {
                    let end = (from + step).min(text.len());
                    read.extend(piece(text.as_bytes(), from, end, &settings).unwrap());
                }
                assert_eq!(read, expected, "of {step}");
            }
            // A mark is no part of it.
            for (length, is_read) in [(longest - 2, true), (longest - 1, false)] {
                let text = ["\u{feff}", &line(length), "\n"].concat();
                let read = piece(text.as_bytes(), 0, text.len(), &settings).unwrap();
                assert_eq!(read.len(), usize::from(is_read));
            }
            // A last line without an end is as long as it is.
            for (length, is_read) in [(longest - 1, true), (longest, false)] {
                let read = piece(line(length).as_bytes(), 0, length, &settings).unwrap();
                assert_eq!(read.len(), usize::from(is_read));
            }
        }
    }
}
