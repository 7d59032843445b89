//! From submit to the last word: waits for the ApplicationMaster, attaches to it, mirrors the job.

use std::time::Duration;

use job::exit::{self, Exit};
use job::wire;
use job::wire::client_order::Order;
use job::wire::clients_client::ClientsClient;
use job::wire::job_event::Event;
use proto_hadoop::yarn::{ApplicationReport, FinalApplicationStatus, YarnApplicationState};
use proto_hadoop::{AppAttemptId, ApplicationClient, ApplicationId, CallError};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::Channel;

use crate::attempts::{self, Attempts, Lost};
use crate::explained::Sink;
use crate::failure::{Failure, say};
use crate::interrupt::{self, Asked, SIGTSTP, Signals};
use crate::keys::Keys;
use crate::kill::kill;
use crate::link::dial;
use crate::outlet::Layout;
use crate::patience::Patience;
use crate::preflight::unavailable;
use crate::progress::Progress;
use crate::streams::{self, OutputEnd, Source};
use crate::terminal::{self, Raw};

/// Between two looks at the application: soon after the submit, and when it lasts.
const SOON: Duration = Duration::from_millis(25);
const LATER: Duration = Duration::from_millis(250);
/// When "soon" is over.
const SOON_ENDS: Duration = Duration::from_secs(3);
/// A ResourceManager that has not answered for so long is given up.
const RM_PATIENCE: Duration = Duration::from_secs(120);
/// Between two thoughts of how long something has lasted.
const REMIND: Duration = Duration::from_secs(1);
/// For an order to leave before this process stops.
const LAST_ORDER: Duration = Duration::from_millis(100);
/// For the thread that writes, when the connection has broken.
const OUTPUT_PATIENCE: Duration = Duration::from_secs(10);
/// Each for the ResourceManager to take the verdict from the ApplicationMaster, which goes on trying
/// without us, and for its own account of a job that is lost.
const ROOT_PATIENCE: Duration = Duration::from_secs(5);
/// For YARN to say of an ApplicationMaster that cannot be reached that it is gone.
const GONE_SOON: Duration = Duration::from_secs(3);
/// For an ApplicationMaster that is reached to take us as its client.
const ATTACH_DEADLINE: Duration = Duration::from_secs(15);

/// How the job ended, for the exit of the command.
pub(crate) struct Ended {
    pub code: u8,
    /// Empty for a success.
    pub sentence: String,
    /// The ApplicationMaster's own words; absent when it could not be heard.
    pub verdict: Option<wire::Verdict>,
}

impl Ended {
    /// By `signal`, before YARN heard of the job.
    pub(crate) fn unsubmitted(signal: u8) -> Self {
        Self {
            code: 128u8.saturating_add(signal),
            sentence: "interrupted before anything was submitted".into(),
            verdict: None,
        }
    }
}

/// One job that has been submitted.
pub(crate) struct Follower<'a> {
    pub rm: &'a ApplicationClient,
    pub id: ApplicationId,
    pub keys: &'a Keys,
    /// For YARN to start the ApplicationMaster.
    pub patience: Patience,
    pub progress: Progress,
    pub signals: &'a mut Signals,
    /// Where output goes.
    pub layout: Layout,
    /// What rank 0 reads.
    pub input: Source,
    /// Which of them is followed.
    pub attempts: Attempts,
    /// Rank 0 has our terminal.
    pub terminal: bool,
    /// Where the ApplicationMaster's reasons go.
    pub explain: Option<Sink>,
}

/// What a look at the application showed.
enum Seen {
    /// With what YARN says of the reason, if it says something.
    Waiting(Option<String>),
    Running(String, Option<AppAttemptId>),
    Over(Box<ApplicationReport>),
}

