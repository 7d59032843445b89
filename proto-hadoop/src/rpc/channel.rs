//! Calls to one service at one of several addresses: connects, logs in, tries again, fails over.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use credentials::Token;
use prost::Message;
use tokio::time::{Instant, sleep, timeout};

use crate::auth::Qop;
use crate::wire::Incomplete;

use super::calls::CallFailure;
use super::connection::{Connection, Disconnect, Miss};
use super::ended::{connect_error, explain_end};
use super::error::CallError;
use super::frame::REQUEST_LIMIT;
use super::message::{ClientId, Request};
use super::retry::{Disposition, Idempotence, disposition};
use super::round::{RetryRound, jittered};
use super::timing::Timing;
use super::{dial, handshake, names};

/// Who answered, and what: a call of any method.
type AnyCall<'a> = Pin<Box<dyn Future<Output = Result<(String, Bytes), CallError>> + Send + 'a>>;

/// Room for the two headers of a call; see `frame::REQUEST_LIMIT`.
const HEADER_ROOM: usize = 4 << 10;

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Login {
    /// A name that the server believes.
    User(String),
    /// A token that it checks.
    Token(Token),
}

/// One service of Hadoop, by its protocol's Java name.
#[derive(Debug)]
pub(crate) struct Channel {
    protocol: &'static str,
    addresses: Vec<String>,
    login: Mutex<Login>,
    client: ClientId,
    timing: Timing,
    slot: Mutex<ConnectionSlot>,
    /// Held while a connection is opened, so that callers share it, or the reason why there is none.
    opening: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct ConnectionSlot {
    /// Index of the address in use.
    at: usize,
    /// That of the last address that has answered a call.
    answered: Option<usize>,
    connection: Option<Arc<Connection>>,
    /// When a connection could last not be opened, to which address, and why.
    failed: Option<(Instant, usize, CallError)>,
    /// Log-ins given so far.
    logins: u64,
}

impl Channel {
    pub(crate) fn new(protocol: &'static str, addresses: Vec<String>, login: Login) -> Self {
        Self {
            protocol,
            addresses,
            login: Mutex::new(login),
            client: ClientId(rand::random()),
            timing: Timing::default(),
            slot: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
        }
    }

    pub(crate) fn with_timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// All addresses, for messages.
    pub(crate) fn addresses(&self) -> String {
        self.addresses.join(", ")
    }

    /// The protection of the open connection, in the words of `hadoop.rpc.protection`.
    pub(crate) fn protection(&self) -> Option<&'static str> {
        let slot = self.slot();
        let qop = slot
            .connection
            .as_ref()
            .and_then(|connection| connection.qop);
        qop.map(Qop::hadoop_name)
    }

    pub(crate) fn login(&self) -> Login {
        self.login
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Logs in anew, with `login`, before the next call. Calls under way keep their connection.
    pub(crate) fn log_in_as(&self, login: Login) {
        *self.login.lock().unwrap_or_else(PoisonError::into_inner) = login;
        let mut slot = self.slot();
        slot.connection = None;
        slot.logins = slot.logins.wrapping_add(1);
    }

    /// Whole between any two steps; never held over a wait.
    fn slot(&self) -> MutexGuard<'_, ConnectionSlot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `method` and makes a plain answer of it by `plain`, trying as long as the rules of
    /// [`disposition`] and the patience of [`Timing`] allow.
    pub(crate) async fn call<Q, W, T>(
        &self,
        method: &'static str,
        idempotence: Idempotence,
        parameter: &Q,
        plain: impl FnOnce(W) -> Result<T, Incomplete>,
    ) -> Result<T, CallError>
    where
        Q: Message,
        W: Message + Default,
    {
        let parameter = parameter.encode_to_vec();
        let answer = self.call_bytes(method, idempotence, parameter);
        let (address, bytes) = answer.await?;
        let malformed = |problem: String| CallError::Malformed {
            method,
            address: address.clone(),
            problem,
        };
        let message = W::decode(bytes).map_err(|error| malformed(error.to_string()))?;
        plain(message).map_err(|error| malformed(error.to_string()))
    }

    /// A future without a type of its own, and never inlined: with one, all of it would be compiled once more for each
    /// method, into each crate that calls it.
    #[inline(never)]
    fn call_bytes(
        &self,
        method: &'static str,
        idempotence: Idempotence,
        parameter: Vec<u8>,
    ) -> AnyCall<'_> {
        Box::pin(async move { self.try_all(method, idempotence, &parameter).await })
    }

