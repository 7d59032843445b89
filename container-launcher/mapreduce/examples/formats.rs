//! Each input format once: `formats --job nlines|keyvalue|inorder|whole|writeseq|readseq --local IN OUT`.

use gerbil_mapreduce::prelude::*;

/// Lines, a few to a split: Hadoop's `NLineInputFormat`. Says which map had which line.
struct Dealt;

impl Mapper for Dealt {
    type Input = NLines;
    type Key = u32;
    type Value = Text;

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let map = out.number();
        out.emit(&map, line)
    }
}

/// Keys and values: Hadoop's `KeyValueTextInputFormat`.
struct Pairs;

impl Mapper for Pairs {
    type Input = KeyValueText;
    type Key = Text;
    type Value = Text;

    fn map(&mut self, key: &[u8], value: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        out.emit(key, value)
    }
}

/// All values of a key, in the order in which they come: nothing else could tell it.
struct InOrder;

impl Reducer<Text, Text> for InOrder {
    type Key = Text;
    type Value = Text;

    fn reduce(
        &mut self,
        key: &[u8],
        values: &mut Values<'_, Text, Text>,
        out: &mut Output<'_, Text, Text>,
    ) -> Result<()> {
        let mut all = Vec::new();
        while let Some(value) = values.next()? {
            all.extend_from_slice(value);
            all.push(b' ');
        }
        out.emit(key, &all)
    }
}

/// Whole files: their names and how long they are; and beside the output a list of what each map read.
struct Lengths;

impl Mapper for Lengths {
    type Input = WholeFile;
    type Key = Text;
    type Value = u64;

    fn map(&mut self, path: &str, content: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        use std::io::Write as _;
        let name = path.rsplit('/').next().unwrap_or(path);
        writeln!(out.side_file("read")?, "{name}")?;
        out.emit(name, &(content.len() as u64))
    }
}

/// Lines to a SequenceFile: their offsets and themselves, as Hadoop's identity job has them.
struct Numbered;

impl Mapper for Numbered {
    type Input = TextLines;
    type Key = i64;
    type Value = Text;

    fn map(&mut self, offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        out.emit(&i64::try_from(offset)?, line)
    }
}

/// Out of a SequenceFile of the same types.
struct Sequence;

impl Mapper for Sequence {
    type Input = SequenceFile<i64, Text>;
    type Key = i64;
    type Value = Text;

    fn map(&mut self, key: i64, value: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        out.emit(&key, value)
    }
}

fn main() -> ExitCode {
    App::new("formats")
        .job(Job::new("nlines").map(|| Dealt).reduce(|| Identity))
        .job(Job::new("keyvalue").map(|| Pairs).reduce(|| Identity))
        .job(Job::new("inorder").map(|| Pairs).reduce(|| InOrder))
        .job(
            Job::new("whole")
                .set("gerbil.split.pack", "1")
                .map(|| Lengths)
                .map_only(),
        )
        .job(
            Job::new("writeseq")
                .map(|| Numbered)
                .map_only()
                .output::<SequenceFileOutput>(),
        )
        .job(
            Job::new("readseq")
                .option::<String>("job", Some("readseq"), "which of the jobs is run")
                .map(|| Sequence)
                .map_only(),
        )
        .drive(|run| {
            let (inputs, output) = (run.inputs().to_vec(), run.output().to_owned());
            let name: String = run.option("job")?;
            let mut job = run.job(&name).output(&output);
            for input in &inputs {
                job = job.input(input);
            }
            job.wait().map(drop)
        })
        .main()
}
