//! One case, once.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};

use super::fault::Harm;
use super::scene::Scene;
use super::{Case, Expected, session, traces};
use crate::bed::Given;
use crate::command::Finished;
use crate::{expect, wait};

/// A fault comes at a moment of this time, counted from the job's start or from when all is up.
const MOMENT: Duration = Duration::from_secs(3);
/// After a short fault has passed the job is let go on for a while.
const AFTERWARDS: Duration = Duration::from_secs(3);
/// Between the starts of jobs that share the cluster.
const APART: Duration = Duration::from_millis(700);
/// From the fault until the program has started again.
const AGAIN: Duration = Duration::from_secs(180);
/// The exit code where the program did well and something was lost on the way.
const LOST: i32 = 70;
/// What a fault has broken is whole again, YARN has recorded the job's end, and counts no container.
const RECORDED: Duration = Duration::from_secs(90);

/// What became of a job.
#[derive(Debug, Clone)]
pub struct TrialResult {
    /// The case.
    pub name: &'static str,
    /// What decided the moment and the victim.
    pub seed: u64,
    /// From the job's start to the fault.
    pub struck: Duration,
    /// From the fault until `gerbil-run` had ended, or the program was up again; of a job that goes on,
    /// from when it was let go.
    pub told: Duration,
    /// Its exit code.
    pub code: i32,
    /// Its last own line.
    pub sentence: String,
    /// From the fault (or from when the job was let go) until nothing was left.
    pub clean: Duration,
    /// What was left when the time for it was over.
    pub leftovers: Vec<String>,
    /// Why the verdict is not the one of the table.
    pub wrong: Option<String>,
}

impl TrialResult {
    /// Whether all is as it should be.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.leftovers.is_empty() && self.wrong.is_none()
    }

    /// One line.
    #[must_use]
    pub fn line(&self) -> String {
        let mut line = format!(
            "{}, seed {}: struck after {:.1} s, told after {:.1} s with code {}, clean after {:.1} s: {}",
            self.name,
            self.seed,
            self.struck.as_secs_f32(),
            self.told.as_secs_f32(),
            self.code,
            self.clean.as_secs_f32(),
            self.sentence
        );
        for left in &self.leftovers {
            // Writing into a text cannot fail.
            let _written = write!(line, "\n    left: {left}");
        }
        if let Some(wrong) = &self.wrong {
            let _written = write!(line, "\n    wrong: {wrong}");
        }
        line
    }
}

/// Tries a case once, with no other job on the cluster. Whatever becomes of the job, the cluster is whole
/// afterwards.
///
/// # Errors
///
/// The case could not be tried here, or the cluster not be repaired.
pub fn run(given: &Given, case: &Case, seed: u64) -> Result<TrialResult> {
    let program = given.program("chaos")?;
    let mut outcome = run_program(given, case, &program, seed)?;
    outcome.leftovers.extend(still_counted(given)?);
    Ok(outcome)
}

/// Tries cases side by side, each with a job of its own: what became of each, in the same order, or why it
/// could not be tried.
pub fn together(given: &Given, cases: &[&Case], seed: u64) -> Vec<Result<TrialResult>> {
    let program = match given.program("chaos") {
        Ok(program) => program,
        Err(error) => return vec![Err(error)],
    };
    let mut outcomes: Vec<Result<TrialResult>> =
        std::thread::scope(|scope| {
            let mut trials = Vec::new();
            for case in cases {
                let program = program.as_str();
                trials.push(scope.spawn(move || {
                    run_program(given, case, program, seed).with_context(|| case.name)
                }));
                wait::pause(APART);
            }
            let ended = trials.into_iter().map(|trial| {
                let outcome = trial.join();
                outcome.unwrap_or_else(|_panic| Err(anyhow!("a trial has panicked")))
            });
            ended.collect()
        });
    // Whose containers these are cannot be seen.
    let left = still_counted(given).unwrap_or_else(|error| vec![format!("{error:#}")]);
    for outcome in outcomes.iter_mut().flatten() {
        outcome.leftovers.extend(left.iter().cloned());
    }
    outcomes
}

