//! How a server says no.

use crate::wire::Incomplete;
use crate::wire::common::rpc_response_header_proto::RpcErrorCodeProto;

/// A Java exception in place of an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{class}: {message}")]
pub struct Refusal {
    /// Its class, in full.
    pub class: String,
    /// Its words.
    pub message: String,
}

impl Refusal {
    /// Of any class.
    #[must_use]
    pub fn new(class: &str, message: impl Into<String>) -> Self {
        Self {
            class: class.to_owned(),
            message: message.into(),
        }
    }

    /// Of a class in `org.apache.hadoop.yarn.exceptions`.
    #[must_use]
    pub fn yarn(class: &str, message: impl Into<String>) -> Self {
        Self::new(
            &format!("org.apache.hadoop.yarn.exceptions.{class}"),
            message,
        )
    }

    /// A token that is not, or no more, valid.
    #[must_use]
    pub fn invalid_token(message: impl Into<String>) -> Self {
        Self::new(
            "org.apache.hadoop.security.token.SecretManager$InvalidToken",
            message,
        )
    }

    pub(crate) fn no_such_method(method: &str, protocol: &str) -> Self {
        Self::new(
            "org.apache.hadoop.ipc.RpcNoSuchMethodException",
            format!("Unknown method {method} called on {protocol} protocol."),
        )
    }

    pub(crate) fn undecodable(error: &prost::DecodeError) -> Self {
        Self::new(
            "org.apache.hadoop.thirdparty.protobuf.InvalidProtocolBufferException",
            error.to_string(),
        )
    }

    /// The number that stands beside the class.
    pub(crate) fn detail(&self) -> RpcErrorCodeProto {
        match self.class.rsplit('.').next() {
            Some("RpcNoSuchMethodException") => RpcErrorCodeProto::ErrorNoSuchMethod,
            Some("RpcNoSuchProtocolException") => RpcErrorCodeProto::ErrorNoSuchProtocol,
            _ => RpcErrorCodeProto::ErrorApplication,
        }
    }
}

impl From<Incomplete> for Refusal {
    fn from(error: Incomplete) -> Self {
        Self::new(
            "java.lang.IllegalArgumentException",
            format!("the request has no usable {}", error.what),
        )
    }
}
