//! Eight applications of the PUMA suite, which DyScale is measured with: those that no example of their own has.
//!
//! ```text
//! cargo run --release --example dyscale -- --local --make movies --mb 64 4 MOVIES
//! cargo run --release --example dyscale -- --local --application histmovies MOVIES OUT
//! ```
//!
//! Source: DyScale (Yan et al., IEEE Transactions on Cloud Computing), Table 2; what each application computes, and what
//! its input looks like, is as PUMA (Ahmad et al., Purdue) has it. Each is a file here.
//!
//! `--make` makes input, the same for the same `--seed`: `text`, `lists`, `edges`, `movies`, or `points` for the example
//! `kmeans`, `--mb` megabytes of it in as many files as the operand says. RankedInvertedIndex reads what SequenceCount
//! leaves. Splits have 16 MiB at most (`-D mapreduce.input.fileinputformat.split.maxsize=BYTES` for others).

mod adjacency_list;
mod classification;
mod hist_movies;
mod hist_ratings;
mod make;
mod movie;
mod ranked_inverted_index;
mod self_join;
mod sequence_count;
mod term_vector;

use gerbil_mapreduce::prelude::*;

/// Bytes of a split, at most.
const SPLIT: &str = "16777216";

/// The registered names of the applications.
const APPLICATIONS: [&str; 8] = [
    ranked_inverted_index::NAME,
    term_vector::NAME,
    sequence_count::NAME,
    self_join::NAME,
    adjacency_list::NAME,
    hist_movies::NAME,
    hist_ratings::NAME,
    classification::NAME,
];

/// A job whose splits are as long as those of the measurements.
fn application(name: &'static str) -> Job {
    Job::new(name)
        .set("mapreduce.input.fileinputformat.split.maxsize", SPLIT)
        .set("gerbil.split.pack", "1")
}

/// The file's name without its folders.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A key emitted twice is emitted once.
struct Once;

impl Combiner<()> for Once {
    fn combine(&mut self, (): (), (): ()) -> Result<()> {
        Ok(())
    }
}

fn main() -> ExitCode {
    App::new("dyscale")
        .job(make::job())
        .job(ranked_inverted_index::job())
        .job(term_vector::job())
        .job(sequence_count::job())
        .job(self_join::job())
        .job(adjacency_list::job())
        .job(hist_movies::job())
        .job(hist_ratings::job())
        .job(classification::job())
        .drive(drive)
        .main()
}

fn drive(run: &mut Run<'_>) -> Result<()> {
    let (inputs, output) = (run.inputs(), run.output().to_owned());
    let (name, data): (String, String) = (run.option("application")?, run.option("make")?);
    let submit = match (name.as_str(), data.as_str()) {
        ("", "") | (_, "") if !APPLICATIONS.contains(&name.as_str()) => {
            let known = APPLICATIONS.join(", ");
            return Err(Error::new(format!(
                "--application {name:?} is none: give one of {known}, or --make"
            )));
        }
        ("", _) => {
            let [files] = inputs else {
                return Err(Error::new(
                    "--make: give the number of files, and a new folder for them",
                ));
            };
            make::checked(run, files)?;
            let make = run.job(make::NAME).input(files);
            make.set_default("mapreduce.job.maps", files)
        }
        (_, "") => {
            let job = run.job(&name).inputs(inputs);
            match name.as_str() {
                classification::NAME => job.params(&classification::centroids(run)?)?,
                _ => job,
            }
        }
        (_, _) => {
            return Err(Error::new(
                "--application and --make: give one of them, not both",
            ));
        }
    };
    submit.output(&output).wait().map(drop)
}
