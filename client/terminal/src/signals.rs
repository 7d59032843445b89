//! Signals to this command: those that end a run in order, and those that are the program's.

use nix::sys::signal::{
    SaFlags, SigAction, SigHandler, SigSet, Signal as Number, raise, sigaction,
};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalRequest {
    /// End the job, for this signal.
    End(u8),
    /// Hand this signal to every rank.
    Forward(u8),
    /// Stop with all ranks, as the shell's Ctrl-Z asks, until somebody lets us go on.
    Pause,
}

/// Signals that wait to be heard: more than a person types.
const WAITING: usize = 16;

/// The signals that are listened to, by a thread of their own: they are heard whatever the threads of the command's
/// runtime are held up with.
#[derive(Debug)]
pub struct Signals {
    asked: mpsc::Receiver<SignalRequest>,
}

/// What that thread listens to.
struct Listened {
    /// What was ignored when we started stays so: `nohup`, or a job in the background of a script.
    ending: [(u8, Option<Signal>); 3],
    forwarded: [(u8, Option<Signal>); 3],
    pause: (u8, Option<Signal>),
}

/// Linux's numbers.
const SIGHUP: u8 = 1;
const SIGINT: u8 = 2;
const SIGUSR1: u8 = 10;
const SIGUSR2: u8 = 12;
const SIGTERM: u8 = 15;
/// Goes on.
pub const SIGCONT: u8 = 18;
/// Stops, as Ctrl-Z asks.
pub const SIGTSTP: u8 = 20;

impl Signals {
    /// Listens from now on.
    pub fn listen() -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?;
        let (sender, asked) = mpsc::channel(WAITING);
        let (begun, begins) = sync_channel(1);
        let listener = thread::Builder::new().name("signals".into());
        listener.spawn(move || runtime.block_on(pass_on(&sender, &begun)))?;
        let begun = begins.recv();
        begun.map_err(std::io::Error::other)??;
        Ok(Self { asked })
    }

    /// The next one.
    pub async fn next(&mut self) -> SignalRequest {
        match self.asked.recv().await {
            Some(asked) => asked,
            // The thread lasts as long as this does.
            None => std::future::pending().await,
        }
    }

    /// The next one that ends the run; before ranks exist there is nobody to forward others to.
    pub async fn ending(&mut self) -> u8 {
        loop {
            match self.next().await {
                SignalRequest::End(number) => return number,
                SignalRequest::Pause => pause(),
                SignalRequest::Forward(_) => {}
            }
        }
    }
}

/// What another than the system asks.
impl From<mpsc::Receiver<SignalRequest>> for Signals {
    fn from(asked: mpsc::Receiver<SignalRequest>) -> Self {
        Self { asked }
    }
}

/// Says whether it listens, and then passes on what is heard, until nobody wants it any more.
async fn pass_on(sender: &mpsc::Sender<SignalRequest>, begun: &SyncSender<std::io::Result<()>>) {
    let mut listened = match Listened::new() {
        Ok(listened) => listened,
        Err(error) => {
            let _heard = begun.send(Err(error)).is_ok();
            return;
        }
    };
    let _heard = begun.send(Ok(())).is_ok();
    loop {
        let asked = tokio::select! {
            asked = listened.next() => asked,
            () = sender.closed() => return,
        };
        hand_on(sender, asked).await;
    }
}

/// Where more wait than anybody types one more says nothing new, unless it ends the run.
async fn hand_on(sender: &mpsc::Sender<SignalRequest>, asked: SignalRequest) {
    let _heard = match asked {
        SignalRequest::End(_) => sender.send(asked).await.is_ok(),
        SignalRequest::Forward(_) | SignalRequest::Pause => sender.try_send(asked).is_ok(),
    };
}

impl Listened {
    fn new() -> std::io::Result<Self> {
        // A command in the background that reads the terminal would be stopped, and with it the
        // answers to the ApplicationMaster. Ignored, the read fails and counts as the input's end.
        set(Number::SIGTTIN, SigHandler::SigIgn)?;
        Ok(Self {
            ending: [
                (SIGINT, unless_ignored(Number::SIGINT)?),
                (SIGTERM, unless_ignored(Number::SIGTERM)?),
                (SIGHUP, unless_ignored(Number::SIGHUP)?),
            ],
            forwarded: [
                (SIGUSR1, unless_ignored(Number::SIGUSR1)?),
                (SIGUSR2, unless_ignored(Number::SIGUSR2)?),
                (SIGCONT, unless_ignored(Number::SIGCONT)?),
            ],
            pause: (SIGTSTP, unless_ignored(Number::SIGTSTP)?),
        })
    }

    /// The next one.
    async fn next(&mut self) -> SignalRequest {
        let [interrupt, terminate, hangup] = &mut self.ending;
        let [first, second, third] = &mut self.forwarded;
        tokio::select! {
            number = one(interrupt) => SignalRequest::End(number),
            number = one(terminate) => SignalRequest::End(number),
            number = one(hangup) => SignalRequest::End(number),
            number = one(first) => SignalRequest::Forward(number),
            number = one(second) => SignalRequest::Forward(number),
            number = one(third) => SignalRequest::Forward(number),
            _ = one(&mut self.pause) => SignalRequest::Pause,
        }
    }
}

/// Stops this process. It goes on behind this call, with a SIGCONT to hear of.
pub fn pause() {
    // Nobody can keep a process from stopping itself.
    let _stopped = raise(Number::SIGSTOP).is_ok();
}

async fn one((number, signal): &mut (u8, Option<Signal>)) -> u8 {
    match signal {
        Some(signal) => {
            signal.recv().await;
            *number
        }
        None => std::future::pending().await,
    }
}

fn unless_ignored(number: Number) -> std::io::Result<Option<Signal>> {
    let before = set(number, SigHandler::SigDfl)?;
    if matches!(before.handler(), SigHandler::SigIgn) {
        set(number, SigHandler::SigIgn)?;
        return Ok(None);
    }
    signal(SignalKind::from_raw(number as i32)).map(Some)
}

fn set(number: Number, handler: SigHandler) -> std::io::Result<SigAction> {
    let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
    #[expect(unsafe_code, reason = "sigaction has no safe face")]
    // SAFETY: the handler is one of the kernel's own two, no function of ours.
    let before = unsafe { sigaction(number, &action) };
    before.map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_that_ends_the_run_is_not_lost_behind_others() {
        let (sender, asked) = mpsc::channel(1);
        let mut signals = Signals::from(asked);
        for _more in 0..3 {
            hand_on(&sender, SignalRequest::Forward(SIGUSR1)).await;
        }
        let ((), first) = tokio::join!(
            hand_on(&sender, SignalRequest::End(SIGTERM)),
            signals.next()
        );
        assert_eq!(first, SignalRequest::Forward(SIGUSR1));
        assert_eq!(signals.next().await, SignalRequest::End(SIGTERM));
        drop(signals);
        // Nobody waits for one who has gone.
        hand_on(&sender, SignalRequest::End(SIGTERM)).await;
    }
}
