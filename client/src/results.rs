//! What becomes of the results of a job that are to come home, at its end.

use std::ops::ControlFlow;

use follow::ended::Ended;
use job::exit::Exit;
use job::wire::FinalState;
use terminal::signals::Signals;
use terminal::{interruptible, say};

use crate::data::get::{self, Fetched};
use crate::failure::Failure;

/// Brings the results of a job that has succeeded, also where the command does not: not all output may be written.
/// Of a job that has failed nothing is left of them.
pub(crate) async fn come_home(
    fetched: &[Fetched],
    ended: Result<Ended, Failure>,
    signals: &mut Signals,
) -> Result<Ended, Failure> {
    if fetched.is_empty() {
        return ended;
    }
    let mut ended = match ended {
        Ok(ended) => ended,
        Err(failure) => {
            // It may go on, or have succeeded.
            say(get::may_come(fetched));
            return Err(failure);
        }
    };
    let state = ended.verdict.as_ref().map(|verdict| verdict.state());
    let has_succeeded = ended.code == Exit::Success.code() || state == Some(FinalState::Succeeded);
    if !has_succeeded {
        return Ok(without_results(fetched, ended, signals).await);
    }
    let (code, sentence) = match interruptible(signals, get::bring(fetched)).await {
        ControlFlow::Continue(Ok(())) => {
            // They are home whatever becomes of the rest.
            let _tidied = interruptible(signals, get::forget(fetched)).await;
            return Ok(ended);
        }
        ControlFlow::Continue(Err(failure)) => (failure.exit().code(), failure.to_string()),
        ControlFlow::Break(signal) => {
            let why = "interrupted while results were on their way to this machine";
            let left = get::left(fetched, why.to_owned());
            (128u8.saturating_add(signal), left.to_string())
        }
    };
    ended.say_also(code, &sentence);
    Ok(ended)
}

/// The end of a job whose results do not come home.
async fn without_results(fetched: &[Fetched], mut ended: Ended, signals: &mut Signals) -> Ended {
    let failed_to_store = ended.code == Exit::Staging.code();
    let why = match &ended.verdict {
        // The user has not waited for its end, and it may have made them.
        None => Some("what was made is not brought"),
        // The program has succeeded: the results that could be stored are worth a run.
        Some(_) if failed_to_store => Some("not all could be stored"),
        Some(_) => None,
    };
    match why {
        Some(why) if may_be_there(fetched, signals).await => {
            let left = get::left(fetched, why.to_owned());
            ended.say_also(ended.code, &left.to_string());
            return ended;
        }
        Some(_nothing_is_there) => {}
        None => ended.say_also(ended.code, get::NOTHING),
    }
    // A signal ends this wait alone: how the job ended is known.
    let _tidied = interruptible(signals, get::forget(fetched)).await;
    ended
}

/// Whether there may be results; a signal ends the look.
async fn may_be_there(fetched: &[Fetched], signals: &mut Signals) -> bool {
    match interruptible(signals, get::may_be_there(fetched)).await {
        ControlFlow::Continue(may_be) => may_be,
        ControlFlow::Break(_impatient) => true,
    }
}

#[cfg(test)]
mod tests {
    use job::wire;

    use super::*;
    use crate::data::get::tests::one_result;

    fn ended(code: Exit) -> Ended {
        Ended {
            code: code.code(),
            sentence: String::new(),
            verdict: None,
        }
    }

    /// By its ApplicationMaster.
    fn judged(code: Exit) -> Ended {
        let verdict = Some(Box::new(wire::Verdict {
            state: FinalState::Failed.into(),
            exit_code: code.code().into(),
            ..wire::Verdict::default()
        }));
        Ended {
            verdict,
            ..ended(code)
        }
    }

    #[tokio::test]
    async fn results_are_removed_only_where_they_are_home() {
        let mut signals = Signals::listen().unwrap();
        let unknown = || {
            let text = String::new();
            Err(Failure::NoApplicationId { text })
        };
        for (case, outcome, is_brought) in [
            ("nobody knows how it ended", unknown(), false),
            ("nobody waited for its end", Ok(ended(Exit::Killed)), false),
            ("not all were stored", Ok(judged(Exit::Staging)), false),
            ("it has succeeded", Ok(ended(Exit::Success)), true),
        ] {
            let (far, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let (all, made) = one_result(far.path(), here.path());
            let was = outcome.is_ok();
            let came = come_home(&all, outcome, &mut signals).await;
            assert_eq!(came.is_ok(), was, "{case}");
            assert_eq!(made.exists(), !is_brought, "{case}");
            let names = std::fs::read_dir(here.path()).unwrap().count();
            assert_eq!(names > 0, is_brought, "{case}");
        }
    }
}
