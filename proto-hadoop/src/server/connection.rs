//! One connection: opening bytes, log-in, calls.

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::auth::{DIGEST_MD5, TOKEN};
use crate::rpc::frame::{FrameError, FrameReader};
use crate::rpc::message::{self, Garbled};
use crate::wire::common::rpc_response_header_proto::{RpcErrorCodeProto, RpcStatusProto};
use crate::wire::common::rpc_sasl_proto::{SaslAuth, SaslState};
use crate::wire::common::{
    IpcConnectionContextProto, RequestHeaderProto, RpcRequestHeaderProto, RpcResponseHeaderProto,
    RpcSaslProto,
};

use super::listener::{Caller, Door, ServerTerms};
use super::log_in::{Keyring, Puzzle};
use super::{Fault, Refusal, neighbour};

/// From the TCP connection to the end of the log-in.
pub const LOG_IN: Duration = Duration::from_secs(10);
/// For a frame that has begun, and for an answer to be taken.
pub const WHOLE: Duration = Duration::from_secs(30);
/// A connection on which nothing comes for so long is closed.
pub const IDLE: Duration = Duration::from_secs(1200);
/// Longest request, bytes. Stock servers take 64 MiB and more; what this server is for needs less.
pub const REQUEST_MAX: usize = 16 << 20;
/// After a connection that could not be taken in.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The call id of the connection context.
const CONTEXT: i32 = -3;
/// The call id of a ping.
const PING: i32 = -4;
/// In refusals of a whole connection.
const NO_CALL: i32 = -1;
const AUTH_NONE: u8 = 0x00;
const AUTH_SASL: u8 = 0xdf;
const IPC_VERSION: u8 = 9;
/// Answers that may wait to be written.
const ANSWERS: usize = 64;

/// Why a connection ends.
#[derive(Debug, thiserror::Error)]
enum CloseReason {
    #[error("{0:?}")]
    Frame(FrameError),
    #[error("{0}")]
    Garbled(Garbled),
    /// Said to the peer before the connection is closed.
    #[error("{0}")]
    Fatal(Refusal, RpcErrorCodeProto),
}

impl From<FrameError> for CloseReason {
    fn from(error: FrameError) -> Self {
        Self::Frame(error)
    }
}

impl From<io::Error> for CloseReason {
    fn from(error: io::Error) -> Self {
        Self::Frame(error.into())
    }
}

impl From<Garbled> for CloseReason {
    fn from(error: Garbled) -> Self {
        Self::Garbled(error)
    }
}

/// Serves a connection to its end.
pub(crate) async fn serve(stream: TcpStream, shared: &ServerTerms) {
    let (mut reader, mut writer) = stream.into_split();
    let logged_in = timeout(LOG_IN, log_in(&mut reader, &mut writer, &shared.door)).await;
    let caller = match logged_in {
        Ok(Ok(caller)) => caller,
        Ok(Err(end)) => return say_farewell(end, &mut writer).await,
        Err(_late) => return,
    };
    let (answers, queue) = mpsc::channel(ANSWERS);
    // The writer, and answers that are late on order.
    let mut tasks = JoinSet::new();
    tasks.spawn(write(writer, queue));
    let mut calls = ServedConnection {
        frames: FrameReader::of_client(reader, REQUEST_MAX),
        caller,
        answers,
        tasks: &mut tasks,
    };
    let ended = calls.run(shared).await;
    let ServedConnection { answers, .. } = calls;
    if let Err(end) = &ended {
        tracing::trace!(%end, "connection");
    }
    if let Err(CloseReason::Fatal(refusal, detail)) = ended {
        let frame = Frame::failure(NO_CALL, RpcStatusProto::Fatal, &refusal, detail);
        let _unsent = answers.send(frame).await.is_err();
    }
    drop(answers);
    // What is on its way is still written.
    let drained = async { while tasks.join_next().await.is_some() {} };
    let _late = timeout(WHOLE, drained).await.is_err();
}

