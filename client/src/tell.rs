//! The end of a job: what is said, written and remembered of it.

use std::io::Write;

use job::report::Report;

use crate::arguments::{Ends, ExitRule, Reporting};
use crate::failure::{Failure, say};
use crate::follow::Ended;
use crate::interrupt::Signals;
use crate::report::{Destination, Own};
use crate::{ends, history, timing};

/// What is said and written at the end of a job, and the exit code.
pub(crate) async fn tell(
    outcome: Result<Ended, Failure>,
    reporting: &Reporting,
    wished: &Ends,
    destination: Option<Destination>,
    mut own: Own,
    signals: &mut Signals,
) -> Result<u8, Failure> {
    let (said, outcome) = match outcome {
        Ok(ended) => {
            let ranks = ended
                .verdict
                .as_ref()
                .map(|verdict| verdict.ranks.as_slice());
            let ranks = ranks.unwrap_or_default();
            own.exit_code = match wished.exit_code {
                ExitRule::Hydra if ends::decide(&ended) => ends::combined(ranks),
                ExitRule::First | ExitRule::Hydra => ended.code,
            };
            own.sentence = ended.sentence;
            if !own.sentence.is_empty() {
                say(&own.sentence);
            }
            ends::failures(ranks).iter().for_each(say);
            if wished.print_all_exitcodes {
                ends::all(ranks).iter().for_each(say);
            }
            let said = ended.verdict.map(|verdict| verdict.report);
            (said.unwrap_or_default(), Ok(()))
        }
        Err(failure) => {
            own.exit_code = failure.exit.code();
            own.sentence.clone_from(&failure.sentence);
            (String::new(), Err(failure))
        }
    };
    let report = own.with(&said);
    if !said.is_empty() {
        remember(&report, &own);
    }
    if reporting.timing && outcome.is_ok() {
        timing::words(&report).iter().for_each(say);
    }
    let code = match destination {
        Some(destination) => {
            let fill = move |out: &mut dyn Write| Ok(serde_json::to_writer(out, &report)?);
            destination.write(fill, own.exit_code, signals).await
        }
        None => own.exit_code,
    };
    outcome.map(|()| code)
}

/// Keeps what the run has taught about the program. Nobody but a later `-r auto` misses it where that
/// fails.
fn remember(report: &Report, own: &Own) {
    if let Some(folder) = history::state_folder(&|name| std::env::var_os(name)) {
        let _remembered = history::remember(report, &own.program, &folder).is_ok();
    }
}
