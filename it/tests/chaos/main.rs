//! What may happen to a job at any moment, once each, a slice of it in each run, with a fixed seed; the command `soak`
//! repeats it with others. What hurts one job alone comes to several jobs at once.

mod hung;
mod secrets;
mod stuck;

use std::process::ExitCode;
use std::sync::{LazyLock, OnceLock};

use anyhow::{Context as _, Result, anyhow, ensure};
use it::bed::{Case, Given};
use it::chaos::{self, CASES, TrialResult, trial};
use it::slice;
use it::suite::{self, Group};

/// Any would do: the moment and the victim of each fault follow from it.
const SEED: u64 = 1;

/// What became of a case, or why it could not be tried.
type Tried = Result<TrialResult, String>;

fn number<const N: usize>(given: &Given) -> Result<()> {
    let case = &CASES[N];
    let outcome = match case.is_alone() {
        true => trial::run(given, case, SEED)?,
        false => together(given)
            .iter()
            .find_map(|(name, tried)| (*name == case.name).then(|| tried.clone()))
            .context("not tried")?
            .map_err(|error| anyhow!(error))?,
    };
    ensure!(outcome.is_right(), "{}", outcome.line());
    Ok(())
}

/// All that can be tried side by side, when the first of them is asked for.
fn together(given: &Given) -> &'static [(&'static str, Tried)] {
    static OUTCOMES: OnceLock<Vec<(&str, Tried)>> = OnceLock::new();
    OUTCOMES.get_or_init(|| {
        let tried = TRIED.0.iter().map(|index| &CASES[*index]);
        let cases: Vec<&chaos::Case> = tried.filter(|case| !case.is_alone()).collect();
        let outcomes = trial::together(given, &cases, SEED);
        let tried = outcomes
            .into_iter()
            .map(|outcome| outcome.map_err(|error| format!("{error:?}")));
        cases.iter().map(|case| case.name).zip(tried).collect()
    })
}

macro_rules! numbers {
    ($($number:literal)*) => { [$((CASES[$number].name, number::<$number> as Case)),*] };
}

const TRIALS: [(&str, Case); CASES.len()] =
    numbers!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27);

/// Whether this machine lets us.
fn is_possible(index: usize) -> bool {
    use it::chaos::fault::Needs;

    static MET: LazyLock<[bool; 2]> =
        LazyLock::new(|| [Needs::PacketFilter, Needs::Mount].map(Needs::are_met));
    match CASES[index].fault.needs() {
        Needs::Nothing => true,
        Needs::PacketFilter => MET[0],
        Needs::Mount => MET[1],
    }
}

/// What this run tries of [`CASES`], and how many it leaves to others.
static TRIED: LazyLock<(Vec<usize>, usize)> = LazyLock::new(|| {
    let wanted = (0..CASES.len()).filter(|index| is_possible(*index) && !CASES[*index].is_long);
    slice::tried(wanted.collect())
});

#[expect(
    clippy::print_stderr,
    reason = "a test says on stderr what it cannot try"
)]
fn main() -> ExitCode {
    let (tried, of_other_slices) = &*TRIED;
    let trials: Vec<(&str, Case)> = tried.iter().map(|index| TRIALS[*index]).collect();
    let left_out = (0..CASES.len())
        .filter(|index| !is_possible(*index))
        .count();
    if left_out > 0 {
        eprintln!(
            "chaos: {left_out} cases are left out: only root can cut the network and fill a disk, with \
             iptables and mount, and not in every container"
        );
    }
    let cut: &[(&str, Case)] = match chaos::fault::Needs::PacketFilter.are_met() {
        true => stuck::CUT,
        false => &[],
    };
    let cases: &[&[(&str, Case)]] = &[secrets::CASES, stuck::CASES, cut, hung::cases(), &trials];
    let group = Group::new(chaos::cluster(), cases).without(*of_other_slices);
    suite::run(vec![group])
}
