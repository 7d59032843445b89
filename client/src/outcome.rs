//! The end of a job: what is said, written and remembered of it.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Write};

use follow::ended::Ended;
use follow::report::{ClientFacts, Destination};
use follow::timing;
use job::report::Report;
use terminal::signals::Signals;
use terminal::{Foreign, say};

use crate::arguments::{Ends, ExitRule, Reporting};
use crate::failure::Failure;
use crate::{exit_table, history};

/// What is said and written at the end of a job, and the exit code.
pub(crate) async fn report_outcome(
    outcome: Result<Ended, Failure>,
    reporting: &Reporting,
    wished: &Ends,
    kept: &[String],
    destination: Option<Destination>,
    mut own: ClientFacts,
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
                ExitRule::Hydra if exit_table::decide(&ended) => exit_table::combined(ranks),
                ExitRule::First | ExitRule::Hydra => ended.code,
            };
            own.sentence = ended.sentence;
            if !own.sentence.is_empty() {
                say(Foreign::sentence(&own.sentence));
            }
            // Ranks that left MPI without a word have done no harm where the job has ended well, and one is named.
            if ended.code != 0 {
                exit_table::failures(ranks).iter().for_each(say);
            }
            let left = ended
                .verdict
                .as_ref()
                .map(|verdict| &verdict.left_files[..]);
            let left = left_behind(left.unwrap_or_default(), kept)
                .filter(|_| ended.code == 0 && !reporting.quiet);
            if let Some(sentence) = left
                && std::io::stderr().is_terminal()
            {
                say(sentence);
            }
            if wished.print_all_exitcodes {
                exit_table::all(ranks).iter().for_each(say);
            }
            let said = ended.verdict.map(|verdict| verdict.report);
            (said.unwrap_or_default(), Ok(()))
        }
        Err(failure) => {
            own.exit_code = failure.exit().code();
            own.sentence = failure.to_string();
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

/// What goes with the containers, besides the names that are `kept`; `None`: nothing.
fn left_behind(left: &[String], kept: &[String]) -> Option<String> {
    let names: BTreeSet<&str> = left
        .iter()
        .map(|name| name.trim_end_matches('/'))
        .filter(|name| {
            let above = |kept: &String| kept.split('/').next() == Some(name);
            !kept.iter().any(above)
        })
        .collect();
    let first = names.first()?;
    let more = match names.len().saturating_sub(1) {
        0 => String::new(),
        1 => " (and one more)".to_owned(),
        more => format!(" (and {more} more)"),
    };
    Some(format!(
        "the program has left {first}{more} in its folder on the nodes, which goes with the job; --get \
         {first} brings it home",
        first = Foreign::name(first)
    ))
}

/// Keeps what the run has taught about the program. Nobody but a later `-r auto` misses it where that
/// fails.
fn remember(report: &Report, own: &ClientFacts) {
    if let Some(folder) = history::state_folder(&|name| std::env::var_os(name)) {
        let _remembered = history::remember(report, &own.program, &folder).is_ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_with_the_nodes_is_named_with_what_would_have_kept_it() {
        let texts =
            |names: &[&str]| -> Vec<String> { names.iter().map(ToString::to_string).collect() };
        let left = texts(&["dump/", "log.lammps"]);
        let kept = |names: &[&str]| left_behind(&left, &texts(names));
        let said = kept(&[]).unwrap();
        assert!(said.contains("has left dump (and one more)"), "{said}");
        let said = kept(&["dump/deep"]).unwrap();
        assert!(said.contains("--get log.lammps brings"), "{said}");
        assert_eq!(kept(&["dump", "log.lammps"]), None);
    }
}
