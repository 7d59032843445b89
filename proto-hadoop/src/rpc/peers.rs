//! Scripted servers for tests: they speak the true wire, and misbehave where they are told to.

use bytes::{Bytes, BytesMut};
use credentials::Token;
use prost::Message;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::auth::{Challenge, Exchange, Opener, Sealer};
use crate::wire::common::rpc_response_header_proto::{RpcErrorCodeProto, RpcStatusProto};
use crate::wire::common::rpc_sasl_proto::{SaslAuth, SaslState};
use crate::wire::common::{
    IpcConnectionContextProto, RequestHeaderProto, RpcRequestHeaderProto, RpcResponseHeaderProto,
    RpcSaslProto,
};

use super::frame::FrameCutter;
use super::message;

/// One connection, seen from the server.
pub(crate) struct Peer<S> {
    stream: S,
    cutter: FrameCutter,
    sealer: Option<Sealer>,
    opener: Option<Opener>,
}

/// One call as it came.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) id: i32,
    pub(crate) method: String,
    pub(crate) parameter: Bytes,
}

/// A listener on loopback and its address.
pub(crate) async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

pub(crate) async fn accept(listener: &TcpListener) -> Peer<TcpStream> {
    Peer::new(listener.accept().await.unwrap().0)
}

impl<S: AsyncRead + AsyncWrite + Unpin> Peer<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self {
            stream,
            cutter: FrameCutter::default(),
            sealer: None,
            opener: None,
        }
    }

    pub(crate) async fn raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// The seven bytes that open a connection; returns the last.
    pub(crate) async fn opening(&mut self) -> u8 {
        let mut bytes = [0; 7];
        self.stream.read_exact(&mut bytes).await.unwrap();
        assert_eq!(bytes[..6], *b"hrpc\x09\x00");
        bytes[6]
    }

    /// The next frame as it is on the wire; `None` at the end.
    async fn wire_frame(&mut self) -> Option<Bytes> {
        let length = self.stream.read_u32().await.ok()?;
        let mut body = vec![0; usize::try_from(length).unwrap()];
        self.stream.read_exact(&mut body).await.ok()?;
        Some(body.into())
    }

    /// The next frame, unwrapped where that was agreed on.
    pub(crate) async fn frame(&mut self) -> Option<(RpcRequestHeaderProto, Bytes)> {
        loop {
            if let Some(mut body) = self.cutter.next().unwrap() {
                return Some((message::take(&mut body).unwrap(), body));
            }
            let mut body = self.wire_frame().await?;
            let Some(opener) = &mut self.opener else {
                return Some((message::take(&mut body).unwrap(), body));
            };
            let header: RpcRequestHeaderProto = message::take(&mut body).unwrap();
            let wrapped: RpcSaslProto = message::take(&mut body).unwrap();
            assert_eq!(
                (header.call_id, wrapped.state()),
                (message::SASL, SaslState::Wrap)
            );
            let plain = opener.open(wrapped.token()).unwrap();
            self.cutter.push(&plain);
        }
    }

    /// The context that precedes the first call.
    pub(crate) async fn context(&mut self) -> IpcConnectionContextProto {
        let (header, mut body) = self.frame().await.unwrap();
        assert_eq!(header.call_id, -3);
        message::take(&mut body).unwrap()
    }

    /// The next call; pings are passed over.
    pub(crate) async fn call(&mut self) -> Option<Received> {
        loop {
            let (header, mut body) = self.frame().await?;
            if header.call_id == -4 {
                continue;
            }
            assert!(header.call_id >= 0, "{header:?}");
            assert_eq!(header.client_id.len(), 16);
            let request: RequestHeaderProto = message::take(&mut body).unwrap();
            let parameter = message::take_bytes(&mut body).unwrap();
            assert!(body.is_empty());
            return Some(Received {
                id: header.call_id,
                method: request.method_name,
                parameter,
            });
        }
    }

    /// A simple log-in up to the first call.
    pub(crate) async fn first_call(&mut self) -> Received {
        assert_eq!(self.opening().await, 0);
        self.context().await;
        self.call().await.unwrap()
    }

    /// Sends frames, wrapped where that was agreed on, in blobs of at most `step` bytes.
    pub(crate) async fn send(&mut self, frames: &[u8], step: usize) {
        let Some(mut sealer) = self.sealer.take() else {
            return self.raw(frames).await;
        };
        for part in frames.chunks(step) {
            let blob = sealer.seal(part).unwrap();
            let wrapped = RpcSaslProto {
                state: SaslState::Wrap.into(),
                token: Some(blob.into()),
                ..RpcSaslProto::default()
            };
            self.raw(&sasl_frame(&wrapped)).await;
        }
        self.sealer = Some(sealer);
    }

    pub(crate) async fn answer(&mut self, id: i32, result: &impl Message) {
        self.send(&success(id, result), usize::MAX).await;
    }

    pub(crate) async fn error(&mut self, id: i32, class: &str, words: &str) {
        let header = failure(id, RpcStatusProto::Error, class, words);
        self.send(&frame(&[&header]), usize::MAX).await;
    }

    pub(crate) async fn fatal(&mut self, class: &str, words: &str) {
        let header = failure(-1, RpcStatusProto::Fatal, class, words);
        self.raw(&frame(&[&header])).await;
    }

    /// Offers these log-ins and returns what the client chose.
    pub(crate) async fn offer(&mut self, auths: Vec<SaslAuth>) -> Option<RpcSaslProto> {
        assert_eq!(self.opening().await, 0xdf);
        let (header, mut body) = self.frame().await?;
        assert_eq!((header.call_id, header.client_id.len()), (message::SASL, 0));
        let negotiate: RpcSaslProto = message::take(&mut body).unwrap();
        assert_eq!(negotiate.state(), SaslState::Negotiate);
        let offer = RpcSaslProto {
            state: SaslState::Negotiate.into(),
            auths,
            ..RpcSaslProto::default()
        };
        self.raw(&sasl_frame(&offer)).await;
        let (_, mut body) = self.frame().await?;
        Some(message::take(&mut body).unwrap())
    }

    /// A whole log-in by `token` with protection `qop`; checks the client's proof.
    pub(crate) async fn log_in(&mut self, token: &Token, qop: &str) {
        let challenge = format!(
            "realm=\"default\",nonce=\"bm9uY2U=\",qop=\"{qop}\",charset=utf-8,\
             algorithm=md5-sess,cipher=\"3des,rc4\""
        );
        let initiate = self.offer(vec![token_login(&challenge)]).await.unwrap();
        assert_eq!(initiate.state(), SaslState::Initiate);
        let chosen = &initiate.auths[0];
        assert_eq!(
            (chosen.protocol.as_deref(), &chosen.challenge),
            (Some(""), &None)
        );
        let response = String::from_utf8(initiate.token().to_vec()).unwrap();
        let client_nonce = response
            .split("cnonce=\"")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap();
        let parsed = Challenge::parse(challenge.as_bytes()).unwrap();
        let mirror = Exchange::with_nonce(&parsed, token, "/default", client_nonce).unwrap();
        assert_eq!(mirror.response(), response.as_bytes());
        let success = RpcSaslProto {
            state: SaslState::Success.into(),
            token: Some(mirror.server_proof().to_vec().into()),
            ..RpcSaslProto::default()
        };
        self.raw(&sasl_frame(&success)).await;
        let (sealer, opener) = mirror.server_side();
        self.sealer = sealer;
        self.opener = opener;
    }
}

