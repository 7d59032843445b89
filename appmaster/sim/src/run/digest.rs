//! What was decided when, as text, whose digest tells two runs apart.

use std::fmt::Write as _;

use policy::schedule::{Decision, Nanos, Stage};
use sha2::{Digest as _, Sha256};

/// So many bytes are digested together.
const PIECE: usize = 4096;

/// Lines, `NANOSECOND DECISION`, as Rust shows a decision.
#[derive(Debug, Default)]
pub(super) struct DecisionDigest {
    digest: Sha256,
    /// Lines that are not digested yet.
    lines: String,
}

impl DecisionDigest {
    pub(super) fn decided(&mut self, at: Nanos, decision: &Decision) {
        let lines = &mut self.lines;
        number(lines, at.0);
        if let Decision::Start {
            job,
            stage,
            task,
            slot,
        } = decision
        {
            // Nearly all are such, and what Rust derives for them takes as long as to decide them.
            lines.push_str(" Start { job: JobIx(");
            number(lines, job.0.into());
            lines.push_str("), stage: ");
            lines.push_str(match stage {
                Stage::Map => "Map",
                Stage::Reduce => "Reduce",
                Stage::Gang => "Gang",
            });
            lines.push_str(", task: TaskIx(");
            number(lines, task.0.into());
            lines.push_str("), slot: SlotIx(");
            number(lines, slot.0.into());
            lines.push_str(") }\n");
        } else {
            // Text takes whatever is written to it.
            writeln!(lines, " {decision:?}").ok();
        }
        if lines.len() >= PIECE {
            self.digest.update(&*lines);
            lines.clear();
        }
    }

    /// SHA-256 of all lines, in hexadecimal digits.
    pub(super) fn digest(mut self) -> String {
        self.digest.update(&self.lines);
        let digest = self.digest.finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Decimal digits.
fn number(into: &mut String, mut number: u64) {
    let mut digits = [0; 20];
    let mut from = digits.len();
    for digit in digits.iter_mut().rev() {
        *digit = b'0'.saturating_add(u8::try_from(number % 10).unwrap_or(0));
        from = from.saturating_sub(1);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    let digits = digits.get(from..).unwrap_or_default();
    into.extend(digits.iter().copied().map(char::from));
}

#[cfg(test)]
mod tests {
    use policy::schedule::{AttemptIx, JobIx, SlotIx, TaskIx};

    use super::*;

    #[test]
    fn a_line_is_a_decision_as_rust_shows_it() {
        let mut digest = DecisionDigest::default();
        let mut lines = String::new();
        for (index, number) in (0_u64..).zip([0, 1, 9, 10, 4_294_967_295].repeat(60)) {
            let (at, number) = (Nanos(index * 1_234_567_891), number);
            let start = |stage| Decision::Start {
                job: JobIx(number),
                stage,
                task: TaskIx(number / 3),
                slot: SlotIx(number / 7),
            };
            let decisions = [
                start(Stage::Map),
                start(Stage::Reduce),
                start(Stage::Gang),
                Decision::Move {
                    attempt: AttemptIx(number),
                    to: SlotIx(2),
                },
            ];
            for decision in decisions {
                digest.decided(at, &decision);
                lines.push_str(&format!("{} {decision:?}\n", at.0));
            }
        }
        assert!(lines.len() > 3 * PIECE);
        let whole = Sha256::digest(&lines);
        let digits: String = whole.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest.digest(), digits);
    }
}
