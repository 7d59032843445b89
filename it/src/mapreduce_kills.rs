//! MapReduce jobs of which one process is killed -9 at a moment that a seed decides: a task's, or a launcher with
//! what maps have left there. What such a job writes is to be what an undisturbed one writes, byte for byte.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use nix::sys::signal::Signal;

use crate::bed::{Given, text_of};
use crate::chaos::dice::Dice;
use crate::command::{Finished, Running};
use crate::mapreduce::{self, Files};
use crate::process::signal_by_id;
use crate::sweep::FoundProcess;
use crate::{session, victims, wait};

/// For one run of a job.
const DEADLINE: Duration = Duration::from_secs(300);
/// For its first task to run.
const FIRST: Duration = Duration::from_secs(60);
/// Between two looks for a process.
const LOOK: Duration = Duration::from_millis(10);
/// Maps, and reduces.
const MAPS: u64 = 20;
const REDUCES: u64 = 8;

/// A job, and what it writes when nobody disturbs it.
#[derive(Debug)]
pub struct KilledJob {
    /// For people.
    pub name: &'static str,
    settings: Vec<String>,
    program: String,
    options: &'static [&'static str],
    input: String,
    clean: Files,
    /// From its first task to its end.
    lasts: Duration,
}

/// What a round does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// The process of a task is killed -9.
    KillTask,
    /// A launcher is.
    KillLauncher,
    /// A launcher stands still: connections to it are open, and nobody answers.
    FreezeLauncher,
}

impl Blow {
    /// The one of a round in which processes are killed.
    #[must_use]
    pub fn killing(seed: u64) -> Self {
        match Dice::new(seed).throw(2) {
            0 => Self::KillLauncher,
            _ => Self::KillTask,
        }
    }
}

/// Whom a round has hit.
#[derive(Clone, Debug)]
struct Struck {
    blow: Blow,
    victim: FoundProcess,
    /// Since the job's first task.
    after: Duration,
}

/// What became of a round.
#[derive(Clone, Debug)]
pub struct RoundResult {
    /// What decided the victim and the moment.
    pub seed: u64,
    /// Of the job.
    pub name: &'static str,
    /// Who was killed.
    pub what: String,
    /// Since the job's first task.
    pub after: Duration,
    /// The kill was heard of: the attempt failed by it, or the launcher was lost.
    pub has_hit: bool,
    /// The whole command.
    pub wall: Duration,
    /// Its exit code.
    pub code: i32,
    /// Attempts that failed, as the job says.
    pub failed: u32,
    /// Why the output is not the undisturbed one.
    pub wrong: Option<String>,
    /// What the job said.
    pub said: String,
}

impl RoundResult {
    /// The job did well, and wrote what it should.
    #[must_use]
    pub const fn is_right(&self) -> bool {
        self.code == 0 && self.wrong.is_none()
    }

    /// One row of a table.
    #[must_use]
    pub fn row(&self) -> String {
        format!(
            "| {} | {} | {} | {:.2} | {} | {} | {} | {:.1} | {} |",
            self.seed,
            self.name,
            self.what,
            self.after.as_secs_f32(),
            if self.has_hit { "yes" } else { "no" },
            self.failed,
            self.code,
            self.wall.as_secs_f32(),
            self.wrong.as_deref().unwrap_or("same"),
        )
    }
}

/// Headings of [`RoundResult::row`].
pub const HEADINGS: &str = "\
| seed | job | hit | after, s | heard of | attempts failed | exit code | wall, s | output |
|---|---|---|---|---|---|---|---|---|";

impl KilledJob {
    /// Word count over so much text, in 20 maps and 8 reduces, by session `s`.
    ///
    /// # Errors
    ///
    /// Its input cannot be made, or the job fails undisturbed.
    pub fn word_count(given: &Given, megabytes: u64) -> Result<Self> {
        let text = given.folder.join("kills-text");
        let made = std::process::Command::new(mapreduce::example("maketext")?)
            .arg(megabytes.to_string())
            .stdout(fs::File::create(&text)?)
            .status()?;
        ensure!(made.success(), "maketext: {made}");
        let program = mapreduce::example("wordcount")?;
        Self::over("wordcount", given, &text, &program, &[])
    }

    /// Terasort of so many rows, the same way.
    ///
    /// # Errors
    ///
    /// As [`KilledJob::word_count`].
    pub fn tera_sort(given: &Given, megabytes: u64) -> Result<Self> {
        let tera = mapreduce::example("tera")?;
        let rows = given.folder.join("kills-rows");
        let made = std::process::Command::new(&tera)
            .args(["--local", "--job", "teragen", "--quiet"])
            .args(["-D", "mapreduce.job.maps=1"])
            .arg((megabytes * 10_000).to_string())
            .arg(&rows)
            .status()?;
        ensure!(made.success(), "teragen: {made}");
        let rows = rows.join("part-m-00000");
        Self::over("terasort", given, &rows, &tera, &["--job", "terasort"])
    }