impl Follower<'_> {
    /// Until the job is over and gone.
    pub(crate) async fn follow(mut self) -> Result<Ended, Failure> {
        self.progress.show(format!("{}: submitted", self.id));
        loop {
            let address = match self.find().await? {
                Found::Address(address) => address,
                Found::Ended(ended) => return Ok(ended),
            };
            match self.attach_to(&address, None).await? {
                Followed::Ended(ended) => return Ok(ended),
                Followed::Lost(why) => {
                    if let Some(ended) = self.lost(&why).await? {
                        return Ok(ended);
                    }
                }
            }
        }
    }

    /// Waits for the ApplicationMaster of the present attempt.
    async fn find(&mut self) -> Result<Found, Failure> {
        let mut said = String::new();
        loop {
            let seen = tokio::select! {
                seen = look(self.rm, self.id, &mut self.progress) => seen?,
                signal = self.signals.ending() => {
                    return self.interrupted(signal).await.map(Found::Ended);
                }
                () = self.patience.over() => return self.given_up(&said).await.map(Found::Ended),
            };
            match seen {
                Seen::Waiting(None) => {}
                Seen::Waiting(Some(reason)) => said = reason,
                // What is still said of the attempt that is over.
                Seen::Running(_, attempt) if self.attempts.is_over(attempt) => {
                    pause(&self.progress).await;
                }
                Seen::Running(address, attempt) => {
                    self.attempts.follow(attempt);
                    return Ok(Found::Address(address));
                }
                Seen::Over(report) => return Ok(Found::Ended(judge(&report))),
            }
        }
    }

    /// The same for the one attempt whose ApplicationMaster is a task of this process: it listens at
    /// `address`, and gives the output through `beside`.
    pub(crate) async fn follow_at(
        mut self,
        address: &str,
        beside: Beside,
    ) -> Result<Ended, Failure> {
        match self.attach_to(address, Some(beside)).await? {
            Followed::Ended(ended) => Ok(ended),
            Followed::Lost(why) => match self.lost(&why).await? {
                Some(ended) => Ok(ended),
                None => Ok(self.attempts.unforeseen(self.id)),
            },
        }
    }

    /// Attaches, and follows to the end.
    async fn attach_to(
        &mut self,
        address: &str,
        beside: Option<Beside>,
    ) -> Result<Followed, Failure> {
        let attached = tokio::select! {
            attached = attach(address, self.keys, beside) => attached,
            signal = self.signals.ending() => {
                return self.interrupted(signal).await.map(Followed::Ended);
            }
        };
        match attached {
            Ok(attached) => Box::pin(self.attached(attached)).await,
            Err(error) => {
                let error = chain(&error);
                if self.is_gone().await? {
                    return Ok(Followed::Lost(error));
                }
                say(format!(
                    "cannot attach to the ApplicationMaster of {} at {address}: {error}; is a \
                     firewall between here and that port? --am-ports holds it in a range. The job \
                     goes on; its output goes to the ApplicationMaster's log",
                    self.id
                ));
                self.unattached().await
            }
        }
    }

    /// Whether YARN says within a moment that the present attempt is over.
    async fn is_gone(&mut self) -> Result<bool, Failure> {
        let deadline = Instant::now() + GONE_SOON;
        while Instant::now() < deadline {
            let report = patiently(self.rm, &self.id).await?;
            let runs = report.state == YarnApplicationState::Running;
            if !runs || self.attempts.is_another(report.current_attempt) {
                return Ok(true);
            }
            sleep(LATER).await;
        }
        Ok(false)
    }

    /// Follows a job whose ApplicationMaster cannot be reached, through the ResourceManager.
    async fn unattached(&mut self) -> Result<Followed, Failure> {
        loop {
            let seen = tokio::select! {
                seen = look(self.rm, self.id, &mut self.progress) => seen?,
                signal = self.signals.ending() => {
                    return self.interrupted(signal).await.map(Followed::Ended);
                }
            };
            match seen {
                Seen::Running(_, attempt) if self.attempts.is_another(attempt) => {
                    return Ok(Followed::Lost("it could not be reached".into()));
                }
                Seen::Waiting(_) => {}
                Seen::Running(..) => sleep(LATER).await,
                Seen::Over(report) => return Ok(Followed::Ended(judge(&report))),
            }
        }
    }

    /// Kills the job through the ResourceManager.
    pub(crate) async fn interrupted(&mut self, signal: u8) -> Result<Ended, Failure> {
        self.progress.clear();
        let report = kill(self.rm, &self.id, "interrupted by the user").await?;
        Ok(Ended {
            code: match report.final_status {
                FinalApplicationStatus::Succeeded => Exit::Success.code(),
                _ => 128u8.saturating_add(signal),
            },
            sentence: format!("{} was interrupted", self.id),
            verdict: None,
        })
    }

    /// Kills a job whose ApplicationMaster did not come in time; `said` is YARN's last word on it.
    pub(crate) async fn given_up(&mut self, said: &str) -> Result<Ended, Failure> {
        self.progress.clear();
        let ended = self.patience.ended(self.id, said);
        let report = kill(self.rm, &self.id, &ended.sentence).await?;
        match report.final_status {
            // It was quicker than the order.
            FinalApplicationStatus::Succeeded => Ok(judge(&report)),
            _ => Ok(ended),
        }
    }

    async fn attached(&mut self, attached: Attached) -> Result<Followed, Failure> {
        let Attached {
            client,
            orders,
            mut events,
            output,
            place,
        } = attached;
        let mut output_task = JoinSet::new();
        output_task.spawn(streams::output(output, self.layout.clone()));
        let mut input_task = JoinSet::new();
        input_task.spawn(streams::input(client.clone(), self.input.clone()));

        let mut resized = match self.terminal {
            true => signal(SignalKind::window_change()).ok(),
            false => None,
        };
        let mut raw = self.terminal.then(Raw::enter).flatten();
        let mut verdict: Option<wire::Verdict> = None;
        let mut signalled: Option<u8> = None;
        let mut output_end = None;
        let broken = loop {
            // Until the last word is said and the last byte is written, however slow the reader.
            tokio::select! {
                event = events.message(), if verdict.is_none() => match event {
                    Ok(Some(wire::JobEvent { event: Some(Event::Phase(phase)) })) => {
                        self.progress.phase(&phase);
                    }
                    Ok(Some(wire::JobEvent { event: Some(Event::Verdict(last)) })) => {
                        self.progress.clear();
                        verdict = Some(last);
                        if output_end.is_some() {
                            break None;
                        }
                    }
                    Ok(Some(wire::JobEvent { event: Some(Event::Explained(line)) })) => {
                        if let Some(sink) = &mut self.explain {
                            self.progress.aside(|| sink.write(&line));
                        }
                    }
                    Ok(Some(wire::JobEvent { event: Some(Event::Notice(notice)) })) => {
                        self.progress.remark(&notice.sentence);
                    }
                    Ok(Some(wire::JobEvent { event: Some(Event::Again(_)) })) => {
                        input_task.abort_all();
                        if self.input.is_spent() {
                            // It was read in the moment in which the run ended.
                            say(attempts::SPENT);
                            kill_order(&orders, wire::kill::Reason::Interrupted).await;
                        } else {
                            input_task.spawn(streams::input(client.clone(), self.input.clone()));
                        }
                    }
                    // The one after the verdict, and none that this build knows.
                    Ok(Some(wire::JobEvent { event: Some(Event::Unregistered(_)) | None })) => {}
                    Ok(None) => break Some("it closed the connection".to_owned()),
                    Err(status) => break Some(status.message().to_owned()),
                },
                Some(Ok(end)) = output_task.join_next() => {
                    if !matches!(end, OutputEnd::Complete | OutputEnd::Broken) && signalled.is_none() {
                        // The job ends as a local program would whose output is refused.
                        signalled = Some(SIGPIPE);
                        kill_order(&orders, wire::kill::Reason::NoReader).await;
                    }
                    output_end = Some(end);
                    if verdict.is_some() {
                        break None;
                    }
                }
                () = sleep(REMIND) => self.progress.remind(),
                () = changed(&mut resized) => {
                    if let Some(size) = terminal::size() {
                        order(&orders, Order::WindowSize(size)).await;
                    }
                }
                asked = self.signals.next() => match asked {
                    Asked::Forward(number) => {
                        let signal = wire::Signal { signal: i32::from(number) };
                        order(&orders, Order::Signal(signal)).await;
                    }
                    Asked::Pause => {
                        let signal = wire::Signal { signal: i32::from(SIGTSTP) };
                        order(&orders, Order::Signal(signal)).await;
                        self.progress.clear();
                        sleep(LAST_ORDER).await;
                        let was_raw = raw.take().is_some();
                        interrupt::pause();
                        raw = was_raw.then(Raw::enter).flatten();
                    }
                    Asked::End(number) if signalled.is_some() || verdict.is_some() => {
                        return self.interrupted(number).await.map(Followed::Ended);
                    }
                    Asked::End(number) => {
                        self.progress.clear();
                        signalled = Some(number);
                        say("ending the job; once more to end it at once");
                        kill_order(&orders, wire::kill::Reason::Interrupted).await;
                    }
                }
            }
        };
        input_task.abort_all();
        drop(raw);
        if verdict.is_none() {
            // What has arrived is still shown before YARN is asked.
            let last = timeout(OUTPUT_PATIENCE, output_task.join_next()).await;
            output_end = output_end.or_else(|| last.ok().flatten().and_then(Result::ok));
        }
        self.progress.clear();
        let unwritable = match output_end {
            Some(OutputEnd::Unwritable(error)) => {
                say(format!("cannot write the program's output: {error}"));
                true
            }
            Some(OutputEnd::Complete | OutputEnd::NoReader) => false,
            Some(OutputEnd::Broken) | None => {
                say("the connection broke while output was on its way: some of it is missing");
                false
            }
        };
        match (verdict, broken) {
            (Some(verdict), _) => {
                // The last event follows at once, or never: the verdict is said.
                let is_lost = verdict.exit_code == i32::from(Exit::Lost.code());
                let last = timeout(ROOT_PATIENCE, events.message()).await;
                let is_taken = matches!(last, Ok(Ok(Some(wire::JobEvent { event: Some(_) }))));
                if !is_taken && is_lost && self.attempts.are_left() {
                    // An attempt that YARN has given up, and that knows it, is not the job.
                    return Ok(Followed::Lost(verdict.sentence));
                }
                let mut ended = conclude(verdict, signalled);
                let is_told = ended.code == Exit::Killed.code() && signalled.is_none();
                if !is_taken && is_told && self.attempts.are_left() {
                    let report = patiently(self.rm, &self.id).await?;
                    if report.state != YarnApplicationState::Killed {
                        // Told to end because YARN has given this attempt up: the next is the job.
                        return Ok(Followed::Lost(ended.sentence));
                    }
                }
                if !is_taken && (is_lost || is_told) {
                    self.find_the_root(&mut ended, &place).await;
                }
                if ended.code == Exit::Killed.code() && signalled.is_none() {
                    // By whom and why, YARN alone knows.
                    let report = patiently(self.rm, &self.id).await?;
                    if report.state == YarnApplicationState::Killed {
                        ended.sentence = judge(&report).sentence;
                    }
                }
                if !is_taken && ended.code == Exit::Success.code() {
                    say(format!(
                        "the ResourceManager has not taken the verdict of {}, a success; YARN may record \
                         a failure",
                        self.id
                    ));
                }
                if unwritable {
                    ended.code = Exit::Staging.code();
                }
                Ok(Followed::Ended(ended))
            }
            (None, why) => {
                if let Some(signal) = signalled {
                    // Nobody wants another attempt.
                    return self.interrupted(signal).await.map(Followed::Ended);
                }
                let why = why.unwrap_or_else(|| "it left without a verdict".into());
                Ok(Followed::Lost(why))
            }
        }
    }

    /// The ResourceManager has not taken the verdict. Where that is because it has itself given the
    /// ApplicationMaster up, what that saw are the consequences, or the other side of the same.
    async fn find_the_root(&self, ended: &mut Ended, place: &str) {
        let asked = timeout(ROOT_PATIENCE, self.rm.report(&self.id)).await;
        let Ok(Ok(report)) = asked else { return };
        if report.state != YarnApplicationState::Failed {
            return;
        }
        let root = judge(&report).sentence;
        ended.sentence = match ended.code == Exit::Lost.code() {
            true => format!(
                "{}; YARN has given up its ApplicationMaster {place}: {root}",
                ended.sentence
            ),
            // It was told to end, and nobody has asked for that.
            false => format!("lost the ApplicationMaster of {} {place}: {root}", self.id),
        };
        ended.code = Exit::Lost.code();
    }

    /// The link broke without a verdict: the ResourceManager knows what became of the job. `None`:
    /// there is another attempt.
    async fn lost(&mut self, why: &str) -> Result<Option<Ended>, Failure> {
        let deadline = Instant::now() + self.attempts.patience();
        self.progress
            .show(format!("lost the ApplicationMaster ({why}), asking YARN"));
        while Instant::now() < deadline {
            let report = tokio::select! {
                report = patiently(self.rm, &self.id) => report,
                signal = self.signals.ending() => return self.interrupted(signal).await.map(Some),
            };
            let report = match report {
                Ok(report) => report,
                // That nobody answers is no reason why it was lost.
                Err(silence) => {
                    return Ok(Some(Ended {
                        code: Exit::Lost.code(),
                        sentence: format!(
                            "lost the ApplicationMaster of {}: {why}; nor could YARN be asked: {silence}",
                            self.id
                        ),
                        verdict: None,
                    }));
                }
            };
            if report.state.is_final() {
                let mut ended = judge(&report);
                if ended.code == 0 || ended.sentence.is_empty() {
                    return Ok(Some(ended));
                }
                if report.state != YarnApplicationState::Killed && ended.code == Exit::Killed.code()
                {
                    // It ended the job because it had lost us, too.
                    ended.code = Exit::Lost.code();
                }
                ended.sentence = format!(
                    "lost the ApplicationMaster of {}: {}",
                    self.id, ended.sentence
                );
                return Ok(Some(ended));
            }
            match self.attempts.next(&report, self.input.is_spent()) {
                Lost::Still => {}
                Lost::Replaced { lost, name } => {
                    say(attempts::replaced(self.rm, lost, &name).await);
                    self.progress = self.progress.anew();
                    self.patience = self.patience.anew();
                    return Ok(None);
                }
                Lost::Spent => {
                    let _report = kill(self.rm, &self.id, attempts::SPENT).await?;
                    return Ok(Some(Ended {
                        code: Exit::Lost.code(),
                        sentence: format!(
                            "lost the ApplicationMaster of {}: {why}; {}",
                            self.id,
                            attempts::SPENT
                        ),
                        verdict: None,
                    }));
                }
            }
            tokio::select! {
                () = sleep(LATER) => {}
                signal = self.signals.ending() => return self.interrupted(signal).await.map(Some),
            }
        }
        // It may be cut off from us alone; what nobody follows must not stay.
        let _report = kill(self.rm, &self.id, "the client lost the ApplicationMaster").await?;
        Ok(Some(Ended {
            code: Exit::Lost.code(),
            sentence: format!(
                "lost the ApplicationMaster of {}: {why}; YARN still took it for alive after {} s, \
                 so the job was killed",
                self.id,
                self.attempts.patience().as_secs()
            ),
            verdict: None,
        }))
    }
}

