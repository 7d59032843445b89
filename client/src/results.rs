//! What becomes of the results of a job that are to come home, at its end.

use follow::ended::Ended;
use job::exit::Exit;
use job::wire::FinalState;
use terminal::interruptible;
use terminal::signals::Signals;

use crate::data;
use crate::data::get::Fetched;
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
            // What is left of it lies in the staging folder, as that of a job whose client was killed.
            let _forgotten = interruptible(signals, data::get::forget(fetched)).await;
            return Err(failure);
        }
    };
    let state = ended.verdict.as_ref().map(|verdict| verdict.state());
    let has_succeeded = ended.code == Exit::Success.code() || state == Some(FinalState::Succeeded);
    if !has_succeeded {
        return Ok(without_results(fetched, ended).await);
    }
    let (code, sentence) = tokio::select! {
        brought = data::get::bring(fetched) => match brought {
            Ok(()) => return Ok(ended),
            Err(failure) => (failure.exit().code(), failure.to_string()),
        },
        signal = signals.ending() => {
            let why = "interrupted while results were on their way to this machine";
            let left = data::get::left(fetched, why.to_owned());
            (128u8.saturating_add(signal), left.to_string())
        }
    };
    ended.say_also(code, &sentence);
    Ok(ended)
}

/// The end of a job whose results do not come home.
async fn without_results(fetched: &[Fetched], mut ended: Ended) -> Ended {
    match &ended.verdict {
        // The user has not waited for its end, and it may have made them.
        None if data::get::are_there(fetched).await => {
            let left = data::get::left(fetched, "what was made is not brought".to_owned());
            ended.say_also(ended.code, &left.to_string());
            return ended;
        }
        // Where it is the results that are missing, that is said.
        Some(_) if ended.code != Exit::Staging.code() => {
            ended.say_also(ended.code, data::get::NOTHING);
        }
        Some(_) | None => {}
    }
    data::get::forget(fetched).await;
    ended
}
