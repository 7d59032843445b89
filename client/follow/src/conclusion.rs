//! What a command returns and says of a job: one rule for how the job ended, the signal that the command took, and
//! how much of the output is written. All who follow a job, or a list of jobs, go by it.

use job::exit::Exit;

/// A write for which there is no reader any more.
pub(crate) const SIGPIPE: u8 = 13;

/// How the job itself ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// Well.
    Succeeded,
    /// On somebody's order: this code without one of ours.
    Killed(u8),
    /// By itself, with this code.
    Failed(u8),
}

impl JobEnd {
    /// Of a code alone.
    pub fn of(code: u8) -> Self {
        match code {
            0 => Self::Succeeded,
            code => Self::Failed(code),
        }
    }

    fn code(self) -> u8 {
        match self {
            Self::Succeeded => Exit::Success.code(),
            Self::Killed(code) | Self::Failed(code) => code,
        }
    }
}

/// How much of the job's output is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Every byte.
    All,
    /// Not every byte, or nobody can say: the link broke, or the order to end the job came before the end of the
    /// output, which it may cut off.
    Part,
    /// No more, for want of a reader.
    NoReader,
    /// No more, since a write failed.
    Unwritable,
}

/// Whether the job was given all of its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// As much as it took.
    All,
    /// Our input could not be read to its end, and the job was told to end.
    Part,
}

/// The code of the command, and its sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conclusion {
    /// What the command returns.
    pub code: u8,
    /// What it says last; empty: nothing.
    pub sentence: String,
}

/// Of a success whose output the user did not wait for.
const CUT: &str =
    "the program ended well, but the command was interrupted before all of its output was written";

/// Of a job that was ended for want of its input; why that cannot be read is said when it is seen.
const UNREAD: &str = "the job was ended, since its input could not be read to the end";

/// What the command returns and says of a job that ended as `end`, with this `sentence`, when the command took
/// `signal` to end it.
///
/// A signal counts wherever a byte may be missing: output that is cut off is no success. Without one the code is
/// the job's, but for a success whose output is not whole. A failure of the program is never hidden.
pub fn conclude(
    end: JobEnd,
    sentence: &str,
    signal: Option<u8>,
    given: Given,
    written: Written,
) -> Conclusion {
    let said = |code: u8| Conclusion {
        code,
        sentence: sentence.to_owned(),
    };
    let by = |signal: u8| 128u8.saturating_add(signal);
    if (signal, given) == (None, Given::Part) && !matches!(end, JobEnd::Failed(_)) {
        return Conclusion {
            code: Exit::Staging.code(),
            sentence: UNREAD.to_owned(),
        };
    }
    match (signal, written, end) {
        (Some(signal), Written::All, JobEnd::Killed(_)) => said(by(signal)),
        (Some(_) | None, Written::All, end) => said(end.code()),
        (Some(signal), _, JobEnd::Succeeded) => Conclusion {
            code: by(signal),
            sentence: CUT.to_owned(),
        },
        (Some(signal), _, JobEnd::Killed(_) | JobEnd::Failed(_)) => said(by(signal)),
        (None, Written::Unwritable, _) => said(Exit::Staging.code()),
        // As any program that writes into a closed pipe.
        (None, Written::NoReader, JobEnd::Succeeded | JobEnd::Killed(_)) => Conclusion {
            code: by(SIGPIPE),
            sentence: String::new(),
        },
        (None, Written::Part, JobEnd::Succeeded) => said(Exit::Lost.code()),
        (None, Written::Part | Written::NoReader, end) => said(end.code()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use JobEnd::{Failed, Killed, Succeeded};
    use Written::{All, NoReader, Part, Unwritable};

    /// Each end, signal and output: code, and whether the job's own sentence, that of a cut, or none is said.
    #[test]
    fn every_end_has_its_code_and_its_sentence() {
        let (own, none) = ("own", "");
        for (end, signal, written, code, sentence) in [
            (Succeeded, None, All, 0, own),
            (Succeeded, None, Part, 70, own),
            (Succeeded, None, NoReader, 141, none),
            (Succeeded, None, Unwritable, 74, own),
            (Succeeded, Some(15), All, 0, own),
            (Succeeded, Some(15), Part, 143, CUT),
            (Succeeded, Some(2), NoReader, 130, CUT),
            (Succeeded, Some(1), Unwritable, 129, CUT),
            (Killed(143), None, All, 143, own),
            (Killed(143), None, Part, 143, own),
            (Killed(141), None, NoReader, 141, none),
            (Killed(143), None, Unwritable, 74, own),
            (Killed(130), Some(15), All, 143, own),
            (Killed(130), Some(15), Part, 143, own),
            (Killed(130), Some(2), NoReader, 130, own),
            (Killed(130), Some(1), Unwritable, 129, own),
            (Failed(3), None, All, 3, own),
            (Failed(3), None, Part, 3, own),
            (Failed(3), None, NoReader, 3, own),
            (Failed(3), None, Unwritable, 74, own),
            (Failed(3), Some(15), All, 3, own),
            (Failed(3), Some(15), Part, 143, own),
            (Failed(3), Some(2), NoReader, 130, own),
            (Failed(3), Some(1), Unwritable, 129, own),
        ] {
            let found = conclude(end, own, signal, Given::All, written);
            let shown = format!("{end:?} {signal:?} {written:?}");
            assert_eq!((found.code, &*found.sentence), (code, sentence), "{shown}");
            // Whatever else: what is not all there is no success.
            assert!(found.code != 0 || written == All, "{shown}");
            let unread = conclude(end, own, signal, Given::Part, written);
            match (signal, end) {
                (None, Succeeded | Killed(_)) => {
                    assert_eq!((unread.code, &*unread.sentence), (74, UNREAD), "{shown}");
                }
                (_, _) => assert_eq!(unread, found, "{shown}"),
            }
        }
    }
}
