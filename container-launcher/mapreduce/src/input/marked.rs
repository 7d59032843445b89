//! Records between two marks, as Hadoop Streaming's `StreamXmlRecordReader` cuts elements out of XML.
//!
//! A record goes from a begin mark to the first end mark behind the begin mark's first byte, both with it; what lies between
//! records is left out. A split has the records that begin inside of it, and reads on to their ends. Marks are texts: a
//! begin mark within a record, in a comment or in CDATA as well, begins one where a split begins before it.
//!
//! Other than in Hadoop a mark is also found right behind a part of itself, as `<a>` in `<<a>`.

use std::io::{Read as _, Write as _};

use memchr::memmem::find;

use super::{Granule, InputFormat, Source};
use crate::error::{Context as _, Error, Result};
use crate::settings::{RECORD_MAX, Settings};

/// The text that a record begins with.
const BEGIN: &str = "stream.recordreader.begin";
/// The text that it ends with.
const END: &str = "stream.recordreader.end";
/// Bytes that are read at once.
const PIECE: usize = 64 << 10;

/// Records from `stream.recordreader.begin` to `stream.recordreader.end`: keys are records, and values are empty.
#[derive(Debug)]
pub struct MarkedRecords;

/// Reads records between two marks.
#[derive(Debug)]
pub struct MarkedReader {
    source: Source,
    begin: Vec<u8>,
    end: Vec<u8>,
    buffer: Vec<u8>,
    /// Of the buffer, what has been looked at; it is `position` in the file.
    start: usize,
    position: u64,
    longest: usize,
}

impl MarkedReader {
    fn held(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    fn skip(&mut self, count: usize) {
        self.start += count;
        self.position += count as u64;
    }

    /// Reads on; false at the end of the file.
    fn read_on(&mut self) -> Result<bool> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let read = (&mut self.source.reader)
            .take(PIECE as u64)
            .read_to_end(&mut self.buffer);
        Ok(read.context(|| format!("reading {}", self.source.name))? > 0)
    }

