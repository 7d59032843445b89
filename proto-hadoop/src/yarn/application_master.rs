//! `ApplicationMasterProtocol`: an ApplicationMaster's talk with the scheduler (port 8030).

use std::time::Duration;

use credentials::Token;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use crate::rpc::Idempotence::Idempotent;
use crate::rpc::{CallError, Channel, Login, Timing};
use crate::wire::{FromWire, yarn};

use super::{AllocateRequest, AllocateResponse, FinalApplicationStatus, Registration};

pub(crate) const PROTOCOL: &str = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB";

/// Pause between two tries to end. The ResourceManager writes to its state store meanwhile, which
/// takes milliseconds; stock clients wait 100 ms.
const FINISH_PAUSE: Duration = Duration::from_millis(20);

/// After this a state store that has not taken the end is taken to be stuck.
const FINISH_LIMIT: Duration = Duration::from_secs(60);

/// Speaks for one application attempt to the scheduler.
///
/// Allocate calls never overlap, and none is lost: the number that orders them is kept here, and a
/// call whose answer did not come is repeated, with the same number, before the next one. The
/// ResourceManager answers a repeated number with the answer it gave before.
///
/// When the ResourceManager rolls its key, an answer brings a new token; the next call logs in
/// with it.
///
/// All methods fail with [`CallError`]. Two failures have a meaning of their own:
/// [`is_not_registered`](CallError::is_not_registered) (the ResourceManager was restarted:
/// register again, then send the whole table of asks) and
/// [`is_attempt_gone`](CallError::is_attempt_gone) (stop).
#[derive(Debug)]
pub struct ApplicationMasterClient {
    channel: Channel,
    stream: Mutex<Stream>,
}

/// The order of allocate calls.
#[derive(Debug, Default)]
struct Stream {
    /// From the last answer; 0 after registering.
    response_id: i32,
    /// Sent with that number, the answer not seen.
    unanswered: Option<AllocateRequest>,
    /// Seen, but not yet handed to the caller.
    undelivered: Option<AllocateResponse>,
    /// The newest that the server has refused.
    refused: Option<AllocateRequest>,
}

impl ApplicationMasterClient {
    /// A client that logs in with the attempt's `YARN_AM_RM_TOKEN`. Connects at the first call.
    #[must_use]
    pub fn new(addresses: Vec<String>, token: Token) -> Self {
        let channel = Channel::new(PROTOCOL, addresses, Login::Token(token));
        Self {
            channel,
            stream: Mutex::default(),
        }
    }

    /// Sets the deadlines.
    #[must_use]
    pub fn with_timing(self, timing: Timing) -> Self {
        Self {
            channel: self.channel.with_timing(timing),
            ..self
        }
    }

    /// Announces the ApplicationMaster: where it listens (`None` for nowhere) and its web address
    /// (may be empty). Once an attempt, and again after the ResourceManager was restarted.
    ///
    /// A registration whose answer was lost is repeated, and refused with
    /// [`is_already_registered`](CallError::is_already_registered): the attempt is registered then,
    /// and allocate calls may follow.
    pub async fn register(
        &self,
        host: &str,
        port: Option<u16>,
        tracking_url: &str,
    ) -> Result<Registration, CallError> {
        let mut stream = self.stream.lock().await;
        let request = yarn::RegisterApplicationMasterRequestProto {
            host: Some(host.to_owned()),
            rpc_port: Some(port.map_or(-1, i32::from)),
            tracking_url: Some(tracking_url.to_owned()),
        };
        let plain = Registration::from_wire;
        let outcome = self
            .channel
            .call("registerApplicationMaster", Idempotent, &request, plain)
            .await;
        // Either way the ResourceManager counts from 0 now.
        if let Err(error) = &outcome
            && !error.is_already_registered()
        {
            return outcome;
        }
        let mut undelivered = stream.undelivered.take();
        if let Some(undelivered) = &mut undelivered {
            // Whoever registers again has not started them, and the ResourceManager that now has
            // the registration does not know them.
            undelivered.allocated.clear();
        }
        *stream = Stream {
            undelivered,
            refused: stream.refused.take(),
            ..Stream::default()
        };
        outcome
    }

