//! The client's half of DIGEST-MD5.
//!
//! | RFC 2831     | here                              |
//! |--------------|-----------------------------------|
//! | H(A1)        | `session`, 16 bytes               |
//! | response     | `proof("AUTHENTICATE")`           |
//! | rspauth      | `proof("")`                       |
//! | nc           | always 1: one log-in a connection |

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use credentials::Token;
use md5::{Digest, Md5};

use super::challenge::{CIPHER, Challenge, Qop};
use super::{Protection, SaslError};

const NONCE_COUNT: &str = "00000001";
/// Largest protected message that we say we take; stock clients say the same.
const MAXIMUM_BUFFER: u32 = 65_536;
/// Random bytes in the client's nonce, as stock clients use.
const NONCE_BYTES: usize = 30;

/// Our answer to a challenge, and what the server must answer to it.
#[derive(Debug)]
pub(crate) struct Exchange {
    response: Vec<u8>,
    proof: String,
    server_proof: String,
    session: [u8; 16],
    qop: Qop,
}

impl Exchange {
    /// Answers with a fresh nonce.
    pub(crate) fn answer(
        challenge: &Challenge,
        token: &Token,
        uri: &str,
    ) -> Result<Self, SaslError> {
        let bytes: [u8; NONCE_BYTES] = rand::random();
        Self::with_nonce(challenge, token, uri, &STANDARD.encode(bytes))
    }

    pub(crate) fn with_nonce(
        challenge: &Challenge,
        token: &Token,
        uri: &str,
        client_nonce: &str,
    ) -> Result<Self, SaslError> {
        let Challenge { realm, nonce, qop } = challenge;
        let user = STANDARD.encode(&token.identifier);
        let password = STANDARD.encode(&token.password);
        let secret = md5(&[format!("{user}:{realm}:{password}").as_bytes()]);
        let session = md5(&[&secret, format!(":{nonce}:{client_nonce}").as_bytes()]);
        let proof = |verb: &str| {
            let body = match qop {
                Qop::Auth => "",
                // In place of the hash of a message body, which there is none of.
                Qop::AuthInt | Qop::AuthConf => ":00000000000000000000000000000000",
            };
            let request = hex(&md5(&[format!("{verb}:{uri}{body}").as_bytes()]));
            let qop = qop.name();
            let text = format!(
                "{}:{nonce}:{NONCE_COUNT}:{client_nonce}:{qop}:{request}",
                hex(&session)
            );
            hex(&md5(&[text.as_bytes()]))
        };
        // Such characters would end a quoted value. Base64 has none; a realm or nonce might.
        if [realm, nonce, uri]
            .iter()
            .any(|value| value.contains(['"', '\\']))
        {
            return Err(SaslError::Challenge {
                problem: "quotes in a value",
            });
        }
        let client_proof = proof("AUTHENTICATE");
        let mut response = format!(
            "charset=utf-8,username=\"{user}\",realm=\"{realm}\",nonce=\"{nonce}\",\
             nc={NONCE_COUNT},cnonce=\"{client_nonce}\",digest-uri=\"{uri}\",\
             maxbuf={MAXIMUM_BUFFER},response={client_proof},qop={}",
            qop.name()
        );
        if *qop == Qop::AuthConf {
            response.push_str(&format!(",cipher=\"{CIPHER}\""));
        }
        let server_proof = format!("rspauth={}", proof(""));
        Ok(Self {
            response: response.into_bytes(),
            proof: client_proof,
            server_proof,
            session,
            qop: *qop,
        })
    }

    pub(crate) fn response(&self) -> Vec<u8> {
        self.response.clone()
    }

    /// The value in the response that only the password's bearer can compute.
    pub(crate) fn proof(&self) -> &str {
        &self.proof
    }

    /// What a server that knows the token proves itself with.
    pub(crate) fn server_proof(&self) -> &[u8] {
        self.server_proof.as_bytes()
    }

    /// The protection as the server has it.
    #[cfg(test)]
    pub(crate) fn server_side(&self) -> (Option<super::Sealer>, Option<super::Opener>) {
        super::seal::server_side(self.qop, self.session)
    }

    /// Checks the server's proof; what is left is the protection of the connection.
    pub(crate) fn finish(self, proof: &[u8]) -> Result<Protection, SaslError> {
        if proof != self.server_proof.as_bytes() {
            return Err(SaslError::ServerProof);
        }
        Ok(Protection::new(self.qop, self.session))
    }
}

pub(crate) fn md5(parts: &[&[u8]]) -> [u8; 16] {
    let mut hash = Md5::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWORD: [u8; 20] = [
        0x4c, 0x3c, 0x71, 0x64, 0x5f, 0x55, 0x60, 0x64, 0x27, 0xbf, 0x2c, 0x48, 0xaf, 0xc2, 0xf0,
        0x47, 0xd4, 0xc9, 0x7a, 0xeb,
    ];
    const NONCE: &str = "xezwXPwU2AmGpPQP24LGt73m8yRSIRTWyZXZDaPF";
    const CLIENT_NONCE: &str = "2jQcC13ZPxGWtvf4ro4GwVxoYJEhX9MYva9ccRfi";

    fn exchange(qop: Qop) -> Exchange {
        let token = Token {
            identifier: STANDARD.decode("Cg0KCQgHEIDQlf+8MRABECo=").unwrap(),
            password: PASSWORD.to_vec(),
            kind: "YARN_AM_RM_TOKEN".into(),
            service: String::new(),
        };
        let challenge = Challenge {
            realm: "default".into(),
            nonce: NONCE.into(),
            qop,
        };
        Exchange::with_nonce(&challenge, &token, "/default", CLIENT_NONCE).unwrap()
    }

    #[test]
    fn vector_of_a_stock_server() {
        let exchange = exchange(Qop::Auth);
        let text = String::from_utf8(exchange.response()).unwrap();
        let expected = format!(
            "charset=utf-8,username=\"Cg0KCQgHEIDQlf+8MRABECo=\",realm=\"default\",\
             nonce=\"{NONCE}\",nc=00000001,cnonce=\"{CLIENT_NONCE}\",digest-uri=\"/default\",\
             maxbuf=65536,response=d36cc926d7ec389ec777e4864ed4519d,qop=auth"
        );
        assert_eq!(text, expected);
        assert!(
            exchange
                .finish(b"rspauth=70fe200a09c707b672b603cd4a3f0c9a")
                .is_ok()
        );
    }

    #[test]
    fn a_server_without_the_secret_is_refused() {
        for proof in [
            &b"rspauth=70fe200a09c707b672b603cd4a3f0c9b"[..],
            b"",
            b"rspauth=",
        ] {
            assert_eq!(
                exchange(Qop::Auth).finish(proof).unwrap_err(),
                SaslError::ServerProof
            );
        }
    }

    #[test]
    fn encryption_names_its_cipher() {
        let text = String::from_utf8(exchange(Qop::AuthConf).response()).unwrap();
        assert!(text.ends_with(",qop=auth-conf,cipher=\"3des\""), "{text}");
    }
}