/// The log-in by token, as stock servers offer it.
pub(crate) fn token_login(challenge: &str) -> SaslAuth {
    SaslAuth {
        method: "TOKEN".into(),
        mechanism: "DIGEST-MD5".into(),
        protocol: Some(String::new()),
        server_id: Some("default".into()),
        challenge: Some(challenge.as_bytes().to_vec().into()),
    }
}

/// A frame of delimited messages.
pub(crate) fn frame(messages: &[&dyn DynMessage]) -> Vec<u8> {
    let mut body = Vec::new();
    for message in messages {
        body.extend(message.delimited());
    }
    let mut frame = u32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
    frame.extend(body);
    frame
}

/// Messages of different types in one list.
pub(crate) trait DynMessage {
    fn delimited(&self) -> Vec<u8>;
}

impl<M: Message> DynMessage for M {
    fn delimited(&self) -> Vec<u8> {
        self.encode_length_delimited_to_vec()
    }
}

pub(crate) fn success(id: i32, result: &impl Message) -> Vec<u8> {
    let header = RpcResponseHeaderProto {
        call_id: id.cast_unsigned(),
        status: RpcStatusProto::Success.into(),
        ..RpcResponseHeaderProto::default()
    };
    frame(&[&header, result])
}

fn failure(id: i32, status: RpcStatusProto, class: &str, words: &str) -> RpcResponseHeaderProto {
    RpcResponseHeaderProto {
        call_id: id.cast_unsigned(),
        status: status.into(),
        exception_class_name: Some(class.to_owned()),
        error_msg: Some(words.to_owned()),
        error_detail: Some(RpcErrorCodeProto::ErrorApplication.into()),
        ..RpcResponseHeaderProto::default()
    }
}

pub(crate) fn sasl_frame(sasl: &RpcSaslProto) -> BytesMut {
    let header = RpcResponseHeaderProto {
        call_id: message::SASL.cast_unsigned(),
        status: RpcStatusProto::Success.into(),
        ..RpcResponseHeaderProto::default()
    };
    BytesMut::from(&frame(&[&header, sasl])[..])
}
