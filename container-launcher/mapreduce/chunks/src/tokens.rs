//! What an engine says to the read broker of its GPU, and again to the next one when that is gone.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use gerbil_task::{Connection, FrameError, FromEngine, ToEngine, VERSION};

use crate::EngineError;

/// A broker answers within this; the next one listens within it when one is gone.
const ANSWER: Duration = Duration::from_secs(10);
/// Between two tries to connect.
const PAUSE: Duration = Duration::from_millis(5);
/// The thread that listens looks up this often.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// What an engine says first.
#[derive(Clone, Debug)]
pub(crate) struct Introduction {
    pub(crate) socket: PathBuf,
    pub(crate) job: String,
    pub(crate) gpu: String,
    pub(crate) container: String,
}

/// The hand that all threads of an engine speak with.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    speaker: Option<Connection>,
    /// Tasks that this broker knows.
    known: BTreeSet<u32>,
}

impl Tokens {
    /// Another connection: nothing is known on its other side.
    pub(crate) fn renew(&mut self, speaker: Connection) {
        self.speaker = Some(speaker);
        self.known.clear();
    }

    /// A buffer of a task is free, of which so much is not granted yet.
    pub(crate) fn ready(&mut self, task: u32, chunk: u64, bytes: u64, priority: u32) {
        self.known.insert(task);
        self.say(&FromEngine::Ready {
            task,
            chunk,
            bytes,
            priority,
        });
    }

    /// Says something of a task, where the broker knows that.
    pub(crate) fn of_task(&mut self, task: u32, message: &FromEngine) {
        if self.known.contains(&task) {
            self.say(message);
        }
    }

    /// A connection that has ended is noticed where it is listened to.
    fn say(&mut self, message: &FromEngine) {
        if let Some(speaker) = &mut self.speaker {
            drop(speaker.send(message));
        }
    }
}

/// Connects to the broker that serves; what it says is heard there.
pub(crate) fn connect(introduction: &Introduction) -> Result<Connection, EngineError> {
    let until = Instant::now() + ANSWER;
    let socket = &introduction.socket;
    loop {
        match greet(introduction) {
            Ok(connection) => return Ok(connection),
            // The next broker is about to listen.
            Err(EngineError::Broker { .. }) if Instant::now() < until => {
                std::thread::park_timeout(PAUSE);
            }
            Err(EngineError::Broker { why, .. }) => {
                let socket = socket.clone();
                return Err(EngineError::Broker { socket, why });
            }
            Err(error) => return Err(error),
        }
    }
}

fn greet(introduction: &Introduction) -> Result<Connection, EngineError> {
    let lost = |error: &dyn std::fmt::Display| EngineError::Broker {
        socket: introduction.socket.clone(),
        why: error.to_string(),
    };
    let stream = UnixStream::connect(&introduction.socket).map_err(|error| lost(&error))?;
    let mut connection = Connection::new(stream).of_engine();
    let deadline =
        |connection: &Connection, span| -> io::Result<()> { connection.set_deadline(Some(span)) };
    deadline(&connection, ANSWER).map_err(|error| lost(&error))?;
    let hello = FromEngine::Hello {
        version: VERSION,
        job: introduction.job.clone(),
        gpu: introduction.gpu.clone(),
        container: introduction.container.clone(),
    };
    connection.send(&hello).map_err(|error| lost(&error))?;
    match connection.receive() {
        Ok(ToEngine::Welcome { .. }) => {}
        Ok(ToEngine::Refused { sentence }) => return Err(EngineError::Refused(sentence)),
        Ok(_) => return Err(lost(&"it does not say welcome")),
        Err(error) => return Err(lost(&error)),
    }
    deadline(&connection, LOOK).map_err(|error| lost(&error))?;
    Ok(connection)
}

/// What the broker says next.
#[derive(Debug)]
pub(crate) enum Told {
    /// So many chunks of a task are to be read.
    Read { task: u32, chunks: u32 },
    /// Nothing so far.
    Nothing,
    /// It is gone.
    Gone,
}

pub(crate) fn listen(connection: &mut Connection) -> Result<Told, EngineError> {
    match connection.receive() {
        Ok(ToEngine::Read { task, chunks }) => Ok(Told::Read { task, chunks }),
        Ok(ToEngine::Refused { sentence }) => Err(EngineError::Refused(sentence)),
        // Of a later version.
        Ok(_) | Err(FrameError::Silent) => Ok(Told::Nothing),
        Err(_) => Ok(Told::Gone),
    }
}
