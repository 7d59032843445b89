//! Version 0: Writable layout.
//!
//! ```text
//! "HDTS" 00 | count | count x (alias, identifier, password, kind, service)
//!           | count | count x (alias, secret)
//! ```
//! Counts and lengths are [`varint`]s; every field is its length and its bytes.

use std::collections::BTreeMap;

use crate::{Credentials, CredentialsError, MAGIC, Token, varint};

pub(crate) fn read(mut body: &[u8]) -> Result<Credentials, CredentialsError> {
    let input = &mut body;
    let mut tokens = BTreeMap::new();
    for _ in 0..count(input, "number of tokens")? {
        let alias = text(input, "alias of a token")?;
        let token = Token {
            identifier: field(input, "identifier of a token")?.to_vec(),
            password: field(input, "password of a token")?.to_vec(),
            kind: text(input, "kind of a token")?,
            service: text(input, "service of a token")?,
        };
        tokens.insert(alias, token);
    }
    let mut secrets = BTreeMap::new();
    for _ in 0..count(input, "number of secrets")? {
        let alias = text(input, "alias of a secret")?;
        secrets.insert(alias, field(input, "secret")?.to_vec());
    }
    if !input.is_empty() {
        return Err(CredentialsError::TrailingBytes { extra: input.len() });
    }
    Ok(Credentials { tokens, secrets })
}

pub(crate) fn write(credentials: &Credentials) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.push(0);
    write_length(&mut out, credentials.tokens.len());
    for (alias, token) in &credentials.tokens {
        write_field(&mut out, alias.as_bytes());
        write_field(&mut out, &token.identifier);
        write_field(&mut out, &token.password);
        write_field(&mut out, token.kind.as_bytes());
        write_field(&mut out, token.service.as_bytes());
    }
    write_length(&mut out, credentials.secrets.len());
    for (alias, secret) in &credentials.secrets {
        write_field(&mut out, alias.as_bytes());
        write_field(&mut out, secret);
    }
    out
}

/// Nothing is allocated by count: each entry is pushed once its bytes have been seen.
fn count(input: &mut &[u8], what: &'static str) -> Result<u64, CredentialsError> {
    let value = varint::read(input, what)?;
    u64::try_from(value).map_err(|_negative| CredentialsError::Negative { what, value })
}

fn field<'a>(input: &mut &'a [u8], what: &'static str) -> Result<&'a [u8], CredentialsError> {
    let wanted = count(input, what)?;
    let truncated = CredentialsError::Truncated {
        what,
        wanted,
        left: input.len(),
    };
    let Ok(length) = usize::try_from(wanted) else {
        return Err(truncated);
    };
    let Some((bytes, rest)) = input.split_at_checked(length) else {
        return Err(truncated);
    };
    *input = rest;
    Ok(bytes)
}

fn text(input: &mut &[u8], what: &'static str) -> Result<String, CredentialsError> {
    let bytes = field(input, what)?;
    let text =
        std::str::from_utf8(bytes).map_err(|source| CredentialsError::NotUtf8 { what, source })?;
    Ok(text.to_owned())
}

fn write_length(out: &mut Vec<u8>, length: usize) {
    // A length in memory never exceeds i64.
    varint::write(out, i64::try_from(length).unwrap_or(i64::MAX));
}

fn write_field(out: &mut Vec<u8>, bytes: &[u8]) {
    write_length(out, bytes.len());
    out.extend_from_slice(bytes);
}
