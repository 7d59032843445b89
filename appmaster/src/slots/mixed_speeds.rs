//! What an MPI job is told whose ranks are on fast and on slow cores.

use job::JobId;
use policy::lending::Lent;
use policy::schedule::Speed;

use super::Slots;

impl Slots {
    /// The sentence for a job with slots of more than one speed, unless it has asked for slots of any.
    pub(crate) fn mixed_speeds(&self, job: JobId, lent: &Lent) -> Option<String> {
        let has_asked = self.loans.get(&job)?.request.any_speed;
        let of = |speed| lent.speeds.get(&speed).copied().unwrap_or(0);
        let all: u32 = lent.speeds.values().sum();
        (!has_asked && lent.speeds.len() > 1)
            .then(|| sentence(all, of(Speed::Fast), of(Speed::Slow)))
    }
}

fn sentence(all: u32, fast: u32, slow: u32) -> String {
    format!(
        "the session has {all} slots on no one speed of cores: {fast} of the ranks are on fast cores and {slow} on slow \
         ones, and all may wait for the slowest (--any-speed asks for such slots)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_user_is_told() {
        assert_eq!(
            sentence(6, 2, 4),
            "the session has 6 slots on no one speed of cores: 2 of the ranks are on fast cores and 4 on slow ones, and all \
             may wait for the slowest (--any-speed asks for such slots)"
        );
    }
}
