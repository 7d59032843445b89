//! What a job is told whose queue has no slots of its own speed.

use policy::schedule::{Speed, Stage};

use super::Slots;

impl Slots {
    /// The speed of the slots that jobs of this queue have before others; `None`: the policy does not tell slots apart.
    pub(crate) fn own_speed(&self, queue: &str) -> Option<Speed> {
        self.lending.own_speed(queue)
    }

    /// What a job of this queue, with so many maps and reduces, is told where all slots that it may have are spare.
    pub(crate) fn spare_alone(&self, queue: &str, maps: u32, reduces: u32) -> Option<String> {
        let (own, stages) = self.lending.spare_alone(queue, maps, reduces)?;
        Some(sentence(own, &stages))
    }
}

fn sentence(own: Speed, stages: &[Stage]) -> String {
    let (own, other) = match own {
        Speed::Slow => ("slow", "fast"),
        Speed::Fast | Speed::Plain | Speed::Parked => ("fast", "slow"),
    };
    let tasks = match stages {
        [Stage::Reduce] => "reduces",
        [Stage::Map] => "maps",
        _ => "tasks",
    };
    format!(
        "no slot for the job's {tasks} is on a {own} core: they have slots on {other} ones while these are spare"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_user_is_told() {
        assert_eq!(
            sentence(Speed::Fast, &[Stage::Reduce]),
            "no slot for the job's reduces is on a fast core: they have slots on slow ones while these are spare"
        );
        assert_eq!(
            sentence(Speed::Slow, &[Stage::Map, Stage::Reduce]),
            "no slot for the job's tasks is on a slow core: they have slots on fast ones while these are spare"
        );
    }
}
