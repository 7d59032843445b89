//! K-means: a loop of jobs, each of which moves the centres; Mahout's `kmeans` did this on Hadoop.
//!
//! `cargo run --release --example kmeans -- --local --k 3 --rounds 20 IN OUT`, where a line of IN is a point, numbers
//! with commas between.

use gerbil_mapreduce::prelude::*;

type Point = Vec<f64>;

fn point(line: &str) -> Result<Point> {
    line.split(',')
        .map(|number| -> Result<f64> { Ok(number.trim().parse()?) })
        .collect()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// Gives each point to its nearest centre.
struct Nearest {
    centres: Vec<Point>,
}

impl Mapper for Nearest {
    type Input = TextLines;
    type Key = u32;
    /// The number of points, and the sum of each coordinate.
    type Value = List<f64>;

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        self.centres = context.params()?;
        Ok(())
    }

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let mut sums = point(std::str::from_utf8(line)?)?;
        let near = (0_u32..)
            .zip(&self.centres)
            .min_by(|a, b| distance(a.1, &sums).total_cmp(&distance(b.1, &sums)));
        let Some((nearest, _)) = near else {
            return Ok(());
        };
        sums.insert(0, 1.0);
        out.emit(&nearest, &sums)
    }
}

struct Add;

impl Combiner<List<f64>> for Add {
    fn combine(&mut self, left: Vec<f64>, right: Vec<f64>) -> Result<Vec<f64>> {
        Ok(left.iter().zip(&right).map(|(a, b)| a + b).collect())
    }
}

struct Centre;

impl Reducer<u32, List<f64>> for Centre {
    type Key = ();
    type Value = List<f64>;

    fn reduce(
        &mut self,
        _: u32,
        values: &mut Values<'_, u32, List<f64>>,
        out: &mut Output<'_, (), List<f64>>,
    ) -> Result<()> {
        let mut sums = Vec::new();
        while let Some(value) = values.next()? {
            sums = if sums.is_empty() {
                value
            } else {
                Add.combine(sums, value)?
            };
        }
        let Some((count, sums)) = sums.split_first() else {
            return Ok(());
        };
        out.emit(&(), &sums.iter().map(|sum| sum / count).collect::<Vec<_>>())
    }
}

fn main() -> ExitCode {
    let step = Job::new("step")
        .option::<usize>("k", Some("2"), "number of centres")
        .option::<u32>("rounds", Some("50"), "most rounds")
        .set("mapreduce.job.reduces", "1")
        .map(|| Nearest {
            centres: Vec::new(),
        })
        .combine(|| Add)
        .reduce(|| Centre);
    App::new("kmeans")
        .job(step)
        .drive(|run| {
            let (inputs, output) = (run.inputs(), run.output().to_owned());
            let k: usize = run.option("k")?;
            let mut centres = Vec::new();
            for input in inputs {
                // The driver has no room for all points.
                if centres.len() == k {
                    break;
                }
                let text = run.read_text(input)?;
                let points = text.lines().take(k - centres.len()).map(point);
                centres.extend(points.collect::<Result<Vec<Point>>>()?);
            }
            for round in 0..run.option::<u32>("rounds")? {
                let folder = format!("{output}/round-{round}");
                let step = run.job("step").inputs(inputs);
                let done = step.output(&folder).params(&centres)?.wait()?;
                let moved: Vec<Point> = done
                    .read_text()?
                    .lines()
                    .map(point)
                    .collect::<Result<_>>()?;
                let far = centres
                    .iter()
                    .zip(&moved)
                    .map(|(a, b)| distance(a, b))
                    .fold(0.0, f64::max);
                centres = moved;
                if far < 1e-12 {
                    break;
                }
            }
            Ok(())
        })
        .main()
}
