//! When a job ends, and what is made of the ends of its ranks.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::values::{Whole, slurm_time, span, yes_or_no};
use crate::usage::UsageError;

/// Most runs and attempts that can be asked for.
const RESTARTS_MAX: u32 = 1000;

/// The options of this group.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "The end")]
pub(crate) struct Ends {
    /// End the program when it has run for so long, with exit code 124; spans are 500ms, 30 or 30s,
    /// 5m, 1h [default: $MPIEXEC_TIMEOUT in seconds, otherwise never]
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub timeout: Option<Duration>,

    /// The same as srun writes it: minutes, MM:SS, HH:MM:SS, days-hours, or days-HH:MM:SS
    #[arg(short = 't', long, value_name = "TIME", value_parser = slurm_time, conflicts_with = "timeout")]
    pub time: Option<Duration>,

    /// When the first process has ended, end the others after so long; 0 is never
    #[arg(long, value_name = "SPAN", value_parser = span_or_never)]
    pub wait: Option<Duration>,

    /// Let the other processes go on when one fails; the exit code is still that of the first
    #[arg(long, conflicts_with = "kill_on_bad_exit")]
    pub disable_auto_cleanup: bool,

    /// Whether a process that fails ends the others, as srun says it; alone it is true [default: true]
    #[arg(long, value_name = "BOOL", value_parser = yes_or_no)]
    pub kill_on_bad_exit: Option<bool>,

    /// How often the program is started again, in the containers that are left and a new one, when
    /// a container of it was lost: node lost, preempted, its launcher killed; what the program itself
    /// does wrong, or too much memory, is never repeated
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "no_restart",
        value_parser = Whole::new("number of restarts", 0, RESTARTS_MAX))]
    pub restarts: u32,

    /// How often YARN may start the ApplicationMaster; each attempt runs the program from its beginning
    /// [at most yarn.resourcemanager.am.max-attempts]
    #[arg(long, value_name = "N", default_value_t = 2, conflicts_with = "no_restart",
        value_parser = Whole::new("number of attempts", 1, RESTARTS_MAX))]
    pub attempts: u32,

    /// For a program that must not run twice: the same as --restarts 0 --attempts 1
    #[arg(long)]
    pub no_restart: bool,

    /// At the end say how each process ended
    #[arg(long)]
    pub print_all_exitcodes: bool,

    /// What the exit code is made of
    #[arg(long, value_enum, value_name = "RULE", default_value_t)]
    pub exit_code: ExitRule,
}

/// How the ends of many ranks become one exit code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExitRule {
    /// The code of the process that failed first
    #[default]
    First,
    /// The codes of all processes that ended by themselves, or'ed bit by bit, as Hydra does it
    Hydra,
}

impl Ends {
    /// How often the program is started again by its ApplicationMaster.
    pub(crate) const fn restarts(&self) -> u32 {
        match self.no_restart {
            true => 0,
            false => self.restarts,
        }
    }

    /// How often YARN may start the ApplicationMaster.
    pub(crate) const fn attempts(&self) -> u32 {
        match self.no_restart {
            true => 1,
            false => self.attempts,
        }
    }

    /// A rank that fails leaves the others alone.
    pub(crate) fn spares_others(&self) -> bool {
        self.disable_auto_cleanup || self.kill_on_bad_exit == Some(false)
    }

    /// How long the others may run on when the first has ended.
    pub(crate) fn linger(&self) -> Option<Duration> {
        self.wait.filter(|span| !span.is_zero())
    }

    /// For how long the program may run. `variable` is the value of MPIEXEC_TIMEOUT, in seconds;
    /// Hydra takes 0 and less for no limit.
    ///
    /// # Errors
    /// The variable has no number.
    pub(crate) fn limit(&self, variable: Option<&str>) -> Result<Option<Duration>, UsageError> {
        let given = self.timeout.or(self.time);
        // An empty variable is as good as none, to a shell that means to unset it.
        let variable = variable.filter(|text| !text.trim().is_empty());
        let Some(text) = variable.filter(|_| given.is_none()) else {
            return Ok(given);
        };
        match text.trim().parse::<i64>() {
            Ok(seconds) => Ok(u64::try_from(seconds)
                .ok()
                .filter(|seconds| *seconds > 0)
                .map(Duration::from_secs)),
            Err(_no_number) => Err(UsageError::TimeoutVariable {
                text: text.to_owned(),
            }),
        }
    }
}

fn span_or_never(text: &str) -> Result<Duration, String> {
    match text {
        "0" => Ok(Duration::ZERO),
        _ => span(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;

    fn given(line: &str) -> Result<Ends, String> {
        let words = std::iter::once("gerbil-run").chain(line.split_whitespace());
        Arguments::parse(words.map(Into::into))
            .map(|given| given.ends)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_limit_is_an_option_or_a_variable() {
        let limit = |ends: &Ends, variable| ends.limit(variable).map_err(|error| error.to_string());
        let seconds = |n| Ok(Some(Duration::from_secs(n)));
        let ends = given("-timeout 5m ./cpi").unwrap();
        assert_eq!(limit(&ends, Some("7")), seconds(300));
        let ends = given("-t 5 ./cpi").unwrap();
        assert_eq!(limit(&ends, Some("7")), seconds(300));
        assert!(given("-t 5 -timeout 5 ./cpi").is_err());
        let none = Ends::default();
        assert_eq!(limit(&none, Some(" 7")), seconds(7));
        assert_eq!(limit(&none, Some("-1")), Ok(None));
        assert_eq!(limit(&none, None), Ok(None));
        assert_eq!(limit(&none, Some("")), Ok(None));
        assert_eq!(limit(&none, Some(" ")), Ok(None));
        assert!(limit(&none, Some("soon")).unwrap_err().contains("soon"));
    }

    #[test]
    fn the_others_are_spared_in_either_word() {
        assert!(
            given("-disable-auto-cleanup ./cpi")
                .unwrap()
                .spares_others()
        );
        for line in [
            "--kill-on-bad-exit=0 ./cpi",
            "--kill-on-bad-exit false ./cpi",
            "-K0 ./cpi",
            "-K 0 ./cpi",
        ] {
            assert!(given(line).unwrap().spares_others(), "{line}");
        }
        for line in [
            "./cpi",
            "--kill-on-bad-exit ./cpi",
            "--kill-on-bad-exit=1 ./cpi",
            "--kill-on-bad-exit true ./cpi",
            "-K1 ./cpi",
        ] {
            assert!(!given(line).unwrap().spares_others(), "{line}");
        }
        assert!(given("-disable-auto-cleanup --kill-on-bad-exit ./cpi").is_err());
    }

    #[test]
    fn a_program_that_must_not_run_twice_does_not() {
        let of = |line: &str| given(line).map(|ends| (ends.restarts(), ends.attempts()));
        assert_eq!(of("./cpi"), Ok((1, 2)));
        assert_eq!(of("--restarts 3 --attempts 1 ./cpi"), Ok((3, 1)));
        assert_eq!(of("--no-restart ./cpi"), Ok((0, 1)));
        assert!(of("--no-restart --restarts 3 ./cpi").is_err());
        assert!(of("--attempts 0 ./cpi").is_err());
    }

    #[test]
    fn zero_is_no_wait() {
        assert_eq!(given("--wait 0 ./cpi").unwrap().linger(), None);
        assert_eq!(
            given("--wait=3 ./cpi").unwrap().linger(),
            Some(Duration::from_secs(3))
        );
        assert_eq!(
            given("--exit-code hydra ./cpi").unwrap().exit_code,
            ExitRule::Hydra
        );
    }
}
