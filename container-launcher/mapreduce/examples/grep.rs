//! Counts what matches a pattern, the most frequent first: Hadoop's `hadoop-mapreduce-examples grep`.
//!
//! `cargo run --release --example grep -- --local --pattern 'dfs[a-z.]+' IN OUT`

use gerbil_mapreduce::prelude::*;
use regex_automata::meta::Regex;
use regex_automata::util::syntax;

struct Matches {
    pattern: Option<Regex>,
}

impl Mapper for Matches {
    type Input = TextLines;
    type Key = Text;
    type Value = u64;

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        let pattern: String = context.option("pattern")?;
        // A line need not be text.
        let bytes = syntax::Config::new().utf8(false);
        self.pattern = Some(Regex::builder().syntax(bytes).build(&pattern)?);
        Ok(())
    }

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let Some(pattern) = &self.pattern else {
            return Ok(());
        };
        pattern
            .find_iter(line)
            .try_for_each(|found| out.emit(&line[found.range()], &1))
    }
}

/// The second job: counts become keys, the largest first.
struct Inverse;

impl Mapper for Inverse {
    type Input = SequenceFile<Text, u64>;
    type Key = Reverse<u64>;
    type Value = Text;

    fn map(&mut self, found: &[u8], count: u64, out: &mut Emit<'_, Self>) -> Result<()> {
        out.emit(&Descending(count), found)
    }
}

fn main() -> ExitCode {
    let search = Job::new("search")
        .option::<String>("pattern", None, "what is looked for, a regular expression")
        .map(|| Matches { pattern: None })
        .combine(|| Sum)
        .reduce(|| Sum)
        .output::<SequenceFileOutput>();
    let sort = Job::new("sort")
        .set("mapreduce.job.reduces", "1")
        .map(|| Inverse)
        .reduce(|| Identity);
    App::new("grep")
        .job(search)
        .job(sort)
        .drive(|run| {
            let (inputs, output) = (run.inputs(), run.output().to_owned());
            let between = format!("{output}.grep-{}", std::process::id());
            let search = run.job("search").inputs(inputs);
            search.output(&between).wait()?;
            let sort = run.job("sort").input_path(&between);
            let sorted = sort.output(&output).wait();
            run.remove(&between)?;
            sorted.map(drop)
        })
        .main()
}
