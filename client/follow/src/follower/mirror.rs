//! Mirrors a job that is attached: its output and input, what is asked of it, its last word.

use std::time::Duration;

use job::transport;
use job::wire;
use job::wire::client_order::Order;
use job::wire::job_event::Event;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tonic::Streaming;

use super::Follower;
use super::attach::Attached;
use super::order::order;
use crate::attempts;
use crate::conclusion::{Given, SIGPIPE, Written};
use crate::streams::{self, OutputEnd};
use crate::timeout::WaitTimeout;
use terminal::say;
use terminal::signals::{self, SIGTSTP, SignalRequest};
use terminal::{Foreign, Raw};

/// Between two thoughts of how long something has lasted.
const REMIND: Duration = Duration::from_secs(1);
/// For an order to leave before this process stops.
const LAST_ORDER: Duration = Duration::from_millis(100);
/// For the thread that writes, when the connection has broken.
const OUTPUT_PATIENCE: Duration = Duration::from_secs(10);

/// How a job is mirrored.
pub(super) struct Mirroring {
    /// Who leaves ends the job; otherwise it goes on, and is asked for nothing.
    pub ends_with_us: bool,
    /// What another Ctrl-C does, behind "once more".
    pub once_more: &'static str,
    /// The user has asked for the end before there was somebody to tell.
    pub asked: Option<u8>,
    /// The job is ended when it does not run by then.
    pub patience: Option<WaitTimeout>,
}

/// What came of mirroring a job.
pub(super) enum Mirrored {
    /// The ApplicationMaster has said how it ended.
    Over(Box<JobOver>),
    /// The user has asked for the end once more, by this signal; or to leave a job that goes on.
    Urged {
        signal: u8,
        /// The job is over, as its ApplicationMaster has said.
        is_over: bool,
        written: Written,
    },
    /// The link broke without a verdict.
    Broken {
        /// By which signal the end was asked for before.
        signalled: Option<u8>,
        /// In words.
        why: String,
        written: Written,
    },
}

/// The end of a job, by the word of its ApplicationMaster.
pub(super) struct JobOver {
    pub verdict: wire::Verdict,
    /// What may follow it, for as long as we are there.
    pub events: Streaming<wire::JobEvent>,
    pub presence: Presence,
    /// By which signal the end was asked for.
    pub signalled: Option<u8>,
    /// It was ended because it did not run in time.
    pub is_late: bool,
    pub given: Given,
    pub written: Written,
    /// Where the ApplicationMaster was found, in words.
    pub place: String,
}

/// Our side of the link: while it lasts, the ApplicationMaster has a client.
pub(super) struct Presence {
    _orders: mpsc::Sender<wire::ClientOrder>,
    _alive: JoinSet<()>,
}

