//! The server's half of the log-in by token: SASL DIGEST-MD5 with quality `auth`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use credentials::Token;

use crate::auth::{Challenge, Exchange, pairs};

use super::Refusal;

const REALM: &str = "default";
/// The protocol, which is empty, and the server's id.
const URI: &str = "/default";
/// Random bytes in a nonce, as stock servers use.
const NONCE_BYTES: usize = 30;

/// Knows the passwords of tokens.
pub trait Keyring: Send + Sync {
    /// The password of the token with this identifier.
    ///
    /// # Errors
    ///
    /// [`Refusal::invalid_token`] for an identifier that nobody has signed, or no more valid.
    fn password(&self, identifier: &[u8]) -> Result<Vec<u8>, Refusal>;
}

/// One challenge, and what it waits for.
#[derive(Debug)]
pub(crate) struct Puzzle {
    text: String,
    nonce: String,
}

impl Puzzle {
    pub(crate) fn new() -> Self {
        let bytes: [u8; NONCE_BYTES] = rand::random();
        let nonce = STANDARD.encode(bytes);
        Self {
            text: format!(
                "realm=\"{REALM}\",nonce=\"{nonce}\",qop=\"auth\",charset=utf-8,algorithm=md5-sess"
            ),
            nonce,
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Checks the client's response. Returns the identifier of its token and the server's own proof.
    pub(crate) fn check(
        &self,
        response: &[u8],
        keyring: &dyn Keyring,
    ) -> Result<(Vec<u8>, Vec<u8>), Refusal> {
        let text =
            std::str::from_utf8(response).map_err(|_not_utf8| violation("it is no UTF-8"))?;
        let pairs = pairs(text).map_err(|error| violation(&error.to_string()))?;
        let value = |wanted: &'static str| {
            let found = pairs.iter().find(|(name, _)| *name == wanted);
            found.map_or("", |(_, value)| value.as_str())
        };
        for (name, right) in [
            ("realm", REALM),
            ("nonce", self.nonce.as_str()),
            ("nc", "00000001"),
            ("qop", "auth"),
            ("digest-uri", URI),
        ] {
            // Quality "auth" is what no word about it means.
            if value(name) != right && !(name == "qop" && value(name).is_empty()) {
                return Err(violation(&format!("its {name} is \"{}\"", value(name))));
            }
        }
        let identifier = STANDARD
            .decode(value("username"))
            .map_err(|_no_base64| violation("its username is no base64"))?;
        let token = Token {
            password: keyring.password(&identifier)?,
            identifier,
            ..Token::default()
        };
        let challenge = Challenge::parse(self.text.as_bytes());
        let mirror = challenge
            .and_then(|challenge| Exchange::with_nonce(&challenge, &token, URI, value("cnonce")))
            .map_err(|error| violation(&error.to_string()))?;
        if value("cnonce").is_empty() || mirror.proof() != value("response") {
            return Err(violation("Mismatched response."));
        }
        Ok((token.identifier, mirror.server_proof().to_vec()))
    }
}

fn violation(problem: &str) -> Refusal {
    Refusal::new(
        "javax.security.sasl.SaslException",
        format!("DIGEST-MD5: digest response format violation. {problem}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    struct One(Token);

    impl Keyring for One {
        fn password(&self, identifier: &[u8]) -> Result<Vec<u8>, Refusal> {
            match identifier == self.0.identifier {
                true => Ok(self.0.password.clone()),
                false => Err(Refusal::invalid_token("not known")),
            }
        }
    }

    fn token(password: &[u8]) -> Token {
        Token {
            identifier: vec![1, 2, 250],
            password: password.to_vec(),
            ..Token::default()
        }
    }

    #[test]
    fn the_right_password_is_proved_both_ways_and_a_wrong_one_is_not() {
        let puzzle = Puzzle::new();
        let challenge = Challenge::parse(puzzle.text().as_bytes()).unwrap();
        let keyring = One(token(b"right"));
        let client = Exchange::answer(&challenge, &token(b"right"), URI).unwrap();
        let (identifier, proof) = puzzle.check(&client.response(), &keyring).unwrap();
        assert_eq!(identifier, [1, 2, 250]);
        client.finish(&proof).unwrap();

        let wrong = Exchange::answer(&challenge, &token(b"wrong"), URI).unwrap();
        let refusal = puzzle.check(&wrong.response(), &keyring).unwrap_err();
        assert!(refusal.message.contains("Mismatched"), "{refusal}");
        let other = Token {
            identifier: vec![9],
            ..token(b"right")
        };
        let other = Exchange::answer(&challenge, &other, URI).unwrap();
        let refusal = puzzle.check(&other.response(), &keyring).unwrap_err();
        assert!(refusal.class.ends_with("InvalidToken"), "{refusal}");
    }

    #[test]
    fn a_response_to_another_challenge_is_refused() {
        let (puzzle, other) = (Puzzle::new(), Puzzle::new());
        let challenge = Challenge::parse(other.text().as_bytes()).unwrap();
        let replay = Exchange::answer(&challenge, &token(b"right"), URI).unwrap();
        let keyring = One(token(b"right"));
        let refusal = puzzle.check(&replay.response(), &keyring).unwrap_err();
        assert!(refusal.message.contains("nonce"), "{refusal}");
        for nonsense in [&b""[..], b"\xff", b"username", b"username=\"=\""] {
            assert!(puzzle.check(nonsense, &keyring).is_err());
        }
    }
}
