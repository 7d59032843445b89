//! The keys of one application: its authority's, and of each peer a certificate.

use job::secrets;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

pub struct Keys {
    pub authority: String,
    pub appmaster: (String, String),
    pub launcher: (String, String),
    pub client: (String, String),
}

impl Keys {
    pub fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let signed = |name: &str| {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new([name.to_owned()]).unwrap();
            let certificate = params.signed_by(&key, &authority).unwrap();
            (certificate.pem(), key.serialize_pem())
        };
        Self {
            appmaster: signed(secrets::APPMASTER_NAME),
            launcher: signed("launcher.gerbil"),
            client: signed(secrets::CLIENT_NAME),
            authority: authority.pem(),
        }
    }
}
