//! `gerbil-sim trace`: prints a trace of jobs.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use lexopt::{Arg, Parser, ValueExt as _};
use sim::dyscale::DyScaleWorld;
use sim::figure::FigureWorld as _;
use sim::trace;
use sim::trace::swim::{self, Rates};

use crate::USAGE;
use crate::measured::count;

/// Of a mix, of a trace of SWIM's, or of job histories.
pub(crate) fn traces(mut arguments: Parser) -> Result<()> {
    let (mut seed, mut gap) = (1, 100);
    let mut settings: Vec<String> = Vec::new();
    let mut given: Vec<PathBuf> = Vec::new();
    while let Some(argument) = arguments.next()? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => {
                let (mix, swim) = (DyScaleWorld::KEYS, swim::KEYS);
                print!(
                    "{USAGE}\nKeys of gerbil-sim trace swim -D:\n{swim}\nOf gerbil-sim trace mix -D:\n{mix}"
                );
                return Ok(());
            }
            Arg::Long("seed") => seed = count("--seed", &mut arguments)?,
            Arg::Long("gap") => gap = count("--gap", &mut arguments)?,
            Arg::Short('D') => settings.push(arguments.value()?.string()?),
            Arg::Value(value) => given.push(value.into()),
            odd => return Err(odd.unexpected().into()),
        }
    }
    let (what, files) = given
        .split_first()
        .with_context(|| format!("trace wants mix, swim or history\n{USAGE}"))?;
    let jobs = match (what.to_str(), files) {
        (Some("mix"), []) => {
            let mut world = DyScaleWorld::default();
            settings.iter().try_for_each(|setting| world.set(setting))?;
            trace::traced(&world.drawn(seed.into(), gap))?
        }
        (Some("swim"), [path]) => {
            let mut rates = Rates::default();
            settings.iter().try_for_each(|setting| rates.set(setting))?;
            let shown = path.display();
            let text = std::fs::read_to_string(path).with_context(|| format!("reading {shown}"))?;
            swim::jobs(&text, rates).with_context(|| format!("{shown}"))?
        }
        (Some("history"), [_, ..]) if settings.is_empty() => {
            trace::history::jobs(files.iter().map(PathBuf::as_path))?
        }
        (Some("mix"), _) => bail!("trace mix draws its jobs, and reads no file"),
        (Some("swim"), _) => bail!("trace swim wants one file"),
        (Some("history"), []) => bail!("trace history wants files of jobs"),
        (Some("history"), _) => bail!("trace history has no keys"),
        _ => bail!("{} is neither mix, swim nor history", what.display()),
    };
    print!("{}", trace::text(&jobs));
    Ok(())
}
