//! What a session and its jobs wait for, and what it refuses, in sentences.

use policy::schedule::Owner;
use policy::{MiB, ResourceTypes, Resources};

/// Why a job of a session waits that may not have slots yet: as many as may run do, `running` of them, all of its
/// `owner` where the policy shares out among such.
#[must_use]
pub fn waits_for_turn(running: u32, owner: Option<&Owner>) -> String {
    let of = match owner {
        None => String::new(),
        Some(Owner::Queue(queue)) => format!(" of queue {queue}"),
        Some(Owner::Tenant(user)) => format!(" of user {user}"),
    };
    format!("waits for another job{of} to end: {running} run, as --max-running says")
}

/// For whom the session's policy is, where tasks of a job need these `devices`; `None`: it has nothing to do with them.
#[must_use]
pub fn policy_for_devices(policy: &str, devices: &[String]) -> Option<String> {
    let name = policy.split([':', '+']).next().unwrap_or_default();
    let suits = match name {
        "fifo" | "fair" => {
            "that suits where all nodes have one, or few jobs need it; where only some nodes have one, hpe-conserve takes \
             less time"
        }
        "hpe-conserve" => {
            "that suits where some nodes have one, or plain jobs wait beside those that need it; where all nodes have one, \
             fifo does as well"
        }
        "hpe" | "hpe-literal" => {
            "that is its paper's, to compare with; where only some nodes have one, hpe-conserve takes less time, and where \
             all have one, fifo"
        }
        _ => return None,
    };
    let devices = devices.join(", ");
    Some(format!(
        "tasks of the job need {devices}, and the session's policy is {policy}: {suits}"
    ))
}

/// Why a session gets no container more: by what its scheduler says.
#[derive(Clone, Copy, Debug)]
pub struct QueueIsFull<'a> {
    /// Its name.
    pub queue: &'a str,
    /// The most that all of it may hold.
    pub maximum: Resources,
    /// What it still gives the session, the limit of its user included.
    pub left: Resources,
    /// What a container takes.
    pub container: Resources,
}

impl QueueIsFull<'_> {
    /// The same in words; `types` names the counts.
    #[must_use]
    pub fn sentence(&self, types: &ResourceTypes) -> String {
        let words = |amount: Resources| amount.words(types);
        format!(
            "queue {} and its limit for a user still give {}, and a container takes {}; all of the queue may hold {}",
            self.queue,
            words(self.left),
            words(self.container),
            words(self.maximum)
        )
    }
}

/// Why a session gets no container more for a while.
pub const OTHERS_FIRST: &str = "YARN's scheduler has wanted one back for another queue or application, which is to \
                                have it first";

/// Why a session ends that nobody uses.
pub const NO_JOB_CAME: &str = "no job has come for as long as --session-timeout says";

/// Why nobody else is shown `job`, which a command follows.
#[must_use]
pub fn followed(job: u32) -> String {
    format!(
        "job {job} is followed by the command that has started it, which has its output; only what was submitted with \
         --detach is kept for others"
    )
}

/// Why nothing is known of `job`; of those that were left to the session the last `kept` are known when they are over.
#[must_use]
pub fn not_kept(job: u32, kept: usize) -> String {
    format!(
        "there is no job {job} here: it is over, or never was; only what was submitted with --detach is kept beyond \
         its end, the last {kept} jobs of that kind"
    )
}

/// Why what a task of job `name` has printed cannot be read of its session any more.
#[must_use]
pub fn task_log_gone(name: &str) -> String {
    format!(
        "{name} is over: what attempts that failed have printed is kept with its history, of which gerbil mr history \
         {name} has all"
    )
}

/// Why a job that was left to its session takes no input of who attaches.
pub const INPUT_WAS_EMPTY: &str = "its standard input was empty from the beginning; --detach --input 0 \
                                   keeps it open for who attaches with --input";

/// Why a session can never hold a gang: as many slots of `unit` each as it has `processes` are wanted at once, and
/// of the `slots` that it may have at the most `fit` hold so much.
#[must_use]
pub fn too_many_processes(processes: u32, unit: MiB, slots: u32, fit: u32) -> String {
    format!(
        "{processes} processes of {unit} want as many slots at once, and of its {slots} slots {fit} can be such; start \
         a larger one (--containers, --max-containers, --slots-per-container, --memory)"
    )
}

#[cfg(test)]
mod tests {
    use super::policy_for_devices;

    #[test]
    fn a_job_that_needs_a_device_is_told_for_whom_the_policy_is() {
        let said = |policy: &str| policy_for_devices(policy, &["gpu".to_owned()]);
        for (policy, part) in [
            ("fifo", "is fifo: that suits where all nodes have one"),
            ("fair:by=user+priority", "hpe-conserve takes less time"),
            ("hpe-conserve:per=3", "that suits where some nodes have one"),
            (
                "hpe",
                "that is its paper's, to compare with; where only some nodes have one, hpe-conserve",
            ),
        ] {
            let said = said(policy).unwrap();
            assert!(
                said.starts_with("tasks of the job need gpu, and the session's policy is ")
                    && said.contains(part),
                "{said}"
            );
        }
        assert_eq!(said("dyscale"), None);
        assert_eq!(said("hetero:tenants=true"), None);
    }
}
