//! What stands inside the identifier bytes of the tokens that YARN makes.

use credentials::Token;
use prost::Message;

use crate::wire::{FromWire, Incomplete, required, yarn};
use crate::yarn::Resource;
use crate::{AppAttemptId, ContainerId, NodeId};

use super::MasterKey;

/// Identifier bytes that are not what they should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the identifier of the {kind} cannot be read: {problem}")]
pub struct IdentifierError {
    /// Kind of token.
    pub kind: &'static str,
    /// What is wrong.
    pub problem: String,
}

fn read<W: Message + Default, T: FromWire<W>>(
    kind: &'static str,
    bytes: &[u8],
) -> Result<T, IdentifierError> {
    let wire = W::decode(bytes).map_err(|error| error.to_string());
    wire.and_then(|wire| T::from_wire(wire).map_err(|error| error.to_string()))
        .map_err(|problem| IdentifierError { kind, problem })
}

fn token(kind: &str, identifier: Vec<u8>, service: String, key: &MasterKey) -> Token {
    Token {
        password: key.sign(&identifier),
        identifier,
        kind: kind.to_owned(),
        service,
    }
}

/// Lets an ApplicationMaster log in to the scheduler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AmRmIdentifier {
    /// The attempt whose ApplicationMaster logs in.
    pub attempt: AppAttemptId,
    /// Number of the master key that it is signed with.
    pub key: i32,
}

impl AmRmIdentifier {
    /// The kind that Hadoop gives tokens with this identifier.
    pub const KIND: &'static str = "YARN_AM_RM_TOKEN";

    /// Reads the bytes of a token.
    ///
    /// # Errors
    ///
    /// When they are no such identifier.
    pub fn read(bytes: &[u8]) -> Result<Self, IdentifierError> {
        read::<yarn::AmrmTokenIdentifierProto, _>(Self::KIND, bytes)
    }

    /// The token of an attempt. Its service stays empty, as the ResourceManager leaves it.
    #[must_use]
    pub fn token(attempt: AppAttemptId, key: &MasterKey) -> Token {
        let wire = yarn::AmrmTokenIdentifierProto {
            app_attempt_id: Some(attempt.into()),
            key_id: Some(key.id),
        };
        token(Self::KIND, wire.encode_to_vec(), String::new(), key)
    }
}

impl FromWire<yarn::AmrmTokenIdentifierProto> for AmRmIdentifier {
    fn from_wire(wire: yarn::AmrmTokenIdentifierProto) -> Result<Self, Incomplete> {
        let key = wire.key_id();
        Ok(Self {
            attempt: required(wire.app_attempt_id, "attempt")?,
            key,
        })
    }
}

/// Lets an ApplicationMaster log in to a NodeManager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NmIdentifier {
    /// The attempt whose ApplicationMaster logs in.
    pub attempt: AppAttemptId,
    /// To which node.
    pub node: NodeId,
    /// Owner of the application.
    pub submitter: String,
    /// Number of the master key that it is signed with.
    pub key: i32,
}

impl NmIdentifier {
    /// The kind that Hadoop gives tokens with this identifier.
    pub const KIND: &'static str = "NMToken";

    /// Reads the bytes of a token.
    ///
    /// # Errors
    ///
    /// When they are no such identifier.
    pub fn read(bytes: &[u8]) -> Result<Self, IdentifierError> {
        read::<yarn::NmTokenIdentifierProto, _>(Self::KIND, bytes)
    }

    /// The token of an attempt for a node.
    #[must_use]
    pub fn token(attempt: AppAttemptId, node: &NodeId, submitter: &str, key: &MasterKey) -> Token {
        let wire = yarn::NmTokenIdentifierProto {
            app_attempt_id: Some(attempt.into()),
            node_id: Some(node.into()),
            app_submitter: Some(submitter.to_owned()),
            key_id: Some(key.id),
        };
        token(Self::KIND, wire.encode_to_vec(), node.to_string(), key)
    }
}

impl FromWire<yarn::NmTokenIdentifierProto> for NmIdentifier {
    fn from_wire(wire: yarn::NmTokenIdentifierProto) -> Result<Self, Incomplete> {
        let key = wire.key_id();
        Ok(Self {
            attempt: required(wire.app_attempt_id, "attempt")?,
            node: required(wire.node_id, "node")?,
            submitter: wire.app_submitter.unwrap_or_default(),
            key,
        })
    }
}

/// Proves to a NodeManager that the scheduler has granted a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerIdentifier {
    /// The container.
    pub container: ContainerId,
    /// `host:port` of the node it was granted on.
    pub node: String,
    /// Owner of the application.
    pub submitter: String,
    /// Its size.
    pub resource: Resource,
    /// After this it starts nothing any more; milliseconds since 1970.
    pub expires_ms: i64,
    /// Number of the master key that it is signed with.
    pub key: i32,
    /// Which ResourceManager granted it: when that one started.
    pub resource_manager: i64,
    /// Priority of the request it answers.
    pub priority: i32,
    /// When it was granted, milliseconds since 1970.
    pub created_ms: i64,
    /// Holds an ApplicationMaster.
    pub is_master: bool,
    /// Which request it answers.
    pub allocation_request_id: i64,
}

