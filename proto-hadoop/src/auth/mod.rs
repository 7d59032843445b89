//! Log-in by token: SASL DIGEST-MD5 (RFC 2831) as Hadoop uses it.
//!
//! User name and password are the token's identifier and password in base64, the realm is
//! "default". After the log-in the frames go plain (`auth`), signed (`auth-int`) or signed and
//! encrypted (`auth-conf`), as the server's `hadoop.rpc.protection` says.

mod challenge;
mod digest;
mod error;
mod seal;

pub(crate) use challenge::{Challenge, Qop, pairs};
pub(crate) use digest::Exchange;
pub use error::SaslError;
pub(crate) use seal::{Opener, Protection, Sealer};

/// Hadoop's name of the log-in by token.
pub(crate) const TOKEN: &str = "TOKEN";

/// The only mechanism for tokens up to 3.4, and the default after.
pub(crate) const DIGEST_MD5: &str = "DIGEST-MD5";
