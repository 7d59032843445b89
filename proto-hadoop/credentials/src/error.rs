//! What can be wrong with a credentials file.

use thiserror::Error;

/// Why bytes are not a readable credentials file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CredentialsError {
    /// The file does not begin with "HDTS".
    #[error(
        "these {length} bytes are not a Hadoop credentials file: they do not begin with \"HDTS\""
    )]
    NotCredentials {
        /// Length of the input in bytes.
        length: usize,
    },
    /// A version that is neither 0 nor 1.
    #[error("credentials file of version {version}; versions 0 and 1 are known")]
    UnknownVersion {
        /// The version byte.
        version: u8,
    },
    /// The input ends inside a field, or a length is larger than the input.
    #[error("credentials file ends early: {what} needs {wanted} bytes, {left} are left")]
    Truncated {
        /// The field.
        what: &'static str,
        /// Bytes the field needs.
        wanted: u64,
        /// Bytes that are left of the input.
        left: usize,
    },
    /// A count or length below zero.
    #[error("credentials file gives {value} as {what}")]
    Negative {
        /// The field.
        what: &'static str,
        /// The value found.
        value: i64,
    },
    /// A text that is not UTF-8.
    #[error("credentials file: {what} is not UTF-8")]
    NotUtf8 {
        /// The field.
        what: &'static str,
        /// Where the text breaks off.
        #[source]
        source: std::str::Utf8Error,
    },
    /// Bytes after the last secret.
    #[error("credentials file goes on for {extra} bytes after its end")]
    TrailingBytes {
        /// Bytes behind the end.
        extra: usize,
    },
    /// The protobuf message of version 1 does not decode.
    #[error("credentials file of version 1 does not decode")]
    Message {
        /// What the decoder met.
        #[source]
        source: prost::DecodeError,
    },
}
