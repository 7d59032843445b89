//! Multiplies two square matrices of floats: a map takes equal rows of the left one and the whole right one, the
//! reduces put the product's rows together.
//!
//! ```text
//! cargo run --release --example matrix -- --local 600 OUT
//! cargo run --release --example matrix --features opencl -- --local 600 OUT
//! ```
//!
//! The second computes on a GPU, and says so in the executable: on a cluster its maps go where one is. 6000 are the
//! rows of Pamar's. Both matrices are made of `--seed`, as TeraGen makes rows: so each task has them without
//! reading. The parts of OUT, one after the other, are the product, row by row, as `f32` with the lowest byte first.

#[cfg(not(any(feature = "cuda", feature = "opencl")))]
#[path = "cpu.rs"]
mod product;

#[cfg(any(feature = "cuda", feature = "opencl"))]
#[path = "gpu.rs"]
mod product;

mod seeded;

use gerbil_mapreduce::cluster_resource;
use gerbil_mapreduce::prelude::*;

/// The range of rows that a reduce writes, and the row.
type Row = (u32, u32);

/// Rows of the left matrix.
#[derive(Default)]
struct Rows {
    /// The first, and how many.
    rows: Option<(u64, u64)>,
}

#[cfg_attr(any(feature = "cuda", feature = "opencl"), cluster_resource("gpu"))]
impl Mapper for Rows {
    type Input = Numbers;
    type Key = Row;
    type Value = Bytes;

    fn map(&mut self, row: u64, (): (), _: &mut Emit<'_, Self>) -> Result<()> {
        let (_, count) = self.rows.get_or_insert((row, 0));
        *count += 1;
        Ok(())
    }

    fn cleanup(&mut self, out: &mut Emit<'_, Self>) -> Result<()> {
        let Some((first, count)) = self.rows else {
            return Ok(());
        };
        let (size, seed) = (
            out.settings().parse::<u32>("matrix.size")?,
            out.option("seed")?,
        );
        let columns = usize::try_from(size)?;
        let left = seeded::rows(seed, seeded::LEFT, first, count, size);
        let right = seeded::rows(seed, seeded::RIGHT, 0, u64::from(size), size);
        let product = product::of(&left, &right, columns, out)?;
        let reduces = u64::from(out.settings().parse::<u32>("mapreduce.job.reduces")?.max(1));
        for (row, numbers) in (first..).zip(product.chunks(columns)) {
            let range = u32::try_from(row * reduces / u64::from(size))?;
            let bytes: Vec<u8> = numbers
                .iter()
                .flat_map(|number| number.to_le_bytes())
                .collect();
            out.emit(&(range, u32::try_from(row)?), &bytes)?;
        }
        Ok(())
    }
}

/// The reduce that a row's range names.
struct Ranges;

impl Partitioner<Row> for Ranges {
    fn partition(&mut self, (range, _): Row, partitions: u32) -> Result<u32> {
        Ok(range.min(partitions.saturating_sub(1)))
    }
}

/// Writes rows in their order.
struct Merge;

// It is in one executable with a kernel.
#[cluster_resource("cpu")]
impl Reducer<Row, Bytes> for Merge {
    type Key = Bytes;
    type Value = Bytes;

    fn reduce(
        &mut self,
        _: Row,
        values: &mut Values<'_, Row, Bytes>,
        out: &mut Output<'_, Bytes, Bytes>,
    ) -> Result<()> {
        while let Some(row) = values.next()? {
            out.emit(b"", row)?;
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    let job = Job::new("product")
        .option::<u64>("seed", Some("1"), "what both matrices are made of")
        .set("mapreduce.job.reduces", "1")
        .map(Rows::default)
        .partition(|| Ranges)
        .reduce(|| Merge)
        .output::<FixedOutput>();
    App::new("matrix")
        .job(job)
        .drive(|run| {
            let (size, output) = (run.inputs().join(","), run.output().to_owned());
            let submit = run.job("product").input(&size).output(&output);
            submit.set("matrix.size", &size).wait().map(drop)
        })
        .main()
}