/// A job that is over.
struct TrialOver {
    id: String,
    host: Option<String>,
    finished: Finished,
    outcome: TrialResult,
}

fn run_program(given: &Given, case: &Case, program: &str, seed: u64) -> Result<TrialResult> {
    let mut harms = case.fault.prepare(given)?;
    let over = until_it_is_over(given, case, program, seed, &mut harms);
    let repaired = undo(given, &mut harms);
    let mut over = over?;
    repaired.context("the cluster could not be repaired")?;
    let recorded = still_recorded(given, &over.id)?;
    over.outcome.leftovers.extend(recorded);
    // YARN may have begun something new meanwhile.
    let since = wait_for_nothing(given, &over.id, AFTERWARDS)?;
    over.outcome.leftovers.extend(since);
    let judged = judge(case, given, &over);
    let judged = judged.err().map(|error| format!("{error:#}"));
    over.outcome.wrong = judged.or(over.outcome.wrong);
    Ok(over.outcome)
}

/// Undoes what is still wrong with the cluster, all of it.
fn undo(given: &Given, harms: &mut Vec<Harm>) -> Result<()> {
    let mut undone = Ok(());
    for harm in harms.drain(..) {
        undone = undone.and(harm.undo(&given.cluster));
    }
    undone
}

fn until_it_is_over(
    given: &Given,
    case: &Case,
    program: &str,
    seed: u64,
    harms: &mut Vec<Harm>,
) -> Result<TrialOver> {
    let fault = case.fault;
    let mut scene = Scene::begin(given, case, program, seed)?;
    // A session takes its job in no time.
    let may_come_early = fault.may_come_early() && case.session.is_none();
    let is_early = may_come_early && scene.dice.throw(3) == 0;
    let moment = scene.dice.time(MOMENT);
    if fault != super::Fault::DiskFull {
        if !is_early {
            scene.wait_for_start(0)?;
            // Later there may be nobody to ask.
            let _id = scene.known_id()?;
        }
        wait::pause(moment);
    }
    let starts = scene.starts();
    fault.strike(&mut scene, harms)?;
    let struck = scene.began.elapsed();
    let mut since = Instant::now();
    let mut told = None;
    match case.verdict {
        Expected::Success => {
            if let Some(lasts) = fault.lasts() {
                wait::pause(lasts);
            }
            if !fault.lasts_beyond_the_end() {
                undo(given, harms)?;
                wait::pause(AFTERWARDS);
            }
            since = Instant::now();
            scene.let_go()?;
        }
        Expected::Again(_) => {
            let mut is_over = false;
            wait::until("the program to start again", AGAIN, || {
                if fault.ends_with_its_victim() && !scene.has_victim() {
                    undo(given, harms)?;
                }
                is_over = scene.running.is_over()?;
                Ok((is_over || scene.starts() > starts).then_some(()))
            })
            .with_context(|| scene.running.stderr_so_far())?;
            if !is_over {
                told = Some(since.elapsed());
                since = Instant::now();
                scene.let_go()?;
            }
        }
        Expected::Incomplete(words) => {
            wait::until("the loss to be told", AGAIN, || {
                let said = scene.running.stderr_so_far();
                Ok(words.iter().all(|word| said.contains(word)).then_some(()))
            })
            .with_context(|| scene.running.stderr_so_far())?;
            told = Some(since.elapsed());
            undo(given, harms)?;
            wait::pause(AFTERWARDS);
            since = Instant::now();
            scene.let_go()?;
        }
        Expected::Failure(..) | Expected::Recorded => {}
    }
    let id = scene.known_id()?;
    let (host, name) = (scene.struck.clone(), scene.name.clone());
    let finished = scene.running.finish()?;
    let told = told.unwrap_or_else(|| since.elapsed());
    if fault.lasts_beyond_the_end() {
        undo(given, harms)?;
    }

    let mut wrong = None;
    if let Some(fate) = case.session {
        undo(given, harms)?;
        let ended = session::end(given, &name, fate);
        wrong = ended.err().map(|error| format!("{error:#}"));
    }
    // None of this has to be asked of the ResourceManager, which may be gone.
    let left = case.clean_within.saturating_sub(since.elapsed());
    let leftovers = wait_for_nothing(given, &id, left)?;
    let outcome = TrialResult {
        name: case.name,
        seed,
        struck,
        told,
        code: finished.code(),
        sentence: expect::own_lines(&finished).pop().unwrap_or_default(),
        clean: since.elapsed(),
        leftovers,
        wrong,
    };
    Ok(TrialOver {
        id,
        host,
        finished,
        outcome,
    })
}

