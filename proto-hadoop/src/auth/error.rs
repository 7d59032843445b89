//! What can go wrong between offer and success, and on a protected connection after.

use thiserror::Error;

/// Why a log-in by token, or a message on a protected connection, was not accepted by our side.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SaslError {
    /// The server takes no tokens.
    #[error("the server takes no tokens, it offers [{offered}]")]
    NoTokenLogin {
        /// Log-ins that it offers.
        offered: String,
    },
    /// A mechanism other than DIGEST-MD5.
    #[error(
        "the server wants the mechanism {mechanism} for tokens, DIGEST-MD5 is spoken here \
         (hadoop.security.sasl.mechanism on the server)"
    )]
    Mechanism {
        /// What the server named.
        mechanism: String,
    },
    /// The challenge does not parse or lacks what is needed.
    #[error("the server's challenge has {problem}")]
    Challenge {
        /// What is wrong.
        problem: &'static str,
    },
    /// No protection in common.
    #[error("the server offers the protections [{offered}], none of which is spoken here")]
    Protection {
        /// `qop` of the challenge.
        offered: String,
    },
    /// The exchange took another turn than it may.
    #[error("the server went to {found} where {wanted} had to come")]
    UnexpectedState {
        /// The state that had to come.
        wanted: &'static str,
        /// The state that came.
        found: &'static str,
    },
    /// The server could not prove that it knows the token's password.
    #[error("the server could not prove that it knows the token: it may not be the one it says")]
    ServerProof,
    /// A protected message that is too short, badly padded, of another version, or wrongly signed.
    #[error("a protected message has {problem}")]
    Sealed {
        /// What is wrong.
        problem: &'static str,
    },
    /// A protected message came out of its order.
    #[error("protected message number {found} came where number {wanted} had to come")]
    Sequence {
        /// The number that had to come.
        wanted: u32,
        /// The number that came.
        found: u32,
    },
    /// Log in anew: the numbers of protected messages are used up.
    #[error("the connection has sent all the protected messages it can number")]
    Exhausted,
}
