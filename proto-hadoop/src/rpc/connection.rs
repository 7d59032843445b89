//! One TCP connection, owned by a writer task and a reader task.
//!
//! The reader hands answers to [`Calls`]; the writer takes frames from a bounded queue, gathers
//! what is there into one write, and pings while calls wait. Whichever ends first closes the table
//! of calls with its reason, which ends the other.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use crate::auth::{Opener, Qop, SaslError, Sealer};
use crate::wire::common::RpcSaslProto;
use crate::wire::common::rpc_response_header_proto::RpcStatusProto;
use crate::wire::common::rpc_sasl_proto::SaslState;

use super::calls::{CallFailure, Calls};
use super::frame::{FrameCutter, FrameError, FrameReader, RESPONSE_LIMIT};
use super::message::{self, ClientId, Request, Response};
use super::timing::Timing;

/// Frames that may wait for the writer. A caller waits, within its deadline, for a place.
const QUEUE: usize = 64;

/// The writer gathers frames up to this size before it writes.
const GATHER: usize = 64 << 10;

/// How a connection ended, told to everyone who waits on it.
#[derive(Debug, Clone)]
pub(crate) enum Disconnect {
    /// The server's own words.
    Fatal { class: String, message: String },
    /// What the operating system said of the connection.
    Io(Arc<io::Error>),
    /// Not Hadoop at all.
    Foreign { found: String },
    /// Bytes that cannot be read.
    Garbled { problem: String },
    /// A log-in that our side refuses.
    Sasl(SaslError),
    /// The server takes nobody without Kerberos.
    Kerberos { offered: String },
    /// The client let go of it.
    Dropped,
}

impl From<FrameError> for Disconnect {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Io(error) => Self::Io(Arc::new(error)),
            FrameError::Foreign { found } => Self::Foreign { found },
            FrameError::TooLong { length } => Self::Garbled {
                problem: format!("a message of {length} bytes, {RESPONSE_LIMIT} are the limit"),
            },
        }
    }
}

impl From<io::Error> for Disconnect {
    fn from(error: io::Error) -> Self {
        Self::Io(Arc::new(error))
    }
}

impl From<message::Garbled> for Disconnect {
    fn from(error: message::Garbled) -> Self {
        Self::Garbled {
            problem: error.to_string(),
        }
    }
}

/// Why one call on this connection got no answer.
#[derive(Debug)]
pub(crate) enum Miss {
    /// Never handed to the writer: the server cannot have run it.
    NotSent(Disconnect),
    /// See [`CallFailure`]; the server may have run it.
    Failed(CallFailure),
    /// No answer in time.
    Late,
}

/// What the log-in leaves behind for the life of the connection.
#[derive(Debug)]
pub(crate) struct LoggedIn<S> {
    pub(crate) frames: FrameReader<ReadHalf<S>>,
    pub(crate) writer: WriteHalf<S>,
    /// Goes out before the first call, in the same write.
    pub(crate) preface: BytesMut,
    /// What was agreed on; nothing where no token was used.
    pub(crate) qop: Option<Qop>,
    /// Wraps and unwraps what follows, where the server asked for it.
    pub(crate) sealer: Option<Sealer>,
    pub(crate) opener: Option<Opener>,
}

/// A logged-in connection.
#[derive(Debug)]
pub(crate) struct Connection {
    calls: Arc<Calls>,
    frames: mpsc::Sender<Bytes>,
    /// Set when the peer looks dead: no new call begins here.
    retired: AtomicBool,
    /// What the log-in agreed on.
    pub(crate) qop: Option<Qop>,
    /// Both tasks; dropping the connection ends them.
    _tasks: JoinSet<()>,
}

impl Connection {
    pub(crate) fn start<S>(session: LoggedIn<S>, client: ClientId, timing: Timing) -> Self
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        let calls = Arc::new(Calls::new());
        let (sender, queue) = mpsc::channel(QUEUE);
        let LoggedIn {
            frames,
            writer,
            preface,
            qop,
            sealer,
            opener,
        } = session;
        let reader = ConnectionReader {
            frames,
            opener,
            calls: Arc::clone(&calls),
        };
        let writer = Writer {
            writer,
            queue,
            batch: preface,
            sealer,
            client,
            ping: timing.ping,
            // A peer that takes nothing for as long as it may take to answer is stuck.
            stuck: timing.call,
            calls: Arc::clone(&calls),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(reader.run());
        tasks.spawn(writer.run());
        Self {
            calls,
            frames: sender,
            retired: AtomicBool::new(false),
            qop,
            _tasks: tasks,
        }
    }

    /// Whether a new call may begin here.
    pub(crate) fn is_usable(&self) -> bool {
        !self.retired.load(Ordering::Relaxed) && self.calls.end().is_none()
    }

    pub(crate) async fn call(
        &self,
        request: &Request<'_>,
        deadline: Instant,
    ) -> Result<Bytes, Miss> {
        let mut waiting = self.calls.begin().map_err(Miss::NotSent)?;
        let frame = request.frame(waiting.id);
        let dropped = || Miss::NotSent(self.calls.end().unwrap_or(Disconnect::Dropped));
        match timeout_at(deadline, self.frames.send(frame)).await {
            Ok(Ok(())) => {}
            Ok(Err(_closed)) => return Err(dropped()),
            Err(_elapsed) => {
                self.retired.store(true, Ordering::Relaxed);
                return Err(Miss::Late);
            }
        }
        match timeout_at(deadline, waiting.answer()).await {
            Ok(answer) => answer.map_err(Miss::Failed),
            Err(_elapsed) => {
                if waiting.peer_is_silent() {
                    self.retired.store(true, Ordering::Relaxed);
                }
                Err(Miss::Late)
            }
        }
    }
}

