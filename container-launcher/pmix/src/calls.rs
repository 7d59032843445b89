//! What clients ask of the host of their server, and how they are answered.
//!
//! The library calls the functions of its [`module`](crate::module) on a thread of its own, with a function to call once the answer is
//! known and a pointer for that. The two wait under a number; the owner is told the number and the [`Call`].

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::abi::{
    Collected, DUPLICATE_KEY, Done, ERROR, LookedUp, NOT_FOUND, SUCCESS, Spawned, Status,
};
use crate::names::{Found, Names};
use crate::namespaces::Namespaces;
use crate::spawn_command::SpawnCommand;

/// What is asked, of ranks of one group: that of the rank which asks, or of which something is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// A rank is in `PMIx_Init`.
    Connected {
        /// Which.
        rank: u32,
    },
    /// A rank is in `PMIx_Finalize`.
    Finalized {
        /// Which.
        rank: u32,
    },
    /// A rank wants its job ended.
    Abort {
        /// Which.
        rank: u32,
        /// The exit code it wants for that.
        status: i32,
        /// Why.
        message: String,
    },
    /// All local ranks among these are in a fence.
    Fence {
        /// They are of several groups, and these are numbers in the job.
        across: bool,
        /// Which; none: all of the group.
        ranks: Vec<u32>,
        /// What they have to tell the others; only a server can read it.
        data: Vec<u8>,
    },
    /// A local rank has something to say to the user.
    Log {
        /// Which.
        rank: u32,
        /// One of the ranks that say something of this is enough; none: all are to be heard.
        topic: Option<String>,
        /// As much as belongs on each of its streams, in its order, [`TEXTS_MAX`](crate::TEXTS_MAX) bytes together at most.
        texts: Vec<(Channel, Vec<u8>)>,
    },
    /// A local rank asks the name service.
    Names {
        /// Which.
        rank: u32,
        /// What.
        names: Names,
    },
    /// A local rank wants processes to be started.
    Spawn {
        /// Which rank.
        rank: u32,
        /// Which processes.
        commands: Vec<SpawnCommand>,
    },
    /// A local rank wants to know what a rank of another node has told its server.
    Modex {
        /// Which rank of another node.
        rank: u32,
    },
}

/// A stream of a rank's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Its standard output.
    Stdout,
    /// Its standard error.
    Stderr,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is done; of a fence, with what the servers of all nodes have told, and of a modex with that of one rank.
    Done(Vec<u8>),
    /// It cannot be done.
    Failed,
    /// Of a look-up: names, and what was published under each.
    Found(Vec<(String, String)>),
    /// Of a spawn: all run, and this is the name of their group.
    Spawned(String),
    /// There is no such name.
    Missing,
    /// There is such a name already.
    Known,
}

/// A pointer of the library's, which it is handed back and nobody else follows.
#[derive(Clone, Copy)]
pub(crate) struct Theirs(pub(crate) *mut c_void);

#[expect(unsafe_code, reason = "a pointer goes back from another thread")]
// SAFETY: it is not followed here, and the standard lets the host answer from any thread.
unsafe impl Send for Theirs {}

pub(crate) enum Waiting {
    Done(Option<Done>, Theirs),
    Collected(Option<Collected>, Theirs),
    Found(Option<LookedUp>, Theirs),
    Spawned(Option<Spawned>, Theirs),
}

type Told = dyn Fn(u64, u32, Call) + Send + Sync;

/// The module's functions have no pointer to what is the server's: there is one server a process.
static CALLS: OnceLock<Calls> = OnceLock::new();

struct Calls {
    told: Box<Told>,
    namespaces: Namespaces,
    next: AtomicU64,
    waiting: Mutex<BTreeMap<u64, Waiting>>,
}

impl Calls {
    fn note(&self, waiting: Waiting) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut all = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(number, waiting);
        number
    }

    fn take(&self, number: u64) -> Option<Waiting> {
        let mut all = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&number)
    }
}

/// Has all calls told to `told`, on the library's thread, for as long as the process is. False: they are already.
pub(crate) fn tell(told: Box<Told>) -> bool {
    let calls = Calls {
        told,
        namespaces: Namespaces::default(),
        next: AtomicU64::new(1),
        waiting: Mutex::default(),
    };
    CALLS.set(calls).is_ok()
}

/// Those that clients are of; none: nobody is told of calls yet.
pub(crate) fn namespaces() -> Option<&'static Namespaces> {
    CALLS.get().map(|calls| &calls.namespaces)
}