    /// One heartbeat: changes to the table of asks go out, news come in.
    ///
    /// May be cancelled and repeated: what was sent stays sent, and what was answered is handed
    /// over by the next call.
    pub async fn allocate(&self, request: AllocateRequest) -> Result<AllocateResponse, CallError> {
        let mut stream = self.stream.lock().await;
        if let Some(earlier) = stream.unanswered.clone() {
            self.send(&mut stream, earlier).await?;
        }
        self.send(&mut stream, request).await?;
        Ok(stream.undelivered.take().unwrap_or_default())
    }

    /// The request of the last [`allocate`](Self::allocate) that the scheduler refused with an
    /// exception of its own: nothing of it was taken, and it is not repeated. It may be that of an earlier call,
    /// which was in doubt until then; the call that brought the refusal was not sent in that case.
    pub async fn take_refused(&self) -> Option<AllocateRequest> {
        self.stream.lock().await.refused.take()
    }

    async fn send(&self, stream: &mut Stream, request: AllocateRequest) -> Result<(), CallError> {
        let wire = request.to_wire(stream.response_id);
        stream.unanswered = Some(request);
        let plain = |answer: yarn::AllocateResponseProto| {
            let token = answer
                .am_rm_token
                .clone()
                .map(Token::from_wire)
                .transpose()?;
            Ok((
                answer.response_id(),
                token,
                AllocateResponse::from_wire(answer)?,
            ))
        };
        // Safe to repeat, by its number.
        let outcome = self
            .channel
            .call("allocate", Idempotent, &wire, plain)
            .await;
        let (response_id, token, response) = match outcome {
            Ok(answer) => answer,
            Err(error) => {
                // The scheduler's own answer: this call is over, and repeating it would not help. Of any
                // other word it is not known whether an earlier try was taken.
                if error.is_of_yarn() {
                    stream.refused = stream.unanswered.take();
                }
                return Err(error);
            }
        };
        stream.unanswered = None;
        stream.response_id = response_id;
        stream.undelivered = Some(match stream.undelivered.take() {
            Some(earlier) => earlier.followed_by(response),
            None => response,
        });
        if let Some(token) = token {
            self.roll_over(token).await;
        }
        Ok(())
    }

    /// Every answer to an old key's connection brings the new token until a new log-in.
    async fn roll_over(&self, token: Token) {
        let newer = Login::Token(token);
        if self.channel.login() != newer {
            tracing::info!("the ResourceManager has rolled its key; logging in with the new token");
            self.channel.log_in_as(newer);
        }
    }

    /// The token of the next log-in: the one given at first, or the newest from the scheduler.
    #[must_use]
    pub fn token(&self) -> Option<Token> {
        match self.channel.login() {
            Login::Token(token) => Some(token),
            Login::User(_) => None,
        }
    }

    /// How the ResourceManager protects the open connection: `authentication`, `integrity` or
    /// `privacy`, as its `hadoop.rpc.protection` says. `None` where no connection is open.
    pub async fn protection(&self) -> Option<&'static str> {
        self.channel.protection()
    }

    /// Ends the application, and returns when the ResourceManager has noted it.
    ///
    /// Stop the containers first: YARN kills what is left. An ApplicationMaster that YARN started
    /// must then exit, or is killed after its expiry time.
    pub async fn finish(
        &self,
        status: FinalApplicationStatus,
        diagnostics: &str,
        tracking_url: &str,
    ) -> Result<(), CallError> {
        let request = yarn::FinishApplicationMasterRequestProto {
            diagnostics: Some(diagnostics.to_owned()),
            tracking_url: Some(tracking_url.to_owned()),
            final_application_status: Some(status.number()),
        };
        let plain =
            |answer: yarn::FinishApplicationMasterResponseProto| Ok(answer.is_unregistered());
        // Repeating is how this call is meant to be used: the ResourceManager needs a write to its
        // state store between the first call and the last.
        let start = Instant::now();
        loop {
            let method = "finishApplicationMaster";
            if self
                .channel
                .call(method, Idempotent, &request, plain)
                .await?
            {
                return Ok(());
            }
            let waited = start.elapsed();
            if waited > FINISH_LIMIT {
                let address = self.channel.addresses();
                return Err(CallError::Deadline {
                    method,
                    address,
                    waited,
                });
            }
            sleep(FINISH_PAUSE).await;
        }
    }
}