impl Follower<'_> {
    /// Until the last word is said and the last byte is written.
    pub(super) async fn mirror(&mut self, attached: Attached, how: Mirroring) -> Mirrored {
        let Attached {
            client,
            orders,
            mut events,
            output,
            door,
            place,
            job,
        } = attached;
        let mut output_task = JoinSet::new();
        let wide = streams::Wide {
            door,
            orders: orders.clone(),
        };
        let (layout, line) = (self.layout.clone(), self.progress.beside());
        output_task.spawn(streams::output(output, layout, line, wide));
        let mut input_task = JoinSet::new();
        input_task.spawn(streams::input(client.clone(), self.input.clone(), job));

        let mut alive = JoinSet::new();
        alive.spawn(stay_alive(orders.clone()));

        let mut resized = match self.terminal {
            true => signal(SignalKind::window_change()).ok(),
            false => None,
        };
        let mut raw = self.terminal.then(Raw::enter).flatten();
        let mut verdict: Option<wire::Verdict> = None;
        let mut signalled = how.asked;
        // Whether the end was asked for while output was on its way: that may be cut off then.
        let mut is_cut = signalled.is_some();
        let mut is_ending = signalled.is_some();
        if is_ending {
            kill_order(&orders, wire::kill::Reason::Interrupted).await;
        }
        let mut patience = how.patience;
        let mut is_late = false;
        let mut output_end = None;
        // A job that only waits for its containers has no output to lose.
        let mut has_run = false;
        let mut given = Given::All;
        let broken = loop {
            // Until the last word is said and the last byte is written, however slow the reader.
            tokio::select! {
                event = events.message(), if verdict.is_none() => match event {
                    Ok(Some(wire::JobEvent { event: Some(Event::Phase(phase)) })) => {
                        if matches!(phase.kind(), wire::phase::Kind::Running | wire::phase::Kind::Ending) {
                            (patience, has_run) = (None, true);
                        }
                        self.progress.phase(&phase);
                    }
                    Ok(Some(wire::JobEvent { event: Some(Event::Verdict(last)) })) => {
                        self.progress.clear();
                        verdict = Some(last);
                        if output_end.is_some() {
                            break None;
                        }
                    }
                    // Of jobs of another kind.
                    Ok(Some(wire::JobEvent { event: Some(Event::Tasks(_)) })) => {}
                    Ok(Some(wire::JobEvent { event: Some(Event::Explained(line)) })) => {
                        if let Some(sink) = &mut self.explain {
                            self.progress.aside(|| sink.write(&line));
                        }
                    }
                    Ok(Some(wire::JobEvent { event: Some(Event::Notice(notice)) })) => {
                        self.progress.remark(Foreign::sentence(&notice.sentence));
                    }
                    Ok(Some(wire::JobEvent { event: Some(Event::Again(_)) })) => {
                        input_task.abort_all();
                        if self.input.is_spent() {
                            // It was read in the moment in which the run ended.
                            say(attempts::SPENT);
                            if how.ends_with_us {
                                kill_order(&orders, wire::kill::Reason::Interrupted).await;
                            }
                        } else {
                            input_task.spawn(streams::input(client.clone(), self.input.clone(), job));
                        }
                    }
                    // The one after the verdict, and none that this build knows.
                    Ok(Some(wire::JobEvent { event: Some(Event::Unregistered(_)) | None })) => {}
                    Ok(None) => break Some("it closed the connection".to_owned()),
                    Err(status) => break Some(status.message().to_owned()),
                },
                Some(Ok(end)) = output_task.join_next() => {
                    let is_refused = matches!(end, OutputEnd::NoReader | OutputEnd::Unwritable(_));
                    if matches!(end, OutputEnd::NoReader) && !how.ends_with_us {
                        return Mirrored::Urged {
                            signal: SIGPIPE,
                            is_over: verdict.is_some(),
                            written: Written::NoReader,
                        };
                    }
                    if is_refused && !is_ending && how.ends_with_us {
                        // The job ends as a local program would whose output is refused.
                        is_ending = true;
                        kill_order(&orders, wire::kill::Reason::NoReader).await;
                    }
                    output_end = Some(end);
                    if verdict.is_some() {
                        break None;
                    }
                    if is_refused && !how.ends_with_us {
                        break Some("its output cannot be written".to_owned());
                    }
                }
                Some(Ok(Err(why))) = input_task.join_next() => {
                    self.progress.clear();
                    match how.ends_with_us {
                        true => say(why),
                        false => say(format!(
                            "{why}; the job goes on, and sees no end of its input: the next gerbil attach --input \
                             can give it more"
                        )),
                    }
                    // Otherwise it is no cause of the end.
                    if !is_ending && verdict.is_none() && how.ends_with_us {
                        given = Given::Part;
                        is_ending = true;
                        is_cut = output_end.is_none();
                        kill_order(&orders, wire::kill::Reason::Interrupted).await;
                    }
                }
                () = sleep(REMIND) => self.progress.remind(),
                () = over(patience), if verdict.is_none() => {
                    (patience, is_late) = (None, !is_ending);
                    kill_order(&orders, wire::kill::Reason::Interrupted).await;
                }
                () = changed(&mut resized) => {
                    if let Some(size) = terminal::size() {
                        order(&orders, Order::WindowSize(size)).await;
                    }
                }
                asked = self.signals.next() => match asked {
                    SignalRequest::Forward(_) if !how.ends_with_us => {}
                    SignalRequest::Forward(number) => {
                        let signal = wire::Signal { signal: i32::from(number) };
                        order(&orders, Order::Signal(signal)).await;
                    }
                    SignalRequest::Pause => {
                        let signal = wire::Signal { signal: i32::from(SIGTSTP) };
                        if how.ends_with_us {
                            order(&orders, Order::Signal(signal)).await;
                        }
                        order(&orders, Order::Pause(wire::Pause {})).await;
                        self.progress.clear();
                        sleep(LAST_ORDER).await;
                        let was_raw = raw.take().is_some();
                        signals::pause();
                        raw = was_raw.then(Raw::enter).flatten();
                        order(&orders, Order::Resume(wire::Resume {})).await;
                    }
                    SignalRequest::End(number)
                        if is_ending || verdict.is_some() || !how.ends_with_us =>
                    {
                        return Mirrored::Urged {
                            signal: number,
                            is_over: verdict.is_some(),
                            written: written(output_end.as_ref(), is_cut),
                        };
                    }
                    SignalRequest::End(number) => {
                        self.progress.clear();
                        signalled = Some(number);
                        is_ending = true;
                        is_cut = output_end.is_none();
                        say(format!(
                            "ending {}; once more {}",
                            self.progress.job(),
                            how.once_more
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
        match &output_end {
            Some(OutputEnd::Unwritable(error)) => {
                say(format!("cannot write the program's output: {error}"));
            }
            Some(OutputEnd::Complete | OutputEnd::NoReader | OutputEnd::Incomplete) => {}
            Some(OutputEnd::Broken) | None if !has_run => {}
            Some(OutputEnd::Broken) | None => {
                say("the connection broke while output was on its way: some of it is missing");
            }
        }
        let written = written(output_end.as_ref(), is_cut);
        match verdict {
            Some(verdict) => Mirrored::Over(Box::new(JobOver {
                verdict,
                events,
                presence: Presence {
                    _orders: orders,
                    _alive: alive,
                },
                signalled,
                is_late,
                given,
                written,
                place,
            })),
            None => Mirrored::Broken {
                signalled: signalled.or((is_ending && !is_late).then_some(SIGPIPE)),
                why: broken.unwrap_or_else(|| "it left without a verdict".into()),
                written,
            },
        }
    }
}

/// How much is written of an output that has ended so, or has not. What `is_cut` may lack its end.
fn written(end: Option<&OutputEnd>, is_cut: bool) -> Written {
    match end {
        Some(OutputEnd::Complete) if is_cut => Written::Part,
        Some(OutputEnd::Complete) => Written::All,
        Some(OutputEnd::NoReader) => Written::NoReader,
        Some(OutputEnd::Unwritable(_)) => Written::Unwritable,
        Some(OutputEnd::Broken | OutputEnd::Incomplete) | None => Written::Part,
    }
}

/// Until the job is to be given up; for ever where it is not.
async fn over(patience: Option<WaitTimeout>) {
    match patience {
        Some(patience) => patience.over().await,
        None => std::future::pending().await,
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
pub(super) async fn stay_alive(orders: mpsc::Sender<wire::ClientOrder>) {
    while !orders.is_closed() {
        let alive = Order::Alive(wire::Alive {});
        let _told = orders
            .try_send(wire::ClientOrder { order: Some(alive) })
            .is_ok();
        sleep(transport::ALIVE).await;
    }
}

/// Orders the end of the job.
pub(super) async fn kill_order(
    orders: &mpsc::Sender<wire::ClientOrder>,
    reason: wire::kill::Reason,
) {
    let kill = wire::Kill {
        reason: reason.into(),
    };
    order(orders, Order::Kill(kill)).await;
}
