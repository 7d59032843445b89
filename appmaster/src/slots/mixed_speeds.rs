//! What an MPI job is told whose ranks are on fast and on slow cores.

use std::collections::BTreeMap;

use job::JobId;
use policy::lending::Lent;
use policy::schedule::Speed;

use super::Slots;

impl Slots {
    /// The sentence for a job with slots of more than one speed, unless it has asked for slots of any.
    pub(crate) fn mixed_speeds(&self, job: JobId, lent: &Lent) -> Option<String> {
        let has_asked = self.loans.get(&job)?.request.any_speed;
        (!has_asked && lent.speeds.len() > 1).then(|| sentence(&lent.speeds))
    }
}

fn sentence(speeds: &BTreeMap<Speed, u32>) -> String {
    let all: u32 = speeds.values().sum();
    let parts = speeds.iter().map(|(speed, ranks)| {
        let cores = match speed {
            Speed::Fast => "fast ones",
            Speed::Slow => "slow ones",
            Speed::Plain | Speed::Parked => "ones of no class",
        };
        format!("{ranks} on {cores}")
    });
    format!(
        "the session has {all} slots on no one speed of cores; it runs the ranks on several ({}), and all may wait for the \
         slowest (--any-speed asks for such slots)",
        parts.collect::<Vec<_>>().join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_user_is_told() {
        let said = |speeds: &[(Speed, u32)]| sentence(&speeds.iter().copied().collect());
        assert_eq!(
            said(&[(Speed::Fast, 2), (Speed::Slow, 4)]),
            "the session has 6 slots on no one speed of cores; it runs the ranks on several (2 on fast ones, 4 on slow ones), \
             and all may wait for the slowest (--any-speed asks for such slots)"
        );
        // A node whose cores are alike, beside one with both.
        let said = said(&[(Speed::Fast, 1), (Speed::Plain, 3)]);
        assert!(said.contains("1 on fast ones") && said.contains("3 on ones of no class"));
    }
}
