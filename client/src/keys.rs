//! A throw-away certificate authority for one job.
//!
//! It signs three certificates: for the ApplicationMaster, its launchers, and this client. Its own
//! key is never written anywhere; the others travel in YARN's container credentials.

use job::exit::Exit;
use job::secrets::{APPMASTER_NAME, CLIENT_NAME};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use time::{Duration, OffsetDateTime};

use crate::failure::Failure;

/// A certificate and its key, PEM.
pub(crate) struct Identity {
    pub certificate: String,
    pub key: String,
}

/// All keys of one job.
pub(crate) struct Keys {
    /// Certificate of the authority, PEM.
    pub authority: String,
    pub appmaster: Identity,
    pub launcher: Identity,
    pub client: Identity,
}

/// Clocks of nodes and client may differ by so much.
const BEFORE: Duration = Duration::days(1);
/// Beyond the longest job.
const AFTER: Duration = Duration::days(3650);

const CLIENT: ExtendedKeyUsagePurpose = ExtendedKeyUsagePurpose::ClientAuth;
const SERVER: ExtendedKeyUsagePurpose = ExtendedKeyUsagePurpose::ServerAuth;

impl Keys {
    /// Makes them. Takes well under a millisecond a key.
    pub(crate) fn generate() -> Result<Self, Failure> {
        generate().map_err(|error| {
            Failure::new(
                Exit::Lost,
                format!("cannot make the job's certificates: {error}"),
            )
        })
    }
}

fn generate() -> Result<Keys, rcgen::Error> {
    let mut params = params("gerbil job authority", Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let key = KeyPair::generate()?;
    let authority = params.self_signed(&key)?.pem();
    let issuer = Issuer::new(params, key);
    Ok(Keys {
        authority,
        appmaster: sign(&issuer, APPMASTER_NAME, &[SERVER])?,
        launcher: sign(&issuer, "launcher.gerbil", &[CLIENT])?,
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
    let now = OffsetDateTime::now_utc();
    params.not_before = now - BEFORE;
    params.not_after = now + AFTER;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_has_keys_of_its_own() {
        let (one, other) = (Keys::generate().unwrap(), Keys::generate().unwrap());
        assert!(one.authority.starts_with("-----BEGIN CERTIFICATE-----"));
        assert_ne!(one.authority, other.authority);
        assert_ne!(one.launcher.key, one.client.key);
    }
}
