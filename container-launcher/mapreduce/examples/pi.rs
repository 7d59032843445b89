//! Estimates pi by counting points of a Halton sequence: Hadoop's `hadoop-mapreduce-examples pi`.
//!
//! `cargo run --release --example pi -- --local MAPS SAMPLES`

use std::io::Write as _;

use gerbil_mapreduce::prelude::*;

/// A Halton sequence: one coordinate in a base.
struct Coordinate {
    base: f64,
    digits: Vec<f64>,
    weights: Vec<f64>,
    value: f64,
}

impl Coordinate {
    fn new(base: f64, digits: usize, mut index: u64) -> Self {
        let mut coordinate = Self {
            base,
            digits: vec![0.0; digits],
            weights: vec![0.0; digits],
            value: 0.0,
        };
        let whole: u64 = if base < 2.5 { 2 } else { 3 };
        let mut weight = 1.0;
        for place in 0..digits {
            weight /= base;
            coordinate.weights[place] = weight;
            let digit = f64::from(u32::try_from(index % whole).unwrap_or(0));
            coordinate.digits[place] = digit;
            index /= whole;
            coordinate.value += digit * weight;
        }
        coordinate
    }

    fn next(&mut self) -> f64 {
        for place in 0..self.digits.len() {
            self.digits[place] += 1.0;
            self.value += self.weights[place];
            if self.digits[place] < self.base {
                break;
            }
            self.digits[place] = 0.0;
            self.value -= self.base * self.weights[place];
        }
        self.value
    }
}

struct Points;

impl Mapper for Points {
    type Input = Numbers;
    /// Whether points are inside of the circle.
    type Key = bool;
    type Value = u64;

    fn map(&mut self, map: u64, (): (), out: &mut Emit<'_, Self>) -> Result<()> {
        let samples: u64 = out.settings().parse("pi.samples")?;
        let first = map * samples;
        let (mut x, mut y) = (
            Coordinate::new(2.0, 63, first),
            Coordinate::new(3.0, 40, first),
        );
        let mut inside = 0;
        for sample in 0..samples {
            let (x, y) = (x.next() - 0.5, y.next() - 0.5);
            inside += u64::from(x * x + y * y <= 0.25);
            if sample % 100_000 == 0 {
                out.progress();
            }
        }
        out.emit(&true, &inside)?;
        out.emit(&false, &(samples - inside))
    }
}

fn main() -> ExitCode {
    let job = Job::new("points")
        .set("mapreduce.job.reduces", "1")
        .map(|| Points)
        .reduce(|| Sum);
    App::new("pi")
        .job(job)
        .drive(|run| {
            let (maps, samples) = (run.inputs().join(""), run.output().to_owned());
            let count = maps.parse::<u64>()? * samples.parse::<u64>()?;
            let output = std::env::temp_dir().join(format!("gerbil-pi-{}", std::process::id()));
            let submit = run
                .job("points")
                .input(&maps)
                .output(&output.display().to_string());
            let done = submit
                .set("mapreduce.job.maps", &maps)
                .set("pi.samples", &samples)
                .wait()?;
            let text = done.read_text()?;
            run.remove(done.output())?;
            let inside = text
                .lines()
                .find_map(|line| line.strip_prefix("true\t"))
                .ok_or_else(|| Error::new("no count"))?;
            let pi = 4.0 * inside.parse::<f64>()? / count.to_string().parse::<f64>()?;
            Ok(writeln!(
                std::io::stdout(),
                "Estimated value of Pi is {pi}"
            )?)
        })
        .main()
}
