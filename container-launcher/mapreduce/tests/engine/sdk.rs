//! What a user may write himself: keys, partitioners, formats, and what tasks do before and after their records.

use std::fs::File;
use std::io::Write as _;

use gerbil_mapreduce::prelude::*;
use gerbil_mapreduce::{
    EncodeAs, Granule, InputFormat, Key, Piece, RecordWriter, Reducer, Settings, Source, Value,
};

use crate::program::{Bed, command};

/// A year and a month, in the order of time; the bytes are those of a number, and text has it as `2026-11`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg(test)]
struct Month {
    year: u16,
    month: u8,
}

#[cfg(test)]
impl Value for Month {
    type View<'a> = Self;
    type Owned = Self;
    const WRITABLE: Option<&'static str> = None;

    fn decode(mut bytes: &[u8]) -> Result<Self> {
        Self::part(&mut bytes)
    }

    fn text(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let Self { year, month } = Self::decode(bytes)?;
        Ok(write!(out, "{year}-{month:02}")?)
    }
}

#[cfg(test)]
impl Key for Month {
    type Part<'a> = Self;

    fn part(bytes: &mut &[u8]) -> Result<Self> {
        let (head, rest) = bytes
            .split_first_chunk()
            .ok_or_else(|| Error::new("no month"))?;
        *bytes = rest;
        let [a, b, month] = *head;
        let year = u16::from_be_bytes([a, b]);
        Ok(Self { year, month })
    }

    fn java_hash(bytes: &[u8]) -> i32 {
        bytes
            .iter()
            .fold(1, |hash, byte| hash * 31 + i32::from(*byte))
    }

    fn java_hash_of_part(bytes: &mut &[u8]) -> Result<i32> {
        let before = *bytes;
        Self::part(bytes)?;
        Ok(Self::java_hash(&before[..3]))
    }
}

#[cfg(test)]
impl EncodeAs<Self> for Month {
    fn append(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.year.to_be_bytes());
        out.push(self.month);
    }
}

/// `2026-11 3`: a month and a number.
#[cfg(test)]
fn month_of(line: &[u8]) -> Result<(Month, u64)> {
    let text = std::str::from_utf8(line)?;
    let (month, number) = text
        .split_once(' ')
        .ok_or_else(|| Error::new("no number"))?;
    let (year, month) = month
        .split_once('-')
        .ok_or_else(|| Error::new("no month"))?;
    let month = Month {
        year: year.parse()?,
        month: month.parse()?,
    };
    Ok((month, number.parse()?))
}

#[cfg(test)]
struct Months;

#[cfg(test)]
impl Mapper for Months {
    type Input = TextLines;
    type Key = Month;
    type Value = u64;

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let (month, number) = month_of(line)?;
        out.emit(&month, &number)
    }
}

#[cfg(test)]
const MONTHS: &str = "2026-11 1\n987-2 2\n2026-2 4\n2026-11 8\n2027-1 16\n";

#[test]
fn a_key_of_ones_own_is_sorted_grouped_and_shown() {
    let job = Job::new("months")
        .map(|| Months)
        .combine(|| Sum)
        .reduce(|| Sum);
    let done = job.test().input(MONTHS).input("2026-2 32\n").run().unwrap();
    assert_eq!(
        done.text(),
        "987-02\t2\n2026-02\t36\n2026-11\t9\n2027-01\t16\n"
    );
}

/// One in front of other parts of a tuple, too: the months of each number.
#[test]
fn a_key_of_ones_own_is_a_part_of_a_tuple() {
    let job = Job::new("pairs")
        .map_lines::<(Month, u64), (), _>(|line, out| {
            let (month, number) = month_of(line)?;
            out.emit(&(month, number), &())
        })
        .group_by_first()
        .reduce_with::<Month, u64, _>(|(month, _), values, out| {
            let mut count = 0_u64;
            while values.next()?.is_some() {
                count += 1;
            }
            out.emit(&month, &count)
        });
    let done = job.test().input(MONTHS).reduces(2).run().unwrap();
    let mut lines: Vec<String> = done.text().lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(
        lines,
        ["2026-02\t1", "2026-11\t2", "2027-01\t1", "987-02\t1"]
    );
}

