//! What a job of a session waits for.

use job::explain::WaitsForSlots;

use super::stamp;

pub(super) fn words(waits: &WaitsForSlots) -> Vec<String> {
    let mut line = format!("{}{}", stamp(waits.at_ms), waits.reason);
    if !waits.asking.is_empty() {
        line.push_str("; no container more: ");
        line.push_str(&waits.asking);
    }
    vec![line]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_one_line() {
        let waits = WaitsForSlots {
            at_ms: 1_004,
            reason: "waits for 4 slots of 2048 MiB: 3 free, job 5 holds 2".into(),
            ..WaitsForSlots::default()
        };
        let line = "1.004 s: waits for 4 slots of 2048 MiB: 3 free, job 5 holds 2";
        assert_eq!(words(&waits), [line]);
        let asking = "the queue is full".to_owned();
        let line = format!("{line}; no container more: the queue is full");
        assert_eq!(words(&WaitsForSlots { asking, ..waits }), [line]);
    }
}
