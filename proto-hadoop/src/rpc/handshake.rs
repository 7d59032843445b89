//! From a fresh TCP connection to one that takes calls.

use std::io;

use bytes::{BufMut, BytesMut};
use credentials::Token;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use crate::auth::{Challenge, DIGEST_MD5, Exchange, Protection, SaslError, TOKEN};
use crate::wire::common::RpcSaslProto;
use crate::wire::common::rpc_response_header_proto::RpcStatusProto;
use crate::wire::common::rpc_sasl_proto::{SaslAuth, SaslState};

use super::channel::Login;
use super::connection::{Disconnect, LoggedIn, fatal};
use super::frame::{FrameError, FrameReader};
use super::message::{self, ClientId, Response};

/// "hrpc", version 9, service class 0.
const OPENING: &[u8] = b"hrpc\x09\x00";
/// Nothing, or the name that the context carries.
const AUTH_NONE: u8 = 0x00;
/// A SASL exchange comes first; -33.
const AUTH_SASL: u8 = 0xdf;

/// Logs in. Without a token nothing is sent yet: the context goes out with the first call.
pub(crate) async fn login<S: AsyncRead + AsyncWrite>(
    stream: S,
    protocol: &str,
    login: &Login,
    client: ClientId,
) -> Result<LoggedIn<S>, Disconnect> {
    let (reader, writer) = tokio::io::split(stream);
    let frames = FrameReader::new(reader);
    let mut session = LoggedIn {
        frames,
        writer,
        preface: BytesMut::new(),
        qop: None,
        sealer: None,
        opener: None,
    };
    match login {
        Login::User(user) => {
            session.preface.put_slice(OPENING);
            session.preface.put_u8(AUTH_NONE);
            message::put_context(&mut session.preface, client, protocol, Some(user));
        }
        Login::Token(token) => {
            let protection = exchange(&mut session, token).await?;
            session.qop = Some(protection.qop);
            session.sealer = protection.sealer;
            session.opener = protection.opener;
            // The token says who calls; naming a user as well would be refused.
            message::put_context(&mut session.preface, client, protocol, None);
        }
    }
    Ok(session)
}

/// NEGOTIATE, offer, INITIATE, SUCCESS.
async fn exchange<S: AsyncRead + AsyncWrite>(
    session: &mut LoggedIn<S>,
    token: &Token,
) -> Result<Protection, Disconnect> {
    let mut out = BytesMut::new();
    out.put_slice(OPENING);
    out.put_u8(AUTH_SASL);
    message::put_sasl(&mut out, &sasl(SaslState::Negotiate));
    session.writer.write_all(&out).await?;

    let offer = receive(session, SaslState::Negotiate).await?;
    let chosen = choose(offer.auths)?;
    let challenge = Challenge::parse(chosen.challenge()).map_err(Disconnect::Sasl)?;
    let uri = format!("{}/{}", chosen.protocol(), chosen.server_id());
    let exchange = Exchange::answer(&challenge, token, &uri).map_err(Disconnect::Sasl)?;

    let reply = RpcSaslProto {
        token: Some(exchange.response().into()),
        // The entry as it was offered; the server compares all but the challenge.
        auths: vec![SaslAuth {
            challenge: None,
            ..chosen
        }],
        ..sasl(SaslState::Initiate)
    };
    out.clear();
    message::put_sasl(&mut out, &reply);
    session.writer.write_all(&out).await?;

    let success = receive(session, SaslState::Success).await?;
    exchange.finish(success.token()).map_err(Disconnect::Sasl)
}

fn sasl(state: SaslState) -> RpcSaslProto {
    RpcSaslProto {
        state: state.into(),
        ..RpcSaslProto::default()
    }
}

/// The next message of the exchange, which must be in state `wanted`.
async fn receive<S: AsyncRead + AsyncWrite>(
    session: &mut LoggedIn<S>,
    wanted: SaslState,
) -> Result<RpcSaslProto, Disconnect> {
    let body = match session.frames.next().await {
        Err(FrameError::Io(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
            let words = "the server closed the connection during the log-in, without a word";
            return Err(io::Error::new(error.kind(), words).into());
        }
        other => other?,
    };
    let mut response = Response::decode(body)?;
    if response.header.status() != RpcStatusProto::Success {
        return Err(fatal(&response));
    }
    let received: RpcSaslProto = message::take(&mut response.rest)?;
    if response.call() != message::SASL || received.state() != wanted {
        return Err(Disconnect::Sasl(SaslError::UnexpectedState {
            wanted: wanted.as_str_name(),
            found: received.state().as_str_name(),
        }));
    }
    Ok(received)
}

/// Picks the log-in by token.
fn choose(offered: Vec<SaslAuth>) -> Result<SaslAuth, Disconnect> {
    let methods = offered
        .iter()
        .map(|auth| auth.method.as_str())
        .collect::<Vec<_>>()
        .join(", ");
    let kerberos = offered.iter().any(|auth| auth.method == "KERBEROS");
    match offered.into_iter().find(|auth| auth.method == TOKEN) {
        Some(auth) if auth.mechanism == DIGEST_MD5 => Ok(auth),
        Some(auth) => Err(Disconnect::Sasl(SaslError::Mechanism {
            mechanism: auth.mechanism,
        })),
        None if kerberos => Err(Disconnect::Kerberos { offered: methods }),
        None => Err(Disconnect::Sasl(SaslError::NoTokenLogin {
            offered: methods,
        })),
    }
}
