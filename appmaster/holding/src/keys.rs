//! Keys of an application's own authority.

use std::fmt;

/// PEM texts of the authority and of what it signed.
pub struct Keys {
    /// The authority's certificate.
    pub authority: Vec<u8>,
    /// This AM's certificate.
    pub certificate: Vec<u8>,
    /// Its key.
    pub key: Vec<u8>,
    /// The certificate that the launchers show.
    pub launcher_certificate: Vec<u8>,
    /// Its key.
    pub launcher_key: Vec<u8>,
    /// The certificate that the client shows.
    pub client_certificate: Vec<u8>,
}

impl fmt::Debug for Keys {
    /// Without the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}
