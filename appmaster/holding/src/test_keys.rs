//! Keys of applications that exist for a test only.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::Keys;

/// All keys of one job: what its AM has, and what its peers have.
pub(crate) struct JobKeys {
    pub appmaster: Keys,
    /// Certificate and key of the launchers, PEM.
    pub launcher: (String, String),
    /// Certificate and key of the client, PEM.
    pub client: (String, String),
}

impl JobKeys {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let signed = |name: &str| {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new([name.to_owned()]).unwrap();
            let certificate = params.signed_by(&key, &authority).unwrap();
            (certificate.pem(), key.serialize_pem())
        };
        let bytes = |text: &String| text.clone().into_bytes();
        let own = signed(job::secrets::APPMASTER_NAME);
        let (launcher, client) = (signed("launcher.gerbil"), signed("client.gerbil"));
        Self {
            appmaster: Keys {
                authority: authority.pem().into_bytes(),
                certificate: bytes(&own.0),
                key: bytes(&own.1),
                launcher_certificate: bytes(&launcher.0),
                launcher_key: bytes(&launcher.1),
                client_certificate: bytes(&client.0),
            },
            launcher,
            client,
        }
    }
}