/// Months to quarters; the fourth is one too far where there are three reduces.
#[cfg(test)]
struct Quarters;

#[cfg(test)]
impl Partitioner<Month> for Quarters {
    fn partition(&mut self, key: Month, _partitions: u32) -> Result<u32> {
        match key.month {
            0 => Err(Error::new("there is no month 0")),
            month => Ok(u32::from(month - 1) / 3),
        }
    }
}

#[test]
fn a_partitioner_of_ones_own_says_which_file_a_key_is_in() {
    let job = || {
        Job::new("quarters")
            .map(|| Months)
            .partition(|| Quarters)
            .reduce(|| Sum)
            .test()
            .input(MONTHS)
    };
    let done = job().reduces(4).run().unwrap();
    let part =
        |number| String::from_utf8(done.files()[&format!("part-r-0000{number}")].clone()).unwrap();
    assert_eq!(part(0), "987-02\t2\n2026-02\t4\n2027-01\t16\n");
    assert_eq!([part(1), part(2)], ["", ""]);
    assert_eq!(part(3), "2026-11\t9\n");
    let error = job().reduces(3).run().unwrap_err().to_string();
    assert!(
        error.ends_with("the partitioner said 3 where there are 3 partitions"),
        "{error}"
    );
    let error = job()
        .input("2026-0 1\n")
        .reduces(4)
        .run()
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("input-1, record 0 at byte 0: there is no month 0"),
        "{error}"
    );
}

/// Adds, and will have no 3.
#[cfg(test)]
struct NoThree;

#[cfg(test)]
impl Combiner<u64> for NoThree {
    fn combine(&mut self, left: u64, right: u64) -> Result<u64> {
        match left + right {
            3 => Err(Error::new("three of one key")),
            sum => Ok(sum),
        }
    }
}

/// Values are combined a few at a time, but never later than with the record that they were emitted for.
#[test]
fn what_a_combiner_refuses_is_blamed_on_the_record_that_brought_it() {
    let job = || {
        Job::new("refusing").map_lines::<Text, u64, _>(|line, out| {
            line.split(|byte| *byte == b' ')
                .try_for_each(|word| out.emit(word, &1))
        })
    };
    // More words than are combined at a time, and words that are too long for a slot.
    let many: String = (0..40).map(|n| format!("{n} ")).collect();
    let long = "a word that no slot of the table has room for";
    for word in ["a", long] {
        let word = word.replace(' ', "-");
        let refused = format!("{word} {many}\nb\n{word} b\n{word}\nlast\n");
        let at = refused.match_indices('\n').nth(2).unwrap().0 + 1;
        let job = job().combine(|| NoThree).reduce(|| Sum).test();
        let error = job.input(&refused).run().unwrap_err().to_string();
        let words = format!("record 3 at byte {at}: three of one key");
        assert!(error.ends_with(&words), "{error}");
    }
}

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
struct Count<I> {
    seen: u64,
    of: std::marker::PhantomData<fn(I)>,
}

#[cfg(test)]
const fn count<I>() -> Count<I> {
    Count {
        seen: 0,
        of: std::marker::PhantomData,
    }
}

#[cfg(test)]
impl<I: InputFormat> Mapper for Count<I> {
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

/// Sums, each to the output that its parity names; what `setup` and `cleanup` see, too.
#[cfg(test)]
#[derive(Default)]
struct Sorting {
    least: u64,
    left_out: u64,
}

#[cfg(test)]
impl Reducer<Month, u64> for Sorting {
    type Key = Month;
    type Value = u64;

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        self.least = context.option("least")?;
        if self.least > 100 {
            return Err(Error::new("that is much"));
        }
        Ok(())
    }