    async fn try_all(
        &self,
        method: &'static str,
        idempotence: Idempotence,
        parameter: &[u8],
    ) -> Result<(String, Bytes), CallError> {
        let length = parameter.len();
        let limit = REQUEST_LIMIT - HEADER_ROOM;
        if length > limit {
            let address = self.addresses.first().cloned().unwrap_or_default();
            return Err(CallError::TooLong {
                method,
                address,
                length,
                limit,
            });
        }
        let request = Request {
            client: self.client,
            protocol: self.protocol,
            method,
            parameter,
        };
        let start = Instant::now();
        let mut round = RetryRound::default();
        // How long one of several servers has that has answered nothing yet; it doubles with each round.
        let is_hasty = self.addresses.len() > 1 && idempotence == Idempotence::Idempotent;
        let mut haste = is_hasty.then_some(self.timing.first);
        loop {
            let (at, error) = match self.attempt(&request, method, haste).await {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            let next = disposition(&error, idempotence);
            tracing::debug!(method, ?next, %error, "call failed");
            let wait = match next {
                Disposition::Stop => return Err(error),
                Disposition::Retry => round.retry(&error),
                Disposition::Failover => {
                    self.move_on(at);
                    round.failover(self.addresses.len())
                }
            };
            round.keep(at, error);
            if wait
                && let Some(span) = haste
                && round.found_late()
            {
                // One that has refused may have become active meanwhile.
                let longer = span.saturating_mul(2);
                haste = (round.found_other() && longer < self.timing.call).then_some(longer);
                round = RetryRound::default();
                continue;
            }
            if wait {
                let pause = jittered(round.pause(self.timing.pause));
                let patience = match round.found_nobody() {
                    true => self.timing.absence,
                    false => self.timing.patience,
                };
                if start.elapsed() + pause > patience {
                    return Err(round.into_error(method));
                }
                sleep(pause).await;
                round = round.next();
            }
        }
    }

    /// One try at the present address, whose index it returns with a failure.
    async fn attempt(
        &self,
        request: &Request<'_>,
        method: &'static str,
        haste: Option<Duration>,
    ) -> Result<(String, Bytes), (usize, CallError)> {
        let (at, connection) = self.connection(method).await?;
        let address = self.addresses.get(at).cloned().unwrap_or_default();
        let limit = match haste {
            Some(span) if self.slot().answered != Some(at) => self.timing.call.min(span),
            Some(_) | None => self.timing.call,
        };
        let called = connection.call(request, Instant::now() + limit).await;
        match called {
            Ok(bytes) => {
                self.slot().answered = Some(at);
                Ok((address, bytes))
            }
            Err(miss) => Err((at, self.explain(miss, method, address, limit))),
        }
    }

    /// The connection in use, or a new one to the present address.
    async fn connection(
        &self,
        method: &'static str,
    ) -> Result<(usize, Arc<Connection>), (usize, CallError)> {
        let asked = Instant::now();
        if let Some(open) = self.held() {
            return Ok(open);
        }
        let Ok(_opening) = timeout(self.timing.connect, self.opening.lock()).await else {
            let at = self.slot().at;
            let address = self.addresses.get(at).cloned().unwrap_or_default();
            return Err((at, connect_error(&address, self.late())));
        };
        if let Some(open) = self.held() {
            return Ok(open);
        }
        let (at, logins) = {
            let slot = self.slot();
            // What whoever opened one meanwhile has found holds for all who waited for it.
            if let Some((when, at, error)) = &slot.failed
                && *when >= asked
                && *at == slot.at
            {
                return Err((*at, error.clone()));
            }
            (slot.at, slot.logins)
        };
        let address = self
            .addresses
            .get(at)
            .ok_or((at, CallError::NoAddress { method }))?;
        let opened = timeout(self.timing.connect, self.open(address)).await;
        let connection = match opened {
            Ok(opened) => opened,
            Err(_elapsed) => Err(Unopened::Network(self.late())),
        };
        let connection = connection.map_err(|unopened| match unopened {
            Unopened::Network(source) => connect_error(address, source),
            // Nothing was asked for yet, so nothing can have been done.
            Unopened::Login(end) => explain_end(end, method, address.clone(), false),
        });
        let mut slot = self.slot();
        match connection {
            Ok(connection) => {
                let connection = Arc::new(connection);
                // One with an earlier log-in serves this call alone.
                if (slot.at, slot.logins) == (at, logins) {
                    slot.connection = Some(Arc::clone(&connection));
                }
                Ok((at, connection))
            }
            Err(error) => {
                slot.failed = Some((Instant::now(), at, error.clone()));
                Err((at, error))
            }
        }
    }

    /// The connection in use, if it is good for another call.
    fn held(&self) -> Option<(usize, Arc<Connection>)> {
        let mut slot = self.slot();
        slot.connection = slot.connection.take().filter(|held| held.is_usable());
        let connection = slot.connection.as_ref()?;
        Some((slot.at, Arc::clone(connection)))
    }

    fn late(&self) -> io::Error {
        io::Error::new(
            io::ErrorKind::TimedOut,
            format!("no answer within {} s", self.timing.connect.as_secs_f32()),
        )
    }

    async fn open(&self, address: &str) -> Result<Connection, Unopened> {
        let found = names::addresses(address).await.map_err(Unopened::Network)?;
        let stream = dial::first(found).await;
        let stream = stream.map_err(Unopened::Network)?;
        let login = self.login();
        let session = handshake::login(stream, self.protocol, &login, self.client).await;
        let session = session.map_err(Unopened::Login)?;
        Ok(Connection::start(session, self.client, self.timing))
    }

    /// Leaves the address `at` for the next, unless another caller has done so already.
    fn move_on(&self, at: usize) {
        let mut slot = self.slot();
        if slot.at == at && !self.addresses.is_empty() {
            slot.at = (at + 1) % self.addresses.len();
            slot.connection = None;
        }
    }

    fn explain(
        &self,
        miss: Miss,
        method: &'static str,
        address: String,
        waited: Duration,
    ) -> CallError {
        match miss {
            Miss::Late => {
                // The next is asked first until it is heard again.
                self.slot().answered = None;
                CallError::Deadline {
                    method,
                    address,
                    waited,
                }
            }
            Miss::NotSent(end) => explain_end(end, method, address, false),
            Miss::Failed(CallFailure::End(end)) => explain_end(end, method, address, true),
            Miss::Failed(CallFailure::Exception {
                class,
                message,
                stack,
            }) => CallError::Remote {
                method,
                address,
                class,
                message,
                stack,
            },
            Miss::Failed(CallFailure::Malformed { problem }) => CallError::Malformed {
                method,
                address,
                problem,
            },
        }
    }
}

/// Why a connection could not be opened.
enum Unopened {
    Network(io::Error),
    Login(Disconnect),
}
