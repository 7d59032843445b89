//! How a job ended, by the word of its ApplicationMaster or of YARN.

use job::exit::{self, Exit};
use job::wire;
use proto_hadoop::ApplicationId;
use proto_hadoop::yarn::{ApplicationReport, FinalApplicationStatus, YarnApplicationState};
use sentences::without_frames;

use crate::conclusion::{Conclusion, Given, JobEnd, Written, conclude};

/// How the job ended, for the exit of the command.
#[derive(Debug)]
pub struct Ended {
    /// What the command returns.
    pub code: u8,
    /// Empty for a success.
    pub sentence: String,
    /// The ApplicationMaster's own words; absent when it could not be heard.
    pub verdict: Option<Box<wire::Verdict>>,
}

impl Ended {
    /// By `signal`, before YARN heard of the job.
    pub fn unsubmitted(signal: u8) -> Self {
        Self {
            code: 128u8.saturating_add(signal),
            sentence: "interrupted before anything was submitted".into(),
            verdict: None,
        }
    }

    /// By `signal`: YARN was told to end the job, and the user does not wait until it has.
    pub(crate) fn unawaited(id: ApplicationId, signal: u8) -> Self {
        Self {
            code: 128u8.saturating_add(signal),
            sentence: format!(
                "{id} was not seen to end; gerbil ps shows whether it is gone, and gerbil kill {id} ends it"
            ),
            verdict: None,
        }
    }

    /// Something else has gone wrong behind the job's own end, worth this code where that was a success.
    pub fn say_also(&mut self, code: u8, sentence: &str) {
        if self.code == Exit::Success.code() {
            self.code = code;
        }
        match self.sentence.is_empty() {
            true => sentence.clone_into(&mut self.sentence),
            false => self.sentence = format!("{}; {sentence}", self.sentence),
        }
    }
}

/// What the ApplicationMaster says decides, and `signal`, by which the user has asked for the end, where output is
/// not all written.
pub(crate) fn by_verdict(
    verdict: wire::Verdict,
    signal: Option<u8>,
    given: Given,
    written: Written,
) -> Ended {
    let code = u8::try_from(verdict.exit_code).unwrap_or(Exit::Lost.code());
    let end = match verdict.state() {
        wire::FinalState::Killed => JobEnd::Killed(code),
        _ => JobEnd::of(code),
    };
    let Conclusion { code, sentence } = conclude(end, &verdict.sentence, signal, given, written);
    Ended {
        code,
        sentence,
        verdict: Some(Box::new(verdict)),
    }
}

/// What YARN says decides, where the ApplicationMaster cannot be heard.
pub fn judge(report: &ApplicationReport) -> Ended {
    let said = report.diagnostics.trim();
    let said = if said.is_empty() || said == "N/A" {
        format!(
            "YARN gives no reason; see yarn logs -applicationId {}",
            report.id
        )
    } else {
        without_frames(said)
    };
    let (code, sentence) = match (report.state, report.final_status) {
        (_, FinalApplicationStatus::Succeeded) => (Exit::Success.code(), String::new()),
        (YarnApplicationState::Killed, _) => (
            Exit::Killed.code(),
            format!("{} was killed through YARN: {said}", report.id),
        ),
        // No attempt was ever made: the scheduler took no part in it.
        (YarnApplicationState::Failed, _)
            if report.current_attempt.is_none_or(|it| it.attempt < 1) =>
        {
            (
                Exit::Impossible.code(),
                format!("the ResourceManager refused {}: {said}", report.id),
            )
        }
        _ => (
            exit::code_in_diagnostics(said.as_str()).unwrap_or(Exit::Lost.code()),
            format!("{} failed: {said}", report.id),
        ),
    };
    Ended {
        code,
        sentence,
        verdict: None,
    }
}

/// An error with its causes, on one line.
pub fn chain(error: &anyhow::Error) -> String {
    let mut parts: Vec<String> = error.chain().map(ToString::to_string).collect();
    parts.dedup();
    parts.join(": ")
}