async fn say_farewell(end: CloseReason, writer: &mut OwnedWriteHalf) {
    tracing::debug!(%end, "log-in");
    if let CloseReason::Fatal(refusal, detail) = end {
        let frame = Frame::failure(NO_CALL, RpcStatusProto::Fatal, &refusal, detail);
        let _unsent = timeout(WHOLE, writer.write_all(&frame.0)).await.is_err();
    }
}

/// Writes answers until there are no more, or one is to be the last.
async fn write(mut writer: OwnedWriteHalf, mut queue: mpsc::Receiver<Frame>) {
    while let Some(frame) = queue.recv().await {
        let written = timeout(WHOLE, writer.write_all(&frame.0)).await;
        if !matches!(written, Ok(Ok(()))) || frame.1 {
            return;
        }
    }
}

/// Opening bytes, log-in, context.
async fn log_in(
    reader: &mut OwnedReadHalf,
    writer: &mut OwnedWriteHalf,
    door: &Door,
) -> Result<Caller, CloseReason> {
    let mut opening = [0; 7];
    reader.read_exact(&mut opening).await?;
    let [b'h', b'r', b'p', b'c', version, _class, auth] = opening else {
        return Err(io::Error::from(io::ErrorKind::InvalidData).into());
    };
    if version != IPC_VERSION {
        let words = format!(
            "Server IPC version {IPC_VERSION} cannot communicate with client version {version}"
        );
        let refusal = Refusal::new("org.apache.hadoop.ipc.RPC$VersionMismatch", words);
        return Err(CloseReason::Fatal(
            refusal,
            RpcErrorCodeProto::FatalVersionMismatch,
        ));
    }
    if matches!(door, Door::User) {
        let ends = (reader.local_addr()?, reader.peer_addr()?);
        if !neighbour::is_ours(ends.0, ends.1).await? {
            return Err(unauthorized(Refusal::new(
                "org.apache.hadoop.security.AccessControlException",
                "this port serves the processes of the user who opened it, and no others",
            )));
        }
    }
    match (auth, door) {
        (AUTH_NONE, Door::User) => {}
        (AUTH_SASL, Door::User) => {
            // Nothing to negotiate: the client goes on with its context.
            let _negotiate = sasl(reader).await?;
            writer
                .write_all(&Frame::sasl(SaslState::Success, None, Vec::new()).0)
                .await?;
        }
        (AUTH_SASL, Door::Token(keyring)) => {
            let identifier = exchange(reader, writer, &**keyring).await?;
            context(reader).await?;
            return Ok(Caller::Token(identifier));
        }
        (AUTH_NONE, Door::Token(_)) => {
            return Err(unauthorized(Refusal::new(
                "org.apache.hadoop.security.AccessControlException",
                "SIMPLE authentication is not enabled.  Available:[TOKEN]",
            )));
        }
        (auth, _) => {
            let words = format!("Unknown auth protocol {auth:#04x}");
            return Err(unauthorized(Refusal::new("java.io.IOException", words)));
        }
    }
    let user = context(reader).await?;
    Ok(Caller::User(user.unwrap_or_default()))
}

fn unauthorized(refusal: Refusal) -> CloseReason {
    CloseReason::Fatal(refusal, RpcErrorCodeProto::FatalUnauthorized)
}

/// NEGOTIATE, offer, INITIATE, SUCCESS; the identifier of the token.
async fn exchange(
    reader: &mut OwnedReadHalf,
    writer: &mut OwnedWriteHalf,
    keyring: &dyn Keyring,
) -> Result<Vec<u8>, CloseReason> {
    let opening = sasl(reader).await?;
    if opening.state() != SaslState::Negotiate {
        return Err(out_of_turn(opening.state()));
    }
    let puzzle = Puzzle::new();
    let offer = SaslAuth {
        method: TOKEN.into(),
        mechanism: DIGEST_MD5.into(),
        protocol: Some(String::new()),
        server_id: Some("default".into()),
        challenge: Some(puzzle.text().as_bytes().to_vec().into()),
    };
    writer
        .write_all(&Frame::sasl(SaslState::Negotiate, None, vec![offer]).0)
        .await?;
    let reply = sasl(reader).await?;
    if reply.state() != SaslState::Initiate {
        return Err(out_of_turn(reply.state()));
    }
    let (identifier, proof) = puzzle.check(reply.token(), keyring).map_err(unauthorized)?;
    writer
        .write_all(&Frame::sasl(SaslState::Success, Some(proof), Vec::new()).0)
        .await?;
    Ok(identifier)
}

