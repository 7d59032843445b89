//! Who may call: the certificate a peer shows decides.
//!
//! The application's authority signs exactly three certificates. TLS has already checked that the peer
//! holds the key of one of them; here it is told which.

use anyhow::{Context, Result};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tonic::{Request, Status};

/// Letters of a peer's build that are repeated to it.
const BUILD_SHOWN: usize = 100;

/// The one certificate that a service accepts.
#[derive(Clone, Debug)]
pub struct Admitted {
    certificate: CertificateDer<'static>,
    role: &'static str,
}

impl Admitted {
    /// `role` is for the words of a refusal.
    ///
    /// # Errors
    /// `pem` is no certificate.
    pub fn new(pem: &[u8], role: &'static str) -> Result<Self> {
        let certificate = CertificateDer::from_pem_slice(pem)
            .with_context(|| format!("cannot read the certificate of the {role}"))?;
        Ok(Self { certificate, role })
    }

    /// Whether the caller is it.
    ///
    /// # Errors
    /// `PermissionDenied` for every other peer.
    pub fn check<T>(&self, request: &Request<T>) -> Result<(), Status> {
        let shown = request.peer_certs();
        if shown.is_some_and(|chain| chain.first() == Some(&self.certificate)) {
            return Ok(());
        }
        tracing::warn!(peer = ?request.remote_addr(), "refused a peer that is not the {}", self.role);
        Err(Status::permission_denied(format!(
            "only this job's {} may call this",
            self.role
        )))
    }
}

/// Whether a peer that has said so is of this build.
///
/// # Errors
/// `FailedPrecondition` for a peer of another build.
pub fn same_build(peer: &str) -> Result<(), Status> {
    if peer == job::BUILD {
        return Ok(());
    }
    let peer: String = peer.chars().take(BUILD_SHOWN).collect();
    Err(Status::failed_precondition(format!(
        "the ApplicationMaster is build {}, the peer is build {peer}",
        job::BUILD
    )))
}