impl ContainerIdentifier {
    /// The kind that Hadoop gives tokens with this identifier.
    pub const KIND: &'static str = "ContainerToken";

    /// Reads the bytes of a token.
    ///
    /// # Errors
    ///
    /// When they are no such identifier.
    pub fn read(bytes: &[u8]) -> Result<Self, IdentifierError> {
        read::<yarn::ContainerTokenIdentifierProto, _>(Self::KIND, bytes)
    }

    /// The token, signed with `key`, whose number replaces [`key`](Self::key).
    #[must_use]
    pub fn token(&self, key: &MasterKey) -> Token {
        let kind = match self.is_master {
            true => yarn::ContainerTypeProto::ApplicationMaster,
            false => yarn::ContainerTypeProto::Task,
        };
        let wire = yarn::ContainerTokenIdentifierProto {
            container_id: Some(self.container.into()),
            nm_host_addr: Some(self.node.clone()),
            app_submitter: Some(self.submitter.clone()),
            resource: Some((&self.resource).into()),
            expiry_time_stamp: Some(self.expires_ms),
            master_key_id: Some(key.id),
            rm_identifier: Some(self.resource_manager),
            priority: Some(yarn::PriorityProto {
                priority: Some(self.priority),
            }),
            creation_time: Some(self.created_ms),
            node_label_expression: None,
            container_type: Some(kind.into()),
            execution_type: None,
            version: Some(0),
            allocation_request_id: Some(self.allocation_request_id),
        };
        token(Self::KIND, wire.encode_to_vec(), self.node.clone(), key)
    }
}

impl FromWire<yarn::ContainerTokenIdentifierProto> for ContainerIdentifier {
    fn from_wire(wire: yarn::ContainerTokenIdentifierProto) -> Result<Self, Incomplete> {
        let (key, allocation_request_id) = (wire.master_key_id(), wire.allocation_request_id());
        let is_master =
            wire.container_type == Some(yarn::ContainerTypeProto::ApplicationMaster.into());
        Ok(Self {
            container: required(wire.container_id, "container id")?,
            node: wire.nm_host_addr.unwrap_or_default(),
            submitter: wire.app_submitter.unwrap_or_default(),
            resource: Resource::optional(wire.resource),
            expires_ms: wire.expiry_time_stamp.unwrap_or(0),
            key,
            resource_manager: wire.rm_identifier.unwrap_or(0),
            priority: wire.priority.and_then(|p| p.priority).unwrap_or(0),
            created_ms: wire.creation_time.unwrap_or(0),
            is_master,
            allocation_request_id,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ApplicationId;

    fn attempt() -> AppAttemptId {
        AppAttemptId {
            application: ApplicationId {
                cluster_timestamp: 1_700_000_000_000,
                id: 7,
            },
            attempt: 1,
        }
    }

    #[test]
    fn the_amrm_identifier_has_the_bytes_of_stock_hadoop() {
        let key = MasterKey::new(42, b"0123456789abcdef0123".to_vec());
        let token = AmRmIdentifier::token(attempt(), &key);
        assert_eq!(
            token.identifier,
            b"\x0a\x0d\x0a\x09\x08\x07\x10\x80\xd0\x95\xff\xbc\x31\x10\x01\x10\x2a"
        );
        assert_eq!(
            AmRmIdentifier::read(&token.identifier).unwrap().attempt,
            attempt()
        );
    }

    #[test]
    fn identifiers_round_trip_and_nonsense_is_named() {
        let key = MasterKey::generate(3);
        let identifier = ContainerIdentifier {
            container: ContainerId {
                attempt: attempt(),
                id: 2,
            },
            node: "127.0.0.1:4000".into(),
            submitter: "alice".into(),
            resource: Resource::new(1024, 2),
            expires_ms: 5,
            key: 3,
            resource_manager: 9,
            priority: 1,
            created_ms: 4,
            is_master: false,
            allocation_request_id: 6,
        };
        let token = identifier.token(&key);
        assert_eq!(
            ContainerIdentifier::read(&token.identifier).unwrap(),
            identifier
        );
        assert!(key.verifies(&token.identifier, &token.password));
        let node = NodeId {
            host: "127.0.0.1".into(),
            port: 4000,
        };
        let token = NmIdentifier::token(attempt(), &node, "alice", &key);
        assert_eq!(NmIdentifier::read(&token.identifier).unwrap().node, node);
        let error = NmIdentifier::read(b"\xff").unwrap_err().to_string();
        assert!(error.contains("NMToken"), "{error}");
    }
}
