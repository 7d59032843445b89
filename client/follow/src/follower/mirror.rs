//! Mirrors a job that is attached: its output and input, what is asked of it, its last word.

use std::time::Duration;

use job::exit::Exit;
use job::link;
use job::wire;
use job::wire::client_order::Order;
use job::wire::job_event::Event;
use proto_hadoop::yarn::YarnApplicationState;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::attach::Attached;
use super::lost::ROOT_PATIENCE;
use super::order::order;
use super::{Followed, Follower, patiently};
use crate::attempts;
use crate::ended::{SIGPIPE, conclude, judge};
use crate::error::FollowError;
use crate::say::say;
use crate::signals::{self, Asked, SIGTSTP};
use crate::streams::{self, OutputEnd};
use crate::terminal::{self, Raw};

/// Between two thoughts of how long something has lasted.
const REMIND: Duration = Duration::from_secs(1);
/// For an order to leave before this process stops.
const LAST_ORDER: Duration = Duration::from_millis(100);
/// For the thread that writes, when the connection has broken.
const OUTPUT_PATIENCE: Duration = Duration::from_secs(10);

impl Follower<'_> {
    /// Until the last word is said and the last byte is written.
    pub(super) async fn attached(&mut self, attached: Attached) -> Result<Followed, FollowError> {
        let Attached {
            client,
            orders,
            mut events,
            output,
            door,
            place,
        } = attached;
        let mut output_task = JoinSet::new();
        let wide = streams::Wide {
            door,
            orders: orders.clone(),
        };
        let (layout, line) = (self.layout.clone(), self.progress.beside());
        output_task.spawn(streams::output(output, layout, line, wide));
        let mut input_task = JoinSet::new();
        input_task.spawn(streams::input(client.clone(), self.input.clone()));

        let mut alive = JoinSet::new();
        alive.spawn(stay_alive(orders.clone()));

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
                    let is_refused = matches!(end, OutputEnd::NoReader | OutputEnd::Unwritable(_));
                    if is_refused && signalled.is_none() {
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
                        order(&orders, Order::Pause(wire::Pause {})).await;
                        self.progress.clear();
                        sleep(LAST_ORDER).await;
                        let was_raw = raw.take().is_some();
                        signals::pause();
                        raw = was_raw.then(Raw::enter).flatten();
                        order(&orders, Order::Resume(wire::Resume {})).await;
                    }
                    Asked::End(number) if signalled.is_some() || verdict.is_some() => {
                        return self.interrupted(number).await.map(Followed::Ended);
                    }
                    Asked::End(number) => {
                        self.progress.clear();
                        signalled = Some(number);
                        say(format!(
                            "ending {}; once more to end it at once",
                            self.progress.job()
                        ));
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
        let spoilt = match output_end {
            Some(OutputEnd::Unwritable(error)) => {
                say(format!("cannot write the program's output: {error}"));
                Some(Exit::Staging)
            }
            Some(OutputEnd::Complete | OutputEnd::NoReader) => None,
            Some(OutputEnd::Incomplete) => Some(Exit::Lost),
            Some(OutputEnd::Broken) | None => {
                say("the connection broke while output was on its way: some of it is missing");
                Some(Exit::Lost)
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
                match spoilt {
                    // What is missing is no success, and no reason to hide what the program says.
                    Some(Exit::Lost) if ended.code != Exit::Success.code() => {}
                    Some(exit) => ended.code = exit.code(),
                    None => {}
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
}

/// Until the window of our terminal has another size; for ever where that is of no interest.
async fn changed(resized: &mut Option<Signal>) {
    match resized {
        Some(resized) => drop(resized.recv().await),
        None => std::future::pending().await,
    }
}

/// Tells the ApplicationMaster now and then that we are there; in a task of its own, since whoever reads our
/// words may let us wait. An order that finds no place has others before it that say as much.
async fn stay_alive(orders: mpsc::Sender<wire::ClientOrder>) {
    while !orders.is_closed() {
        let alive = Order::Alive(wire::Alive {});
        let _told = orders
            .try_send(wire::ClientOrder { order: Some(alive) })
            .is_ok();
        sleep(link::ALIVE).await;
    }
}

async fn kill_order(orders: &mpsc::Sender<wire::ClientOrder>, reason: wire::kill::Reason) {
    let kill = wire::Kill {
        reason: reason.into(),
    };
    order(orders, Order::Kill(kill)).await;
}
