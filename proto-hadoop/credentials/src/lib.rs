//! Hadoop's token and secret files ("HDTS"): a pure codec.
//!
//! A container finds such a file at the path in `HADOOP_TOKEN_FILE_LOCATION`; the same bytes travel
//! in the `tokens` field of a container launch context. Both versions are read; version 0 is
//! written, because Hadoop 2.10 knows no other.
//!
//! ```
//! use credentials::Credentials;
//!
//! let mut credentials = Credentials::default();
//! credentials.secrets.insert("example.key".into(), vec![1, 2, 3]);
//! let bytes = credentials.write();
//! assert_eq!(Credentials::read(&bytes)?.secret("example.key"), Some(&[1, 2, 3][..]));
//! # Ok::<(), credentials::CredentialsError>(())
//! ```
//!
//! Invariants:
//! - a length read from the input is compared with what is left of the input before anything is
//!   allocated for it;
//! - passwords and secrets are never printed by `Debug`;
//! - token identifiers are opaque: the server's signature covers them byte by byte.

mod error;
mod token;
mod varint;
mod version0;
mod version1;

use std::collections::BTreeMap;
use std::fmt;

pub use error::CredentialsError;
pub use token::Token;

/// The four bytes that open every credentials file, before the version byte.
const MAGIC: &[u8; 4] = b"HDTS";

/// Tokens and secrets, each under an alias that is unique in its kind.
///
/// Follows `org.apache.hadoop.security.Credentials`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// Tokens by alias. Aliases carry no meaning for tokens: choose by [`Token::kind`].
    pub tokens: BTreeMap<String, Token>,
    /// Secret bytes by alias.
    pub secrets: BTreeMap<String, Vec<u8>>,
}

impl Credentials {
    /// Reads a credentials file of version 0 or 1.
    ///
    /// # Errors
    ///
    /// When the bytes are not such a file, or end early, or go on after the end.
    pub fn read(bytes: &[u8]) -> Result<Self, CredentialsError> {
        let (magic, rest) =
            bytes
                .split_first_chunk::<4>()
                .ok_or(CredentialsError::NotCredentials {
                    length: bytes.len(),
                })?;
        if magic != MAGIC {
            return Err(CredentialsError::NotCredentials {
                length: bytes.len(),
            });
        }
        match rest.split_first() {
            Some((0, body)) => version0::read(body),
            Some((1, body)) => version1::read(body),
            Some((&version, _)) => Err(CredentialsError::UnknownVersion { version }),
            None => Err(CredentialsError::Truncated {
                what: "version",
                wanted: 1,
                left: 0,
            }),
        }
    }

    /// Writes version 0, which every Hadoop from 2.10 on reads.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        version0::write(self)
    }

    /// The first token, in the order of aliases, of a kind such as `YARN_AM_RM_TOKEN`.
    #[must_use]
    pub fn token_of_kind(&self, kind: &str) -> Option<&Token> {
        self.tokens.values().find(|token| token.kind == kind)
    }

    /// The secret stored under `alias`.
    #[must_use]
    pub fn secret(&self, alias: &str) -> Option<&[u8]> {
        self.secrets.get(alias).map(Vec::as_slice)
    }

    /// A copy without the tokens of `kind`. An ApplicationMaster passes its credentials on to its
    /// workers without its own `YARN_AM_RM_TOKEN`.
    #[must_use]
    pub fn without_kind(&self, kind: &str) -> Self {
        let mut copy = self.clone();
        copy.tokens.retain(|_, token| token.kind != kind);
        copy
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Aliases<'a>(&'a BTreeMap<String, Vec<u8>>);
        impl fmt::Debug for Aliases<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_set().entries(self.0.keys()).finish()
            }
        }
        f.debug_struct("Credentials")
            .field("tokens", &self.tokens)
            .field("secrets", &Aliases(&self.secrets))
            .finish()
    }
}

#[cfg(test)]
mod tests;
