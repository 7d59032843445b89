//! DyScale's Table 2 and Figures 6, 8 and 9 for real: thirteen applications on a fast and on a slow core.
//!
//! One NodeManager, and a session of two containers there, whose launchers are in a control group with all tasks that
//! they start. The group may have one processor, or 0.485 of one, as 1.6 GHz are of 3.3. Whatever else there is, HDFS,
//! the ApplicationMaster, the client, disk and loopback, is as fast as ever.

mod completion;
mod data;
mod inventory;
mod measured;
mod node;
mod phases;
mod reach;
mod suite;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use it::results::{Figure, Setting, page};

use measured::Measured;
use node::{Node, SLOTS, Speed};

/// Table 2 and Figures 6, 8 and 9: thirteen applications on a fast and on a slow core.
#[derive(Clone, Debug, Args)]
pub(crate) struct ApplicationsOptions {
    /// Each application runs so often at each speed, after once that does not count.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Megabytes of each input.
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    mb: u64,
    /// Draws the inputs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Cores that tasks have, less than this machine has; each is two slots.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    cores: u32,
    /// This application alone, as TeraSort; may be given several times.
    #[arg(long)]
    only: Vec<String>,
    /// What the kernel has read of files stays in memory; else it forgets it before each run.
    #[arg(long)]
    warm: bool,
    /// Writes the figures and the page of all figures into this folder.
    #[arg(long)]
    out: Option<PathBuf>,
}

pub(crate) fn run(options: &ApplicationsOptions) -> Result<()> {
    let applications = suite::named(&options.only)?;
    let mut node = Node::start(options.cores, options.warm)?;
    let setting = Setting::begin(&node.version()?)?;
    for data in suite::inputs(&applications) {
        node.make(data, options.mb, options.seed)?;
    }
    let mut all: Vec<Measured> = Vec::new();
    for application in applications {
        let mut measured = Measured {
            application,
            fast: Vec::new(),
            slow: Vec::new(),
        };
        // Its program is on the node then.
        node.run(&application, Speed::Fast)?;
        for round in 0..options.rounds {
            let mut speeds = [Speed::Fast, Speed::Slow];
            // Another one begins each round.
            speeds.rotate_left(usize::try_from(round % 2)?);
            for speed in speeds {
                let run = node.run(&application, speed)?;
                let (name, speed_word) = (application.name, speed.word());
                writeln!(std::io::stderr(), "{name}, {speed_word}: {}", run.line())?;
                measured.of(speed).push(run);
            }
        }
        all.push(measured);
    }
    node.stop()?;
    let setting = setting.finish()?;
    let figures: [Figure; 4] = [
        inventory::figure(options, setting.clone(), &all)?,
        completion::figure(options, setting.clone(), &all)?,
        phases::maps(options, setting.clone(), &all)?,
        phases::reduces(options, setting, &all)?,
    ];
    for figure in &figures {
        writeln!(std::io::stdout(), "{}", figure.text())?;
        if let Some(out) = &options.out {
            figure.save(out)?;
        }
    }
    if let Some(out) = &options.out {
        page::write(out)?;
    }
    Ok(())
}

impl Measured {
    const fn of(&mut self, speed: Speed) -> &mut Vec<measured::ApplicationRun> {
        match speed {
            Speed::Fast => &mut self.fast,
            Speed::Slow => &mut self.slow,
        }
    }
}

/// The command that measures it again.
fn command(options: &ApplicationsOptions) -> String {
    let only = options.only.iter().map(|name| format!(" --only {name}"));
    format!(
        "cargo build --release -p client && cargo run -p it --bin dyscale -- applications --rounds {} --mb {} --seed {} \
         --cores {}{}{} --out it/results",
        options.rounds,
        options.mb,
        options.seed,
        options.cores,
        if options.warm { " --warm" } else { "" },
        only.collect::<String>()
    )
}

/// What all figures have in common.
fn method(options: &ApplicationsOptions) -> String {
    let share = |speed: Speed| speed.thousandths() as f64 * f64::from(options.cores) / 1e3;
    format!(
        "One NodeManager, and a session of {} containers with a slot each, {SLOTS} a core as in the paper. *Emulated*: their \
         launchers and all tasks are in a CPU control group, which may have {} processors' time (fast) or {} (slow; the paper \
         has 3.3 and 1.6 GHz). HDFS, the ApplicationMaster, the disk and loopback are not slowed. A task that waits for \
         them as long as the quota would stop it loses nothing here; on a slow core it would compute longer between two waits. {} MB of each \
         input, drawn by seed {}, RankedInvertedIndex excepted, which reads what SequenceCount has left; splits of 16 MiB, map \
         output not compressed, one copy of each block. {} runs at each speed by turns, after one that does not count{}.",
        options.cores * SLOTS,
        share(Speed::Fast),
        share(Speed::Slow),
        options.mb,
        options.seed,
        options.rounds,
        match options.warm {
            true => "; what is read is in memory",
            false => "; before each the kernel forgets what it has read of files",
        }
    )
}

/// A claim of the paper, and whether it holds here.
fn claim(words: &str, holds: bool, of: &str) -> String {
    let word = if holds { "true" } else { "false" };
    format!("The paper: {words}. Here: {word} ({of}).")
}

/// Whether all are within, in words: how many are, and which are not.
fn all_within(values: &[(&str, f64)], least: f64, most: f64) -> (bool, String) {
    let is_within = |value: f64| (least..=most).contains(&value);
    let others: Vec<String> = (values.iter())
        .filter(|(_, value)| !is_within(*value))
        .map(|(name, value)| format!("{name} {value:.2}"))
        .collect();
    let within = values.len() - others.len();
    let mut words = format!("{within} of {}", values.len());
    if !others.is_empty() {
        words = format!("{words}; not {}", others.join(", "));
    }
    (others.is_empty(), words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_names_who_does_not_do_as_it_says() {
        let (holds, of) = all_within(&[("a", 1.2), ("b", 2.2), ("c", 2.0)], 1.2, 2.1);
        let words = claim("so", holds, &of);
        assert_eq!(words, "The paper: so. Here: false (2 of 3; not b 2.20).");
        let (holds, of) = all_within(&[("a", 1.2)], 1.2, 2.1);
        assert_eq!(
            claim("so", holds, &of),
            "The paper: so. Here: true (1 of 1)."
        );
        let (holds, _) = all_within(&[("a", f64::NAN)], 1.2, 2.1);
        assert!(!holds);
    }
}
