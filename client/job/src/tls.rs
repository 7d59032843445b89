//! TLS between the processes of one job: version 1.3, in which both sides show a certificate that the job's
//! own authority has signed.
//!
//! Whoever listens serves with [`PeerKeys::server`]; whoever dials, with [`PeerKeys::client`]. tonic sets up its own
//! where it dials.

use std::fmt;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{Error as PemError, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{CipherSuite, ClientConfig, RootCertStore, ServerConfig};
use thiserror::Error;

/// What one process of the job has, PEM.
#[derive(Clone, Copy)]
pub struct PeerKeys<'a> {
    /// Certificate of the job's authority.
    pub authority: &'a [u8],
    /// The process's own.
    pub certificate: &'a [u8],
    /// Its key.
    pub key: &'a [u8],
}

impl fmt::Debug for PeerKeys<'_> {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerKeys").finish_non_exhaustive()
    }
}

/// PeerKeys that make no sense.
#[derive(Debug, Error)]
pub enum TlsError {
    /// No PEM, or of something else.
    #[error("cannot read {what} of the job: {source}")]
    Unreadable {
        /// What was to be read.
        what: &'static str,
        /// What is wrong with the PEM text.
        source: PemError,
    },
    /// They do not belong together, or are of no known kind.
    #[error("cannot use the job's keys: {source}")]
    Unusable {
        /// What rustls does not like about them.
        #[from]
        source: rustls::Error,
    },
    /// The authority cannot be one.
    #[error("cannot check certificates by the job's authority: {source}")]
    Authority {
        /// What rustls does not like about it.
        #[from]
        source: VerifierBuilderError,
    },
}

impl PeerKeys<'_> {
    /// For whoever listens.
    ///
    /// # Errors
    ///
    /// PeerKeys that make no sense.
    pub fn server(self) -> Result<ServerConfig, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let roots = Arc::new(self.roots()?);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider));
        let verifier = verifier.build()?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])?
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![certificate(self.certificate)?], self.key()?)?;
        // Nobody resumes: each connection lasts as long as what it is for.
        config.send_tls13_tickets = 0;
        Ok(config)
    }

    /// For whoever dials, with the cipher that is fastest where processors have instructions for it.
    ///
    /// # Errors
    ///
    /// PeerKeys that make no sense.
    pub fn client(self) -> Result<ClientConfig, TlsError> {
        let config = ClientConfig::builder_with_provider(Arc::new(fastest_first()))
            .with_protocol_versions(&[&TLS13])?
            .with_root_certificates(self.roots()?)
            .with_client_auth_cert(vec![certificate(self.certificate)?], self.key()?)?;
        Ok(config)
    }

    fn roots(&self) -> Result<RootCertStore, TlsError> {
        let mut roots = RootCertStore::empty();
        roots.add(certificate(self.authority)?)?;
        Ok(roots)
    }

    fn key(&self) -> Result<PrivateKeyDer<'static>, TlsError> {
        let what = "a key";
        PrivateKeyDer::from_pem_slice(self.key)
            .map_err(|source| TlsError::Unreadable { what, source })
    }
}

/// A certificate, as peers show it.
///
/// # Errors
///
/// It is none.
pub fn certificate(pem: &[u8]) -> Result<CertificateDer<'static>, TlsError> {
    let what = "a certificate";
    CertificateDer::from_pem_slice(pem).map_err(|source| TlsError::Unreadable { what, source })
}

/// The first that both sides know is taken.
fn fastest_first() -> CryptoProvider {
    let mut provider = ring::default_provider();
    let suites = &mut provider.cipher_suites;
    sort::by_key(suites, |suite| {
        suite.suite() != CipherSuite::TLS13_AES_128_GCM_SHA256
    });
    provider
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_certificate_is_named() {
        let keys = PeerKeys {
            authority: b"none",
            certificate: b"none",
            key: b"none",
        };
        let refused = |error: TlsError| {
            assert!(
                error
                    .to_string()
                    .starts_with("cannot read a certificate of the job: ")
            );
        };
        refused(keys.server().unwrap_err());
        refused(keys.client().unwrap_err());
    }

    #[test]
    fn the_fastest_cipher_is_offered_first_and_none_is_left_out() {
        let all = ring::default_provider().cipher_suites.len();
        let ours = fastest_first().cipher_suites;
        assert_eq!(ours.len(), all);
        let first = ours.first().map(|suite| suite.suite());
        assert_eq!(first, Some(CipherSuite::TLS13_AES_128_GCM_SHA256));
    }
}