fn out_of_turn(state: SaslState) -> CloseReason {
    let words = format!("SASL message {} out of turn", state.as_str_name());
    unauthorized(Refusal::new("javax.security.sasl.SaslException", words))
}

/// The next frame before the calls. Nothing of what follows it is read.
async fn next(reader: &mut OwnedReadHalf) -> Result<(RpcRequestHeaderProto, Bytes), CloseReason> {
    /// Identifier and user names are short, bytes.
    const MAX: usize = 64 << 10;
    let length = usize::try_from(reader.read_u32().await?).unwrap_or(usize::MAX);
    if length > MAX {
        return Err(FrameError::TooLong { length }.into());
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await?;
    let mut body = Bytes::from(body);
    let header = message::take(&mut body)?;
    Ok((header, body))
}

async fn sasl(reader: &mut OwnedReadHalf) -> Result<RpcSaslProto, CloseReason> {
    let (header, mut body) = next(reader).await?;
    if header.call_id != message::SASL {
        return Err(unestablished());
    }
    Ok(message::take(&mut body)?)
}

/// The name in the context.
async fn context(reader: &mut OwnedReadHalf) -> Result<Option<String>, CloseReason> {
    let (header, mut body) = next(reader).await?;
    if header.call_id != CONTEXT {
        return Err(unestablished());
    }
    let context: IpcConnectionContextProto = message::take(&mut body)?;
    Ok(context.user_info.and_then(|user| user.effective_user))
}

fn unestablished() -> CloseReason {
    let refusal = Refusal::new(
        "org.apache.hadoop.ipc.RpcServerException",
        "Connection context not established",
    );
    CloseReason::Fatal(refusal, RpcErrorCodeProto::FatalInvalidRpcHeader)
}

/// A frame to write; after it the connection ends if so marked.
struct Frame(Bytes, bool);

impl Frame {
    fn header(call: i32, status: RpcStatusProto) -> RpcResponseHeaderProto {
        RpcResponseHeaderProto {
            call_id: call.cast_unsigned(),
            status: status.into(),
            server_ipc_version_num: Some(IPC_VERSION.into()),
            ..RpcResponseHeaderProto::default()
        }
    }

    /// Header and what follows it, both delimited already or empty.
    fn new(header: &RpcResponseHeaderProto, rest: &[u8]) -> Self {
        let header = header.encode_length_delimited_to_vec();
        let length = header.len() + rest.len();
        let mut out = BytesMut::with_capacity(4 + length);
        out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
        out.extend_from_slice(&header);
        out.extend_from_slice(rest);
        Self(out.freeze(), false)
    }

    fn sasl(state: SaslState, token: Option<Vec<u8>>, auths: Vec<SaslAuth>) -> Self {
        let sasl = RpcSaslProto {
            version: None,
            state: state.into(),
            token: token.map(Into::into),
            auths,
        };
        let header = Self::header(message::SASL, RpcStatusProto::Success);
        Self::new(&header, &sasl.encode_length_delimited_to_vec())
    }

    fn failure(
        call: i32,
        status: RpcStatusProto,
        refusal: &Refusal,
        detail: RpcErrorCodeProto,
    ) -> Self {
        let header = RpcResponseHeaderProto {
            exception_class_name: Some(refusal.class.clone()),
            error_msg: Some(refusal.message.clone()),
            error_detail: Some(detail.into()),
            ..Self::header(call, status)
        };
        Self::new(&header, &[])
    }
}

/// What follows the log-in.
struct ServedConnection<'a> {
    frames: FrameReader<OwnedReadHalf>,
    caller: Caller,
    answers: mpsc::Sender<Frame>,
    tasks: &'a mut JoinSet<()>,
}