/// Looks until nothing is left, or the time is over.
fn wait_for(
    within: Duration,
    pause: Duration,
    look: impl Fn() -> Result<Vec<String>>,
) -> Result<Vec<String>> {
    let begin = Instant::now();
    loop {
        let left = look()?;
        if left.is_empty() || begin.elapsed() > within {
            return Ok(left);
        }
        wait::pause(pause);
    }
}

fn wait_for_nothing(given: &Given, job: &str, within: Duration) -> Result<Vec<String>> {
    wait_for(within, Duration::from_millis(50), || {
        traces::of(&given.cluster, job)
    })
}

fn still_recorded(given: &Given, job: &str) -> Result<Vec<String>> {
    wait_for(RECORDED, Duration::from_millis(200), || {
        traces::recorded(&given.cluster, job)
    })
}

fn still_counted(given: &Given) -> Result<Vec<String>> {
    wait_for(RECORDED, Duration::from_millis(200), || {
        traces::containers(&given.cluster)
    })
}

fn judge(case: &Case, given: &Given, over: &TrialOver) -> Result<()> {
    let recorded = given.applications()?;
    let recorded = recorded.iter().find(|report| report.id == over.id);
    let recorded = recorded.context("YARN does not know the job")?;
    // Of a session's job YARN records nothing.
    let succeeded = match case.session {
        None => recorded.final_status == "SUCCEEDED",
        Some(_) => case.verdict.goes_on(),
    };
    let finished = &over.finished;
    let named = |words: &[&'static str]| -> Vec<String> {
        let host = over.host.as_deref().unwrap_or("no host");
        let words = words.iter();
        words.map(|word| word.replace("HOST", host)).collect()
    };
    let sentence = |code: i32, words: &[&'static str]| {
        let words = named(words);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        expect::sentence(finished, code, &words)
    };
    match case.verdict {
        Expected::Success | Expected::Again(_) if finished.code() != 0 || !succeeded => {
            Err(anyhow!(
                "the job did not go on: code {}, {} for YARN\n{}",
                finished.code(),
                recorded.final_status,
                finished.stderr_text()
            ))
        }
        Expected::Success => {
            // It was not started again, as its output would have been.
            let starts = finished.stdout_text().matches(super::scene::START).count();
            match starts {
                1 => Ok(()),
                _ => Err(anyhow!("{starts} starts\n{}", finished.stderr_text())),
            }
        }
        Expected::Again(words) => sentence(0, words),
        Expected::Incomplete(_) if !succeeded => Err(anyhow!("YARN has recorded a failure")),
        Expected::Incomplete(words) => sentence(LOST, words),
        Expected::Recorded | Expected::Failure(..) if succeeded => {
            Err(anyhow!("YARN has recorded a success"))
        }
        Expected::Recorded => Ok(()),
        Expected::Failure(codes, words) => {
            let code = finished.code();
            let code = match codes.contains(&code) {
                true => code,
                false => codes[0],
            };
            sentence(code, words)
        }
    }
}