/// What came of waiting for an ApplicationMaster.
enum Found {
    /// It listens there.
    Address(String),
    /// There will be none.
    Ended(Ended),
}

/// What came of following an ApplicationMaster.
enum Followed {
    Ended(Ended),
    /// It is gone, for this reason, and with it perhaps not the job.
    Lost(String),
}

/// The exit of a local program whose reader has gone.
const SIGPIPE: u8 = 13;

/// One look at the application, after a pause that grows with its age.
async fn look(
    rm: &ApplicationClient,
    id: ApplicationId,
    progress: &mut Progress,
) -> Result<Seen, Failure> {
    let report = patiently(rm, &id).await?;
    let seen = match report.state {
        state if state.is_final() => return Ok(Seen::Over(Box::new(report))),
        YarnApplicationState::Running => match report.rpc_port {
            Some(port) => {
                let address = format!("{}:{port}", report.host);
                return Ok(Seen::Running(address, report.current_attempt));
            }
            None => Seen::Waiting(reason(&report)),
        },
        _ => Seen::Waiting(reason(&report)),
    };
    if let Seen::Waiting(Some(reason)) = &seen {
        progress.wait(reason);
    }
    pause(progress).await;
    Ok(seen)
}

/// Between two looks.
async fn pause(progress: &Progress) {
    let young = progress.age() < SOON_ENDS;
    sleep(if young { SOON } else { LATER }).await;
}

