//! Questions of clients for what tasks have printed, until the launchers of the tasks have answered them.

use std::collections::BTreeMap;

use job::wire;
use tokio::sync::oneshot;
use tonic::Status;

/// Questions under way, each of which may bring some megabytes.
const MOST: usize = 16;

/// Where the client that asks waits for the answer.
pub(crate) type LogAnswer = oneshot::Sender<Result<wire::TaskLog, Status>>;

/// Questions that launchers have not answered.
#[derive(Debug, Default)]
pub(super) struct Questions {
    next: u32,
    open: BTreeMap<u32, Question>,
}

#[derive(Debug)]
pub(super) struct Question {
    pub(super) answer: LogAnswer,
    pub(super) attempt: u32,
    pub(super) host: String,
}

impl Questions {
    /// The number of one more; it is refused where there are too many.
    pub(super) fn add(&mut self, question: Question) -> Option<u32> {
        self.open.retain(|_, question| !question.answer.is_closed());
        if self.open.len() >= MOST {
            let busy = format!("{MOST} logs are being read; try again in a moment");
            let _heard = question.answer.send(Err(Status::resource_exhausted(busy)));
            return None;
        }
        let id = self.next;
        self.next = id.wrapping_add(1);
        self.open.insert(id, question);
        Some(id)
    }

    /// A launcher has answered.
    pub(super) fn answered(&mut self, read: wire::LogRead) {
        // Else the client that has asked has gone.
        if let Some(question) = self.open.remove(&read.id) {
            let answer = match read.trouble {
                why if !why.is_empty() => Err(Status::not_found(why)),
                _ => Ok(wire::TaskLog {
                    attempt: question.attempt,
                    host: question.host,
                    stdout: read.stdout,
                    stderr: read.stderr,
                    ..wire::TaskLog::default()
                }),
            };
            let _heard = question.answer.send(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> (Question, oneshot::Receiver<Result<wire::TaskLog, Status>>) {
        let (answer, answered) = oneshot::channel();
        let question = Question {
            answer,
            attempt: 1,
            host: "n1".into(),
        };
        (question, answered)
    }

    #[test]
    fn a_client_that_has_left_makes_room_and_an_answer_finds_the_client_that_asked() {
        let mut questions = Questions::default();
        let mut waiting = Vec::new();
        for id in 0..16 {
            let (question, answered) = question();
            assert_eq!(questions.add(question), Some(id));
            waiting.push(answered);
        }
        let (one_more, mut answered) = question();
        assert_eq!(questions.add(one_more), None);
        let refused = answered.try_recv().unwrap().unwrap_err();
        assert!(refused.message().contains("16 logs"), "{refused}");
        drop(waiting.remove(3));
        let (one_more, mut answered) = question();
        assert_eq!(questions.add(one_more), Some(16));
        let read = |id, trouble: &str| wire::LogRead {
            id,
            trouble: trouble.into(),
            ..wire::LogRead::default()
        };
        questions.answered(read(16, ""));
        let log = answered.try_recv().unwrap().unwrap();
        assert_eq!((log.attempt, log.host.as_str()), (1, "n1"));
        questions.answered(read(0, "the file is gone"));
        let trouble = waiting[0].try_recv().unwrap().unwrap_err();
        assert_eq!(trouble.message(), "the file is gone");
        // Twice, or never asked.
        questions.answered(read(0, ""));
        questions.answered(read(99, ""));
    }
}