    fn over(
        name: &'static str,
        given: &Given,
        local: &Path,
        program: &Path,
        options: &'static [&'static str],
    ) -> Result<Self> {
        let length = fs::metadata(local)?.len();
        let input = format!("/kills/{name}");
        let there = text_of(local)?;
        given.cluster.dfs(&["-mkdir", "-p", &input])?;
        given
            .cluster
            .dfs(&["-put", &there, &format!("{input}/in")])?;
        fs::remove_file(local)?;
        let settings = [
            format!(
                "mapreduce.input.fileinputformat.split.maxsize={}",
                // Rows of terasort are not cut.
                length.div_ceil(MAPS).next_multiple_of(100)
            ),
            "gerbil.split.pack=1".to_owned(),
            format!("mapreduce.job.reduces={REDUCES}"),
        ];
        let settings = settings
            .into_iter()
            .flat_map(|setting| ["-D".to_owned(), setting]);
        let mut work = Self {
            name,
            program: text_of(program)?,
            settings: settings.collect(),
            options,
            input,
            clean: Files::new(),
            lasts: Duration::ZERO,
        };
        // The first brings the program to the nodes.
        for _warm in 0..2 {
            let (finished, lasts, _) = work.once(given, None)?;
            let finished = finished.success("an undisturbed job")?;
            let said = finished.stderr_text();
            ensure!(said.contains(&format!("{MAPS} maps over")), "{said}");
            work.lasts = lasts;
            work.clean = mapreduce::files(&given.cluster, &work.output())?;
        }
        ensure!(
            work.clean.len() as u64 == REDUCES + 1,
            "{:?}",
            work.clean.keys()
        );
        Ok(work)
    }

    fn output(&self) -> String {
        format!("/kills/out-{}", self.name)
    }

    /// One round.
    ///
    /// # Errors
    ///
    /// It could not be tried; what becomes of the job is no error.
    pub fn round(&self, given: &Given, blow: Blow, seed: u64) -> Result<RoundResult> {
        let (finished, _, struck) = self.once(given, Some((blow, Dice::new(seed))))?;
        let said = finished.stderr_text();
        let mut outcome = RoundResult {
            seed,
            name: self.name,
            what: "nobody: it was over".to_owned(),
            after: Duration::ZERO,
            has_hit: false,
            wall: finished.wall,
            code: finished.code(),
            failed: failed(&said),
            wrong: None,
            said,
        };
        outcome.wrong = match mapreduce::files(&given.cluster, &self.output()) {
            Ok(files) => self.difference(&files),
            Err(error) => Some(format!("{error:#}")),
        };
        if let Some(struck) = struck {
            outcome.after = struck.after;
            Self::tell(given, &struck, &mut outcome);
            if struck.blow != Blow::KillTask {
                renew(given)?;
            }
        }
        Ok(outcome)
    }

    fn difference(&self, files: &Files) -> Option<String> {
        if !self.clean.keys().eq(files.keys()) {
            let names: Vec<&String> = files.keys().collect();
            return Some(format!("other files: {names:?}"));
        }
        let mut different = self.clean.iter();
        let (name, _) = different.find(|(name, bytes)| files.get(*name) != Some(bytes))?;
        Some(format!("{name} differs"))
    }

    /// Who it was, and whether the job has heard of it.
    fn tell(given: &Given, struck: &Struck, outcome: &mut RoundResult) {
        if struck.blow == Blow::KillTask {
            let killed = outcome.said.lines().find_map(|line| {
                let (before, _) = line.split_once(" was killed by signal 9")?;
                let words: Vec<&str> = before.rsplit(' ').take(2).collect();
                Some(format!(
                    "the process of {} {}",
                    words.get(1)?,
                    words.first()?
                ))
            });
            outcome.has_hit = killed.is_some();
            outcome.what = killed.unwrap_or_else(|| "a process that was leaving".to_owned());
            return;
        }
        let id = struck.victim.container.clone().unwrap_or_default();
        outcome.what = format!(
            "the launcher in container {}",
            id.rsplit('_').next().unwrap_or_default()
        );
        // The ApplicationMaster's log has every launcher's end.
        let logs = given.cluster.container_logs().into_iter();
        let master = logs.filter(|path| path.to_string_lossy().contains("_000001/"));
        outcome.has_hit = !id.is_empty()
            && master
                .filter_map(|path| fs::read_to_string(path).ok())
                .any(|log| {
                    // Its link has broken, or nothing was heard over it.
                    let ends = [
                        format!("link to {id}: "),
                        format!("{id} has not been heard"),
                    ];
                    ends.iter().any(|words| log.contains(words))
                });
    }

    /// Runs the job, and strikes if it is told to: how it ended, how long it lasted from its first task on, and
    /// who was killed.
    fn once(
        &self,
        given: &Given,
        blow: Option<(Blow, Dice)>,
    ) -> Result<(Finished, Duration, Option<Struck>)> {
        let output = self.output();
        // There is none the first time.
        drop(given.cluster.hdfs().remove(&output));
        let mut line = vec!["--session", "s"];
        line.extend(self.settings.iter().map(String::as_str));
        line.push(&self.program);
        line.extend(self.options);
        line.extend([self.input.as_str(), &output]);
        let run = mapreduce::mr(&given.cluster, &given.folder, &line)?.deadline(DEADLINE);
        let mut running = run.start()?;
        wait::until("a task", FIRST, || {
            let there = running.is_over()? || !victims::tasks(&given.cluster)?.is_empty();
            Ok(there.then_some(()))
        })
        .with_context(|| running.stderr_so_far())?;
        let began = Instant::now();
        let struck = match blow {
            Some((blow, dice)) => self.strike(given, blow, dice, (&mut running, began))?,
            None => None,
        };
        let finished = running.finish()?;
        Ok((finished, began.elapsed(), struck))
    }

    /// Hits one, unless the job is over first.
    fn strike(
        &self,
        given: &Given,
        blow: Blow,
        mut dice: Dice,
        (running, began): (&mut Running, Instant),
    ) -> Result<Option<Struck>> {
        // What it does may be thrown with the same seed.
        let _blow = dice.throw(2);
        let moment = dice.time(self.lasts);
        wait::pause(moment.saturating_sub(began.elapsed()));
        while !running.is_over()? {
            let (all, signal) = match blow {
                Blow::KillTask => (victims::tasks(&given.cluster)?, Signal::SIGKILL),
                Blow::KillLauncher => (victims::launchers(&given.cluster)?, Signal::SIGKILL),
                Blow::FreezeLauncher => (victims::launchers(&given.cluster)?, Signal::SIGSTOP),
            };
            // Between two waves of tasks there may be none.
            let Some(victim) = dice.pick(&all) else {
                wait::pause(LOOK);
                continue;
            };
            signal_by_id(victim.pid, signal)?;
            return Ok(Some(Struck {
                blow,
                victim: victim.clone(),
                after: began.elapsed(),
            }));
        }
        Ok(None)
    }
}

