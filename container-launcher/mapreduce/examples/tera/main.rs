//! TeraGen, TeraSort and TeraValidate, byte for byte as Hadoop's `hadoop-mapreduce-examples` has them.
//!
//! ```text
//! cargo run --release --example tera -- --local --job teragen ROWS OUT
//! cargo run --release --example tera -- --local --job terasort IN OUT
//! cargo run --release --example tera -- --local --job teravalidate IN OUT
//! ```

mod generate;
mod validate;

use gerbil_mapreduce::prelude::*;

/// Bytes of a key, and of a whole record.
const KEY: usize = 10;
const RECORD: usize = 100;

/// Parts a record into its key and the rest.
struct Records;

impl Mapper for Records {
    type Input = FixedLength;
    type Key = Text;
    type Value = Text;

    fn map(&mut self, _offset: u64, record: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let (key, value) = record.split_at(KEY);
        out.emit(key, value)
    }
}

fn main() -> ExitCode {
    let length = "fixedlengthinputformat.record.length";
    let teragen = Job::new("teragen")
        .map(|| generate::Rows)
        .map_only()
        .output::<FixedOutput>();
    let terasort = Job::new("terasort")
        .option::<String>("job", Some("terasort"), "teragen, terasort or teravalidate")
        .set(length, "100")
        .map(|| Records)
        .total_order()
        .reduce(|| Identity)
        .output::<FixedOutput>();
    let teravalidate = Job::new("teravalidate")
        .set(length, "100")
        .set("mapreduce.job.reduces", "1")
        // A file is a split: where one ends and the next begins is looked at by the reduce.
        .set(
            "mapreduce.input.fileinputformat.split.maxsize",
            "9223372036854775807",
        )
        .set("gerbil.split.pack", "1")
        .map(validate::File::default)
        .reduce(validate::Boundaries::default);
    App::new("tera")
        .job(teragen)
        .job(terasort)
        .job(teravalidate)
        .drive(|run| {
            let (job, inputs, output) = (
                run.option::<String>("job")?,
                run.inputs(),
                run.output().to_owned(),
            );
            run.job(&job)
                .inputs(inputs)
                .output(&output)
                .wait()
                .map(drop)
        })
        .main()
}
