//! YARN's ids, in the string forms that its logs, pages and environment variables use.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::wire::{FromWire, Incomplete, required, yarn};

/// Bits of a container's number that are printed as its sequence; the bits above are the epoch.
const CONTAINER_SEQUENCE_BITS: u32 = 40;

/// Ports in the name of a node: those of TCP, and YARN's mark of a host that never registered
/// (`NodesListManager.createUnknownNodeId`).
const PORTS: std::ops::RangeInclusive<i32> = -1..=65535;

/// An application: `application_<cluster timestamp>_<number, at least 4 digits>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApplicationId {
    /// When the ResourceManager that gave the id started, in milliseconds since 1970.
    pub cluster_timestamp: i64,
    /// Counts from 1 in that ResourceManager.
    pub id: i32,
}

/// One try to run an application: `appattempt_<timestamp>_<application, 4>_<attempt, 6>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppAttemptId {
    /// The application.
    pub application: ApplicationId,
    /// Counts from 1.
    pub attempt: i32,
}

/// A container: `container_[e<epoch, 2>_]<timestamp>_<application, 4>_<attempt, 2>_<sequence, 6>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContainerId {
    /// The attempt it was granted to.
    pub attempt: AppAttemptId,
    /// Epoch (restarts of the ResourceManager) in the bits from 40 up, sequence number below.
    pub id: i64,
}

/// A NodeManager: `host:port` of its container service.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId {
    /// The name under which the node registered; the name to ask the scheduler for.
    pub host: String,
    /// TCP port of ContainerManagementProtocol; -1 of a host that YARN knows from its exclude file
    /// alone.
    pub port: i32,
}

/// A text that is not an id of the wanted sort.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("\"{text}\" is not {wanted}")]
pub struct IdError {
    /// The text that was read, whole.
    pub text: String,
    /// The wanted form.
    pub wanted: &'static str,
}

impl fmt::Display for ApplicationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "application_{}_{:04}", self.cluster_timestamp, self.id)
    }
}

impl fmt::Display for AppAttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ApplicationId {
            cluster_timestamp,
            id,
        } = self.application;
        write!(
            f,
            "appattempt_{cluster_timestamp}_{id:04}_{:06}",
            self.attempt
        )
    }
}

impl fmt::Display for ContainerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ApplicationId {
            cluster_timestamp,
            id,
        } = self.attempt.application;
        let epoch = self.id >> CONTAINER_SEQUENCE_BITS;
        let sequence = self.id & ((1 << CONTAINER_SEQUENCE_BITS) - 1);
        f.write_str("container_")?;
        if epoch > 0 {
            write!(f, "e{epoch:02}_")?;
        }
        write!(
            f,
            "{cluster_timestamp}_{id:04}_{:02}_{sequence:06}",
            self.attempt.attempt
        )
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Splits `prefix_a_b_c` into numbers; `None` when a part is missing, extra, or not digits.
fn numbers<const N: usize>(text: &str, prefix: &str) -> Option<[i64; N]> {
    let mut parts = text.strip_prefix(prefix)?.split('_');
    let mut found = [0; N];
    for slot in &mut found {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *slot = part.parse().ok()?;
    }
    parts.next().is_none().then_some(found)
}

impl FromStr for ApplicationId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let parse = || {
            let [cluster_timestamp, id] = numbers(text, "application_")?;
            Some(Self {
                cluster_timestamp,
                id: id.try_into().ok()?,
            })
        };
        parse().ok_or_else(|| IdError {
            text: text.to_owned(),
            wanted: "an application id such as application_1700000000000_0007",
        })
    }
}

impl FromStr for AppAttemptId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let parse = || {
            let [cluster_timestamp, id, attempt] = numbers(text, "appattempt_")?;
            let application = ApplicationId {
                cluster_timestamp,
                id: id.try_into().ok()?,
            };
            Some(Self {
                application,
                attempt: attempt.try_into().ok()?,
            })
        };
        parse().ok_or_else(|| IdError {
            text: text.to_owned(),
            wanted: "an attempt id such as appattempt_1700000000000_0007_000001",
        })
    }
}

impl FromStr for ContainerId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let parse = || {
            let [epoch, cluster_timestamp, id, attempt, sequence] =
                match numbers(text, "container_e") {
                    Some(found) => found,
                    None => {
                        let [timestamp, id, attempt, sequence] = numbers(text, "container_")?;
                        [0, timestamp, id, attempt, sequence]
                    }
                };
            if sequence >> CONTAINER_SEQUENCE_BITS != 0 || epoch >> 23 != 0 {
                return None;
            }
            let application = ApplicationId {
                cluster_timestamp,
                id: id.try_into().ok()?,
            };
            let attempt = AppAttemptId {
                application,
                attempt: attempt.try_into().ok()?,
            };
            Some(Self {
                attempt,
                id: epoch << CONTAINER_SEQUENCE_BITS | sequence,
            })
        };
        parse().ok_or_else(|| IdError {
            text: text.to_owned(),
            wanted: "a container id such as container_1700000000000_0007_01_000002",
        })
    }
}

impl FromStr for NodeId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        text.rsplit_once(':')
            .filter(|(host, _)| !host.is_empty())
            .and_then(|(host, port)| {
                Some(Self {
                    host: host.to_owned(),
                    port: port.parse().ok().filter(|port| PORTS.contains(port))?,
                })
            })
            .ok_or_else(|| IdError {
                text: text.to_owned(),
                wanted: "a node id such as host:45454",
            })
    }
}