    fn reduce(
        &mut self,
        key: Month,
        values: &mut Values<'_, Month, u64>,
        out: &mut Output<'_, Month, u64>,
    ) -> Result<()> {
        let sum = values.fold(0, |sum, value| Ok(sum + value))?;
        if sum < self.least {
            self.left_out += 1;
            return Ok(());
        }
        let name = if sum % 2 == 0 { "even" } else { "odd" };
        out.emit_to(name, &key, &sum)
    }

    fn cleanup(&mut self, out: &mut Output<'_, Month, u64>) -> Result<()> {
        out.count("months", "left out", self.left_out);
        let last = Month { year: 0, month: 1 };
        out.emit(&last, &self.left_out)
    }
}

#[cfg(test)]
fn sorting() -> gerbil_mapreduce::Test {
    let job = Job::new("sorting").option::<u64>("least", Some("0"), "least sum");
    job.map(|| Months)
        .reduce(Sorting::default)
        .test()
        .input(MONTHS)
}

#[test]
fn a_reducer_has_a_beginning_and_an_end_and_named_outputs() {
    let done = sorting().option("least", "3").run().unwrap();
    let files: Vec<(&str, &str)> = done
        .files()
        .iter()
        .map(|(name, content)| (name.as_str(), std::str::from_utf8(content).unwrap()))
        .collect();
    assert_eq!(
        files,
        [
            ("even-r-00000", "2026-02\t4\n2027-01\t16\n"),
            ("odd-r-00000", "2026-11\t9\n"),
            ("part-r-00000", "0-01\t1\n"),
        ]
    );
    assert_eq!(done.counter("months", "left out"), 1);
    let tasks = "org.apache.hadoop.mapreduce.TaskCounter";
    assert_eq!(done.counter(tasks, "REDUCE_OUTPUT_RECORDS"), 4);
    let error = sorting()
        .option("least", "101")
        .run()
        .unwrap_err()
        .to_string();
    assert_eq!(error, "setup: that is much");
}

#[test]
fn a_named_output_has_a_name_of_letters_and_a_map_before_reduces_has_none() {
    for name in ["", "part", "a/b", "a-b", "_x"] {
        let job = Job::new("named").map_lines::<Text, u64, _>(|line, out| {
            let name = String::from_utf8_lossy(line).into_owned();
            out.emit_to(&name, "key", &1)
        });
        // A line that is empty is handed over, too.
        let error = job
            .map_only()
            .test()
            .input(format!("{name}\n"))
            .reduces(0)
            .run()
            .unwrap_err()
            .to_string();
        let words = format!("{name:?} is no name of an output: letters and digits, and not part");
        assert!(error.ends_with(&words), "{error}");
    }
    let job = Job::new("named").map_lines::<Text, u64, _>(|_, out| out.emit_to("side", "key", &1));
    let error = job
        .reduce(|| Sum)
        .test()
        .input("x\n")
        .run()
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("named outputs are written by reduces, or by maps of a job without any"),
        "{error}"
    );
}

/// Files are the user's who runs the job: others may read what his umask lets them.
#[test]
fn outputs_have_the_rights_that_the_umask_leaves() {
    use std::os::unix::fs::PermissionsExt as _;
    let bed = Bed::new();
    bed.write("in", "a\n");
    for (mask, file, folder) in [
        ("022", 0o644, 0o755),
        ("077", 0o600, 0o700),
        ("002", 0o664, 0o775),
    ] {
        let out = format!("out-{mask}");
        let job = command(
            "wordcount",
            &["--local", "--quiet"],
            &[&bed.at("in"), &bed.at(&out)],
            &[],
        );
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &format!("umask {mask}; exec \"$@\""), "sh"]);
        assert!(
            shell
                .arg(job.get_program())
                .args(job.get_args())
                .status()
                .unwrap()
                .success()
        );
        let mode = |name: &str| {
            std::fs::metadata(bed.path(name))
                .unwrap()
                .permissions()
                .mode()
                & 0o777
        };
        assert_eq!(mode(&format!("{out}/part-r-00000")), file, "{mask}");
        assert_eq!(mode(&format!("{out}/_SUCCESS")), file, "{mask}");
        assert_eq!(mode(&out), folder, "{mask}");
    }
}