/// Starts session `s`: a container of two slots on each node.
///
/// # Errors
///
/// It is not ready in time.
pub fn start(given: &Given) -> Result<()> {
    let nodes = given.cluster.nodes().len();
    let line = format!("start s --containers {nodes} --slots-per-container 2 --memory 512");
    session::told(given, &line.split(' ').collect::<Vec<_>>(), 0)?;
    Ok(())
}

/// Waits until the session has all its containers again. One that avoids a node, because it has lost a second
/// container there, is replaced.
fn renew(given: &Given) -> Result<()> {
    let nodes = given.cluster.nodes().len();
    let whole = format!(
        "{nodes} containers with {} slots, 0 of them in use",
        2 * nodes
    );
    let avoids = wait::until(&format!("{nodes} containers again"), FIRST, || {
        let shown = session::told(given, &["status", "s"], 0)?.stdout_text();
        let avoids = shown.contains("has lost one of late");
        let is_whole = shown.contains(&whole);
        Ok((avoids || is_whole).then_some(avoids))
    });
    if avoids? {
        session::told(given, &["stop", "s", "--now"], 0)?;
        start(given)?;
    }
    Ok(())
}

/// Attempts that failed, as a job's last words tell.
fn failed(said: &str) -> u32 {
    let words: Vec<&str> = said.split_whitespace().collect();
    let found = words.windows(3).find_map(|three| match three {
        [number, "attempt" | "attempts", "failed"] => number.parse().ok(),
        _ => None,
    });
    found.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::failed;

    #[test]
    fn a_job_s_last_words_tell_how_many_attempts_failed() {
        assert_eq!(
            failed("x completed: tasks 1.0 s, commit 0.1 s, 2 attempts failed\nC"),
            2
        );
        assert_eq!(failed("commit 0.1 s, 1 attempt failed"), 1);
        assert_eq!(failed("commit 0.1 s"), 0);
    }
}
