//! Version 1 (Hadoop 3): "HDTS" 01, then one length-delimited protobuf message.

use prost::Message;

use crate::{Credentials, CredentialsError, Token};

#[derive(Clone, PartialEq, Message)]
struct CredentialsProto {
    #[prost(message, repeated, tag = "1")]
    tokens: Vec<EntryProto>,
    #[prost(message, repeated, tag = "2")]
    secrets: Vec<EntryProto>,
}

#[derive(Clone, PartialEq, Message)]
struct EntryProto {
    #[prost(string, required, tag = "1")]
    alias: String,
    #[prost(message, optional, tag = "2")]
    token: Option<TokenProto>,
    #[prost(bytes = "vec", optional, tag = "3")]
    secret: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct TokenProto {
    #[prost(bytes = "vec", required, tag = "1")]
    identifier: Vec<u8>,
    #[prost(bytes = "vec", required, tag = "2")]
    password: Vec<u8>,
    #[prost(string, required, tag = "3")]
    kind: String,
    #[prost(string, required, tag = "4")]
    service: String,
}

pub(crate) fn read(mut body: &[u8]) -> Result<Credentials, CredentialsError> {
    let message = CredentialsProto::decode_length_delimited(&mut body)
        .map_err(|source| CredentialsError::Message { source })?;
    if !body.is_empty() {
        return Err(CredentialsError::TrailingBytes { extra: body.len() });
    }
    let tokens = message.tokens.into_iter().map(|entry| {
        let token = entry.token.unwrap_or_default();
        let TokenProto {
            identifier,
            password,
            kind,
            service,
        } = token;
        (
            entry.alias,
            Token {
                identifier,
                password,
                kind,
                service,
            },
        )
    });
    let secrets = message
        .secrets
        .into_iter()
        .map(|entry| (entry.alias, entry.secret.unwrap_or_default()));
    Ok(Credentials {
        tokens: tokens.collect(),
        secrets: secrets.collect(),
    })
}