    /// Goes to the next begin mark; false where there is none within the split.
    fn find_begin(&mut self) -> Result<bool> {
        while self.position < self.source.end {
            if let Some(at) = find(self.held(), &self.begin) {
                self.skip(at);
                return Ok(self.position < self.source.end);
            }
            // What is left may be the front of a mark.
            self.skip((self.held().len() + 1).saturating_sub(self.begin.len()));
            if !self.read_on()? {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// How long the record is that is begun; none: it has no end.
    fn find_end(&mut self) -> Result<Option<usize>> {
        let mut seen = 0;
        loop {
            let held = self.held();
            if let Some(at) = find(held.get(seen..).unwrap_or_default(), &self.end) {
                return Ok(Some(seen + at + self.end.len()));
            }
            if held.len() > self.longest {
                return Err(Error::new(format!(
                    "{}: the record that begins at byte {} has more than {} bytes, which are the most, before its {:?}: \
                     raise {RECORD_MAX}, unless the mark is missing",
                    self.source.name,
                    self.position,
                    self.longest,
                    String::from_utf8_lossy(&self.end)
                )));
            }
            seen = (held.len() + 1).saturating_sub(self.end.len());
            if !self.read_on()? {
                return Ok(None);
            }
        }
    }
}

impl InputFormat for MarkedRecords {
    type Key<'a> = &'a [u8];
    type Value<'a> = &'a [u8];
    type Reader = MarkedReader;

    fn granule(_: &Settings) -> Result<Granule> {
        Ok(Granule::Byte)
    }

    fn open(source: Source, settings: &Settings) -> Result<MarkedReader> {
        let mark = |name: &str| match settings.get(name).unwrap_or_default() {
            "" => Err(Error::new(format!(
                "{name} is not set: records are cut between two marks, which begin and end each"
            ))),
            mark => Ok(mark.as_bytes().to_vec()),
        };
        Ok(MarkedReader {
            begin: mark(BEGIN)?,
            end: mark(END)?,
            buffer: Vec::new(),
            start: 0,
            position: source.offset,
            longest: settings.record_max()?,
            source,
        })
    }

    fn position(reader: &MarkedReader) -> u64 {
        reader.position
    }

    fn next(reader: &mut MarkedReader) -> Result<Option<(&[u8], &[u8])>> {
        if !reader.find_begin()? {
            return Ok(None);
        }
        let Some(length) = reader.find_end()? else {
            // The task's log; nothing is done where that cannot be written.
            drop(writeln!(
                std::io::stderr().lock(),
                "{}: the record that begins at byte {} has no {:?} up to the end of the file, and is left out",
                reader.source.name,
                reader.position,
                String::from_utf8_lossy(&reader.end)
            ));
            reader.source.end = 0;
            return Ok(None);
        };
        let at = reader.start;
        reader.skip(length);
        let record = reader.buffer.get(at..at + length).unwrap_or_default();
        Ok(Some((record, b"")))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;

    use gerbil_task::Piece;
    use proptest::prelude::*;
    use rustix::fs::{MemfdFlags, memfd_create};

    use super::{BEGIN, END, InputFormat as _, MarkedRecords};
    use crate::input::{Consumed, Source, at_hand};
    use crate::settings::Settings;

    /// The records of the splits of `text` that end at `cuts`.
    fn records(text: &str, cuts: &[usize], marks: [&str; 2]) -> Vec<String> {
        let mut settings = Settings::default();
        settings.set(BEGIN, marks[0]);
        settings.set(END, marks[1]);
        let mut file = File::from(memfd_create("text", MemfdFlags::CLOEXEC).unwrap());
        file.write_all(text.as_bytes()).unwrap();
        let mut cuts = [cuts, &[0, text.len()]].concat();
        cuts.sort_unstable();
        cuts.dedup();
        let mut all = Vec::new();
        for split in cuts.windows(2) {
            let piece = Piece {
                name: "text".to_owned(),
                offset: split[0] as u64,
                length: (split[1] - split[0]) as u64,
                size: text.len() as u64,
            };
            let open = at_hand(file.try_clone().unwrap());
            let source = Source::new(&open, &piece, &Consumed::default()).unwrap();
            let mut reader = MarkedRecords::open(source, &settings).unwrap();
            while let Some((record, value)) = MarkedRecords::next(&mut reader).unwrap() {
                assert!(value.is_empty());
                all.push(String::from_utf8(record.to_vec()).unwrap());
            }
        }
        all
    }

    const MARKS: [&str; 2] = ["<a>", "</a>"];

    #[test]
    fn records_go_from_mark_to_mark() {
        let text = "x<a>1</a>\n<<a>2\n\t</a></a><b/><a></a><a>no end";
        assert_eq!(
            records(text, &[], MARKS),
            ["<a>1</a>", "<a>2\n\t</a>", "<a></a>"]
        );
        // The end is looked for from the begin's first byte on.
        assert_eq!(records("<a>1<a>2", &[], ["<a>", ">"]), ["<a>", "<a>"]);
        assert_eq!(records("--1--2--", &[], ["--", "--"]), ["--", "--", "--"]);
        assert!(records("nothing", &[3], MARKS).is_empty());
    }

    #[test]
    fn a_record_that_is_longer_than_allowed_and_marks_that_are_not_set() {
        let mut settings = Settings::default();
        let open = |settings: &Settings| {
            let text = format!("{}<a>{}", " ".repeat(10), "x".repeat(300_000));
            MarkedRecords::open(Source::in_memory("text", text.into_bytes()), settings)
        };
        let error = open(&settings).unwrap_err().to_string();
        assert!(
            error.starts_with("stream.recordreader.begin is not set"),
            "{error}"
        );
        settings.set(BEGIN, "<a>");
        settings.set(END, "</a>");
        settings.set(super::RECORD_MAX, "100000");
        let error = MarkedRecords::next(&mut open(&settings).unwrap()).unwrap_err();
        let words = "text: the record that begins at byte 10 has more than 100000 bytes";
        assert!(error.to_string().starts_with(words), "{error}");
    }

    proptest! {
        /// However a file is cut, each record is there once, in its order.
        #[test]
        fn splits_have_the_records_of_the_whole(
            parts in prop::collection::vec(("[ab<>/ ]{0,12}", "[^<>]{0,40}"), 0..30),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        ) {
            let mut text = String::new();
            let mut wanted = Vec::new();
            for (between, within) in &parts {
                text.push_str(&between.replace("<a>", ""));
                if text.ends_with('<') || text.ends_with("<a") {
                    text.push(' ');
                }
                let record = format!("<a>{within}</a>");
                text.push_str(&record);
                wanted.push(record);
            }
            // What is left out between two may not make a mark.
            prop_assume!(text.matches("<a>").count() == parts.len());
            let cuts: Vec<usize> = cuts.iter().map(|at| at.index(text.len() + 1)).collect();
            prop_assert_eq!(&records(&text, &[], MARKS), &wanted);
            prop_assert_eq!(&records(&text, &cuts, MARKS), &wanted);
        }
    }
}
