//! Formats of inputs and outputs of one's own.

use std::fs::File;
use std::io::Write as _;

use gerbil_mapreduce::prelude::*;
use gerbil_mapreduce::{Granule, InputFormat, Piece, RecordWriter, Settings, Source, Value};

use super::keys::{MONTHS, Month, Months};

/// Paragraphs: lines until one that is empty. A file is one split.
#[cfg(test)]
struct Paragraphs;

#[cfg(test)]
struct ParagraphReader {
    source: Source,
    text: Vec<u8>,
    at: usize,
}

#[cfg(test)]
impl InputFormat for Paragraphs {
    type Key<'a> = u64;
    type Value<'a> = &'a [u8];
    type Reader = ParagraphReader;

    fn granule(_: &Settings) -> Result<Granule> {
        Ok(Granule::File)
    }

    fn open(mut source: Source, _: &Settings) -> Result<ParagraphReader> {
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut source.reader, &mut text)?;
        Ok(ParagraphReader {
            source,
            text,
            at: 0,
        })
    }

    fn position(reader: &ParagraphReader) -> u64 {
        reader.source.offset + reader.at as u64
    }

    fn next(reader: &mut ParagraphReader) -> Result<Option<(u64, &[u8])>> {
        let position = Self::position(reader);
        let rest = &reader.text[reader.at..];
        if rest.is_empty() {
            return Ok(None);
        }
        let length = rest
            .windows(2)
            .position(|two| two == b"\n\n")
            .unwrap_or(rest.len());
        reader.at += (length + 2).min(rest.len());
        Ok(Some((position, &rest[..length])))
    }
}

/// Numbers from 1 to what a word of the input says, a map for each word.
#[cfg(test)]
struct UpTo;

#[cfg(test)]
impl InputFormat for UpTo {
    type Key<'a> = u64;
    type Value<'a> = ();
    type Reader = (u64, u64);

    const FILES: bool = false;

    fn splits(inputs: &[String], _: &Settings) -> Result<Vec<Vec<Piece>>> {
        let split = |word: &String| {
            let length = word.parse()?;
            let piece = Piece {
                name: word.clone(),
                offset: 0,
                length,
                size: length,
            };
            Ok(vec![piece])
        };
        inputs.iter().map(split).collect()
    }

    fn granule(_: &Settings) -> Result<Granule> {
        Ok(Granule::File)
    }

    fn open(source: Source, _: &Settings) -> Result<(u64, u64)> {
        Ok((0, source.name.parse()?))
    }

    fn position(reader: &(u64, u64)) -> u64 {
        reader.0
    }

    fn next(reader: &mut (u64, u64)) -> Result<Option<(u64, ())>> {
        reader.0 += 1;
        Ok((reader.0 <= reader.1).then_some((reader.0, ())))
    }
}

/// Counts what it is handed, whatever it is; says how many it was, at the end.
#[cfg(test)]
struct CountingFormat<I> {
    seen: u64,
    of: std::marker::PhantomData<fn(I)>,
}

#[cfg(test)]
const fn count<I>() -> CountingFormat<I> {
    CountingFormat {
        seen: 0,
        of: std::marker::PhantomData,
    }
}

#[cfg(test)]
impl<I: InputFormat> Mapper for CountingFormat<I> {
    type Input = I;
    type Key = u64;
    type Value = u64;

    fn map(&mut self, _: I::Key<'_>, _: I::Value<'_>, _: &mut Emit<'_, Self>) -> Result<()> {
        self.seen += 1;
        Ok(())
    }

    fn cleanup(&mut self, out: &mut Emit<'_, Self>) -> Result<()> {
        let number = u64::from(out.number());
        out.emit(&number, &self.seen)
    }
}

#[test]
fn input_formats_of_ones_own_read_files_and_what_is_none() {
    let job = Job::new("paragraphs")
        .map(count::<Paragraphs>)
        .map_only()
        .test();
    let done = job
        .input("a\nb\n\nc\n\nd")
        .input("")
        .reduces(0)
        .run()
        .unwrap();
    assert_eq!(done.text(), "0\t3\n1\t0\n");
    let job = || Job::new("numbers").map(count::<UpTo>).reduce(|| Sum).test();
    let done = job().word("5").word("0").word("1000").run().unwrap();
    assert_eq!(done.text(), "0\t5\n1\t0\n2\t1000\n");
    let error = job().word("five").run().unwrap_err().to_string();
    assert_eq!(error, "invalid digit found in string");
}

/// Lines as they are, and how many maps there were.
#[cfg(test)]
struct Lines;

#[cfg(test)]
impl Mapper for Lines {
    type Input = TextLines;
    type Key = u64;
    type Value = Text;

    fn map(&mut self, offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        out.emit(&offset, line)
    }

    fn cleanup(&mut self, out: &mut Emit<'_, Self>) -> Result<()> {
        out.count("lines", "maps", 1);
        Ok(())
    }
}

#[test]
fn a_test_that_cuts_its_files_gives_what_it_gives_whole() {
    let text = "one\n\ntwo and more\r\nthree\nwithout an end";
    let test = || Job::new("lines").map(|| Lines).reduce(|| Identity).test();
    let whole = test().input(text).run().unwrap();
    assert_eq!(whole.counter("lines", "maps"), 1);
    for most in [1, 2, 5, 16, 1000] {
        let cut = test().input(text).split_every(most).run().unwrap();
        assert_eq!(cut.text(), whole.text(), "splits of {most} bytes");
        let maps = cut.counter("lines", "maps");
        let least = text.len() as u64 / (most + 1);
        assert!(maps.cast_unsigned() >= least, "{maps} maps");
    }
    // What cannot be cut is one split.
    let gzip = |text: &str| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        gzip.finish().unwrap()
    };
    let cut = test()
        .file("in.gz", gzip(text))
        .split_every(5)
        .run()
        .unwrap();
    assert_eq!(
        (cut.text(), cut.counter("lines", "maps")),
        (whole.text(), 1)
    );
}

/// `KEY=VALUE;` and, at the end, how many there were.
#[cfg(test)]
struct Listing;

#[cfg(test)]
struct ListingWriter {
    file: File,
    records: u64,
}

#[cfg(test)]
impl gerbil_mapreduce::OutputFormat<Month, u64> for Listing {
    fn writer(file: File, _: &Settings) -> Result<Box<dyn RecordWriter>> {
        Ok(Box::new(ListingWriter { file, records: 0 }))
    }

    fn suffix(_: &Settings) -> Result<String> {
        Ok(".list".to_owned())
    }
}

#[cfg(test)]
impl RecordWriter for ListingWriter {
    fn write(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut line = Vec::new();
        Month::text(key, &mut line)?;
        line.push(b'=');
        u64::text(value, &mut line)?;
        line.push(b';');
        self.records += 1;
        Ok(self.file.write_all(&line)?)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        Ok(writeln!(self.file, "{}", self.records)?)
    }
}

#[test]
fn an_output_format_of_ones_own_writes_names_and_closes_files() {
    let job = Job::new("listed")
        .map(|| Months)
        .reduce(|| Sum)
        .output::<Listing>();
    let done = job.test().input(MONTHS).run().unwrap();
    let names: Vec<&String> = done.files().keys().collect();
    assert_eq!(names, ["part-r-00000.list"]);
    assert_eq!(done.text(), "987-02=2;2026-02=4;2026-11=9;2027-01=16;4\n");
}
