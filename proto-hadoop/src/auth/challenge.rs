//! The server's challenge: `name=value` pairs, values quoted or bare, separated by commas.

use super::SaslError;

/// Quality of protection of what follows the log-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Qop {
    /// Neither signed nor encrypted.
    Auth,
    /// Signed, not encrypted.
    AuthInt,
    /// Signed and encrypted.
    AuthConf,
}

impl Qop {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::AuthInt => "auth-int",
            Self::AuthConf => "auth-conf",
        }
    }

    /// The same in the words of `hadoop.rpc.protection`.
    pub(crate) fn hadoop_name(self) -> &'static str {
        match self {
            Self::Auth => "authentication",
            Self::AuthInt => "integrity",
            Self::AuthConf => "privacy",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::Auth, Self::AuthInt, Self::AuthConf]
            .into_iter()
            .find(|qop| qop.name() == name)
    }
}

/// The cipher that every stock server offers.
pub(crate) const CIPHER: &str = "3des";

/// A parsed challenge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Challenge {
    pub(crate) realm: String,
    pub(crate) nonce: String,
    /// The first of the server's list that is spoken here: its order is its preference.
    pub(crate) qop: Qop,
}

impl Challenge {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, SaslError> {
        let text = std::str::from_utf8(bytes).map_err(|_not_utf8| SaslError::Challenge {
            problem: "bytes that are not UTF-8",
        })?;
        let (mut realm, mut nonce, mut qop, mut ciphers, mut algorithm) =
            (None, None, None, None, None);
        for (name, value) in pairs(text)? {
            match name {
                // A server may name several realms; Hadoop names one.
                "realm" if realm.is_none() => realm = Some(value),
                "nonce" => nonce = Some(value),
                "qop" => qop = Some(value),
                "cipher" => ciphers = Some(value),
                "algorithm" => algorithm = Some(value),
                _ => {}
            }
        }
        if algorithm.as_deref() != Some("md5-sess") {
            return Err(SaslError::Challenge {
                problem: "no algorithm=md5-sess",
            });
        }
        let nonce = nonce
            .filter(|nonce| !nonce.is_empty())
            .ok_or(SaslError::Challenge {
                problem: "no nonce",
            })?;
        // RFC 2831: without the list only plain log-in is offered.
        let offered = qop.unwrap_or_else(|| Qop::Auth.name().to_owned());
        let with_cipher = list(ciphers.as_deref().unwrap_or_default()).any(|name| name == CIPHER);
        let qop = list(&offered)
            .filter_map(Qop::named)
            .find(|&qop| qop != Qop::AuthConf || with_cipher)
            .ok_or(SaslError::Protection {
                offered: offered.clone(),
            })?;
        Ok(Self {
            realm: realm.unwrap_or_default(),
            nonce,
            qop,
        })
    }
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim)
}

/// Splits at commas outside quotes; inside quotes a backslash takes the next character as it is.
pub(crate) fn pairs(text: &str) -> Result<Vec<(&str, String)>, SaslError> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([',', ' ', '\t', '\r', '\n']);
        if rest.is_empty() {
            return Ok(found);
        }
        let (name, after) = rest.split_once('=').ok_or(SaslError::Challenge {
            problem: "a name without a value",
        })?;
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted_value(quoted).ok_or(SaslError::Challenge {
                problem: "a quote that does not end",
            })?,
            None => {
                let end = after.find(',').unwrap_or(after.len());
                let (value, after) = after.split_at(end);
                (value.trim().to_owned(), after)
            }
        };
        found.push((name.trim(), value));
        rest = after;
    }
}

fn quoted_value(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, text.get(at + 1..)?)),
            '\\' => value.push(characters.next()?.1),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Challenge, SaslError> {
        Challenge::parse(text.as_bytes())
    }

    #[test]
    fn challenge_of_a_stock_server() {
        let challenge =
            parse(r#"realm="default",nonce="a/b+c=",qop="auth",charset=utf-8,algorithm=md5-sess"#);
        let expected = Challenge {
            realm: "default".into(),
            nonce: "a/b+c=".into(),
            qop: Qop::Auth,
        };
        assert_eq!(challenge, Ok(expected));
    }

    #[test]
    fn the_servers_order_of_protections_decides() {
        let qop = |list: &str| {
            let text =
                format!(r#"nonce="n", qop="{list}", cipher="3des,rc4,des", algorithm=md5-sess"#);
            parse(&text).map(|challenge| challenge.qop)
        };
        assert_eq!(qop("auth-conf,auth"), Ok(Qop::AuthConf));
        assert_eq!(qop("auth-int, auth-conf"), Ok(Qop::AuthInt));
        assert_eq!(qop("new,auth"), Ok(Qop::Auth));
        assert_eq!(
            qop("new"),
            Err(SaslError::Protection {
                offered: "new".into()
            })
        );
    }

    #[test]
    fn encryption_without_a_common_cipher_is_passed_over() {
        let text = r#"nonce="n",qop="auth-conf,auth-int",cipher="rc4",algorithm=md5-sess"#;
        assert_eq!(parse(text).unwrap().qop, Qop::AuthInt);
    }

    #[test]
    fn quotes_hold_commas_and_escapes() {
        let text = r#"realm="a,b=\"c\"",nonce="n",algorithm=md5-sess"#;
        assert_eq!(parse(text).unwrap().realm, r#"a,b="c""#);
        for broken in [
            r#"nonce="n"#,
            "nonce",
            r#"nonce="",algorithm=md5-sess"#,
            r#"nonce="n""#,
        ] {
            assert!(
                matches!(parse(broken), Err(SaslError::Challenge { .. })),
                "{broken}"
            );
        }
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let _outcome = Challenge::parse(&bytes);
        }

        #[test]
        fn random_texts_never_panic(text in r#"[a-z="\\, é]{0,60}"#) {
            let _outcome = parse(&text);
        }
    }
}