struct ConnectionReader<S> {
    frames: FrameReader<ReadHalf<S>>,
    opener: Option<Opener>,
    calls: Arc<Calls>,
}

impl<S: AsyncRead + AsyncWrite> ConnectionReader<S> {
    async fn run(mut self) {
        let calls = Arc::clone(&self.calls);
        let end = tokio::select! {
            end = self.read() => end,
            () = calls.closed() => return,
        };
        calls.close(&end);
    }

    /// Reads until the connection ends, and says how it ended.
    async fn read(&mut self) -> Disconnect {
        let mut cutter = FrameCutter::default();
        loop {
            let body = match self.frames.next().await {
                Ok(body) => body,
                Err(error) => return error.into(),
            };
            self.calls.heard();
            let outcome = match &mut self.opener {
                None => self.accept(body),
                Some(opener) => match unwrap(opener, &mut cutter, body) {
                    Ok(bodies) => bodies.into_iter().try_for_each(|body| self.accept(body)),
                    Err(end) => Err(end),
                },
            };
            if let Err(end) = outcome {
                return end;
            }
        }
    }

    /// Hands one response to whom it belongs.
    fn accept(&self, body: Bytes) -> Result<(), Disconnect> {
        let mut response = Response::decode(body)?;
        let status = RpcStatusProto::try_from(response.header.status);
        let answer = match status {
            Ok(RpcStatusProto::Fatal) => return Err(fatal(&response)),
            Ok(RpcStatusProto::Error) => {
                let (class, message, stack) = response.words();
                Err(CallFailure::Exception {
                    class,
                    message,
                    stack,
                })
            }
            Ok(RpcStatusProto::Success) => {
                message::take_bytes(&mut response.rest).map_err(|problem| CallFailure::Malformed {
                    problem: problem.to_string(),
                })
            }
            Err(unknown) => {
                let problem = format!("unknown status {}", unknown.0);
                return Err(Disconnect::Garbled { problem });
            }
        };
        self.calls.answer(response.call(), answer);
        Ok(())
    }
}

pub(crate) fn fatal(response: &Response) -> Disconnect {
    let (class, message, _stack) = response.words();
    Disconnect::Fatal { class, message }
}

/// Opens one wrapped message and returns the bodies of the frames that are complete by now.
fn unwrap(
    opener: &mut Opener,
    cutter: &mut FrameCutter,
    body: Bytes,
) -> Result<Vec<Bytes>, Disconnect> {
    let mut response = Response::decode(body)?;
    if response.header.status() == RpcStatusProto::Fatal {
        return Err(fatal(&response));
    }
    let wrapped: RpcSaslProto = message::take(&mut response.rest)?;
    if response.call() != message::SASL || wrapped.state() != SaslState::Wrap {
        let problem = "an unprotected message on a protected connection".to_owned();
        return Err(Disconnect::Garbled { problem });
    }
    let plain = opener.open(wrapped.token()).map_err(Disconnect::Sasl)?;
    cutter.push(&plain);
    let mut bodies = Vec::new();
    while let Some(body) = cutter.next()? {
        bodies.push(body);
    }
    Ok(bodies)
}

struct Writer<S> {
    writer: WriteHalf<S>,
    queue: mpsc::Receiver<Bytes>,
    /// What goes out with the next write.
    batch: BytesMut,
    sealer: Option<Sealer>,
    client: ClientId,
    ping: Duration,
    stuck: Duration,
    calls: Arc<Calls>,
}

impl<S: AsyncRead + AsyncWrite> Writer<S> {
    async fn run(mut self) {
        let calls = Arc::clone(&self.calls);
        let end = tokio::select! {
            end = self.write() => end,
            () = calls.closed() => Disconnect::Dropped,
        };
        // Does nothing where the reader was first.
        calls.close(&end);
    }

    async fn write(&mut self) -> Disconnect {
        loop {
            match timeout(self.ping, self.queue.recv()).await {
                Ok(Some(frame)) => {
                    self.batch.extend_from_slice(&frame);
                    while self.batch.len() < GATHER
                        && let Ok(frame) = self.queue.try_recv()
                    {
                        self.batch.extend_from_slice(&frame);
                    }
                }
                Ok(None) => return Disconnect::Dropped,
                Err(_elapsed) if self.calls.any_waiting() => {
                    message::put_ping(&mut self.batch, self.client);
                }
                Err(_elapsed) => continue,
            }
            if let Err(end) = self.flush().await {
                return end;
            }
        }
    }

    async fn flush(&mut self) -> Result<(), Disconnect> {
        let plain = self.batch.split();
        let out = match &mut self.sealer {
            None => plain,
            Some(sealer) => {
                let blob = sealer.seal(&plain).map_err(Disconnect::Sasl)?;
                let wrapped = RpcSaslProto {
                    state: SaslState::Wrap.into(),
                    token: Some(blob.into()),
                    ..RpcSaslProto::default()
                };
                let mut out = BytesMut::new();
                message::put_sasl(&mut out, &wrapped);
                out
            }
        };
        match timeout(self.stuck, self.writer.write_all(&out)).await {
            Ok(written) => written.map_err(Disconnect::from),
            Err(_elapsed) => {
                let words = "the server reads nothing";
                Err(io::Error::new(io::ErrorKind::TimedOut, words).into())
            }
        }
    }
}
