//! A throw-away certificate authority for one job.
//!
//! It signs three certificates: for the ApplicationMaster, its launchers, and this client. Its own
//! key is never written anywhere; the others travel in YARN's container credentials.

use std::fmt;

use job::secrets::{APPMASTER_NAME, CLIENT_NAME, LAUNCHER_NAME};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};

use crate::error::FollowError;

/// A certificate and its key, PEM.
#[derive(Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

/// All keys of one job.
pub struct JobKeys {
    /// Certificate of the authority, PEM.
    pub authority: String,
    /// The ApplicationMaster's.
    pub appmaster: Identity,
    /// Its launchers'.
    pub launcher: Identity,
    /// This client's.
    pub client: Identity,
}

/// What a client has of them.
#[derive(Clone)]
pub struct ClientKeys {
    /// Certificate of the authority, PEM: whoever it has signed is the job's.
    pub authority: String,
    /// The client's own.
    pub client: Identity,
    /// Certificate of the launchers, which no other may bring output by.
    pub launcher_certificate: String,
}

impl fmt::Debug for ClientKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientKeys").finish_non_exhaustive()
    }
}

impl fmt::Debug for JobKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobKeys").finish_non_exhaustive()
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

const CLIENT: ExtendedKeyUsagePurpose = ExtendedKeyUsagePurpose::ClientAuth;
const SERVER: ExtendedKeyUsagePurpose = ExtendedKeyUsagePurpose::ServerAuth;

impl JobKeys {
    /// Makes them. Takes well under a millisecond a key.
    pub fn generate() -> Result<Self, FollowError> {
        generate().map_err(FollowError::Keys)
    }

    /// The part of whoever follows a job.
    #[must_use]
    pub fn client_keys(&self) -> ClientKeys {
        ClientKeys {
            authority: self.authority.clone(),
            client: self.client.clone(),
            launcher_certificate: self.launcher.certificate.clone(),
        }
    }
}

fn generate() -> Result<JobKeys, rcgen::Error> {
    let mut params = params("gerbil job authority", Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let key = KeyPair::generate()?;
    let authority = params.self_signed(&key)?.pem();
    let issuer = Issuer::new(params, key);
    Ok(JobKeys {
        authority,
        appmaster: sign(&issuer, APPMASTER_NAME, &[SERVER])?,
        // They dial the ApplicationMaster, and each other.
        launcher: sign(&issuer, LAUNCHER_NAME, &[CLIENT, SERVER])?,
        // It dials the ApplicationMaster, and launchers dial it.
        client: sign(&issuer, CLIENT_NAME, &[CLIENT, SERVER])?,
    })
}

fn sign(
    issuer: &Issuer<'_, KeyPair>,
    name: &str,
    usages: &[ExtendedKeyUsagePurpose],
) -> Result<Identity, rcgen::Error> {
    let mut params = params(name, vec![name.to_owned()])?;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = usages.to_vec();
    let key = KeyPair::generate()?;
    Ok(Identity {
        certificate: params.signed_by(&key, issuer)?.pem(),
        key: key.serialize_pem(),
    })
}

fn params(name: &str, alternative_names: Vec<String>) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(alternative_names)?;
    // The keys end with the job, whatever the certificates say: they are good at any time that a clock
    // can show, so that no node's wrong clock makes TLS fail. The end is the one that RFC 5280 has for a
    // certificate without one.
    params.not_before = date_time_ymd(1970, 1, 1);
    params.not_after = date_time_ymd(9999, 12, 31);
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use rustls::RootCertStore;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier as _;
    use rustls::crypto::ring;
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, UnixTime};

    use super::*;

    #[test]
    fn no_clock_makes_tls_fail() {
        let keys = JobKeys::generate().unwrap();
        let certificate = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certificate(&keys.authority)).unwrap();
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = verifier.build().unwrap();
        let name = APPMASTER_NAME.try_into().unwrap();
        for years in [0, 30, 56, 57, 100, 1000] {
            let since = Duration::from_secs(years * 365 * 24 * 3600);
            let now = UnixTime::since_unix_epoch(since);
            let shown = certificate(&keys.appmaster.certificate);
            let verified = verifier.verify_server_cert(&shown, &[], &name, &[], now);
            assert!(verified.is_ok(), "{years} years: {verified:?}");
        }
    }

    #[test]
    fn every_job_has_keys_of_its_own() {
        let (one, other) = (JobKeys::generate().unwrap(), JobKeys::generate().unwrap());
        assert!(one.authority.starts_with("-----BEGIN CERTIFICATE-----"));
        assert_ne!(one.authority, other.authority);
        assert_ne!(one.launcher.key, one.client.key);
    }
}
