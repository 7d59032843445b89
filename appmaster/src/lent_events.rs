//! What a job in lent containers hears of one of them: the whole of it, by whatever kind of job.
//!
//! ```text
//! YARN, launcher ─▶ holding::ContainerEvent, wire ─▶ LentEvent ─┬▶ a job of tasks, as it is
//!                                                               └▶ a job of ranks, as of a container of its own
//! ```
//!
//! A job that knows no answer to one of these does not compile.

use holding::ContainerEvent;
use job::exit::Exit;
use job::wire;
use policy::ContainerId;
use policy::lifecycle::LifecycleEvent;

use crate::mpi::MpiJobEvent;

/// Something that a job hears of a container that it is in.
#[derive(Clone, Debug)]
pub(crate) enum LentEvent {
    /// The launcher has brought the job's files.
    Joined {
        /// Its container.
        container: ContainerId,
        /// What it has found on its node.
        node: wire::NodeFacts,
    },
    /// The launcher could not bring them, and stays.
    NotFetched {
        /// Its container.
        container: ContainerId,
        /// Where, and why.
        sentence: String,
    },
    /// Nothing of the job is left there.
    Left(ContainerId),
    /// The launcher has left, or is not heard of any more.
    LauncherLost(ContainerId),
    /// YARN says that the container is over.
    Ended {
        /// The container; nothing of it runs any more.
        container: ContainerId,
        /// YARN's exit status: negative ones are YARN's own.
        status: i32,
        /// YARN's diagnostics, of any number of lines; may be empty.
        diagnostics: String,
    },
    /// Its NodeManager did not start it.
    NotStarted(ContainerId),
    /// Its launcher broke the rules of our own protocol.
    Misbehaved {
        /// The container.
        container: ContainerId,
        /// What the launcher did, a sentence's predicate.
        what: String,
    },
}

impl LentEvent {
    /// What the jobs in a container hear of this; `None`: it is none of theirs.
    pub(crate) fn of(heard: &ContainerEvent) -> Option<Self> {
        match heard {
            ContainerEvent::Lost(container) => Some(Self::LauncherLost(container.clone())),
            ContainerEvent::Ended {
                container,
                status,
                diagnostics,
            } => Some(Self::Ended {
                container: container.clone(),
                status: *status,
                diagnostics: diagnostics.clone(),
            }),
            ContainerEvent::StartFailed { container, why } => {
                tracing::warn!("{container} could not be started: {why}");
                Some(Self::NotStarted(container.clone()))
            }
            ContainerEvent::Misbehaved { container, what } => {
                tracing::warn!("the launcher in {container} {what}");
                Some(Self::Misbehaved {
                    container: container.clone(),
                    what: what.clone(),
                })
            }
            ContainerEvent::Granted(_)
            | ContainerEvent::Localizing(_)
            | ContainerEvent::Joined { .. }
            | ContainerEvent::Said { .. }
            | ContainerEvent::Cut
            | ContainerEvent::Headroom(_)
            | ContainerEvent::Freed
            | ContainerEvent::WantedBack(_)
            | ContainerEvent::NodeLeaves { .. }
            | ContainerEvent::Asked { .. }
            | ContainerEvent::Refused { .. }
            | ContainerEvent::Nodes(_)
            | ContainerEvent::ResourceManagerRestarted { .. }
            | ContainerEvent::ResourceManagerLost { .. }
            | ContainerEvent::Killed
            | ContainerEvent::Finished(_) => None,
        }
    }

    /// What the job hears whose files were to be brought to this node.
    pub(crate) fn of_files(
        container: ContainerId,
        node: wire::NodeFacts,
        fetched: &wire::FilesFetched,
    ) -> Self {
        let host = &node.hostname;
        match fetched.trouble.as_str() {
            "" => Self::Joined { container, node },
            trouble => {
                // A launcher begins with the host's name as well.
                let own = trouble.strip_prefix(host.as_str());
                let why = own.and_then(|own| own.strip_prefix(": "));
                let why = why.unwrap_or(trouble);
                Self::NotFetched {
                    sentence: format!("the job's files could not be brought to {host}: {why}"),
                    container,
                }
            }
        }
    }

    /// Which container it is.
    pub(crate) const fn container(&self) -> &ContainerId {
        match self {
            Self::Joined { container, .. }
            | Self::NotFetched { container, .. }
            | Self::Left(container)
            | Self::LauncherLost(container)
            | Self::Ended { container, .. }
            | Self::NotStarted(container)
            | Self::Misbehaved { container, .. } => container,
        }
    }

    /// The same of a container of the job's own.
    pub(crate) fn of_own(self) -> MpiJobEvent {
        match self {
            Self::Joined { container, node } => MpiJobEvent::Joined { container, node },
            // The same would happen again.
            Self::NotFetched {
                container,
                sentence,
            } => MpiJobEvent::Machine(LifecycleEvent::Refused {
                container,
                sentence,
                code: Exit::Staging.code(),
            }),
            Self::Left(container) | Self::LauncherLost(container) => MpiJobEvent::Lost(container),
            Self::Ended {
                container,
                status,
                diagnostics,
            } => MpiJobEvent::Machine(LifecycleEvent::ContainerEnded {
                container,
                status,
                diagnostics,
            }),
            Self::NotStarted(container) => {
                MpiJobEvent::Machine(LifecycleEvent::LinkLost(container))
            }
            Self::Misbehaved { container, what } => {
                MpiJobEvent::Machine(LifecycleEvent::Misbehaved { container, what })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_were_not_brought_end_ranks_and_say_where_and_why() {
        let container = ContainerId("c1".into());
        let node = wire::NodeFacts {
            hostname: "n1".into(),
            ..wire::NodeFacts::default()
        };
        let mut fetched = wire::FilesFetched {
            job: 7,
            bytes: 9,
            trouble: String::new(),
        };
        let heard = LentEvent::of_files(container.clone(), node.clone(), &fetched);
        assert!(matches!(heard.of_own(), MpiJobEvent::Joined { .. }));
        fetched.trouble = "n1: disk full".into();
        let heard = LentEvent::of_files(container.clone(), node, &fetched);
        assert_eq!(heard.container(), &container);
        let MpiJobEvent::Machine(LifecycleEvent::Refused { sentence, code, .. }) = heard.of_own()
        else {
            panic!("something else was heard");
        };
        assert_eq!(
            (sentence.as_str(), code),
            ("the job's files could not be brought to n1: disk full", 74)
        );
    }
}