impl FromWire<yarn::ApplicationIdProto> for ApplicationId {
    fn from_wire(wire: yarn::ApplicationIdProto) -> Result<Self, Incomplete> {
        match (wire.cluster_timestamp, wire.id) {
            (Some(cluster_timestamp), Some(id)) => Ok(Self {
                cluster_timestamp,
                id,
            }),
            _ => Err(Incomplete {
                what: "application id",
            }),
        }
    }
}

impl FromWire<yarn::ApplicationAttemptIdProto> for AppAttemptId {
    fn from_wire(wire: yarn::ApplicationAttemptIdProto) -> Result<Self, Incomplete> {
        Ok(Self {
            application: required(wire.application_id, "application id")?,
            attempt: wire.attempt_id.ok_or(Incomplete {
                what: "attempt number",
            })?,
        })
    }
}

impl FromWire<yarn::ContainerIdProto> for ContainerId {
    fn from_wire(wire: yarn::ContainerIdProto) -> Result<Self, Incomplete> {
        Ok(Self {
            attempt: required(wire.app_attempt_id, "attempt id of a container")?,
            id: wire.id.ok_or(Incomplete {
                what: "container number",
            })?,
        })
    }
}

impl FromWire<yarn::NodeIdProto> for NodeId {
    fn from_wire(wire: yarn::NodeIdProto) -> Result<Self, Incomplete> {
        match (wire.host, wire.port) {
            (Some(host), Some(port)) => Ok(Self { host, port }),
            _ => Err(Incomplete { what: "node id" }),
        }
    }
}

impl From<ApplicationId> for yarn::ApplicationIdProto {
    fn from(id: ApplicationId) -> Self {
        Self {
            id: Some(id.id),
            cluster_timestamp: Some(id.cluster_timestamp),
        }
    }
}

impl From<AppAttemptId> for yarn::ApplicationAttemptIdProto {
    fn from(id: AppAttemptId) -> Self {
        Self {
            application_id: Some(id.application.into()),
            attempt_id: Some(id.attempt),
        }
    }
}

impl From<&NodeId> for yarn::NodeIdProto {
    fn from(id: &NodeId) -> Self {
        Self {
            host: Some(id.host.clone()),
            port: Some(id.port),
        }
    }
}

impl From<ContainerId> for yarn::ContainerIdProto {
    fn from(id: ContainerId) -> Self {
        // The application stands in the attempt; the older field beside it stays empty, as stock
        // clients leave it.
        Self {
            app_id: None,
            app_attempt_id: Some(id.attempt.into()),
            id: Some(id.id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn yarn_string_forms() {
        let application = ApplicationId {
            cluster_timestamp: 1_700_000_000_000,
            id: 7,
        };
        let attempt = AppAttemptId {
            application,
            attempt: 1,
        };
        let forms = [
            (application.to_string(), "application_1700000000000_0007"),
            (attempt.to_string(), "appattempt_1700000000000_0007_000001"),
            (
                ContainerId { attempt, id: 2 }.to_string(),
                "container_1700000000000_0007_01_000002",
            ),
            (
                ContainerId {
                    attempt,
                    id: 17 << 40 | 2,
                }
                .to_string(),
                "container_e17_1700000000000_0007_01_000002",
            ),
            (
                ApplicationId {
                    id: 12345,
                    ..application
                }
                .to_string(),
                "application_1700000000000_12345",
            ),
        ];
        for (text, expected) in forms {
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn other_texts_are_refused_by_value() {
        for text in [
            "",
            "application_1",
            "application_1_2_3",
            "application_+1_2",
            "job_1_2",
        ] {
            let error = text.parse::<ApplicationId>().unwrap_err();
            assert!(
                error.to_string().contains(&format!("\"{text}\"")),
                "{error}"
            );
        }
        assert!("container_e_1_2_3_4".parse::<ContainerId>().is_err());
        assert!("h:70000".parse::<NodeId>().is_err());
        assert!("h:-2".parse::<NodeId>().is_err());
        assert!(":1".parse::<NodeId>().is_err());
    }

    #[test]
    fn a_host_that_never_registered_has_a_name_too() {
        let listed = yarn::NodeIdProto {
            host: Some("spare".into()),
            port: Some(-1),
        };
        let node = NodeId::from_wire(listed).unwrap();
        assert_eq!(node.to_string(), "spare:-1");
        assert_eq!("spare:-1".parse(), Ok(node));
    }

    proptest! {
        #[test]
        fn round_trips(ts in 0i64.., id in 0i32.., attempt in 0i32.., number in 0i64.., port: u16) {
            let application = ApplicationId { cluster_timestamp: ts, id };
            prop_assert_eq!(application.to_string().parse(), Ok(application));
            let attempt = AppAttemptId { application, attempt };
            prop_assert_eq!(attempt.to_string().parse(), Ok(attempt));
            let container = ContainerId { attempt, id: number };
            prop_assert_eq!(container.to_string().parse(), Ok(container));
            let node = NodeId { host: "::1".into(), port: port.into() };
            prop_assert_eq!(node.to_string().parse(), Ok(node));
            prop_assert_eq!(
                ContainerId::from_wire(container.into()), Ok(container));
        }

        #[test]
        fn random_texts_never_panic(text in ".{0,60}") {
            let _outcome = (text.parse::<ContainerId>(), text.parse::<NodeId>());
        }
    }
}