/// Answers a call, once.
pub(crate) fn answer(number: u64, answer: Answer) {
    let Some(waiting) = CALLS.get().and_then(|calls| calls.take(number)) else {
        return;
    };
    match (waiting, answer) {
        (Waiting::Done(Some(done), theirs), answer) => {
            let status = match answer {
                Answer::Done(_) | Answer::Found(_) | Answer::Spawned(_) => SUCCESS,
                Answer::Failed => ERROR,
                Answer::Missing => NOT_FOUND,
                Answer::Known => DUPLICATE_KEY,
            };
            call_done(done, status, theirs);
        }
        (Waiting::Found(Some(found), theirs), answer) => {
            let (status, entries) = match answer {
                Answer::Found(entries) => (SUCCESS, entries),
                Answer::Missing => (NOT_FOUND, Vec::new()),
                Answer::Done(_) | Answer::Failed | Answer::Known | Answer::Spawned(_) => {
                    (ERROR, Vec::new())
                }
            };
            call_found(found, status, &entries, theirs);
        }
        (Waiting::Spawned(Some(spawned), theirs), answer) => {
            let name = match answer {
                Answer::Spawned(name) => CString::new(name).ok(),
                Answer::Done(_)
                | Answer::Found(_)
                | Answer::Failed
                | Answer::Missing
                | Answer::Known => None,
            };
            call_spawned(spawned, name.as_deref(), theirs);
        }
        (Waiting::Collected(Some(collected), theirs), Answer::Done(data)) => {
            call_collected(collected, data, theirs);
        }
        (
            Waiting::Collected(Some(collected), theirs),
            Answer::Failed
            | Answer::Found(_)
            | Answer::Missing
            | Answer::Known
            | Answer::Spawned(_),
        ) => call_failed(collected, theirs),
        (
            Waiting::Done(None, _)
            | Waiting::Collected(None, _)
            | Waiting::Found(None, _)
            | Waiting::Spawned(None, _),
            _,
        ) => {}
    }
}

#[expect(unsafe_code, reason = "the library waits for a call")]
pub(crate) fn call_done(done: Done, status: Status, theirs: Theirs) {
    // SAFETY: the library gave both with one call, which is answered once.
    unsafe { done(status, theirs.0) }
}

#[expect(unsafe_code, reason = "the library waits for a call")]
fn call_collected(collected: Collected, data: Vec<u8>, theirs: Theirs) {
    let data = Box::new(data);
    let (start, length) = (data.as_ptr(), data.len());
    let own = Box::into_raw(data);
    // SAFETY: the library gave the function and `theirs` with one call, which is answered once; the data are there
    // until it calls `release` with `own`.
    unsafe {
        collected(
            SUCCESS,
            start.cast(),
            length,
            theirs.0,
            Some(release),
            own.cast(),
        )
    }
}

#[expect(unsafe_code, reason = "the library waits for a call")]
fn call_failed(collected: Collected, theirs: Theirs) {
    // SAFETY: as above; there are no data to be released.
    unsafe { collected(ERROR, null(), 0, theirs.0, None, null_mut()) }
}

#[expect(unsafe_code, reason = "the library waits for a call")]
fn call_found(found: LookedUp, status: Status, entries: &[(String, String)], theirs: Theirs) {
    let entries = Found::new(entries);
    let (first, count) = (entries.data.as_ptr(), entries.data.len());
    // SAFETY: the library gave both with one call, which is answered once; it has packed what it points to when the
    // function returns.
    unsafe { found(status, first, count, theirs.0) }
}

/// None: they do not run.
#[expect(unsafe_code, reason = "the library waits for a call")]
fn call_spawned(spawned: Spawned, name: Option<&CStr>, theirs: Theirs) {
    let status = if name.is_some() { SUCCESS } else { ERROR };
    let name = name.map_or(null(), CStr::as_ptr);
    // SAFETY: the library gave both with one call, which is answered once; it copies the name before it returns.
    unsafe { spawned(status, name, theirs.0) }
}

#[expect(unsafe_code, reason = "the library is done with data that were given")]
unsafe extern "C" fn release(own: *mut c_void) {
    // SAFETY: `call_collected` made it of such a box, and the library calls this once.
    drop(unsafe { Box::from_raw(own.cast::<Vec<u8>>()) });
}

/// Tells of a call of this group, and has it wait.
pub(crate) fn begin(group: u32, call: Call, waiting: Waiting) -> Status {
    let Some(calls) = CALLS.get() else {
        return ERROR;
    };
    let number = calls.note(waiting);
    (calls.told)(number, group, call);
    SUCCESS
}