impl ServedConnection<'_> {
    async fn run(&mut self, shared: &ServerTerms) -> Result<(), CloseReason> {
        loop {
            while self.tasks.try_join_next().is_some() {
                // The writer has given up on a peer that takes nothing.
                if self.answers.is_closed() {
                    return Ok(());
                }
            }
            let mut body = self.frames.next_within(IDLE, WHOLE).await?;
            let header: RpcRequestHeaderProto = message::take(&mut body)?;
            match header.call_id {
                PING => continue,
                id if id < 0 => {
                    let words = format!("Unknown out of band call #{id}");
                    let refusal = Refusal::new("org.apache.hadoop.ipc.RpcServerException", words);
                    let detail = RpcErrorCodeProto::FatalInvalidRpcHeader;
                    return Err(CloseReason::Fatal(refusal, detail));
                }
                _ => {}
            }
            let request: RequestHeaderProto = message::take(&mut body)?;
            let parameter = message::take_bytes(&mut body)?;
            let fault = shared.faults.take(&request.method_name);
            match fault {
                Some(Fault::Dead) => std::future::pending().await,
                Some(Fault::Refused(refusal)) => {
                    self.send(answer(&header, Err(refusal))).await;
                    continue;
                }
                Some(Fault::Fatal(refusal)) => {
                    return Err(CloseReason::Fatal(refusal, RpcErrorCodeProto::FatalUnknown));
                }
                _ => {}
            }
            let protocol = &shared.protocol;
            let outcome = match request.declaring_class_protocol_name == protocol.name() {
                true => protocol.call(&self.caller, &request.method_name, parameter),
                false => Err(Refusal::new(
                    "org.apache.hadoop.ipc.RpcNoSuchProtocolException",
                    format!(
                        "Unknown protocol: {}",
                        request.declaring_class_protocol_name
                    ),
                )),
            };
            tracing::trace!(method = request.method_name, ok = outcome.is_ok(), "served");
            let frame = answer(&header, outcome);
            if self.deliver(frame, fault, &header).await {
                return Ok(());
            }
        }
    }

    /// Sends an answer as the fault will have it; true when it was the last.
    async fn deliver(
        &mut self,
        frame: Frame,
        fault: Option<Fault>,
        header: &RpcRequestHeaderProto,
    ) -> bool {
        match fault {
            Some(Fault::Late(by)) => {
                let answers = self.answers.clone();
                self.tasks.spawn(async move {
                    sleep(by).await;
                    let _gone = answers.send(frame).await.is_err();
                });
            }
            Some(Fault::Lost) => {}
            Some(Fault::Cut(length)) => {
                let part = frame.0.slice(..length.min(frame.0.len()));
                self.send(Frame(part, true)).await;
                return true;
            }
            Some(Fault::Twice) => {
                self.send(Frame(frame.0.clone(), false)).await;
                self.send(frame).await;
            }
            Some(Fault::Garbled) => {
                let header = Frame::header(header.call_id, RpcStatusProto::Success);
                // Five bytes are promised, and they begin a field that does not end.
                self.send(Frame::new(&header, b"\x05\x0a\xff\xff\xff\xff"))
                    .await;
            }
            Some(Fault::Dead | Fault::Refused(_) | Fault::Fatal(_)) | None => {
                self.send(frame).await;
            }
        }
        false
    }

    async fn send(&self, frame: Frame) {
        // A writer that is gone is noticed before the next call.
        let _gone = self.answers.send(frame).await.is_err();
    }
}

/// The answer to a call: its delimited result, or why there is none.
fn answer(request: &RpcRequestHeaderProto, outcome: Result<Vec<u8>, Refusal>) -> Frame {
    let (status, result) = match &outcome {
        Ok(result) => (RpcStatusProto::Success, result.as_slice()),
        Err(_) => (RpcStatusProto::Error, &[][..]),
    };
    let mut header = RpcResponseHeaderProto {
        client_id: Some(request.client_id.clone()),
        retry_count: request.retry_count,
        ..Frame::header(request.call_id, status)
    };
    if let Err(refusal) = &outcome {
        header.exception_class_name = Some(refusal.class.clone());
        header.error_msg = Some(refusal.message.clone());
        header.error_detail = Some(refusal.detail().into());
    }
    Frame::new(&header, result)
}
