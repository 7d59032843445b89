//! Bodies of frames: delimited messages one behind the other.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::Message;

use crate::wire::common::{
    IpcConnectionContextProto, RequestHeaderProto, RpcKindProto, RpcRequestHeaderProto,
    RpcResponseHeaderProto, RpcSaslProto, UserInformationProto, rpc_request_header_proto,
};

/// The call id of the connection context.
const CONTEXT: i32 = -3;
/// The call id of a ping.
const PING: i32 = -4;
/// The call id of the SASL exchange, both ways.
pub(crate) const SASL: i32 = -33;
/// Of calls that are sent once; a second try on a new connection is a new call.
const FIRST_TRY: i32 = 0;
/// Of messages that are not calls.
const NO_TRY: i32 = -1;
/// The version of every YARN protocol.
const PROTOCOL_VERSION: u64 = 1;

/// Sixteen random bytes that name one client to the server for its lifetime.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientId(pub(crate) [u8; 16]);

fn header(call: i32, client: &[u8], try_count: i32) -> RpcRequestHeaderProto {
    RpcRequestHeaderProto {
        rpc_kind: Some(RpcKindProto::RpcProtocolBuffer.into()),
        rpc_op: Some(rpc_request_header_proto::OperationProto::RpcFinalPacket.into()),
        call_id: call,
        client_id: Bytes::copy_from_slice(client),
        retry_count: Some(try_count),
    }
}

fn delimited_len(message: &impl Message) -> usize {
    let length = message.encoded_len();
    length + prost::length_delimiter_len(length)
}

fn put_delimited(out: &mut BytesMut, message: &impl Message) {
    prost::encoding::encode_varint(message.encoded_len() as u64, out);
    // A growing buffer has room for all.
    message.encode_raw(out);
}

/// Appends one frame. Its length is known to fit: callers keep to `frame::REQUEST_LIMIT`.
fn put_frame(out: &mut BytesMut, length: usize, fill: impl FnOnce(&mut BytesMut)) {
    out.reserve(4 + length);
    out.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    fill(out);
}

pub(crate) fn put_sasl(out: &mut BytesMut, message: &RpcSaslProto) {
    let header = header(SASL, &[], NO_TRY);
    put_frame(
        out,
        delimited_len(&header) + delimited_len(message),
        |out| {
            put_delimited(out, &header);
            put_delimited(out, message);
        },
    );
}

/// The context names the protocol and, without a token, the user.
pub(crate) fn put_context(
    out: &mut BytesMut,
    client: ClientId,
    protocol: &str,
    user: Option<&str>,
) {
    let header = header(CONTEXT, &client.0, NO_TRY);
    let context = IpcConnectionContextProto {
        user_info: Some(UserInformationProto {
            effective_user: user.map(str::to_owned),
            real_user: None,
        }),
        protocol: Some(protocol.to_owned()),
    };
    put_frame(
        out,
        delimited_len(&header) + delimited_len(&context),
        |out| {
            put_delimited(out, &header);
            put_delimited(out, &context);
        },
    );
}

pub(crate) fn put_ping(out: &mut BytesMut, client: ClientId) {
    let header = header(PING, &client.0, NO_TRY);
    put_frame(out, delimited_len(&header), |out| {
        put_delimited(out, &header)
    });
}

/// A call that is encoded but for its id.
pub(crate) struct Request<'a> {
    pub(crate) client: ClientId,
    pub(crate) protocol: &'a str,
    pub(crate) method: &'a str,
    /// The message, encoded.
    pub(crate) parameter: &'a [u8],
}

impl Request<'_> {
    /// The whole frame of the call, its 4-byte length included.
    pub(crate) fn frame(&self, call: i32) -> Bytes {
        let header = header(call, &self.client.0, FIRST_TRY);
        let request = RequestHeaderProto {
            method_name: self.method.to_owned(),
            declaring_class_protocol_name: self.protocol.to_owned(),
            client_protocol_version: PROTOCOL_VERSION,
        };
        let parameter = self.parameter.len();
        let parameter_len = prost::length_delimiter_len(parameter) + parameter;
        let length = delimited_len(&header) + delimited_len(&request) + parameter_len;
        let mut out = BytesMut::new();
        put_frame(&mut out, length, |out| {
            put_delimited(out, &header);
            put_delimited(out, &request);
            prost::encoding::encode_varint(parameter as u64, out);
            out.put_slice(self.parameter);
        });
        out.freeze()
    }
}

/// Bytes that are not the message they should be.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Garbled {
    #[error("a message of {length} bytes where {left} are left")]
    Short { length: usize, left: usize },
    #[error("{0}")]
    Decode(#[from] prost::DecodeError),
}

/// Takes one delimited message off the front of a frame's body.
pub(crate) fn take<M: Message + Default>(body: &mut Bytes) -> Result<M, Garbled> {
    Ok(M::decode(take_bytes(body)?)?)
}

/// Takes the bytes of one delimited message off the front of a frame's body, without copying.
pub(crate) fn take_bytes(body: &mut Bytes) -> Result<Bytes, Garbled> {
    let length = prost::decode_length_delimiter(&mut *body)?;
    let left = body.remaining();
    if length > left {
        return Err(Garbled::Short { length, left });
    }
    Ok(body.split_to(length))
}

/// A response: whose it is, how it went, and what follows the header.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) header: RpcResponseHeaderProto,
    pub(crate) rest: Bytes,
}

impl Response {
    pub(crate) fn decode(mut body: Bytes) -> Result<Self, Garbled> {
        let header = take(&mut body)?;
        Ok(Self { header, rest: body })
    }

    /// The id that was sent as a signed number and comes back as an unsigned one.
    pub(crate) fn call(&self) -> i32 {
        self.header.call_id.cast_signed()
    }

    /// Java class, first line, and rest of what the server said.
    pub(crate) fn words(&self) -> (String, String, String) {
        let class = self.header.exception_class_name().to_owned();
        let text = self.header.error_msg();
        // Hadoop 2.10 repeats the class.
        let repeated = text
            .strip_prefix(class.as_str())
            .and_then(|text| text.strip_prefix(": "));
        let text = repeated.unwrap_or(text);
        let (message, stack) = text.split_once('\n').unwrap_or((text, ""));
        (class, message.to_owned(), stack.to_owned())
    }
}