/// What YARN says of an application that waits, on one line.
pub(crate) fn reason(report: &ApplicationReport) -> Option<String> {
    let reason = report.diagnostics.trim();
    let says = !reason.is_empty() && reason != "N/A";
    says.then(|| reason.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A ResourceManager may restart or fail over while a job waits or runs.
pub(crate) async fn patiently(
    rm: &ApplicationClient,
    id: &ApplicationId,
) -> Result<ApplicationReport, Failure> {
    let deadline = Instant::now() + RM_PATIENCE;
    loop {
        match rm.report(id).await {
            Ok(report) => return Ok(report),
            Err(error @ CallError::Remote { .. }) => return Err(unavailable(&error)),
            Err(error) if Instant::now() > deadline => return Err(unavailable(&error)),
            Err(_passing) => sleep(LATER).await,
        }
    }
}

/// Brings the output of an ApplicationMaster in this process.
type Beside = oneshot::Receiver<appmaster::Output>;

/// The streams of one client.
struct Attached {
    client: ClientsClient<Channel>,
    orders: mpsc::Sender<wire::ClientOrder>,
    events: Streaming<wire::JobEvent>,
    output: streams::Output,
    /// Where the ApplicationMaster was found, in words.
    place: String,
}

async fn attach(address: &str, keys: &Keys, beside: Option<Beside>) -> anyhow::Result<Attached> {
    let mut client = dial(address, keys).await?;
    let (orders, outgoing) = mpsc::channel(16);
    let hello = wire::ClientHello {
        build: job::BUILD.into(),
    };
    order(&orders, Order::Hello(hello)).await;
    let streams = async {
        let events = client.attach(ReceiverStream::new(outgoing)).await?;
        let output: streams::Output = match beside {
            None => Box::pin(client.output(wire::OutputRequest {}).await?.into_inner()),
            Some(output) => match output.await {
                Ok(output) => Box::pin(output),
                Err(_left) => return Err(tonic::Status::unavailable("it has left")),
            },
        };
        Ok((events.into_inner(), output))
    };
    let (events, output) = timeout(ATTACH_DEADLINE, streams)
        .await
        .map_err(|_late| anyhow::anyhow!("no answer within {} s", ATTACH_DEADLINE.as_secs()))?
        .map_err(|status| anyhow::anyhow!("{}", status.message()))?;
    Ok(Attached {
        client,
        orders,
        events,
        output,
        // YARN forgets the host of one that is lost.
        place: format!("at {address}"),
    })
}

/// Until the window of our terminal has another size; for ever where that is of no interest.
async fn changed(resized: &mut Option<Signal>) {
    match resized {
        Some(resized) => drop(resized.recv().await),
        None => std::future::pending().await,
    }
}

async fn kill_order(orders: &mpsc::Sender<wire::ClientOrder>, reason: wire::kill::Reason) {
    let kill = wire::Kill {
        reason: reason.into(),
    };
    order(orders, Order::Kill(kill)).await;
}

async fn order(orders: &mpsc::Sender<wire::ClientOrder>, order: Order) {
    let order = wire::ClientOrder { order: Some(order) };
    // A link that is gone has its own report.
    let _sent = orders.send(order).await.is_ok();
}

/// What the ApplicationMaster says decides.
fn conclude(verdict: wire::Verdict, signalled: Option<u8>) -> Ended {
    let killed = verdict.state() == wire::FinalState::Killed;
    let code = match signalled {
        Some(signal) if killed => 128u8.saturating_add(signal),
        _ => u8::try_from(verdict.exit_code).unwrap_or(Exit::Lost.code()),
    };
    Ended {
        code,
        sentence: if signalled == Some(SIGPIPE) {
            String::new()
        } else {
            verdict.sentence.clone()
        },
        verdict: Some(verdict),
    }
}

/// What YARN says decides, where the ApplicationMaster cannot be heard.
pub(crate) fn judge(report: &ApplicationReport) -> Ended {
    let said = report.diagnostics.trim();
    let said = if said.is_empty() || said == "N/A" {
        format!(
            "YARN gives no reason; see yarn logs -applicationId {}",
            report.id
        )
    } else {
        said.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let (code, sentence) = match (report.state, report.final_status) {
        (_, FinalApplicationStatus::Succeeded) => (Exit::Success.code(), String::new()),
        (YarnApplicationState::Killed, _) => (
            Exit::Killed.code(),
            format!("{} was killed through YARN: {said}", report.id),
        ),
        _ => (
            exit::code_in_diagnostics(said.as_str()).unwrap_or(Exit::Lost.code()),
            format!("{} failed: {said}", report.id),
        ),
    };
    Ended {
        code,
        sentence,
        verdict: None,
    }
}

/// An error with its causes, on one line.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    let mut parts: Vec<String> = error.chain().map(ToString::to_string).collect();
    parts.dedup();
    parts.join(": ")
}
